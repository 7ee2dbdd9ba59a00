"""A Gaussian field of a model: its measurements, and their deviations from the means, at a point."""

from collections.abc import Iterable, Mapping

import numpy as np
import pymc as pm

from pymc_mrf.steps.common.model_field import FieldCells
from pymc_mrf.steps.common.point_inputs import PointFunction


class MeasuredCells(FieldCells):
    """Rows of a field with measurements, which engines take as deviations from the means.

    Parameters
    ----------
    node : Apply
        Of the field, the means of which are its last parameter.
    model : pymc.Model
    columns : (c,) int64 array
        Which variables are measurements.

    Raises
    ------
    ValueError
        As `FieldCells`, or if measurements are not finite, which `pymc.set_data` lets pass.
    """

    def __init__(self, node, model: pm.Model, columns: np.ndarray) -> None:
        super().__init__(node, model)
        self.columns = columns
        refuse_infinite(self, columns)
        self._read = PointFunction(node.op.dist_params(node)[-1], model)
        self._start = model.initial_point()

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
        """Means (1 or n, c) of the measurements at `point`."""
        mean, c = np.asarray(self._read(point), dtype=np.float64), len(self.columns)
        if mean.size == c:
            return mean.reshape(1, c)
        return np.broadcast_to(mean, (*self.batch, c)).reshape(-1, c)


class MeasuredField(MeasuredCells):
    """Rows of a Gaussian field.

    Parameters
    ----------
    node : Apply
        Of the field.
    model : pymc.Model

    Raises
    ------
    ValueError
        As `MeasuredCells`.
    """

    def __init__(self, node, model: pm.Model) -> None:
        super().__init__(node, model, np.arange(node.op.n_variables))

    def present(self, point: Mapping[str, np.ndarray]) -> np.ndarray:
        """Deviations (n, d) at `point`."""
        return self.values(point) - self.means(point)

    def first(self) -> np.ndarray:
        """Deviations (n, d) where the model starts; missing cells are means of the others of their nodes."""
        x = self.table.copy()
        for column, free in zip(x.T, self.free.T, strict=True):
            column[free] = column[~free].mean() if not free.all() else 0.0
        return x - self.means(self._start)


def refuse_infinite(field: FieldCells, columns: Iterable[int]) -> None:
    """Refuse data whose measurements, in these columns, are not finite."""
    for i in columns:
        x = field.table[~field.free[:, i], i]
        wrong = x[~np.isfinite(x)]
        if len(wrong):
            raise ValueError(
                f"the data of {field.name} have the value {wrong[0]:g} at {field.op.graph.nodes[i]!r}, which "
                "is a measurement: pass finite numbers to pm.set_data, and missing cells as `observed`"
            )
