"""`Exchange` beside `TreeGibbs`: parameters of latent fields and of fields with missing cells."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
from scipy import stats

import pymc_mrf as pmrf
from pymc_mrf.fields.families import ISING
from pymc_mrf.graph import builders
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.likelihood.particles.auxiliary import AuxiliarySampler
from pymc_mrf.steps.auxiliary.exchange import MEMORY
from tests.insides import coordinates_of
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


@pytest.mark.slow
@pytest.mark.compiled
def test_coupling_of_a_latent_field():
    rng = np.random.default_rng(3)
    y = rng.choice([-1, 1], size=(12, 1)) + rng.normal(0, 0.9, size=(12, 3))
    with pm.Model():
        J = pm.Normal("J", np.float64(0.0), np.float64(1.0))
        x = pmrf.Ising("x", J, graph=GRAPH, shape=(12, 3), likelihood="particles")
        pm.Normal("y", x, np.float64(0.9), observed=y)
        idata = pm.sample(1000, tune=300, random_seed=1, **SAMPLE)
    assert {"exchange_accept", "tree_gibbs_changed"} <= set(idata.sample_stats)
    logs = stats.norm(STATES[None], 0.9).logpdf(y[:, None]).sum(axis=2)
    assert_mean(idata.posterior["J"].values, posterior_mean(logs))


@pytest.mark.slow
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
        idata = pm.sample(1000, tune=300, random_seed=1, **SAMPLE)
    fits = ((STATES[None] == data[:, None]) | mask[:, None]).all(axis=2)
    with np.errstate(divide="ignore"):
        logs = np.log(fits)
    assert_mean(idata.posterior["J"].values, posterior_mean(logs))


def near_criticality():
    """A noisy picture of a 24 x 24 Ising field of coupling 0.42, coupling and bias unknown."""
    graph, rng = builders.grid(24, 24), np.random.default_rng(2)
    edge_tables = ISING.edge_tables(np.full(graph.n_edges, 0.42))
    sampler = AuxiliarySampler(graph, 2, 1, draws="gibbs", n_sweeps=1000, name="x")
    start = rng.integers(2, size=(1, graph.n_nodes), dtype=np.int8)
    x = sampler.draw(edge_tables, np.zeros((graph.n_nodes, 2)), rng, start=start)[0]
    with pm.Model() as model:
        J, h = pm.HalfNormal("J", 1.0), pm.Normal("h", 0.0, 0.5)
        z = pmrf.Ising("x", J, h, graph=graph, likelihood="particles")
        pm.Normal("y", z, 0.7, observed=2 * x - 1 + rng.normal(0, 0.7, size=len(x)))
    return model


@pytest.mark.slow
def test_short_chains_of_a_latent_field_are_reported_where_they_are_short():
    """And what tuning learns of two parameters is their posterior's spread: the start is forgotten."""
    model = near_criticality()
    said = {}
    for n_sweeps in (1, 20):
        step = pmrf.steps.Exchange(
            [model["J"], model["h"]], model=model, draws="gibbs", n_sweeps=n_sweeps
        )
        steps = [step, pmrf.steps.TreeGibbs([model["x"]], model=model, n_sweeps=2)]
        draws, stats = run_together(steps, model.initial_point(), 200, 300)
        said[n_sweeps] = stats[-1][0]["warning"]
        # that of the pseudo-likelihood counts for some steps, and is far too wide so near criticality
        memory = MEMORY * 1.2
        known = memory * np.diag(np.linalg.inv(step.precision)) + step.n_learnt * draws.var(axis=0)
        ratio = np.sqrt(np.diag(step.covariances[0]) * (memory + step.n_learnt) / known)
        assert (ratio > 0.5).all() and (ratio < 2.0).all(), ratio
    assert said[20] is None
    assert "n_sweeps=1 is too small" in said[1].message


def run_together(steps, point, tune, n):
    """Coordinates (n, k) of the first of `steps` after tuning, and its statistics."""
    for k, step in enumerate(steps):
        step.setup_chain(np.random.default_rng(k), tune, n)
    draws, stats = [], []
    for t in range(tune + n):
        if t == tune:
            for step in steps:
                step.stop_tuning()
        results = [(point := moved, found) for step in steps for moved, found in [step.step(point)]]
        draws.append(coordinates_of(steps[0], point))
        stats.append(results[0][1])
    return np.array(draws[tune:]), stats
