"""Posterior predictive checks: agreement or correlation along edges, states of rows, runs of a series."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, by_draw, check_sampled, group_variable
from pymc_mrf.analysis.intervals import interval_probability, summarise
from pymc_mrf.analysis.known_edges import known_field
from pymc_mrf.checks import check_labels, check_option, warn_user
from pymc_mrf.fields.column_kinds import ColumnKinds
from pymc_mrf.fields.column_reader import MAX_STATES
from pymc_mrf.graph.coordinates import coords, node_names
from pymc_mrf.graph.lagged import LaggedGraph, as_directed_or_not
from pymc_mrf.graph.structure import PairwiseGraph, as_graph

if TYPE_CHECKING:
    import pandas as pd

    from pymc_mrf.distributions.kinetic_rv import KineticRV


PREDICTIVE = "pass the results of pm.sample_posterior_predictive as they are, and group= one with draws"


def predictive_check(
    idata: xr.DataTree,
    var_name: str,
    kind: str = "edges",
    *,
    graph: Any = None,
    model: Any = None,
    kinds: ColumnKinds | None = None,
    state: Any = None,
    ci_prob: float | None = None,
    group: str = "posterior_predictive",
) -> "pd.DataFrame":
    """Compare the data with rows that the draws predict: along every edge, or in the runs of every node.

    Parameters
    ----------
    idata : xarray.DataTree
        Results of `pymc.sample` with the group of `pymc.sample_posterior_predictive`.
    var_name : str
        An observed field of the model.
    kind : {"edges", "runs"}
        "edges": of states the share of rows in which the ends of an edge agree; the source of an arrow is in
        an earlier row, so that its share is the *lagged agreement* of two nodes. Of fields with measurements
        the correlation of the ends, for which ordinal answers, and those of two states, count by the numbers
        of their states; edges of answers without an order are left out. Rows in which an end is missing do
        not count.

        "runs", of a field in time: stretches of rows of one series in which a node keeps one state. A missing
        cell ends them.
    graph : networkx.Graph, PairwiseGraph, networkx.DiGraph or LaggedGraph, optional
        The graph of the field, or any other over its nodes: pairs that the model leaves out can be checked
        too. By default it and `kinds` are those of the model's field; lags have to be.
    model : pymc.Model, optional
        Of a field in time, which tells which row follows which; needed where there are arrows, or no `graph`.
    kinds : ColumnKinds, optional
        Of a `MixedMRF` with measurements, what each node is.
    state : int or str, optional
        Count the runs of this state alone, such as 1 of a binary field, as the table of the field writes it.
    ci_prob : float, optional
        Probability of the equal-tailed intervals; ``rcParams["stats.ci_prob"]`` of ArviZ by default.
    group : {"posterior_predictive", "prior_predictive"}

    Returns
    -------
    pandas.DataFrame
        ``observed``; ``mean``, ``low`` and ``high`` of the predictive draws, the ends of the interval; and
        ``missed``, whether the observed number is outside. A row for each edge, NaN for one whose ends are
        never known together; or for each node and the ``number`` of its runs, their ``mean_length`` and the
        ``longest`` in rows, 0 where there is no run.

    Raises
    ------
    TypeError, ValueError
        If a group or variable is missing, is no field of the graph's nodes, has no such state, or is not in
        time where that is needed, or `kinds` are those of other columns.

    Warns
    -----
    UserWarning
        If there are no `kinds`, and nodes with a few whole numbers from 0 are beside measurements.

    See Also
    --------
    plot_ppc_edges, plot_ppc_runs : The pictures.

    Examples
    --------
    >>> pymc_mrf.analysis.predictive_check(idata, "x", model=model)
    >>> pymc_mrf.analysis.predictive_check(idata, "x", "runs", model=model, state=1).loc["longest"]
    """
    import pandas as pd

    check_option(kind, "kind", ("edges", "runs"))
    ci_prob = interval_probability(ci_prob)
    if kind == "runs":
        compare: Any = partial(run_lengths, model=model, state=state)
    else:
        graph, kinds = known_field("predictive_check", model, var_name, graph, kinds)
        is_measured = has_measurements(idata, var_name, group)
        compare = partial(edge_statistic(is_measured, model, kinds), graph=graph)
    predicted = compare(idata, var_name, group=group)
    observed = compare(idata, var_name, group="observed_data")
    several = isinstance(predicted, xr.Dataset)
    parts = dict(predicted.items()) if several else {kind: predicted}
    tables = {}
    for name, of_draws in parts.items():
        check_sampled(of_draws, f"{var_name} of the {group} group", PREDICTIVE)
        summary = summarise(of_draws, ci_prob)
        columns = {end: summary.sel(quantity=end, drop=True) for end in ("mean", "low", "high")}
        table = xr.Dataset(
            {"observed": observed[name] if several else observed, **columns}
        ).to_dataframe()
        table["missed"] = (table["observed"] < table["low"]) | (table["observed"] > table["high"])
        tables[name] = table
    return pd.concat(tables, names=["quantity"]) if several else tables[kind]


def has_measurements(idata: xr.DataTree, var_name: str, group: str) -> bool:
    """Whether a field has measurements, by what was observed and drawn."""
    return (
        not are_states(group_variable(idata, var_name, group))
        and group_variable(idata, var_name, "observed_data").dtype.kind == "f"
    )


def edge_statistic(is_measured: bool, model: Any, kinds: ColumnKinds | None) -> Any:
    """Return the function of rows that `predictive_check` compares along edges."""
    if is_measured:
        return partial(edge_correlation, kinds=kinds)
    return partial(edge_agreement, model=model)


def edge_agreement(
    idata: xr.DataTree,
    var_name: str,
    *,
    graph: Any,
    model: Any = None,
    group: str = "posterior_predictive",
) -> xr.DataArray:
    """Share ("chain", "draw", "edge"), or ("edge",) of data, of the rows whose two ends agree."""
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
    """Correlation ("chain", "draw", "edge"), or ("edge",) of data, over rows of the two ends of an edge.

    NaN for an edge whose ends have fewer than two rows in common, or one value.
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

    "number", "mean_length" and "longest", each ("chain", "draw", "node"), or ("node",) of data.
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
    """
    values = group_variable(idata, var_name, group)
    if of_states and not are_states(values):
        raise TypeError(
            f"{var_name} of the {group} group is {values.dtype}; the states of a field are integers: compare "
            "measurements by pymc_mrf.analysis.predictive_check, arviz_plots.plot_ppc_dist or plot_ppc_tstat"
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
