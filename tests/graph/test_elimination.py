"""Elimination orders and junction trees: widths of known graphs, tree properties, refusals."""

import itertools
import math
import pickle

import networkx as nx
import numpy as np
import pytest

from pymc_mrf.datasets import load_senate109
from pymc_mrf.graph import builders
from pymc_mrf.graph.elimination import adjacency_arrays, elimination_order, order_cost
from pymc_mrf.graph.junction_tree import (
    AUTO_CELLS,
    MAX_CELLS,
    JunctionTree,
    check_tractable,
    is_cheap,
    junction_tree,
)
from pymc_mrf.graph.structure import PairwiseGraph, as_graph


def contents(tree):
    """Variables of each clique of the arrays, subcliques included."""
    arrays = tree.arrays
    parts = np.split(arrays.variables["index"], arrays.cliques["variables"][1:])
    return [set(part.tolist()) for part in parts]


@pytest.mark.parametrize(
    ("graph", "width"),
    [
        (builders.chain(1), 0),
        (builders.chain(30), 1),
        (builders.binary_tree(5), 1),
        (as_graph(nx.cycle_graph(12)), 2),
        (as_graph(nx.star_graph(500)), 1),
        (builders.complete(9), 8),
        (builders.grid(4, 4), 4),
        (builders.grid(3, 20), 3),
        (builders.grid(16, 16), 16),
        (as_graph(nx.petersen_graph()), 4),
        (PairwiseGraph(range(4), []), 0),
    ],
    ids=repr,
)
def test_widths_of_known_graphs(graph, width):
    assert junction_tree(graph, 2).width == width


def test_width_of_a_lattice_does_not_depend_on_node_order(rng):
    nodes = rng.permutation(256)
    edges = [(nodes[u], nodes[v]) for u, v in builders.grid(16, 16).edges]
    tree = junction_tree(PairwiseGraph(range(256), edges), 2)
    assert tree.n_cells < 10**7


@pytest.mark.parametrize("seed", range(10))
def test_is_a_junction_tree(seed):
    rng = np.random.default_rng(seed)
    graph = builders.random(15, 0.25, rng=rng)
    tree = junction_tree(graph, 3)
    cliques = contents(tree)
    parent = tree.arrays.cliques["parent"]
    for u, v in graph.edges:
        assert any({u, v} <= c for c in cliques)
    for v in range(15):
        # running intersection: the cliques that contain v form one subtree
        holders = {j for j, c in enumerate(cliques) if v in c}
        tops = [j for j in holders if parent[j] not in holders]
        assert len(tops) == 1
    assert all(parent[j] > j or parent[j] == -1 for j in range(len(cliques)))
    is_part = tree.arrays.cliques["n_rows"] == 1  # a subclique
    assert all(cliques[j] <= cliques[parent[j]] for j in np.flatnonzero(is_part))
    whole = [c for c, part in zip(cliques, is_part, strict=True) if not part]
    for a, b in itertools.permutations(whole, 2):
        assert not a <= b
    assert sorted(map(sorted, whole)) == sorted(sorted(c.frontal + c.separator) for c in tree.cliques)
    assert tree.n_cells == sum(3 ** len(c) for c in whole) <= tree.arrays.n_cells
    assert tree.width == max(map(len, whole)) - 1
    n_components = nx.number_connected_components(graph.to_networkx())
    assert (parent == -1).sum() == n_components == tree.arrays.cliques["component"].max() + 1


def test_orders_of_small_graphs_are_nearly_the_best_possible(rng):
    for _ in range(5):
        graph = builders.random(6, 0.5, rng=rng)
        scopes = graph.edges.tolist()
        best = min(
            JunctionTree(scopes, [2] * 6, order).n_cells for order in itertools.permutations(range(6))
        )
        assert JunctionTree(scopes, [2] * 6).n_cells <= 1.5 * best


def test_cardinalities_count():
    # a cycle of four: joining the two small variables is cheaper than joining the large ones
    tree = JunctionTree([(0, 1), (1, 2), (2, 3), (3, 0)], [2, 50, 2, 50])
    assert tree.n_cells == 2 * (2 * 50 * 2)


def test_factors_go_to_cliques_that_contain_them(rng):
    scopes = [(4, 1, 0), (2, 3), (3, 5, 1), (0, 5)]
    tree = JunctionTree(scopes, [2, 3, 2, 3, 2, 4])
    assert tree.scopes == (*scopes, (0,), (1,), (2,), (3,), (4,), (5,))
    cliques = contents(tree)
    for f, j in enumerate(tree.arrays.factors["clique"]):
        assert set(tree.scopes[f]) <= cliques[j]
    assert sorted(tree.factor_order) == list(range(10))


@pytest.mark.slow
def test_a_large_tree_has_the_tables_of_its_edges():
    graph = builders.binary_tree(12)
    tree = junction_tree(graph, 2)
    assert tree.arrays.n_cells == 4 * 8190
    assert tree.factor_order[0] >= 0


def test_costs_are_known_before_anything_is_allocated():
    tree = junction_tree(builders.complete(60), 2)
    assert tree.width == 59
    assert tree.n_cells == 2**60
    assert tree.n_bytes == 16 * 2**60
    assert not is_cheap(tree)
    with pytest.raises(ValueError, match=r"width 59, that is 10\^18 table cells.*GB.*approximate"):
        check_tractable(tree)
    with pytest.raises(ValueError, match="width 59"):
        _ = tree.arrays
    with pytest.raises(ValueError, match=r"width 399"):
        check_tractable(junction_tree(builders.complete(400), 127))


def test_bounds_are_where_the_documentation_says():
    cells = {n: junction_tree(builders.grid(n, n), 2).n_cells for n in (12, 13, 14, 16)}
    assert cells[13] <= AUTO_CELLS < cells[14]
    assert cells[16] <= MAX_CELLS
    small = junction_tree(builders.grid(4, 4), 2)
    assert is_cheap(small)
    check_tractable(small)
    with pytest.raises(ValueError, match="the limit is 100 cells"):
        check_tractable(small, max_cells=100)
    with pytest.raises(ValueError, match=r"cells; buy more$"):
        check_tractable(small, max_cells=100, remedy="buy more")


def test_frozen_picklable_and_identified_by_content():
    tree = junction_tree(builders.grid(3, 3), 2)
    again = pickle.loads(pickle.dumps(tree))
    assert again == tree
    assert hash(again) == hash(tree)
    assert repr(again) == repr(tree)
    pairs = zip(
        (*again.arrays[:-1], *again.arrays.meetings),
        (*tree.arrays[:-1], *tree.arrays.meetings),
        strict=True,
    )
    for array, expected in pairs:
        np.testing.assert_array_equal(array, expected)
        assert not array.flags.writeable
    assert tree != junction_tree(builders.grid(3, 3), 3)
    assert tree != "tree"
    with pytest.raises(AttributeError, match="frozen"):
        tree.width = 3


def test_a_wrong_order_is_refused():
    with pytest.raises(ValueError, match="order must be a permutation"):
        JunctionTree([(0, 1)], [2, 2], order=[0, 0])


def test_order_is_deterministic_and_complete():
    graph = builders.grid(5, 6)
    adjacency = adjacency_arrays(graph.edges, 30)
    order, cost = elimination_order(adjacency, [2] * 30, MAX_CELLS)
    assert sorted(order) == list(range(30))
    assert (order, cost) == elimination_order(adjacency, [2] * 30, MAX_CELLS)
    assert cost == order_cost(adjacency, [2] * 30, order)


def senate():
    return as_graph(load_senate109(session=1).graph)


def sparse(n_nodes, density, seed):
    return builders.random(n_nodes, density, rng=np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("graph", "n_states", "cells"),
    # sums of table sizes under the same three rules, run to their end on Python's sets
    [
        (senate(), 2, 28_966),
        (builders.grid(8, 8), 3, 326_943),
        (builders.grid(12, 12), 2, 261_472),
        (builders.grid(13, 13), 2, 661_696),
        (builders.grid(16, 16), 2, 7_340_048),
        (builders.complete(20), 2, 2**20),
        (builders.binary_tree(12), 2, 32_760),
        (as_graph(nx.star_graph(500)), 2, 2_000),
        (as_graph(nx.wheel_graph(60)), 2, 912),
        (as_graph(nx.petersen_graph()), 2, 144),
        (sparse(60, 0.06, 0), 2, 7_526),
        (sparse(60, 0.06, 4), 2, 16_400),
        (sparse(60, 0.06, 7), 2, 50_476),
        (sparse(200, 0.012, 1), 2, 1_313_326),
        (sparse(200, 0.012, 2), 2, 229_822),
        (sparse(200, 0.012, 4), 2, 790_260),
    ],
    ids=repr,
)
def test_no_more_cells_than_before_compilation(graph, n_states, cells):
    assert junction_tree(graph, n_states).n_cells <= cells


def test_width_of_the_senate():
    assert junction_tree(senate(), 2).width == 11


def random_scopes(rng, d):
    """Factors of one to four variables, some of them in no factor, in separate components."""
    half = d // 2
    sides = [rng.choice(half, 4, replace=False) + half * int(rng.integers(2)) for _ in range(d // 3)]
    return [tuple(side[: rng.integers(1, 5)].tolist()) for side in sides]


@pytest.mark.parametrize("seed", range(8))
def test_trees_of_factors_with_mixed_cardinalities(seed):
    rng = np.random.default_rng(seed)
    scopes, cards = random_scopes(rng, 24), rng.integers(2, 9, 24).tolist()
    tree = JunctionTree(scopes, cards)
    cliques = [set(c.frontal + c.separator) for c in tree.cliques]
    assert all(any(set(scope) <= c for c in cliques) for scope in tree.scopes)
    assert not any(a < b for a, b in itertools.permutations(cliques, 2))
    nodes, parent = contents(tree), tree.arrays.cliques["parent"]
    for i in range(24):  # those that contain a variable are connected: one of them is the top
        holding = {j for j, c in enumerate(nodes) if i in c}
        assert sum(parent[j] not in holding for j in holding) == 1
    assert tree.n_cells == sum(math.prod(cards[i] for i in c) for c in cliques)
    assert tree.width == max(map(len, cliques)) - 1


@pytest.mark.parametrize("seed", range(8))
def test_costs_of_orders_are_those_of_their_cliques(seed):
    rng = np.random.default_rng(seed)
    scopes, cards = random_scopes(rng, 30), rng.integers(2, 5, 30).tolist()
    tree = JunctionTree(scopes, cards, order=rng.permutation(30))
    cliques = [c.frontal + c.separator for c in tree.cliques]
    assert tree.n_cells == sum(math.prod(cards[i] for i in c) for c in cliques)
    assert tree.width == max(map(len, cliques)) - 1


def test_an_order_out_of_reach_is_complete_and_its_cost_known():
    graph = builders.grid(40, 40)
    tree = junction_tree(graph, 2)
    assert sorted(tree.order) == list(range(1600))
    assert MAX_CELLS < tree.n_cells <= 2 * 1600 * 2**40  # no worse than the sweep
    assert tree.width <= 40


@pytest.mark.parametrize(
    ("graph", "cells"),
    [
        (PairwiseGraph("a", []), 2),
        (PairwiseGraph(range(5), []), 10),
        (PairwiseGraph(range(5), [(3, 1)]), 10),
        (PairwiseGraph(range(7), [(0, 6), (6, 3), (3, 0), (1, 5)]), 8 + 4 + 4),
    ],
    ids=repr,
)
def test_isolated_nodes_and_components(graph, cells):
    assert junction_tree(graph, 2).n_cells == cells
