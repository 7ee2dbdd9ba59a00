"""Gibbs sweeps of K-state fields, vectorised over chains: both kinds of tables, twin, impossible states."""

import numpy as np
import pytest

from pymc_mrf.graph import builders
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.simulation import states_gibbs
from tests.kernels.simulation.sweeps import random_tables, state_sweeps
from tests.reference import blocked_gibbs, enumeration
from tests.statistics import assert_frequencies

# node 0 has seven neighbours: for three states 3 ** 7 is too much for a table of thresholds
HUB = PairwiseGraph(range(9), [(i, 0) for i in range(1, 5)] + [(0, 5), (0, 6), (0, 7), (2, 1), (3, 5)])


@pytest.mark.parametrize("n_states", [2, 3, 20])
def test_equals_the_twin_on_the_same_random_words(n_states, rng):
    tables = random_tables(HUB, n_states, rng)
    start = rng.integers(0, n_states, size=(70, 9)).astype(np.int8)
    x = start.copy()
    state_sweeps(x, *tables, HUB, 2, np.random.default_rng(3))
    _, sizes = states_gibbs.table_places(
        HUB.arrays.indptr, n_states, 70 * 2 // states_gibbs.DRAWS_PER_CELL
    )
    direct = np.diff(HUB.arrays.indptr) <= sizes
    assert direct[8] and not direct[0]

    def draw(i):
        return blocked_gibbs.draw_from_31_bits if direct[i] else blocked_gibbs.draw_from_24_bits

    twin = blocked_gibbs.sweeps(
        start, HUB.edges, *tables, HUB.arrays.order, 2, np.random.default_rng(3), draw
    )
    np.testing.assert_array_equal(x, twin)


def test_groups_of_neighbors_reach_the_distribution(rng):
    edge_tables, node_tables = random_tables(HUB, 3, rng)
    edge_tables *= 0.4
    x = rng.integers(0, 3, size=(30_000, 9)).astype(np.int8)
    state_sweeps(x, edge_tables, node_tables, HUB, 40, rng)
    _, edge_marginals = enumeration.marginals(HUB.edges, edge_tables, node_tables)
    for e, (u, v) in enumerate(HUB.edges):
        counts = np.bincount(3 * x[:, u].astype(int) + x[:, v], minlength=9)
        assert_frequencies(counts, edge_marginals[e].ravel())


@pytest.mark.parametrize("graph", [builders.grid(3, 3), HUB], ids=["thresholds", "groups"])
def test_impossible_states_are_never_drawn(graph, rng):
    edge_tables = np.tile(np.where(np.eye(5), -np.inf, 0.0), (graph.n_edges, 1, 1))  # proper colourings
    node_tables = np.zeros((graph.n_nodes, 5))
    node_tables[:, 4] = -np.inf
    order = np.argsort(graph.arrays.order)
    colors = np.searchsorted(graph.arrays.color_ptr, order, side="right") - 1
    x = np.tile(colors.astype(np.int8), (200, 1))
    state_sweeps(x, edge_tables, node_tables, graph, 200, rng)
    assert x.max() == 3 and x.min() == 0
    u, v = graph.edges.T
    assert np.all(x[:, u] != x[:, v])
