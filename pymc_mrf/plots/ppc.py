"""Posterior predictive checks of a field: agreement along its edges, states of its rows."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, check_tree, group_variable
from pymc_mrf.analysis.predictive_checks import (
    are_states,
    edge_agreement,
    edge_correlation,
    field_rows,
    has_unordered_end,
    state_counts,
)
from pymc_mrf.checks import number
from pymc_mrf.fields.column_kinds import ColumnKinds
from pymc_mrf.plots._collection import any_collection, literal, visual_options

PREDICTED, MISSED, OBSERVED = "#0072B2", "#D55E00", "#B8B8B8"
MAX_LABELS = 8  # of edges that the model misses most
MAX_BINS = 30


def plot_ppc_edges(
    dt: xr.DataTree,
    var_name: str,
    *,
    graph: Any,
    model: Any = None,
    kinds: ColumnKinds | None = None,
    ci_prob: float | None = None,
    group: str = "posterior_predictive",
    backend: str | None = None,
    visuals: Mapping[str, Any] | None = None,
    **pc_kwargs,
) -> Any:
    """Posterior predictive check of agreement: for every edge, the share of rows with equal ends.

    Of measurements it is the correlation of the ends (`edge_correlation`). One point and interval per edge:
    predictive minus observed share, against the observed share. Where an interval misses zero, point and line
    are orange, and the edges farthest off are named. Rows in which an end is missing do not count, in the
    data or in the predictive draws. The source of an arrow is in an earlier row.

    Parameters
    ----------
    dt : xarray.DataTree
        Results of `pymc.sample` with the group of `pymc.sample_posterior_predictive`.
    var_name : str
        An observed field.
    graph : networkx.Graph, PairwiseGraph, networkx.DiGraph or LaggedGraph
        The graph of the field, or any other over its nodes: pairs that the model leaves out can be
        checked too.
    model : pymc.Model, optional
        Of a field in time, if `graph` has arrows; see `edge_agreement`.
    kinds : ColumnKinds, optional
        Of a `MixedMRF` with measurements, what each node is: edges of answers without an order are left out,
        and the title says how many.
    ci_prob : float, optional
        Probability of the equal-tailed intervals; ``rcParams["stats.ci_prob"]`` of ArviZ by default.
    group : {"posterior_predictive", "prior_predictive"}
    backend : str, optional
        Any backend of arviz-plots.
    visuals : mapping, optional
        Keyword arguments, or False to leave it out, for each of "reference", "intervals", "points",
        "missed_intervals", "missed_points", "labels" (with "leaders", lines to them), "title", "xlabel"
        and "ylabel".
    **pc_kwargs
        Passed to `arviz_plots.PlotCollection.wrap`.

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
    edge_agreement, edge_correlation : The numbers.
    plot_ppc_runs : How long the nodes of a field in time keep a state.
    """
    from arviz_plots import visuals as azv

    parts = ("intervals", "points", "missed_intervals", "missed_points")
    check_tree(dt, "dt")
    options = visual_options(
        visuals, ("reference", *parts, "labels", "leaders", "title", "xlabel", "ylabel")
    )
    ci_prob = interval_probability(ci_prob)
    is_measured = (
        not are_states(group_variable(dt, var_name, group))
        and group_variable(dt, var_name, "observed_data").dtype.kind == "f"
    )
    check: Any = partial(edge_agreement, model=model)
    left_out = 0
    if is_measured:
        check = partial(edge_correlation, kinds=kinds)
        left_out = 0 if kinds is None else int(has_unordered_end(kinds, graph).sum())
    predicted = check(dt, var_name, graph=graph, group=group)
    check_sampled(predicted, var_name, group)
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
    mean, low, high = summarise(predicted, ci_prob)
    missed = (observed.values < low.values) | (observed.values > high.values)
    corners = {"y": mean - observed, "y_bottom": low - observed, "y_top": high - observed}
    points = _stacked({"x": observed, **corners}, var_name)
    pc = any_collection(points, backend=backend, figsize=(8.0, 4.8), **pc_kwargs)
    if options["reference"] is not False:
        style = {"color": "#606060", "width": 1.0, **options["reference"]}
        zero = xr.Dataset({var_name: 0.0})
        pc.map(azv.hline, "reference", data=zero, ignore_aes="all", **style)
    for keep, prefix, color in ((~missed, "", PREDICTED), (missed, "missed_", MISSED)):
        part = points.isel(edge=keep)
        if options[f"{prefix}intervals"] is not False and keep.any():
            style = {"color": color, "alpha": 0.35, "width": 1.0, **options[f"{prefix}intervals"]}
            pc.map(azv.ci_line_y, f"{prefix}intervals", data=part, ignore_aes="all", **style)
        if options[f"{prefix}points"] is not False and keep.any():
            style = {"color": color, "size": 14, **options[f"{prefix}points"]}
            pc.map(azv.scatter_xy, f"{prefix}points", data=part, ignore_aes="all", **style)
    if options["labels"] is not False:
        gap = np.abs(corners["y"].values) / (predicted.std(SAMPLE_DIMS).values + 1e-12)
        worst = [e for e in np.argsort(-gap, kind="stable") if missed[e]][:MAX_LABELS]
        _name_edges(pc, points[var_name], worst, options)
    share = f"{missed.sum()} of {len(missed)} edges outside their {100 * ci_prob:.0f} % interval"
    if unseen:
        share += f"; {unseen} more without a row that has both ends"
    if left_out:
        share += f"; {left_out} of answers without an order left out"
    what = f"share of rows of {var_name} in which the ends agree", "share"
    if is_measured:
        what = f"correlation of the ends in {var_name}", "correlation"
    labels = {
        "title": (azv.labelled_title, share),
        "xlabel": (azv.labelled_x, f"observed {what[0]}"),
        "ylabel": (azv.labelled_y, f"predictive minus observed {what[1]}"),
    }
    _write(pc, points.isel(edge=0), labels, options)
    return pc


def plot_ppc_magnetisation(
    dt: xr.DataTree,
    var_name: str,
    *,
    ci_prob: float | None = None,
    group: str = "posterior_predictive",
    backend: str | None = None,
    visuals: Mapping[str, Any] | None = None,
    **pc_kwargs,
) -> Any:
    """Posterior predictive check of the magnetisation: the mean state of a row.

    The bars are the share of observed rows with each magnetisation, the points and lines the predictive
    mean and interval of that share. Of a single row, the predictive distribution is shown, with a line at
    the observed value. Fields of more than two states have a plot per state, of the share of
    nodes in it. Pairs alone do not determine this distribution, so that it tells of what a
    pairwise field misses. Of rows with missing cells the others count, in the data and in the predictive
    draws.

    Parameters
    ----------
    dt, var_name, ci_prob, group, backend
        As in `plot_ppc_edges`.
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

    check_tree(dt, "dt")
    options = visual_options(
        visuals, ("observed", "predictive", "intervals", "title", "xlabel", "ylabel")
    )
    ci_prob = interval_probability(ci_prob)
    predicted, observed = field_rows(dt, var_name, group), field_rows(dt, var_name, "observed_data")
    check_sampled(predicted, var_name, group)
    if predicted.sizes["node"] != observed.sizes["node"]:
        raise ValueError(
            f"{var_name} has {predicted.sizes['node']} nodes in the {group} group and "
            f"{observed.sizes['node']} in observed_data; pass results of one model"
        )
    states = np.union1d(np.unique(predicted.values), np.unique(observed.values))
    states = states[~np.isnan(states)].astype(np.int64)
    binary = len(states) <= 2
    shown = states[-1:] if binary else states
    low, high = (states[0], states[-1]) if binary else (0.0, 1.0)
    d = predicted.sizes["node"]
    edges = _bin_edges(d)
    counts = {"predicted": state_counts(predicted, shown), "observed": state_counts(observed, shown)}
    shares = {name: _row_shares(values, edges) for name, values in counts.items()}
    seen = [s.max([dim for dim in s.dims if dim != "bin"]).values > 0.0 for s in shares.values()]
    first, last = np.flatnonzero(seen[0] | seen[1])[[0, -1]]
    shares = {name: s.isel(bin=slice(first, last + 1)) for name, s in shares.items()}
    scaled = low + (high - low) * (edges[first : last + 2] - 0.5) / d
    left, right = (xr.DataArray(ends, dims="bin") for ends in (scaled[:-1], scaled[1:]))
    mean, bottom, top = summarise(shares["predicted"], ci_prob)
    n_rows = counts["observed"].sizes["obs"]
    one_row = n_rows == 1
    bars = {"left_edges": left, "right_edges": right}
    parts = {
        "points": {"x": 0.5 * (left + right), "y": mean, "y_bottom": bottom, "y_top": top},
        "bars": {"histogram": mean if one_row else shares["observed"], **bars},
    }
    data = {name: _stacked(part, var_name) for name, part in parts.items()}
    at = (low + (high - low) * counts["observed"].isel(obs=0) / d).to_dataset(name=var_name)
    if binary:
        data = {name: part.isel(state=0, drop=True) for name, part in data.items()}
        at = at.isel(state=0, drop=True)
        pc_kwargs.setdefault("cols", [])
        figsize = (6.4, 4.0)
    else:
        pc_kwargs.setdefault("cols", ["state"])
        figsize = (3.6 * min(len(shown), 4), 3.2 * -(-len(shown) // 4))
    pc = any_collection(data["points"], backend=backend, figsize=figsize, **pc_kwargs)
    name = "predictive" if one_row else "observed"
    if options[name] is not False:
        color = PREDICTED if one_row else OBSERVED
        style = {"color": color, "edgecolor": "#FFFFFF", **options[name]}
        pc.map(azv.hist, name, data=data["bars"], ignore_aes="all", **style)
    if one_row and options["observed"] is not False:
        style = {"color": MISSED, "width": 2.5, "zorder": 3, **options["observed"]}
        if pc.backend != "matplotlib":
            del style["zorder"]
        pc.map(azv.vline, "observed", data=at, ignore_aes="all", **style)
    if not one_row and options["intervals"] is not False:
        style = {"color": PREDICTED, "alpha": 0.6, "width": 1.5, **options["intervals"]}
        pc.map(azv.ci_line_y, "intervals", data=data["points"], ignore_aes="all", **style)
    if not one_row and options["predictive"] is not False:
        style = {"color": PREDICTED, "size": 18, **options["predictive"]}
        pc.map(azv.scatter_xy, "predictive", data=data["points"], ignore_aes="all", **style)
    told = "line: observed row, bars: predictive"
    if not one_row:
        told = f"bars: {n_rows} observed rows, points: predictive, "
        told += f"{100 * ci_prob:.0f} % interval"
    labels = {
        "title": (azv.labelled_title if binary else _state_title, told),
        "xlabel": (
            azv.labelled_x,
            f"mean state of a row of {var_name}" if binary else "share of nodes in the state",
        ),
        "ylabel": (azv.labelled_y, "probability" if one_row else "share of rows"),
    }
    _write(pc, data["points"].isel(bin=0), labels, options)
    return pc


def interval_probability(ci_prob: float | None) -> float:
    """Give the probability of intervals: ArviZ's default for None.

    Raises
    ------
    ValueError
        If it is not between 0 and 1.
    """
    from arviz_base import rcParams

    ci_prob = rcParams["stats.ci_prob"] if ci_prob is None else ci_prob
    return number(ci_prob, "ci_prob", 0.0, 1.0)


def check_sampled(predicted: xr.DataArray, var_name: str, group: str) -> None:
    """Refuse values of a group that are no draws."""
    missing = [dim for dim in SAMPLE_DIMS if dim not in predicted.dims]
    if missing:
        raise ValueError(
            f"{var_name} of the {group} group is without {' and '.join(map(repr, missing))}; "
            "pass the results of pm.sample_posterior_predictive as they are, and group= one with draws"
        )


def summarise(draws: xr.DataArray, ci_prob: float) -> tuple[xr.DataArray, xr.DataArray, xr.DataArray]:
    """Mean and ends of the equal-tailed interval over chains and draws."""
    tails = [0.5 - 0.5 * ci_prob, 0.5 + 0.5 * ci_prob]
    ends = draws.quantile(tails, SAMPLE_DIMS)
    low, high = (ends.isel(quantile=k, drop=True) for k in (0, 1))
    return draws.mean(SAMPLE_DIMS), low, high


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


def _stacked(parts: Mapping[str, xr.DataArray], name: str) -> xr.Dataset:
    """Stack coordinates of points along the dimension "plot_axis" that visuals of ArviZ read."""
    arrays = xr.broadcast(*parts.values())
    together = xr.concat(arrays, dim="plot_axis", coords="minimal", compat="override")
    return together.assign_coords(plot_axis=list(parts)).to_dataset(name=name)


def _name_edges(pc: Any, points: xr.DataArray, chosen: list, options: Mapping) -> None:
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
    data = points.to_dataset()
    pc.map(azv.set_xlim, data=data, limits=limits, ignore_aes="all", store_artist=False)
    ticks = _ticks(left, right)
    told = {"values": ticks, "labels": [f"{tick:.6g}" for tick in ticks]}
    pc.map(azv.set_xticks, data=data, ignore_aes="all", store_artist=False, **told)
    for e, level in zip(chosen, placed, strict=True):
        ends = {"x": [float(x[e]), column], "y": [float(y[e]), level + shift]}
        line = _stacked({k: xr.DataArray(v, dims="end") for k, v in ends.items()}, name)
        if options["leaders"] is not False:
            style = {"color": "#A0A0A0", "width": 0.6, **options["leaders"]}
            pc.map(azv.line_xy, data=line, ignore_aes="all", store_artist=False, **style)
        style = {"size": 8, "color": "#202020", "horizontal_align": "left", **options["labels"]}
        text = {"text": f" {literal(points['edge'].values[e], pc.backend)}", **style}
        at = line.isel(end=1)
        pc.map(azv.annotate_xy, data=at, ignore_aes="all", store_artist=False, **text)


def _ticks(left: float, right: float) -> np.ndarray:
    """Round numbers between two ends, three to eight of them: none below the column of labels."""
    rough = max(right - left, 1e-3) / 4.0
    power = 10.0 ** np.floor(np.log10(rough))
    step = power * max(k for k in (1.0, 2.0, 5.0) if k * power <= rough)
    return step * np.arange(np.ceil(left / step), np.floor(right / step) + 1.0)


def _state_title(da: xr.DataArray, target: Any, *, text: str, sel: Mapping, **kwargs) -> Any:
    """Name the state of a facet instead of writing `text`, which is too long for it."""
    from arviz_plots import visuals as azv

    kwargs = {key: value for key, value in kwargs.items() if key not in ("var_name", "isel")}
    return azv.labelled_title(da, target, text=f"state {sel['state']}", **kwargs)


def _write(pc: Any, data: xr.Dataset, labels: Mapping, options: Mapping) -> None:
    """Write title and axis labels."""
    data = data.isel(plot_axis=0)
    for name, (visual, text) in labels.items():
        if options[name] is not False:
            facet = {"subset_info": True} if visual is _state_title else {}
            style = {"text": text, **facet, **options[name]}
            pc.map(visual, name, data=data, ignore_aes="all", **style)
