"""Draws of the edges of a graph with communities."""

import networkx as nx
import numpy as np

import pymc_mrf as pmrf
from tests.analysis.posteriors import as_posterior

GRAPH = pmrf.PairwiseGraph("abcdefg", [*nx.complete_graph(list("abcdefg")).edges])
COMMUNITIES = dict(zip("abcdefg", [0, 0, 0, 1, 1, 2, 2], strict=True))


def drawn(rng, n_draws=12, present=0.4):
    shape = (2, n_draws, GRAPH.n_edges)
    return np.where(rng.random(shape) < present, rng.normal(0.1, 1.0, shape), 0.0)


def posterior(w, **others):
    return as_posterior(w, GRAPH.edge_labels, **others)
