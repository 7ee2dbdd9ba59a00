"""Types of the values of a field, which ``pm.observe`` and ``pm.do`` ask whether they take given ones."""

from functools import partial
from typing import Any

import numpy as np
from pytensor.graph.basic import Variable
from pytensor.tensor.type import TensorType


def complete_values(dtype: str, shape: tuple) -> TensorType:
    """Make a type that refuses missing values in words that name the remedy.

    It is PyTensor's own class: linear algebra takes the class itself only, and no subclass, for dense.
    """
    kind = TensorType(dtype, shape)
    kind.filter_variable = partial(_filter_complete, kind)
    return kind


def _filter_complete(kind: TensorType, other: Any, allow_convert: bool = True) -> Variable:
    """Make a variable of the type; `other` may be values, none of which may be masked or NaN."""
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
    return TensorType.filter_variable(kind, other, allow_convert)
