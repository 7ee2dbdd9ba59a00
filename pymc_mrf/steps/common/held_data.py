"""Whether the data that a step read when it was made are still those of the model."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.traversal import ancestors
from pytensor.tensor.type import TensorType


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
