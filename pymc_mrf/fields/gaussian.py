"""The Gaussian family: what its parameters are called, and columns of measurements, continuous numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pymc_mrf.checks import first_cell
from pymc_mrf.fields.family import Family
from pymc_mrf.fields.table_columns import Column, column_numbers

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
    values: np.ndarray, is_missing: np.ndarray, nodes: Sequence, name: str
) -> list[tuple[Any, Any]]:
    """Refuse measurements (n, d) of which a Gaussian field can have no precision.

    Returns
    -------
    list of pairs of nodes
        Whose columns are multiples of each other, up to a constant, so that only the prior keeps the
        precision of their nodes finite.

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
    complete = x[~is_missing.any(axis=1)].data
    if len(complete) <= max(2, len(nodes)):
        return []
    C = np.triu(np.corrcoef(complete, rowvar=False), 1) if len(nodes) > 1 else np.zeros((1, 1))
    return [(nodes[i], nodes[j]) for i, j in np.argwhere(np.abs(C) > 1.0 - 1e-10).tolist()]
