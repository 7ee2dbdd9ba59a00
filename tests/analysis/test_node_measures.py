"""Measures of nodes, beside plain computations and networkx."""

import networkx as nx
import numpy as np
import pytest
import xarray as xr

import pymc_mrf as pmrf
from pymc_mrf.analysis.centrality import node_measures
from tests.analysis.community_draws import COMMUNITIES, GRAPH, drawn, posterior
from tests.analysis.posteriors import as_posterior


def networks(w):
    """Yield (chain, draw) and the networkx graph of each draw."""
    for cell in np.ndindex(w.shape[:2]):
        g = nx.Graph()
        g.add_nodes_from(GRAPH.nodes)
        for (u, v), x in zip(GRAPH.edges, w[cell], strict=True):
            if x:
                ends = GRAPH.nodes[u], GRAPH.nodes[v]
                g.add_edge(*ends, weight=x, size=abs(x), length=1 / abs(x))
        yield cell, g


def test_measures_are_those_of_networkx(rng):
    w = drawn(rng)
    w[0, :3] = np.where(w[0, :3] != 0, 0.5, 0.0)  # paths of equal length
    w[1, 0] = 0.0
    found = node_measures(posterior(w), "theta", graph=GRAPH, communities=COMMUNITIES)
    assert found.strength.dims == ("chain", "draw", "node")
    assert list(found.node.values) == list(GRAPH.nodes)
    for cell, g in networks(w):
        A = nx.to_numpy_array(g)
        across = np.not_equal.outer(*[[COMMUNITIES[v] for v in g]] * 2)
        ei = A.sum(axis=1)
        expected = {
            "strength": [dict(g.degree(weight="size"))[v] for v in g],
            "expected_influence": ei,
            "expected_influence_2": ei + A @ ei,
            "bridge_strength": (np.abs(A) * across).sum(axis=1),
            "bridge_expected_influence": (A * across).sum(axis=1),
            "closeness": list(nx.closeness_centrality(g, distance="length").values()),
            "betweenness": list(nx.betweenness_centrality(g, weight="length").values()),
        }
        assert set(expected) == set(found.data_vars)
        for name, values in expected.items():
            np.testing.assert_allclose(found[name].values[cell], values, atol=1e-12, err_msg=name)


def test_an_edge_much_shorter_than_a_tie_of_lengths():
    graph = pmrf.PairwiseGraph("abc", [("a", "b"), ("b", "c"), ("a", "c")])
    w = np.broadcast_to([1.0, 1e-10, 1e-12], (1, 1, 3))
    tree = as_posterior(w, graph.edge_labels)
    found = node_measures(tree, "theta", graph=graph, measures=["betweenness"])
    np.testing.assert_array_equal(found.betweenness.values[0, 0], [0, 1, 0])


def test_communities_of_each_draw(rng):
    w = drawn(rng, 3)
    labels = rng.integers(0, 3, (2, 3, GRAPH.n_nodes))
    tree = posterior(w, k=labels)
    found = node_measures(tree, "theta", graph=GRAPH, measures=["bridge_strength"], communities="k")
    for cell, g in networks(w):
        across = np.not_equal.outer(labels[cell], labels[cell])
        expected = (np.abs(nx.to_numpy_array(g)) * across).sum(axis=1)
        np.testing.assert_allclose(found.bridge_strength.values[cell], expected, atol=1e-12)


def test_differences_are_of_measures_not_of_weights(rng):
    first, second = drawn(rng), drawn(rng)
    tree = posterior(first)
    tree["posterior"] = (
        tree["posterior"].to_dataset().assign(other=(tree.posterior["theta"].dims, second))
    )
    found = node_measures(tree, ("theta", "other"), graph=GRAPH, measures=["strength"])
    alone = [
        node_measures(tree, name, graph=GRAPH, measures=["strength"]) for name in ("theta", "other")
    ]
    xr.testing.assert_allclose(found, alone[0] - alone[1])


def test_draws_are_thinned_evenly(rng):
    found = node_measures(posterior(drawn(rng, 50)), "theta", graph=GRAPH, max_draws=20)
    assert list(found.draw.values) == [0, 5, 10, 15, 20, 25, 30, 35, 40, 45]


def test_table(rng):
    w = drawn(rng, 200, present=1.0)  # without ties
    w[..., :3] += 2.0  # of node a
    table = pmrf.summarize_nodes(posterior(w), "theta", graph=GRAPH, ci_prob=0.8)
    assert table.index.names == ["measure", "node"]
    influence = table.loc["expected_influence"]
    assert influence.index[0] == "a"
    assert influence["mean"].is_monotonic_decreasing
    found = node_measures(posterior(w), "theta", graph=GRAPH).expected_influence
    draws = found.values.reshape(-1, GRAPH.n_nodes)
    np.testing.assert_allclose(influence.loc[list(GRAPH.nodes), "mean"], draws.mean(axis=0))
    wins = np.bincount(draws.argmax(axis=1), minlength=GRAPH.n_nodes) / len(draws)
    np.testing.assert_allclose(influence.loc[list(GRAPH.nodes), "first"], wins)
    np.testing.assert_allclose(influence["first"].sum(), 1.0)
    ranks = (draws[:, None] > draws[:, :, None]).sum(axis=2) + 1
    np.testing.assert_allclose(influence.loc[list(GRAPH.nodes), "rank"], ranks.mean(axis=0))
    low = np.quantile(ranks, 0.1, axis=0)
    np.testing.assert_allclose(influence.loc[list(GRAPH.nodes), "rank_lb"], low)
    assert {"eti80_lb", "eti80_ub", "mcse_mean"} <= set(table.columns)


def test_nodes_that_tie_share_the_first_place():
    table = pmrf.summarize_nodes(
        posterior(np.zeros((2, 10, GRAPH.n_edges))), "theta", graph=GRAPH, measures=["strength"]
    )
    np.testing.assert_allclose(table["first"], 1 / GRAPH.n_nodes)
    np.testing.assert_allclose(table["rank"], 4.0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"measures": ["degree"]}, "measures names 'degree'; it may name strength"),
        ({"measures": []}, "measures is empty"),
        ({"measures": ["bridge_strength"]}, "bridge_strength, which needs communities"),
        ({"communities": {"a": 0}}, "communities has no entry for node 'b'"),
        ({"communities": "theta"}, "has 21 entries but the graph has 7 nodes"),
        ({"max_draws": 0}, "max_draws"),
        ({"var_name": ("theta", "theta", "theta")}, "two whose difference"),
    ],
)
def test_bad_arguments(rng, given, message):
    kwargs = {"var_name": "theta", "graph": GRAPH, **given}
    with pytest.raises(ValueError, match=message):
        node_measures(posterior(drawn(rng, 2)), **kwargs)


LAGGED = pmrf.LaggedGraph("abc", [(u, v) for u in "abc" for v in "abc"], (1, 2), [("a", "b")])


def test_measures_of_arrows(rng):
    w = rng.normal(size=(2, 5, LAGGED.n_edges)) * (rng.random((2, 5, LAGGED.n_edges)) < 0.6)
    tree = as_posterior(w, LAGGED.edge_labels)
    found = node_measures(tree, "theta", graph=LAGGED)
    A = w[..., 1:].reshape(2, 5, 2, 3, 3) * (1 - np.eye(3))  # from, to
    expected = {
        "out_strength": np.abs(A).sum((2, 4)),
        "in_strength": np.abs(A).sum((2, 3)),
        "out_expected_influence": A.sum((2, 4)),
        "in_expected_influence": A.sum((2, 3)),
    }
    assert list(found) == list(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(found[name].values, values, atol=1e-12, err_msg=name)
    table = pmrf.summarize_nodes(tree, "theta", graph=LAGGED, measures=["in_strength"])
    assert list(table.index.names) == ["measure", "node"]


def test_measures_of_links_and_of_arrows_are_told_apart(rng):
    tree = as_posterior(np.ones((1, 4, LAGGED.n_edges)), LAGGED.edge_labels)
    with pytest.raises(
        ValueError, match="'closeness', which belongs to undirected edges; it may name out_st"
    ):
        node_measures(tree, "theta", graph=LAGGED, measures=["closeness"])
    with pytest.raises(
        ValueError, match="communities are for measures of bridges, which arrows do not have"
    ):
        node_measures(tree, "theta", graph=LAGGED, communities=dict.fromkeys("abc", 0))
    with pytest.raises(ValueError, match="'in_strength', which belongs to arrows; it may name strength"):
        node_measures(posterior(drawn(rng)), "theta", graph=GRAPH, measures=["in_strength"])
