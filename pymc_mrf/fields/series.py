"""Rows of tables that follow one another in time: which row comes before which, in which series."""

import math
from collections.abc import Sequence
from datetime import date, timedelta
from functools import cached_property
from typing import Any

import numpy as np

from pymc_mrf.checks import numeric_array, warn_user
from pymc_mrf.graph.frozen import Frozen

MOST_MISSING = 100
"""Rows that are put in for each row of the table: times that ask for more do not count rows."""


class SeriesRows(Frozen):
    """Rows of one or several series, and the earlier rows on which each depends, frozen.

    `n_rows`: T. `windows` (m, 1 + L) int64: rows that have all earlier rows they depend on, in their
    order; beside each the row that is one lag earlier, and so on for L lags. `first` (T, d) int8: state
    indices of the rows that have not; -1 in all others, and where cells are missing. `places`: rows of
    each series in their order, int64 arrays, by its label. `weights` (m,) int64, optional: how many
    observations the first row of each window stands for, 1 by default.
    """

    n_rows: int
    windows: np.ndarray
    first: np.ndarray
    places: dict[Any, np.ndarray]
    weights: np.ndarray

    def __init__(
        self,
        n_rows: int,
        windows: np.ndarray,
        first: np.ndarray,
        places: dict[Any, np.ndarray],
        weights: np.ndarray | None = None,
    ) -> None:
        weights = np.ones(len(windows), dtype=np.int64) if weights is None else weights
        self._hold(n_rows=n_rows, windows=windows, first=first, places=places, weights=weights)

    @cached_property
    def observations(self) -> np.ndarray:
        """Windows (n, 1 + L), each as often as its weight says: what the likelihood is a product over."""
        return self.windows.repeat(self.weights, axis=0)

    @cached_property
    def earlier(self) -> np.ndarray:
        """Each row and those on which it depends, (T, 1 + L) int64; -1 in rows that are given."""
        earlier = np.full((self.n_rows, self.windows.shape[1]), -1)
        earlier[self.windows[:, 0]] = self.windows
        return earlier

    @cached_property
    def is_first(self) -> np.ndarray:
        """Whether each row is given: no probability is that of its states, (T,)."""
        given = np.ones(self.n_rows, dtype=bool)
        given[self.windows[:, 0]] = False
        return given

    @cached_property
    def later(self) -> np.ndarray:
        """Row that is none, one lag, ... later than each, (T, 1 + L) int64; -1 where none depends on it."""
        later = np.full((self.n_rows, self.windows.shape[1]), -1)
        for k, earlier in enumerate(self.windows.T):
            later[earlier, k] = self.windows[:, 0]
        return later

    def _content(self) -> bytes:
        places = repr([(label, rows.tolist()) for label, rows in self.places.items()])
        arrays = b"|".join(array.tobytes() for array in (self.windows, self.first, self.weights))
        return arrays + f"{self.first.shape}{places}".encode()

    def __repr__(self) -> str:
        return f"SeriesRows({self.n_rows} rows, {len(self.windows)} of them with a past, {self.digest[:16]})"

    def __reduce__(self):
        arrays = self.windows.copy(), self.first.copy()
        return SeriesRows, (self.n_rows, *arrays, self.places, self.weights.copy())


def read_order(
    n_rows: int, series: Any, time: Any, name: str
) -> tuple[dict[Any, np.ndarray], np.ndarray]:
    """Find the rows of each series, and where rows are missing between them.

    `n_rows`: rows of the table. `series` (n_rows,) or (n_rows, k) labels, optional: which series each
    row belongs to, k labels together if there are several; rows of a series are in their order, also
    where others come between. `time` (n_rows,) whole numbers, optional: time of each row, by which rows
    of a series are one apart; the unit is the largest of which all intervals between rows are multiples.
    `name`: for messages.

    Returns `places`: rows of each series, int64 arrays, in the table with the missing rows; `source`:
    row of the table that each of its rows was, -1 for missing ones. Raises a ValueError if there is not
    one label, or one whole number, for each row, times of a series do not increase, or nearly all rows
    would be missing. Warns if the unit of time is not 1, or more rows are missing than there are.
    """
    labels = _series_of_rows(series, n_rows, name)
    gaps = _gaps(labels, time, series is not None, name)
    source: list[int] = []
    places: dict[Any, list[int]] = {}
    for row, (label, gap) in enumerate(zip(labels, gaps, strict=True)):
        if len(source) - row + gap > MOST_MISSING * n_rows:
            raise ValueError(
                f"{name}: time {np.asarray(time)[row]}, in row {row}, comes {gap + 1} intervals after that "
                f"before, and missing rows would be put in, in all more than {MOST_MISSING} for each "
                "row of the table: count time in intervals between rows, or let another of the `series` "
                "begin after the gap"
            )
        own = places.setdefault(label, [])
        own.extend(range(len(source), len(source) + gap + 1))
        source.extend([-1] * gap + [row])
    if len(source) > 2 * n_rows:
        warn_user(
            f"{name}: time puts {len(source) - n_rows} rows of missing cells between the {n_rows} of the "
            "table, as most are more than one interval apart: if those are neighbours all the same, number "
            "the rows of each series 0, 1, 2, ... in `time`, or leave it out"
        )
    return {label: np.array(own) for label, own in places.items()}, np.array(source)


def _gaps(labels: list, time: Any, has_series: bool, name: str) -> list[int]:
    """Count the rows that are missing before each, none without times."""
    if time is None:
        return [0] * len(labels)
    intervals = [0] * len(labels)
    last: dict[Any, int] = {}
    for row, (label, now) in enumerate(
        zip(labels, _times(time, len(labels), name).tolist(), strict=True)
    ):
        intervals[row] = now - last.get(label, now)
        if label in last and now <= last[label]:
            which = f" of series {label!r}" if has_series else ""
            kind = "occurs twice" if now == last[label] else f"comes after {last[label]}"
            raise ValueError(
                f"{name}: time {now}{which} {kind}, in row {row}: sort the rows of each series by time, "
                "with one row for each time, and tell series apart by `series`"
            )
        last[label] = now
    unit = math.gcd(*intervals)
    if unit > 1:
        warn_user(
            f"{name}: all times of a series are multiples of {unit} apart, which is taken for the interval "
            f"between one row and the next: divide them by {unit} to say so, or put a row of missing cells "
            "between two others if rows are missing there"
        )
    return [max(interval // max(unit, 1) - 1, 0) for interval in intervals]


def row_states(cards: Sequence[int] | np.ndarray) -> np.ndarray:
    """List the states of a row of nodes with so many each, (S, d) int8, in lexicographic order."""
    return np.indices(tuple(cards), dtype=np.int8).reshape(len(cards), -1).T.copy()


def windows_of(places: dict[Any, np.ndarray], lags: tuple[int, ...], name: str) -> np.ndarray:
    """Find the rows with a past and the earlier rows, (m, 1 + L), of series whose rows are at `places`.

    Raises a ValueError if no series is long enough to have one. Warns if some are not.
    """
    most = max(lags)
    short = [label for label, own in places.items() if len(own) <= most]
    given = f"at a lag of {most} the first {most} of a series are given"
    if len(short) == len(places):
        longest = max(map(len, places.values()))
        which = "no series has more than" if len(places) > 1 else "`observed` has"
        raise ValueError(
            f"{name}: {which} {longest} row{'s'[: longest != 1]}, but {given}, and none is left to learn "
            f"from: give at least {most + 1} rows"
        )
    if short:
        n_rows = sum(len(places[label]) for label in short)
        warn_user(
            f"{name}: {len(short)} of the {len(places)} series have no more than {most} "
            f"row{'s'[: most != 1]}, such as {short[0]!r}; as {given}, nothing is learnt from these {n_rows} "
            "rows, nor of links within them"
        )
    found = [
        np.stack([own[most - lag : len(own) - lag] for lag in (0, *lags)], axis=1)
        for own in places.values()
        if len(own) > most
    ]
    windows = np.concatenate(found)
    return windows[np.argsort(windows[:, 0])]


def _series_of_rows(series: Any, n_rows: int, name: str) -> list:
    if series is None:
        return [0] * n_rows
    labels = np.asarray(series, dtype=object)
    if labels.ndim not in (1, 2) or len(labels) != n_rows:
        raise ValueError(
            f"{name}: series has shape {labels.shape}, but `observed` has {n_rows} rows: give one label for "
            'each row, or several, as in series=["person", "day"], or list(zip(person, day))'
        )
    found = labels.tolist() if labels.ndim == 1 else [tuple(row) for row in labels.tolist()]
    for row, label in enumerate(found):
        parts = label if isinstance(label, tuple) else (label,)
        if any(part is None or part != part for part in parts):
            raise ValueError(f"{name}: series has no label in row {row}: give one, or leave the row out")
    return found


def _times(time: Any, n_rows: int, name: str) -> np.ndarray:
    """Whole numbers, one for each row."""
    values = np.asarray(time)
    first = values.ravel()[0] if values.size else 0
    if isinstance(first, np.datetime64 | np.timedelta64 | date | timedelta):
        raise ValueError(
            f"{name}: time holds dates or durations, such as {first}, which do not tell how long an interval "
            "is: give whole numbers, such as days from the first, (day - day.min()).dt.days of pandas"
        )
    for row, value in enumerate(values.ravel() if values.dtype == object else ()):
        if value is None:
            raise ValueError(f"{name}: time has no value in row {row}: give one, or leave the row out")
    times = numeric_array(time, f"{name}: time", "iuf")
    if times.shape != (n_rows,):
        raise ValueError(
            f"{name}: time has shape {times.shape}, but `observed` has {n_rows} rows: give one number for "
            "each row"
        )
    wrong = np.flatnonzero(~(times == np.floor(times)) | ~np.isfinite(times))
    if len(wrong):
        raise ValueError(
            f"{name}: time[{wrong[0]}] is {times[wrong[0]]}, but times count intervals of equal length: give "
            "whole numbers, such as days from the first, or minutes, (60 * hours).round()"
        )
    return times.astype(np.int64)
