"""LaggedGraph: order, labels, copies, arrays for kernels, and what is refused."""

import pickle

import networkx as nx
import numpy as np
import pytest

from pymc_mrf.graph import builders
from pymc_mrf.graph.coordinates import coords
from pymc_mrf.graph.lagged import LaggedGraph, as_lagged

ARROWS = [("a", "a"), ("b", "a"), ("a", "c")]
GRAPH = LaggedGraph("abc", ARROWS, (1, 3), [("c", "b")])


def test_order_and_labels():
    assert GRAPH.edge_labels == (
        "c--b", "a->a @1", "b->a @1", "a->c @1", "a->a @3", "b->a @3", "a->c @3",
    )  # fmt: skip
    np.testing.assert_array_equal(GRAPH.edges[:4], [[2, 1], [0, 0], [1, 0], [0, 2]])
    np.testing.assert_array_equal(GRAPH.lag_of, [0, 1, 1, 1, 2, 2, 2])
    assert (GRAPH.n_nodes, GRAPH.n_edges, GRAPH.n_links) == (3, 7, 1)
    digraph = nx.DiGraph(ARROWS)
    assert coords(digraph) == {"node": ["a", "b", "c"], "edge": ["a->a", "a->c", "b->a"]}
    assert coords(GRAPH)["edge"] == list(GRAPH.edge_labels)
    whole = as_lagged(nx.DiGraph(ARROWS), (1, 3), nx.Graph({"c": ["b"], "a": []}))
    assert set(whole.edge_labels) == set(GRAPH.edge_labels)
    assert as_lagged(GRAPH) is GRAPH and as_lagged(GRAPH, (1, 3)) is GRAPH


def test_complete_graphs():
    graph = builders.lagged(2)
    assert graph.edge_labels == ("0->0", "0->1", "1->0", "1->1")
    graph = builders.lagged(["a", "b"], (1, 2), loops=False, links=True)
    assert graph.edge_labels == ("a--b", "a->b @1", "b->a @1", "a->b @2", "b->a @2")


def test_copies_are_equal_and_others_are_not():
    again = pickle.loads(pickle.dumps(GRAPH))
    assert again == GRAPH and repr(again) == repr(GRAPH) and hash(again) == hash(GRAPH)
    assert not again.edges.flags.writeable and again.nodes == GRAPH.nodes
    others = [
        LaggedGraph("abc", ARROWS, (1, 2), [("c", "b")]),
        LaggedGraph("abc", ARROWS, (1, 3)),
        LaggedGraph("abd", [("a", "a"), ("b", "a"), ("a", "d")], (1, 3), [("d", "b")]),
    ]
    assert len({GRAPH.digest, *(other.digest for other in others)}) == 4
    with pytest.raises(AttributeError, match="frozen"):
        GRAPH.lags = (2,)


def test_arrays_list_what_leads_to_and_from_each_node():
    arrays = pickle.loads(pickle.dumps(GRAPH.arrays))
    expected = {
        (u, v, k, e) for e, ((u, v), k) in enumerate(zip(GRAPH.edges, GRAPH.lag_of, strict=True))
    }
    expected |= {(1, 2, 0, 0)}  # the link the other way
    to, away = set(), set()
    for i in range(3):
        for k in range(arrays.in_ptr[i], arrays.in_ptr[i + 1]):
            to.add((arrays.source[k], i, arrays.in_lag[k], arrays.in_edge[k]))
        for k in range(arrays.out_ptr[i], arrays.out_ptr[i + 1]):
            away.add((i, arrays.target[k], arrays.out_lag[k], arrays.out_edge[k]))
    assert to == expected and away == expected
    assert not any(array.flags.writeable for array in arrays)


def test_graphs_side_by_side():
    both = LaggedGraph.side_by_side([GRAPH, GRAPH])
    np.testing.assert_array_equal(both.edges, np.concatenate([GRAPH.edges, GRAPH.edges + 3]))
    np.testing.assert_array_equal(both.lag_of, np.tile(GRAPH.lag_of, 2))
    assert pickle.loads(pickle.dumps(both)) == both


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LaggedGraph("ab", [("a", "c")]), "names the node 'c'"),
        (lambda: LaggedGraph("ab", [("a", "b"), ("a", "b")]), "'a'->'b' occurs twice"),
        (lambda: LaggedGraph("ab", ["ab"]), "no pair of node labels"),
        (lambda: LaggedGraph("aa", []), "occurs twice"),
        (lambda: LaggedGraph("ab", [], links=[("a", "a")]), "self-loop"),
        (lambda: LaggedGraph("ab", [], ()), "lag must be"),
        (lambda: LaggedGraph("ab", [], (1, 1)), "increasing ones"),
        (lambda: LaggedGraph("ab", [], 1.5), "lag must be a positive integer"),
        (lambda: as_lagged(GRAPH, 2), "contradicts graph"),
        (lambda: as_lagged(GRAPH, None, nx.Graph()), "links belong to a LaggedGraph"),
        (lambda: as_lagged([("a", "b")]), "graph must be directed"),
        (lambda: builders.lagged(2, loops=1), "loops must be True or False"),
    ],
)
def test_bad_graphs(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()
