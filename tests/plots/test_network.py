import matplotlib
import networkx as nx
import numpy as np
import pytest

from pymc_mrf.graph.structure import as_graph
from pymc_mrf.plots._layout import packed_layout, separate
from pymc_mrf.plots.groups import plot_groups
from tests.analysis.posteriors import as_posterior

GRAPH = as_graph(nx.Graph([("a", "b"), ("b", "c"), ("c", "a"), ("d", "e")]))
PARTY = {"a": "R", "b": "R", "c": "D", "d": "D", "e": "I"}


@pytest.fixture
def tree(rng):
    return as_posterior(rng.random((2, 20, 4)), edges=GRAPH.edge_labels)


def test_edges_show_means_strongest_on_top_and_widest(tree, tmp_path):
    pc = plot_groups(tree, graph=GRAPH, node_category=PARTY)
    lines = pc.get_viz("edges", "theta")
    means = tree.posterior["theta"].mean(("chain", "draw")).values
    order = np.argsort(np.abs(means - 0.5))
    np.testing.assert_allclose(lines.get_array(), means[order])
    assert np.all(np.diff(lines.get_linewidths()) >= 0)
    assert (lines.norm.vmin + lines.norm.vmax) / 2 == pytest.approx(0.5)
    texts = pc.viz["nodes"]["theta"].values
    assert [text.get_text() for text in texts] == list("abcde")
    ends = np.array([text.get_position() for text in texts])[GRAPH.edges[order]]
    np.testing.assert_allclose(lines.get_segments(), ends)
    (legend,) = pc.viz["figure"].item().legends
    assert [text.get_text() for text in legend.get_texts()] == ["R", "D", "I"]
    pc.savefig(tmp_path / "net.png")  # it can be drawn


def test_effects_are_measured_from_the_center(tree):
    pc = plot_groups(tree, graph=GRAPH, center=0.0, visuals={"colorbar": False})
    norm = pc.get_viz("edges", "theta").norm
    assert norm.vmin == -norm.vmax


def test_given_positions_and_colors(tree):
    pos = {label: (i, i**2) for i, label in enumerate("abcde")}
    colors = {"R": "red", "D": "blue", "I": "green"}
    pc = plot_groups(tree, graph=GRAPH, pos=pos, node_category=PARTY, category_colors=colors)
    texts = pc.viz["nodes"]["theta"].values
    x = [text.get_position()[0] for text in texts]
    assert x == sorted(x)
    assert matplotlib.colors.to_hex(texts[2].get_bbox_patch().get_edgecolor()) == "#0000ff"


def test_single_edge_and_many_nodes():
    pair = nx.path_graph(2)
    assert plot_groups(as_posterior([[[0.5]]]), graph=pair).viz["nodes"]["theta"].size == 2
    big = nx.empty_graph(200)
    big.add_edge(0, 1)
    pos = {i: (i % 20, i // 20) for i in big}
    pc = plot_groups(as_posterior([[[0.7]]]), graph=big, pos=pos)
    assert len(pc.get_viz("nodes", "theta").get_offsets()) == 200


def test_separated_boxes_do_not_overlap(rng):
    xy = np.concatenate([rng.random((30, 2)) * 4, np.full((3, 2), 2.0)])
    boxes = np.tile([1.0, 0.2], (33, 1))
    moved = separate(xy, boxes)
    gap = np.abs(moved[:, None] - moved[None])
    apart = np.any(gap >= np.array([1.0, 0.2]), axis=-1)
    assert np.all(apart | np.eye(33, dtype=bool))
    far = np.array([[0.0, 0.0], [5.0, 5.0]])
    np.testing.assert_array_equal(separate(far, boxes[:2]), far)


def test_bad_input_is_named(tree):
    with pytest.raises(ValueError, match="theta has 4 entries but the graph has 9 edges"):
        plot_groups(tree, graph=nx.path_graph(10))
    with pytest.raises(ValueError, match=r"edge 1 is 'a--c', that of the graph is 'a--d'"):
        labels = ["a--b", "a--c", "b--c", "d--e"]
        other = nx.Graph([("a", "b"), ("a", "d"), ("b", "c"), ("d", "e")])
        plot_groups(as_posterior(np.full((1, 1, 4), 0.5), edges=labels), graph=other)
    with pytest.raises(ValueError, match="node_category has no category for node 'c'"):
        plot_groups(tree, graph=GRAPH, node_category={"a": "R", "b": "R"})
    with pytest.raises(ValueError, match="category_colors has no colour for 'D'"):
        plot_groups(tree, graph=GRAPH, node_category=PARTY, category_colors={"R": "red"})
    with pytest.raises(ValueError, match="category_colors needs node_category"):
        plot_groups(tree, graph=GRAPH, category_colors={"R": "red"})
    with pytest.raises(ValueError, match="pos has no position for node 'b'"):
        plot_groups(tree, graph=GRAPH, pos={"a": (0, 0)})
    with pytest.raises(ValueError, match="matplotlib only"):
        plot_groups(tree, graph=GRAPH, backend="plotly")
    with pytest.raises(TypeError, match=r"networkx\.Graph"):
        plot_groups(tree, graph=[(0, 1)])


@pytest.mark.parametrize("lengths", [[1.0, 1.0, 1.0], [3.0, 1.0, 0.5]])
def test_no_edge_lies_behind_a_node_of_a_row(lengths):
    xy = packed_layout(4, np.array([(0, 1), (1, 2), (2, 3)]), np.array(lengths))
    for i, j, k in ((0, 1, 2), (1, 2, 3), (0, 1, 3), (0, 2, 3)):
        along, away = xy[k] - xy[i], xy[j] - xy[i]
        distance = abs(along[0] * away[1] - along[1] * away[0]) / np.hypot(*along)
        assert distance > 0.05 * np.ptp(xy[:, 0])
