"""Counts of nodes and edges: by definition, and after cells have changed."""

import numpy as np
import pytest

from pymc_mrf.fields.families import BOLTZMANN
from pymc_mrf.graph import builders
from pymc_mrf.likelihood.data_counts import DataCounts
from pymc_mrf.likelihood.exact.exact_edges import ExactEdges
from pymc_mrf.likelihood.pseudo.pseudo_edges import PseudoEdges, source_spreads

K = 3
# two blocks, of which the second has edges in both directions, and a node without any
EDGES = np.array([[4, 3], [0, 1], [5, 3], [1, 2], [0, 2]])
SHAPES = (6, 3), (4, 4)


def blocks(rng, n_states=K):
    return [rng.integers(n_states, size=shape).astype(np.int8) for shape in SHAPES]


def counted(x):
    nodes = np.concatenate([[np.bincount(column, minlength=K) for column in own.T] for own in x])
    columns = [column for own in x for column in own.T]
    pairs = np.zeros((len(EDGES), K, K), dtype=int)
    for e, (u, v) in enumerate(EDGES):
        np.add.at(pairs[e], (columns[u], columns[v]), 1)
    return nodes, pairs


def test_counts_follow_the_cells(rng):
    x = blocks(rng)
    kept = [own.copy() for own in x]
    counts = DataCounts(EDGES, K)
    for new in (x, blocks(rng), blocks(rng)):
        counts.count(new)
        for found, expected in zip((counts.nodes, counts.pairs), counted(new), strict=True):
            np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(x[0], kept[0])
    assert (counted(x)[1] != counts.pairs).any()


@pytest.mark.parametrize("engine", [ExactEdges, PseudoEdges])
def test_an_engine_with_other_data_is_that_of_these_data(engine, rng):
    graph = builders.grid(2, 2)
    x, new = rng.integers(2, size=(2, 8, 4)).astype(np.int8)
    changed, made = (engine(data, graph, BOLTZMANN, True) for data in (x, new))
    # centred at the data of the beginning
    shifted = (made.view.field.centre - changed.view.field.centre)[:, :, 0]
    assert (shifted != 0.0).any()
    for data in (x, new):
        changed.set_data(data)
    u, v = graph.edges.T
    weight = 0.5 if engine is PseudoEdges else 1.0  # of what the rows say
    for name in ("sums", "t", "s"):
        expected = getattr(made.view.data, name)
        if name == "s":
            totals = weight * new.sum(axis=0)
            expected = expected + shifted[:, 1] * totals[u] + shifted[:, 0] * totals[v]
        np.testing.assert_allclose(getattr(changed.view.data, name), expected, rtol=1e-12)
    if engine is PseudoEdges:
        Z = new[:, graph.edges] - changed.view.field.centre[:, :, 0]  # (n, r, 2)
        expected = (new[:, u] * Z[:, :, 1] + Z[:, :, 0] * new[:, v]).sum(axis=0)
        np.testing.assert_allclose(changed.view.sums.s, weight * expected, rtol=1e-12)
        spreads = source_spreads(changed.view)[:, ::-1, 0, 0]  # of the other end
        np.testing.assert_allclose(spreads, (Z**2).mean(axis=0), rtol=1e-12)
