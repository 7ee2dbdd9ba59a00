"""Modes of pairwise fields by name of the method: what is found, and what is known of how good it is."""

from dataclasses import dataclass

import numpy as np

from pymc_mrf.fields.attraction import FrustrationError
from pymc_mrf.fields.belief_propagation import pairwise_max_product
from pymc_mrf.fields.exact import ExactInference
from pymc_mrf.fields.graph_cuts import (
    MoveError,
    alpha_expansion,
    binary_mode,
    check_expandable,
)
from pymc_mrf.fields.pairwise_tables import PairwiseTables
from pymc_mrf.graph.junction_tree import MAX_CELLS
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

    @classmethod
    def exact(cls, states: np.ndarray, tables: PairwiseTables, method: str, gap: float = 0.0) -> "Mode":
        """Mode that is exact, but for the `gap` that rounding may have cost."""
        value = float(tables.log_potential(states))
        return cls(states, value, value + gap, "exact", 1.0, method)


def cut_mode(tables: PairwiseTables) -> Mode:
    """Mode by graph cuts.

    Raises
    ------
    ValueError
        `FrustrationError` or `MoveError`, if graph cuts do not apply.
    """
    infinite = ~np.isfinite(tables.edges).all(axis=(1, 2))
    if infinite.any():
        label = tables.graph.edge_labels[int(np.argmax(infinite))]
        raise MoveError(
            f"the table of the edge {label} has -inf entries, which no "
            "capacity stands for; a large negative number such as -50 can take their place"
        )
    if tables.nodes.shape[1] == 2:
        cut = binary_mode(tables)
        return Mode.exact(cut.x.astype(np.int8), tables, "cut", cut.gap)
    check_expandable(tables.graph, tables.edges)
    x, factor, bound = alpha_expansion(tables)
    value = float(tables.log_potential(x))
    promise = "factor" if np.isfinite(factor) else "local"
    return Mode(x.astype(np.int8), value, max(bound, value), promise, factor, "cut")


def local_mode(tables: PairwiseTables, method: str, options: dict) -> Mode:
    """Mode by max-product belief propagation, or by the method of Besag (1986) alone."""
    if method == "bp":
        z, exact = pairwise_max_product(tables, **options)
    else:
        z, exact = tables.nodes.argmax(axis=1).astype(np.int8), tables.graph.n_edges == 0
        iterated_conditional_modes(z, *tables.arrays)
    value = float(tables.log_potential(z))
    if value == -np.inf:
        raise ValueError(
            f'method="{method}" has found no configuration that is possible under the -inf entries of the '
            "field; use large finite penalties such as -50 instead of -inf"
        )
    if exact:
        return Mode.exact(z, tables, method)
    return Mode(z, value, tables.largest(), "local", np.inf, method)


def pairwise_mode(field: ExactInference, tables: PairwiseTables, method: str, options: dict) -> Mode:
    """Mode of a pairwise field by a method; "auto" takes the first of exact, cut and bp that applies."""
    if method == "exact" or (method == "auto" and field.junction_tree.n_cells <= MAX_CELLS):
        z = field.exact_mode('use method="cut", "bp" or "icm" instead, or a sparser graph')
        return Mode.exact(z, tables, "exact")
    if method in ("cut", "auto"):
        try:
            return cut_mode(tables)
        except (FrustrationError, MoveError) as error:
            if method == "cut":
                raise ValueError(
                    f'{error}. Use method="bp" or "icm" in place of "cut", or "exact" if the junction tree '
                    "is small enough"
                ) from None
    return local_mode(tables, "bp" if method == "auto" else method, options)
