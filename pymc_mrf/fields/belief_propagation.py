"""Belief propagation of fixed fields, with its convergence report."""

from typing import NamedTuple

import numpy as np

from pymc_mrf.checks import warn_user
from pymc_mrf.fields.exact import ImpossibleFieldError
from pymc_mrf.fields.pairwise_tables import PairwiseTables
from pymc_mrf.graph.factor_graph import FactorGraph, factor_links, factor_schedule, node_schedule
from pymc_mrf.kernels.estimates import belief_propagation as kernel
from pymc_mrf.kernels.estimates.local_search import decode, iterated_conditional_modes

PASSES_PER_DECODING = 10
PATIENCE = 10

IMPOSSIBLE = (
    "no configuration of the field is possible: belief propagation found that its -inf entries exclude all "
    "states of a node"
)


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
        raise ImpossibleFieldError(IMPOSSIBLE)
    converged = bool(residual <= tolerance)
    if not converged:
        warn_user(
            f"belief propagation did not converge: after {n_iterations} iterations a message still "
            f"asks for a change of {residual:.2g} (tolerance {tolerance:.2g}), so that its marginals "
            f"mean little. Raise damping (now {damping:g}) or max_iterations, or use "
            'method="tree", "gibbs" or "exact"'
        )
    return Convergence(converged, int(n_iterations), float(residual), exact)


def _uniform_messages(tables: PairwiseTables) -> np.ndarray:
    n_states = tables.nodes.shape[1]
    return np.full((2, tables.graph.n_edges, n_states), -np.log(n_states))


def pairwise_max_product(
    tables: PairwiseTables, damping: float, tolerance: float, max_iterations: int
) -> tuple[np.ndarray, bool]:
    """Best configuration (d,) int8 that max-product messages point to, and whether it is surely a mode.

    It is on forests. On other graphs the messages may go round in circles and pass better configurations
    than the last: after every `PASSES_PER_DECODING` iterations a configuration is read off and improved
    node by node (Besag, 1986), until `PATIENCE` of them in a row are no better than the best so far.
    """
    order, exact = node_schedule(tables.graph)
    roots_first, messages = order[::-1].copy(), _uniform_messages(tables)
    best, most, n_idle = np.empty(0, dtype=np.int8), -np.inf, 0
    z = np.empty(tables.graph.n_nodes, dtype=np.int8)
    residual, n_left = np.inf, max_iterations
    while residual > tolerance and n_left > 0 and n_idle < PATIENCE:
        n = min(n_left, PASSES_PER_DECODING)
        n_left -= n
        _, residual = kernel.pairwise_passes(
            messages, *tables.arrays, order, True, 0.0 if exact else damping, tolerance, n
        )
        if np.isnan(residual):
            raise ImpossibleFieldError(IMPOSSIBLE)
        decode(z, messages, *tables.arrays, roots_first)
        if not exact:
            iterated_conditional_modes(z, *tables.arrays)
        value = float(tables.log_potential(z))
        n_idle += 1
        if value > most or not len(best):
            best, most, n_idle = z.copy(), value, 0
    return best, exact


def pairwise_belief_propagation(
    tables: PairwiseTables, damping: float, tolerance: float, max_iterations: int
) -> tuple[np.ndarray, np.ndarray, Convergence]:
    """Node marginals (d, K), edge marginals (r, K, K) and the report; warns if not converged."""
    order, exact = node_schedule(tables.graph)
    damping = 0.0 if exact else damping
    messages = _uniform_messages(tables)
    n_iterations, residual = kernel.pairwise_passes(
        messages, *tables.arrays, order, False, damping, tolerance, max_iterations
    )
    nodes, edges = np.empty(tables.nodes.shape), np.empty(tables.edges.shape)
    if not kernel.pairwise_beliefs(messages, *tables.arrays, nodes, edges):
        residual = np.nan
    return nodes, edges, _report(n_iterations, residual, tolerance, damping, exact)


def factor_belief_propagation(
    graph: FactorGraph, tables: np.ndarray, damping: float, tolerance: float, max_iterations: int
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
