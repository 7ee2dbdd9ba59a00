import numpy as np
import pytest


def pytest_addoption(parser):
    parser.addoption("--seed", type=int, default=20130, help="seed of the `rng` fixture")


@pytest.fixture
def rng(request):
    """One fixed seed per test; printed with a failure, varied by --seed."""
    seed = request.config.getoption("--seed")
    print(f"seed {seed}")
    return np.random.default_rng(seed)
