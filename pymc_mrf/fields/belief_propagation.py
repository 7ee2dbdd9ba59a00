"""Belief propagation of fixed fields, with its convergence report."""

import warnings
from typing import NamedTuple

import numpy as np

from pymc_mrf.fields.exact import ImpossibleFieldError
from pymc_mrf.graph.factor_graph import FactorGraph
from pymc_mrf.graph.factor_links import factor_links, factor_schedule, node_schedule
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels import belief_propagation as kernel


class Convergence(NamedTuple):
    """How belief propagation ended.

    Messages may converge on a graph with cycles although no configuration of the field is possible:
    on a cycle of odd length whose neighbours must all differ, say. `converged` says nothing about that,
    and then there is nothing that the marginals describe; ``method="exact"`` raises an error.

    Attributes
    ----------
    converged : bool
        Whether the residual is at most the tolerance; not whether the field is possible, nor whether the
        marginals are near the truth.
    n_iterations : int
        Passes over all nodes (or factors), forwards and backwards.
    residual : float
        Largest change, in the last iteration, that a message asked for, as a probability.
    exact : bool
        Whether the graph is a forest, so that converged marginals are exact.
    """

    converged: bool
    n_iterations: int
    residual: float
    exact: bool


def _report(
    n_iterations: int, residual: float, tolerance: float, damping: float, exact: bool
) -> Convergence:
    if np.isnan(residual):
        raise ImpossibleFieldError(
            "no configuration of the field is possible: belief propagation found that its -inf "
            "entries exclude all states of a node"
        )
    converged = bool(residual <= tolerance)
    if not converged:
        warnings.warn(
            f"belief propagation did not converge: after {n_iterations} iterations a message still "
            f"asks for a change of {residual:.2g} (tolerance {tolerance:.2g}), so that its marginals "
            f"mean little. Raise damping (now {damping:g}) or max_iterations, or use "
            'method="tree", "gibbs" or "exact"',
            UserWarning,
            stacklevel=5,
        )
    return Convergence(converged, int(n_iterations), float(residual), exact)


def pairwise_belief_propagation(
    graph: PairwiseGraph,
    edge_tables: np.ndarray,
    node_tables: np.ndarray,
    damping: float,
    tolerance: float,
    max_iterations: int,
) -> tuple[np.ndarray, np.ndarray, Convergence]:
    """Node marginals (d, K), edge marginals (r, K, K) and the report; warns if not converged."""
    order, exact = node_schedule(graph)
    damping = 0.0 if exact else damping
    n_states = node_tables.shape[1]
    messages = np.full((2, graph.n_edges, n_states), -np.log(n_states))
    n_iterations, residual = kernel.pairwise_passes(
        messages, edge_tables, node_tables, graph.arrays, order, damping, tolerance, max_iterations
    )
    nodes, edges = np.empty(node_tables.shape), np.empty(edge_tables.shape)
    if not kernel.pairwise_beliefs(messages, edge_tables, node_tables, graph.arrays, nodes, edges):
        residual = np.nan
    return nodes, edges, _report(n_iterations, residual, tolerance, damping, exact)


def factor_belief_propagation(
    graph: FactorGraph,
    tables: np.ndarray,
    damping: float,
    tolerance: float,
    max_iterations: int,
) -> tuple[np.ndarray, np.ndarray, Convergence]:
    """Variable marginals (d, largest cardinality), factor marginals (T,) and the report."""
    order, exact = factor_schedule(graph)
    damping = 0.0 if exact else damping
    links = factor_links(graph)
    n_most = max(graph.cardinalities)
    messages = np.zeros((len(links.variable), n_most)) - np.log(links.cards[links.variable])[:, None]
    n_iterations, residual = kernel.factor_passes(
        messages, tables, links, order, damping, tolerance, max_iterations
    )
    variables, factors = np.empty((graph.n_variables, n_most)), np.empty(tables.shape)
    if not kernel.factor_beliefs(messages, tables, links, variables, factors):
        residual = np.nan
    return variables, factors, _report(n_iterations, residual, tolerance, damping, exact)
