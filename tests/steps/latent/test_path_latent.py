"""NUTS along `likelihood="path"` beside `TreeGibbs`: the coupling of a hidden field, against enumeration."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
from scipy import stats
from scipy.special import logsumexp

import pymc_mrf as pmrf
from pymc_mrf.fields.families import potts
from pymc_mrf.graph import builders
from pymc_mrf.likelihood.path import path_form as path
from tests.reference import enumeration
from tests.statistics import Z

GRAPH = builders.grid(2, 3)
STATES = enumeration.configurations(6, 3)
GRID = np.linspace(0.005, 6.0, 600)


def posterior_moments(log_likelihoods, edge_weights):
    """Mean and sd of J ~ HalfNormal(1); `log_likelihoods` (rows, states) of each row's configurations."""
    agreeing = (STATES[:, GRAPH.edges[:, 0]] == STATES[:, GRAPH.edges[:, 1]]) @ edge_weights
    log_p = stats.halfnorm(0, 1).logpdf(GRID)
    for k, J in enumerate(GRID):
        weights = np.exp(J * agreeing)
        log_p[k] += np.log(np.exp(log_likelihoods) @ weights / weights.sum()).sum()
    p = np.exp(log_p - log_p.max())
    return p @ GRID / p.sum(), np.sqrt(p @ GRID**2 / p.sum() - (p @ GRID / p.sum()) ** 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("weights", "others"),
    [(np.ones(7), np.full(7, 3.0)), (np.array([0.2, 4, 0.2, 4, 1, 4, 1]), np.ones(7))],
)
def test_coupling_of_a_hidden_field(weights, others, tmp_path, monkeypatch):
    monkeypatch.setattr(path, "folder", lambda: tmp_path)
    rng = np.random.default_rng(3)
    tables = potts(3).edge_tables(weights / weights.mean())
    x = pmrf.PairwiseField(GRAPH, tables, np.zeros((6, 3))).sample(10, "exact", rng=rng)
    y = x + rng.normal(0, 0.6, size=(10, 6))
    with pm.Model():
        J = pm.HalfNormal("J", np.float64(1.0))
        z = pmrf.Potts("x", J * weights, graph=GRAPH, n_states=3, shape=(10, 6), likelihood="path")
        pm.Normal("y", z, np.float64(0.6), observed=y)
        idata = pm.sample(
            800, tune=150, chains=2, cores=1, random_seed=1, progressbar=False, quiet=True,
            nuts={"target_accept": 0.65}, compute_convergence_checks=False,
        )  # fmt: skip
    assert {"diverging", "tree_gibbs_changed"} <= set(idata.sample_stats)
    logs = stats.norm(STATES[None], 0.6).logpdf(y[:, None]).sum(axis=2)
    mean, sd = posterior_moments(logs, weights)
    draws = idata.posterior["J"].values
    error = float(az.mcse(draws))
    assert error < 0.1 * sd
    assert abs(draws.mean() - mean) < Z * error, (draws.mean(), mean, error)
    assert draws.std() == pytest.approx(sd, rel=0.15)
    # controls: the data tell, and so do the weights
    for wrong in ((np.zeros_like(logs), weights), (logs, others)):
        assert abs(draws.mean() - posterior_moments(*wrong)[0]) > Z * error


@pytest.mark.slow  # a further variant: grids are in `test_path.py`, and the steps are those of the test above
@pytest.mark.compiled
def test_coupling_and_field_of_a_hidden_field(tmp_path, monkeypatch):
    """J ~ HalfNormal(1), h ~ Normal(0, 1) of an Ising field, against sums over its 64 states."""
    monkeypatch.setattr(path, "folder", lambda: tmp_path)
    rng = np.random.default_rng(5)
    states = 2 * enumeration.configurations(6, 2) - 1
    u, v = GRAPH.edges.T
    products, sums = (states[:, u] * states[:, v]).sum(axis=1), states.sum(axis=1)
    p = np.exp(0.3 * products + 0.2 * sums)
    x = states[rng.choice(64, size=8, p=p / p.sum())]
    y = x + rng.normal(0, 0.7, size=x.shape)
    with pm.Model():
        J, h = pm.HalfNormal("J", np.float64(1.0)), pm.Normal("h", 0, np.float64(1.0))
        z = pmrf.Ising("x", J, h, graph=GRAPH, shape=x.shape, likelihood="path")
        pm.Normal("y", z, np.float64(0.7), observed=y)
        idata = pm.sample(
            800,
            tune=400,
            chains=2,
            cores=1,
            random_seed=1,
            progressbar=False,
            quiet=True,
            compute_convergence_checks=False,
        )
    couplings, fields = np.linspace(0.005, 2.5, 60)[:, None, None], np.linspace(-2.5, 2.5, 101)[:, None]
    energies = couplings * products + fields * sums
    log_prior = stats.halfnorm(0, 1.0).logpdf(couplings[..., 0]) + stats.norm.logpdf(fields[:, 0])

    def moments(logs):
        log_p = log_prior.copy()
        for row in logs:
            log_p += logsumexp(energies + row, axis=-1) - logsumexp(energies, axis=-1)
        p = np.exp(log_p - log_p.max())
        p /= p.sum()
        return {"J": (p.sum(axis=1), couplings[:, 0, 0]), "h": (p.sum(axis=0), fields[:, 0])}

    logs = stats.norm(states[None], 0.7).logpdf(y[:, None]).sum(axis=2)
    told, unknown = moments(logs), moments(np.zeros_like(logs))
    for name, (p, values) in told.items():
        draws = idata.posterior[name].values
        mean, error = p @ values, float(az.mcse(draws))
        sd = np.sqrt(p @ values**2 - mean**2)
        assert error < 0.12 * sd
        assert abs(draws.mean() - mean) < Z * error, (name, draws.mean(), mean, error)
        assert draws.std() == pytest.approx(sd, rel=0.15)
        q, values = unknown[name]
        assert abs(draws.mean() - q @ values) > Z * error  # control: the data tell
