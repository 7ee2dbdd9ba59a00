"""A field of a model, observed, latent or in part: its free cells, and what engines take of it at a point."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pymc as pm
from pytensor.compile.sharedvalue import SharedVariable

from pymc_mrf.distributions.arguments import value_of
from pymc_mrf.distributions.factor_graph_rv import FactorGraphRV
from pymc_mrf.distributions.field_rv import DiscreteFieldRV
from pymc_mrf.distributions.parents import variables_of
from pymc_mrf.steps.common.expressions import PointFunction, start_of


class FieldCells:
    """Rows of a field of any kind: which cells are free, and the values of the others.

    A field over d variables has n rows, however many dimensions its values have.

    Parameters
    ----------
    node : Apply
        Of the field.
    model : pymc.Model

    Attributes
    ----------
    op : FieldRV
    is_free : bool
        Whether any cell is.
    name : str
        Entry of a point that holds the values of the free cells; the data if there are none.
    batch : tuple of int
        Shape of the rows.
    free : (n, d) bool array
        Cells that are not observed.
    table : (n, d) array
        Values, NaN in free cells.
    changes, only_means_change : bool
        Whether what engines take does from draw to draw, with missing cells or random means; and with means
        that all rows share alone.

    Raises
    ------
    ValueError
        If data are not of the field's variables, which `pymc.set_data` lets pass.
    """

    only_means_change = False

    def __init__(self, node, model: pm.Model) -> None:
        self.op = op = node.op
        d = op.n_variables
        observed, free = variables_of(node, model)
        self.is_free = self.changes = free is not None
        self.name: str = model.rvs_to_values[free].name if self.is_free else observed.name
        if observed is not None:
            table = _data_of(observed, model)
            if table.ndim == 0 or table.shape[-1] != d:
                raise ValueError(
                    f"the data of {observed.name} have the shape {table.shape}, but their last dimension "
                    f"must be the {d} variables of the field: pass such data to pm.set_data"
                )
        else:
            table = np.full(start_of(model)[self.name].shape, np.nan)
        self.batch = table.shape[:-1]
        self.table = table = table.reshape(-1, d)
        self.free = np.isnan(table) if self.is_free else np.zeros(table.shape, dtype=bool)


class ModelField(FieldCells):
    """Rows of a field whose variables have states.

    Parameters
    ----------
    node : Apply
        Of the field.
    model : pymc.Model

    Attributes
    ----------
    nodes : sequence
        Labels of the variables.
    cards : (d,) array
        Number of states of each.
    values_of_states : (K,) array
        Value of each state, of the variables with the most.
    known : (n, d) int8 array
        State indices of the observed cells, 0 in free ones.

    Raises
    ------
    ValueError
        As `FieldCells`, or if data are no states.
    """

    def __init__(self, node, model: pm.Model) -> None:
        super().__init__(node, model)
        op, table = self.op, self.table
        d = op.n_variables
        is_pairwise = not isinstance(op, FactorGraphRV)
        self.nodes: Sequence[Any] = op.graph.nodes if is_pairwise else range(d)
        cards = op.family.cards or [op.family.n_states] * d if is_pairwise else op.graph.cardinalities
        self.cards = np.array(cards)
        self.values_of_states, self._last = op.decode(np.arange(self.cards.max())), self.cards - 1
        self._free_places = np.flatnonzero(self.free)
        self.known = np.zeros(table.shape, dtype=np.int8)
        if is_pairwise and not self.is_free:
            self.known[:] = op.family.encode(table, n_nodes=d, name=self.name)
        else:
            self.known[~self.free] = self._indices(
                table[~self.free], np.flatnonzero(~self.free), is_start=False
            )

    def label(self, c: int, i: int) -> str:
        """Name the cell of row c and variable i."""
        name = f"node {self.nodes[i]!r} of {self.name}"
        return name if len(self.free) == 1 else f"{name} in row {c}"

    def free_states(self, values: np.ndarray) -> np.ndarray:
        """State indices (N,) int8 of the free cells from their values.

        Raises
        ------
        ValueError
            If one is not a state.
        """
        return self._indices(np.asarray(values).reshape(-1), self._free_places, is_start=True)

    def _indices(self, values: np.ndarray, places: np.ndarray, is_start: bool) -> np.ndarray:
        d = len(self.cards)
        k = np.minimum(np.searchsorted(self.values_of_states, values), self._last[places % d])
        wrong = self.values_of_states[k] != values
        if wrong.any():
            n = int(np.flatnonzero(wrong)[0])
            states = ", ".join(
                f"{state:g}" for state in self.values_of_states[: self.cards[places[n] % d]]
            )
            what = "start value" if is_start else "value"
            remedy = f'pm.sample(initvals={{"{self.name}": ...}})' if is_start else "as `observed`"
            raise ValueError(
                f"the {what} of {self.label(*divmod(int(places[n]), d))} is {values[n]}, but its states "
                f"are {states}: give one of them, {remedy}"
            )
        return k.astype(np.int8)

    def states(self, point: Mapping[str, np.ndarray]) -> np.ndarray:
        """State indices (n, d) int8 of all cells at `point`."""
        if not self.is_free:
            return self.known
        x = self.known.copy()
        x.reshape(-1)[self._free_places] = self.free_states(point[self.name])
        return x

    def present(self, point: Mapping[str, np.ndarray]) -> np.ndarray:
        """State indices int8 at `point`, as engines take them."""
        return self.op.arrange(self.states(point))

    def first(self) -> np.ndarray:
        """State indices int8 as engines take them, `plausible` ones in missing cells."""
        return self.op.arrange(self.plausible())

    def plausible(self, rng: np.random.Generator | None = None) -> np.ndarray:
        """State indices (n, d) int8, in missing cells those of other rows; without `rng` always the same."""
        rng, x = np.random.default_rng(0) if rng is None else rng, self.known.copy()
        for column, free in zip(x.T, self.free.T, strict=True):
            if free.any() and not free.all():
                column[free] = rng.choice(column[~free], int(free.sum()))
        return x

    def tables(self, parameters: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Log tables (1 or n, ...), by row where rows differ, from the values of the parameters."""
        with np.errstate(invalid="ignore"):
            tables = self.op.log_tables(parameters)
        return [self._by_row(*of_kind) for of_kind in zip(tables, self.op.table_ndims, strict=True)]

    def _by_row(self, table: np.ndarray, ndim: int) -> np.ndarray:
        table = np.asarray(table, dtype=np.float64)
        core, batch = table.shape[table.ndim - ndim :], table.shape[: table.ndim - ndim]
        if all(n == 1 for n in batch):
            return table.reshape(1, *core)
        return np.broadcast_to(table, (*self.batch, *core)).reshape(len(self.free), *core)


class MeasuredField(FieldCells):
    """Rows of a field with measurements, which engines take as scaled deviations from the means.

    Answers that it has besides are states. A Gaussian field has none.

    Parameters
    ----------
    node : Apply
        Of the field, the means of which are its last parameter.
    model : pymc.Model

    Attributes
    ----------
    measured : (c,) int64 array
        Which variables are measurements.
    scale : (c,) array
        Of these.

    Raises
    ------
    ValueError
        As `FieldCells`, or if measurements are not finite or answers no states, which `pymc.set_data` lets
        pass.
    """

    def __init__(self, node, model: pm.Model) -> None:
        super().__init__(node, model)
        columns = self.op.columns
        self.measured: np.ndarray = columns.measurements
        self.scale = np.array(self.op.scale)
        self._read = PointFunction(node.op.dist_params(node)[-1], model)
        self._start = start_of(model)
        start = np.asarray(self._read(self._start), dtype=np.float64)
        is_shared = start.size == len(self.measured)
        self.changes = self.is_free or bool(self._read.names)
        self.only_means_change = is_shared and self.changes and not self.is_free
        self._first_means = start.ravel()
        finite = "pass finite numbers to pm.set_data, and missing cells as `observed`"
        for i in self.measured:
            self._check_column(i, np.isfinite, f"which is a measurement: {finite}")
        for i in columns.answers:
            states = np.arange(columns.n_states[i])
            what = f"whose states are 0 to {states[-1]}: pass such data to pm.set_data"
            self._check_column(i, partial(np.isin, test_elements=states), what)

    def _check_column(self, i: int, are_right: Callable, what: str) -> None:
        """Refuse values of variable i that are not right; `what` tells what it is, and the remedy."""
        x = self.table[~self.free[:, i], i]
        wrong = x[~are_right(x)]
        if len(wrong):
            raise ValueError(
                f"the data of {self.name} have the value {wrong[0]:g} at {self.op.graph.nodes[i]!r}, "
                f"{what}"
            )

    def values(self, point: Mapping[str, np.ndarray]) -> np.ndarray:
        """Values (n, d) of all cells at `point`."""
        if not self.is_free:
            return self.table
        x = self.table.copy()
        x[self.free] = np.asarray(point[self.name]).ravel()
        return x

    def means(self, point: Mapping[str, np.ndarray]) -> np.ndarray:
        """Means (n, c) of the measurements at `point`."""
        mean, c = np.asarray(self._read(point), dtype=np.float64), len(self.measured)
        mean = mean.ravel() if mean.size == c else mean  # shared by all rows
        return np.broadcast_to(mean, (*self.batch, c)).reshape(len(self.table), c)

    def scaled(self, x: np.ndarray, point: Mapping[str, np.ndarray]) -> np.ndarray:
        """Values (n, d) as engines take them: of measurements deviations from the means over the scale."""
        out = x.copy()
        out[:, self.measured] = (x[:, self.measured] - self.means(point)) / self.scale
        return out

    def shift(self, point: Mapping[str, np.ndarray]) -> np.ndarray:
        """How far the means at `point` are from those of `first`, (c,), as engines take them.

        If all rows share them.
        """
        return (np.asarray(self._read(point)).ravel() - self._first_means) / self.scale

    def present(self, point: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return what engines take at `point`, (n, d)."""
        return self.scaled(self.values(point), point)

    def first(self) -> np.ndarray:
        """Return what engines take where the model starts, typical values in missing cells, (n, d)."""
        x = self.table.copy()
        for i, (column, free) in enumerate(zip(x.T, self.free.T, strict=True)):
            column[free] = self._typical(i, column[~free]) if not free.all() else 0.0
        return self.scaled(x, self._start)

    def _typical(self, i: int, values: np.ndarray) -> float:
        """Value in the place of missing ones of variable i, of which `values` are known."""
        if self.op.columns.is_measured[i]:
            return float(values.mean())
        return float(np.bincount(values.astype(np.int64)).argmax())


def field_of(node, model: pm.Model) -> Any:
    """Read the cells of a field of any kind: a `ModelField` or `MeasuredField`."""
    return (ModelField if isinstance(node.op, DiscreteFieldRV) else MeasuredField)(node, model)


def _data_of(rv, model: pm.Model) -> np.ndarray:
    """Return the values (..., d) of an observed variable; NaN in missing cells."""
    value = model.rvs_to_values[rv]
    return np.asarray(value.get_value()) if isinstance(value, SharedVariable) else value_of(value)
