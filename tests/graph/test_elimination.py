"""Elimination orders and junction trees: widths of known graphs, tree properties, refusals."""

import itertools
import pickle

import networkx as nx
import numpy as np
import pytest

from pymc_mrf.graph import builders
from pymc_mrf.graph.elimination import elimination_order
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
    return [set(part.tolist()) for part in np.split(arrays.variables, arrays.variable_ptr[1:-1])]


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
    parent = tree.arrays.parent
    for u, v in graph.edges:
        assert any({u, v} <= c for c in cliques)
    for v in range(15):
        # running intersection: the cliques that contain v form one subtree
        holders = {j for j, c in enumerate(cliques) if v in c}
        tops = [j for j in holders if parent[j] not in holders]
        assert len(tops) == 1
    assert all(parent[j] > j or parent[j] == -1 for j in range(len(cliques)))
    is_part = tree.arrays.n_rows == 1  # a subclique
    assert all(cliques[j] <= cliques[parent[j]] for j in np.flatnonzero(is_part))
    whole = [c for c, part in zip(cliques, is_part, strict=True) if not part]
    for a, b in itertools.permutations(whole, 2):
        assert not a <= b
    assert sorted(map(sorted, whole)) == sorted(sorted(c.frontal + c.separator) for c in tree.cliques)
    assert tree.n_cells == sum(3 ** len(c) for c in whole) <= tree.arrays.table_ptr[-1]
    assert tree.width == max(map(len, whole)) - 1
    n_components = nx.number_connected_components(graph.to_networkx())
    assert (parent == -1).sum() == n_components == tree.arrays.component.max() + 1


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
    for f, j in enumerate(tree.arrays.factor_clique):
        assert set(tree.scopes[f]) <= cliques[j]
    assert sorted(tree.factor_order) == list(range(10))


def test_a_large_tree_has_the_tables_of_its_edges():
    graph = builders.binary_tree(12)
    tree = junction_tree(graph, 2)
    assert tree.arrays.table_ptr[-1] == 4 * 8190
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
    for name, array in again.arrays._asdict().items():
        np.testing.assert_array_equal(array, getattr(tree.arrays, name))
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
    order = elimination_order(graph.edges.tolist(), [2] * 30)
    assert sorted(order) == list(range(30))
    assert order == elimination_order(graph.edges.tolist(), [2] * 30)
