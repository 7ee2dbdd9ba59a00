"""Names of nodes in pictures are written as they are."""

import arviz as az
import matplotlib
import numpy as np
import pytest
from matplotlib.cbook import is_math_text
from matplotlib.text import Text

import pymc_mrf as pmrf

NODES = ["under $5", "$5 to $10", "x_1^2", r"$\alpha$"]
GRAPH = pmrf.graphs.complete(NODES)
CATEGORIES = dict(zip(NODES, ["$", "$$", "$a$", "b"], strict=True))


@pytest.fixture
def tree(rng):
    groups = {
        "posterior": {
            "theta": rng.choice([0.0, 0.4, 0.8], (2, 50, 6)),
            "x": rng.integers(0, 2, (2, 50, 4)),
        },
        "posterior_predictive": {"x": rng.integers(0, 2, (2, 50, 40, 4))},
        "observed_data": {"x": np.zeros((40, 4), dtype=int)},
    }
    return az.from_dict(groups, dims={"theta": ["edge"]}, coords={"edge": list(GRAPH.edge_labels)})


PLOTS = {
    "edges": lambda tree: pmrf.plot_edges(tree, "theta", graph=GRAPH, node_category=CATEGORIES),
    "groups": lambda tree: pmrf.plot_groups(tree, "theta", graph=GRAPH, node_category=CATEGORIES),
    "inclusion": lambda tree: pmrf.plot_inclusion(tree, "theta", graph=GRAPH),
    "co-clustering": lambda tree: pmrf.plot_co_clustering(tree, "theta"),
    "latent": lambda tree: pmrf.plot_latent_field(tree, "x", graph=GRAPH),
    "checks": lambda tree: pmrf.plot_ppc_edges(tree, "x", graph=GRAPH, backend="matplotlib"),
}


@pytest.mark.parametrize("name", PLOTS)
def test_dollar_signs_are_no_formulas(tree, name):
    PLOTS[name](tree)
    texts = [text.get_text() for text in matplotlib.pyplot.gcf().findobj(Text)]
    assert not [text for text in texts if is_math_text(text) and "mathdefault" not in text]
    shown = {text.replace(r"\$", "$").strip() for text in texts}
    expected = set(GRAPH.edge_labels) if name in ("co-clustering", "checks") else set(NODES)
    assert expected <= shown
    if name in ("edges", "groups"):
        assert set(CATEGORIES.values()) <= shown
    matplotlib.pyplot.gcf().canvas.draw()
