"""What posterior predictive checks compare: agreement along edges, states of rows, runs of a series."""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, by_draw, group_variable
from pymc_mrf.analysis.known_edges import known_field
from pymc_mrf.checks import check_labels, warn_user
from pymc_mrf.fields.column_kinds import ColumnKinds
from pymc_mrf.fields.column_reader import MAX_STATES
from pymc_mrf.graph.coordinates import coords, node_names
from pymc_mrf.graph.lagged import LaggedGraph, as_directed_or_not
from pymc_mrf.graph.structure import PairwiseGraph, as_graph

if TYPE_CHECKING:
    from pymc_mrf.distributions.kinetic_rv import KineticRV


def edge_agreement(
    idata: xr.DataTree,
    var_name: str,
    *,
    graph: Any = None,
    model: Any = None,
    group: str = "posterior_predictive",
) -> xr.DataArray:
    """Share of the rows of a field in which the two ends of an edge have the same state.

    Rows in which an end is missing do not count. The source of an arrow is in an earlier row, so that its
    share is the *lagged agreement* of two nodes.

    Parameters
    ----------
    idata : xarray.DataTree
        Results of `pymc.sample`, extended by those of `pymc.sample_posterior_predictive` for the default
        `group`.
    var_name : str
        An observed field of the model.
    graph : networkx.Graph, PairwiseGraph, networkx.DiGraph or LaggedGraph, optional
        The graph of the field, or any other over its nodes; its lags are those of the field. By default that
        of the model's field.
    model : pymc.Model, optional
        Of a field in time, which tells which row follows which; needed where there are arrows, or no `graph`.
    group : {"posterior_predictive", "prior_predictive", "observed_data", ...}

    Returns
    -------
    xarray.DataArray
        With the dimensions ("chain", "draw", "edge"), or ("edge",) for observed data. NaN for an edge whose
        ends are missing, one or both, in every row.

    Raises
    ------
    TypeError, ValueError
        If the group or variable is missing, is no field of the graph's nodes, or holds no integer states; if
        there are arrows, and no model that has a field in time with their lags.
    """
    graph, _ = known_field("edge_agreement", model, var_name, graph, None)
    graph = as_directed_or_not(graph)
    values = _rows_of(graph, idata, var_name, group)
    x = np.moveaxis(values.values, -1, 0)  # (d, ..., n)
    times, lag_of = [x, x], np.zeros(graph.n_edges, dtype=int)
    if isinstance(graph, LaggedGraph):
        times, lag_of = _at_lags(x, graph, model, var_name), graph.lag_of
    shares = np.empty((*x.shape[1:-1], graph.n_edges))
    for e, ((u, v), k) in enumerate(zip(graph.edges, lag_of, strict=True)):
        source, target = times[k][u], times[0][v]
        with np.errstate(invalid="ignore"):  # 0 / 0
            n_seen = (~np.isnan(source + target)).sum(axis=-1)
            shares[..., e] = (source == target).sum(axis=-1) / n_seen
    return by_draw(values, shares, var_name, edge=list(graph.edge_labels))


def edge_correlation(
    idata: xr.DataTree,
    var_name: str,
    *,
    graph: Any,
    kinds: ColumnKinds | None = None,
    group: str = "posterior_predictive",
) -> xr.DataArray:
    """Correlation over rows of the two ends of an edge, for fields of measurements.

    Rows in which an end is missing do not count. Of a mixed field ordinal answers, and those of two states,
    count by the numbers of their states.

    Parameters
    ----------
    idata, var_name, group
        As of `edge_agreement`.
    graph : networkx.Graph or PairwiseGraph
        The graph of the field, or any other over its nodes.
    kinds : ColumnKinds, optional
        Of a `MixedMRF`, what each node is: edges of answers without an order are then left out, as the
        numbers of their states say nothing.

    Returns
    -------
    xarray.DataArray
        With the dimensions ("chain", "draw", "edge"), or ("edge",) for observed data. NaN for an edge whose
        ends have fewer than two rows in common, or one value.

    Raises
    ------
    TypeError, ValueError
        If the group or variable is missing, or is no field of the graph's nodes, or these are not the columns
        of `kinds`.

    Warns
    -----
    UserWarning
        If there are no `kinds`, and nodes with a few whole numbers from 0 are beside measurements.
    """
    graph = as_graph(graph)
    values = _rows_of(graph, idata, var_name, group, of_states=False)
    x = np.moveaxis(values.values.astype(np.float64), -1, 0)  # (d, ..., n)
    kept_edges = np.arange(graph.n_edges)
    if kinds is None:
        _warn_of_states(x.reshape(len(x), -1, x.shape[-1])[:, 0], graph, var_name)
    else:
        kept_edges = np.flatnonzero(~has_unordered_end(kinds, graph))
    found = np.empty((*x.shape[1:-1], len(kept_edges)))
    for e, (u, v) in enumerate(graph.edges[kept_edges]):
        is_seen = ~np.isnan(x[u] + x[v])
        n = is_seen.sum(axis=-1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):  # 0 / 0
            a, b = (np.where(is_seen, x[i], 0.0) for i in (u, v))
            a, b = (np.where(is_seen, y - y.sum(axis=-1, keepdims=True) / n, 0.0) for y in (a, b))
            scale = np.sqrt((a**2).sum(axis=-1) * (b**2).sum(axis=-1))
            found[..., e] = (a * b).sum(axis=-1) / scale
    return by_draw(values, found, var_name, edge=[graph.edge_labels[e] for e in kept_edges])


def has_unordered_end(kinds: ColumnKinds, graph: Any) -> np.ndarray:
    """Whether an end of each edge (r,) has three or more states without an order."""
    graph = kinds.checked(graph)
    is_unordered = np.array(kinds.kinds) == "nominal"
    return (is_unordered & (np.array(kinds.n_states) > 2))[graph.edges].any(axis=1)


def _warn_of_states(x: np.ndarray, graph: Any, var_name: str) -> None:
    """Warn if nodes of rows (d, n) seem to hold states, beside others with measurements."""
    whole = np.where(np.isnan(x), 0.0, x)
    is_whole = (whole == np.round(whole)).all(axis=1)
    like_states = is_whole & (whole.min(axis=1) >= 0) & (whole.max(axis=1) >= 2)
    like_states &= whole.max(axis=1) < MAX_STATES
    if like_states.any() and not is_whole.all():
        node = graph.nodes[int(np.flatnonzero(like_states)[0])]
        warn_user(
            f"{var_name} has measurements, but at {node!r} a few whole numbers: correlations with states "
            "that have no order say nothing; give kinds, what pymc_mrf.column_kinds found, to leave these out"
        )


def _rows_of(
    graph: PairwiseGraph | LaggedGraph,
    idata: xr.DataTree,
    var_name: str,
    group: str,
    *,
    of_states: bool = True,
) -> xr.DataArray:
    """Values of a field of the nodes of a graph, as of `field_rows`."""
    values = field_rows(idata, var_name, group, of_states=of_states)
    given, labels = group_variable(idata, var_name, group), coords(graph)["node"]
    check_labels(given, labels, var_name, "node", own_names=True)
    if values.sizes["node"] != graph.n_nodes:
        raise ValueError(
            f"{var_name} has {values.sizes['node']} nodes but the graph has {graph.n_nodes}"
        )
    return values


def _at_lags(x: np.ndarray, graph: LaggedGraph, model: Any, var_name: str) -> list[np.ndarray]:
    """States (d, ..., n) of the rows with a past, and of the rows one lag earlier, and so on."""
    op = _field_in_time(model, var_name, x.shape[-1])
    if op.graph.lags != graph.lags:
        raise ValueError(
            f"graph has the lags {graph.lags}, but {var_name} {op.graph.lags}: they must be the same"
        )
    return [x[..., rows] for rows in op.rows.observations.T]


def _field_in_time(model: Any, var_name: str, n_rows: int) -> "KineticRV":
    """Field in time of a model, with so many rows."""
    import pymc as pm

    from pymc_mrf.analysis.forecast import field_in_time

    if not isinstance(model, pm.Model):
        raise TypeError(
            f"model must be the pymc.Model of {var_name}, which tells which row follows which, not {model!r}"
        )
    op: KineticRV = field_in_time(model, var_name)[1].op
    if op.rows.n_rows != n_rows:
        raise ValueError(
            f"{var_name} has {op.rows.n_rows} rows in the model and {n_rows} in the draws; pass results of "
            "one model"
        )
    return op


def run_lengths(
    idata: xr.DataTree,
    var_name: str,
    *,
    model: Any,
    state: Any = None,
    group: str = "posterior_predictive",
) -> xr.Dataset:
    """Count the runs of every node of a field in time, and tell their mean and their largest length.

    A run is a stretch of rows of one series in which a node keeps one state. A missing cell ends it.

    Parameters
    ----------
    idata, var_name, group
        As of `edge_agreement`.
    model : pymc.Model
        With the `KineticMRF`, which tells which row follows which.
    state : int or str, optional
        Count the runs of this state alone, such as 1 of a binary field, as the table of the field writes it.

    Returns
    -------
    xarray.Dataset
        "number", "mean_length" and "longest", with the dimensions ("chain", "draw", "node"), or ("node",) for
        observed data; lengths are numbers of rows, and 0 where there is no run.

    Raises
    ------
    TypeError, ValueError
        If the group or variable is missing, is no field in time of the model, or has no such state.

    See Also
    --------
    plot_ppc_runs : The picture.
    """
    from pymc_mrf.distributions.field_record import labels_of_states

    values = field_rows(idata, var_name, group)
    op = _field_in_time(model, var_name, values.sizes["obs"])
    number = None
    if state is not None:
        number_of_label = {label: k for k, label in labels_of_states(model, var_name).items()}
        if state not in number_of_label:
            raise ValueError(
                f"state={state!r} is none of {var_name}, whose states are {list(number_of_label)}: name one"
            )
        number = number_of_label[state]
    order = np.concatenate(list(op.rows.places.values()))
    starts = np.zeros(len(order), dtype=bool)
    starts[np.cumsum([0, *map(len, op.rows.places.values())][:-1])] = True
    x = values.values[..., order, :].swapaxes(-1, -2)  # (..., d, T)
    flat = x.reshape(-1, x.shape[-1])
    found = np.array([_runs(line, starts, number) for line in flat]).T
    names = ("number", "mean_length", "longest")
    return xr.Dataset(
        {
            name: by_draw(values, column.reshape(x.shape[:-1]), name, node=node_names(op.graph))
            for name, column in zip(names, found, strict=True)
        }
    )


def _runs(x: np.ndarray, starts: np.ndarray, state: int | None) -> tuple[int, float, int]:
    """Count the runs of a node (T,), mean and largest length; `starts` (T,) of series end runs."""
    first = np.flatnonzero(starts | (x != np.r_[np.nan, x[:-1]]))
    lengths, kinds = np.diff(first, append=len(x)), x[first]
    lengths = lengths[~np.isnan(kinds) if state is None else kinds == state]
    return (len(lengths), lengths.mean(), lengths.max()) if len(lengths) else (0, 0.0, 0)


def field_rows(idata: xr.DataTree, var_name: str, group: str, *, of_states: bool = True) -> xr.DataArray:
    """States of a field, dims ("chain", "draw") if it is sampled, then "obs" and "node"; NaN where missing.

    Values of any kind if they need not be `of_states`.

    Raises
    ------
    TypeError, ValueError
        As `edge_agreement`.
    """
    values = group_variable(idata, var_name, group)
    if of_states and not are_states(values):
        raise TypeError(
            f"{var_name} of the {group} group is {values.dtype}; the states of a field are integers: compare "
            "measurements by pymc_mrf.analysis.edge_correlation, arviz_plots.plot_ppc_dist or plot_ppc_tstat"
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
    rows = values.values.reshape(*shape, n, values.shape[-1])
    return by_draw(values, rows, var_name, obs=None, node=None)


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
