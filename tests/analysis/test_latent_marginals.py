"""Marginals of a latent field that are counted while sampling: those of the stored draws."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr

import pymc_mrf as pmrf
from pymc_mrf.graph import builders

SAMPLE = {
    "draws": 30,
    "tune": 5,
    "chains": 2,
    "cores": 1,
    "random_seed": 3,
    "progressbar": False,
    "quiet": True,
    "compute_convergence_checks": False,
}


def hidden(dims=None):
    with pm.Model(coords={"pixel": list("abcd")}) as model:
        x = pmrf.Ising("x", np.float64(0.3), graph=builders.grid(2, 2), dims=dims)
        s = pm.Bernoulli("s", 0.5)
        pm.Normal("y", x + s, 1.5, observed=[0.3, -1.0, 0.9, 0.2])
    return model


def test_counts_are_those_of_the_draws():
    with hidden("pixel") as model:
        counts = pmrf.LatentMarginals(model["x"])
        stored = pm.sample(callback=counts, **SAMPLE).posterior["x"]
        first = counts.to_dataset()
        idata = pm.sample(callback=counts, var_names=["s"], **SAMPLE)  # the same seed, counted anew
    assert list(idata.posterior.data_vars) == ["s"]
    for found in (first, counts.to_dataset()):
        for state in (-1, 1):
            expected = (stored == state).mean("draw")
            xr.testing.assert_allclose(found["probability"].sel(state=state, drop=True), expected)
        assert found["n_draws"].values.tolist() == [30, 30]
        both = (stored == 1).mean(("chain", "draw")) > 0.5
        np.testing.assert_array_equal(found["mode"], np.where(both, 1, -1))
        assert found["mode"].indexes["pixel"].tolist() == list("abcd")
    assert not np.array_equal(*first["probability"].values)  # chains have counts of their own
    idata["latent"] = xr.DataTree(first)
    assert idata["latent"]["mode"].dims == ("pixel",)


def test_refusals():
    model = hidden()
    counts = pmrf.LatentMarginals(model["x"], model)
    with pytest.raises(ValueError, match=r"counted no draw; give it to pymc\.sample as its callback"):
        counts.to_dataset()
    for wrong in (model["y"], model["s"], "x"):
        with pytest.raises(
            TypeError, match=r"counts a free field of the model.*is none; pass the variable"
        ):
            pmrf.LatentMarginals(wrong, model)
