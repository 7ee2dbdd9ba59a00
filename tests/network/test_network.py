"""Each number of a `Network` is that of the function that its method names."""

import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import pymc_mrf as pmrf
from pymc_mrf.analysis.edge_tables import edge_table
from pymc_mrf.analysis.predictive_checks import edge_agreement, edge_correlation, run_lengths
from tests.network import models


def network(model, draw=models.sampled):
    return pmrf.Network(draw(model), model)


@pytest.fixture(scope="module")
def items():
    """Answers to five items."""
    table = models.odd_table()
    return network(models.quietly(pmrf.network_model, table, columns=models.ODD))


@pytest.fixture(scope="module")
def groups():
    table = models.odd_table().drop(columns=models.ODD[3:])
    return network(models.quietly(pmrf.network_model, table, groups="group"))


@pytest.fixture(scope="module")
def mixed():
    return network(models.quietly(models.mixed_model, models.mixed_table()), models.drawn)


@pytest.fixture(scope="module")
def arrows():
    return network(models.kinetic_model())


@pytest.fixture(scope="module")
def edge_groups():
    return network(models.grouped_model())


def same(found, expected):
    test = xr.testing.assert_identical if isinstance(found, xr.Dataset | xr.DataArray) else None
    (test or pd.testing.assert_frame_equal)(found, expected)


@pytest.mark.filterwarnings("ignore:the draws hold:UserWarning")
def test_tables_of_edges_and_nodes(items):
    of, graph = (items.idata, "weight"), pmrf.graphs.complete(models.ODD)
    assert (items.field, items.weight, items.groups) == ("x", "weight", [])
    assert items.graph == graph and items.kinds.labels[3] == tuple(models.LEVELS)
    same(items.edges, pmrf.summarize_edges(*of, graph=graph, model=items.model))
    same(items.nodes, pmrf.summarize_nodes(*of, graph=graph))
    same(items.structures(3), pmrf.analysis.structure_probabilities(*of, n_structures=3))
    same(items.complexity(), pmrf.analysis.complexity_probabilities(*of, model=items.model))
    found = items.evidence()
    assert found["evidence"].tolist() == items.edges["evidence"][items.labels].tolist()
    narrow = pmrf.summarize_edges(*of, graph=graph, model=items.model, bounds=(0.5, 2), sort="graph")
    assert items.evidence((0.5, 2))["evidence"].tolist() == narrow["evidence"].tolist()
    factors = pmrf.analysis.edge_inclusion(*of, model=items.model)["bayes_factor"]
    np.testing.assert_array_equal(found["bayes_factor"], factors)
    assert str(items.diagnose()) == str(pmrf.diagnose(items.idata, model=items.model))


def test_prior_number_of_edges_with_tables(mixed):
    found = mixed.complexity()
    present = pm.draw(mixed.model["weight"], 2000, random_seed=1) != 0.0
    ends = np.cumsum(mixed.kinds.block_sizes(mixed.graph)) - 1
    counts = present[:, ends].sum(axis=1)
    for k, share in found["prior"].items():
        # of six edges one is between measurements, whose probability the cone makes .41
        assert share == pytest.approx((counts == k).mean(), abs=0.08)
    strength = pmrf.analysis.edge_inclusion(mixed.by_edge, "weight", model=mixed.model)
    np.testing.assert_array_equal(strength["bayes_factor"], mixed.evidence()["bayes_factor"])
    pmrf.plots.plot_complexity(mixed.by_edge, "weight", model=mixed.model)


@pytest.mark.filterwarnings("ignore:.*effective draws remain:UserWarning")
def test_other_priors(items):
    options = {"prior_inclusion": [0.4, 0.5], "slab_scale": [1.0]}
    expected = pmrf.prior_sensitivity(items.idata, "weight", model=items.model, **options)
    same(items.sensitivity(**options), expected)


def test_rows(items, mixed):
    of = {"idata": items.idata, "var_name": "x", "model": items.model}
    rows = models.odd_table(7)[models.ODD].set_axis(list("zyxwvut"))
    assert items.predict(rows)["obs"].values.tolist() == list("zyxwvut")
    own = items.idata["observed_data"]["x"]["row"].values
    np.testing.assert_array_equal(items.predict()["obs"], own)
    two = models.mixed_table().set_index(pd.MultiIndex.from_product([["a"], range(120)])).iloc[[3, 5]]
    assert mixed.predict(two)["obs"].values.tolist() == [("a", 3), ("a", 5)]
    same(items.predict(rows), pmrf.predict_nodes(**of, data=rows))
    same(items.predict(), pmrf.predict_nodes(**of))
    shares = ["accuracy", "explained_accuracy", "explained_log_score"]
    found = pmrf.predict_nodes(**of, data=rows, max_draws=9)
    same(items.predictability(rows, max_draws=9), found[shares])


def test_check_compares_data_with_predictive_draws(items):
    found = items.check(n_draws=20, random_seed=5)
    observed = edge_agreement(items.idata, "x", graph=items.graph, group="observed_data")
    np.testing.assert_array_equal(found["observed"], observed)
    tree = items.replicated(20, 5)
    assert tree["posterior_predictive"].sizes["draw"] == 10
    shares = edge_agreement(tree, "x", graph=items.graph)
    np.testing.assert_allclose(found["mean"], shares.mean(("chain", "draw")))
    outside = (found["observed"] < found["low"]) | (found["observed"] > found["high"])
    assert found["missed"].tolist() == outside.tolist()
    assert "posterior_predictive" not in items.idata
    same(pmrf.analysis.predictive_check(tree, "x", model=items.model), found)
    with pytest.raises(ValueError, match="kind must be"):
        items.check("nodes")
    with pytest.raises(ValueError, match="is no KineticMRF of the model"):
        items.check("runs", n_draws=4)


def test_nothing_is_logged_of_what_was_not_asked_for(items, caplog):
    with caplog.at_level("INFO", logger="pymc"):
        items.check(n_draws=4)
    assert not caplog.records


@pytest.mark.filterwarnings("ignore:.*effective draws carry the rarer answer:UserWarning")
def test_groups(groups):
    assert groups.groups == models.GROUPS and groups.field is None
    of = {"graph": groups.graph, "model": groups.model}
    same(groups.compare(), pmrf.compare_networks(groups.idata, "weight", **of))
    pair = models.GROUPS[:2]
    expected = pmrf.summarize_differences(groups.idata, "weight", between=pair, **of)
    same(groups.differences(between=pair), expected)
    one = groups.group("y z")
    assert (one.field, one.weight) == ("x_y_z", "weight_y_z")
    # an edge is absent if what groups have in common has none, and none of three differences, of which any
    # two groups share two
    p = 1.0 - 0.5 * 0.5**1.5
    np.testing.assert_allclose(one.prior_inclusion, p)
    expected = pmrf.summarize_edges(groups.idata, "weight_y_z", graph=groups.graph, prior_inclusion=p)
    same(one.edges, expected)
    assert one.evidence().index.tolist() == one.labels
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what was warned of before is not said again
        groups.summary()
    with pytest.raises(ValueError, match=r"predict is of the rows of one group: .*group\('x<1'\)"):
        groups.predict()
    with pytest.raises(ValueError, match=r"compare is of several groups, .* x_y_z alone"):
        one.compare()
    with pytest.raises(ValueError, match="there is no group 'w'; there are 'x<1', 'y z', 'é'"):
        groups.group("w")


def test_tables_of_parameters(mixed):
    kinds = mixed.kinds
    of = {"graph": mixed.graph, "n_states": kinds}
    expected = pmrf.summarize_edges(mixed.idata, "weight", model=mixed.model, **of)
    same(mixed.edges, expected)
    strength = pmrf.analysis.edge_strength(mixed.idata, "weight", **of)
    xr.testing.assert_equal(mixed.values, strength.rename("weight"))
    table = edge_table(mixed.idata, "weight", ("n & m", "µs"), **of)
    same(mixed.table("n & m", "µs"), table)
    axes = mixed.plot("table", edge=("n & m", "µs")).viz["figure"].item().axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == [""]  # a measurement has no states
    with pytest.raises(TypeError, match=r'name its nodes, as plot\("table", edge=\('):
        mixed.plot("table")
    assert mixed.evidence().loc[mixed.edges.index, "bayes_factor"].tolist() == (
        mixed.edges["bayes_factor"].tolist()
    )
    observed = edge_correlation(mixed.idata, "x", graph=mixed.graph, kinds=kinds, group="observed_data")
    np.testing.assert_array_equal(mixed.check(n_draws=4)["observed"], observed)


def test_partial_correlations(mixed, items):
    """Of a network, of its model, and of parameters that are named: all the same."""
    options = {"kinds": mixed.kinds}
    found = mixed.partial_correlations()
    by_name = pmrf.partial_correlations(mixed.idata, "weight", "diagonal", mixed.graph, **options)
    xr.testing.assert_identical(found, by_name)
    xr.testing.assert_identical(found, pmrf.partial_correlations(mixed.idata, model=mixed.model))
    with pytest.raises(ValueError, match="of measurements, which x has none of"):
        items.partial_correlations()
    with pytest.raises(ValueError, match="not the weights of one field of measurements"):
        pmrf.partial_correlations(items.idata, model=items.model)
    with pytest.raises(TypeError, match="needs diagonal=, or model="):
        pmrf.partial_correlations(mixed.idata, "weight", graph=mixed.graph, **options)


def test_arrows(arrows):
    graph = pmrf.graphs.lagged(list("abc"))
    expected = pmrf.summarize_edges(arrows.idata, "weight", graph=graph, model=arrows.model)
    same(arrows.edges, expected)
    assert all(words in str(arrows) for words in (" for an arrow, ", "Arrows more probable than"))
    same(arrows.forecast(2, random_seed=3), pmrf.forecast(arrows.idata, arrows.model, 2, random_seed=3))
    assert len(arrows.check(n_draws=4)) == 9
    tree, runs = arrows.replicated(4, 7), arrows.check("runs", n_draws=4, random_seed=7)
    of = {"var_name": "x", "model": arrows.model}
    counted = [run_lengths(tree, **of), run_lengths(tree, **of, group="observed_data")]
    for name, values in counted[1].items():
        assert runs.loc[name, "observed"].tolist() == values.values.tolist()
        np.testing.assert_allclose(runs.loc[name, "mean"], counted[0][name].mean(("chain", "draw")))
    made = arrows.to_networkx(0.0)
    assert isinstance(made, nx.MultiDiGraph) and {key for *_, key in made.edges(keys=True)} == {1}
    with pytest.raises(ValueError, match="predict is of rows that do not depend on others"):
        arrows.predict()


def test_groups_of_edges(edge_groups):
    found = edge_groups.edge_groups
    grouping = pmrf.point_grouping(edge_groups.idata, "theta")
    assert edge_groups.edges["group"].tolist() == grouping.values.tolist()
    assert found["n_edges"].tolist() == np.bincount(grouping).tolist()
    numbers = pmrf.n_groups(edge_groups.idata, "theta")
    for k, share in found.attrs["n_groups"].items():
        assert share == pytest.approx(float((numbers == k).mean()))
    assert not {"inclusion", "bayes_factor"} & set(edge_groups.edges)
    assert edge_groups.to_networkx().number_of_edges() == 4
    with pytest.raises(ValueError, match="evidence is of edges that may be absent"):
        edge_groups.evidence()
    with pytest.raises(ValueError, match="the theta of the AgreementMRF are no weights"):
        edge_groups.nodes  # noqa: B018


def test_what_does_not_apply_is_refused(items):
    for refused, message in (
        (lambda: items.edge_groups, "edge_groups are of a DirichletProcess, which weight has not"),
        (
            lambda: items.compare(),
            "compare is of several groups, .* one group of rows: declare groups, as network_model",
        ),
        (lambda: items.forecast(2), "forecast is of a KineticMRF, .* the OrdinalMRF do not depend"),
        (lambda: items.communities(), "the model has no EdgeCommunities: declare it with communities="),
        (lambda: items.table("a b", "c--d"), "OrdinalMRF has one number, and no table"),
        (lambda: items.plot("runs"), "runs are those of a KineticMRF"),
        (lambda: items.plot("n_groups"), "groups of edges are those of a DirichletProcess"),
        (lambda: items.plot("map"), 'kind must be one of "edges", "evidence"'),
    ):
        with pytest.raises(ValueError, match=message):
            refused()


def test_graphs_and_files(items, tmp_path):
    made, expected = items.to_networkx(), pmrf.median_graph(items.idata, "weight", items.graph)
    assert set(map(frozenset, made.edges)) == set(map(frozenset, expected.edges))
    for u, v, told in expected.edges(data=True):
        assert made.edges[u, v]["weight"] == pytest.approx(told["weight"])
        assert made.edges[u, v]["inclusion"] == told["inclusion"]
    assert dict(made.nodes(data="kind")) == dict.fromkeys(models.ODD, "ordinal")
    items.to_graphml(tmp_path / "net.graphml")
    read = nx.read_graphml(tmp_path / "net.graphml")
    assert nx.utils.graphs_equal(nx.Graph(read.edges()), nx.Graph(made.edges()))
    assert set(read.nodes) == set(models.ODD)
    items.to_csv(tmp_path / "edges.csv")
    assert pd.read_csv(tmp_path / "edges.csv", index_col=0)["u"].tolist() == items.edges["u"].tolist()


@pytest.mark.parametrize(
    "kind", ["edges", "evidence", "inclusion", "nodes", "complexity", "diagnostics", "check"]
)
def test_pictures(items, kind):
    assert items.plot(kind).viz["figure"].item().axes


@pytest.mark.parametrize("kind", ["groups", "n_groups", "co_clustering"])
def test_pictures_of_groups_of_edges(edge_groups, kind):
    assert edge_groups.plot(kind).viz["figure"].item().axes


def test_a_picture_of_groups_has_a_network_for_each(groups):
    pictures = groups.plot()
    assert len(pictures.viz["figure"].item().axes) == 3
    titles = [pictures.get_target(name, {}).get_title() for name in groups.weights_of_groups]
    assert titles == groups.groups == ["x<1", "y z", "é"]
    untitled = groups.plot(visuals={"title": False})
    assert untitled.get_target(groups.weights_of_groups[0], {}).get_title() == ""


def test_an_argument_that_a_picture_does_not_have_is_refused(items):
    with pytest.raises(TypeError, match="plot_edges has no argument 'min_inclusoin'"):
        items.plot(min_inclusoin=0.5)


def test_text_says_what_is_known_and_whether_to_trust_it(items):
    text = str(items)
    assert text.startswith(
        "OrdinalMRF of 5 nodes and 10 candidate edges: 'weight' of field 'x'; 2 chains of 30"
    )
    assert "Against trusting this run: " in text
    first = items.edges.iloc[0]
    assert f"{first['mean']:.3g}" in text and str(items.edges.index[0]) in text
    counts = items.evidence()["evidence"].value_counts()
    assert f"{counts.get('for', 0)} for an edge" in text
    assert repr(items) == "Network(5 nodes, 10 candidate edges, 'weight')"


def two_fields(weight_of_second):
    x, graph = models.codes(40, 2, 3), pmrf.graphs.complete(list("abc"))
    with pm.Model(coords=pmrf.coords(graph)) as model:
        weight = pm.Normal("weight", 0, 1, dims="edge")
        pmrf.BoltzmannMachine("x", weight, 0.0, graph=graph, observed=x)
        other = weight_of_second(weight)
        pmrf.BoltzmannMachine("y", other, 0.0, graph=graph, observed=x)
    return model


def test_several_fields_are_told_apart_by_name():
    net = two_fields(lambda weight: pm.Deterministic("twice", 2.0 * weight, dims="edge"))
    idata = models.sampled(net)
    with pytest.raises(
        ValueError, match="the model has the fields 'x', 'y': name one of them, as field="
    ):
        pmrf.Network(idata, net)
    with pytest.raises(ValueError, match="field='z' is no field with a graph; the model has 'x', 'y'"):
        pmrf.Network(idata, net, field="z")
    found = pmrf.Network(idata, net, field="y")
    assert found.weight == "twice"
    expected = pmrf.summarize_edges(idata, "twice", graph=found.graph, sort="graph")
    same(found.edges, expected[found.edges.columns])


def test_weights_without_a_name_or_for_all_edges_alike_are_refused():
    model = two_fields(lambda weight: 2.0 * weight)
    idata = models.sampled(model)
    with pytest.raises(
        ValueError, match=r"the weight of y is an expression without a name, .*Deterministic"
    ):
        pmrf.Network(idata, model, field="y")
    with pm.Model() as one:
        coupling = pm.Normal("coupling", 0, 1)
        pmrf.Ising(
            "z", coupling, 0.0, graph=pmrf.graphs.chain(3), observed=2 * models.codes(40, 2, 3) - 1
        )
    with pytest.raises(ValueError, match="coupling"):
        pmrf.Network(models.sampled(one), one)


def test_a_model_without_a_field_is_refused(items):
    with pm.Model() as empty:
        pm.Normal("weight", 0, 1, shape=10)
    with pytest.raises(ValueError, match="the model has no field with a graph, and so no network"):
        pmrf.Network(items.idata.copy(), empty)


def test_results_without_a_record_need_the_model(items):
    bare = items.idata.copy()
    bare.attrs = {}
    with pytest.raises(
        ValueError, match=r"idata has no record of a network.*pymc_mrf.Network\(idata, model\)"
    ):
        pmrf.Network(bare)
    with pytest.raises(TypeError, match=r"idata must be the xarray\.DataTree"):
        pmrf.Network(items.idata["posterior"].to_dataset())
