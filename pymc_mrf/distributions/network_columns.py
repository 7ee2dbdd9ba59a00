"""Networks of measurements, of answers without an order, and of several kinds, for `network_model`."""

from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.logprob.transforms import Transform

from pymc_mrf.distributions.gaussian import GaussianMRF
from pymc_mrf.distributions.mixed import MixedMRF
from pymc_mrf.distributions.multistate import NominalMRF
from pymc_mrf.fields.column_kinds import ColumnKinds, check_mixed
from pymc_mrf.fields.families import one_or_each
from pymc_mrf.fields.table_columns import Table
from pymc_mrf.graph.structure import PairwiseGraph


class TableRows(NamedTuple):
    """Rows of a table as a field takes them.

    `kinds`: what the table was. `x` (n, d), or masked if cells are missing: states, as integers if there
    is nothing else, and measurements. `labels`: labels of the rows, or their numbers. `mean` and `sd`
    (c,): of the measurements, in their units.
    """

    kinds: ColumnKinds
    x: np.ndarray
    labels: list
    mean: np.ndarray
    sd: np.ndarray


def read_rows(table: Table, kinds: ColumnKinds) -> TableRows:
    """Read states and measurements of the columns of these kinds; others are left out.

    Raises a ValueError if the table lacks a column, or one is of another kind, or holds what its kind
    cannot have.
    """
    read = kinds.read(table, "table", kinds.names)
    assert read is not None  # it is a table
    values, is_missing = np.where(read.is_missing, 0.0, read.values), read.is_missing
    check_mixed(values, is_missing, kinds, "table")
    if not kinds.is_measured.any():
        values = values.astype(np.int64)
    x = np.ma.masked_array(values, is_missing)
    y = x[:, kinds.measurements]
    mean, sd = np.ma.getdata(y.mean(axis=0)), np.ma.getdata(y.std(axis=0, ddof=1))
    return TableRows(kinds, x if is_missing.any() else values, read.rows, mean, sd)


class Standardised(Transform):
    """Deviations from `mean` over `sd`: what samplers move in the place of means of measurements."""

    name = "standardised"
    ndim_supp = 0

    def __init__(self, mean: np.ndarray, sd: np.ndarray) -> None:
        self.mean, self.sd = mean, sd

    def forward(self, value, *inputs):
        return (value - self.mean) / self.sd

    def backward(self, value, *inputs):
        return self.mean + self.sd * value

    def log_jac_det(self, value, *inputs):
        """Log of the derivative of `backward`."""
        return pt.zeros_like(value) + np.log(self.sd)


def declare_measured(suffix: str, weight: Any, part: TableRows, graph: PairwiseGraph) -> None:
    """Declare diagonal, means and field of measurements; names end in `suffix`, the rows' dim is there."""
    diagonal = pm.Exponential(f"diagonal{suffix}", 0.5, dims="node")
    mean = _means(f"mean{suffix}", part, "node")
    options = {
        "scale": part.sd,
        "observed": part.x,
        "record": part.kinds,
        "dims": (f"row{suffix}", "node"),
    }
    GaussianMRF(f"x{suffix}", weight, diagonal, mean, graph=graph, **options)


def _means(name: str, part: TableRows, dim: str) -> Any:
    """Declare means of measurements, nearly flat; samplers move them standardised."""
    moved = Standardised(part.mean, part.sd)
    return pm.Normal(name, part.mean, 10.0 * part.sd, dims=dim, default_transform=moved)


def declare_nominal(
    suffix: str, weight: Any, part: TableRows, graph: PairwiseGraph, likelihood: Any
) -> None:
    """Declare biases and field of answers without an order; names end in `suffix`, the rows' dim is there."""
    bias = pm.Normal(f"bias{suffix}", 0.0, 3.0, dims=("node", "state"))
    options = {
        "observed": part.x, "record": part.kinds, "likelihood": likelihood, "dims": (f"row{suffix}", "node"),
    }  # fmt: skip
    n_states = one_or_each(list(part.kinds.n_states))
    NominalMRF(f"x{suffix}", weight, bias, graph=graph, n_states=n_states, **options)


def declare_mixed(
    suffix: str, weight: Any, part: TableRows, graph: PairwiseGraph, likelihood: Any
) -> None:
    """Declare biases, diagonal, means and field of several kinds; names end in `suffix`."""
    kinds = part.kinds
    bias = pm.Normal(f"bias{suffix}", 0.0, 3.0, dims=("answer", "state"))
    options = {
        "graph": graph, "kinds": kinds, "observed": part.x, "record": kinds, "likelihood": likelihood,
        "dims": (f"row{suffix}", "node"),
    }  # fmt: skip
    if not len(kinds.measurements):
        MixedMRF(f"x{suffix}", weight, bias, **options)
        return
    diagonal = pm.Exponential(f"diagonal{suffix}", 0.5, dims="measurement")
    mean = _means(f"mean{suffix}", part, "measurement")
    MixedMRF(f"x{suffix}", weight, bias, diagonal, mean, scale=part.sd, **options)


def keep_units(part: TableRows, dim: str) -> None:
    for name, values in (("column_mean", part.mean), ("column_sd", part.sd)):
        pm.Data(name, values, dims=dim)
