"""Gibbs sweeps vectorised over chains, binary: error of the logistic, twin, strong fields."""

import numpy as np
from numba import njit

from pymc_mrf.fields.families import BOLTZMANN
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.simulation import dense_gibbs, gibbs
from tests.reference import blocked_gibbs

# node 0 has nine neighbours (one pass of eight and one more), node 10 none
HUB = PairwiseGraph(range(11), [(0, i) for i in range(1, 10)] + [(4, 2), (3, 4), (9, 8)])
SMALL = PairwiseGraph(range(4), [(0, 1), (2, 1), (2, 0)])


def boltzmann(graph, rng, sd=1.0):
    return rng.normal(0, sd, graph.n_edges), rng.normal(0, sd, graph.n_nodes)


@njit
def tabulate(function, h, out):
    for c in range(len(h)):
        out[c] = function(h[c])


def test_logistic_error_is_below_its_bound():
    h = np.concatenate([np.linspace(-88, 88, 1_000_001), np.linspace(-0.5, 0.5, 100_001)]).astype(
        np.float32
    )
    out = np.empty_like(h)
    tabulate(dense_gibbs.smaller_tail, h, out)
    e = np.exp(-np.abs(h.astype(np.float64)))
    exact = e / (1 + e)
    inside = np.abs(h) <= 87
    assert np.max(np.abs(out[inside] / exact[inside] - 1)) < 4e-7
    assert np.max(np.abs(out - exact)) < 8e-8
    assert np.all(out <= 0.5)


def test_exponential_error_is_below_its_bound():
    x = -np.linspace(0, 87, 1_000_001).astype(np.float32)
    out = np.empty_like(x)
    tabulate(dense_gibbs.exp_negative_float32, x, out)
    assert np.max(np.abs(out / np.exp(x.astype(np.float64)) - 1)) < 3e-7
    far = np.array([-87.5, -800.0, -3e38, -np.inf], dtype=np.float32)
    out = np.empty_like(far)
    tabulate(dense_gibbs.exp_negative_float32, far, out)
    assert np.all((out > 0) & (out < 2.0**-125))


def test_equals_the_twin_on_the_same_random_words(rng):
    weight, bias = boltzmann(HUB, rng)
    tables = BOLTZMANN.edge_tables(weight), BOLTZMANN.node_tables(bias)
    start = rng.integers(0, 2, size=(70, 11)).astype(np.int8)  # one full block and one of six chains
    x = start.copy()
    dense_gibbs.gibbs_sweeps_dense(x, weight, bias, HUB.arrays, 2, np.random.default_rng(3))
    twin = blocked_gibbs.sweeps(
        start,
        HUB.edges,
        *tables,
        HUB.arrays.order,
        2,
        np.random.default_rng(3),
        lambda i: blocked_gibbs.draw_binary,
    )
    np.testing.assert_array_equal(x, twin)


def test_strong_fields_are_deterministic(rng):
    weight, bias = np.full(SMALL.n_edges, 800.0), np.array([-900.0, -900.0, 500.0, 40.0])
    x = np.zeros((1000, 4), dtype=np.int8)
    dense_gibbs.gibbs_sweeps_dense(x, weight, bias, SMALL.arrays, 20, rng)
    plain = np.zeros((1000, 4), dtype=np.int8)
    tables = BOLTZMANN.edge_tables(weight), BOLTZMANN.node_tables(bias)
    gibbs.gibbs_sweeps(plain, *tables, SMALL.arrays, 20, rng)
    np.testing.assert_array_equal(x, plain)
