"""The acceptance rule, in kernels and in the interpreter."""

import numpy as np
import pytest
from numba import njit

from pymc_mrf.kernels.metropolis import metropolis


@njit
def in_a_kernel(log_ratio, rng):
    return metropolis(log_ratio, rng)


@pytest.mark.parametrize("rule", [metropolis, in_a_kernel])
@pytest.mark.parametrize(
    ("log_ratio", "expected"),
    [(np.log(0.3), 0.3), (0.0, 1.0), (5.0, 1.0), (np.inf, 1.0), (-np.inf, 0.0), (np.nan, 0.0)],
)
def test_proposals_are_accepted_with_their_probability(rule, log_ratio, expected):
    """By comparing it with one uniform number, which is drawn whatever the ratio."""
    uniform, rng = np.random.default_rng(0).random(1000), np.random.default_rng(0)
    accepted, probability = zip(*(rule(log_ratio, rng) for _ in uniform), strict=True)
    np.testing.assert_allclose(probability, expected, rtol=1e-14)
    np.testing.assert_array_equal(accepted, uniform < expected)
