"""Upper bound on the log-partition function from spanning trees.

Wainwright, Jaakkola & Willsky (2005), A new class of upper bounds on the log partition function,
IEEE Transactions on Information Theory 51. A is convex, so that a field written as an average of
fields on spanning trees has at most the average of their log-partition functions; the best such
bound is found by message passing, for fixed probabilities of the trees.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pymc_mrf.checks import (
    check_array_shape,
    check_labels,
    number,
    numeric_array,
    warn_user,
    whole_number,
)
from pymc_mrf.fields.pairwise import PairwiseField
from pymc_mrf.graph.spanning_trees import component_of_nodes, tree_edge_probabilities
from pymc_mrf.graph.structure import as_graph
from pymc_mrf.kernels.estimates.belief_propagation import tree_reweighted_passes

DAMPING = 0.3
PASSES_PER_CHECK = 20


@dataclass(frozen=True, eq=False)
class TreeReweightedBound:
    """Result of `tree_reweighted_bound`.

    Attributes
    ----------
    log_partition : float
        Upper bound on the log-partition function, if `converged`.
    nodes : (d, K) array
        Pseudo-marginals of the nodes.
    edges : (r, K, K) array
        Pseudo-marginals of the edges; they agree with `nodes` at convergence, yet need not be the
        marginals of any distribution.
    edge_probabilities : (r,) array
        Probability that a spanning tree contains each edge.
    converged : bool
    n_iterations : int
    """

    log_partition: float
    nodes: np.ndarray
    edges: np.ndarray
    edge_probabilities: np.ndarray
    converged: bool
    n_iterations: int


def edge_appearance_probabilities(graph: Any) -> np.ndarray:
    """Probability of each edge in a uniformly drawn spanning tree (forest), (r,), in (0, 1].

    By Kirchhoff's theorem it is the effective resistance of the edge; a bridge has probability one.

    Parameters
    ----------
    graph : networkx.Graph or PairwiseGraph

    Raises
    ------
    ValueError
        If the graph is too large and dense: large lattices in the plane are not, those in space are.
    """
    return tree_edge_probabilities(as_graph(graph))


def tree_reweighted_bound(
    field: PairwiseField,
    *,
    edge_probabilities: np.ndarray | None = None,
    tolerance: float = 1e-8,
    max_iterations: int = 100_000,
) -> TreeReweightedBound:
    """Upper bound on the log-partition function of a pairwise field, of any width.

    Parameters
    ----------
    field : PairwiseField
        With finite tables.
    edge_probabilities : (r,) array_like, optional
        Probabilities in (0, 1] with which the edges appear in some distribution over spanning
        trees; by default those of `edge_appearance_probabilities`. Values that belong to no
        distribution over trees give no bound; this is not checked beyond their sum.
    tolerance : float
        Largest difference, at convergence, between a node's pseudo-marginal and that of the same
        node in an edge's.
    max_iterations : int
        Passes over all edges, at least 1.

    Returns
    -------
    TreeReweightedBound

    Raises
    ------
    ValueError
        If a table has -inf entries, the probabilities are not possible ones, or none are given and the
        graph is too large for `edge_appearance_probabilities`.

    Warns
    -----
    UserWarning
        If the messages have not converged, in which case the value may not be a bound.
    """
    if not isinstance(field, PairwiseField):
        raise TypeError(
            f"field must be a pymc_mrf.PairwiseField, not {type(field).__name__}; factors of more than two "
            "variables have no such bound here"
        )
    edge_tables, node_tables = field.edge_tables, field.node_tables
    if not (np.isfinite(edge_tables).all() and np.isfinite(node_tables).all()):
        raise ValueError(
            "field has -inf entries (impossible states), for which the messages are not defined; "
            "use a large negative number such as -50 instead"
        )
    max_iterations = whole_number(max_iterations, "max_iterations", 1)
    tolerance = number(tolerance, "tolerance", 0.0, closed=True)
    graph = field.graph
    if edge_probabilities is None:
        ρ = edge_appearance_probabilities(graph)
    else:
        ρ = _checked_probabilities(edge_probabilities, field)
    messages = np.zeros((2, graph.n_edges, field.n_states))
    beliefs = np.empty(node_tables.shape)
    u, v = graph.edges.T
    n_iterations, gap = 0, np.inf
    while gap > tolerance and n_iterations < max_iterations:
        tree_reweighted_passes(
            edge_tables, node_tables, graph.edges, ρ, DAMPING, PASSES_PER_CHECK, messages, beliefs
        )
        n_iterations += PASSES_PER_CHECK
        nodes = _softmax(beliefs, axis=1)
        edges = _softmax(
            edge_tables / ρ[:, None, None]
            + (beliefs[u] - messages[1])[:, :, None]
            + (beliefs[v] - messages[0])[:, None, :],
            axis=(1, 2),
        )
        gaps = np.abs(edges.sum(axis=2) - nodes[u]), np.abs(edges.sum(axis=1) - nodes[v])
        gap = np.max(gaps, initial=0.0)
    converged = gap <= tolerance
    if not converged:
        warn_user(
            f"tree_reweighted_bound: pseudo-marginals of nodes and edges still differ by {gap:.2g} "
            f"after {n_iterations} iterations, so that the value may not be a bound; raise "
            "max_iterations or tolerance"
        )
    information = _entropy(edges.sum(axis=2), 1) + _entropy(edges.sum(axis=1), 1)
    information -= _entropy(edges, (1, 2))
    value = (
        (nodes * node_tables).sum()
        + (edges * edge_tables).sum()
        + _entropy(nodes, 1).sum()
        - (ρ * information).sum()
    )
    return TreeReweightedBound(float(value), nodes, edges, ρ, bool(converged), n_iterations)


def _checked_probabilities(probabilities: Any, field: PairwiseField) -> np.ndarray:
    graph = field.graph
    check_labels(probabilities, graph.edge_labels, "edge_probabilities", "edge")
    ρ = numeric_array(probabilities, "edge_probabilities", "iuf").astype(np.float64)
    check_array_shape(ρ, (graph.n_edges,), "edge_probabilities", "one for each edge")
    if not np.all((ρ > 0) & (ρ <= 1)):
        e = int(np.argmin((ρ > 0) & (ρ <= 1)))
        raise ValueError(f"edge_probabilities[{e}] is {ρ[e]}; every edge needs a value in (0, 1]")
    size = graph.n_nodes - 1 - int(component_of_nodes(graph).max())
    if abs(ρ.sum() - size) > 1e-6 * max(size, 1):
        raise ValueError(
            f"edge_probabilities sum to {ρ.sum():.6g}, but every spanning tree has {size} edges, so "
            "that probabilities of edges sum to that number"
        )
    return ρ


def _softmax(scores: np.ndarray, axis: int | tuple[int, ...]) -> np.ndarray:
    p = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return p / p.sum(axis=axis, keepdims=True)


def _entropy(p: np.ndarray, axis: int | tuple[int, ...]) -> np.ndarray:
    return -(p * np.log(p, out=np.zeros_like(p), where=p > 0)).sum(axis=axis)
