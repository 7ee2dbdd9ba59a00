"""Reliability diagram of predicted probabilities."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis.calibration import prediction_calibration
from pymc_mrf.plots._collection import INTERVALS, POINTS, Plot, literal


def plot_calibration(
    predicted: xr.Dataset,
    data: Any,
    *,
    by_node: bool = False,
    n_bins: int = 10,
    ci_prob: float | None = None,
    visuals: Mapping[str, Any] | None = None,
    **pc_kwargs,
) -> Any:
    """Draw how often states come about over how probable they were said to be, with intervals.

    Points on the diagonal are as probable as said; above it states were more frequent than predicted. The
    probabilities fall into bins of about equal size. With two states those of the higher one count; with
    more, those of every state, each cell being an event for each of its states.

    Parameters
    ----------
    predicted : xarray.Dataset
        As of `predict_nodes`, best of rows that the model was not fitted to. Of a `MixedMRF` the answers
        count.
    data : (n, d) array_like or table
        What was predicted, as it was given to `predict_nodes`; missing cells do not count.
    by_node : bool
        Whether every node has bins and a panel of its own.
    n_bins : int
        Bins at most: there are fewer where many probabilities are equal.
    ci_prob : float, optional
        Of the intervals; ``rcParams["stats.ci_prob"]`` of ArviZ by default.
    visuals : mapping, optional
        Keyword arguments, or False to leave it out, for each of "reference" (``Axes.axline``, the diagonal),
        "intervals" (``Axes.vlines``), "points" (``Axes.plot``), "title", "xlabel" and "ylabel".
    **pc_kwargs
        Passed to `arviz_plots.PlotCollection.wrap`.

    Returns
    -------
    arviz_plots.PlotCollection

    Raises
    ------
    TypeError, ValueError
        As in `score_predictions`; also for a number of bins or a probability outside its domain, or an
        unknown backend or visual.

    Notes
    -----
    Intervals are those of Jeffreys (Brown, Cai & DasGupta, 2001). Events of one row may depend on each other:
    the interval is that of as many independent ones as have the same variance (Korn & Graubard, 1998). The
    variance is estimated from the rows: with few of them intervals may be too narrow, and where all events of
    a bin are of one row they count as independent.

    Examples
    --------
    >>> predicted = pymc_mrf.predict_nodes(idata, "x", data=held_out, model=model)
    >>> pymc_mrf.plot_calibration(predicted, held_out)
    """
    parts = ("reference", "intervals", "points", "title", "xlabel", "ylabel")
    plot = Plot("plot_calibration", parts, visuals, pc_kwargs)
    found = prediction_calibration(predicted, data, by_node=by_node, n_bins=n_bins, ci_prob=ci_prob)
    bins = found.to_array("quantity").rename("calibration")
    nodes = bins["node"].values if by_node else [None]
    n_cols = min(len(nodes), 5)
    side = 2.2 if by_node else 4.2
    figsize = (0.4 + side * n_cols, (0.2 + side) * -(-len(nodes) // n_cols))
    pc = plot.open(bins.to_dataset(), figsize, cols=["node"] if by_node else [], col_wrap=5)
    plot.map("reference", _draw_diagonal, color="0.75", linewidth=0.8, zorder=0)
    plot.map("intervals", _draw_intervals, **INTERVALS)
    plot.map("points", _draw_points, **POINTS)
    top = 1.02 * float(found["observed_ub"].max())
    limits = (-0.02 * top, top)
    for k, node in enumerate(nodes):
        target = pc.get_target("calibration", {"node": node} if by_node else {})
        target.set(xlim=limits, ylim=limits, aspect="equal")
        words = {"title": literal(node)} if by_node else {}
        if k >= len(nodes) - n_cols:
            words["xlabel"] = "predicted"
        if k % n_cols == 0:
            words["ylabel"] = "observed"
        plot.write(target, **words)
    return pc


def _draw_diagonal(da: xr.DataArray, target: Any, **style: Any) -> Any:
    return target.axline((0.0, 0.0), slope=1.0, **style)


def _draw_intervals(da: xr.DataArray, target: Any, **style: Any) -> Any:
    x, low, high = (da.sel(quantity=name).values for name in ("predicted", "observed_lb", "observed_ub"))
    known = np.isfinite(x)
    return target.vlines(x[known], low[known], high[known], **style)


def _draw_points(da: xr.DataArray, target: Any, **style: Any) -> Any:
    x, y = (da.sel(quantity=name).values for name in ("predicted", "observed"))
    (points,) = target.plot(x, y, **style)
    return points
