"""Posterior predictive check of a field in time: how long its nodes keep a state."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import check_tree
from pymc_mrf.analysis.predictive_checks import run_lengths
from pymc_mrf.plots._collection import matplotlib_collection, visual_options
from pymc_mrf.plots.nodes import check_readable, draw_labels, draw_title
from pymc_mrf.plots.ppc import MISSED, PREDICTED, check_sampled, interval_probability, summarise


def plot_ppc_runs(
    dt: xr.DataTree,
    var_name: str,
    *,
    model: Any,
    state: int | None = None,
    ci_prob: float | None = None,
    group: str = "posterior_predictive",
    backend: str | None = None,
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
        As in `run_lengths`.
    ci_prob : float, optional
        Probability of the equal-tailed intervals; ``rcParams["stats.ci_prob"]`` of ArviZ by default.
    group : {"posterior_predictive", "prior_predictive"}
    backend : {"matplotlib"}, optional
        Only matplotlib is supported.
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
        As in `run_lengths`; also if there are more than 60 nodes, whose names nobody could read, for an
        unknown backend or visual, or a `ci_prob` that is no probability.

    See Also
    --------
    run_lengths : The numbers.
    plot_ppc_edges : The same of the agreement of nodes with earlier ones.

    Examples
    --------
    >>> pymc_mrf.plot_ppc_runs(idata, "x", model=model, state=1)
    """
    check_tree(dt, "dt")
    options = visual_options(visuals, ("intervals", "predictive", "observed", "labels", "title"))
    ci_prob = interval_probability(ci_prob)
    predicted = run_lengths(dt, var_name, model=model, state=state, group=group)
    check_sampled(predicted["number"], var_name, group)
    observed = run_lengths(dt, var_name, model=model, state=state, group="observed_data")
    d = check_readable(predicted.sizes["node"], "run_lengths")
    predicted = predicted.isel(node=slice(None, None, -1))  # the first on top
    pc_kwargs.setdefault("cols", ["__variable__"])
    pc = matplotlib_collection(
        predicted,
        function="plot_ppc_runs",
        backend=backend,
        figsize=(8.8, 1.0 + 0.26 * d),
        **pc_kwargs,
    )
    told = {"observed": observed.isel(node=slice(None, None, -1)), "ci_prob": ci_prob}
    for name, draw in (
        ("intervals", _draw_intervals),
        ("predictive", _draw_predictive),
        ("observed", _draw_observed),
    ):
        if options[name] is not False:
            pc.map(draw, name, ignore_aes="all", told=told, kwargs=options[name])
    if options["labels"] is not False:
        pc.map(draw_labels, "labels", ignore_aes="all", store_artist=False, kwargs=options["labels"])
    if options["title"] is not False:
        pc.map(draw_title, "title", ignore_aes="all", kwargs=options["title"])
    return pc


def _summary(da: xr.DataArray, told: Mapping) -> tuple[Any, ...]:
    """Predictive mean and ends of the interval, the data, and colours of the nodes."""
    (mean, low, high), data = summarise(da, told["ci_prob"]), told["observed"][da.name]
    missed = (data < low) | (data > high)
    return mean, low, high, data, np.where(missed, MISSED, PREDICTED)


def _draw_intervals(da: xr.DataArray, target: Any, told: Mapping, kwargs: dict) -> Any:
    _, low, high, _, colors = _summary(da, told)
    style = {"colors": colors, "alpha": 0.6, "linewidth": 1.8, **kwargs}
    return target.hlines(np.arange(da.sizes["node"]), low.values, high.values, **style)


def _draw_predictive(da: xr.DataArray, target: Any, told: Mapping, kwargs: dict) -> Any:
    mean, *_, colors = _summary(da, told)
    return target.scatter(mean, np.arange(da.sizes["node"]), **{"c": colors, "s": 14, **kwargs})


def _draw_observed(da: xr.DataArray, target: Any, told: Mapping, kwargs: dict) -> Any:
    *_, data, colors = _summary(da, told)
    style = {"facecolors": "white", "edgecolors": colors, "marker": "^", "s": 30, "zorder": 3, **kwargs}
    return target.scatter(data, np.arange(da.sizes["node"]), **style)
