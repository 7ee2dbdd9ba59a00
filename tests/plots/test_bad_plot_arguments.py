"""Messages of the plots and of the analysis about results, labels and options."""

import inspect

import arviz as az
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import pymc_mrf as pmrf
from pymc_mrf.analysis.predictive_checks import edge_agreement
from pymc_mrf.graph.structure import as_graph
from tests.public import NAMES

GRAPH = as_graph(nx.Graph([("a", "b"), ("b", "c"), ("a", "c")]))
X = np.array([[0, 1, 1], [1, 1, 0], [0, 0, 1], [1, 0, 0]])


@pytest.fixture
def tree(rng):
    return az.from_dict(
        {
            "posterior": {
                "theta": rng.choice([0.0, 0.4, 0.8], (2, 10, 3)),
                "z": rng.integers(0, 2, (2, 10, 3)),
            },
            "posterior_predictive": {"x": rng.integers(0, 2, (2, 10, 4, 3))},
            "observed_data": {"x": X},
        },
        dims={"theta": ["edge"], "x": ["obs", "node"], "z": ["node"]},
        coords={"edge": list(GRAPH.edge_labels), "node": list(GRAPH.nodes)},
    )


CATEGORY = dict.fromkeys("abc", "x")


@pytest.mark.parametrize("plot", [pmrf.plot_groups, pmrf.plot_edges])
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"pos": 3}, TypeError, "pos must be a sequence of positions in the order of the nodes, or a"),
        (
            {"pos": dict.fromkeys("abc", (0, np.nan))},
            ValueError,
            r"pos\['a'\] must be two finite numbers",
        ),
        ({"pos": dict.fromkeys("abc", (0, 0, 0))}, ValueError, r"pos\['a'\] .* not \(0, 0, 0\)"),
        ({"pos": dict.fromkeys("abc", "x")}, ValueError, r"pos\['a'\] .* not 'x'"),
        ({"node_category": list("xyz")}, TypeError, "node_category must be a dictionary with"),
        (
            {"node_category": CATEGORY, "category_colors": ["red"]},
            TypeError,
            "category_colors must be a dictionary",
        ),
        (
            {"node_category": CATEGORY, "category_colors": {"x": "rot"}},
            ValueError,
            r"category_colors\['x'\] is 'rot', which is no colour of matplotlib",
        ),
        ({"visuals": ["nodes"]}, TypeError, r"visuals must be a dictionary such as \{'edges'"),
        ({"visuals": {"nodes": True}}, TypeError, r"visuals\['nodes'\] must be a dictionary .*not True"),
    ],
)
def test_networks(tree, plot, options, error, message):
    with pytest.raises(error, match=message):
        plot(tree, "theta", graph=GRAPH, **options)


PLOTS = [value for name, value in NAMES.items() if ".plot_" in name]
PLOTS = [plot for plot in PLOTS if "dt" in inspect.signature(plot).parameters]


@pytest.mark.parametrize("plot", PLOTS)
def test_what_is_no_result(plot):
    needed = {"var_name": "theta", "graph": GRAPH, "model": None, "edge": ("a", "b"), "n_states": 2}
    options = {name: needed[name] for name in inspect.signature(plot).parameters if name in needed}
    with pytest.raises(
        TypeError, match=r"^dt must be the xarray\.DataTree that pymc\.sample returns, not int"
    ):
        plot(3, **options)


def test_arrows_have_a_plot_of_their_own(tree):
    with pytest.raises(TypeError, match=r"arrows from row to row.*use plot_edges"):
        pmrf.plot_groups(tree, "theta", graph=pmrf.graphs.lagged(2))


@pytest.mark.parametrize("value", ["a", [0.5], True, np.nan])
def test_numbers(tree, value):
    calls = {
        "center must be a finite number": lambda: pmrf.plot_groups(
            tree, "theta", graph=GRAPH, center=value
        ),
        "min_inclusion must be between": lambda: pmrf.plot_edges(
            tree, "theta", graph=GRAPH, min_inclusion=value
        ),
        "ci_prob must be a number above 0": lambda: pmrf.plot_ppc_edges(
            tree, "x", graph=GRAPH, ci_prob=value
        ),
        "threshold must be a number of at": lambda: pmrf.median_graph(
            tree, "theta", GRAPH, threshold=value
        ),
        "prior_inclusion (must be|has)": lambda: pmrf.analysis.edge_inclusion(
            tree, "theta", prior_inclusion=value
        ),
    }
    for message, call in calls.items():
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize(
    "read",
    [
        pmrf.group_labels,
        pmrf.n_groups,
        pmrf.co_clustering,
        pmrf.point_grouping,
        pmrf.analysis.edge_inclusion,
    ],
)
def test_names_and_empty_results(tree, read):
    with pytest.raises(TypeError, match=r"var_name must be one name, a string, not \['theta'\]"):
        read(tree, ["theta"])
    with pytest.raises(TypeError, match=r"group must be one name, a string, not \['posterior'\]"):
        read(tree, "theta", group=["posterior"])
    with pytest.raises(ValueError, match=r"theta is empty: .*'draw': 0"):
        read(tree.isel(draw=slice(0, 0)), "theta")
    with pytest.raises(
        ValueError, match=r"no group 'posterior'; .*; pass the whole result of pm\.sample"
    ):
        read(tree["posterior"], "theta")


def test_predictive_checks(tree, rng):
    for plot in (lambda t, **k: pmrf.plot_ppc_edges(t, "x", graph=GRAPH, **k),
                 lambda t, **k: pmrf.plots.plot_ppc_magnetisation(t, "x", **k)):  # fmt: skip
        with pytest.raises(
            ValueError, match="x of the observed_data group is without 'chain' and 'draw'"
        ):
            plot(tree, group="observed_data")
        with pytest.raises(
            ValueError, match=r"x of the posterior_predictive group is without 'draw', of .*; pass"
        ):
            plot(tree.isel(draw=0))
    with pytest.raises(ValueError, match="x: its labels are the nodes of the graph in another order"):
        edge_agreement(tree, "x", graph=nx.Graph([("c", "b"), ("b", "a")]))
    other = az.from_dict(
        {
            "posterior_predictive": {"x": rng.integers(0, 2, (2, 5, 4, 3))},
            "observed_data": {"x": X[:, :2]},
        }
    )
    with pytest.raises(ValueError, match="x has 3 nodes in the posterior_predictive group and 2 in obs"):
        pmrf.plots.plot_ppc_magnetisation(other, "x")
    with pytest.raises(
        ValueError, match=r"no group 'observed_data'.*pass the result of a model with `obs"
    ):
        del other["observed_data"]
        pmrf.plots.plot_ppc_magnetisation(other, "x")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"shape": 3}, TypeError, "shape must be a sequence of rows, columns and .* not 3"),
        ({"shape": (-1, -3)}, ValueError, r"shape\[0\] must be a positive integer, not -1"),
        ({"shape": (True, 3)}, ValueError, r"shape\[0\] must be a positive integer, not True"),
        (
            {"graph": GRAPH, "panels": 3},
            TypeError,
            "panels must be a sequence of names of panels, not 3",
        ),
        ({"graph": GRAPH, "coords": ["obs"]}, TypeError, "coords must be a dictionary"),
        ({"graph": GRAPH, "pos": 3}, TypeError, "pos must be a sequence of positions in the order"),
        ({"graph": GRAPH, "pos": [(0, 0)] * 2}, ValueError, "pos has 2 positions for 3 nodes"),
        ({"graph": GRAPH, "pos": [(0, 0, 1)] * 3}, ValueError, r"pos\['a'\] must be two finite numbers"),
        ({"polygons": {"a": []}}, ValueError, "polygons has no polygon for node 'b'; give one to every"),
        ({"polygons": [[(0, 0), (1, 1)]] * 3}, ValueError, "no polygon of three .* for node 'a'"),
        ({"polygons": [{"type": "Point"}] * 3}, ValueError, "for node 'a'; give a polygon, or several"),
        ({"segments": [[0, 1]]}, ValueError, "no pixel of node 'c', whose label is 2: .* from 0 to 1"),
        ({"segments": [0, 1, 2]}, ValueError, r"segments must be an image .* of shape \(3,\)"),
        ({"segments": [[0.0, 1.0]]}, ValueError, "segments must"),
        (
            {"segments": [[0, 1, 2]], "shape": (1, 3)},
            ValueError,
            "shape and segments both tell the places",
        ),
        (
            {"shape": (1, 3), "layers": [0]},
            ValueError,
            r"layers=\[0\] is for volumes, but the field is an",
        ),
        ({"graph": GRAPH, "layers": [0]}, ValueError, r"layers=\[0\] is for volumes, but z is drawn as"),
        (
            {"shape": (1, 1, 3), "layers": [3]},
            ValueError,
            "layers must be different ones of 0 to 2, not",
        ),
        ({"shape": (1, 1, 3), "layers": 3}, TypeError, "layers must be a sequence of numbers of layers"),
        ({"graph": nx.Graph([("c", "b"), ("b", "a")])}, ValueError, "z: its labels are the nodes"),
    ],
)
def test_latent_fields(tree, options, error, message):
    with pytest.raises(error, match=message):
        pmrf.plot_latent_field(tree, "z", **options)


def test_backends(tree):
    with pytest.raises(ValueError, match=r"backend must be one of \"matplotlib\", .* not 'foo'"):
        pmrf.plot_n_groups(tree, backend="foo")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"x": pd.DataFrame(X, columns=list("abd"))}, ValueError, "x has no column 'c'"),
        (
            {"parameters": None},
            TypeError,
            "parameters must be numeric, .* the DataTree that pymc.sample",
        ),
        (
            {"parameters": pd.Series([0.5] * 3, index=GRAPH.edge_labels[::-1])},
            ValueError,
            "parameters: its labels are the edges of the graph in another order",
        ),
        ({"per_observation": "no"}, TypeError, "per_observation must be True or False"),
        (
            {
                "family": "boltzmann",
                "node": xr.DataArray([1.0, 2.0, 3.0], dims="node", coords={"node": list("cba")}),
            },
            ValueError,
            "node: its labels are the nodes of the graph in another order",
        ),
    ],
)
def test_scores(options, error, message):
    valid = {"x": X, "graph": GRAPH, "parameters": [0.5] * 3}
    with pytest.raises(error, match=message):
        pmrf.analysis.log_pseudo_likelihood(**(valid | options))
    with pytest.raises(error, match=message):
        pmrf.analysis.conditional_log_likelihood(**(valid | options), group_of_nodes=["a"])


def test_groupings_and_predictions(rng):
    with pytest.raises(ValueError, match="a must be a rectangular array of group labels"):
        pmrf.analysis.variation_of_information([[0], [1, 2]], [0, 1])
    with pytest.raises(ValueError, match="b has masked labels"):
        pmrf.analysis.variation_of_information([0, 1], np.ma.masked_array([0, 1], mask=[0, 1]))
    undefined = xr.DataArray(np.full((2, 3), np.nan), dims=("chain", "draw"))
    with pytest.raises(ValueError, match="log_likelihood has entries that are not numbers"):
        pmrf.analysis.log_predictive(undefined)
    with pytest.raises(ValueError, match=r"group_of_nodes names \['a'\], which is not a node"):
        pmrf.analysis.conditional_log_likelihood(X, GRAPH, [0.5] * 3, [["a"]])


@pytest.mark.parametrize("session", [0, 3, True, "1", 1.0, [1]])
def test_sessions(session):
    with pytest.raises(ValueError, match=r"session must be 1 \(2005\), 2 \(2006\) or None"):
        pmrf.datasets.load_senate109(session=session)
