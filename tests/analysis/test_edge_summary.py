"""The table of edges."""

import arviz as az
import networkx as nx
import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf
from pymc_mrf.analysis.edge_summary import ORDERS
from tests.analysis.posteriors import as_posterior
from tests.analysis.sparse_draws import GRAPH, sparse_draws, tree_of

STATISTICS = ["mean", "sd", "eti89_lb", "eti89_ub", "inclusion", "inclusion_mcse"]


def table_of(tree, **kwargs):
    return pmrf.summarize_edges(tree, "theta", **{"graph": GRAPH, **kwargs})


def test_columns_agree_with_arviz_and_edge_inclusion(rng):
    tree = tree_of(sparse_draws(rng))
    table = table_of(tree, sort="graph", prior_inclusion=0.3)
    assert table.index.name == "edge"
    assert tuple(table.index) == GRAPH.edge_labels
    factors = ["bayes_factor", "log10_bayes_factor", "log10_bayes_factor_mcse"]
    factors += ["bayes_factor_text", "evidence"]
    assert list(table.columns) == ["u", "v", *STATISTICS, *factors, "r_hat", "ess"]
    assert [*zip(table.u, table.v, strict=True)] == list(GRAPH.to_networkx().edges)
    theirs = az.summary(tree, kind="stats", round_to="none")
    np.testing.assert_array_equal(table[STATISTICS[:4]], theirs)
    ours = pmrf.analysis.edge_inclusion(tree, "theta", prior_inclusion=0.3)
    for name in ("inclusion", "inclusion_mcse", "bayes_factor"):
        np.testing.assert_array_equal(table[name], ours[name])
    value, presence = tree.posterior["theta"], (tree.posterior["theta"] != 0).astype(float)
    np.testing.assert_allclose(table.r_hat, np.maximum(az.rhat(value), az.rhat(presence)))
    np.testing.assert_allclose(table.ess, np.minimum(az.ess(value), az.ess(presence, method="mean")))


def test_presence_that_mixes_badly_is_seen_behind_values_that_do(rng):
    """Values near zero of either sign: their ranks hide that chains differ in how often they are 0."""
    w = sparse_draws(rng, (0.5, 0.5, 0.5, 1.0), mean=0.0)
    shape = w.shape[1]
    w[0, :, 0], w[1, :, 0] = 0.0, rng.normal(0, 0.5, shape)
    table = table_of(tree_of(w), sort="graph")
    assert table.r_hat.iloc[0] > 1.1 > 1.05 > table.r_hat.iloc[1]
    assert table.ess.iloc[0] < 0.2 * table.ess.iloc[1]
    assert np.isfinite(table.r_hat.iloc[3])  # always present: that of the value


def test_intervals_are_those_of_arviz(rng):
    tree = tree_of(sparse_draws(rng))
    with az.rc_context({"stats.ci_kind": "hdi"}):
        table = table_of(tree, sort="graph", ci_prob=0.5)
    theirs = az.summary(tree, kind="stats", round_to="none", ci_prob=0.5, ci_kind="hdi")
    np.testing.assert_array_equal(table[["hdi50_lb", "hdi50_ub"]], theirs[["hdi50_lb", "hdi50_ub"]])


def test_orders(rng):
    w = sparse_draws(rng, (0.2, 0.55, 0.9, 1.0))
    w[..., 0] *= 20.0
    w[..., 3] = 1.0
    w[..., 2] = np.repeat(w[:, :25, 2], 10, axis=1)
    tables = {sort: table_of(tree_of(w), sort=sort) for sort in ORDERS}
    labels = np.array(GRAPH.edge_labels)
    assert table_of(tree_of(w)).equals(tables["inclusion"])
    assert list(tables["inclusion"].index) == list(labels[[3, 2, 1, 0]])
    assert list(tables["doubt"].index) == list(labels[[1, 0, 2, 3]])
    assert tables["strength"].index[0] == labels[0]
    assert tables["r_hat"].index[0] == tables["ess"].index[0] == labels[2]
    assert tables["r_hat"].index[-1] == tables["ess"].index[-1] == labels[3]  # without a number
    for table in tables.values():
        assert table.loc[tables["graph"].index].equals(tables["graph"])  # rows stay together


def test_edges_that_never_change_have_no_diagnostics(rng):
    w = sparse_draws(rng, (0.0, 0.5, 1.0, 0.5))
    w[..., 2] = 0.7
    table = table_of(tree_of(w), sort="graph")
    assert table.r_hat.isna().tolist() == table.ess.isna().tolist() == [True, False, True, False]
    assert table.inclusion_mcse.tolist()[::2] == [0.0, 0.0]
    assert table.sd.tolist()[::2] == pytest.approx([0.0, 0.0])
    still = np.zeros((2, 50, 4))
    still[0] = 1.0  # chains stand still at different values
    assert (table_of(tree_of(still)).r_hat > 100).all()


def test_one_chain_and_few_draws(rng):
    w = sparse_draws(rng)
    one = table_of(tree_of(w[:1]))
    assert one.r_hat.isna().all()
    assert (one.ess > 50).all()
    few = table_of(tree_of(w[:2, :3]))
    assert few[["r_hat", "ess", "inclusion_mcse"]].isna().all(axis=None)
    assert few[["mean", "sd", "inclusion"]].notna().all(axis=None)


def test_bayes_factors_come_from_the_model(rng):
    tree = tree_of(sparse_draws(rng))
    with pm.Model(coords={"edge": GRAPH.edge_labels}) as model:
        pmrf.SpikeAndSlab("theta", 0.3, pm.Normal.dist(0, 1), dims="edge")
    assert table_of(tree, model=model).equals(table_of(tree, prior_inclusion=0.3))
    with model:
        assert table_of(tree).equals(table_of(tree, prior_inclusion=0.3))
    assert "bayes_factor" not in table_of(tree)


def test_other_nodes_dims_and_groups(rng):
    """Nodes of any kind, numbers as labels of edges, differences of two vectors."""
    net = nx.Graph([((0, 0), (0, 1)), ((0, 1), "x")])
    first, second = sparse_draws(rng, (0.5, 0.0)), sparse_draws(rng, (0.5, 0.0))
    tree = az.from_dict({"prior": {"difference": first - second}}, dims={"difference": ["pair"]})
    table = pmrf.summarize_edges(tree, "difference", graph=net, sort="graph", group="prior")
    assert list(table.index) == [0, 1]
    assert table.index.name == "pair"
    assert table.u.tolist() == [(0, 0), (0, 1)]
    assert table.v.tolist() == [(0, 1), "x"]
    assert table.inclusion.iloc[0] == ((first - second)[..., 0] != 0).mean()
    assert table.inclusion.iloc[1] == 0.0


def test_doubtful_edges_are_plotted(rng):
    pytest.importorskip("matplotlib")
    tree = tree_of(sparse_draws(rng, (0.0, 0.5, 0.9, 0.6), n_draws=20))
    doubtful = table_of(tree, sort="doubt").index[:2]
    for plot in (az.plot_trace, az.plot_rank):
        collection = plot(tree, var_names="theta", coords={"edge": doubtful}, backend="none")
        assert collection.data.edge.values.tolist() == ["a--c", "b--c"]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"sort": "p"}, ValueError, "sort must be one of 'graph', 'inclusion', .*, not 'p'"),
        ({"sort": ["inclusion"]}, ValueError, r"sort must be one of .*, not \['inclusion'\]"),
        ({"graph": nx.path_graph(3)}, ValueError, "theta has 4 entries but the graph has 2 edges"),
        ({"graph": None}, TypeError, "summarize_edges needs graph=, or model=, which knows it"),
        ({"graph": 1}, TypeError, r"graph must be a networkx\.Graph"),
        ({"prior_inclusion": 1.0}, ValueError, "prior odds need probabilities strictly between"),
        ({"model": 1}, TypeError, r"model must be a pymc\.Model, not int"),
        ({"ci_prob": 1.5}, ValueError, "1.5"),
        ({"group": "prior"}, ValueError, "no group 'prior'"),
    ],
)
def test_bad_arguments(rng, arguments, error, message):
    with pytest.raises(error, match=message):
        table_of(as_posterior(sparse_draws(rng, n_draws=5), GRAPH.edge_labels), **arguments)


def test_arrows_have_a_source_a_target_and_a_lag(rng):
    graph = pmrf.LaggedGraph("ab", [("a", "a"), ("a", "b")], (1, 3), [("b", "a")])
    tree = as_posterior(rng.normal(size=(2, 10, 5)), graph.edge_labels)
    table = pmrf.summarize_edges(tree, "theta", graph=graph, sort="graph")
    assert list(table.columns[:3]) == ["source", "target", "lag"]
    assert [*zip(table.source, table.target, table.lag, strict=True)] == [
        ("b", "a", 0), ("a", "a", 1), ("a", "b", 1), ("a", "a", 3), ("a", "b", 3),
    ]  # fmt: skip
    assert tuple(pmrf.analysis.edge_inclusion(tree, "theta").edge.values) == graph.edge_labels
    with pytest.raises(ValueError, match="edge 0 is 'b--a', that of the graph is 'a->a @1'"):
        other = pmrf.LaggedGraph("abc", [("a", "a"), ("a", "b")], (1, 3), [])
        pmrf.summarize_edges(tree.isel(edge=slice(4)), "theta", graph=other)
    with pytest.raises(ValueError, match="no single graph of networkx shows all of them"):
        pmrf.median_graph(tree, "theta", graph)


def test_median_graph_of_arrows_has_directions():
    graph = pmrf.LaggedGraph("ab", [("a", "a"), ("a", "b"), ("b", "a")])
    tree = as_posterior([[[1.0, 2.0, 0.0], [1.0, 2.0, 0.0]]], graph.edge_labels)
    found = pmrf.median_graph(tree, "theta", graph)
    assert found.is_directed()
    assert list(found.edges(data="weight")) == [("a", "a", 1.0), ("a", "b", 2.0)]
