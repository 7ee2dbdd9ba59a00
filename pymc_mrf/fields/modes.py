"""Modes of pairwise fields by name of the method: what is found, and what is known of how good it is."""

from dataclasses import dataclass

import numpy as np

from pymc_mrf.fields.attraction import FrustrationError
from pymc_mrf.fields.belief_propagation import pairwise_max_product
from pymc_mrf.fields.exact import ExactInference, log_potential
from pymc_mrf.fields.graph_cuts import (
    MoveError,
    alpha_expansion,
    binary_mode,
    check_expandable,
)
from pymc_mrf.graph.junction_tree import MAX_CELLS
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.estimates.local_modes import iterated_conditional_modes


@dataclass(frozen=True, eq=False)
class Mode:
    """A most probable configuration, or one that is nearly so.

    Attributes
    ----------
    states : (d,) int8 array
        State indices.
    log_potential : float
        Sum of the log potentials of `states`: minus their energy.
    bound : float
        No configuration has a larger log potential.
    promise : {"exact", "factor", "local"}
        "exact": no configuration is more probable; where `bound` exceeds `log_potential`, the difference
        is all that rounding may have cost.
        "factor": no change of any set of nodes to one state makes it more probable, and its energy is at
        most `factor` times the least. Energies are those of which `bound` was made: counted from the best
        state of every node, and from neighbours in equal states.
        "local": no change of one node makes it more probable.
    factor : float
        1 for "exact", inf for "local".
    method : str
        The method that found it; never "auto".
    """

    states: np.ndarray
    log_potential: float
    bound: float
    promise: str
    factor: float
    method: str


def cut_mode(graph: PairwiseGraph, edge_tables: np.ndarray, node_tables: np.ndarray) -> Mode:
    """Mode by graph cuts.

    Raises
    ------
    ValueError
        `FrustrationError` or `MoveError`, if graph cuts do not apply.
    """
    tables = edge_tables, node_tables
    infinite = ~np.isfinite(edge_tables).all(axis=(1, 2))
    if infinite.any():
        raise MoveError(
            f"the table of the edge {graph.edge_labels[int(np.argmax(infinite))]} has -inf entries, which no "
            "capacity stands for; a large negative number such as -50 can take their place"
        )
    if node_tables.shape[1] > 2:
        check_expandable(graph, edge_tables)
        x, factor, bound = alpha_expansion(graph, *tables)
        value = float(log_potential(x, graph.edges, *tables))
        promise = "factor" if np.isfinite(factor) else "local"
        return Mode(x.astype(np.int8), value, max(bound, value), promise, factor, "cut")
    cut = binary_mode(graph, *tables)
    x = cut.x.astype(np.int8)
    value = float(log_potential(x, graph.edges, *tables))
    return Mode(x, value, value + cut.gap, "exact", 1.0, "cut")


def local_mode(
    graph: PairwiseGraph, edge_tables: np.ndarray, node_tables: np.ndarray, method: str, options: dict
) -> Mode:
    """Mode by max-product belief propagation, or by the method of Besag (1986) alone."""
    tables = edge_tables, node_tables
    if method == "bp":
        z, exact = pairwise_max_product(graph, *tables, **options)
    else:
        z, exact = node_tables.argmax(axis=1).astype(np.int8), graph.n_edges == 0
        iterated_conditional_modes(z, *tables, graph.arrays)
    value = float(log_potential(z, graph.edges, *tables))
    if value == -np.inf:
        raise ValueError(
            f'method="{method}" has found no configuration that is possible under the -inf entries of the '
            "field; use large finite penalties such as -50 instead of -inf"
        )
    if exact:
        return Mode(z, value, value, "exact", 1.0, method)
    bound = float(edge_tables.max(axis=(1, 2)).sum() + node_tables.max(axis=1).sum())
    return Mode(z, value, bound, "local", np.inf, method)


def pairwise_mode(
    field: ExactInference,
    graph: PairwiseGraph,
    edge_tables: np.ndarray,
    node_tables: np.ndarray,
    method: str,
    options: dict,
) -> Mode:
    """Mode of a pairwise field by a method; "auto" takes the first of exact, cut and bp that applies."""
    tables = edge_tables, node_tables
    if method == "exact" or (method == "auto" and field.junction_tree.n_cells <= MAX_CELLS):
        z = field.exact_mode('use method="cut", "bp" or "icm" instead, or a sparser graph')
        value = float(log_potential(z, graph.edges, *tables))
        return Mode(z, value, value, "exact", 1.0, "exact")
    if method in ("cut", "auto"):
        try:
            return cut_mode(graph, *tables)
        except (FrustrationError, MoveError) as error:
            if method == "cut":
                raise ValueError(
                    f'{error}. Use method="bp" or "icm" in place of "cut", or "exact" if the junction tree '
                    "is small enough"
                ) from None
    return local_mode(graph, *tables, "bp" if method == "auto" else method, options)
