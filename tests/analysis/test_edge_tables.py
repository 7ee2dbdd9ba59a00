"""Strengths and tables of the edges of nominal fields."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr

import pymc_mrf as pmrf
from pymc_mrf.analysis.edge_tables import edge_table
from pymc_mrf.fields.families import nominal

GRAPH = pmrf.PairwiseGraph("abc", [("a", "b"), ("b", "c")])
N_STATES = [3, 2, 3]


def posterior(rng):
    w = rng.normal(size=(2, 50, 4)) + np.array([1.0, -1.0, 0.5, 0.5])
    w[:, ::2, 2:] = 0.0
    return xr.DataTree.from_dict({"posterior": xr.Dataset({"w": (("chain", "draw", "w_dim_0"), w)})})


def test_strengths_are_norms_of_tables(rng):
    idata = posterior(rng)
    found = pmrf.analysis.edge_strength(idata, "w", graph=GRAPH, n_states=N_STATES)
    assert found.dims == ("chain", "draw", "edge")
    assert found.edge.values.tolist() == ["a--b", "b--c"]
    tables = nominal(N_STATES).edge_tables(idata.posterior.w.values, GRAPH.edges)
    np.testing.assert_allclose(found, np.linalg.norm(tables, axis=(-2, -1)))


def test_table_of_an_edge(rng):
    idata = posterior(rng)
    tables = nominal(N_STATES).edge_tables(idata.posterior.w.values, GRAPH.edges)
    first = edge_table(idata, "w", ("b", "c"), graph=GRAPH, n_states=N_STATES)
    np.testing.assert_allclose(first, tables[:, :, 1, :2, :])
    turned = edge_table(idata, "w", ("c", "b"), graph=GRAPH, n_states=N_STATES)
    np.testing.assert_allclose(turned, first.values.swapaxes(-1, -2))


def test_summary_has_one_row_per_edge(rng):
    idata, blocks = posterior(rng), pmrf.fields.table_sizes(GRAPH, N_STATES)
    with pm.Model() as model:
        p = pm.Beta("p", [1.0, 2.0], [3.0, 2.0])
        pmrf.SpikeAndSlab("w", p, pm.Normal.dist(0, 1), blocks=blocks)
    table = pmrf.summarize_edges(idata, "w", graph=GRAPH, n_states=N_STATES, model=model, sort="graph")
    assert table.index.tolist() == ["a--b", "b--c"]
    np.testing.assert_allclose(table["inclusion"], [1.0, 0.5])
    np.testing.assert_allclose(table["bayes_factor"], [np.inf, 1.0])  # prior odds 1/3 and 1
    strength = pmrf.analysis.edge_strength(idata, "w", graph=GRAPH, n_states=N_STATES)
    np.testing.assert_allclose(table["mean"], strength.mean(("chain", "draw")))
    given = pmrf.summarize_edges(idata, "w", graph=GRAPH, n_states=N_STATES, prior_inclusion=0.5)
    np.testing.assert_allclose(given.loc["b--c", "bayes_factor"], 1.0)


def test_bad_arguments(rng):
    idata = posterior(rng)
    with pytest.raises(ValueError, match="w has 4 entries, but the tables of 2 edges have 8 parameters"):
        pmrf.analysis.edge_strength(idata, "w", graph=GRAPH, n_states=3)
    with pytest.raises(ValueError, match="is no edge of the graph: give its two nodes"):
        edge_table(idata, "w", ("a", "c"), graph=GRAPH, n_states=N_STATES)


def test_parameters_are_no_edges(rng):
    idata = posterior(rng)
    with pytest.raises(ValueError, match="strengths of tables"):
        pmrf.summarize_edges(idata, "w", graph=GRAPH)
    with pm.Model() as model:
        pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), blocks=[2, 2])
    with pytest.raises(ValueError, match="w has several entries for an edge"):
        pmrf.analysis.complexity_probabilities(idata, "w", model=model)


def test_picture_of_a_table(rng):
    idata = posterior(rng)
    labels = {"a": ["x", "y", "z"]}
    pc = pmrf.plots.plot_edge_table(
        idata, "w", ("a", "b"), graph=GRAPH, n_states=N_STATES, state_labels=labels
    )
    image = pc.get_viz("heatmap", "w")
    table = edge_table(idata, "w", ("a", "b"), graph=GRAPH, n_states=N_STATES)
    np.testing.assert_allclose(image.get_array(), table.mean(("chain", "draw")))
    axes = image.axes
    assert [t.get_text() for t in axes.get_yticklabels()] == ["x", "y", "z"]
    assert axes.get_title() == "inclusion 1.00"
    half = pmrf.plots.plot_edge_table(idata, "w", ("b", "c"), graph=GRAPH, n_states=N_STATES)
    assert half.get_viz("heatmap", "w").axes.get_title() == "inclusion 0.50"
    with pytest.raises(ValueError, match="which has 3 states: give one name for each"):
        pmrf.plots.plot_edge_table(
            idata, "w", ("a", "b"), graph=GRAPH, n_states=N_STATES, state_labels={"a": ["x"]}
        )
    idata.posterior["w"][..., 2:] = 0.0
    with pytest.raises(ValueError, match="is absent in all draws"):
        pmrf.plots.plot_edge_table(idata, "w", ("b", "c"), graph=GRAPH, n_states=N_STATES)
