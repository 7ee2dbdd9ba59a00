import gc
import os
import sys
from pathlib import Path

# read when NumPy is imported, also by workers: threads of a busy core wait longer than they compute
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")  # read when matplotlib is imported: no figure needs a screen

import numpy as np
import pytest

from tests.marks import NOT_FOUND

# read when numba is imported, and so before any import of the package; processes started from here inherit it
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).parent.parent / ".numba_cache"))


def pytest_addoption(parser):
    parser.addoption("--seed", type=int, default=20130, help="seed of the `rng` fixture")


def pytest_configure(config):
    config.option.loadscopereorder = False  # workers take files in the order below


def pytest_itemcollected(item):
    """Cases of a test that its mark `ordinary` does not name are slow."""
    ordinary = item.get_closest_marker("ordinary")
    if ordinary:
        not_found = item.config.stash.setdefault(NOT_FOUND, {})
        not_found.setdefault(item.nodeid.partition("[")[0], set(ordinary.args)).discard(item.callspec.id)
        if item.callspec.id not in ordinary.args:
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(trylast=True)  # deselected tests are gone
def pytest_collection_modifyitems(items):
    """Files alternately from both ends: neighbours use the same kernels, which two workers would compile."""
    files = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    in_order = list(files.values())
    both_ends = [in_order.pop(-(k % 2)) for k in range(len(in_order))]
    items[:] = [item for file in both_ends for item in file]


def pytest_collection_finish():
    """What is imported by now stays: the compilers, which make many small objects, need not look at it."""
    gc.freeze()


@pytest.fixture(autouse=True)
def closed_figures():
    """No figure outlives its test: matplotlib warns of more than twenty."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.fixture
def rng(request):
    """One fixed seed per test; printed with a failure, varied by --seed."""
    seed = request.config.getoption("--seed")
    print(f"seed {seed}")
    return np.random.default_rng(seed)


@pytest.fixture(autouse=True, scope="session")
def flags_of_users():
    """Graphs run in Python, also those of fixtures: numba, or a C compiler, takes seconds for each."""
    import pytensor

    # no variable notes where it was made: the stack is walked for each
    flags = {"mode": "FAST_COMPILE", "cxx": "", "traceback__limit": 0}
    before = {name: getattr(pytensor.config, name) for name in flags}
    with pytensor.config.change_flags(**flags):
        yield before


@pytest.fixture(autouse=True)
def mode_of_pytensor(request, flags_of_users):
    """Graphs of `compiled` tests run as those of users do."""
    import pytensor

    compiles = any(map(request.node.get_closest_marker, ("compiled", "benchmark")))
    with pytensor.config.change_flags(**flags_of_users if compiles else {}):
        yield


@pytest.fixture(autouse=True)
def cold_steps(request, monkeypatch):
    """Steps make no moves when they are made: those compile kernels that most tests never run."""
    base = sys.modules.get("pymc_mrf.steps.common.base")
    if base and not any(map(request.node.get_closest_marker, ("warm", "slow", "benchmark"))):
        monkeypatch.setattr(base.MRFStep, "_warm_up", lambda step: step._forget())


@pytest.fixture
def few_starts(monkeypatch):
    """The fit that hidden fields start from begins in few places: good starts are tested elsewhere."""
    monkeypatch.setattr("pymc_mrf.steps.latent.latent_start.MOST_STARTS", 2)


@pytest.fixture
def small_samples(monkeypatch):
    """Samples of small fields are as large as the error of a test asks for, not as large as is cheap."""
    monkeypatch.setattr("pymc_mrf.likelihood.monte_carlo.reference_search.MOST_CHEAP", (20_000, 800_000))
