"""What steps share that draw cells of a field given its other cells and its parameters, and nothing else."""

from typing import ClassVar

import numpy as np

from pymc_mrf.distributions.field_rv import FieldRV
from pymc_mrf.distributions.parents import field_node
from pymc_mrf.steps.common.base import MRFStep
from pymc_mrf.steps.common.expressions import children
from pymc_mrf.steps.common.held_data import HeldData
from pymc_mrf.steps.common.model_field import field_of
from pymc_mrf.steps.common.point_inputs import PointFunction


class MissingCellsStep(MRFStep):
    """Base of the steps for missing cells on which no other variable depends.

    A subclass says of which fields, supplies `_update`, and warms up.

    Attributes
    ----------
    fields : type
        Op of these fields.
    n_read : int or None
        How many of their parameters the step reads; the means of measurements come last.
    takes_whole : bool
        Whether the step is made for fields without data as well.
    samples, field, remedy : str
        For messages: what the step samples, of which field, and what helps where another variable depends on
        the cells {0}.
    """

    default_blocked = False
    fields: ClassVar[type[FieldRV]]
    n_read: ClassVar[int | None] = None
    takes_whole: ClassVar[bool] = True
    samples: ClassVar[str]
    field: ClassVar[str]
    remedy: ClassVar[str]

    def __init__(self, vars, **kwargs) -> None:
        super().__init__(vars, **kwargs)
        (rv, _), model, step = self._only_variable(), self._model, type(self).__name__
        if not self.claims(rv):
            raise TypeError(
                f"{step} samples {self.samples}, but {rv.name} is something else: leave the choice of the "
                "step to pm.sample()"
            )
        node = field_node(rv)
        self._op, self._is_whole = node.op, node is rv.owner
        others = [child.name for child in children(rv, model) if field_node(child) is not node]
        if others:
            raise ValueError(
                f"{step} draws {rv.name} given {self.field} alone, but {', '.join(others)} depends on it, "
                f"too: {self.remedy.format(rv.name)}"
            )
        parameters = list(node.op.dist_params(node))
        self._held = [HeldData(rv.name, step, parameters)]
        self._field = field_of(node, model)
        self._read = PointFunction(parameters[: self.n_read], model, self._compile_kwargs)
        self._rows = np.flatnonzero(self._field.free.any(axis=1))

    @classmethod
    def claims(cls, var, has_grad=False):
        """Whether it holds missing cells of these fields, or is one."""
        node = field_node(var)
        is_of_kind = node is not None and isinstance(node.op, cls.fields)
        return is_of_kind and (cls.takes_whole or node is not var.owner)

    def _with_cells(self, point, values: np.ndarray) -> dict:
        """Return the point with other values of the cells, row by row."""
        name = self._field.name
        return {**point, name: values.reshape(np.shape(point[name]))}
