"""Inclusion probabilities of the R package bgms 0.2.0, under its priors and the pseudo-likelihood."""

import warnings

import numpy as np
import pymc as pm
import pytest

from tests.reference import bgms
from tests.statistics import Z

pytestmark = [pytest.mark.slow, pytest.mark.compiled]


def compared(name, draws, tune, p=0.5):
    """Differences from bgms in Monte-Carlo errors (r,), which edges are in doubt, tail of the errors."""
    found = bgms.results(name)
    with bgms.model(bgms.data(name), p), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few draws
        idata = pm.sample(
            draws,
            tune=tune,
            chains=2,
            cores=1,
            random_seed=1,
            progressbar=False,
            quiet=True,
            compute_convergence_checks=False,
        )
        gap, error = bgms.differences(found, idata.posterior["w"].values)
    kept = bgms.trusted(name)
    doubtful = np.abs(found.inclusion.mean(axis=0) - 0.5) < 0.45
    return (gap / error)[kept], doubtful[kept], bgms.tail(found, kept)


def assert_agreement(z, doubtful, tail):
    assert np.abs(z).max() < Z * tail, f"{np.abs(z).max():.3g} standard errors"
    # of n standard normals the sum of squares is n on average, with standard deviation sqrt(2 n)
    n = doubtful.sum()
    mean_square = np.mean(z[doubtful] ** 2)
    assert mean_square < 1.0 + Z * np.sqrt(2.0 / n), f"mean square {mean_square:.3g} over {n} edges"


@pytest.mark.parametrize("name", ["anes96", "ordinal10"])
def test_ordinal_items(name):
    assert_agreement(*compared(name, 300, 150))


def test_another_prior_disagrees():
    with pytest.raises(AssertionError, match=r"standard errors|mean square"):
        assert_agreement(*compared("ordinal10", 300, 150, p=0.2))


@pytest.mark.parametrize("name", ["lattice100", "senate05"])
def test_binary_items(name):
    assert_agreement(*compared(name, 400, 150))


def test_another_prior_disagrees_on_binary_items():
    with pytest.raises(AssertionError, match=r"standard errors|mean square"):
        assert_agreement(*compared("lattice100", 200, 120, p=0.3))
