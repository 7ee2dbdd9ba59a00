import networkx as nx
import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_hex

from pymc_mrf.analysis.edge_tables import edge_strength
from pymc_mrf.fields.column_kinds import ColumnKinds
from pymc_mrf.graph import builders
from pymc_mrf.graph.lagged import LaggedGraph
from pymc_mrf.graph.structure import as_graph
from pymc_mrf.plots._node_shapes import balanced
from pymc_mrf.plots.edges import NEGATIVE, POSITIVE, UNSIGNED, plot_edges
from pymc_mrf.plots.inclusion import plot_inclusion
from tests.analysis.posteriors import as_posterior

GRAPH = as_graph(nx.Graph([("a", "b"), ("c", "b"), ("c", "a"), ("d", "a")]))
# inclusion 1, 3/4, 1/4, 0 and means 2, -3/4, 1/4, 0
DRAWS = [[[1.0, -1.0, 0, 0], [2.0, -1.0, 0, 0], [3.0, -1.0, 0, 0], [2.0, 0.0, 1.0, 0]]]
INCLUSION, MEANS = np.array([1.0, 0.75, 0.25, 0.0]), np.array([2.0, -0.75, 0.25, 0.0])


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
    pc.savefig(tmp_path / "net.png")  # it can be drawn


def test_improbable_edges_are_left_out(tree):
    pc = plot_edges(tree, "theta", graph=GRAPH, min_inclusion=0.5)
    assert len(pc.get_viz("edges", "theta").get_segments()) == 2
    pc = plot_edges(tree, "theta", graph=GRAPH, min_inclusion=0.0)
    assert len(pc.get_viz("edges", "theta").get_segments()) == 3  # never included: nothing to draw


def test_legends(tree):
    category = dict.fromkeys("ab", "x") | dict.fromkeys("cd", "y")
    pc = plot_edges(tree, "theta", graph=GRAPH, node_category=category)
    of_edges, of_nodes = pc.viz["figure"].item().legends
    labels = [text.get_text() for text in of_edges.get_texts()]
    assert labels == [
        *("positive", "negative", "|mean theta| = 2", "|mean theta| = 0.5"),
        *("inclusion 1", "inclusion 0.5"),
    ]
    assert [text.get_text() for text in of_nodes.get_texts()] == ["x", "y"]
    off = {"edge_legend": False, "legend": False, "nodes": False}
    pc = plot_edges(tree, "theta", graph=GRAPH, node_category=category, visuals=off)
    assert not pc.viz["figure"].item().legends
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
    assert len(figure.legends) == 2
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
    assert said(pc) == "no edges with inclusion of at least 0.25"
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


def places_of(pc):
    return np.array([text.get_position() for text in pc.viz["nodes"]["theta"].values])


def test_nodes_without_edges_are_below_the_others():
    graph = as_graph(nx.complete_graph(20))
    draws = np.ones((1, 4, graph.n_edges))
    draws[..., (graph.edges >= 15).any(axis=1)] = 0.0
    pc = plot_edges(as_posterior(draws), "theta", graph=graph)
    (x, y), joined = places_of(pc).T, np.arange(20) < 15
    assert y[~joined].max() < y[joined].min()
    assert y[joined].min() - y[~joined].min() < 0.3 * np.ptp(y[joined])
    # all along the width, not in a corner
    assert np.ptp(x[~joined]) > 0.6 * np.ptp(x[joined])
    np.testing.assert_allclose(x[~joined].mean(), 0.5 * (x.min() + x.max()), atol=0.1 * np.ptp(x))
    again = plot_edges(as_posterior(draws), "theta", graph=graph)
    np.testing.assert_array_equal(places_of(again), np.column_stack([x, y]))


def test_parts_share_the_picture_by_their_sizes():
    """Two parts of eight nodes are as large, and beside each other; a pair is smaller."""
    graph = as_graph(nx.disjoint_union_all(nx.cycle_graph(n) for n in (8, 8, 3)))
    places = places_of(plot_edges(as_posterior(np.ones((1, 4, graph.n_edges))), "theta", graph=graph))
    parts = [places[:8], places[8:16], places[16:]]
    areas = np.array([np.ptp(part, axis=0).prod() for part in parts])
    assert areas[1] == pytest.approx(areas[0], rel=0.3)
    assert areas[2] < 0.6 * areas[1]
    assert parts[0][:, 0].max() < parts[1][:, 0].min()
    assert parts[2][:, 1].max() < min(part[:, 1].min() for part in parts[:2])


def overlaps(pc):
    """Pairs of boxes of labels that overlap by more than a pixel, once the figure is drawn."""
    figure = pc.viz["figure"].item()
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    texts = pc.viz["nodes"]["theta"].values
    boxes = [text.get_bbox_patch().get_window_extent(renderer).padded(-0.5) for text in texts]
    inside = [figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 for box in boxes]
    assert all(inside)
    return sum(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def long_names(n_nodes):
    return [f"I have trouble falling asleep, item {k}" for k in range(n_nodes)]


def test_long_labels_are_broken_into_lines():
    graph = as_graph(nx.complete_graph([*long_names(9), "costs under $5", "心配事が多い", "x"]))
    with pytest.warns(UserWarning, match="Glyph .* missing"):
        pc = plot_edges(as_posterior(np.ones((1, 2, graph.n_edges))), "theta", graph=graph)
    texts = [text.get_text() for text in pc.viz["nodes"]["theta"].values]
    assert texts[0].split("\n") == ["I have trouble", "falling", "asleep, item 0"]
    assert texts[-3:] == [r"costs under \$5", "心配事が多い", "x"]
    with pytest.warns(UserWarning, match="Glyph .* missing"):
        assert overlaps(pc) == 0
    assert len(pc.viz["figure"].item().legends) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Superfund right to sue", "Superfund\nright to sue"),
        ("two  spaces, kept", "two  spaces, kept"),
        ("a" * 19 + " b", "a" * 19 + "\nb"),
        ("x" * 45, "\n".join(["x" * 20, "x" * 20, "x" * 5])),
        ("", ""),
    ],
)
def test_lines_are_about_equally_long(name, text):
    assert balanced(name) == text


def test_many_long_labels_are_numbers_with_a_legend():
    names = long_names(20)
    graph = as_graph(nx.complete_graph(names))
    tree = as_posterior(np.ones((1, 2, graph.n_edges)))
    pc = plot_edges(tree, "theta", graph=graph)
    texts = [text.get_text() for text in pc.viz["nodes"]["theta"].values]
    assert texts == [str(k) for k in range(1, 21)]
    assert overlaps(pc) == 0
    legend = pc.viz["figure"].item().legends[-1]
    assert [text.get_text() for text in legend.get_texts()] == [
        f"{k}  {name}" for k, name in enumerate(names, start=1)
    ]
    extent = legend.get_window_extent()
    assert extent.x0 > pc.get_target("theta", {}).get_window_extent().x1
    assert extent.height < pc.viz["figure"].item().bbox.height
    pc = plot_edges(tree, "theta", graph=graph, visuals={"names": False})
    assert len(pc.viz["figure"].item().legends) == 1
    # one name that three lines do not hold suffices
    graph = as_graph(nx.path_graph(["a", "b", " ".join(names)]))
    pc = plot_edges(as_posterior(np.ones((1, 2, 2))), "theta", graph=graph)
    assert [text.get_text() for text in pc.viz["nodes"]["theta"].values] == ["1", "2", "3"]


def said(pc):
    return pc.viz["figure"].item().legends[0].get_title().get_text()


def test_weak_edges_are_left_out_and_the_picture_says_so():
    """Of 190 edges with the means 1, 2, ... 190 the first 40 are not drawn."""
    graph = as_graph(nx.complete_graph(20))
    means = np.arange(1.0, 191.0)
    tree = as_posterior(np.tile(means, (1, 2, 1)))
    pc = plot_edges(tree, "theta", graph=graph)
    assert len(pc.get_viz("edges", "theta").get_segments()) == 150
    assert said(pc) == (
        "edges with inclusion of at least 0.25 and |mean theta| of at least 41; 40 weaker ones are not drawn"
    )
    pc = plot_edges(tree, "theta", graph=graph, max_edges=1000, min_inclusion=0.0)
    assert len(pc.get_viz("edges", "theta").get_segments()) == 190
    assert said(pc) == ""
    assert said(plot_edges(tree, "theta", graph=graph, max_edges=190)) == (
        "edges with inclusion of at least 0.25"
    )
    # of two networks the one with more edges tells which are too weak in both
    tree.posterior["other"] = tree.posterior["theta"].where(tree.posterior["theta"] < 180, 0.0)
    pc = plot_edges(tree, ["theta", "other"], graph=graph, max_edges=100)
    assert [len(pc.get_viz("edges", name).get_segments()) for name in ("theta", "other")] == [100, 89]
    assert "|mean| of at least 91; 180 weaker ones" in said(pc)
    with pytest.raises(ValueError, match="max_edges must be a positive integer, not 0"):
        plot_edges(tree, "theta", graph=graph, max_edges=0)


def test_communities_of_the_posterior_are_categories(tree):
    labels = np.tile([3, 0, 0, 3], (1, 4, 1))
    tree.posterior["z"] = xr.DataArray(labels, dims=("chain", "draw", "node"))
    pc = plot_edges(tree, "theta", graph=GRAPH, node_category="z")
    (_, legend) = pc.viz["figure"].item().legends
    assert [text.get_text() for text in legend.get_texts()] == ["community 1", "community 2"]
    edges = [to_hex(text.get_bbox_patch().get_edgecolor()) for text in pc.viz["nodes"]["theta"].values]
    assert edges[0] == edges[3] != edges[1] == edges[2]
    with pytest.raises(ValueError, match="no variable 'y'"):
        plot_edges(tree, "theta", graph=GRAPH, node_category="y")
    tree.posterior["short"] = xr.DataArray(labels[..., :3], dims=("chain", "draw", "group"))
    with pytest.raises(
        ValueError, match="node_category='short' has 3 entries but the graph has 4 nodes"
    ):
        plot_edges(tree, "theta", graph=GRAPH, node_category="short")


def test_edges_of_answers_without_an_order_have_no_sign(tree, tmp_path):
    """Of strengths, and of nodes of that kind; the legend says what is in the picture."""
    what = "ordinal", "ordinal", "continuous", "nominal"
    kinds = ColumnKinds(tuple(GRAPH.nodes), what, (2, 2, 0, 3))
    sizes = kinds.block_sizes(GRAPH)
    entries = np.repeat(np.array(DRAWS), sizes, axis=-1)
    data = xr.Dataset({"theta": (("chain", "draw", "entry"), entries)})
    idata = xr.DataTree.from_dict({"posterior": data})
    idata.posterior["strength"] = edge_strength(idata, "theta", graph=GRAPH, n_states=kinds)
    has_sign = ["d" not in (GRAPH.nodes[u], GRAPH.nodes[v]) for u, v in GRAPH.edges]
    np.testing.assert_array_equal(idata.posterior["strength"].attrs["has_sign"], has_sign)
    idata.to_netcdf(tmp_path / "idata.nc")
    with xr.open_datatree(tmp_path / "idata.nc") as stored:
        pc = plot_edges(stored, "strength", graph=GRAPH)
    colors = [to_hex(c) for c in pc.get_viz("edges", "strength").get_colors()]
    assert sorted(colors) == sorted([POSITIVE, NEGATIVE, UNSIGNED])
    labels = [text.get_text() for text in pc.viz["figure"].item().legends[0].get_texts()]
    assert labels[:3] == ["positive", "negative", "no sign (nominal)"]
    by_kind = {"a": "nominal", "b": "ordinal", "c": "ordinal", "d": "ordinal"}
    pc = plot_edges(tree, "theta", graph=GRAPH, node_kind=by_kind)
    assert {to_hex(c) for c in pc.get_viz("edges", "theta").get_colors()} == {UNSIGNED}
    labels = [text.get_text() for text in pc.viz["figure"].item().legends[0].get_texts()]
    assert "no sign (nominal)" in labels
    assert not {"positive", "negative"} & set(labels)


@pytest.mark.parametrize("is_learnt", [False, True])
def test_any_number_of_categories_have_colours_of_their_own(is_learnt):
    graph = builders.chain(24)
    tree = as_posterior(np.ones((1, 4, 23)), edges=graph.edge_labels)
    category = {i: f"c{i // 2}" for i in graph.nodes}
    if is_learnt:
        labels = np.tile(np.arange(24) // 2, (1, 4, 1))
        tree.posterior["community"] = xr.DataArray(labels, dims=("chain", "draw", "node"))
        category = "community"
    pc = plot_edges(tree, "theta", graph=graph, node_category=category)
    patches = pc.viz["figure"].item().legends[-1].get_patches()
    assert len({to_hex(patch.get_edgecolor()) for patch in patches}) == len(patches) == 12
    assert len({to_hex(patch.get_facecolor()) for patch in patches}) == 12


def test_marginals_of_a_latent_field_have_no_edges(tree):
    data = xr.Dataset(
        {"probability": (("chain", "state", "node"), np.ones((1, 2, 4)) / 2)}, attrs={"field": "x"}
    )
    tree["latent"] = data
    with pytest.raises(
        ValueError, match=r"the latent group is of .*LatentMarginals.*neither edges nor draws"
    ):
        plot_edges(tree, "x", graph=GRAPH, group="latent")
    with pytest.raises(
        TypeError, match=r'not Dataset: make it a group, as in idata\["latent"\] = dataset'
    ):
        plot_edges(data, "x", graph=GRAPH)


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
    pc.savefig(tmp_path / "matrix.png")  # it can be drawn


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
    with pytest.raises(ValueError, match="node_category has no category for node 'c'"):
        plot_edges(tree, "theta", graph=GRAPH, node_category={"a": "x", "b": "x"})
