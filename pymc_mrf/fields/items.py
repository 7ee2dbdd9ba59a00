"""Columns of a table that are items: whole numbers or ordered categories, few of them, and not all alike."""

from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.checks import MEASUREMENTS, is_integer, repeated, warn_user
from pymc_mrf.fields.table_columns import (
    Column,
    Table,
    as_numbered_table,
    check_names,
    column_numbers,
    read_places,
)

MAX_STATES = 20  # of an item; more are ages, counts, or codes such as 99 of missing cells
RECODE = "as with pymc_mrf.recode_states(table, {1: 0, 2: 1, ...}, columns=[...])"


class Items(NamedTuple):
    """Answers to items, as states that count from 0.

    Attributes
    ----------
    names : list
        Of the d columns.
    x : (n, d) int64 array, or masked array if cells are missing
    n_states : (d,) list of int
    labels : list
        Of the states 0, 1, ... of the items that have most: their categories, if all of these have the same.
    rows : list
        Labels of the rows, or their numbers.
    """

    names: list
    x: np.ndarray
    n_states: list[int]
    labels: list
    rows: list


def read_items(
    value: Any,
    columns: Sequence | None,
    n_states: int | Sequence[int] | None,
    others: Sequence = (),
    *,
    is_ordered: bool = True,
) -> Items:
    """Read the items of a table, and say what has been left out or recoded.

    Parameters
    ----------
    value : table of pandas, polars, pyarrow or xarray, or (n, d) array_like
    columns : sequence, optional
        Names of the items; by default every column that can be one.
    n_states : int, or sequence of int, optional
        Number of states of all items, or of each; by default they are counted.
    others : sequence
        Names of columns that are known to be no items.
    is_ordered : bool
        Whether answers have an order. Without, categories and texts that have none are taken in that of the
        alphabet.

    Raises
    ------
    TypeError, ValueError
        If a column that `columns` names can be no item, there are fewer than two items, or codes do not count
        from 0 or 1.

    Warns
    -----
    UserWarning
        Once, if columns have been left out or codes from 1 counted from 0.
    """
    table = as_numbered_table(value, "table")
    if not is_ordered:
        of_table = table.column
        table = table._replace(column=lambda k: _in_alphabetical_order(of_table(k)))
    check_names(table, "table")
    places, said = places_of("item", table, columns, others, _why_no_item)
    names, categories = [table.names[k] for k in places], [_categories(table.column(k)) for k in places]

    def numbers(column: Column, i: int, name: Any) -> np.ndarray:
        return column_numbers(column, None, f"table: column {name!r}").astype(np.int64)

    codes, is_missing, rows = read_places(table, places, numbers)
    is_coded = np.array([labels is None for labels in categories])
    first = _first_code(codes, is_missing, is_coded, names)
    if first == 1:
        said.append("codes that start at 1 are counted from 0")
        codes[:, is_coded] -= 1
    x = np.where(is_missing, 0, codes)
    counts = _counts(x, is_missing, categories, n_states, names)
    if said:
        warn_user("table: " + "; ".join(said))
    texts, *others = [c for c, k in zip(categories, counts, strict=True) if k == max(counts)]
    if texts is None or any(other != texts for other in others):
        texts = list(range(first, first + max(counts)))
    x = np.ma.masked_array(x, is_missing) if is_missing.any() else x
    return Items(names, x, counts, texts, rows)


def places_of(
    kind: str,
    table: Table,
    columns: Sequence | None,
    others: Sequence,
    why_not: Callable[[Column], str],
) -> tuple[list[int], list[str]]:
    """Find the columns of a network, and what is to be said of those that are left out.

    Parameters
    ----------
    kind : str
        What they are, "item" or "measurement".
    table : Table
    columns : sequence, optional
        Names of the columns, which are to be of this kind; by default all that are.
    others : sequence
        Names of columns that are left out without a word.
    why_not : callable
        Says what a column holds that is of another kind; nothing if it is of this one.

    Raises
    ------
    ValueError
        If a column that `columns` names is of another kind, or fewer than two are of this one.
    """
    if columns is None:
        places = [k for k, name in enumerate(table.names) if name not in others]
    else:
        places = table.places(columns, "table")
        if repeated(places):
            raise ValueError(f"columns names a column twice: {list(columns)!r}")
    reasons = {k: reason for k in places if (reason := why_not(table.column(k)))}
    if columns is not None and reasons:
        k, reason = next(iter(reasons.items()))
        raise ValueError(f"table: column {table.names[k]!r} is no {kind}: it holds {reason}")
    found = [k for k in places if k not in reasons]
    what = "; ".join(f"{table.names[k]!r} ({reason})" for k, reason in reasons.items())
    if len(found) < 2:
        raise ValueError(
            f"table has {len(found)} columns that are {kind}s, but a network has two at least"
            + (f"; the others are {what}" if what else "")
        )
    return found, [f"left out as no {kind}s: {what}"] if what else []


def _why_no_item(column: Column) -> str:
    """Say what a column holds that is no item; nothing if it is one."""
    present = column.present()
    if not present:
        return "no value"
    if column.is_categorical:
        if column.categories is None and not all(_is_whole(v) for v in present):
            return (
                f"categories without an order, such as {present[0]!r}: order them as the answers, or say "
                'kind="nominal" of a network'
            )
    else:
        other = next((v for v in present if not isinstance(v, Number | np.bool_)), None)
        if isinstance(other, str):
            return f"text, such as {other!r}: make it an ordered categorical if these are answers"
        if other is not None:
            return f"values such as {other!r}"
        fraction = next((v for v in present if v != np.round(v)), None)
        if fraction is not None:
            return f"numbers that are not whole, such as {fraction:g}: {MEASUREMENTS}"
        if len(present) == len(set(present)) > MAX_STATES:
            return "a number of its own in every row"
    if len(set(present)) == 1:
        return f"the same value, {present[0]}, in every row"
    return ""


def _in_alphabetical_order(column: Column) -> Column:
    """Give categories, or texts, without an order that of the alphabet."""
    if column.categories is not None or isinstance(column.values, np.ndarray):
        return column
    present = column.present()
    if not present or not all(isinstance(v, str) for v in present) or all(map(_is_whole, present)):
        return column
    return column._replace(is_categorical=True, categories=sorted(set(present)))


def _is_whole(text: str) -> bool:
    return text.strip().lstrip("+-").isdecimal()


def _categories(column: Column) -> list | None:
    """Ordered categories that are no numbers, whose codes are their places; None for other columns."""
    labels = column.categories
    return None if not labels or all(map(_is_whole, labels)) else labels


def _first_code(codes: np.ndarray, is_missing: np.ndarray, is_coded: np.ndarray, names: list) -> int:
    """Smallest code of all items that are numbers: 0, or 1, from which all count."""
    if not is_coded.any():
        return 0
    lowest = np.where(is_missing, np.iinfo(np.int64).max, codes).min(axis=0)
    lowest[~is_coded] = np.iinfo(np.int64).max
    worst = int(lowest.argmin())
    first = int(lowest[worst])
    if first < 0:
        raise ValueError(
            f"table: column {names[worst]!r} has the code {first}: replace it by a missing value if it "
            f"stands for one, as with df.mask(df < 0), or count the answers from 0, {RECODE}"
        )
    if first > 1:
        raise ValueError(
            f"table: the smallest code of all items is {first}, of {names[worst]!r}, but answers count "
            f"from 0 or 1: recode them, {RECODE}"
        )
    late = np.flatnonzero((lowest > first) & is_coded)
    if first == 0 and len(late):
        raise ValueError(
            f"table: the codes of {names[late[0]]!r} start at {lowest[late[0]]}, those of other items at 0: "
            f"count the answers of all items from 0, {RECODE}; or, where nobody chose the first answer of an "
            "item, name its answers by an ordered categorical"
        )
    return first


def _counts(
    x: np.ndarray,
    is_missing: np.ndarray,
    categories: list[list | None],
    n_states: int | Sequence[int] | None,
    names: list,
) -> list[int]:
    """Count the states of each item, or check those that are given."""
    highest = np.where(is_missing, -1, x).max(axis=0) + 1
    needed = [
        int(most) if labels is None else len(labels)
        for most, labels in zip(highest, categories, strict=True)
    ]
    if n_states is not None:
        given = n_states if isinstance(n_states, Sequence | np.ndarray) else [n_states] * len(names)
        if len(given) != len(names):
            raise ValueError(f"n_states has {len(given)} numbers, but there are {len(names)} items")
        for name, most, least in zip(names, given, needed, strict=True):
            if not is_integer(most) or most < least:
                raise ValueError(
                    f"n_states of {name!r} is {most!r}, but its answers need a whole number, at least {least}"
                )
        needed = [int(most) for most in given]
    for name, most in zip(names, needed, strict=True):
        if most > MAX_STATES:
            raise ValueError(
                f"table: column {name!r} would have {most} states, more than {MAX_STATES}: leave it out by "
                "columns=[...] if it is no item, replace the code of missing values if it has one, or merge "
                "answers with pymc_mrf.recode_states"
            )
    return needed
