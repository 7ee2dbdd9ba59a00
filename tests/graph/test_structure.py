"""PairwiseGraph: order, content digest, flat arrays, and what is refused."""

import pickle

import networkx as nx
import numpy as np
import pytest

from pymc_mrf.graph import builders
from pymc_mrf.graph.coordinates import coords
from pymc_mrf.graph.structure import PairwiseGraph, as_graph


def test_order_is_kept_and_labels_follow():
    graph = as_graph(nx.Graph([("b", "a"), ("c", "a"), ("c", "b")]))
    assert graph.nodes == ("b", "a", "c")
    assert graph.edge_labels == ("b--a", "b--c", "a--c")
    np.testing.assert_array_equal(graph.edges, [[0, 1], [0, 2], [1, 2]])
    assert coords(graph) == {"node": ["b", "a", "c"], "edge": ["b--a", "b--c", "a--c"]}
    assert as_graph(graph.to_networkx()).nodes == graph.nodes


def test_digest_identifies_content():
    first = PairwiseGraph(range(3), [(0, 1)])
    same = PairwiseGraph(range(3), [(0, 1)])
    others = [
        PairwiseGraph(range(3), [(1, 0)]),
        PairwiseGraph(range(4), [(0, 1)]),
        PairwiseGraph("abc", [("a", "b")]),
    ]
    assert first == same and hash(first) == hash(same) and repr(first) == repr(same)
    for other in others:
        assert first != other and repr(first) != repr(other)
    again = pickle.loads(pickle.dumps(first))
    assert again == first and repr(again) == repr(first)


def test_arrays_agree_with_networkx(rng):
    graph = builders.random(30, 0.2, rng=rng)
    reference = graph.to_networkx()
    arrays = graph.arrays
    for i in range(30):
        here = slice(arrays.indptr[i], arrays.indptr[i + 1])
        assert set(arrays.neighbors[here]) == set(reference[i])
        for j, e in zip(arrays.neighbors[here], arrays.edge_ids[here], strict=True):
            assert set(arrays.edges[e]) == {i, j}
    assert sorted(arrays.order) == list(range(30))
    for first, last in zip(arrays.color_ptr[:-1], arrays.color_ptr[1:], strict=True):
        assert reference.subgraph(arrays.order[first:last]).number_of_edges() == 0


def test_frozen():
    graph = builders.chain(3)
    with pytest.raises(AttributeError, match="frozen"):
        graph.nodes_ = 1
    with pytest.raises(ValueError, match="read-only"):
        graph.edges[0, 0] = 5


@pytest.mark.parametrize(
    ("nodes", "edges", "message"),
    [
        ([], [], "no nodes"),
        ([1, 2, 1], [], "the node label 1 occurs twice"),
        ([1, 2], [(1, 1)], "self-loop at node 1"),
        ([1, 2], [(1, 2), (2, 1)], "2--1 occurs twice"),
        ([1, 2], [(1, 3)], "names the node 3"),
    ],
)
def test_refused(nodes, edges, message):
    with pytest.raises(ValueError, match=message):
        PairwiseGraph(nodes, edges)


def test_ambiguous_coordinates_are_refused():
    with pytest.raises(ValueError, match="two nodes are '1' as text; relabel the nodes"):
        coords(PairwiseGraph([1, "1"], [(1, "1")]))
    graph = PairwiseGraph(["a", "b--c", "a--b", "c"], [("a", "b--c"), ("a", "c"), ("a--b", "c")])
    message = r"the edges \('a', 'b--c'\) and \('a--b', 'c'\) have the same label 'a--b--c'; relabel"
    with pytest.raises(ValueError, match=message):
        coords(graph)
