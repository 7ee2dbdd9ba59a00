"""Symbolic tables with batch dimensions: entries at the states of each row, what they are made of.

Functions of tables take arrays whose last dimensions are the core, those of one field; what comes before
are batch dimensions. Tables whose batch dimensions all have length 1 are shared by the rows and are
indexed once for all of them. Some arrays are seen to be one number times constants, as ``coupling *
weights``.
"""

from typing import Any

import numpy as np
import pytensor.scalar as ps
import pytensor.tensor as pt
from pytensor.compile.ops import ViewOp
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import ancestors
from pytensor.tensor.basic import Alloc, tensor_copy
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.shape import SpecifyShape

from pymc_mrf.distributions.arguments import value_of


def filling_number(array):
    """Scalar, symbolic, with which an array is filled, as `pytensor.tensor.full` does; None if with none."""
    node = array.owner
    if node is None or not isinstance(node.op, Alloc) or not all(node.inputs[0].type.broadcastable):
        return None
    return node.inputs[0].reshape((), ndim=0) if node.inputs[0].type.ndim else node.inputs[0]


def at_states(parameter, states: list, n_states: int):
    """Entries of a parameter (..., m) with state axes at the states of each row.

    Parameters
    ----------
    parameter : symbolic, (..., m) and as many axes of length `n_states` as there are `states`
    states : list of symbolic integer (..., m) arrays
    n_states : int

    Returns
    -------
    Symbolic (..., m) array
    """
    if not states:
        return parameter
    m = parameter.shape[parameter.ndim - len(states) - 1]
    cells = pt.arange(m)
    for state in states:
        cells = cells * n_states + state
    return pick(flat_core(parameter, len(states) + 1), cells)


def flat_core(parameter, n_core: int):
    """Parameter with its last `n_core` axes as one, (..., t); known lengths stay known."""
    n_batch = parameter.type.ndim - n_core
    known = parameter.type.shape[:n_batch]
    batch = [parameter.shape[k] if n is None else n for k, n in enumerate(known)]
    return parameter.reshape((*batch, -1), ndim=n_batch + 1)


def pick(tables, cells):
    """Entries of flat tables (..., t) at `cells` (..., m), row by row; symbolic."""
    if shared_by_rows([tables], [1]):
        return pt.take(core(tables, 1), cells)
    return pt.vectorize(lambda t, c: t[c], "(t),(m)->(m)")(tables, cells)


def core(parameter, ndim):
    """Drop leading length-1 dimensions down to `ndim` dimensions."""
    return parameter.reshape(parameter.shape[parameter.ndim - ndim :], ndim=ndim)


def shared_by_rows(parameters, cores) -> bool:
    """Whether all batch dimensions have length 1."""
    return all(
        all(p.type.broadcastable[: p.type.ndim - k]) for p, k in zip(parameters, cores, strict=True)
    )


def log_of(positive):
    inner = strip_views(positive)
    is_exp = inner.owner is not None and inner.owner.op == pt.exp
    return inner.owner.inputs[0] if is_exp else pt.log(inner)


def strip_views(variable):
    """Return the variable behind added dimensions, shape assertions and named copies."""
    while variable.owner is not None and (
        isinstance(variable.owner.op, DimShuffle | SpecifyShape | ViewOp)
        or variable.owner.op == tensor_copy
    ):
        variable = variable.owner.inputs[0]
    return variable


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
