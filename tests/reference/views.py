"""Other views of the field of an exact engine of the edge sampler."""

import numpy as np

from pymc_mrf.graph.junction_tree import field_tree
from pymc_mrf.kernels.views.exact_edges import ListedView
from pymc_mrf.likelihood.exact.exact_edges import tree_view


def use_junction_tree(engine, graph):
    """Let an engine that enumerates use the junction tree of `graph`, in the same order of edges."""
    assert isinstance(engine.view, ListedView)
    view, row = engine.view, np.zeros(graph.n_nodes, dtype=np.int64)
    engine.view = tree_view(view.field, view.data, view.n_biases, field_tree(graph, 2), [row])
