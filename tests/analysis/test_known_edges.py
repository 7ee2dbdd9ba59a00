"""A model alone tells variable, graph and kinds of nodes."""

import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import pymc_mrf as pmrf
from pymc_mrf.analysis.known_edges import known_edges
from tests.network import models


@pytest.fixture(scope="module")
def grouped():
    table = models.odd_table().drop(columns=models.ODD[3:])
    return models.quietly(pmrf.network_model, table, groups="group")


def test_model_alone_is_enough():
    model = models.quietly(pmrf.network_model, models.odd_table(), columns=models.ODD)
    idata, graph = models.drawn(model), pmrf.graphs.complete(models.ODD)
    expected = pmrf.summarize_edges(idata, "weight", graph=graph, model=model)
    pd.testing.assert_frame_equal(pmrf.summarize_edges(idata, model=model), expected)
    picture = pmrf.plots.plot_evidence(idata, model=model)
    assert list(picture.viz["edges"]) == ["for", "undecided", "against"]
    given = {"var_name": "weight", "graph": graph}
    nodes = [pmrf.summarize_nodes(idata, **options) for options in (given, {"model": model})]
    pd.testing.assert_frame_equal(*nodes)
    graphs = [pmrf.median_graph(idata, **options) for options in (given, {"model": model})]
    assert list(graphs[0].edges(data=True)) == list(graphs[1].edges(data=True))
    for plot, part in ((pmrf.plot_edges, "edges"), (pmrf.plot_inclusion, "mean")):
        shown = [plot(idata, **options).viz[part] for options in (given, {"model": model})]
        assert shown[0].sizes == shown[1].sizes


def test_strengths_of_tables_know_their_states():
    model = models.quietly(models.mixed_model, models.mixed_table())
    idata = models.drawn(model)
    net = pmrf.Network(idata, model)
    given = pmrf.analysis.edge_strength(idata, "weight", graph=net.graph, n_states=net.kinds)
    xr.testing.assert_identical(pmrf.analysis.edge_strength(idata, model=model), given)
    with pytest.raises(TypeError, match="edge_strength needs n_states=, or model="):
        pmrf.analysis.edge_strength(idata, "weight", graph=net.graph)


@pytest.mark.filterwarnings("ignore:.*effective draws carry the rarer answer:UserWarning")
def test_of_groups_it_is_what_they_have_in_common(grouped):
    idata, graph = models.drawn(grouped), pmrf.graphs.complete(models.ODD[:3])
    given = {"graph": graph, "model": grouped}
    for function in (pmrf.summarize_differences, pmrf.compare_networks):
        expected = function(idata, "weight", **given)
        pd.testing.assert_frame_equal(function(idata, model=grouped), expected)


def test_tables_have_their_kinds(grouped):
    model = models.quietly(models.mixed_model, models.mixed_table())
    var_name, graph, kinds = known_edges("f", model, None, None, None)
    assert (var_name, list(graph.nodes)) == ("weight", list(models.mixed_table()))
    assert kinds.kinds == ("ordinal", "nominal", "continuous", "continuous")
    assert known_edges("f", grouped, "weight_y_z", None, None)[2] is None


@pytest.mark.slow
def test_checks_know_the_graph_of_a_field():
    model = models.quietly(models.mixed_model, models.mixed_table())
    idata = models.drawn(model)
    net = pmrf.Network(idata, model)
    tree, given = net.replicated(4), {"graph": net.graph, "kinds": net.kinds}
    shares = [pmrf.plot_ppc_edges(tree, "x", **options) for options in (given, {"model": model})]
    titles = [picture.viz["figure"].item().axes[0].get_title() for picture in shares]
    assert "of answers without an order left out" in titles[0] and titles[0] == titles[1]
    with pytest.raises(ValueError, match="'y' is no field with a graph; the model has 'x'"):
        pmrf.plot_ppc_edges(tree, "y", model=model)
    with pytest.raises(TypeError, match="plot_ppc_edges needs graph=, or model="):
        pmrf.plot_ppc_edges(tree, "x")


def test_what_is_given_is_taken():
    assert known_edges("f", None, "w", "graph", 3) == ("w", "graph", 3)


def test_what_nobody_knows_is_asked_for():
    with pytest.raises(TypeError, match="f needs graph=, or model=, which knows it"):
        known_edges("f", None, "w", None, None)
    x = models.codes(20, 2, 3)
    with pm.Model() as model:
        for name in "ab":
            weight = pm.Normal(f"weight_{name}", 0, 1, shape=2)
            pmrf.BoltzmannMachine(name, weight, 0.0, graph=pmrf.graphs.chain(3), observed=x)
    with pytest.raises(
        ValueError, match="the model has the fields 'a', 'b' and no single vector of edges"
    ):
        known_edges("f", model, None, None, None)
    assert known_edges("f", model, "weight_b", None, None)[1] == pmrf.graphs.chain(3)
