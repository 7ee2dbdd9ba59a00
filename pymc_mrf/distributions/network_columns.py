"""Networks of measurements, and of answers without an order, for `network_model`."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pymc as pm

from pymc_mrf.checks import sequence, warn_user
from pymc_mrf.distributions.gaussian import GaussianMRF
from pymc_mrf.distributions.nominal import NominalMRF, table_sizes
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlab
from pymc_mrf.fields.gaussian import check_measurements, why_no_measurement
from pymc_mrf.fields.items import Items
from pymc_mrf.fields.tables import as_numbered_table, column_numbers
from pymc_mrf.graph.structure import PairwiseGraph


class Measurements(NamedTuple):
    """Columns of measurements, in their standard deviations from their means.

    Attributes
    ----------
    names : list
        Of the d columns.
    x : (n, d) array, or masked array if cells are missing
    rows : list
        Labels of the rows, or their numbers.
    mean, sd : (d,) arrays
        Of the columns, in their units.
    """

    names: list
    x: np.ndarray
    rows: list
    mean: np.ndarray
    sd: np.ndarray


def read_columns(value: Any, columns: Sequence | None, others: Sequence = ()) -> Measurements:
    """Read the measurements of a table, and say what has been left out.

    Parameters
    ----------
    value : table of pandas, polars, pyarrow or xarray, or (n, d) array_like
    columns : sequence, optional
        Names of the columns; by default every one that holds numbers.
    others : sequence
        Names of columns that are known to be no measurements.

    Raises
    ------
    ValueError
        If a column that `columns` names holds no measurements, fewer than two do, or one has infinite values
        or the same value in all rows.

    Warns
    -----
    UserWarning
        If columns have been left out.
    """
    table = as_numbered_table(value, "table")
    wanted = [name for name in table.names if name not in others]
    if columns is not None:
        wanted = sequence(columns, "columns", "names")
        absent = [name for name in wanted if name not in table.names]
        if absent:
            raise ValueError(f"table has no column {absent[0]!r}, which `columns` names")
    names, read, left_out = [], [], []
    for name in wanted:
        column = table.column(table.names.index(name))
        reason = why_no_measurement(column)
        if reason and columns is not None:
            raise ValueError(f"table: column {name!r} holds {reason}")
        if reason:
            left_out.append(f"{name!r} ({reason})")
            continue
        names.append(name)
        read.append((column_numbers(column, None, f"table: column {name!r}"), column.is_missing))
    if len(names) < 2:
        raise ValueError(
            f"table has {len(names)} columns of measurements, but a network has two at least"
            + (f"; the others are {'; '.join(left_out)}" if left_out else "")
        )
    if left_out:
        warn_user(f"table: left out as no measurements: {'; '.join(left_out)}")
    values, is_missing = (np.stack(one, axis=1) for one in zip(*read, strict=True))
    check_measurements(values, is_missing, names, "table")
    x = np.ma.masked_array(values.astype(np.float64), is_missing)
    mean, sd = np.ma.getdata(x.mean(axis=0)), np.ma.getdata(x.std(axis=0, ddof=1))
    x = (x - mean) / sd
    return Measurements(names, x if is_missing.any() else x.data, table.rows, mean, sd)


def declare_measured(suffix: str, weight: Any, part: Measurements, graph: PairwiseGraph) -> None:
    """Declare diagonal, means and field of measurements; names end in `suffix`, the rows' dim is there."""
    diagonal = pm.Exponential(f"diagonal{suffix}", 0.5, dims="node")
    mean = pm.Normal(f"mean{suffix}", 0.0, 10.0, dims="node")
    dims = (f"row{suffix}", "node")
    GaussianMRF(f"x{suffix}", weight, diagonal, mean, graph=graph, observed=part.x, dims=dims)


def declare_nominal(p: Any, slab: Any, items: Items, graph: PairwiseGraph, likelihood: Any) -> None:
    """Declare weights, biases and field of answers without an order."""
    blocks = table_sizes(graph, items.n_states)
    slab = pm.Normal.dist(0.0, 1.0) if slab is None else slab
    weight = SpikeAndSlab("weight", p, slab, blocks=blocks)
    bias = pm.Normal("bias", 0.0, 3.0, dims=("node", "state"))
    is_alike = len(set(items.n_states)) == 1
    NominalMRF(
        "x",
        weight,
        bias,
        graph=graph,
        n_states=items.n_states[0] if is_alike else items.n_states,
        observed=items.x,
        likelihood=likelihood,
        dims=("row", "node"),
    )
