"""Types of the values of a field, which ``pm.observe`` and ``pm.do`` ask whether they take given ones."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from pytensor.graph.basic import Variable
from pytensor.tensor.type import TensorType

from pymc_mrf.checks import axes_of_values, check_labels


def complete_values(dtype: str, shape: tuple, nodes: Sequence) -> TensorType:
    """Make a type that refuses missing values, and labels of other `nodes`, in words that name the remedy.

    It is PyTensor's own class: linear algebra takes the class itself only, and no subclass, for dense.
    """
    kind = TensorType(dtype, shape)
    kind.filter_variable = partial(_filter_complete, kind, nodes)
    return kind


def _filter_complete(
    kind: TensorType, nodes: Sequence, other: Any, allow_convert: bool = True
) -> Variable:
    """Make a variable of the type; `other` may be values, none of which may be masked or NaN."""
    if not isinstance(other, Variable):
        check_labels(other, nodes, "the values of the field", "node")
        values = np.ma.getdata(other)
        is_missing = np.ma.getmaskarray(other) | (values != values)
        if is_missing.any():
            first = ", ".join(map(str, np.argwhere(is_missing)[0]))
            raise ValueError(
                f"{is_missing.sum()} of the {is_missing.size} values given for a field are masked or "
                f"NaN, the first at [{first}]; pm.observe and pm.do take values for all cells: declare "
                "the field with observed=numpy.ma.masked_array(x, mask) instead"
            )
        if isinstance(other, np.ma.MaskedArray) or axes_of_values(other, ""):
            other = np.asarray(values)
    return TensorType.filter_variable(kind, other, allow_convert)
