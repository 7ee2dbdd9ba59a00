import matplotlib
import networkx as nx
import numpy as np
import pytest
from matplotlib.colors import to_hex

from pymc_mrf.graph import builders
from pymc_mrf.graph.lagged import LaggedGraph
from pymc_mrf.graph.structure import as_graph
from pymc_mrf.plots.edges import NEGATIVE, POSITIVE, plot_edges
from pymc_mrf.plots.inclusion import plot_inclusion
from tests.analysis.posteriors import as_posterior

matplotlib.use("Agg")
GRAPH = as_graph(nx.Graph([("a", "b"), ("c", "b"), ("c", "a"), ("d", "a")]))
# inclusion 1, 3/4, 1/4, 0 and means 2, -3/4, 1/4, 0
DRAWS = [[[1.0, -1.0, 0, 0], [2.0, -1.0, 0, 0], [3.0, -1.0, 0, 0], [2.0, 0.0, 1.0, 0]]]
INCLUSION, MEANS = np.array([1.0, 0.75, 0.25, 0.0]), np.array([2.0, -0.75, 0.25, 0.0])


@pytest.fixture(autouse=True)
def close_figures():
    yield
    matplotlib.pyplot.close("all")


@pytest.fixture
def tree():
    return as_posterior(DRAWS, edges=GRAPH.edge_labels)


def test_width_opacity_and_colour_of_the_edges(tree, tmp_path):
    pc = plot_edges(tree, "theta", graph=GRAPH)
    lines = pc.get_viz("edges", "theta")
    assert [to_hex(c) for c in lines.get_colors()] == [POSITIVE, NEGATIVE, POSITIVE]
    np.testing.assert_allclose(lines.get_colors()[:, 3], INCLUSION[[2, 1, 0]])
    widths = np.array(lines.get_linewidths())
    slope = np.diff(widths) / np.diff(np.abs(MEANS[[2, 1, 0]]))
    np.testing.assert_allclose(slope, slope[0])
    assert slope[0] > 0
    texts = pc.viz["nodes"]["theta"].values
    places = np.array([text.get_position() for text in texts])
    np.testing.assert_allclose(lines.get_segments(), places[GRAPH.edges[[2, 1, 0]]])
    pc.savefig(tmp_path / "net.png")
    assert (tmp_path / "net.png").stat().st_size > 10_000


def test_improbable_edges_are_left_out(tree):
    pc = plot_edges(tree, "theta", graph=GRAPH, min_inclusion=0.5)
    assert len(pc.get_viz("edges", "theta").get_segments()) == 2
    pc = plot_edges(tree, "theta", graph=GRAPH, min_inclusion=0.0)
    assert len(pc.get_viz("edges", "theta").get_segments()) == 3  # never included: nothing to draw


def test_legends(tree):
    category = dict.fromkeys("ab", "x") | dict.fromkeys("cd", "y")
    pc = plot_edges(tree, "theta", graph=GRAPH, node_category=category)
    labels = [text.get_text() for text in pc.viz["figure"].item().legends[0].get_texts()]
    assert labels == [
        *("positive", "negative", "|mean theta| = 2", "|mean theta| = 0.5"),
        *("inclusion 1", "inclusion 0.5"),
    ]
    of_nodes = pc.get_target("theta", {}).get_legend()
    assert [text.get_text() for text in of_nodes.get_texts()] == ["x", "y"]
    off = {"edge_legend": False, "legend": False, "nodes": False}
    pc = plot_edges(tree, "theta", graph=GRAPH, node_category=category, visuals=off)
    assert not pc.viz["figure"].item().legends
    assert pc.get_target("theta", {}).get_legend() is None
    assert "nodes" not in pc.viz.children


def two_groups():
    """Two groups and their difference, whose widths and probable edges differ."""
    tree = as_posterior(DRAWS, edges=GRAPH.edge_labels)
    tree.posterior["other"] = 2.0 * tree.posterior["theta"][..., ::-1].assign_coords(
        edge=tree.posterior.edge
    )
    tree.posterior["difference"] = tree.posterior["theta"] - tree.posterior["other"]
    return tree


def test_several_networks_have_places_and_widths_in_common(tmp_path):
    tree, names = two_groups(), ["theta", "other", "difference"]
    category = dict.fromkeys("ab", "x") | dict.fromkeys("cd", "y")
    pc = plot_edges(tree, names, graph=GRAPH, node_category=category)
    places = [[text.get_position() for text in pc.viz["nodes"][name].values] for name in names]
    assert places[0] == places[1] == places[2]
    widths, magnitudes = [], []
    for name in names:
        values = tree.posterior[name]
        means, inclusion = values.mean(("chain", "draw")).values, (values != 0).mean(("chain", "draw"))
        shown = np.flatnonzero(inclusion.values >= 0.25)
        shown = shown[np.argsort(np.abs(means[shown]), kind="stable")]
        lines = pc.get_viz("edges", name)
        np.testing.assert_allclose(
            lines.get_segments(), np.array(places[0])[GRAPH.edges[shown]], err_msg=name
        )
        np.testing.assert_allclose(lines.get_colors()[:, 3], inclusion[shown])
        colors = [POSITIVE if mean > 0 else NEGATIVE for mean in means[shown]]
        assert [to_hex(c) for c in lines.get_colors()] == colors
        widths += list(lines.get_linewidths())
        magnitudes += list(np.abs(means[shown]))
        assert pc.get_target(name, {}).get_title() == name
    slope, at_zero = np.polyfit(magnitudes, widths, 1)
    np.testing.assert_allclose(widths, at_zero + slope * np.array(magnitudes))
    assert slope > 0
    figure = pc.viz["figure"].item()
    assert "|mean| = 4" in [text.get_text() for text in figure.legends[0].get_texts()]
    assert [axes.get_legend() is not None for axes in figure.axes] == [True, False, False]
    pc.savefig(tmp_path / "nets.png")
    # a picture for each has a scale and places of its own: the control
    alone = plot_edges(tree, "theta", graph=GRAPH)
    assert alone.get_viz("edges", "theta").get_linewidths()[-1] > widths[2]
    assert alone.get_target("theta", {}).get_title() == ""


def test_rows_of_networks_and_titles_of_ones_own():
    pc = plot_edges(
        two_groups(), ["theta", "other"], graph=GRAPH, col_wrap=1, visuals={"title": {"color": "red"}}
    )
    upper, lower = (pc.get_target(name, {}) for name in ("theta", "other"))
    assert upper.get_position().x0 == pytest.approx(lower.get_position().x0)
    assert upper.get_position().y0 > lower.get_position().y0
    assert upper.title.get_color() == "red"
    pc = plot_edges(two_groups(), ("theta", "other"), graph=GRAPH, visuals={"title": False})
    assert pc.get_target("other", {}).get_title() == ""


def test_posterior_without_edges(tmp_path):
    empty = as_posterior(np.zeros((1, 3, 4)))
    pc = plot_edges(empty, "theta", graph=GRAPH)
    assert len(pc.get_viz("edges", "theta").get_segments()) == 0
    pc.savefig(tmp_path / "net.png")
    plot_inclusion(empty, "theta", graph=GRAPH).savefig(tmp_path / "matrix.png")


def test_given_positions_and_weak_edges_hold_parts_together(tree):
    pos = {"a": (0, 0), "b": (1, 0), "c": (2, 0), "d": (3, 0)}
    pc = plot_edges(tree, "theta", graph=GRAPH, pos=pos)
    x, y = np.array([text.get_position() for text in pc.viz["nodes"]["theta"].values]).T
    assert np.all(np.diff(x) > 0)
    assert np.ptp(y) == 0
    # b--c is seldom present, yet the two pairs that it links must not be packed apart
    chain = nx.path_graph(4)
    draws = np.ones((1, 10, 3))
    draws[0, 4:, 1] = 0.0
    pc = plot_edges(as_posterior(draws), "theta", graph=chain)
    places = np.array([text.get_position() for text in pc.viz["nodes"]["theta"].values])
    steps = np.linalg.norm(np.diff(places, axis=0), axis=1)
    # lengths are as the inverse root of mean weights, 0.4 and 1
    assert steps[1] == pytest.approx(steps[0] / np.sqrt(0.4), rel=0.35)


def distances(pc, graph):
    """Mean distance of nodes with the same first letter, over that of others."""
    places = np.array([text.get_position() for text in pc.viz["nodes"]["theta"].values])
    apart = np.linalg.norm(np.diff(places[graph.edges], axis=1)[:, 0], axis=1)
    alike = np.array([graph.nodes[u][0] == graph.nodes[v][0] for u, v in graph.edges])
    return apart[alike].mean() / apart[~alike].mean()


def test_strong_edges_are_short(rng):
    """Five scales of five items: strong edges within, weak ones across, all of them certain."""
    graph = as_graph(nx.complete_graph([f"{scale}{k}" for scale in "ACENO" for k in range(5)]))
    within = np.array([graph.nodes[u][0] == graph.nodes[v][0] for u, v in graph.edges])
    weights = np.where(within, 0.4, np.where(rng.random(graph.n_edges) < 0.35, 0.06, 0.0))
    pc = plot_edges(as_posterior(np.tile(weights, (1, 4, 1))), "theta", graph=graph)
    assert distances(pc, graph) < 0.35
    # control: were all edges as strong, only their number would tell
    pc = plot_edges(as_posterior(np.tile(weights > 0, (1, 4, 1)).astype(float)), "theta", graph=graph)
    assert distances(pc, graph) > 0.45


def test_nodes_without_edges_are_near():
    graph = as_graph(nx.complete_graph(20))
    draws = np.ones((1, 4, graph.n_edges))
    draws[..., (graph.edges >= 12).any(axis=1)] = 0.0
    pc = plot_edges(as_posterior(draws), "theta", graph=graph)
    x = np.array([text.get_position()[0] for text in pc.viz["nodes"]["theta"].values])
    assert np.ptp(x[:12]) > 0.6 * np.ptp(x)
    again = plot_edges(as_posterior(draws), "theta", graph=graph)
    assert [text.get_position()[0] for text in again.viz["nodes"]["theta"].values] == x.tolist()


def test_matrix_shows_inclusion_above_and_means_below(tree, tmp_path):
    pc = plot_inclusion(tree, "theta", graph=GRAPH)
    above = pc.get_viz("inclusion", "theta").get_array()
    below = pc.get_viz("mean", "theta").get_array()
    u, v = np.sort(GRAPH.edges, axis=1).T
    np.testing.assert_allclose(above[u, v], INCLUSION)
    np.testing.assert_allclose(below[v, u], MEANS)
    assert (~np.ma.getmaskarray(above)).sum() == 4
    assert (~np.ma.getmaskarray(below)).sum() == 4 + 4  # and the diagonal
    norm = pc.get_viz("mean", "theta").norm
    assert (norm.vmin, norm.vmax) == (-2.0, 2.0)
    target = pc.get_target("theta", {})
    assert [text.get_text() for text in target.get_yticklabels()] == ["a", "b", "c", "d"]
    pc.savefig(tmp_path / "matrix.png")
    assert (tmp_path / "matrix.png").stat().st_size > 5_000


def test_many_nodes_share_labels_and_visuals_are_switched_off():
    big = nx.path_graph(130)
    tree = as_posterior(np.ones((1, 2, 129)))
    pc = plot_inclusion(tree, "theta", graph=big, visuals={"mean": False, "inclusion_colorbar": False})
    labels = [text.get_text() for text in pc.get_target("theta", {}).get_xticklabels()]
    assert labels[:3] == ["0", "3", "6"]
    assert "mean" not in pc.viz.children
    assert len(pc.viz["figure"].item().axes) == 1


LAGGED = LaggedGraph("abc", [("a", "a"), ("a", "b"), ("b", "a"), ("c", "b")], (1, 2), [("a", "c")])
# the link, then the arrows of lag 1 and of lag 2; the last one never exists
ARROW_MEANS = np.array([1.0, 2.0, -1.0, 0.5, 1.0, -2.0, 1.5, 1.0, 0.0])


@pytest.fixture
def arrows():
    return as_posterior(np.tile(ARROW_MEANS, (1, 4, 1)), edges=LAGGED.edge_labels)


def arrow_outlines(pc):
    """Pixels of every arrow, and the boxes of the nodes, once the figure is drawn."""
    figure = pc.viz["figure"].item()
    figure.canvas.draw()
    renderer, lines = figure.canvas.get_renderer(), pc.get_viz("edges", "theta")
    places = lines.get_transform().transform(np.reshape(lines.get_segments(), (-1, 2))).reshape(-1, 2, 2)
    outlines = [lines.outline(i, place, 1.0, 1.0, renderer) for i, place in enumerate(places)]
    texts = pc.viz["nodes"]["theta"].values
    return outlines, [text.get_bbox_patch().get_window_extent(renderer) for text in texts]


def test_arrows_lead_from_box_to_box_and_part(arrows, tmp_path):
    pc = plot_edges(arrows, "theta", graph=LAGGED)
    lines = pc.get_viz("edges", "theta")
    shown = np.flatnonzero(ARROW_MEANS)[np.argsort(np.abs(ARROW_MEANS[ARROW_MEANS != 0]), kind="stable")]
    assert [to_hex(c) for c in lines.get_colors()] == [
        POSITIVE if mean > 0 else NEGATIVE for mean in ARROW_MEANS[shown]
    ]
    outlines, boxes = arrow_outlines(pc)
    middles = []
    for e, (curve, head) in zip(shown, outlines, strict=True):
        u, v = LAGGED.edges[e]
        assert (head is None) == (LAGGED.lag_of[e] == 0)
        tip = curve[-1] if head is None else head[0]
        for point, box in ((curve[0], boxes[u]), (tip, boxes[v])):
            gap = np.maximum(
                [box.x0 - point[0], box.y0 - point[1]], [point[0] - box.x1, point[1] - box.y1]
            )
            assert 0.0 <= gap.max() < 5.0
        middles.append(curve[len(curve) // 2])
    apart = np.linalg.norm(np.subtract.outer(middles, middles).diagonal(axis1=1, axis2=3), axis=-1)
    assert apart[~np.eye(len(apart), dtype=bool)].min() > 5.0
    labels = [text.get_text() for text in pc.viz["figure"].item().legends[0].get_texts()]
    assert labels[-2:] == ["lag 1", "lag 2"]
    pc.savefig(tmp_path / "net.png")
    plot_edges(arrows, "theta", graph=LAGGED, visuals={"nodes": False}).savefig(tmp_path / "bare.png")


def test_arrows_between_dots():
    big = builders.lagged(160, loops=False)
    draws = np.zeros((1, 2, big.n_edges))
    draws[..., :3] = 1.0
    pos = {i: (i % 16, i // 16) for i in range(160)}
    pc = plot_edges(as_posterior(draws), "theta", graph=big, pos=pos)
    pc.viz["figure"].item().canvas.draw()
    assert len(pc.get_viz("edges", "theta").get_segments()) == 3


def test_matrices_of_arrows_run_from_rows_to_columns(arrows, tmp_path):
    pc = plot_inclusion(arrows, "theta", graph=LAGGED)
    for e, ((u, v), k) in enumerate(zip(LAGGED.edges, LAGGED.lag_of, strict=True)):
        lag = (0, *LAGGED.lags)[k]
        mean = pc.get_viz("mean", "theta", quantity="mean", lag=lag).get_array()
        inclusion = pc.get_viz("inclusion", "theta", quantity="inclusion", lag=lag).get_array()
        assert (mean[u, v], inclusion[u, v]) == (ARROW_MEANS[e], ARROW_MEANS[e] != 0)
        # the other direction is the same of links alone
        assert mean[v, u] is np.ma.masked or u == v or (mean[v, u] == mean[u, v]) == (lag == 0)
    target = pc.get_target("theta", {"quantity": "mean", "lag": 2})
    assert (target.get_ylabel(), target.get_xlabel()) == ("from 2 rows earlier", "to the present row")
    pc.savefig(tmp_path / "matrices.png")
    off = {"mean": False, "inclusion_colorbar": False, "labels": False, "title": False}
    pc = plot_inclusion(arrows, "theta", graph=LAGGED, visuals=off)
    assert "mean" not in pc.viz.children


def test_bad_input_is_named(tree):
    for plot in (plot_edges, plot_inclusion):
        with pytest.raises(ValueError, match="theta has 4 entries but the graph has 2 edges"):
            plot(tree, "theta", graph=nx.path_graph(3))
        with pytest.raises(ValueError, match="no variable 'w'"):
            plot(tree, "w", graph=GRAPH)
        with pytest.raises(ValueError, match=f"{plot.__name__} draws with matplotlib only"):
            plot(tree, "theta", graph=GRAPH, backend="bokeh")
        with pytest.raises(ValueError, match="visuals has the key 'bars'"):
            plot(tree, "theta", graph=GRAPH, visuals={"bars": False})
    with pytest.raises(ValueError, match="min_inclusion must be between 0 and 1, not 10"):
        plot_edges(tree, "theta", graph=GRAPH, min_inclusion=10)
    with pytest.raises(ValueError, match="no variable 'w'"):
        plot_edges(tree, ["theta", "w"], graph=GRAPH)
    with pytest.raises(
        ValueError, match="var_name is empty; give the name of a variable, or of several"
    ):
        plot_edges(tree, [], graph=GRAPH)
    with pytest.raises(TypeError, match="var_name must be a sequence of names, not 3"):
        plot_edges(tree, 3, graph=GRAPH)
    with pytest.raises(ValueError, match="pos has no position for node 'b'"):
        plot_edges(tree, "theta", graph=GRAPH, pos={"a": (0, 0)})
    with pytest.raises(ValueError, match="node_category has no entry for node 'c'"):
        plot_edges(tree, "theta", graph=GRAPH, node_category={"a": "x", "b": "x"})
