"""Shapes of nodes by their kinds."""

import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf
from pymc_mrf.plots._node_shapes import diamond, ellipse, node_kinds, rectangle
from tests.analysis.posteriors import as_posterior

GRAPH = pmrf.graphs.complete(["age", "mood", "party"])
KINDS = {"age": "continuous", "mood": "ordinal", "party": "nominal"}


def tree_of(graph, seed=1):
    w = np.random.default_rng(seed).normal(size=(2, 10, graph.n_edges))
    return as_posterior(w, edges=graph.edge_labels)


@pytest.mark.parametrize("kinds", [KINDS, list(KINDS.values())], ids=["mapping", "sequence"])
def test_shapes_and_their_legend(kinds, tmp_path):
    pc = pmrf.plot_edges(tree_of(GRAPH), "theta", graph=GRAPH, node_kind=kinds)
    pc.savefig(tmp_path / "net.png")
    texts = pc.viz["nodes"]["theta"].values
    styles = [text.get_bbox_patch().get_boxstyle() for text in texts]
    names = [getattr(style, "__name__", type(style).__name__) for style in styles]
    assert names == ["ellipse", "rectangle", "diamond"]
    figure = pc.viz["figure"].item()
    labels = [[t.get_text() for t in legend.get_texts()] for legend in figure.legends]
    assert ["continuous", "ordinal", "nominal"] in labels
    boxes = [text.get_bbox_patch().get_window_extent() for text in texts]
    for i in range(3):
        assert not any(boxes[i].overlaps(boxes[j]) for j in range(i))


def test_kinds_beside_categories():
    category = {"age": "person", "mood": "answer", "party": "answer"}
    pc = pmrf.plot_edges(tree_of(GRAPH), "theta", graph=GRAPH, node_kind=KINDS, node_category=category)
    labels = [[t.get_text() for t in legend.get_texts()] for legend in pc.viz["figure"].item().legends]
    assert ["person", "answer", "continuous", "ordinal", "nominal"] in labels


def test_dots_have_markers():
    graph = pmrf.PairwiseGraph(range(160), [(i, i + 1) for i in range(159)])
    kinds = ["nominal"] * 80 + ["continuous"] * 80
    pc = pmrf.plot_edges(
        tree_of(graph), "theta", graph=graph, node_kind=kinds, pos=[(i, i % 7) for i in range(160)]
    )
    paths = pc.get_viz("nodes", "theta").get_paths()
    assert len(paths) == 160 and len(paths[0].vertices) == 5 < len(paths[-1].vertices)


def test_a_diamond_holds_its_label():
    path = diamond(0.0, 0.0, 4.0, 1.0, 10.0)
    corners = [(-2.9, -2.9), (6.9, -2.9), (6.9, 3.9), (-2.9, 3.9)]  # with padding, just inside
    assert path.contains_points(corners).all()
    assert not path.contains_point((-3.1, -3.1))


@pytest.mark.parametrize("shape", [ellipse, rectangle, diamond])
def test_shapes_around_one_letter_are_no_narrower_than_high(shape):
    extent = shape(0.0, 0.0, 0.4, 1.0, 10.0).get_extents()
    assert extent.width == pytest.approx(extent.height)
    assert (extent.x0 + extent.x1) / 2 == pytest.approx(0.2)


def test_kinds_of_a_field():
    pair = pmrf.graphs.complete(2)
    with pm.Model():
        fields = {
            "continuous": pmrf.GaussianMRF("x", 0.1, 1.0, graph=pair),
            "nominal": pmrf.NominalMRF("y", np.zeros(4), graph=pair, n_states=3),
            "ordinal": pmrf.BoltzmannMachine("z", 0.1, 0.0, graph=pair),
        }
        other = pm.Normal("other")
    for kind, field in fields.items():
        assert node_kinds(pair.nodes, field) == [kind] * 2
    with pytest.raises(TypeError, match="node_kind='other' is no field"):
        node_kinds(pair.nodes, other)


def test_bad_kinds():
    def plot(node_kind):
        pmrf.plot_edges(tree_of(GRAPH), "theta", graph=GRAPH, node_kind=node_kind)

    with pytest.raises(ValueError, match="no kind for node 'party'"):
        plot({"age": "continuous", "mood": "ordinal"})
    with pytest.raises(ValueError, match="node_kind of 'mood' is 'binary', but must be one of"):
        plot(["continuous", "binary", "nominal"])
    with pytest.raises(ValueError, match="node_kind has 2 entries, but the graph has 3 nodes"):
        plot(["continuous", "ordinal"])
    with pytest.raises(TypeError, match="node_kind"):
        plot("nominal")
