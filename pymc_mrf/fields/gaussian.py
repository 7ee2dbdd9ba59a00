"""The Gaussian family: what its parameters are called, and columns of measurements, continuous numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pymc_mrf.checks import first_cell
from pymc_mrf.fields.family import Family
from pymc_mrf.fields.table_columns import Column, column_numbers, dependent_columns

ROUNDING = 64 * float(
    np.finfo(np.float64).eps
)  # of the size of its numbers, up to which a column is constant

GAUSSIAN = Family("gaussian", (), "weight", "diagonal", title="GaussianMRF")
"""A field without states: its log density is quadratic, -x' K x / 2 with K_uv = -weight, K_uu = diagonal."""


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
