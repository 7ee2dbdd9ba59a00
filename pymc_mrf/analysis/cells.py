"""Cells of rows that are to be predicted: states and measurements, some of which may be missing."""

from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from pymc_mrf.checks import first_cell
from pymc_mrf.fields.column_kinds import ColumnKinds, kinds_of_measurements
from pymc_mrf.fields.table_columns import as_table

PREDICTED = "probability", "mean"
"""What is predicted of answers and of measurements."""


class PredictedRows(NamedTuple):
    """Rows of a field with a answers and c measurements.

    Attributes
    ----------
    states : (n, a) int array
        Indices, -1 where a cell is missing.
    measured : (n, c) array
        NaN where a cell is missing.
    labels : list
        Of the rows, or their numbers.
    """

    states: np.ndarray
    measured: np.ndarray
    labels: list


def read_cells(record: ColumnKinds, data: Any) -> PredictedRows:
    """Read rows of a table or an array as the table of this record was read."""
    read = record.read_rows(data, "data")
    values = np.where(read.is_missing, np.nan, read.values)
    if np.isinf(values).any():
        row, i = first_cell(np.isinf(values))
        raise ValueError(
            f"data[{row}, {i}] of node {record.names[i]!r} is {values[row, i]}: give a finite number, or NaN "
            "for a missing cell"
        )
    x = values[:, record.answers]
    states = np.where(np.isnan(x), -1, np.where(np.isnan(x), 0.0, x).astype(np.int64))
    return PredictedRows(states, values[:, record.measurements], read.rows)


def state_coords(record: ColumnKinds) -> dict[str, Any]:
    """Coordinates of the states of answers, as the table writes them.

    "state", and where answers are written differently "label" as well, for each answer and state.
    """
    states: list = record.state_labels
    coords: dict[str, Any] = {"state": states}
    own = [list(record.labels[i] or range(record.n_states[i])) for i in record.answers]
    if any(labels != states[: len(labels)] for labels in own):
        texts = [[str(v) for v in labels] + [""] * (len(states) - len(labels)) for labels in own]
        coords["label"] = (("answer", "state"), texts)
    return coords


def record_of_predictions(predicted: Any) -> ColumnKinds:
    """Return the record of the rows that were predicted."""
    p, mean = (predicted.get(name) if isinstance(predicted, xr.Dataset) else None for name in PREDICTED)
    of_mixed = p is not None and mean is not None
    ends = ("answer", "measurement") if of_mixed else ("node", "node")
    if (p is not None and p.dims != ("obs", ends[0], "state")) or (p is None and mean is None):
        raise TypeError(
            "predicted must be what predict_nodes returns, with the probability of states, of the dims "
            '("obs", "node", "state"), or mean and sd of measurements'
        )
    parts = [] if p is None else [_record_of_states(p.rename({ends[0]: "node"}))]
    if mean is not None and mean.sizes[ends[1]]:
        parts.append(kinds_of_measurements(mean[ends[1]].values.tolist()))
    fields = ("names", "kinds", "n_states", "labels")
    return ColumnKinds(*(sum((getattr(part, name) for part in parts), ()) for name in fields))


def _record_of_states(probabilities: xr.DataArray) -> ColumnKinds:
    """Return the record of answers whose states have these probabilities."""
    names, states = probabilities["node"].values.tolist(), tuple(probabilities["state"].values.tolist())
    labels = [states] * len(names)
    if "label" in probabilities.coords:
        texts = probabilities["label"].transpose("node", "state").values.tolist()
        labels = [tuple(text for text in own if text) for own in texts]
    return ColumnKinds(tuple(names), ("nominal",) * len(names), tuple(map(len, labels)), tuple(labels))


def predicted_cells(predicted: Any, data: Any) -> PredictedRows:
    """Read what was predicted, by the labels of the predictions."""
    record = record_of_predictions(predicted)
    if len(record.answers) and len(record.measurements) and as_table(data) is None:
        raise TypeError(
            "data must be a table with the names of the nodes, as that which was predicted: columns of an "
            "array do not tell answers and measurements apart"
        )
    rows = read_cells(record, data)
    if len(rows.states) != predicted.sizes["obs"]:
        raise ValueError(
            f"data has {len(rows.states)} rows, the predictions {predicted.sizes['obs']}: give those that "
            "were predicted"
        )
    return rows
