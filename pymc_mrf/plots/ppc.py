"""Posterior predictive checks of a field: agreement along its edges, states of its rows."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import (
    SAMPLE_DIMS,
    check_model,
    check_sampled,
    check_tree,
)
from pymc_mrf.analysis.intervals import interval_probability, summarise
from pymc_mrf.analysis.known_edges import known_field
from pymc_mrf.analysis.predictive_checks import (
    PREDICTIVE,
    edge_statistic,
    field_rows,
    has_measurements,
    has_unordered_end,
    state_counts,
)
from pymc_mrf.fields.column_kinds import ColumnKinds
from pymc_mrf.plots._collection import Plot, literal, stacked

PREDICTED, MISSED, OBSERVED = "#0072B2", "#D55E00", "#B8B8B8"
MAX_LABELS = 8  # of edges that the model misses most
MAX_BINS = 30


def plot_ppc_edges(
    dt: xr.DataTree,
    var_name: str,
    *,
    graph: Any = None,
    model: Any = None,
    kinds: ColumnKinds | None = None,
    ci_prob: float | None = None,
    group: str = "posterior_predictive",
    visuals: Mapping[str, Any] | None = None,
    **pc_kwargs,
) -> Any:
    """Posterior predictive check of agreement: for every edge, the share of rows with equal ends.

    Of measurements it is the correlation of the ends. One point and interval per edge:
    predictive minus observed share, against the observed share. Where an interval misses zero, point and line
    are orange, and the edges farthest off are named. Rows in which an end is missing do not count, in the
    data or in the predictive draws. The source of an arrow is in an earlier row.

    Parameters
    ----------
    dt : xarray.DataTree
        Results of `pymc.sample` with the group of `pymc.sample_posterior_predictive`.
    var_name : str
        An observed field.
    graph : networkx.Graph, PairwiseGraph, networkx.DiGraph or LaggedGraph, optional
        The graph of the field, or any other over its nodes: pairs that the model leaves out can be
        checked too. By default it and `kinds` are those of the model's field.
    model : pymc.Model, optional
        Of a field in time, if `graph` has arrows.
    kinds : ColumnKinds, optional
        Of a `MixedMRF` with measurements, what each node is: edges of answers without an order are left out,
        and the title says how many.
    ci_prob : float, optional
        Probability of the equal-tailed intervals; ``rcParams["stats.ci_prob"]`` of ArviZ by default.
    group : {"posterior_predictive", "prior_predictive"}
    visuals : mapping, optional
        Keyword arguments, or False to leave it out, for each of "reference", "intervals", "points",
        "missed_intervals", "missed_points", "labels" (with "leaders", lines to them), "title", "xlabel"
        and "ylabel".
    **pc_kwargs
        Passed to `arviz_plots.PlotCollection.wrap`, such as a `backend`, any that arviz-plots has.

    Returns
    -------
    arviz_plots.PlotCollection

    Raises
    ------
    TypeError, ValueError
        If a group or variable is missing, is no field of the graph's nodes, or the graph has no edges;
        also for an unknown visual.

    See Also
    --------
    pymc_mrf.analysis.predictive_check : The numbers.
    plot_ppc_runs : How long the nodes of a field in time keep a state.
    """
    from arviz_plots import visuals as azv

    check_tree(dt, "dt")
    parts = (
        *("reference", "intervals", "points", "missed_intervals", "missed_points", "labels"),
        *("leaders", "title", "xlabel", "ylabel"),
    )
    plot = Plot("plot_ppc_edges", parts, visuals, pc_kwargs, any_backend=True)
    ci_prob = interval_probability(ci_prob)
    graph, kinds = known_field("plot_ppc_edges", model, var_name, graph, kinds)
    is_measured = has_measurements(dt, var_name, group)
    left_out = int(has_unordered_end(kinds, graph).sum()) if is_measured and kinds is not None else 0
    check = edge_statistic(is_measured, model, kinds)
    predicted = check(dt, var_name, graph=graph, group=group)
    check_sampled(predicted, f"{var_name} of the {group} group", PREDICTIVE)
    observed = check(dt, var_name, graph=graph, group="observed_data")
    if not observed.size:
        of_others = " but of answers without an order" if left_out else ""
        raise ValueError(f"graph has no edges{of_others}, whose agreement could be checked")
    unseen = int(observed.isnull().sum())
    if unseen == observed.size:
        raise ValueError(
            f"no row of {var_name} has both ends of an edge, so that nothing can be checked"
        )
    predicted, observed = (
        shares.isel(edge=observed.notnull().values) for shares in (predicted, observed)
    )
    mean, low, high = summarise(predicted, ci_prob).drop_vars("quantity")
    missed = (observed.values < low.values) | (observed.values > high.values)
    corners = {"y": mean - observed, "y_bottom": low - observed, "y_top": high - observed}
    points = stacked({"x": observed, **corners}, var_name)
    plot.open(points, (8.0, 4.8))
    zero = xr.Dataset({var_name: 0.0})
    plot.map("reference", azv.hline, data=zero, color="#606060", width=1.0)
    for keep, prefix, color in ((~missed, "", PREDICTED), (missed, "missed_", MISSED)):
        if keep.any():
            style = {"data": points.isel(edge=keep), "color": color}
            plot.map(f"{prefix}intervals", azv.ci_line_y, alpha=0.35, width=1.0, **style)
            plot.map(f"{prefix}points", azv.scatter_xy, size=14, **style)
    if plot.shows("labels"):
        gap = np.abs(corners["y"].values) / (predicted.std(SAMPLE_DIMS).values + 1e-12)
        worst = [e for e in np.argsort(-gap, kind="stable") if missed[e]][:MAX_LABELS]
        _name_edges(plot, points[var_name], worst)
    share = f"{missed.sum()} of {len(missed)} edges outside their {100 * ci_prob:.0f} % interval"
    if unseen:
        share += f"; {unseen} more without a row that has both ends"
    if left_out:
        share += f"; {left_out} of answers without an order left out"
    what = f"share of rows of {var_name} in which the ends agree", "share"
    if is_measured:
        what = f"correlation of the ends in {var_name}", "correlation"
    at = points.isel(edge=0, plot_axis=0)
    plot.map("title", azv.labelled_title, data=at, text=share)
    plot.map("xlabel", azv.labelled_x, data=at, text=f"observed {what[0]}")
    plot.map("ylabel", azv.labelled_y, data=at, text=f"predictive minus observed {what[1]}")
    return plot.pc


def plot_ppc_magnetisation(
    dt: xr.DataTree,
    var_name: str,
    *,
    model: Any = None,
    ci_prob: float | None = None,
    group: str = "posterior_predictive",
    visuals: Mapping[str, Any] | None = None,
    **pc_kwargs,
) -> Any:
    """Posterior predictive check of the magnetisation: the mean state of a row.

    The bars are the share of observed rows with each magnetisation, the points and lines the predictive
    mean and interval of that share. Of a single row, the predictive distribution is shown, with a line at
    the observed value. Fields of more than two states, and those whose table names states by texts, have a
    plot per state, of the share of nodes in it; of two states, of the second. Pairs alone do not determine
    this distribution, so that it tells of what a pairwise field misses. Of rows with missing cells the others
    count, in the data and in the predictive draws.

    Parameters
    ----------
    dt, var_name, ci_prob, group
        As in `plot_ppc_edges`.
    model : pymc.Model, optional
        With the field, so that states are called what its table called them, if all nodes have the same;
        without, they are the numbers that the draws have.
    visuals : mapping, optional
        Keyword arguments, or False to leave it out, for each of "observed" (bars, or the line of a
        single row), "predictive" (points, or bars for a single row), "intervals", "title", "xlabel"
        and "ylabel".
    **pc_kwargs
        Passed to `arviz_plots.PlotCollection.wrap`.

    Returns
    -------
    arviz_plots.PlotCollection

    Raises
    ------
    TypeError, ValueError
        If a group or variable is missing or holds no integer states; also for an unknown visual.
    """
    from arviz_plots import visuals as azv

    from pymc_mrf.distributions.field_record import labels_of_states

    check_tree(dt, "dt")
    parts = ("observed", "predictive", "intervals", "title", "xlabel", "ylabel")
    plot = Plot("plot_ppc_magnetisation", parts, visuals, pc_kwargs, any_backend=True)
    ci_prob = interval_probability(ci_prob)
    predicted, observed = field_rows(dt, var_name, group), field_rows(dt, var_name, "observed_data")
    check_sampled(predicted, f"{var_name} of the {group} group", PREDICTIVE)
    if predicted.sizes["node"] != observed.sizes["node"]:
        raise ValueError(
            f"{var_name} has {predicted.sizes['node']} nodes in the {group} group and "
            f"{observed.sizes['node']} in observed_data; pass results of one model"
        )
    states = np.union1d(np.unique(predicted.values), np.unique(observed.values))
    states = states[~np.isnan(states)].astype(np.int64)
    names = dict(zip(states.tolist(), states.tolist(), strict=True))
    if model is not None:
        check_model(model)
        names = labels_of_states(model, var_name)
    binary = len(states) <= 2
    counted = states[-1:] if binary else states
    low, high = (names[states[0]], names[states[-1]]) if binary else (0.0, 1.0)
    if isinstance(high, str) or isinstance(low, str):
        low, high = 0.0, 1.0
    d = predicted.sizes["node"]
    edges = _bin_edges(d)
    counts = {"predicted": state_counts(predicted, counted), "observed": state_counts(observed, counted)}
    shares = {name: _row_shares(values, edges) for name, values in counts.items()}
    seen = [s.max([dim for dim in s.dims if dim != "bin"]).values > 0.0 for s in shares.values()]
    first, last = np.flatnonzero(seen[0] | seen[1])[[0, -1]]
    shares = {name: s.isel(bin=slice(first, last + 1)) for name, s in shares.items()}
    scaled = low + (high - low) * (edges[first : last + 2] - 0.5) / d
    left, right = (xr.DataArray(ends, dims="bin") for ends in (scaled[:-1], scaled[1:]))
    mean, bottom, top = summarise(shares["predicted"], ci_prob).drop_vars("quantity")
    n_rows = counts["observed"].sizes["obs"]
    one_row = n_rows == 1
    shapes = {
        "points": {"x": 0.5 * (left + right), "y": mean, "y_bottom": bottom, "y_top": top},
        "bars": {
            "histogram": mean if one_row else shares["observed"],
            "left_edges": left,
            "right_edges": right,
        },
    }
    data = {name: stacked(part, var_name) for name, part in shapes.items()}
    data["row"] = (low + (high - low) * counts["observed"].isel(obs=0) / d).to_dataset(name=var_name)
    if binary:
        data = {name: part.isel(state=0, drop=True) for name, part in data.items()}
        figsize = (6.4, 4.0)
    else:
        figsize = (3.6 * min(len(counted), 4), 3.2 * -(-len(counted) // 4))
    plot.open(data["points"], figsize, cols=[] if binary else ["state"])
    name, color = ("predictive", PREDICTED) if one_row else ("observed", OBSERVED)
    plot.map(name, azv.hist, data=data["bars"], color=color, edgecolor="#FFFFFF")
    if one_row:
        style = {"color": MISSED, "width": 2.5}
        if plot.backend == "matplotlib":
            style["zorder"] = 3
        plot.map("observed", azv.vline, data=data["row"], **style)
        told = "line: observed row, bars: predictive"
    else:
        style = {"data": data["points"], "color": PREDICTED}
        plot.map("intervals", azv.ci_line_y, alpha=0.6, width=1.5, **style)
        plot.map("predictive", azv.scatter_xy, size=18, **style)
        told = f"bars: {n_rows} observed rows, points: predictive, {100 * ci_prob:.0f} % interval"
    at = data["points"].isel(bin=0, plot_axis=0)
    if binary:
        plot.map("title", azv.labelled_title, data=at, text=told)
    else:
        shown = {state: literal(label, plot.backend) for state, label in names.items()}
        plot.map("title", _name_state, data=at, subset_info=True, names=shown)
    across = f"mean state of a row of {var_name}" if binary else "share of nodes in the state"
    if binary and isinstance(names[states[-1]], str):
        across = f"share of nodes in the state {literal(names[states[-1]], plot.backend)}"
    plot.map("xlabel", azv.labelled_x, data=at, text=across)
    plot.map("ylabel", azv.labelled_y, data=at, text="probability" if one_row else "share of rows")
    return plot.pc


def _bin_edges(d: int) -> np.ndarray:
    """First counts of bins of 0..d, and d + 1: a bin per count, or equal ones if there are many."""
    width = -(-(d + 1) // MAX_BINS)
    return np.append(np.arange(0, d + 1, width), d + 1).astype(float)


def _row_shares(counts: xr.DataArray, edges: np.ndarray) -> xr.DataArray:
    """Share of the rows whose count falls into each bin, dims (..., "state", "bin")."""
    where = np.searchsorted(edges, counts.values, side="right") - 1
    index = xr.DataArray(where, dims=counts.dims, coords=counts.coords)
    shares = [(index == b).mean("obs") for b in range(len(edges) - 1)]
    return xr.concat(shares, dim="bin").transpose(..., "state", "bin")


def _name_edges(plot: Plot, points: xr.DataArray, chosen: list) -> None:
    """Write the labels of edges in a column to the right, apart from each other, with leaders."""
    from arviz_plots import visuals as azv

    if not chosen:
        return
    x, y = points.sel(plot_axis="x"), points.sel(plot_axis="y")
    height = float(points.sel(plot_axis="y_top").max() - points.sel(plot_axis="y_bottom").min())
    left, right = float(x.min()), float(x.max())
    width = max(right - left, 1e-3)
    column = right + 0.06 * width
    chosen = sorted(chosen, key=lambda e: float(y[e]))
    heights = [float(y[e]) for e in chosen]
    placed = heights[:1]
    for value in heights[1:]:
        placed.append(max(value, placed[-1] + 0.055 * height))
    shift = np.mean(heights) - np.mean(placed)
    limits = (left - 0.04 * width, right + 0.75 * width)
    name = str(points.name)

    def draw(visual: Any, data: xr.Dataset, **style: Any) -> None:
        plot.pc.map(visual, data=data, ignore_aes="all", store_artist=False, **style)

    draw(azv.set_xlim, points.to_dataset(), limits=limits)
    ticks = _ticks(left, right)
    labels = [f"{tick:.6g}" for tick in ticks]
    draw(azv.set_xticks, points.to_dataset(), values=ticks, labels=labels)
    for e, level in zip(chosen, placed, strict=True):
        ends = {"x": [float(x[e]), column], "y": [float(y[e]), level + shift]}
        line = stacked({k: xr.DataArray(v, dims="end") for k, v in ends.items()}, name)
        if plot.shows("leaders"):
            draw(azv.line_xy, line, **plot.style("leaders", color="#A0A0A0", width=0.6))
        text = f" {literal(points['edge'].values[e], plot.backend)}"
        style = {"text": text, "size": 8, "color": "#202020", "horizontal_align": "left"}
        draw(azv.annotate_xy, line.isel(end=1), **plot.style("labels", **style))


def _ticks(left: float, right: float) -> np.ndarray:
    """Round numbers between two ends, three to eight of them: none below the column of labels."""
    rough = max(right - left, 1e-3) / 4.0
    power = 10.0 ** np.floor(np.log10(rough))
    step = power * max(k for k in (1.0, 2.0, 5.0) if k * power <= rough)
    return step * np.arange(np.ceil(left / step), np.floor(right / step) + 1.0)


def _name_state(
    da: xr.DataArray,
    target: Any,
    *,
    var_name: str,
    sel: Mapping,
    isel: Mapping,
    names: Mapping,
    **style: Any,
) -> Any:
    from arviz_plots import visuals as azv

    return azv.labelled_title(da, target, **{"text": f"state {names[sel['state']]}", **style})
