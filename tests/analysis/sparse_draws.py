"""Draws of sparse weights."""

import networkx as nx
import numpy as np

from pymc_mrf.graph.structure import as_graph
from tests.analysis.posteriors import as_posterior

GRAPH = as_graph(nx.Graph([("a", "b"), ("a", "c"), ("a", "d"), ("b", "c")]))


def sparse_draws(rng, p=(0.2, 0.5, 0.9, 0.7), *, n_chains=4, n_draws=250, mean=1.0):
    """Independent draws, each entry 0 or normal around `mean`."""
    shape = (n_chains, n_draws, len(p))
    return np.where(rng.random(shape) < p, rng.normal(mean, 0.5, shape), 0.0)


def tree_of(w, **kwargs):
    return as_posterior(np.asarray(w, float), edges=GRAPH.edge_labels, **kwargs)
