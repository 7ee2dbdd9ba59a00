"""Rings that tell the predictability of nodes, and room for nodes without edges."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.path import Path

import pymc_mrf as pmrf
from pymc_mrf.plots._layout import network_layout
from pymc_mrf.plots._node_shapes import Rings, node_shares, part_of_outline
from tests.analysis.posteriors import as_posterior

GRAPH = pmrf.graphs.complete(["age", "mood", "party"])
SHARES = {"age": 0.25, "mood": np.nan, "party": 1.0}


def tree_of(graph):
    w = np.random.default_rng(1).normal(size=(2, 10, graph.n_edges))
    return as_posterior(w, edges=graph.edge_labels)


def length(corners):
    return np.linalg.norm(np.diff(corners, axis=0), axis=1).sum()


def test_part_of_an_outline():
    square = Path([(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)], closed=True)
    corners = part_of_outline(square, 0.25)
    assert length(corners) == pytest.approx(1.0, abs=0.01)
    np.testing.assert_allclose(corners[[0, -1]], [(0.5, 1.0), (1.0, 0.5)], atol=0.01)
    whole = part_of_outline(square, 1.0)
    np.testing.assert_allclose(whole[0], whole[-1])
    assert length(whole) == pytest.approx(4.0, rel=0.01)


def test_rings_and_their_legend(tmp_path):
    pc = pmrf.plot_edges(tree_of(GRAPH), "theta", graph=GRAPH, predictability=SHARES)
    rings = pc.get_viz("rings", "theta")
    np.testing.assert_array_equal(rings.shares, list(SHARES.values()))
    pc.savefig(tmp_path / "with.png")
    figure = pc.viz["figure"].item()
    texts = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert "part of the outline: predictability" in texts
    with_rings = np.asarray(figure.canvas.buffer_rgba()).copy()
    rings.set_visible(False)
    figure.canvas.draw()
    assert (np.asarray(figure.canvas.buffer_rgba()) != with_rings).any()


@pytest.mark.parametrize("dpi", [72, 288])
def test_rings_are_as_wide_as_they_say(dpi):
    figure = Figure(figsize=(2, 1), dpi=dpi)
    text = figure.text(0.5, 0.5, "label", ha="center", va="center", fontsize=30, bbox={"fc": "w"})
    figure.add_artist(Rings([text], np.ones(1), color="red", linewidth=5.0, zorder=9))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())[:, dpi]  # through the middle, from top to bottom
    is_red = (pixels[:, 0] > 200) & (pixels[:, 1:3].max(axis=1) < 55)
    assert is_red.sum() == pytest.approx(2 * 5.0 * dpi / 72, abs=4)


def test_shares_are_means_of_draws_of_both_kinds_of_nodes():
    draws = np.random.default_rng(0).uniform(-1, 1, size=(2, 5, 2))
    found = xr.Dataset(
        {
            "accuracy": (("chain", "draw", "answer"), draws),
            "explained_accuracy": (("chain", "draw", "answer"), draws - 1.0),
            "explained_variance": (("chain", "draw", "measurement"), draws[..., :1] / 3),
        },
        coords={"answer": ["party", "mood"], "measurement": ["age"]},
    )
    expected = [max(draws[..., 0].mean() / 3, 0.0), 0.0, 0.0]
    np.testing.assert_allclose(node_shares(GRAPH.nodes, found), expected)


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ({"age": 0.5, "mood": 0.5, "party": 1.5}, "of 'party' is 1.5, but shares are 1 at most"),
        ([0.1, 0.2], "has 2 entries, but the graph has 3 nodes"),
        ({"age": 0.5}, "predictability"),
    ],
)
def test_shares_are_checked(shares, message):
    with pytest.raises(ValueError, match=message):
        pmrf.plot_edges(tree_of(GRAPH), "theta", graph=GRAPH, predictability=shares)


def test_dots_have_no_rings():
    graph = pmrf.PairwiseGraph(range(160), [(i, i + 1) for i in range(159)])
    with pytest.raises(ValueError, match="up to 150 nodes, which have labels, not 160"):
        pmrf.plot_edges(tree_of(graph), "theta", graph=graph, predictability=np.ones(160))


def test_a_picture_is_as_wide_as_its_legends():
    tree = as_posterior(np.zeros((2, 10, GRAPH.n_edges)), edges=GRAPH.edge_labels)
    options = {"graph": GRAPH, "predictability": SHARES}
    figure = pmrf.plot_edges(tree, "theta", **options).viz["figure"].item()
    figure.draw_without_rendering()
    assert len(figure.legends) == 2
    for legend in figure.legends:
        box = legend.get_window_extent()
        assert -1e-6 < box.x0 and box.x1 < figure.bbox.width + 1e-6
    narrow = pmrf.plot_edges(tree, "theta", figure_kwargs={"figsize": (1.0, 2.0)}, **options)
    assert narrow.viz["figure"].item().get_figwidth() == 1.0


@pytest.mark.parametrize("n_joined", [0, 2, 5])
def test_nodes_without_edges_take_the_room_of_their_labels(n_joined):
    boxes, size = np.tile([0.6, 0.2], (45, 1)), np.array([5.0, 4.0])
    edges = np.array([(i, i + 1) for i in range(n_joined - 1)], dtype=int).reshape(-1, 2)
    xy = network_layout(edges, np.ones(len(edges)), boxes, lambda part: size)
    alone = xy[n_joined:]
    assert np.ptp(alone[:, 1]) < 3.0
    gaps = np.abs(alone[:, None] - alone[None]) - boxes[0]
    assert (gaps.max(axis=2)[~np.eye(len(alone), dtype=bool)] > 0.1).all()
    assert (xy[:n_joined, 1] > alone[:, 1].max() + 0.2).all()
    assert (alone[:, 0] <= max(5.0, np.ptp(xy[:, 0]))).all()
