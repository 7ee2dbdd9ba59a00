"""Which pairs of edges the edge sampler tries to swap, and how often."""

import numpy as np
from scipy.optimize import brentq

from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.edge_moves import Rivals

LARGEST = 1e6  # odds of a squared correlation
LOWEST = -60.0  # log scale of probabilities
NOISE = 4.0  # squared correlations up to this, over n, count as none: of n independent rows they have mean 1/n
PAIRS = 0.25  # looked at in a step, relative to the candidate edges, at most


def make_rivals(x: np.ndarray, graph: PairwiseGraph) -> Rivals:
    """`Rivals` of a candidate graph, visited the more often the closer the data link their far ends.

    The less two nodes differ, the less can the data tell which of them a third one is linked to.
    Probabilities of visits depend on nothing that is sampled, so that no correction is needed.

    Parameters
    ----------
    x : (n, d) array
        Observed state indices.
    graph : PairwiseGraph
        Candidate edges.
    """
    share = np.maximum(squared_correlations(x, graph) - NOISE / len(x), 0.0)
    odds = (share / np.maximum(1.0 - share, 1.0 / LARGEST)) ** 2
    u, v = graph.edges.T
    arrays = graph.arrays
    degree = np.diff(arrays.indptr)
    visits = within_budget(odds, np.minimum(degree[u], degree[v]) - 1, PAIRS * len(u))
    return Rivals(arrays.indptr, arrays.neighbors, arrays.edge_ids, visits, np.full(graph.n_nodes, -1))


def squared_correlations(x: np.ndarray, graph: PairwiseGraph) -> np.ndarray:
    """Squared correlations (r,) of the ends of every candidate edge; 0 with a constant column."""
    u, v = graph.edges.T
    y = x - x.mean(axis=0)
    product = np.einsum("ce,ce->e", y[:, u], y[:, v])
    variance = (y**2).sum(axis=0)
    scale = variance[u] * variance[v]
    return np.divide(product**2, scale, out=np.zeros(len(u)), where=scale > 0.0)


def within_budget(weights: np.ndarray, costs: np.ndarray, budget: float) -> np.ndarray:
    """Weights as probabilities, at most 1; scaled down if their expected cost is above the budget."""

    def excess(log_scale):
        return costs @ np.minimum(weights * np.exp(log_scale), 1.0) - budget

    scale = 1.0 if excess(0.0) <= 0.0 else np.exp(brentq(excess, LOWEST, 0.0))
    return np.minimum(weights * scale, 1.0)
