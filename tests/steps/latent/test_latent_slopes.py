"""Slopes of the mean log density of data and parameters."""

import numpy as np
import pymc as pm
import pytest
from scipy.optimize import approx_fprime

import pymc_mrf as pmrf
from pymc_mrf.steps.latent.latent_start import log_prior, slopes_of
from tests.insides import evidence_of

GRAPH = pmrf.graphs.grid(2, 3)
Y = np.random.default_rng(0).normal(size=(6, 2))


def declared(vectors=False):
    with pm.Model() as model:
        x = pmrf.Potts("x", 0.5, graph=GRAPH, n_states=3)
        mu = pm.Normal("mu", 0, 1, shape=(3, 2))
        noise = pm.HalfNormal("noise", 1)
        if vectors:
            pm.MvNormal("y", mu[x], noise * np.eye(2), observed=Y)
        else:
            pm.Normal("y", mu[x], noise, observed=Y)
            pm.Potential("alone", -0.3 * noise)
    return model, evidence_of(pmrf.steps.TreeGibbs([x], model=model))


def test_slopes_are_those_of_differences(rng):
    model, evidence = declared()
    names = ["mu", "noise_log__"]
    slopes = slopes_of(evidence, model, names)
    prior = model.compile_fn(
        log_prior(model, names, evidence), inputs=model.value_vars, on_unused_input="ignore"
    )
    q, point = rng.dirichlet(np.ones(3), size=6), model.initial_point()
    owner = np.where(rng.random(len(evidence.owner)) < 0.2, -2, evidence.owner)
    assert (owner == -2).any() and (owner >= 0).any()

    def at(theta):
        return {**point, "mu": theta[:6].reshape(3, 2), "noise_log__": theta[6]}

    def mean(theta):
        here = at(theta)
        return prior(here) + (q * evidence.table(evidence.read(here).cells, owner)).sum()

    theta = rng.normal(size=7)
    expected = approx_fprime(theta, mean, 1e-7)
    np.testing.assert_allclose(slopes(at(theta), owner, q), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.filterwarnings("ignore:PyTensor could not link to a BLAS")
def test_many_small_matrices_are_left_to_differences():
    model, evidence = declared(vectors=True)
    assert slopes_of(evidence, model, ["mu", "noise_log__"]) is None
