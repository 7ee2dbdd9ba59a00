"""What the columns of a table are: read from it, told, or both; one set of guards for fields of all kinds."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from itertools import pairwise
from numbers import Number
from typing import Any

import numpy as np

from pymc_mrf.checks import MEASUREMENTS, check_option, is_integer, quoted, repeated, warn_user
from pymc_mrf.fields.column_kinds import TRUTH, ColumnKinds
from pymc_mrf.fields.families import states_of
from pymc_mrf.fields.gaussian import why_no_measurement
from pymc_mrf.fields.table_columns import (
    NO_ANSWER,
    NOT_MEASURED,
    Column,
    Table,
    as_numbered_table,
    check_names,
    ends_of,
    missing_code,
    number_of,
)

MAX_STATES = 20  # that are not named; more are ages, counts, or names of persons
RECODE = "as with pymc_mrf.recode_states(table, {1: 0, 2: 1, ...}, columns=[...])"
KINDS = ("continuous", "ordinal", "nominal", "binary")
TIMES = ("time", "date", "hour", "day", "week", "month", "year", "wave", "beep", "occasion")
LEAST_RUN = 3  # rows; of values in any order runs have two on average


def column_kinds(
    table: Any, kinds: Mapping | Sequence | None = None, *, n_states: Mapping | None = None
) -> ColumnKinds:
    """Read from a table what each of its columns is, and what its answers are.

    Columns of numbers with decimal places are continuous; truth values and ordered categories are ordinal;
    categories without an order are nominal. Whole numbers may be any of the three, and texts may have an
    order: `kinds` tells.

    Ordered categories are states in their order, texts and other categories in that of the alphabet. Codes of
    ordinal answers count from 0 or 1, up to their largest; those of nominal ones are states in the order of
    their numbers, whatever these are.

    Parameters
    ----------
    table : DataFrame of pandas or polars, pyarrow.Table or 2-d xarray.DataArray; or (n, d) array
    kinds : mapping or sequence, optional
        "continuous", "ordinal", "nominal" or "binary", which is ordinal with two states, for each column, by
        its name, or for all in their order. Columns that a mapping leaves out are read from the table.
    n_states : mapping, optional
        Numbers of states of answers that are whole numbers, by the names of their columns, where codes are
        missing in the table or there are more than 20.

    Returns
    -------
    ColumnKinds

    Raises
    ------
    ValueError
        If columns are of no kind, or `kinds` must tell which; if they hold what their kind cannot have, or a
        code that stands for missing values by all appearances; if `kinds` or `n_states` names a column that
        there is not, or a number of states is not that of the column.

    Warns
    -----
    UserWarning
        If codes from 1 are counted from 0.

    Examples
    --------
    >>> pymc_mrf.column_kinds(table, {"age": "continuous", "trust": "ordinal"})
    """
    found = as_numbered_table(table, "table")
    check_names(found, "table")
    columns = [found.column(k) for k in range(len(found.names))]
    given = _kinds_in_order(kinds, found.names)
    known = _numbers_of_states(n_states, found.names)
    told = _clear_kinds(
        [kind or _kind_of(column) for kind, column in zip(given, columns, strict=True)],
        columns,
        found.names,
    )
    record, said = read_kinds(columns, found.names, told, [known.get(name) for name in found.names])
    if said:
        warn_user(f"table: {said[0]}")
    return record


def find_columns(
    table: Table,
    kind: str,
    columns: Sequence | None,
    n_states: int | Sequence[int] | None,
    others: Sequence = (),
) -> ColumnKinds:
    """Find the columns of one kind, and say what has been left out or recoded.

    Parameters
    ----------
    table : Table
    kind : {"ordinal", "nominal", "binary", "continuous"}
    columns : sequence, optional
        Names of the columns, which are to be of this kind; by default all that are.
    n_states : int, or sequence of int, optional
        Number of states of all columns, or of each; by default they are counted.
    others : sequence
        Names of columns that are left out without a word.

    Raises
    ------
    TypeError, ValueError
        If a column that `columns` names is of another kind, fewer than two are of this one, or they hold what
        `column_kinds` refuses.

    Warns
    -----
    UserWarning
        Once, if columns have been left out or codes from 1 counted from 0.
    """
    check_names(table, "table")
    name = "measurement" if kind == "continuous" else "item"

    def why_not(column: Column) -> str:
        # an empty column of measurements has no spread, and is refused as a constant one is
        return "" if kind == "continuous" and not column.present() else _why_no_such_kind(column, kind)

    places, said = _places_of(name, table, columns, others, why_not)
    names, d = [table.names[k] for k in places], len(places)
    found = [table.column(k) for k in places]
    if isinstance(n_states, Sequence | np.ndarray):
        given: list[int | None] = list(n_states)
        if len(given) != d:
            raise ValueError(f"n_states has {len(given)} numbers, but there are {d} items")
    else:  # for all that do not name their states
        given = [None if _codes(column) is None else n_states for column in found]
    record, more = read_kinds(found, names, [kind] * d, given)
    if said + more:
        warn_user("table: " + "; ".join(said + more))
    return record


def when_of_rows(table: Table, used: Sequence = ()) -> str:
    """Say what tells that rows of a table are in time; nothing if nothing does.

    That is a column of dates, or of numbers with the name of a time, or dates as labels of the rows, that
    increase from row to row, in runs of `LEAST_RUN` rows and more on average: one for each person. Dates of
    rows in any order, or that many have in common, do not tell. `used` are columns that are something else.
    """
    if _is_in_time(table.rows, only_dates=True):
        return "the labels of the rows"
    for k, name in enumerate(table.names):
        if name in used:
            continue
        column = table.column(k)
        is_named = str(name).lower() in TIMES
        if not column.is_missing.any() and _is_in_time(column.present(), only_dates=not is_named):
            return f"column {name!r}"
    return ""


def _is_in_time(values: Sequence, *, only_dates: bool) -> bool:
    """Whether dates, or numbers, increase from row to row in runs."""
    times = (date, np.datetime64) if only_dates else (date, np.datetime64, Number)
    if len(values) < LEAST_RUN or not all(isinstance(value, times) for value in values):
        return False
    increases = sum(bool(b > a) for a, b in pairwise(values))
    return len(values) >= LEAST_RUN * (len(values) - increases)


def read_kinds(
    columns: Sequence[Column], names: Sequence, kinds: Sequence[str], n_states: Sequence[int | None]
) -> tuple[ColumnKinds, list[str]]:
    """Read what the states of columns of known kinds are; what is to be said of them."""
    wrong = [
        f"column {name!r} {reason}"
        for column, name, kind, k in zip(columns, names, kinds, n_states, strict=True)
        if (reason := _why_wrong(column, kind, k, name))
    ]
    if wrong:
        raise ValueError("table: " + "; ".join(wrong))
    codes = [
        _codes(column) if kind in ("ordinal", "binary") else None
        for column, kind in zip(columns, kinds, strict=True)
    ]
    first = _first_code({n: c for n, c in zip(names, codes, strict=True) if c is not None})
    labels = [
        _labels_of_states(column, kind, own, first, k, name)
        for column, kind, own, k, name in zip(columns, kinds, codes, n_states, names, strict=True)
    ]
    counts = [len(own) for own in labels]
    for name, kind, k in zip(names, kinds, counts, strict=True):
        if kind == "binary" and k != 2:
            raise ValueError(
                f"table: column {name!r} is binary, but has {k} answers: say another kind, or merge answers "
                "with pymc_mrf.recode_states"
            )
    what = tuple("ordinal" if kind == "binary" else kind for kind in kinds)
    kept = tuple(() if own == tuple(range(len(own))) else own for own in labels)
    ends = tuple(
        ends_of(c) if kind == "continuous" else None for c, kind in zip(columns, kinds, strict=True)
    )
    return ColumnKinds(tuple(names), what, tuple(counts), kept, ends), (
        ["codes that start at 1 are counted from 0"] if first == 1 else []
    )


def _places_of(
    kind: str,
    table: Table,
    columns: Sequence | None,
    others: Sequence,
    why_not: Callable[[Column], str],
) -> tuple[list[int], list[str]]:
    """Find the columns of a network, and what is to be said of those that are left out.

    `kind` is what they are, "item" or "measurement"; `why_not` says what a column holds that is of another
    one. For other arguments and errors see `find_columns`.
    """
    if columns is None:
        places = [k for k, name in enumerate(table.names) if name not in others]
    else:
        places = table.places(columns, "table")
        if repeated(places):
            raise ValueError(f"columns names a column twice: {list(columns)!r}")
    reasons = {k: reason for k in places if (reason := why_not(table.column(k)))}
    if columns is not None and reasons:
        told = "; ".join(
            f"column {table.names[k]!r} is no {kind}: it holds {reason}" for k, reason in reasons.items()
        )
        raise ValueError(f"table: {told}")
    found = [k for k in places if k not in reasons]
    what = "; ".join(f"{table.names[k]!r} ({reason})" for k, reason in reasons.items())
    if len(found) < 2:
        raise ValueError(
            f"table has {len(found)} columns that are {kind}s, but a network has two at least"
            + (f"; the others are {what}" if what else "")
        )
    return found, [f"left out as no {kind}s: {what}"] if what else []


def _kind_of(column: Column) -> str | None:
    """Kind that a column has by itself; None if it has to be told."""
    present = column.present()
    if column.is_categorical:
        return "nominal" if column.categories is None else "ordinal"
    if not present or isinstance(present[0], str):
        return None if present else "continuous"
    if isinstance(present[0], bool | np.bool_):
        return "ordinal"
    numbers = [number_of(v) for v in present]
    return None if all(v is not None and v == np.round(v) for v in numbers) else "continuous"


def _clear_kinds(told: Sequence[str | None], columns: Sequence[Column], names: Sequence) -> list[str]:
    """Return the kinds, refused where any has to be told: all of these at once."""
    unclear = [k for k, kind in enumerate(told) if kind is None]
    if not unclear:
        return [kind for kind in told if kind is not None]
    is_text = [isinstance(columns[k].present()[0], str) for k in unclear]
    whole = [names[k] for k, text in zip(unclear, is_text, strict=True) if not text]
    texts = [names[k] for k, text in zip(unclear, is_text, strict=True) if text]
    parts = []
    if whole:
        parts.append(
            f"{_called(whole)} whole numbers, which may be measurements or answers: say which, as in "
            f'kinds=dict.fromkeys({whole!r}, "ordinal"), "continuous", "nominal" or "binary"'
        )
    if texts:
        example = columns[names.index(texts[0])].present()[0]
        parts.append(
            f'{_called(texts)} text, such as {example!r}: say kinds={{{texts[0]!r}: "nominal"}}, make it an '
            "ordered categorical if the answers have an order, or drop it"
        )
    raise ValueError("table: " + "; ".join(parts))


def _called(names: Sequence) -> str:
    if len(names) == 1:
        return f"column {names[0]!r} holds"
    return f"columns {quoted(names)} hold"


def _kinds_in_order(kinds: Any, names: Sequence) -> list:
    """Return the kind of each column that was given, None of others."""
    if kinds is None:
        return [None] * len(names)
    if isinstance(kinds, Mapping):
        _check_named(kinds, "kinds", names)
        kinds = [kinds.get(name) for name in names]
    elif isinstance(kinds, str) or len(kinds) != len(names):
        raise ValueError(
            f"kinds must be a mapping, or a sequence with one entry for each of the {len(names)} columns, "
            f"not {kinds!r}"
        )
    for kind, name in zip(kinds, names, strict=True):
        if kind is not None:
            check_option(kind, f"kinds[{name!r}]", KINDS)
    return list(kinds)


def _numbers_of_states(n_states: Any, names: Sequence) -> dict:
    """Return the numbers of states that were given, by the names of columns."""
    if n_states is None:
        return {}
    if not isinstance(n_states, Mapping):
        raise TypeError(f"n_states must be a mapping, numbers by the names of columns, not {n_states!r}")
    _check_named(n_states, "n_states", names)
    return {name: len(states_of(k, f"n_states[{name!r}]")) for name, k in n_states.items()}


def _check_named(given: Mapping, option: str, names: Sequence) -> None:
    strange = [name for name in given if name not in names]
    if strange:
        raise ValueError(f"{option} names {strange[0]!r}, but the table has no such column")


def _why_no_such_kind(column: Column, kind: str) -> str:
    """Say what a column holds that is of another kind; nothing if it may be of this one."""
    present = column.present()
    if not present:
        return "no values: drop it"
    if kind == "continuous":
        return why_no_measurement(column)
    distinct = set(present)
    if column.is_categorical:
        if (
            kind == "ordinal"
            and column.categories is None
            and any(number_of(v) is None for v in present)
        ):
            return (
                f"categories without an order, such as {present[0]!r}: order them as the answers "
                '(ordered=True in pandas), or say "nominal", as kind="nominal" of a network'
            )
    elif isinstance(present[0], str):
        if kind == "ordinal":
            return (
                f"text, such as {str(present[0])!r}: make it an ordered categorical if these are answers, or "
                'say "nominal"'
            )
    else:
        other = next(
            (v for v in present if isinstance(v, str) or not isinstance(v, Number | np.bool_)), None
        )
        if other is not None:
            return (
                f"{other!r}, which is no number and no category: make dates and durations numbers, as the "
                "days since the first of them, or drop it"
            )
        fraction = next((v for v in present if v != np.round(v)), None)
        if fraction is not None:
            told = f"numbers that are not whole, such as {fraction:g}"
            return f'{told}: {MEASUREMENTS}, or give them the kind "continuous"'
    if len(present) == len(distinct) > MAX_STATES and column.categories is None:
        if isinstance(present[0], str):
            return "a text of its own in every row: drop it"
        return (
            "a number of its own in every row: drop it, or give it the kind "
            '"continuous" if it is a measurement'
        )
    return f"the same value, {present[0]}, in every row: drop it" if len(distinct) == 1 else ""


def _why_wrong(column: Column, kind: str, n_states: int | None, name: Any) -> str:
    """Say what is wrong with a column of a known kind; nothing if it is right."""
    if reason := _why_no_such_kind(column, kind):
        return f"holds {reason}"
    if kind == "continuous":
        if n_states is not None:
            return f"is continuous, but n_states is {n_states}: leave it out"
        return missing_code(column, NOT_MEASURED)
    if column.categories is not None:
        return ""
    codes = _codes(column)
    if codes is not None:
        if codes.min() < 0:
            return (
                f"has the code {codes.min()}: replace it by a missing value if it stands for one, as with "
                f"df.mask(df < 0), or count the answers from 0, {RECODE}"
            )
        is_named = n_states is not None and codes.max() <= n_states
        if not is_named and (wrong := missing_code(column, NO_ANSWER)):
            return wrong
    if codes is None or kind == "nominal":
        most = len(set(column.present()))
    else:
        most = int(codes.max()) + 1
    if n_states is None and most > MAX_STATES and not column.is_categorical:
        measured = "" if codes is None else 'give it the kind "continuous" if these are measurements, '
        return (
            f"would have {most} states, more than {MAX_STATES}: {measured}leave it out if these are no "
            "answers, merge answers with pymc_mrf.recode_states, or name the states, by n_states or a "
            "categorical"
        )
    return ""


def _codes(column: Column) -> np.ndarray | None:
    """Whole numbers (m,) of the cells of answers; None of answers that are no numbers, or in named order."""
    if column.categories is not None:
        return None
    numbers = [number_of(v) for v in column.present()]
    return None if any(v is None for v in numbers) else np.array(numbers).astype(np.int64)


def _first_code(codes: Mapping[Any, np.ndarray]) -> int:
    """Smallest code of all ordinal columns of numbers: 0, or 1, from which all count."""
    lowest = {name: int(own.min()) for name, own in codes.items()}
    if not lowest:
        return 0
    first = min(lowest.values())
    if first > 1:
        name = min(lowest, key=lambda n: lowest[n])
        raise ValueError(
            f"table: the smallest code of all items is {first}, of {name!r}, but answers count from 0 or 1: "
            f"recode them, {RECODE}"
        )
    late = [name for name, low in lowest.items() if low > first]
    if first == 0 and late:
        raise ValueError(
            f"table: the codes of {quoted(late)} start at {lowest[late[0]]}, those of other "
            f"items at 0: count the answers of all items from 0, {RECODE}; or, where nobody chose the first "
            "answer of an item, name its answers by an ordered categorical"
        )
    return first


def _labels_of_states(
    column: Column, kind: str, codes: np.ndarray | None, first: int, n_states: int | None, name: Any
) -> tuple:
    """Return what a column writes for its states 0, 1, ...; nothing of measurements."""
    if kind == "continuous":
        return ()
    found: tuple
    if codes is not None:
        found = tuple(range(first, int(codes.max()) + 1))
        if n_states is not None and n_states > len(found):
            return tuple(range(first, first + n_states))
    elif column.categories is not None:
        found = tuple(column.categories)
    else:
        present = set(map(_without_point, column.present()))
        found = tuple(sorted(present, key=lambda v: (number_of(v) is None, number_of(v) or 0.0, str(v))))
        if isinstance(found[0], bool | np.bool_):
            found = TRUTH
        if n_states is not None and all(isinstance(v, int) for v in found):
            for start in (0, 1):
                if found[0] >= start and found[-1] < start + n_states:
                    return tuple(range(start, start + n_states))
    if n_states is not None and n_states != len(found):
        if not is_integer(n_states) or n_states < len(found):
            raise ValueError(
                f"n_states of {name!r} is {n_states!r}, but its answers need a whole number, at least "
                f"{len(found)}"
            )
        raise ValueError(
            f"n_states of {name!r} is {n_states}, but the column has {len(found)} answers: name the others, "
            "as categories of an ordered categorical, or leave n_states out"
        )
    return found


def _without_point(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return int(value) if isinstance(value, float) and value == int(value) else value
