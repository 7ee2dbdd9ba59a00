"""What every fixed field can answer exactly, by its junction tree."""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from pymc_mrf.checks import check_array_shape, first_cell, numeric_array
from pymc_mrf.graph.junction_tree import JunctionTree, check_tractable
from pymc_mrf.graph.tree_arrays import TreeArrays
from pymc_mrf.kernels.junction_trees import junction_tree as kernel

SPARSER = "only a sparser graph, or evidence on more variables, needs fewer"
"""Remedy where there is no other method."""


class ImpossibleFieldError(ValueError):
    """No configuration of a field has positive probability."""


def checked_table(table: Any, shape: tuple[int, ...], name: str) -> np.ndarray:
    """Read-only float64 copy of a log table of this shape: finite values, or -inf for impossible.

    Raises a ValueError if it is not numeric, the shape differs or an entry is NaN or +inf.
    """
    array = numeric_array(table, name, "iuf").astype(np.float64)
    check_array_shape(array, shape, name)
    wrong = np.isnan(array) | (array == np.inf)
    if wrong.any():
        cell = first_cell(wrong)
        raise ValueError(
            f"{name}{list(cell)} is {array[cell]}; log tables hold finite numbers, "
            "or -inf where a state is impossible"
        )
    array.setflags(write=False)
    return array


class ExactInference(ABC):
    """Exact answers of a field that knows its junction tree and its log tables.

    A field's junction tree is refused, before tables are allocated, above
    `pymc_mrf.graph.junction_tree.MAX_CELLS` cells.
    """

    @cached_property
    @abstractmethod
    def junction_tree(self) -> JunctionTree:
        """Junction tree; its `width`, `n_cells` and `n_bytes` tell what exact answers cost."""

    @abstractmethod
    def log_tables(self) -> np.ndarray:
        """All log tables one after the other, in the order of ``junction_tree.scopes``, (T,)."""

    @property
    def n_variables(self) -> int:
        return self.junction_tree.n_variables

    def _tree_arrays(self, remedy: str) -> TreeArrays:
        check_tractable(self.junction_tree, remedy=remedy)
        return self.junction_tree.arrays

    def exact_log_partition(self) -> float:
        tree = self._tree_arrays(SPARSER)
        value = kernel.collect(tree, self.log_tables(), kernel.allocate_workspace(tree))
        return self._possible(value)

    def _possible(self, value: float) -> float:
        if value == -np.inf:
            raise ImpossibleFieldError(
                "no configuration of the field is possible: its -inf entries exclude all of them"
            )
        return float(value)

    def exact_marginals(self) -> np.ndarray:
        """Marginals of all factors, laid out as `log_tables`, (T,)."""
        tree = self._tree_arrays('use method="tree", "gibbs" or "bp" instead, or a sparser graph')
        tables = self.log_tables()
        marginals = np.empty_like(tables)
        work = kernel.allocate_workspace(tree)
        self._possible(kernel.log_partition_and_marginals(tree, tables, work, marginals))
        return marginals

    def exact_draws(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """`n` independent exact draws down the junction tree, (n, d) int8 state indices."""
        tree = self._tree_arrays('use method="tree" or "gibbs" instead, or a sparser graph')
        work = kernel.allocate_workspace(tree)
        self._possible(kernel.collect(tree, self.log_tables(), work))
        x = np.zeros((n, self.n_variables), dtype=np.int8)
        kernel.draw_rows(tree, work, x, rng)
        return x

    def exact_mode(self, remedy: str = SPARSER) -> np.ndarray:
        """Find a most probable configuration, (d,) int8 state indices (max-product)."""
        tree = self._tree_arrays(remedy)
        z = np.zeros(self.n_variables, dtype=np.int8)
        self._possible(kernel.mode(tree, self.log_tables(), kernel.allocate_workspace(tree), z))
        return z

    def check_configurations(self, x: Any) -> np.ndarray:
        """Return `x` (..., d) as an int64 array of state indices, or refuse it by cell."""
        x = numeric_array(x, "x", "biufc")
        cards = np.array(self.junction_tree.cardinalities)
        if x.ndim == 0 or x.shape[-1] != len(cards):
            raise ValueError(
                f"x must have one column for each of the {len(cards)} variables in its last axis, "
                f"not shape {x.shape}"
            )
        if x.dtype.kind not in "biu":
            raise TypeError(
                f"x must hold integer state indices, not {x.dtype}; recode x, or if "
                "its entries are whole numbers use x.astype(int)"
            )
        x = x.astype(np.int64)
        wrong = (x < 0) | (x >= cards)
        if wrong.any():
            cell = first_cell(wrong)
            raise ValueError(
                f"x{list(cell)} is {x[cell]}, but the states of variable {cell[-1]} are "
                f"0..{cards[cell[-1]] - 1}"
            )
        return x


def check_overflow(maxima: np.ndarray) -> None:
    """Refuse tables whose log potentials could overflow, given the largest |entry| of each."""
    with np.errstate(over="ignore"):
        bound = np.sum(maxima)
    if not bound < 1e300:
        raise ValueError(
            f"the log tables are as large as {np.max(maxima):.3g}, so that their sum overflows; "
            "log potentials beyond a few hundred already mean certainty"
        )
