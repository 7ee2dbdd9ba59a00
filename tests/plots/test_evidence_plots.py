"""Pictures of evidence, of the number of edges, and of both under other priors."""

import numpy as np
import pymc as pm
import pytest
from matplotlib.colors import same_color

import pymc_mrf as pmrf
from pymc_mrf.plots.evidence import COLORS
from tests.analysis.posteriors import as_posterior

GRAPH = pmrf.graphs.complete(list("abcd"))
EDGES = pmrf.coords(GRAPH)["edge"]


@pytest.fixture
def tree(rng):
    """Two edges for sure, one in half of the draws, three never."""
    w = np.zeros((2, 300, 6))
    w[..., [0, 5]] = rng.normal(1.0, 0.1, (2, 300, 2))
    w[..., 2] = np.where(rng.random((2, 300)) < 0.5, -0.2, 0.0)
    return as_posterior(w, EDGES)


def model():
    with pm.Model(coords=pmrf.coords(GRAPH)) as model:
        pmrf.SpikeAndSlab("theta", 0.5, pm.Normal.dist(0, 1), dims="edge")
    return model


def test_every_edge_is_in_the_network_of_its_class(tree):
    pc = pmrf.plots.plot_evidence(tree, "theta", graph=GRAPH, model=model())
    for name, count in (("for", 2), ("undecided", 1), ("against", 3)):
        lines = pc.get_viz("edges", name)
        assert len(lines.get_segments()) == count
        assert all(same_color(color[:3], COLORS[name]) for color in lines.get_colors())
        assert set(lines.get_linewidths()) == {1.3}
        assert pc.get_target(name, {}).get_title().startswith(f"{name}: {count} edge")
    # the networks have their nodes at the same places
    places = [
        [text.get_position() for text in pc.get_target(name, {}).texts] for name in ("for", "against")
    ]
    assert places[0] == places[1]
    wide = pmrf.plots.plot_evidence(tree, "theta", graph=GRAPH, model=model(), bounds=(1e-4, 1e4))
    assert len(wide.get_viz("edges", "undecided").get_segments()) == 6


def test_arrows_have_heads_and_colours_of_their_class(rng, tmp_path):
    graph = pmrf.LaggedGraph("ab", [("a", "a"), ("a", "b"), ("b", "a")], links=[("a", "b")])
    w = np.zeros((2, 300, 4))
    w[..., 2], w[..., 1] = 1.0, np.where(rng.random((2, 300)) < 0.5, -0.2, 0.0)
    tree = as_posterior(w, graph.edge_labels)
    pc = pmrf.plots.plot_evidence(tree, "theta", graph=graph, prior_inclusion=0.5)
    pc.savefig(tmp_path / "arrows.png")
    for name, count in (("for", 1), ("undecided", 1), ("against", 2)):
        arrows = pc.get_viz("edges", name)
        assert len(arrows.get_segments()) == count
        assert all(same_color(color[:3], COLORS[name]) for color in arrows.get_colors())


def test_places_colours_and_visuals_are_given(tree):
    pos = {node: (k, k % 2) for k, node in enumerate("abcd")}
    pc = pmrf.plots.plot_evidence(
        tree, "theta", graph=GRAPH, prior_inclusion=0.5, pos=pos,
        node_category=dict(zip("abcd", "xxyy", strict=True)),
        visuals={"edges": {"linewidths": 3.0}, "title": False},
    )  # fmt: skip
    assert set(pc.get_viz("edges", "for").get_linewidths()) == {3.0}
    assert pc.get_target("for", {}).get_title() == ""
    with pytest.raises(ValueError, match="visuals has the key 'edge_legend'"):
        pmrf.plots.plot_evidence(
            tree, "theta", graph=GRAPH, prior_inclusion=0.5, visuals={"edge_legend": {}}
        )
    with pytest.raises(ValueError, match="prior probability of theta is not known"):
        pmrf.plots.plot_evidence(tree, "theta", graph=GRAPH)


def test_bars_are_the_probabilities_of_the_number_of_edges(tree):
    pc = pmrf.plots.plot_complexity(tree, "theta", model=model())
    table = pmrf.analysis.complexity_probabilities(tree, "theta", model=model())
    bars = pc.get_viz("posterior", "theta")
    np.testing.assert_allclose([bar.get_height() for bar in bars], table["probability"])
    line = pc.get_viz("prior", "theta")
    np.testing.assert_allclose(line.get_ydata(), table["prior"])
    assert pc.get_target("theta", {}).get_xlabel() == "number of edges of theta"
    alone = pmrf.plots.plot_complexity(tree, "theta", visuals={"errors": False})
    assert {"prior", "errors"}.isdisjoint(alone.viz.children)
    with pytest.raises(ValueError, match="backend"):
        pmrf.plots.plot_complexity(tree, "theta", backend="bokeh")


def test_lines_count_the_edges_of_each_class_under_each_prior(tree):
    options = {"model": model(), "prior_inclusion": [0.3, 0.5, 0.7], "slab_scale": [0.5, 1.0]}
    pc = pmrf.plots.plot_prior_sensitivity(tree, "theta", **options)
    factor = pmrf.prior_sensitivity(tree, "theta", **options).bayes_factor
    for scale in (0.5, 1.0):
        lines = pc.get_viz("lines", "theta", {"slab_scale": scale})
        between = (factor <= 10) & (factor >= 0.1)
        counts = [is_in.sum("edge") for is_in in (factor > 10, between, factor < 0.1)]
        for line, count in zip(lines.values.ravel(), counts, strict=True):
            np.testing.assert_allclose(line.get_ydata(), count.sel(slab_scale=scale))
            assert line.get_xdata().tolist() == [0.3, 0.5, 0.7]
    with pytest.raises(ValueError, match="bounds"):
        pmrf.plots.plot_prior_sensitivity(tree, "theta", bounds=(2, 3), **options)


def test_lines_end_where_too_few_draws_remain(tree):
    options = {"model": model(), "prior_inclusion": [1e-6, 0.5], "slab_scale": [4.0]}
    with pytest.warns(UserWarning, match="fewer than 100 effective draws"):
        pc = pmrf.plots.plot_prior_sensitivity(tree.sel(draw=slice(60)), "theta", **options)
    assert [text.get_text() for text in pc.get_target("theta", {"slab_scale": 4.0}).texts] == [
        "too few draws"
    ]
    with pytest.warns(UserWarning, match="fewer than 100 effective draws"):
        few = tree.sel(draw=slice(79))  # of 160 draws, half have the least number of edges
        pc = pmrf.plots.plot_prior_sensitivity(few, "theta", **options | {"slab_scale": [1.0]})
    line = pc.get_viz("lines", "theta", {"slab_scale": 1.0}).values.ravel()[0]
    assert np.isnan(line.get_ydata()).tolist() == [True, False]
