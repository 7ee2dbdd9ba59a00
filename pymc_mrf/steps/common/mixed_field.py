"""A mixed field of a model: states of its answers and scaled deviations of its measurements, at a point.

Besides, the choice of what reads a field of any kind.
"""

from functools import partial
from typing import Any

import numpy as np
import pymc as pm

from pymc_mrf.distributions.gaussian_rv import GaussianFieldRV
from pymc_mrf.distributions.mixed_rv import MixedFieldRV
from pymc_mrf.steps.common.measured_field import MeasuredField
from pymc_mrf.steps.common.model_field import ModelField


class MixedCells(MeasuredField):
    """Rows of a mixed field, whose measurements are scaled and whose answers are states.

    Parameters
    ----------
    node : Apply
        Of the field.
    model : pymc.Model

    Raises
    ------
    ValueError
        As `MeasuredField`, or if the data have a state that there is not, which `pymc.set_data` lets pass.
    """

    def __init__(self, node, model: pm.Model) -> None:
        super().__init__(node, model)
        columns = self.op.columns
        self._answers = set(columns.answers.tolist())
        for i in columns.answers:
            states = np.arange(columns.n_states[i])
            what = f"whose states are 0 to {states[-1]}: pass such data to pm.set_data"
            self._check_column(i, partial(np.isin, test_elements=states), what)

    def _measured(self):
        return self.op.columns.measurements

    def _typical(self, i, values):
        if i in self._answers:
            return float(np.bincount(values.astype(np.int64)).argmax())
        return super()._typical(i, values)


def field_of(node, model: pm.Model) -> Any:
    """Read the cells of a field of any kind: a `ModelField`, `MeasuredField` or `MixedCells`."""
    if isinstance(node.op, MixedFieldRV):
        return MixedCells(node, model)
    return (MeasuredField if isinstance(node.op, GaussianFieldRV) else ModelField)(node, model)
