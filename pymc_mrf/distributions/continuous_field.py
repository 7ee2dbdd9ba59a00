"""What fields of measurements share as PyMC distributions: checks of their data, registration."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from pymc.distributions.distribution import Continuous
from pytensor.graph.basic import Variable

from pymc_mrf.checks import check_labels, numeric_array, warn_user
from pymc_mrf.distributions.column_warnings import has_own_entries
from pymc_mrf.distributions.field import (
    RegisteredField,
    latent_if_all_missing,
    observed_values,
    registered_node,
)
from pymc_mrf.distributions.field_parameters import check_dims, check_rows
from pymc_mrf.fields.dependence import told_of

Check = Callable[..., list[list[Any]]]
"""Refuses values (n, d) and missing cells that a field cannot have; sets of nodes that are dependent."""


class ContinuousField(RegisteredField, Continuous):
    """Core of the fields of measurements; not used directly."""

    def __new__(cls, name, *args, graph, observed, x, **kwargs):
        """Register the field, as `RegisteredField` does; `x` are the `measured_values` of `observed`."""
        if x is not None:
            observed = observed if isinstance(observed, Variable) else x
            observed, kwargs = latent_if_all_missing(observed, kwargs)
        rv = super().__new__(cls, name, *args, graph=graph, observed=observed, **kwargs)
        check_dims(name, observed, graph)
        if x is not None and observed is not None:
            check_rows(registered_node(rv), x, name)
        return rv


def measured_values(observed: Any, n_nodes: int, check: Check, name: str) -> np.ndarray:
    """Refuse what are no measurements of the nodes; return them as floats, masked where cells are missing."""
    what = f"the {n_nodes} nodes of the graph, in node order"
    values = observed_values(observed, n_nodes, what, 0, name, "iuf").astype(np.float64)
    is_missing = np.isnan(values) | np.ma.getmask(observed)
    values = np.where(is_missing, 0.0, values)
    rows, gaps = values.reshape(-1, n_nodes), is_missing.reshape(-1, n_nodes)
    if dependent := check(rows, gaps, name=f"{name}: observed"):
        warn_user(
            f"{name}: {told_of(dependent)}, in all complete rows: only the priors keep the precision of such "
            "nodes finite, and edges among them are there whatever else the data say; leave one node of each "
            "such set out"
        )
    return np.ma.masked_array(values, is_missing) if is_missing.any() else values


def positive_scale(scale: Any, labels: Sequence) -> tuple[float, ...]:
    """Return what the measurements of these names are divided by, positive numbers."""
    check_labels(scale, labels, "scale", "node")
    values = numeric_array(scale, "scale", "iuf").astype(np.float64)
    if values.shape not in ((), (1,), (len(labels),)):
        raise ValueError(
            f"scale has shape {values.shape}, but there are {len(labels)} measurements: give one number for "
            "each, in node order, or one for all"
        )
    values = np.broadcast_to(values, (len(labels),))
    wrong = ~(np.isfinite(values) & (values > 0))
    if wrong.any():
        raise ValueError(
            f"scale must be positive numbers, but that of {labels[int(np.flatnonzero(wrong)[0])]!r} is "
            f"{values[wrong][0]:g}"
        )
    return tuple(values.tolist())


def check_diagonal(diagonal: Any) -> None:
    """Refuse a diagonal of a precision with numbers that are not positive."""
    numbers = np.ones(0) if isinstance(diagonal, Variable) else np.asarray(diagonal)
    if (numbers <= 0).any():
        raise ValueError(
            f"diagonal must be positive, one over a variance, but has the value "
            f"{numbers[numbers <= 0].flat[0]:g}: give positive numbers, or a positive prior such as pm.Gamma"
        )


def needs_spread(diagonal: Any, n_measured: int) -> bool:
    """Whether the data of each measurement have to tell its entry of the diagonal of the precision."""
    return isinstance(diagonal, Variable) and has_own_entries([diagonal], max(n_measured, 1))
