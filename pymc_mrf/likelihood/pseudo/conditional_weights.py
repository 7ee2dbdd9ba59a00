"""Weights of the full conditionals whose product is a pseudo-likelihood.

The evidence about an edge stands in the conditionals of both of its ends. Near independence the two scores
are the same number, so that the product (Besag, 1975) counts it twice: Bayes factors are squares, and
posterior standard deviations too small by the square root of two. To the power of one half each conditional
holds half of the evidence, and their product all of it, once: a composite likelihood with weights, as of
Pauli, Racugno & Ventura (2011). The evidence about a factor of m variables stands in m conditionals, so
that one over m takes the place of one half. Conditionals that hold nothing that another one holds keep 1:
they are likelihoods. Arrows into nodes with links get what they lack from second conditionals
(`pymc_mrf.likelihood.pseudo.expected_neighbours`).
"""

import numpy as np

from pymc_mrf.graph.factor_graph import FactorGraph
from pymc_mrf.graph.lagged import LaggedGraph
from pymc_mrf.graph.structure import PairwiseGraph

COUNTED_ONCE = 0.5
"""Weight of both ends at which an edge is counted once; at weight 1 it is twice, as is usual."""


def node_weights(
    n_nodes: int, edges: np.ndarray, is_arrow: np.ndarray | bool, weight: float
) -> np.ndarray:
    """Weight of the conditional of each node (d,): `weight` at the ends of edges that are no arrows, else 1.

    Parameters
    ----------
    n_nodes : int
        d.
    edges : (r, 2) int64 array
        Candidate edges.
    is_arrow : (r,) bool array, or bool
        Whether an edge is an arrow from an earlier row, which one conditional holds.
    weight : float
    """
    weights = np.ones(n_nodes)
    weights[edges[~np.broadcast_to(is_arrow, len(edges))]] = weight
    return weights


def graph_weights(graph: PairwiseGraph | LaggedGraph, weight: float) -> np.ndarray:
    """`node_weights` (d,) of a graph."""
    is_arrow = graph.lag_of > 0 if isinstance(graph, LaggedGraph) else False
    return node_weights(graph.n_nodes, graph.edges, is_arrow, weight)


def rest_weights(graph: LaggedGraph, weight: float) -> np.ndarray:
    """Return what the conditional of each node (d,) lacks to count the arrows into it once; 0 of others."""
    rest, targets = np.zeros(graph.n_nodes), graph.edges[graph.lag_of > 0, 1]
    rest[targets] = 1.0 - graph_weights(graph, weight)[targets]
    return rest


def variable_weights(graph: FactorGraph, weight: float) -> np.ndarray:
    """Weight of the conditional of each variable (d,) of a factor graph.

    For factors of m variables, m^(log2 weight): 1 / m for a `weight` of one half. Of a variable with
    factors of several sizes it is the mean of theirs; those of one variable do not count, unless there are
    no others.
    """
    total, count = np.zeros((2, graph.n_variables))
    for scope in graph.scopes:
        if len(scope) > 1:
            total[list(scope)] += len(scope) ** np.log2(weight)
            count[list(scope)] += 1.0
    return np.where(count > 0.0, total / np.maximum(count, 1.0), 1.0)
