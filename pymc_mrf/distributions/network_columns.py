"""Networks of measurements, of answers without an order, and of several kinds, for `network_model`."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pymc as pm

from pymc_mrf.checks import warn_user
from pymc_mrf.distributions.gaussian import GaussianMRF
from pymc_mrf.distributions.mixed import MixedMRF
from pymc_mrf.distributions.nominal import NominalMRF, table_sizes
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlab
from pymc_mrf.fields.column_kinds import ColumnKinds, check_mixed, read_mixed
from pymc_mrf.fields.gaussian import check_measurements, check_spread, measurements, why_no_measurement
from pymc_mrf.fields.items import Items, places_of
from pymc_mrf.fields.state_numbers import one_or_each
from pymc_mrf.fields.table_columns import as_numbered_table, read_places
from pymc_mrf.graph.structure import PairwiseGraph


class Measurements(NamedTuple):
    """Columns of measurements, in their standard deviations from their means; beside answers as they are.

    Attributes
    ----------
    names : list
        Of the d columns.
    x : (n, d) array, or masked array if cells are missing
    rows : list
        Labels of the rows, or their numbers.
    mean, sd : (c,) arrays
        Of the measurements, in their units.
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
        the same value in all rows, or fewer than two values.

    Warns
    -----
    UserWarning
        If columns have been left out.
    """
    table = as_numbered_table(value, "table")
    places, said = places_of("measurement", table, columns, others, why_no_measurement)
    if said:
        warn_user(f"table: {said[0]}")
    read = read_places(table, places, lambda c, _, name: measurements(c, f"table: column {name!r}"))
    names, (values, is_missing, rows) = [table.names[k] for k in places], read
    check_measurements(values, is_missing, names, "table")
    check_spread(is_missing, names, "table")
    x = np.ma.masked_array(values, is_missing)
    mean, sd = _mean_and_sd(x)
    x = (x - mean) / sd
    return Measurements(names, x if is_missing.any() else x.data, rows, mean, sd)


def read_kinds(value: Any, kinds: ColumnKinds) -> Measurements:
    """Read states and measurements of the columns of these kinds; others are left out.

    Parameters
    ----------
    value : table of pandas, polars, pyarrow or xarray, or (n, d) array_like
    kinds : ColumnKinds

    Raises
    ------
    ValueError
        If the table lacks a column, or one is of another kind, or holds what its kind cannot have.
    """
    read = read_mixed(as_numbered_table(value, "table"), kinds, "table", kinds.names)
    assert read is not None  # it is a table
    values, is_missing = np.where(read.is_missing, 0.0, read.values), read.is_missing
    check_mixed(values, is_missing, kinds, "table")
    m = kinds.measurements
    if len(m):
        check_spread(is_missing[:, m], [kinds.names[i] for i in m], "table")
    x = np.ma.masked_array(values, is_missing)
    mean, sd = _mean_and_sd(x[:, kinds.measurements])
    return Measurements(list(kinds.names), x if is_missing.any() else values, read.rows, mean, sd)


def _mean_and_sd(x: np.ma.MaskedArray) -> tuple[np.ndarray, np.ndarray]:
    """Means and standard deviations (c,) of columns of measurements (n, c)."""
    return np.ma.getdata(x.mean(axis=0)), np.ma.getdata(x.std(axis=0, ddof=1))


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
    weight = SpikeAndSlab("weight", p, slab, blocks=blocks, dims="entry")
    bias = pm.Normal("bias", 0.0, 3.0, dims=("node", "state"))
    options = {"observed": items.x, "likelihood": likelihood, "dims": ("row", "node")}
    NominalMRF("x", weight, bias, graph=graph, n_states=one_or_each(items.n_states), **options)


def declare_mixed(
    p: Any, slab: Any, part: Measurements, kinds: ColumnKinds, graph: PairwiseGraph, likelihood: Any
) -> None:
    """Declare weights, biases, diagonal, means and field of columns of several kinds."""
    if slab is None:
        slab = pm.Normal.dist(0.0, 1.0) if "nominal" in kinds.kinds else pm.Cauchy.dist(0.0, 2.0)
    weight = SpikeAndSlab("weight", p, slab, blocks=kinds.block_sizes(graph), dims="entry")
    bias = pm.Normal("bias", 0.0, 3.0, dims=("answer", "state"))
    options = {
        "graph": graph, "kinds": kinds, "observed": part.x, "likelihood": likelihood, "dims": ("row", "node"),
    }  # fmt: skip
    if not len(kinds.measurements):
        MixedMRF("x", weight, bias, **options)
        return
    for name, values in (("column_mean", part.mean), ("column_sd", part.sd)):
        pm.Data(name, values, dims="measurement")
    diagonal = pm.Exponential("diagonal", 0.5, dims="measurement")
    mean = pm.Normal("mean", part.mean, 10.0 * part.sd, dims="measurement")
    MixedMRF("x", weight, bias, diagonal, mean, scale=part.sd, **options)
