"""The picture of the measures of nodes."""

import numpy as np
import pytest

import pymc_mrf as pmrf
from pymc_mrf.analysis.centrality import node_measures
from tests.analysis.community_draws import COMMUNITIES, GRAPH, drawn, posterior
from tests.analysis.posteriors import as_posterior


def test_panels_share_the_order_of_the_first_measure(rng):
    tree = posterior(drawn(rng))
    pc = pmrf.plots.plot_nodes(tree, "theta", graph=GRAPH, communities=COMMUNITIES, ci_prob=0.5)
    found = node_measures(tree, "theta", graph=GRAPH, communities=COMMUNITIES)
    order = np.argsort(found.strength.mean(("chain", "draw")).values, kind="stable")
    for name, values in found.data_vars.items():
        line = pc.get_viz("points", name)
        np.testing.assert_allclose(line.get_xdata(), values.mean(("chain", "draw")).values[order])
        segments = np.array(pc.get_viz("intervals", name).get_segments())
        ends = values.quantile([0.25, 0.75], ("chain", "draw")).values[:, order]
        np.testing.assert_allclose(segments[:, :, 0].T, ends)
    axes = pc.get_target("strength", {})
    assert [text.get_text() for text in axes.get_yticklabels()] == [GRAPH.nodes[i] for i in order]


def test_visuals_and_errors(rng):
    tree = posterior(drawn(rng))
    pc = pmrf.plots.plot_nodes(
        tree,
        "theta",
        graph=GRAPH,
        measures=["strength"],
        visuals={"intervals": False, "points": {"markersize": 9}},
    )
    assert "intervals" not in pc.viz.children
    assert pc.get_viz("points", "strength").get_markersize() == 9
    with pytest.raises(ValueError, match="visuals has the key 'bars'"):
        pmrf.plots.plot_nodes(tree, "theta", graph=GRAPH, visuals={"bars": {}})
    with pytest.raises(ValueError, match="backend"):
        pmrf.plots.plot_nodes(tree, "theta", graph=GRAPH, backend="bokeh")
    graph = pmrf.graphs.chain(61)
    w = np.zeros((1, 5, 60))
    with pytest.raises(ValueError, match="61 nodes, more than the 60"):
        pmrf.plots.plot_nodes(as_posterior(w), "theta", graph=graph, measures=["strength"])
