"""Type of the states of a field, which ``pm.observe`` and ``pm.do`` ask whether it takes their values."""

from typing import Any

import numpy as np
from pytensor.graph.basic import Variable
from pytensor.tensor.type import TensorType


class StatesType(TensorType):
    """Equals its base, but refuses missing values in words that name the remedy."""

    def filter_variable(self, other: Any, allow_convert: bool = True) -> Variable:
        """Make a variable of this type; `other` may be values.

        Raises
        ------
        ValueError
            If some of them are masked or NaN.
        """
        if not isinstance(other, Variable):
            values = np.ma.getdata(other)
            is_missing = np.ma.getmaskarray(other) | (values != values)
            if is_missing.any():
                first = ", ".join(map(str, np.argwhere(is_missing)[0]))
                raise ValueError(
                    f"{is_missing.sum()} of the {is_missing.size} values given for a field are masked or "
                    f"NaN, the first at [{first}]; pm.observe and pm.do take values for all cells: declare "
                    "the field with observed=numpy.ma.masked_array(x, mask) instead"
                )
            other = values if isinstance(other, np.ma.MaskedArray) else other
        return super().filter_variable(other, allow_convert)

    def is_super(self, otype: Any) -> bool:
        """Whether variables of `otype` are ones of the base."""
        return TensorType(self.dtype, self.shape).is_super(otype)

    def __eq__(self, other: object) -> bool:
        """Whether `other` is the base, or this type of the same states."""
        return isinstance(other, TensorType) and (self.dtype, self.shape) == (other.dtype, other.shape)

    def __hash__(self) -> int:
        return hash(TensorType(self.dtype, self.shape))
