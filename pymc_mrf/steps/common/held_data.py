"""The data that a step reads when it is made: their shape, and whether they are still those of the model."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pymc as pm
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.traversal import ancestors
from pytensor.tensor.type import TensorType

from pymc_mrf.distributions.arguments import value_of
from pymc_mrf.distributions.observed_cells import PartlyObservedFieldRV
from pymc_mrf.distributions.parents import field_node


def observed_data(rv, model: pm.Model, n_variables: int) -> np.ndarray:
    """Return the values (..., d) of an observed field.

    Raises
    ------
    ValueError
        If their last dimension is not `n_variables`, which `pymc.set_data` lets pass.
    """
    value = model.rvs_to_values[rv]
    data = np.asarray(value.get_value()) if isinstance(value, SharedVariable) else value_of(value)
    if data.ndim == 0 or data.shape[-1] != n_variables:
        raise ValueError(
            f"the data of {rv.name} have the shape {data.shape}, but their last dimension must be the "
            f"{n_variables} variables of the field: pass such data to pm.set_data"
        )
    return data


def free_cells(rv, node, model: pm.Model) -> tuple[np.ndarray, np.ndarray]:
    """Find which cells (..., d) of a field are free, and the values of the others, one after the other.

    `rv` is the free variable of `model`: the field itself or its missing cells; `node` is the apply node of
    the field.
    """
    if not isinstance(rv.owner.op, PartlyObservedFieldRV):
        shape = model.initial_point()[model.rvs_to_values[rv].name].shape
        return np.ones(shape, dtype=bool), np.zeros(0, dtype=np.int64)
    [known] = (v for v in model.observed_RVs if field_node(v) is node)
    table = value_of(model.rvs_to_values[known])
    return np.isnan(table), table[~np.isnan(table)].astype(np.int64)


class MissingCells:
    """Cells of an observed field that are free.

    Parameters
    ----------
    rv : TensorVariable
        The missing cells, a free variable of `model`.
    node : Apply
        Of the field, a pairwise one.
    model : pymc.Model

    Attributes
    ----------
    name : str
        Entry of a point that has their values.
    free : (n, d) bool array
    """

    def __init__(self, rv, node, model: pm.Model) -> None:
        free, known = free_cells(rv, node, model)
        self.name = model.rvs_to_values[rv].name
        self.free = free.reshape(-1, node.op.graph.n_nodes)
        self._states = np.array(node.op.family.states)
        self._template = np.zeros(self.free.shape, dtype=np.int8)
        self._template[~self.free] = np.searchsorted(self._states, known)

    def filled(self, point: Mapping[str, np.ndarray]) -> np.ndarray:
        """State indices (n, d) int8 of all cells at `point`."""
        x = self._template.copy()
        x[self.free] = np.searchsorted(self._states, point[self.name])
        return x

    def plausible(self, rng: np.random.Generator | None = None) -> np.ndarray:
        """State indices (n, d) int8, in missing cells those of other rows; without `rng` always the same."""
        x = self._template.copy()
        rng = np.random.default_rng(0) if rng is None else rng
        for column, free in zip(x.T, self.free.T, strict=True):
            if free.any() and not free.all():
                column[free] = rng.choice(column[~free], int(free.sum()))
        return x


class HeldData:
    """What ``pm.Data`` held when a step was made.

    Parameters
    ----------
    name, step : str
        Names of the field and of the step, for messages.
    variables : iterable of Variable
        What the step reads of the model: data and parameters of the field.
    """

    def __init__(self, name: str, step: str, variables: Iterable[Any]) -> None:
        self._name, self._step = name, step
        self._shared = [
            v
            for v in ancestors(variables)
            if isinstance(v, SharedVariable) and isinstance(v.type, TensorType)
        ]
        self._values = [v.get_value(borrow=True) for v in self._shared]

    def check_unchanged(self) -> None:
        """Refuse to sample with data other than those that the step has read.

        Raises
        ------
        ValueError
            If ``pm.Data`` were set to other values since.
        """
        for variable, old in zip(self._shared, self._values, strict=True):
            new = variable.get_value(borrow=True)
            # a variable that is set gets a new array; another process has copies of the old
            if new is not old and not np.array_equal(new, old, equal_nan=True):
                raise ValueError(
                    f"{variable.name}, the data of {self._name}, changed after {self._step} was made: make "
                    "the step after pm.set_data"
                )
