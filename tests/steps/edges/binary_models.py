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
from tests.reference import enumeration
from tests.reference.spike_and_slab import (
    exact_log_likelihood,
    one_edge_posterior,
    pseudo_log_likelihood,
    structure_posteriors,
)
from tests.statistics import Z

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


def beta_p(a, b, r=6):
    return lambda k: special.betaln(a + k, b + r - k) - special.betaln(a, b)


def assert_one_edge(draw, slab, log_slab, likelihood="exact", n=25):
    """What `draw(model)` draws of the weight of the only edge has its posterior, by adaptive quadrature."""
    bias, edges = np.array([0.3, -0.4]), [(0, 1)]
    x = boltzmann_data(n, 5, edges, np.array([1.0]), bias)
    with pm.Model() as model:
        w, graph = SpikeAndSlab("w", 0.4, slab, shape=1), PairwiseGraph(range(2), edges)
        pmrf.BoltzmannMachine("x", w, bias, graph=graph, observed=x, likelihood=likelihood)
    log_likelihood = REFERENCES[likelihood](x, edges, (0, 1))
    inclusion, mean = one_edge_posterior(log_likelihood, 2, 0.4, log_slab, bias)
    [w] = draw(model)
    for own, expected in (((w[..., 0] != 0).astype(float), inclusion), (w[..., 0], mean)):
        assert abs(own.mean() - expected) < Z * float(az.mcse(own))


@functools.cache
def posteriors_of(cells, likelihood, states, sd, bias, n_nodes):
    """Posteriors of rows, all cells one after the other, by their prior."""
    log_likelihood = REFERENCES[likelihood](np.reshape(cells, (-1, 4)), EDGES, states)
    log_slab = stats.norm(0, sd).logpdf
    return structure_posteriors(log_likelihood, 6, 4, log_slab, bias=np.array(bias), n_nodes=n_nodes)


def reference(x, likelihood, log_prior, states=(0, 1), sd=1.0, bias=BIAS, n_nodes=5):
    return posteriors_of(tuple(x.ravel()), likelihood, states, sd, tuple(bias), n_nodes)(log_prior)
