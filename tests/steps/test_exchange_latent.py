"""`Exchange` beside `TreeGibbs`: parameters of latent fields and of fields with missing cells."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
from scipy import stats

import pymc_mrf as pmrf
from pymc_mrf.fields.families import ISING
from pymc_mrf.graph.structure import PairwiseGraph
from tests.reference import enumeration
from tests.statistics import Z

EDGES = [(0, 1), (1, 2), (2, 0)]
GRAPH = PairwiseGraph(range(3), EDGES)
GRID = np.linspace(-5.0, 5.0, 801)
STATES = 2 * enumeration.configurations(3, 2) - 1
SAMPLE = {
    "chains": 2,
    "cores": 1,
    "progressbar": False,
    "quiet": True,
    "compute_convergence_checks": False,
}


def posterior_mean(log_likelihoods):
    """E[J] for J ~ Normal(0, 1); `log_likelihoods` (rows, states) of the configurations of each row."""
    log_p = stats.norm(0, 1).logpdf(GRID)
    for k, J in enumerate(GRID):
        tables = ISING.edge_tables(np.full(3, J))
        p = enumeration.probabilities(EDGES, tables, np.zeros((3, 2)))
        log_p[k] += np.log(np.exp(log_likelihoods) @ p).sum()
    p = np.exp(log_p - log_p.max())
    return p @ GRID / p.sum()


def assert_mean(draws, exact):
    error = float(az.mcse(draws))
    assert error < 0.05
    assert abs(draws.mean() - exact) < Z * error, (draws.mean(), exact, error)
    assert abs(draws.mean()) > Z * error  # the prior's mean is told apart


@pytest.mark.compiled
def test_coupling_of_a_latent_field():
    rng = np.random.default_rng(3)
    y = rng.choice([-1, 1], size=(12, 1)) + rng.normal(0, 0.9, size=(12, 3))
    with pm.Model():
        J = pm.Normal("J", np.float64(0.0), np.float64(1.0))
        x = pmrf.Ising("x", J, graph=GRAPH, shape=(12, 3), likelihood="particles")
        pm.Normal("y", x, np.float64(0.9), observed=y)
        idata = pm.sample(2500, tune=400, random_seed=1, **SAMPLE)
    assert {"exchange_accept", "tree_gibbs_changed"} <= set(idata.sample_stats)
    logs = stats.norm(STATES[None], 0.9).logpdf(y[:, None]).sum(axis=2)
    assert_mean(idata.posterior["J"].values, posterior_mean(logs))


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore:Data in x contains missing values")
def test_coupling_of_a_field_with_missing_cells():
    rng = np.random.default_rng(4)
    data = np.repeat(rng.choice([-1, 1], size=(10, 1)), 3, axis=1)
    mask = rng.random((10, 3)) < 0.3
    with pm.Model():
        J = pm.Normal("J", np.float64(0.0), np.float64(1.0))
        x = np.ma.masked_array(data, mask)
        pmrf.Ising("x", J, graph=GRAPH, observed=x, likelihood="particles")
        idata = pm.sample(2500, tune=400, random_seed=1, **SAMPLE)
    fits = ((STATES[None] == data[:, None]) | mask[:, None]).all(axis=2)
    with np.errstate(divide="ignore"):
        logs = np.log(fits)
    assert_mean(idata.posterior["J"].values, posterior_mean(logs))
