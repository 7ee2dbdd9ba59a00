"""Which pairs of edges the edge sampler moves jointly, and how often."""

from typing import NamedTuple

import numpy as np

from pymc_mrf.graph.structure import PairwiseGraph

LARGEST = 1e6  # odds of a squared correlation
LOWEST = -60.0  # log scale of probabilities
# squared correlations of n independent rows have mean 1 / n
NOISE = 4.0  # squared correlations up to this, over n, count as none
CORRELATED = 9.0  # from this on, over n, an edge comes early


class Wedges(NamedTuple):
    """Pairs of candidate edges that share a node and whose other ends are a candidate edge, too.

    Attributes
    ----------
    indptr : (d + 1,) int64 array
    neighbors, edge_ids : (2 r,) int64 arrays
        Candidate edges, as in `GraphArrays`.
    visits : (r,) array
        Probability with which the wedges over a candidate edge are visited in a step.
    edge_to : (d,) int64 array
        Room for work, -1 everywhere.
    """

    indptr: np.ndarray
    neighbors: np.ndarray
    edge_ids: np.ndarray
    visits: np.ndarray
    edge_to: np.ndarray


def make_wedges(x: np.ndarray, graph: PairwiseGraph, most: float) -> Wedges:
    """`Wedges` of a candidate graph, visited the more often the closer the data link their far ends.

    The less two nodes differ, the less can the data tell which of them a third one is linked to.
    Probabilities of visits depend on nothing that is sampled, so that no correction is needed.

    Parameters
    ----------
    x : (n, d) array
        Observed state indices.
    graph : PairwiseGraph
        Candidate edges.
    most : float
        Wedges looked at in a step, relative to the candidate edges, at most.
    """
    share = squared_correlations(x, graph)
    share = np.maximum(share - NOISE / len(x), 0.0)
    odds = (share / np.maximum(1.0 - share, 1.0 / LARGEST)) ** 2
    u, v = graph.edges.T
    arrays = graph.arrays
    degree = np.diff(arrays.indptr)
    visits = within_budget(odds, np.minimum(degree[u], degree[v]) - 1, most * len(u))
    return Wedges(arrays.indptr, arrays.neighbors, arrays.edge_ids, visits, np.full(graph.n_nodes, -1))


def squared_correlations(x: np.ndarray, graph: PairwiseGraph) -> np.ndarray:
    """Squared correlations (r,) of the ends of every candidate edge; 0 with a constant column."""
    u, v = graph.edges.T
    y = x - x.mean(axis=0)
    product = np.einsum("ce,ce->e", y[:, u], y[:, v])
    variance = (y**2).sum(axis=0)
    scale = variance[u] * variance[v]
    return np.divide(product**2, scale, out=np.zeros(len(u)), where=scale > 0.0)


def order_of_visits(x: np.ndarray, graph: PairwiseGraph) -> np.ndarray:
    """Candidate edges (r,), first those whose ends correlate; in both parts, by their first ends.

    Most changes happen in the first part, so that in the second little has to be computed anew.
    """
    u, v = graph.edges.T
    return np.lexsort((v, u, squared_correlations(x, graph) < CORRELATED / len(x)))


def within_budget(weights: np.ndarray, costs: np.ndarray, budget: float) -> np.ndarray:
    """Weights as probabilities, at most 1; scaled down if their expected cost is above the budget."""
    from scipy.optimize import brentq

    def excess(log_scale):
        return costs @ np.minimum(weights * np.exp(log_scale), 1.0) - budget

    scale = 1.0 if excess(0.0) <= 0.0 else np.exp(brentq(excess, LOWEST, 0.0))
    return np.minimum(weights * scale, 1.0)
