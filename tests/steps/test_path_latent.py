"""NUTS along `likelihood="path"` beside `TreeGibbs`: the coupling of a hidden field, against enumeration."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
from scipy import stats

import pymc_mrf as pmrf
from pymc_mrf.distributions import path
from pymc_mrf.fields.families import potts
from pymc_mrf.graph import builders
from tests.reference import enumeration
from tests.statistics import Z

GRAPH = builders.grid(2, 3)
STATES = enumeration.configurations(6, 3)
GRID = np.linspace(0.005, 6.0, 600)


def posterior_moments(log_likelihoods):
    """Mean and sd of J ~ HalfNormal(1); `log_likelihoods` (rows, states) of each row's configurations."""
    agreeing = np.array([sum(z[u] == z[v] for u, v in GRAPH.edges) for z in STATES])
    log_p = stats.halfnorm(0, 1).logpdf(GRID)
    for k, J in enumerate(GRID):
        weights = np.exp(J * agreeing)
        log_p[k] += np.log(np.exp(log_likelihoods) @ weights / weights.sum()).sum()
    p = np.exp(log_p - log_p.max())
    return p @ GRID / p.sum(), np.sqrt(p @ GRID**2 / p.sum() - (p @ GRID / p.sum()) ** 2)


@pytest.mark.compiled
def test_coupling_of_a_hidden_field(tmp_path, monkeypatch):
    monkeypatch.setattr(path, "folder", lambda: tmp_path)
    rng = np.random.default_rng(3)
    tables = potts(3).edge_tables(np.full(GRAPH.n_edges, 1.0))
    x = pmrf.PairwiseField(GRAPH, tables, np.zeros((6, 3))).sample(10, "exact", rng=rng)
    y = x + rng.normal(0, 0.6, size=(10, 6))
    with pm.Model():
        J = pm.HalfNormal("J", np.float64(1.0))
        z = pmrf.Potts("x", J, graph=GRAPH, n_states=3, shape=(10, 6), likelihood="path")
        pm.Normal("y", z, np.float64(0.6), observed=y)
        idata = pm.sample(
            1000, tune=400, chains=2, cores=1, random_seed=1, progressbar=False, quiet=True
        )
    assert {"diverging", "tree_gibbs_changed"} <= set(idata.sample_stats)
    logs = stats.norm(STATES[None], 0.6).logpdf(y[:, None]).sum(axis=2)
    mean, sd = posterior_moments(logs)
    draws = idata.posterior["J"].values
    error = float(az.mcse(draws))
    assert error < 0.1 * sd
    assert abs(draws.mean() - mean) < Z * error, (draws.mean(), mean, error)
    assert draws.std() == pytest.approx(sd, rel=0.15)
    unknown = np.zeros_like(logs)
    assert abs(draws.mean() - posterior_moments(unknown)[0]) > Z * error  # control: the data tell
