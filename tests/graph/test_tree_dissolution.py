"""Dissolving small trees: by hand, against the definition, and against the thesis' numbers of trees."""

import networkx as nx
import numpy as np
import pytest

from pymc_mrf.graph import builders
from pymc_mrf.graph.tree_growth import PocketGrowth
from pymc_mrf.graph.tree_partition import dissolve_small_trees, tree_partition
from tests.reference.tree_partition import is_tree_partition


def neighbours(graph):
    return [set(graph[v]) for v in sorted(graph)]


def test_a_node_with_one_neighbour_in_a_tree_joins_it():
    assert dissolve_small_trees(neighbours(nx.path_graph(4)), [[0, 1], [2], [3]]) == [[0, 1, 2, 3]]


def test_a_leaf_makes_room():
    # 3 has the neighbours 0 and 2 of the path 0 1 2; 2 fits to 4
    graph = nx.Graph([(0, 1), (1, 2), (3, 0), (3, 2), (2, 4), (4, 5), (5, 6), (3, 5), (3, 6)])
    found = dissolve_small_trees(neighbours(graph), [[0, 1, 2], [4, 5, 6], [3]])
    assert found == [[0, 1, 3], [2, 4, 5, 6]]


def test_what_cannot_be_dissolved_is_left_as_it_was():
    trees = [[0, 1], [2, 3], [4]]
    assert dissolve_small_trees(neighbours(nx.complete_graph(5)), trees) == trees
    apart = nx.disjoint_union(nx.path_graph(3), nx.empty_graph(1))
    assert dissolve_small_trees(neighbours(apart), [[0, 1, 2], [3]]) == [[0, 1, 2], [3]]


def test_partitions_stay_partitions(rng):
    n_fewer = 0
    for _ in range(60):
        n = int(rng.integers(2, 40))
        graph = nx.gnp_random_graph(n, rng.random(), seed=int(rng.integers(2**31)))
        # single nodes and pairs: much to dissolve
        trees = [list(pair) for pair in nx.maximal_matching(graph)]
        trees += [[v] for v in set(graph) - {v for tree in trees for v in tree}]
        found = dissolve_small_trees(neighbours(graph), trees)
        assert is_tree_partition(graph, found)
        assert len(found) <= len(trees)
        n_fewer += len(found) < len(trees)
    assert n_fewer > 30


def test_places_in_the_queue_are_kept_up_to_date(rng):
    graph = nx.gnp_random_graph(60, 0.2, seed=3)
    growth = PocketGrowth(
        neighbours(graph), rng.permutation(60).tolist(), order="priority", backtrack=True, updated=True
    )
    moved_forward, n_seen = growth.moved_forward, 0

    def checked():
        nonlocal n_seen
        moved = moved_forward()
        for v, place in growth.places.items():
            open_ = sum(growth.color[u] in (0, 1) for u in graph[v])
            n_black = sum(growth.color[u] == 3 for u in graph[v])
            assert place[:2] == (open_ - n_black, graph.degree[v])
            n_seen += 1
        return moved

    growth.moved_forward = checked
    growth.grow(0)
    assert n_seen > 50


@pytest.mark.parametrize(
    ("n", "density", "backtrack", "thesis"),
    [(100, 0.1, True, 5), (100, 0.1, False, 6), (100, 0.5, True, 14), (100, 0.5, False, 14)],
)
@pytest.mark.ordinary("100-0.5-True-14", "100-0.1-False-6")
def test_means_of_table_6_2(n, density, backtrack, thesis):
    rng = np.random.default_rng(6)
    for _ in range(3):
        graph = builders.random(n, density, rng=rng)
        counts = [len(tree_partition(graph, rng=rng, backtrack=backtrack)) for _ in range(10)]
        assert np.mean(counts) <= thesis


@pytest.mark.parametrize(("side", "thesis"), [(5, 2), (10, 5), (20, 26)])
def test_means_of_table_6_1(side, thesis):
    rng = np.random.default_rng(7)
    counts = [len(tree_partition(builders.grid(side, side), rng=rng)) for _ in range(5)]
    assert np.mean(counts) <= thesis
