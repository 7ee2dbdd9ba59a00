"""Cells of rows that are to be predicted: states and measurements, some of which may be missing."""

from typing import Any

import numpy as np

from pymc_mrf.fields.gaussian import read_measurements
from pymc_mrf.fields.tables import read_answers


def cells_of(data: Any, read: Any, n_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers (n, d) of what was `read` of a table, or of an array if that is None, and which are missing.

    Raises
    ------
    ValueError
        If these are no rows of so many nodes.
    """
    if read is not None:
        values, is_missing = np.asarray(read.values, dtype=np.float64), read.is_missing
    else:
        values = np.ma.filled(np.ma.asarray(data, dtype=np.float64), np.nan)
        is_missing = np.isnan(values)
    if values.ndim != 2 or values.shape[1] != n_nodes:
        raise ValueError(f"data has shape {values.shape}; give rows of the {n_nodes} nodes")
    return values, is_missing


def state_indices(data: Any, nodes: Any, states: Any, of_nodes: Any = None) -> np.ndarray:
    """State indices (n, d) of a table or array, -1 where a cell is missing."""
    values, is_missing = cells_of(data, read_answers(data, nodes, of_nodes, "data"), len(nodes))
    x = np.full(values.shape, -1, dtype=np.int64)
    for k, state in enumerate(states):
        x[(values == state) & ~is_missing] = k
    wrong = (x < 0) & ~is_missing
    if of_nodes is not None:
        wrong |= x >= np.array([len(s) for s in of_nodes])
    if wrong.any():
        row, i = (int(k) for k in np.argwhere(wrong)[0])
        raise ValueError(
            f"data[{row}, {i}] is {values[row, i]:g}, which is not a state of node {nodes[i]!r}"
        )
    return x


def measurements(data: Any, nodes: Any) -> np.ndarray:
    """Measurements (n, d) of a table or an array, NaN where a cell is missing."""
    values, is_missing = cells_of(data, read_measurements(data, nodes, "data"), len(nodes))
    x = np.where(is_missing, np.nan, values)
    if np.isinf(x).any():
        row, i = (int(k) for k in np.argwhere(np.isinf(x))[0])
        raise ValueError(
            f"data[{row}, {i}] of node {nodes[i]!r} is {x[row, i]}: give a finite number, or NaN for a "
            "missing cell"
        )
    return x
