"""Symbolic arrays that are one number times constants, as ``coupling * weights``."""

from typing import Any

import numpy as np
import pytensor.scalar as ps
import pytensor.tensor as pt
from pytensor.compile.ops import ViewOp
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import ancestors
from pytensor.tensor.basic import Alloc
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.shape import SpecifyShape

from pymc_mrf.distributions.arguments import value_of

Multiple = tuple[Any, np.ndarray]


def as_multiple(array: Any) -> Multiple | None:
    """Scalar, symbolic, and constants whose product an array is; None if it is not seen to be one.

    The constants may lack dimensions along which they are repeated. Data that may change, ``pm.Data``, are a
    number, but no constants.
    """
    if _is_constant(array):
        return pt.constant(1.0), value_of(array).astype(np.float64)
    if all(length == 1 for length in array.type.shape):
        return array.squeeze(), np.ones(array.type.shape)
    node = array.owner
    if node is None:
        return None
    if not isinstance(node.op, Elemwise):
        repeats = isinstance(node.op, Alloc | SpecifyShape | ViewOp)
        is_same = repeats or getattr(node.op, "is_left_expand_dims", False)
        return as_multiple(node.inputs[0]) if is_same else None
    factors = [found for v in node.inputs if (found := as_multiple(v))]
    if len(factors) < len(node.inputs):
        return None
    (number, constants), *others = factors
    operation = node.op.scalar_op
    if isinstance(operation, ps.Identity):
        return number, constants
    if isinstance(operation, ps.Neg):
        return -number, constants
    if isinstance(operation, ps.Mul):
        for more, further in others:
            number, constants = number * more, constants * further
        return number, constants
    if isinstance(operation, ps.TrueDiv):
        [(divisor, divisors)] = others
        with np.errstate(divide="ignore", invalid="ignore"):
            return number / divisor, constants / divisors
    return None


def sigmoid_argument(array: Any) -> Any:
    """Find what an array is the sigmoid of; None if of nothing."""
    node = array.owner
    while node is not None and isinstance(node.op, SpecifyShape | ViewOp):
        node = node.inputs[0].owner
    is_sigmoid = node is not None and isinstance(getattr(node.op, "scalar_op", None), ps.Sigmoid)
    return node.inputs[0] if is_sigmoid else None


def _is_constant(variable: Any) -> bool:
    return all(v.owner or isinstance(v, Constant) for v in ancestors([variable]))
