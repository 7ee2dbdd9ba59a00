"""Posterior predictive check of a field in time: how long its nodes keep a state."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import check_sampled, check_tree
from pymc_mrf.analysis.intervals import interval_probability, summarise
from pymc_mrf.analysis.predictive_checks import PREDICTIVE, run_lengths
from pymc_mrf.plots._collection import Plot
from pymc_mrf.plots.nodes import check_readable, draw_intervals, name_panels
from pymc_mrf.plots.ppc import MISSED, PREDICTED


def plot_ppc_runs(
    dt: xr.DataTree,
    var_name: str,
    *,
    model: Any,
    state: Any = None,
    ci_prob: float | None = None,
    group: str = "posterior_predictive",
    visuals: Mapping[str, Any] | None = None,
    **pc_kwargs,
) -> Any:
    """Posterior predictive check of runs: their number, mean and largest length, for every node.

    Lines are the predictive intervals, with a point at the predictive mean, and triangles the data; both are
    orange where the data are outside. Agreement from row to row does not determine how long runs are, so that
    they tell of memory that the model misses.

    Parameters
    ----------
    dt : xarray.DataTree
        Results of `pymc.sample` with the group of `pymc.sample_posterior_predictive`.
    var_name, model, state
        As in `pymc_mrf.analysis.predictive_check`.
    ci_prob : float, optional
        Probability of the equal-tailed intervals; ``rcParams["stats.ci_prob"]`` of ArviZ by default.
    group : {"posterior_predictive", "prior_predictive"}
    visuals : mapping, optional
        Keyword arguments, or False to leave it out, for each of "intervals" (``Axes.hlines``), "predictive"
        and "observed" (``Axes.scatter``), "labels" (``Axes.set_yticks``) and "title" (``Axes.set_title``).
    **pc_kwargs
        Passed to `arviz_plots.PlotCollection.wrap`.

    Returns
    -------
    arviz_plots.PlotCollection

    Raises
    ------
    TypeError, ValueError
        As in `pymc_mrf.analysis.predictive_check`; also if there are more than 60 nodes, whose names nobody
        could read, for an unknown backend or visual, or a `ci_prob` that is no probability.

    See Also
    --------
    pymc_mrf.analysis.predictive_check : The numbers.
    plot_ppc_edges : The same of the agreement of nodes with earlier ones.

    Examples
    --------
    >>> pymc_mrf.plots.plot_ppc_runs(idata, "x", model=model, state=1)
    """
    check_tree(dt, "dt")
    parts = ("intervals", "predictive", "observed", "labels", "title")
    plot = Plot("plot_ppc_runs", parts, visuals, pc_kwargs)
    ci_prob = interval_probability(ci_prob)
    predicted = run_lengths(dt, var_name, model=model, state=state, group=group)
    check_sampled(predicted["number"], f"{var_name} of the {group} group", PREDICTIVE)
    observed = run_lengths(dt, var_name, model=model, state=state, group="observed_data")
    d = check_readable(predicted.sizes["node"], "pymc_mrf.analysis.predictive_check")
    summary = xr.concat(
        [summarise(predicted, ci_prob), observed.expand_dims(quantity=["observed"])], "quantity"
    ).isel(node=slice(None, None, -1))  # the first on top
    plot.open(summary, (8.8, 1.0 + 0.26 * d), cols=["__variable__"])
    plot.map("intervals", _draw_intervals)
    plot.map("predictive", _draw_predictive)
    plot.map("observed", _draw_observed)
    name_panels(plot)
    return plot.pc


def _colors(da: xr.DataArray) -> np.ndarray:
    """Colours of the nodes (d,), those of which the data are outside the interval stand out."""
    data = da.sel(quantity="observed")
    missed = (data < da.sel(quantity="low")) | (data > da.sel(quantity="high"))
    return np.where(missed, MISSED, PREDICTED)


def _draw_intervals(da: xr.DataArray, target: Any, **style: Any) -> Any:
    return draw_intervals(da, target, **{"colors": _colors(da), "alpha": 0.6, "linewidth": 1.8, **style})


def _draw_predictive(da: xr.DataArray, target: Any, **style: Any) -> Any:
    mean = da.sel(quantity="mean").values
    return target.scatter(mean, np.arange(len(mean)), **{"c": _colors(da), "s": 14, **style})


def _draw_observed(da: xr.DataArray, target: Any, **style: Any) -> Any:
    data = da.sel(quantity="observed").values
    look = {"facecolors": "white", "edgecolors": _colors(da), "marker": "^", "s": 30, "zorder": 3}
    return target.scatter(data, np.arange(len(data)), **{**look, **style})
