"""Tree partitions as arrays: structure, and what is refused."""

import networkx as nx
import numpy as np
import pytest

from pymc_mrf.graph import builders
from pymc_mrf.graph.factor_graph import FactorGraph, factor_schedule, node_schedule
from pymc_mrf.graph.forest_arrays import factor_forest_arrays, forest_arrays
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.graph.tree_partition import check_tree_partition, tree_partition


@pytest.mark.parametrize("seed", range(3))
def test_arrays_describe_the_partition(seed):
    graph = PairwiseGraph.from_networkx(nx.gnm_random_graph(40, 80, seed=seed))
    partition = tree_partition(graph, rng=np.random.default_rng(seed))
    clamped = max(partition, key=len)[:3]
    blocks = [[i for i in block if i not in clamped] for block in partition]
    check_tree_partition(graph, [*blocks, *([i] for i in clamped)], forests=True)
    forest = forest_arrays(graph, blocks, clamped)
    owner = {i: b for b, block in enumerate(blocks) for i in block}
    network = graph.to_networkx()
    covered = []
    for b, block in enumerate(blocks):
        positions = range(forest.block_ptr[b], forest.block_ptr[b + 1])
        assert sorted(forest.nodes[list(positions)].tolist()) == sorted(block)
        for p in positions:
            i, parent = int(forest.nodes[p]), int(forest.parent[p])
            inside = {k for k in network[i] if owner.get(k) == b}
            out = np.flatnonzero(forest.out_positions == p)
            assert np.all((out >= forest.out_ptr[b]) & (out < forest.out_ptr[b + 1]))
            assert set(forest.out_neighbors[out].tolist()) == set(network[i]) - inside
            for k, link in zip(forest.out_neighbors[out], forest.out_links[out], strict=True):
                assert graph.edges[link >> 1, link & 1] == k
                assert graph.edges[link >> 1, 1 - link & 1] == i
            if parent >= 0:
                assert p < parent  # children first
                link = int(forest.parent_link[p])
                assert graph.edges[link >> 1, link & 1] == forest.nodes[parent]
                assert graph.edges[link >> 1, 1 - link & 1] == i
                covered.append(link >> 1)
    assert len(covered) == len(set(covered))
    for e, (u, v) in enumerate(graph.edges.tolist()):
        ends = {owner[i] for i in (u, v) if i in owner}
        assert forest.edge_weight[e] == (1 / len(ends) if ends else 0)
        assert (e in covered) == (owner.get(u, -1) == owner.get(v, -2))


def test_refusals():
    graph = builders.grid(2, 2)
    for partition, clamped, message in [
        ([[0, 1, 2, 3]], [], r"partition\[0\] has a cycle: the edge .* closes it"),
        ([[0, 1, 2]], [], "node 3 is in no block"),
        ([[0, 1, 2], [3, 2]], [], "node 2 is in blocks 0 and 1"),
        ([[0, 1, 2], [3], []], [], r"partition\[2\] is empty"),
        ([[0, 1, 2], [4]], [], r"partition\[1\] names 4, which is not a node"),
        ([[0, 1, 2], [3]], [3], "node 3, which is clamped"),
    ]:
        with pytest.raises(ValueError, match=message):
            forest_arrays(graph, partition, clamped)
    forest = forest_arrays(graph, [[0, 1, 2]], clamped=[3])
    assert forest.nodes.shape == (3,)


def test_factor_refusals():
    graph = FactorGraph([(0, 1, 2), (2, 3, 0)], [2] * 4)
    for partition, message in [
        ([[0, 1, 2, 3]], r"partition\[0\] has a cycle: factor [01] closes it"),
        ([[0, 2], [1, 3]], r"partition\[0\] has a cycle"),
        ([[0, 1]], "node 2 is in no block"),
    ]:
        with pytest.raises(ValueError, match=message):
            factor_forest_arrays(graph, partition)
    forest = factor_forest_arrays(graph, [[0, 1, 3], [2]])
    assert forest.clique_factor.tolist() in ([0, 1], [1, 0])
    np.testing.assert_array_equal(forest.factor_weight, [0.5, 0.5])
    assert len(forest.attached_factor) == 2


def test_schedules_know_forests():
    assert node_schedule(builders.chain(5))[1]
    assert not node_schedule(builders.grid(2, 2))[1]
    order, forest = node_schedule(PairwiseGraph("abcd", [("a", "b"), ("c", "b")]))
    assert forest
    assert sorted(order.tolist()) == [0, 1, 2, 3]
    assert factor_schedule(FactorGraph([(0, 1, 2), (2, 3)], [2] * 5))[1]
    assert not factor_schedule(FactorGraph([(0, 1), (1, 0)], [2] * 2))[1]
    assert factor_schedule(FactorGraph([], [2]))[1]
