"""Simulators of tree-blocked Gibbs sampling: mixtures, clamped nodes, refusals."""

import numpy as np
import pytest

from pymc_mrf.fields.tree_simulation import FactorTreeSimulator, TreeSimulator
from pymc_mrf.graph import builders
from pymc_mrf.graph.factor_graph import FactorGraph
from tests.reference import enumeration, factor_graph
from tests.statistics import assert_frequencies

PARTITIONS = [[[0, 1, 2], [3]], [[1, 3], [0], [2]]]


def test_a_mixture_of_partitions_reaches_the_field(rng):
    graph = builders.grid(2, 2)
    edge_tables, node_tables = rng.normal(size=(4, 3, 3)), rng.normal(size=(4, 3))
    simulator = TreeSimulator(graph, PARTITIONS)
    x = np.zeros((20_000, 4), dtype=np.int8)
    simulator.sweep(x, edge_tables, node_tables, 15, rng)
    counts = np.bincount(enumeration.configuration_index(x, 3), minlength=81)
    assert_frequencies(counts, enumeration.probabilities(graph.edges, edge_tables, node_tables))


def test_missing_cells_per_chain(rng):
    # known cells of a row are -inf but for one state: each row has its own
    graph = builders.grid(2, 2)
    edge_tables, node_tables = rng.normal(size=(4, 2, 2)), rng.normal(size=(4, 2))
    p = enumeration.probabilities(graph.edges, edge_tables, node_tables)
    configs = enumeration.configurations(4, 2)
    n = 20_000
    nodes = np.tile(node_tables, (n, 1, 1))
    nodes[0::2, 0, 0] = -np.inf  # even rows know x0 = 1, odd ones x3 = 0
    nodes[1::2, 3, 1] = -np.inf
    x = np.zeros((n, 4), dtype=np.int8)
    x[0::2, 0] = 1
    TreeSimulator(graph, PARTITIONS[:1]).sweep(x, edge_tables, nodes, 15, rng)
    for rows, known in ((x[0::2], configs[:, 0] == 1), (x[1::2], configs[:, 3] == 0)):
        counts = np.bincount(enumeration.configuration_index(rows, 2), minlength=16)
        assert counts[~known].sum() == 0
        assert_frequencies(counts[known], p[known] / p[known].sum())


def test_clamped_nodes_stay(rng):
    graph = builders.grid(2, 2)
    simulator = TreeSimulator(graph, [[[0, 1, 2]]], clamped=[3])
    x = rng.integers(0, 2, size=(100, 4)).astype(np.int8)
    before = x[:, 3].copy()
    simulator.sweep(x, rng.normal(size=(4, 2, 2)), rng.normal(size=(4, 2)), 5, rng)
    np.testing.assert_array_equal(x[:, 3], before)


def test_factor_mixture_reaches_the_field(rng):
    graph = FactorGraph([(0, 1, 2), (2, 3), (3, 0)], [2, 2, 3, 2])
    tables = [rng.normal(size=shape) for shape in graph.table_shapes]
    simulator = FactorTreeSimulator(graph, PARTITIONS)
    x = np.zeros((20_000, 4), dtype=np.int8)
    simulator.sweep(x, np.concatenate([t.ravel() for t in tables]), 15, rng)
    p = factor_graph.probabilities(graph.scopes, graph.cardinalities, tables)
    index = {z: k for k, z in enumerate(p)}
    counts = np.bincount([index[tuple(z)] for z in x.tolist()], minlength=len(p))
    assert_frequencies(counts, list(p.values()))


def test_refusals(rng):
    graph = builders.grid(2, 2)
    for make in (
        lambda: TreeSimulator(graph, []),
        lambda: FactorTreeSimulator(FactorGraph([], [2]), []),
    ):
        with pytest.raises(ValueError, match="at least one tree partition"):
            make()
    simulator = TreeSimulator(graph, PARTITIONS)
    x, edges, nodes = np.zeros((5, 4), dtype=np.int8), np.zeros((4, 2, 2)), np.zeros((4, 2))
    for arguments, message in [
        ((x.astype(int), edges, nodes), "int8 array of chains by 4 nodes, not int64"),
        ((x[:, :3], edges, nodes), r"not int8 of shape \(5, 3\)"),
        ((x, edges[:3], nodes), r"edge_tables must have shape \(4, 2, 2\)"),
        ((x, edges, np.zeros((2, 4, 2))), r"node_tables must have shape \(4, 2\), or \(5, 4, 2\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            simulator.sweep(*arguments, 1, rng)
