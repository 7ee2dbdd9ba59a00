"""A mixed field of a model: states of its answers and scaled deviations of its measurements, at a point."""

from collections.abc import Mapping

import numpy as np
import pymc as pm

from pymc_mrf.steps.common.measured_field import MeasuredCells


class MixedCells(MeasuredCells):
    """Rows of a mixed field.

    Parameters
    ----------
    node : Apply
        Of the field.
    model : pymc.Model

    Raises
    ------
    ValueError
        As `MeasuredCells`, or if the data have a state that there is not, which `pymc.set_data` lets pass.
    """

    def __init__(self, node, model: pm.Model) -> None:
        columns = node.op.columns
        super().__init__(node, model, columns.measurements)
        for i in columns.answers:
            x = self.table[~self.free[:, i], i]
            wrong = x[~np.isin(x, np.arange(columns.n_states[i]))]
            if len(wrong):
                raise ValueError(
                    f"the data of {self.name} have the value {wrong[0]:g} at {columns.names[i]!r}, whose "
                    f"states are 0 to {columns.n_states[i] - 1}: pass such data to pm.set_data"
                )

    def scaled(self, x: np.ndarray, point: Mapping[str, np.ndarray]) -> np.ndarray:
        """States and scaled deviations (n, d) of values (n, d)."""
        out, measured = x.copy(), self.columns
        out[:, measured] = (x[:, measured] - self.means(point)) / np.array(self.op.scale)
        return out

    def present(self, point: Mapping[str, np.ndarray]) -> np.ndarray:
        """States and scaled deviations (n, d) at `point`."""
        return self.scaled(self.values(point), point)

    def first(self) -> np.ndarray:
        """Return those where the model starts; missing cells are as most others of their nodes."""
        x = self.table.copy()
        answers = set(self.op.columns.answers.tolist())
        for i, (column, free) in enumerate(zip(x.T, self.free.T, strict=True)):
            seen = column[~free]
            if i in answers:
                column[free] = np.bincount(seen.astype(np.int64)).argmax() if len(seen) else 0
            else:
                column[free] = seen.mean() if len(seen) else 0.0
        return self.scaled(x, self._start)
