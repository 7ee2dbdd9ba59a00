"""What posterior predictive checks compare: agreement along edges, states of rows."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, group_variable
from pymc_mrf.checks import check_labels
from pymc_mrf.graph.coordinates import coords
from pymc_mrf.graph.structure import as_graph


def edge_agreement(
    idata: xr.DataTree, var_name: str, *, graph: Any, group: str = "posterior_predictive"
) -> xr.DataArray:
    """Share of the rows of a field in which the two ends of an edge have the same state.

    Rows in which an end is missing do not count.

    Parameters
    ----------
    idata : xarray.DataTree
        Results of `pymc.sample`, extended by those of `pymc.sample_posterior_predictive` for the default
        `group`.
    var_name : str
        An observed field of the model.
    graph : networkx.Graph or PairwiseGraph
        The graph of the field.
    group : {"posterior_predictive", "prior_predictive", "observed_data", ...}

    Returns
    -------
    xarray.DataArray
        With the dimensions ("chain", "draw", "edge"), or ("edge",) for observed data. NaN for an edge whose
        ends are missing, one or both, in every row.

    Raises
    ------
    TypeError, ValueError
        If the group or variable is missing, is no field of the graph's nodes, or holds no integer states.
    """
    graph = as_graph(graph)
    values = field_rows(idata, var_name, group)
    own = coords(graph)["node"]
    check_labels(group_variable(idata, var_name, group), own, var_name, "node")
    if values.sizes["node"] != graph.n_nodes:
        raise ValueError(
            f"{var_name} has {values.sizes['node']} nodes but the graph has {graph.n_nodes}"
        )
    x = np.moveaxis(values.values, -1, 0)  # (d, ..., n)
    seen = ~np.isnan(x)
    with np.errstate(invalid="ignore"):  # 0 / 0
        shares = [(x[u] == x[v]).sum(axis=-1) / (seen[u] & seen[v]).sum(axis=-1) for u, v in graph.edges]
    dims = values.dims[:-2]
    kept = {dim: values[dim] for dim in dims if dim in values.coords}
    return xr.DataArray(
        np.stack(shares, axis=-1) if shares else np.empty((*x.shape[1:-1], 0)),
        dims=(*dims, "edge"),
        coords={**kept, "edge": list(graph.edge_labels)},
        name=var_name,
    )


def field_rows(idata: xr.DataTree, var_name: str, group: str) -> xr.DataArray:
    """States of a field, dims ("chain", "draw") if it is sampled, then "obs" and "node"; NaN where missing.

    Raises
    ------
    TypeError, ValueError
        As `edge_agreement`.
    """
    values = group_variable(idata, var_name, group)
    if not are_states(values):
        raise TypeError(
            f"{var_name} of the {group} group is {values.dtype}; the states of a field are integers"
        )
    sample_dims = [dim for dim in SAMPLE_DIMS if dim in values.dims]
    values = values.transpose(*sample_dims, ...)
    batch = values.dims[len(sample_dims) : -1]
    if values.ndim == len(sample_dims):
        raise ValueError(f"{var_name} of the {group} group has no dimension of nodes")
    shape = [values.sizes[dim] for dim in sample_dims]
    n = int(np.prod([values.sizes[dim] for dim in batch], dtype=np.int64))
    if n == 0 or 0 in shape:
        raise ValueError(
            f"{var_name} of the {group} group is empty: its dims have the sizes {dict(values.sizes)}"
        )
    kept = {dim: values[dim] for dim in sample_dims if dim in values.coords}
    return xr.DataArray(
        values.values.reshape(*shape, n, values.shape[-1]),
        dims=(*sample_dims, "obs", "node"),
        coords=kept,
        name=var_name,
    )


def are_states(values: xr.DataArray) -> bool:
    """Whether all are integers, as floats only beside NaN for missing cells."""
    if values.dtype.kind != "f":
        return values.dtype.kind in "iu"
    return bool((values.isnull() | (values == np.floor(values))).all())


def state_counts(rows: xr.DataArray, states: np.ndarray) -> xr.DataArray:
    """Count the nodes of each row in each of `states` (K,), dims (..., "obs", "state").

    Of rows with missing cells they are scaled up to all nodes and rounded; empty rows are left out.
    """
    seen = rows.notnull().sum("node")
    rows, seen = (v.isel(obs=_anywhere(seen > 0)) for v in (rows, seen))
    counts = [np.rint((rows == state).sum("node") * rows.sizes["node"] / seen) for state in states]
    return xr.concat(counts, dim=xr.Variable("state", states)).transpose(..., "obs", "state")


def _anywhere(values: xr.DataArray) -> np.ndarray:
    """Which observations have a true value in any draw."""
    return values.any([dim for dim in values.dims if dim != "obs"]).values
