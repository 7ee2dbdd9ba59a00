"""The Gaussian family: what its parameters are called, and columns of measurements, continuous numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pymc_mrf.checks import first_cell
from pymc_mrf.fields.dependence import dependent_columns
from pymc_mrf.fields.family import Family
from pymc_mrf.fields.table_columns import Answers, Column, column_numbers
from pymc_mrf.fields.tables import read_nodes

GAUSSIAN = Family("gaussian", (), "weight", "diagonal", title="GaussianMRF")
"""A field without states: its log density is quadratic, -x' K x / 2 with K_uv = -weight, K_uu = diagonal."""


def read_measurements(
    table: Any, nodes: Sequence, name: str, columns: Sequence | None = None
) -> Answers | None:
    """Read the columns of the nodes from a table; None if `table` is none whose columns can have names.

    Columns are found as by `pymc_mrf.fields.tables.read_answers`, and cells without a value are missing, but
    all others are numbers.

    Parameters
    ----------
    table : DataFrame of pandas or polars, pyarrow.Table or 2-d xarray.DataArray; or any
    nodes : sequence of d hashables
    name : str
        Of the argument, for messages.
    columns : sequence, optional
        Names of the columns that are the nodes, in node order, if they are others.

    Raises
    ------
    ValueError
        If a node has no column or a column no node, or a column holds anything but numbers: text, dates,
        truth values or categories.
    """

    def numbers(column: Column, i: int, label: Any) -> np.ndarray:
        return measurements(column, f"{name}: column {label!r}")

    return read_nodes(table, nodes, name, columns, numbers)


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
    values: np.ndarray, is_missing: np.ndarray, nodes: Sequence, name: str
) -> list[list[Any]]:
    """Refuse measurements (n, d) of which a Gaussian field can have no precision.

    Returns
    -------
    list of lists of nodes
        The `dependent_columns`: only the prior keeps the precision of such nodes finite.

    Raises
    ------
    ValueError
        If a cell is infinite, or a node has the same value in all rows, of which there are two or more.
    """
    wrong = ~np.isfinite(values) & ~is_missing
    if wrong.any():
        row, node = first_cell(wrong)
        raise ValueError(
            f"{name} has {values[row, node]} in row {row} of {nodes[node]!r}, and {int(wrong.sum())} such "
            "cells: replace them by finite numbers, or by missing cells if they stand for these"
        )
    x = np.ma.masked_array(values, is_missing)
    seen = (~is_missing).sum(axis=0)
    for i in np.flatnonzero(seen > 1).tolist():
        if x[:, i].max() == x[:, i].min():
            raise ValueError(
                f"{name}: {nodes[i]!r} is {x[:, i].max():g} in all rows, of which its precision would be "
                "infinite: leave this node out of the graph, and its column out of the data"
            )
    return dependent_columns(values, is_missing, nodes)


def check_spread(is_missing: np.ndarray, names: Sequence, name: str) -> None:
    """Refuse columns (n, d) with fewer than two values, which have no standard deviation.

    Raises
    ------
    ValueError
        That names them.
    """
    if len(is_missing) == 1:
        raise ValueError(
            f"{name} has one row, of which no column has a standard deviation: give a row for each person"
        )
    seen = (~is_missing).sum(axis=0)
    for count, what in ((0, "no values"), (1, "one value only")):
        columns = [repr(names[i]) for i in np.flatnonzero(seen == count).tolist()]
        if columns:
            raise ValueError(
                f"{name}: column{'s' if len(columns) > 1 else ''} {', '.join(columns)} "
                f"{'have' if len(columns) > 1 else 'has'} {what}, and so no standard deviation: drop "
                f"{'them' if len(columns) > 1 else 'it'}"
            )
