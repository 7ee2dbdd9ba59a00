"""Intervals of draws."""

import arviz as az
import numpy as np
import pytest
import xarray as xr

from pymc_mrf.analysis.intervals import interval_probability, statistics_of, summarise


@pytest.fixture
def draws(rng):
    return xr.DataArray(rng.normal(size=(2, 50, 3)), dims=("chain", "draw", "node"), name="x")


def test_mean_and_ends(draws):
    found = summarise(draws, 0.5)
    assert found.dims == ("quantity", "node")
    np.testing.assert_allclose(found.sel(quantity="mean"), draws.values.mean(axis=(0, 1)))
    ends = np.quantile(draws.values, [0.25, 0.75], axis=(0, 1))
    np.testing.assert_allclose(found.sel(quantity=["low", "high"]), ends)
    xr.testing.assert_allclose(summarise(draws.to_dataset(), 0.5)["x"], found)


def test_the_default_probability_is_that_of_arviz(draws):
    assert interval_probability(None) == az.rcParams["stats.ci_prob"]
    with pytest.raises(ValueError, match="ci_prob must be a number above 0 and below 1, not 89"):
        interval_probability(89)
    table = statistics_of(draws, 0.5)
    low, high = np.quantile(draws.values, [0.25, 0.75], axis=(0, 1))
    np.testing.assert_allclose(table[["eti50_lb", "eti50_ub"]], np.stack([low, high], axis=1))
