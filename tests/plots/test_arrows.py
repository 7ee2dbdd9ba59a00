"""Arrows of networks in time, in pictures."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.patches import ArrowStyle, FancyArrowPatch

import pymc_mrf as pmrf
from tests.analysis.posteriors import as_posterior

GRAPH = pmrf.LaggedGraph(
    "abc", [("a", "a"), ("a", "b"), ("b", "a"), ("c", "b")], lag=[1, 3], links=[("a", "c")]
)


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture
def tree(rng):
    w = np.where(rng.random((2, 30, GRAPH.n_edges)) < 0.8, rng.normal(0.5, 1.0, GRAPH.n_edges), 0.0)
    w[..., 2] = 0.0  # a->b
    return as_posterior(w, GRAPH.edge_labels)


def test_every_probable_arrow_is_drawn(tree):
    pc = pmrf.plot_edges(tree, "theta", graph=GRAPH, pos={"a": (0, 0), "b": (1, 0), "c": (0, 1)})
    axes = pc.get_target("theta", {})
    drawn = [patch for patch in axes.patches if isinstance(patch, FancyArrowPatch)]
    assert len(drawn) == GRAPH.n_edges - 1
    lines = [patch for patch in drawn if isinstance(patch.get_arrowstyle(), ArrowStyle.Curve)]
    assert len(lines) == 1  # the link
    loops = [patch for patch in drawn if patch.get_connectionstyle().rad == -1.6]
    assert len(loops) == 2


def test_rows_are_sources_and_columns_targets(tree):
    pc = pmrf.plot_inclusion(tree, "theta", graph=GRAPH)
    included = (tree.posterior["theta"] != 0).mean(("chain", "draw")).values
    for k, edges in ((1, range(1, 5)), (2, range(5, 9))):
        image = pc.get_target(f"inclusion {k}", {}).images[0].get_array()
        expected = np.full((3, 3), np.nan)
        for e in edges:
            expected[tuple(GRAPH.edges[e])] = included[e]
        np.testing.assert_array_equal(image.filled(np.nan), expected)
    link = pc.get_target("inclusion 0", {}).images[0].get_array()
    assert link[0, 2] == link[2, 0] == included[0]
