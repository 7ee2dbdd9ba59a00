"""Log tables of a pairwise field."""

import itertools

import numpy as np

from pymc_mrf.fields.pairwise_tables import PairwiseTables
from pymc_mrf.graph.structure import PairwiseGraph


def test_log_potentials(rng):
    graph = PairwiseGraph("abc", [("b", "a"), ("b", "c")])
    tables = PairwiseTables(graph, rng.normal(size=(2, 2, 2)), rng.normal(size=(3, 2)))
    states = np.array(list(itertools.product((0, 1), repeat=3)))
    by_hand = [
        tables.edges[0, b, a]
        + tables.edges[1, b, c]
        + sum(tables.nodes[i, k] for i, k in enumerate(row))
        for row in states.tolist()
        for a, b, c in [row]
    ]
    np.testing.assert_allclose(tables.log_potential(states), by_hand)
    np.testing.assert_allclose(tables.log_potential(states[5]), by_hand[5])
    assert tables.largest() >= max(by_hand)
    edges, nodes, arrays = tables.arrays
    assert edges is tables.edges and nodes is tables.nodes and arrays is graph.arrays
