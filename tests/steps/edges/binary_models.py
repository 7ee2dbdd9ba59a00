"""Boltzmann machines with sparse weights, their posteriors and draws."""

import functools

import arviz as az
import numpy as np
import pymc as pm
from scipy import special, stats

import pymc_mrf as pmrf
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlab
from pymc_mrf.fields.families import BOLTZMANN
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.steps.edges.edge_gibbs import EdgeGibbs
from tests.reference import enumeration
from tests.reference.spike_and_slab import (
    exact_log_likelihood,
    pseudo_log_likelihood,
    structure_posterior,
)
from tests.reference.views import use_junction_tree

EDGES = [(0, 1), (1, 2), (2, 3), (0, 2), (0, 3), (1, 3)]
GRAPH = PairwiseGraph(range(4), EDGES)
WEIGHT = np.array([1.2, 0.0, -0.8, 0.0, 0.6, 0.0])
BIAS = np.array([-0.5, 0.3, 0.2, -0.4])
TRIANGLE = PairwiseGraph(range(3), [(0, 1), (1, 2), (0, 2)])
REFERENCES = {
    "exact": exact_log_likelihood,
    "pseudo": pseudo_log_likelihood,
    pmrf.Pseudo(weight=1): functools.partial(pseudo_log_likelihood, weight=1.0),
}
SAMPLE = {"progressbar": False, "quiet": True}


def boltzmann_data(n, seed, edges=EDGES, weight=WEIGHT, bias=BIAS):
    tables = BOLTZMANN.edge_tables(weight), BOLTZMANN.node_tables(bias)
    p = enumeration.probabilities(edges, *tables)
    rows = np.random.default_rng(seed).choice(len(p), size=n, p=p)
    return enumeration.configurations(len(bias), 2)[rows]


def fixed_bias_model(x, *, p=0.4, slab=None, likelihood="exact", ising=False):
    slab = pm.Normal.dist(0, 1) if slab is None else slab
    with pm.Model() as model:
        p = pm.Beta("p", *p) if isinstance(p, tuple) else p
        w = SpikeAndSlab("w", p, slab, shape=6)
        field = pmrf.Ising if ising else pmrf.BoltzmannMachine
        field("x", w, BIAS, graph=GRAPH, observed=x, likelihood=likelihood)
    return model


def random_bias_model(x, *, p=0.4, likelihood="exact", graph=TRIANGLE):
    with pm.Model() as model:
        w = SpikeAndSlab("w", p, pm.Normal.dist(0, 1), shape=graph.n_edges)
        b = pm.Normal("b", 0, 2, shape=graph.n_nodes)
        pmrf.BoltzmannMachine("x", w, b, graph=graph, observed=x, likelihood=likelihood)
    return model


def draws_of(
    model, names, n_draws=5000, seed=1, corrected=True, tune=300, n_chains=2, tree=False, **options
):
    """Draws (n_chains, n_draws, ...) of the variables that the step moves, without other steps."""
    with model:
        step = EdgeGibbs([model[name] for name in names], **options)
    if tree:
        use_junction_tree(step._engine, step._fields[0].graph)
    if not corrected:
        sweep = step._engine.sweep
        step._engine.sweep = lambda *args, **told: sweep(*args, corrected=False, **told)
    values = [model.rvs_to_values[model[name]].name for name in names]
    chains = []
    for chain in range(n_chains):
        step.setup_chain(np.random.default_rng([seed, chain]), tune, n_draws)
        point = model.initial_point()
        rows = []
        for i in range(tune + n_draws):
            if i == tune:
                step.stop_tuning()
            point, _ = step.step(point)
            rows.append([point[value] for value in values])
        chains.append(rows[tune:])
    return [np.array([[row[k] for row in rows] for rows in chains]) for k in range(len(names))]


def standardised_gaps(w, exact):
    """Differences from the exact posterior in Monte-Carlo standard errors."""
    quantities = {}
    for e in range(w.shape[-1]):
        if 0.01 < exact.inclusion[e] < 0.99:
            quantities[f"P(Y_{e})"] = ((w[..., e] != 0).astype(float), exact.inclusion[e])
        quantities[f"E[w_{e}]"] = (w[..., e], exact.weight[e])
    n_edges = np.count_nonzero(w, axis=-1)
    for k, p in enumerate(exact.n_edges):
        if 0.01 < p < 0.99:
            quantities[f"P({k} edges)"] = ((n_edges == k).astype(float), p)
    gaps = {}
    for name, (draws, value) in quantities.items():
        assert az.ess(draws) > 400, name
        gaps[name] = (draws.mean() - value) / float(az.mcse(draws))
    return gaps


def fixed_p(p, r=6):
    return lambda k: k * np.log(p) + (r - k) * np.log1p(-p)


def beta_p(a, b, r=6):
    return lambda k: special.betaln(a + k, b + r - k) - special.betaln(a, b)


def reference(x, likelihood, log_prior, states=(0, 1), sd=1.0, bias=BIAS, n_nodes=5):
    log_likelihood = REFERENCES[likelihood](x, EDGES, states)
    log_slab = stats.norm(0, sd).logpdf
    return structure_posterior(log_likelihood, 6, 4, log_prior, log_slab, bias=bias, n_nodes=n_nodes)
