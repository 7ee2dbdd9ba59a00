"""Modes decoded from messages and iterated conditional modes, against all configurations."""

import itertools

import numpy as np
import pytest

from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.estimates.local_search import decode, iterated_conditional_modes
from tests.reference import enumeration

K = 3
TREE = PairwiseGraph(range(5), [(1, 0), (1, 2), (3, 2), (2, 4)])
ORDER = np.array([1, 0, 2, 3, 4])  # the root first
LOOPS = PairwiseGraph(range(4), [(0, 1), (1, 2), (2, 3), (0, 3), (0, 2)])


def potentials(graph, edge_tables, node_tables):
    """All configurations and their log potentials."""
    z = enumeration.configurations(graph.n_nodes, node_tables.shape[1])
    return z, enumeration.log_potentials(z, graph.edges.tolist(), edge_tables, node_tables)


def reach(edge, end):
    """Nodes that hang on one end of an edge of TREE."""
    others = [tuple(e) for e in TREE.edges.tolist() if tuple(e) != edge]
    found, new = {edge[end]}, True
    while new:
        new = {v for e in others for v in e if found & set(e)} - found
        found |= new
    return sorted(found)


def max_product(edge_tables, node_tables):
    """Messages (2, r, K): to second ends of edges, then to first ones, by listing what hangs on the other."""
    messages = np.empty((2, TREE.n_edges, K))
    for e, edge in enumerate(map(tuple, TREE.edges.tolist())):
        for way in range(2):
            behind, source = reach(edge, way), edge[way]
            inside = [k for k, (u, v) in enumerate(TREE.edges.tolist()) if u in behind and v in behind]
            for a in range(K):
                best = -np.inf
                for states in itertools.product(range(K), repeat=len(behind)):
                    z = dict(zip(behind, states, strict=True))
                    value = sum(node_tables[i, z[i]] for i in behind)
                    value += sum(edge_tables[k][tuple(z[i] for i in TREE.edges[k])] for k in inside)
                    table = edge_tables[e] if way == 0 else edge_tables[e].T
                    best = max(best, value + table[z[source], a])
                messages[way, e, a] = best
    return messages


@pytest.mark.parametrize("ties", [False, True])
def test_decoded_messages_of_a_tree_are_a_mode(ties, rng):
    """Even where several configurations are most probable, and the best states of single nodes are none."""
    edge_tables = rng.normal(size=(TREE.n_edges, K, K))
    node_tables = rng.normal(size=(5, K))
    if ties:  # neighbours differ, and all three states are as good
        edge_tables[:], node_tables[:] = -np.eye(K), 0.0
    z = np.empty(5, dtype=np.int8)
    decode(z, max_product(edge_tables, node_tables), edge_tables, node_tables, TREE.arrays, ORDER)
    every, value = potentials(TREE, edge_tables, node_tables)
    assert value[(every == z).all(axis=1)][0] == pytest.approx(value.max())
    alone = node_tables.argmax(axis=1)  # control
    assert value[(every == alone).all(axis=1)][0] < value.max() - 0.1


def test_no_change_of_one_node_improves_a_local_mode(rng):
    improved = 0
    for _ in range(20):
        edge_tables, node_tables = rng.normal(size=(LOOPS.n_edges, K, K)), rng.normal(size=(4, K))
        every, value = potentials(LOOPS, edge_tables, node_tables)
        of = dict(zip(map(tuple, every.tolist()), value, strict=True))
        start = rng.integers(K, size=4).astype(np.int8)
        z = start.copy()
        iterated_conditional_modes(z, edge_tables, node_tables, LOOPS.arrays)
        found = of[tuple(z.tolist())]
        for i, a in itertools.product(range(4), range(K)):
            other = z.copy()
            other[i] = a
            assert of[tuple(other.tolist())] <= found + 1e-9
        assert found >= of[tuple(start.tolist())]
        improved += found > of[tuple(start.tolist())]
    assert improved > 10


def test_impossible_states_are_left_and_equal_ones_are_kept():
    edge_tables = np.zeros((LOOPS.n_edges, 2, 2))
    node_tables = np.zeros((4, 2))
    node_tables[1, 0] = -np.inf
    z = np.array([1, 0, 0, 1], dtype=np.int8)
    iterated_conditional_modes(z, edge_tables, node_tables, LOOPS.arrays)
    assert z.tolist() == [1, 1, 0, 1]
