"""Checks of arguments that all layers share: each message names the argument, the value and the remedy."""

import os
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

PACKAGE = os.path.dirname(__file__)

MEASUREMENTS = (
    "if these are measurements, declare a pymc_mrf.GaussianMRF, or, beside answers, a pymc_mrf.MixedMRF"
)
"""The remedy where states are asked for, but numbers are not whole."""


def warn_user(message: str) -> None:
    """Warn the caller of the package."""
    warnings.warn(message, UserWarning, skip_file_prefixes=(PACKAGE,))


def is_integer(value: Any) -> bool:
    """Whether `value` is one integer; a bool is none."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def whole_number(value: Any, name: str, smallest: int) -> int:
    """Return `value` as an int of at least `smallest`, or refuse it."""
    if not is_integer(value) or value < smallest:
        kind = {0: "a non-negative integer", 1: "a positive integer"}
        raise ValueError(
            f"{name} must be {kind.get(smallest, f'an integer of at least {smallest}')}, not {value!r}"
        )
    return int(value)


def is_number(value: Any) -> bool:
    """Whether `value` is one real number; a bool is none."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def number(value: Any, name: str, low: float, below: float = np.inf, *, closed: bool = False) -> float:
    """Return `value` as a float above `low` and below `below`, or refuse it.

    `low` itself is allowed if `closed`, and infinity never.
    """
    if is_number(value) and (low < value < below or (closed and value == low)):
        return float(value)
    kind = "a number" if np.isfinite(below) else "a finite number"
    bounds = [f"{'of at least' if closed else 'above'} {low:g}"] if np.isfinite(low) else []
    bounds += [f"below {below:g}"] if np.isfinite(below) else []
    raise ValueError(f"{name} must be {' '.join([kind, ' and '.join(bounds)]).rstrip()}, not {value!r}")


def flag(value: Any, name: str) -> bool:
    """Return `value` as a bool, or refuse what is none."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, not {value!r}")
    return bool(value)


def check_option(value: Any, name: str, options: Iterable[str], remedy: str = "") -> None:
    """Refuse a value that is none of the texts `options`; a `remedy` ends the message."""
    options = list(options)
    if not isinstance(value, str) or value not in options:
        shown = ", ".join(f'"{option}"' for option in options)
        raise ValueError(f"{name} must be one of {shown}, not {value!r}{remedy}")


def random_generator(rng: Any, name: str) -> np.random.Generator:
    """Make a generator from a generator, a seed or None, or refuse what is none of these."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"{name} must be a numpy.random.Generator, a non-negative integer seed or None, not {rng!r}"
        ) from error


def sequence(value: Any, name: str, of: str) -> list:
    """Return the items of an iterable that is no text, or refuse it; `of` tells what it must hold."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise TypeError(f"{name} must be a sequence of {of}, not {value!r}")
    return list(value)


def few(labels: Iterable, most: int | None = 5) -> str:
    """Name labels, at most so many, and say how many more there are; "none" if there are none."""
    texts = list(map(str, labels))
    left = 0 if most is None else len(texts) - most
    return ", ".join(texts[:most]) + (f" and {left} more" if left > 0 else "") or "none"


def quoted(labels: Iterable, most: int | None = None) -> str:
    """Name labels as `few` does, but as Python writes them, and all by default."""
    return few(map(repr, labels), most)


def repeated(labels: Sequence) -> list:
    """Return the labels that occur more than once, each once."""
    return [label for label, n in Counter(labels).items() if n > 1]


def first_cell(is_wrong: np.ndarray) -> tuple[int, ...]:
    """Return the index of the first True entry of an array that has one."""
    return tuple(np.argwhere(is_wrong)[0].tolist())


def check_array_shape(array: np.ndarray, shape: tuple[int, ...], name: str, what: str = "") -> None:
    """Refuse an array of another shape; `what` says what its entries are."""
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}{what and ', ' + what}, not {array.shape}")


def numeric_array(value: Any, name: str, kinds: str = "biuf") -> np.ndarray:
    """Return `value` as an array of numbers.

    `kinds`: letters of the kinds of dtype that are allowed (``numpy.dtype.kind``). Raises a ValueError
    if it is ragged, symbolic, has masked cells, or holds anything but numbers.
    """
    if np.ma.is_masked(value):
        raise ValueError(
            f"{name} has {np.ma.count_masked(value)} masked cells, but complete numbers are needed here"
        )
    try:
        array = np.asarray(value)
        if array.dtype == object:
            array = np.array(array.tolist())  # such as integers of nullable pandas columns
    except (TypeError, ValueError, NotImplementedError) as error:
        raise ValueError(
            f"{name} must be numeric, a rectangular array without symbolic entries, not "
            f"{_shown(value)} ({str(error).split('. The')[0]})"
        ) from error
    if array.dtype.kind not in kinds:
        cell = _first_wrong(array, kinds)
        told = f"entry {list(cell)} is {_shown(array[cell])}" if cell else f"it is {_shown(array[cell])}"
        raise ValueError(
            f"{name} must be numeric, not of dtype {array.dtype}: {told if array.size else 'it is empty'}; "
            f"{_remedy(array, cell)}"
        )
    return array


def check_complete(is_missing: Any, name: str, remedy: str = "drop those rows") -> None:
    """Refuse data some cells of which are missing."""
    if n_missing := int(np.sum(is_missing)):
        raise ValueError(
            f"{name} has {n_missing} missing cells; complete data are needed here: {remedy}"
        )


def check_entries(array: np.ndarray, are_right: np.ndarray, name: str, remedy: str) -> None:
    """Refuse an array in which some entries are not right: tell the first, how many, and the remedy."""
    wrong = ~np.asarray(are_right)
    if wrong.any():
        others = f" and {wrong.sum() - 1} more" if wrong.sum() > 1 else ""
        raise ValueError(f"{name} has the value {array[wrong][0]:g}{others}; {remedy}")


def _remedy(array: np.ndarray, cell: tuple[int, ...]) -> str:
    kind = array.dtype.kind
    if kind in "US":
        return "recode text as numbers"
    if kind == "b":
        return "give numbers instead of truth values"
    if kind == "O" and array.size and hasattr(array[cell], "owner"):
        return "give fixed numbers; a parameter made of symbolic entries is stacked with pymc.math.stack"
    if kind == "O" and cell and (array[cell] is None or type(array[cell]).__name__ == "NAType"):
        return (
            "missing cells are those of a data frame, passed as it is, or of numpy.ma.masked_invalid(x), "
            "where they are allowed, as in `observed`; else give numbers"
        )
    return "give real numbers in every entry"


def _first_wrong(array: np.ndarray, kinds: str) -> tuple[int, ...]:
    """Index of the first entry that is no number, of the first entry if all are."""
    if array.dtype == object:
        for cell in np.ndindex(array.shape):
            if not isinstance(array[cell], Number):
                return cell
    return (0,) * array.ndim


def _shown(value: Any) -> str:
    value = value.item() if isinstance(value, np.generic) else value
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."


def check_labels(
    values: Any, labels: Sequence, name: str, what: str, axis: int = -1, *, own_names: bool = False
) -> None:
    """Refuse a table or labelled array with other labels than the nodes or edges of the graph, in order.

    Values go by position. The numbers 0, 1, ... of an axis without names say nothing of the graph and pass.
    Numbers and their texts are the same, and so are an edge "u--v" and the pair (u, v).

    `values`: the columns of a data frame, the index of a series and the coordinates of a DataArray are
    labels. `labels`: of the graph. `what`: what they are: "node", "edge", or other units of a field.
    `axis`: axis of the nodes or edges, from the end. `own_names`: whether names none of which the graph
    has pass, as those of a model's own coordinates. Raises a ValueError if the labels are those of the
    graph in another order, or others.
    """
    axes = axes_of_values(values, name)
    if len(axes) < -axis or not axes[axis]:
        return
    [found] = axes[axis]
    if found.labels is None or (own_names and not set(found.labels) & set(labels)):
        return
    _compare_labels(found.labels, list(labels), name, what, _in_order(values, found.dim, axis, name))


def check_same_labels(a: Any, b: Any, name: str, other: str) -> None:
    """Refuse two vectors that are compared by position, but whose labels are not the same, in order."""
    first, second = (axes_of_values(values, which) for values, which in ((a, name), (b, other)))
    if first and second and first[-1] and second[-1]:
        left, right = first[-1][0].labels, second[-1][0].labels
        if left is not None and right is not None and list(map(str, left)) != list(map(str, right)):
            raise ValueError(
                f"{name} and {other} have other labels or sizes, beginning {left[0]!r} and {right[0]!r}; put "
                "them in one order, or give plain arrays in the same order"
            )


def _in_order(values: Any, dim: str, axis: int, name: str) -> str:
    """Say by which expression a table or labelled array gets the order of the graph along an axis."""
    of_labels = ".loc[labels]"
    if hasattr(values, "coords"):
        of_labels = f".sel({{{dim!r}: labels}})"
    elif axis == -1 and hasattr(values, "columns"):
        of_labels = "[labels]"
    return f"{name.split(': ')[-1]}{of_labels} with the labels in the order of the graph"


def _compare_labels(given: list, wanted: list, name: str, what: str, select: str) -> None:
    """Refuse labels that are not those of the graph in its order; `select` is the remedy."""
    texts, own = ([_text(label, what) for label in labels] for labels in (given, wanted))
    if texts == own:
        return
    if set(texts) == set(own) and len(texts) == len(own):
        raise ValueError(
            f"{name}: its labels are the {what}s of the graph in another order, beginning "
            f"{', '.join(map(repr, given[:3]))} instead of {', '.join(map(repr, wanted[:3]))}; use {select}"
        )
    if given == list(range(len(given))):
        return
    strange = [label for label, text in zip(given, texts, strict=True) if text not in set(own)]
    absent = [label for label, text in zip(wanted, own, strict=True) if text not in set(texts)]
    told = "names a label twice"
    if strange:
        told = f"has {strange[0]!r}, which is no {what} of the graph"
    elif absent:
        told = f"lacks {absent[0]!r}, a {what} of the graph"
    if len(strange) == len(given):
        raise ValueError(
            f"{name} {told}, such as {wanted[0]!r}: label it by these, or, if it is in their order, use "
            f"numpy.asarray({name.split(': ')[-1]}), which goes by position"
        )
    raise ValueError(f"{name} {told}; use {select}, one entry for each {what} of the graph")


def _text(label: Any, what: str) -> str:
    if what == "edge" and isinstance(label, tuple) and len(label) == 2:
        return "--".join(map(str, label))
    return str(label)


class Axis(NamedTuple):
    """A name that an axis of a parameter has.

    `dim`: name of the dimension, "" if it has none. `labels`: coordinates. `owner`: what has them, for
    messages.
    """

    dim: str
    labels: list | None
    length: int | None
    owner: str


def check_axes(
    axes: Sequence[Sequence[Axis]], roles: Sequence[str], labels: dict[str, Sequence], name: str
) -> None:
    """Refuse a parameter that has dimensions of something else where its nodes, edges or states belong.

    A dimension is that of the nodes, edges or states if its coordinates are their labels or, where these are
    numbers 0, 1, ... or 1, 2, ..., or other labels altogether, if it is called so.

    `axes`: names of each axis of the parameter. `roles`: what its last axes are; those before are rows
    of data. `labels`: labels of the nodes, edges and states of the field that has them. `name`: of the
    parameter. Raises a ValueError if a dimension belongs elsewhere, or has the labels of the graph in
    another order or in part.
    """
    n_rows = max(len(axes) - len(roles), 0)
    expected = ["row"] * n_rows + list(roles)[len(roles) - len(axes) + n_rows :]
    for role, names in zip(expected, axes, strict=True):
        for axis in names:
            found, of = _role_of(axis, role, labels), "" if axis.owner == name else f" of {axis.owner}"
            if found != role:
                shown = ", ".join(f'"{r}"' for r in roles)
                raise ValueError(
                    f"{name}: dimension {axis.dim!r}{of} is that of {found}s, but stands where "
                    f"{role}s are expected: the last dimensions of {name} must be ({shown}), in this order"
                )
            if role in ("node", "edge") and axis.labels is not None:
                given, own = _texts(axis.labels, role), _texts(labels[role], role)
                if given != own and (set(given) & set(own)) and not _is_numbered(axis.labels, 0):
                    raise ValueError(
                        f"{name}: the coordinates of dimension {axis.dim!r}{of} are not the {role}s of the "
                        "graph in its order; use pm.Model(coords=pymc_mrf.coords(graph))"
                    )


def axes_of_values(values: Any, name: str) -> list[list[Axis]]:
    """Find the names that the axes of a labelled array have; none for others.

    `values`: a DataArray, a data frame or a series has names. `name`: of the argument.
    """
    dims, index, columns = (getattr(values, key, None) for key in ("dims", "index", "columns"))
    if hasattr(values, "owner"):
        return []  # symbolic
    if isinstance(dims, tuple) and hasattr(values, "coords"):
        known = [values.coords[dim].values.tolist() if dim in values.coords else None for dim in dims]
        given = zip(map(str, dims), known, values.shape, strict=True)
        return [[Axis(*axis, name)] for axis in given]
    has_index = index is not None and not callable(index)  # polars has none
    rows = [[_axis_of(index, "index", name)] if has_index else []]
    if columns is None:
        return rows if has_index else []
    return [*rows, [_axis_of(columns, "columns", name)]]


def _axis_of(labels: Any, kind: str, name: str) -> Axis:
    return Axis(str(getattr(labels, "name", None) or kind), list(labels), len(labels), name)


def _role_of(axis: Axis, role: str, labels: dict[str, Sequence]) -> str:
    """Whether a dimension is that of "node", "edge" or "state"; `role` if nothing speaks against it."""
    given = axis.labels
    if given is not None and not (_is_numbered(given, 0) or _is_numbered(given, 1)):
        alike = [r for r, own in labels.items() if set(_texts(given, r)) == set(_texts(own, r))]
        if alike:
            return role if role in alike else alike[0]
    called = axis.dim.removesuffix("s")
    if called in labels and (role != "row" or axis.length == len(labels[called])):
        return called
    return role


def _texts(labels: Sequence, role: str) -> list:
    return [frozenset(str(v).split("--")) if role == "edge" else str(v) for v in labels]


def _is_numbered(labels: Sequence, start: int) -> bool:
    return list(labels) == list(range(start, start + len(labels)))
