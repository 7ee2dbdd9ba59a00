"""Arguments of the package's distributions: numbers apart from symbolic variables, numbers of entries."""

from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.distribution import SymbolicRandomVariable
from pymc.distributions.shape_utils import shape_from_dims
from pymc.pytensorf import floatX
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.traversal import ancestors, walk
from pytensor.tensor.random.op import RandomVariable

from pymc_mrf.checks import first_cell, is_integer, numeric_array


class GivenData(NamedTuple):
    """Data of a field that is declared.

    `observed`: as users give them; None without. `values` (..., d), or None: states, or measurements,
    that they are, masked where cells are missing; of a field in time rows with a past and the earlier
    ones side by side. `name`: of the field.
    """

    observed: Any = None
    values: Any = None
    name: str = "dist"


NO_DATA = GivenData()

RANDOM = RandomVariable, SymbolicRandomVariable


def parameter(value: Any, name: str) -> tuple[Any, np.ndarray | None]:
    """Return a parameter as a symbolic variable, and its numbers if it is not random.

    Raises a ValueError if it is neither symbolic nor numeric, or is computed from numbers that are not
    finite.
    """
    if isinstance(value, Variable):
        numbers = np.asarray(value.data) if isinstance(value, Constant) else None
        if numbers is None:
            check_constants(value, name)
        return floatX(pt.as_tensor_variable(value)), numbers
    numbers = numeric_array(value, name, "iuf").astype(np.float64)
    return floatX(pt.as_tensor_variable(numbers)), numbers


def positive_scalar(value: Any, name: str, most: float = np.inf) -> Any:
    """Return a symbolic scalar parameter; refuse numbers that are not above 0 and at most `most`."""
    symbolic, numbers = parameter(value, name)
    if symbolic.type.ndim != 0:
        raise ValueError(f"{name} must be a scalar, but it has {symbolic.type.ndim} dimensions")
    if numbers is not None and not (0 < numbers <= most and np.isfinite(numbers)):
        domain = "positive and finite" if most == np.inf else f"above 0 and at most {most:g}"
        raise ValueError(f"{name} must be {domain}, not {numbers}")
    return symbolic


def check_constants(value: Variable, name: str, *, allow_infinite: bool = False) -> None:
    """Refuse a symbolic parameter that is computed from data with missing cells, as those of a covariate.

    `value`: random variables in it and what they depend on are left out. `allow_infinite`: whether
    arrays may have infinite entries; single numbers may, as the ends of ``clip``. Raises a ValueError if
    a constant or ``pm.Data`` in it has NaN, or infinite entries.
    """

    def inputs(v: Variable) -> list:
        return v.owner.inputs if v.owner and not isinstance(v.owner.op, RANDOM) else []

    for v in walk([value], inputs):
        if not isinstance(v, Constant | SharedVariable) or not str(
            getattr(v.type, "dtype", "")
        ).startswith("f"):
            continue
        data = np.asarray(v.data if isinstance(v, Constant) else v.get_value(borrow=True))
        wrong = np.isnan(data) if allow_infinite or not data.ndim else ~np.isfinite(data)
        if wrong.any():
            cell = first_cell(wrong)
            row, *columns = [i for i, n in zip(cell, data.shape, strict=True) if n > 1] or [0]
            where = f"row {row}" + (f", column {', '.join(map(str, columns))}" if columns else "")
            what = repr(v.name) if v.name else f"an array of shape {data.shape}"
            raise ValueError(
                f"{name}: {what}, from which it is computed, has {data[cell]} in {where} "
                f"({int(wrong.sum())} such entries): drop these rows, of `observed` and of all else that has "
                "rows, or fill missing values in"
            )


def is_random(parameter: Variable) -> bool:
    """Whether a parameter depends on random variables."""
    return any(v.owner and isinstance(v.owner.op, RANDOM) for v in ancestors([parameter]))


def value_of(variable: Any) -> np.ndarray:
    """Value of a symbolic variable that depends on nothing, by Python: numba takes a quarter of a second."""
    return np.asarray(variable.eval(mode="FAST_COMPILE"))


def entries_of_dims(dims: Any, name: str) -> tuple[int, ...]:
    """Lengths of the dims of a variable.

    Raises a ValueError if the model has no such dims.
    """
    names = (dims,) if isinstance(dims, str) else dims
    model = pm.modelcontext(None)
    if not isinstance(names, tuple | list) or not all(isinstance(dim, str) for dim in names):
        raise ValueError(f"{name}: dims must be names of dimensions of the model, not {dims!r}")
    unknown = [dim for dim in names if dim not in model.dim_lengths]
    if unknown:
        raise ValueError(
            f"{name}: dims names {unknown[0]!r}, which is no dimension of the model; give coordinates, "
            "pm.Model(coords=pymc_mrf.coords(graph)), or shape="
        )
    lengths = shape_from_dims(names, model)
    return tuple(int(value_of(pt.as_tensor(length))) for length in lengths)


def entries_of_shape(shape: Any) -> tuple[int, ...]:
    """Return the shape of a vector of parameters as a tuple of positive integers.

    Raises a ValueError if it does not tell the number of entries, or that number is not positive.
    """
    lengths = shape if isinstance(shape, tuple | list | np.ndarray) else [shape]
    lengths = list(lengths)
    if not lengths or not all(map(is_integer, lengths)):
        raise ValueError(
            f'shape={shape!r} does not give the number of entries; use shape=n, or dims="edge" '
            "with pm.Model(coords=pymc_mrf.coords(graph))"
        )
    if min(lengths) < 1:
        raise ValueError(
            f"shape={tuple(map(int, lengths))} has no entries; at least one parameter is needed"
        )
    return tuple(int(n) for n in lengths)


def check_observed_entries(observed: Any, n: int, name: str) -> None:
    """Refuse values of a vector of parameters that are incomplete or of another length."""
    if observed is None or isinstance(observed, Variable):
        return
    values = numeric_array(observed, f"{name}: observed", "iuf")
    if values.ndim == 0 or values.shape[-1] != n:
        raise ValueError(
            f"{name}: observed has shape {values.shape}, but its last dimension must be {n}"
        )
    if not np.isfinite(values).all():
        cell = first_cell(~np.isfinite(values))
        raise ValueError(
            f"{name}: observed{list(cell)} is {values[cell]}; give finite values, without missing ones"
        )


def rows_of(x: np.ndarray | None, options: dict[str, Any], name: str) -> int:
    """Count the rows of a field by its data, or else by its shape or dims."""
    if x is not None:
        return x.size // x.shape[-1]
    shape, dims = options.get("shape") or (), options.get("dims")
    if not shape and isinstance(dims, tuple | list):
        shape = *entries_of_dims(dims[:-1], name), None
    lengths = shape[:-1] if isinstance(shape, tuple | list) else ()
    return int(np.prod([n for n in lengths if isinstance(n, int | np.integer)], initial=1))
