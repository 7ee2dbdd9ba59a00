"""GroupGibbs: exact posteriors by enumeration and of wider fields, rows with weights, warnings."""

from dataclasses import replace

import arviz as az
import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf
from pymc_mrf.fields.families import BOLTZMANN
from pymc_mrf.fields.pairwise import PairwiseField
from pymc_mrf.likelihood.edges.edge_field import edge_field
from pymc_mrf.likelihood.monte_carlo.reference import Chains
from pymc_mrf.likelihood.monte_carlo.sampled_field import SampledField
from tests.insides import engines_of
from tests.reference.grouped_posterior import grouped_posterior
from tests.statistics import Z
from tests.steps.groups.models import EDGES, GRAPH, SAMPLE, agreement_data, standardised_gaps

BIAS = np.array([0.5, -0.3, 0.2, -0.6])
PRECISE = pmrf.MonteCarlo(tolerance=0.05)  # beside enumeration, little noise of the sample may be left


def boltzmann_model(x, likelihood="monte-carlo", **options):
    with pm.Model() as model:
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Logistic.dist(0.0, 1.0), shape=5)
        pmrf.BoltzmannMachine(
            "x", theta, BIAS, graph=GRAPH, observed=x, likelihood=likelihood, **options
        )
    return model


def largest_gap(model, exact, draws=1000, change=lambda step: None):
    """In Monte-Carlo standard errors, of the posterior of theta = sigmoid(weight)."""
    with model:
        step = pmrf.steps.GroupGibbs([model["theta"]])
        change(step)
        idata = pm.sample(draws, tune=100, chains=2, cores=1, step=step, random_seed=1, **SAMPLE)
    assert float(idata.sample_stats["group_gibbs_ess"].min()) > 0.2
    assert 0.0 < float(idata.sample_stats["group_gibbs_noise"].max()) < 0.1
    theta = 1.0 / (1.0 + np.exp(-idata.posterior["theta"].values))
    return np.abs(list(standardised_gaps(theta, exact).values())).max()


@pytest.mark.slow
def test_all_partitions_of_five_edges(small_samples):
    """Rows that stand for several observations are as many rows."""
    x = agreement_data(80, seed=2)
    table, weights = np.unique(x, axis=0, return_counts=True)
    exact = grouped_posterior(x, EDGES, 1.0, statistic="product", bias=BIAS)
    assert largest_gap(boltzmann_model(table, PRECISE, weights=weights), exact) < Z

    def mislead(step):  # negative control: the mean of the longer simulation is another
        [engine] = engines_of(step)
        engine.view(np.zeros(5)).edges.sample.gap[:] += 0.05

    assert largest_gap(boltzmann_model(x, PRECISE), exact, 500, mislead) > Z


def simulate(step, model, n_draws=60):
    """Statistics and warning at the end of a chain."""
    step.setup_chain(np.random.default_rng(1), 10, n_draws)
    point = model.initial_point()
    for i in range(10 + n_draws):
        if i == 10:
            step.stop_tuning()
        point, [said] = step.step(point)
    return said, "" if said["warning"] is None else str(said["warning"])


@pytest.mark.slow
def test_a_far_reference_and_a_small_sample_are_told_of(monkeypatch):
    """With the remedy; a near one is not."""
    near = np.array([1.0, 1.0, 0.5, 0.5, 1.0])
    true = PairwiseField(GRAPH, BOLTZMANN.edge_tables(near), BOLTZMANN.node_tables(BIAS))
    x = true.sample(400, rng=np.random.default_rng(3)).astype(np.int8)
    field, _ = edge_field(x, GRAPH, BOLTZMANN, False, np.arange(5))

    def told_of(w, b, size):
        chains = Chains(x, GRAPH, BOLTZMANN, field, np.random.default_rng(0))
        sampled = SampledField("", replace(chains.at(w, b, np.r_[w, b], size, 4), noise=0.3))
        monkeypatch.setattr(SampledField, "of", lambda *arguments: sampled)
        model = boltzmann_model(x)
        return simulate(pmrf.steps.GroupGibbs([model["theta"]], model=model), model)

    said, message = told_of(near, BIAS, 4000)
    assert message == "" and said["group_gibbs_ess"] > 0.3
    said, message = told_of(0.0 * near, -3.0 * np.ones(4), 4000)
    assert "is far from the draws" in message and 'use likelihood="particles"' in message
    said, message = told_of(near, BIAS, 40)
    assert "is too small: log-likelihood ratios have a noise of" in message
    assert "likelihood=pymc_mrf.MonteCarlo(tolerance=0." in message


@pytest.mark.slow
def test_twelve_nodes_by_the_junction_tree():
    """Co-clustering of all pairs and all means, within Monte-Carlo error and that of the simulation."""
    rng = np.random.default_rng(5)
    graph = pmrf.graphs.complete(12)
    w = np.array([-0.4, 0.0, 0.6])[rng.choice(3, p=[0.2, 0.6, 0.2], size=graph.n_edges)]
    b = rng.normal(-0.3, 0.3, 12)
    field = PairwiseField(graph, BOLTZMANN.edge_tables(w), BOLTZMANN.node_tables(b))
    x = field.sample(800, rng=rng)
    u, v = np.triu_indices(graph.n_edges, 1)
    pairs, found = rng.choice(len(u), 300, replace=False), {}
    for likelihood, draws in (("exact", 300), ("monte-carlo", 900)):
        with pm.Model():
            theta = pmrf.DirichletProcess("theta", 1.0, pm.Normal.dist(0, 1), shape=graph.n_edges)
            pmrf.BoltzmannMachine("x", theta, b, graph=graph, observed=x, likelihood=likelihood)
            idata = pm.sample(draws, tune=100, chains=2, cores=1, random_seed=2, **SAMPLE)
        theta = idata.posterior["theta"].values
        groups = np.array([[len(np.unique(row)) for row in chain] for chain in theta], dtype=float)
        together = (theta[..., u[pairs]] == theta[..., v[pairs]]).astype(float)
        events = np.concatenate([theta, together, groups[..., None]], axis=2)
        error = [float(az.mcse(events[..., k])) for k in range(events.shape[2])]
        found[likelihood] = events.mean(axis=(0, 1)), np.nan_to_num(error)
    gap = np.abs(found["exact"][0] - found["monte-carlo"][0])
    error = np.hypot(found["exact"][1], found["monte-carlo"][1])
    assert (gap - Z * error)[:-1].max() < 0.02
    assert np.sqrt(np.mean(gap[66:-1] ** 2 - error[66:-1] ** 2).clip(0.0)) < 0.02
    assert gap[-1] < Z * error[-1] + 0.1
