"""A field with measurements, Gaussian or mixed: its values, and what engines take of them, at a point."""

from collections.abc import Callable, Mapping

import numpy as np
import pymc as pm

from pymc_mrf.steps.common.model_field import FieldCells
from pymc_mrf.steps.common.point_inputs import PointFunction


class MeasuredField(FieldCells):
    """Rows of a field with measurements, which engines take as scaled deviations from the means.

    Parameters
    ----------
    node : Apply
        Of the field, the means of which are its last parameter.
    model : pymc.Model

    Attributes
    ----------
    columns : (c,) int64 array
        Which variables are measurements: all of a Gaussian field.
    only_means_change : bool
        Whether what engines take changes, but with means that all rows share alone.

    Raises
    ------
    ValueError
        As `FieldCells`, or if measurements are not finite, which `pymc.set_data` lets pass.
    """

    def __init__(self, node, model: pm.Model) -> None:
        super().__init__(node, model)
        self.columns = self._measured()
        self._read = PointFunction(node.op.dist_params(node)[-1], model)
        self._start = model.initial_point()
        start = np.asarray(self._read(self._start), dtype=np.float64)
        is_shared = start.size == len(self.columns)
        self.only_means_change = is_shared and bool(self._read.names) and not self.is_free
        self._first_means = start.ravel()
        for i in self.columns:
            self._check_column(
                i,
                np.isfinite,
                "which is a measurement: pass finite numbers to pm.set_data, and missing cells as `observed`",
            )

    def _measured(self) -> np.ndarray:
        return np.arange(self.op.n_variables)

    def _check_column(self, i: int, are_right: Callable, what: str) -> None:
        """Refuse values of variable i that are not right; `what` tells what it is, and the remedy."""
        x = self.table[~self.free[:, i], i]
        wrong = x[~are_right(x)]
        if len(wrong):
            raise ValueError(
                f"the data of {self.name} have the value {wrong[0]:g} at {self.op.graph.nodes[i]!r}, "
                f"{what}"
            )

    @property
    def changes(self) -> bool:
        """Whether what engines take does: with missing cells, or with random means."""
        return self.is_free or bool(self._read.names)

    def values(self, point: Mapping[str, np.ndarray]) -> np.ndarray:
        """Values (n, d) of all cells at `point`."""
        if not self.is_free:
            return self.table
        x = self.table.copy()
        x[self.free] = np.asarray(point[self.name]).ravel()
        return x

    def means(self, point: Mapping[str, np.ndarray]) -> np.ndarray:
        """Means (n, c) of the measurements at `point`."""
        mean, c = np.asarray(self._read(point), dtype=np.float64), len(self.columns)
        mean = mean.ravel() if mean.size == c else mean  # shared by all rows
        return np.broadcast_to(mean, (*self.batch, c)).reshape(len(self.table), c)

    def scaled(self, x: np.ndarray, point: Mapping[str, np.ndarray]) -> np.ndarray:
        """Values (n, d) as engines take them: of measurements deviations from the means over the scale."""
        out = x.copy()
        out[:, self.columns] = (x[:, self.columns] - self.means(point)) / np.array(self.op.scale)
        return out

    def shift(self, point: Mapping[str, np.ndarray]) -> np.ndarray:
        """How far the means at `point` are from those of `first`, (c,), as engines take them.

        If all rows share them.
        """
        return (np.asarray(self._read(point)).ravel() - self._first_means) / np.array(self.op.scale)

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
        return float(values.mean())
