"""The Gaussian family: what its parameters are called, and columns of measurements, continuous numbers.

Columns are linearly dependent where one is a total of others, say: only the prior keeps the precision of
such nodes finite.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pymc_mrf.checks import few, first_cell
from pymc_mrf.fields.family import Family
from pymc_mrf.fields.table_columns import Column, column_numbers

ROUNDING = 64 * float(
    np.finfo(np.float64).eps
)  # of the size of its numbers, up to which a column is constant

GAUSSIAN = Family("gaussian", (), "weight", "diagonal", title="GaussianMRF")
"""A field without states: its log density is quadratic, -x' K x / 2 with K_uv = -weight, K_uu = diagonal."""

LEFT = 1e-4
"""Share of its variance that others may leave of a column that depends on them, as where it is rounded."""

EXACT = 1e-10  # of the same where there are few rows, of which any number of columns leave little
MORE_ROWS = (
    5  # than columns, from which `LEFT` is no chance: it happens in about one of a million columns
)
MEMBER = 0.02  # standardised coefficient beyond which a column is one of those on which another depends


def measurements(column: Column, what: str) -> np.ndarray:
    """Values (n,) of a column of measurements, 0.0 where they are missing; `what` is its name in errors."""
    if reason := why_no_measurement(column):
        raise ValueError(f"{what} holds {reason}")
    return column_numbers(column, None, what).astype(np.float64)


def why_no_measurement(column: Column) -> str:
    """Say what a column of a table holds that are no measurements; nothing if it holds these."""
    present = column.present()
    first = present[0] if len(present) else None
    first = str(first) if isinstance(first, str) else first
    if column.is_categorical:
        return (
            f"categories, such as {first!r}: these are answers, which pymc_mrf.OrdinalMRF or, without an "
            "order, NominalMRF takes, and beside measurements MixedMRF"
        )
    if isinstance(first, bool | np.bool_):
        return (
            "truth values: these are states, which pymc_mrf.Ising or BoltzmannMachine takes, and beside "
            "measurements MixedMRF"
        )
    if isinstance(first, str):
        return f"text, such as {first!r}: make it numbers, as with pandas.to_numeric, or leave it out"
    if hasattr(first, "year") or isinstance(first, np.datetime64):
        return f"dates, such as {first}: make them numbers, as the days since the first of them"
    if hasattr(first, "total_seconds") or isinstance(first, np.timedelta64):
        return f"durations, such as {first}: make them numbers, as with .dt.total_seconds()"
    return ""


def check_measurements(
    values: np.ndarray, is_missing: np.ndarray, nodes: Sequence, name: str, *, needs_spread: bool = True
) -> list[list[Any]]:
    """Refuse measurements (n, d) of which a Gaussian field can have no precision.

    `needs_spread` is False where nodes share the diagonal of the precision or it is given, so that a node
    that is seen once, or never, is one like the others.

    Returns list of lists of nodes: the `dependent_columns`: only the prior keeps the precision of such
    nodes finite. Raises a ValueError if a cell is infinite, a node has the same value, up to rounding,
    in all of two or more rows, or, where spread is needed, a node has no value or one, as in a table of
    one row.
    """
    wrong = ~np.isfinite(values) & ~is_missing
    if wrong.any():
        row, node = first_cell(wrong)
        raise ValueError(
            f"{name} has {values[row, node]} in row {row} of {nodes[node]!r}, and {int(wrong.sum())} such "
            "cells: replace them by finite numbers, or by missing cells if they stand for these"
        )
    if not is_missing.all():  # else it is hidden
        _check_spread(values, is_missing, nodes, name, needs_spread)
    return dependent_columns(values, is_missing, nodes)


def _check_spread(
    values: np.ndarray, is_missing: np.ndarray, nodes: Sequence, name: str, needs_spread: bool
) -> None:
    """Refuse columns of `values` (n, d) that have no standard deviation."""
    if needs_spread and len(values) == 1:
        raise ValueError(
            f"{name} has one row, which tells no precision of {nodes[0]!r} or any other node: give more "
            "rows, or a diagonal that nodes share"
        )
    reasons = []
    for i, node in enumerate(nodes):
        x = values[~is_missing[:, i], i]
        if len(x) < 2 and not needs_spread:
            continue
        if not len(x):
            reasons.append(f"{node!r} has no values, which tell its precision")
        elif len(x) == 1:
            reasons.append(f"{node!r} has one value, {x[0]:g}, which tells no precision")
        elif x.max() - x.min() <= ROUNDING * np.abs(x).max():
            reasons.append(f"{node!r} is {x[0]:g} in all rows, of which its precision would be infinite")
    if reasons:
        one = "this node" if len(reasons) == 1 else "these nodes"
        column = "its column" if len(reasons) == 1 else "their columns"
        raise ValueError(
            f"{name}: {'; '.join(reasons)}: leave {one} out of the graph, and {column} out of the data"
        )


def dependent_columns(values: np.ndarray, is_missing: np.ndarray, names: Sequence) -> list[list[Any]]:
    """Find sets of columns (n, d) of which one is a linear function of the others, up to rounding.

    Told from the complete rows; where there are no more than columns, nothing is.

    `values` (n, d): finite where not missing. `is_missing` (n, d) bool. `names` sequence of d: of the
    columns. Returns list of lists of names: the column that depends on the others of its set comes last,
    and is in no other set.
    """
    complete = values[~is_missing.any(axis=1)]
    n, d = complete.shape
    if d < 2 or n <= max(2, d):
        return []
    deviations = complete - complete.mean(axis=0)
    scale = np.abs(deviations).max(axis=0)  # squares of columns in units of 1e-200 would vanish
    varies = np.flatnonzero(scale > 0.0)
    z = deviations[:, varies] / scale[varies]
    z /= np.sqrt((z**2).sum(axis=0))
    least = LEFT if n > d + MORE_ROWS else EXACT
    C = z.T @ z
    if not len(varies) or np.linalg.eigvalsh(C)[0] > least:  # no column has less left
        return []
    found, basis = [], np.zeros(0, dtype=np.int64)
    for j in range(len(varies)):
        slopes = np.linalg.solve(C[np.ix_(basis, basis)], C[basis, j])
        left = z[:, j] - z[:, basis] @ slopes
        if left @ left > least:
            basis = np.append(basis, j)
            continue
        members = [*basis[np.abs(slopes) > MEMBER].tolist(), j]
        found.append([names[varies[k]] for k in members])
    return found


def told_of(dependent: list[list[Any]]) -> str:
    """Say which sets of `dependent_columns` there are."""
    sets = [
        f"{c[-1]} is a multiple of {c[0]}, up to a constant"
        if len(c) == 2
        else f"{c[-1]} is a sum of multiples of {_sum_of(c[:-1])}, up to a constant"
        for c in dependent[:3]
    ]
    more = f"; {len(dependent) - 3} more are such sums" if len(dependent) > 3 else ""
    return "; ".join(sets) + more


def _sum_of(names: list) -> str:
    return few(names, 8) if len(names) > 8 else f"{few(names[:-1], 8)} and {names[-1]}"
