"""Greedy elimination against the definition of its rules; where it stops."""

import networkx as nx
import numpy as np
import pytest

from pymc_mrf.graph import builders
from pymc_mrf.graph.elimination import adjacency_arrays, order_cost
from pymc_mrf.graph.junction_tree import AUTO_CELLS, MAX_CELLS, junction_tree
from pymc_mrf.graph.structure import as_graph
from pymc_mrf.kernels.junction_trees.elimination import MIN_DEGREE, MIN_FILL, greedy_elimination
from tests.reference.elimination import greedy_order


def random(n_nodes, density, seed):
    return builders.random(n_nodes, density, rng=np.random.default_rng(seed))


def eliminate(graph, rule, limit=np.inf, cards=2):
    """Number of eliminated nodes, and their order."""
    adjacency = adjacency_arrays(graph.edges, graph.n_nodes)
    states = np.broadcast_to(np.asarray(cards, dtype=np.float64), graph.n_nodes).copy()
    order = np.full(graph.n_nodes, -1)
    weight = np.rint(2**32 * np.log2(states)).astype(np.int64)
    n = greedy_elimination(*adjacency, states, weight, rule, float(limit), order)
    return n, order


@pytest.mark.parametrize("rule", [MIN_DEGREE, MIN_FILL])
@pytest.mark.parametrize("seed", range(6))
def test_greedy_orders_equal_the_rules(rule, seed):
    graph = [random(40, 0.08, seed), random(25, 0.3, seed), builders.grid(6, 7)][seed % 3]
    # powers of two: products and sums of rounded logarithms order the cliques alike
    cards = 2 ** np.random.default_rng(seed).integers(1, 4, graph.n_nodes)
    n, order = eliminate(graph, rule, cards=cards)
    assert n == graph.n_nodes
    assert order.tolist() == greedy_order(graph, rule, cards.tolist())


@pytest.mark.parametrize("rule", [MIN_DEGREE, MIN_FILL])
def test_elimination_stops_at_the_limit(rule):
    graph = builders.grid(64, 64)
    n, order = eliminate(graph, rule, limit=MAX_CELLS)
    assert 0 < n < graph.n_nodes
    assert (order[n:] == -1).all()
    assert eliminate(graph, rule, limit=AUTO_CELLS)[0] < n
    # stopped when the limit is sure to be exceeded, and where it is by no more than a factor of two
    small = builders.grid(8, 8)
    adjacency = adjacency_arrays(small.edges, 64)
    cells = order_cost(adjacency, [2] * 64, eliminate(small, rule)[1]).n_cells
    assert eliminate(small, rule, limit=cells)[0] == 64
    assert eliminate(small, rule, limit=cells / 2 - 1)[0] < 64


def test_dense_parts_are_out_of_reach_at_once():
    # a clique of 400 among nodes that are easily eliminated
    graph = as_graph(nx.disjoint_union(nx.path_graph(1000), nx.complete_graph(400)))
    for rule in (MIN_DEGREE, MIN_FILL):
        assert eliminate(graph, rule, limit=MAX_CELLS)[0] == 1000
    tree = junction_tree(graph, 2)
    assert tree.width == 399
    assert tree.n_cells == 2**400 + 4 * 999
