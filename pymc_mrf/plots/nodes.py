"""How much each node of a network matters, a panel for each measure."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import check_tree
from pymc_mrf.analysis.centrality import node_measures
from pymc_mrf.analysis.intervals import interval_probability, summarise
from pymc_mrf.plots._collection import INTERVALS, POINTS, Plot, literal

MAX_NODES = 60  # whose names can be read


def plot_nodes(
    dt: xr.DataTree,
    var_name: str | tuple[str, str],
    *,
    graph: Any,
    measures: Sequence[str] | None = None,
    communities: Mapping[Hashable, Any] | str | None = None,
    max_draws: int = 1000,
    ci_prob: float | None = None,
    group: str = "posterior",
    visuals: Mapping[str, Any] | None = None,
    **pc_kwargs,
) -> Any:
    """Draw how much each node of a network matters: a panel for each measure, an interval for each node.

    Nodes are in the order of their means by the first measure, the largest on top, in all panels.

    Parameters
    ----------
    dt : xarray.DataTree
        As returned by `pymc.sample`.
    var_name, graph, measures, communities, max_draws, group
        As in `summarize_nodes`.
    ci_prob : float, optional
        Probability of the equal-tailed intervals; ``rcParams["stats.ci_prob"]`` of ArviZ by default.
    visuals : mapping, optional
        Keyword arguments, or False to leave it out, for each of "reference" (``Axes.axvline`` at zero),
        "intervals" (``Axes.hlines``), "points" (``Axes.plot``), "labels" (``Axes.set_yticks``) and "title"
        (``Axes.set_title``).
    **pc_kwargs
        Passed to `arviz_plots.PlotCollection.wrap`.

    Returns
    -------
    arviz_plots.PlotCollection

    Raises
    ------
    TypeError, ValueError
        As in `summarize_nodes`; also if there are more than 60 nodes, whose names nobody could read, for an
        unknown backend or visual, or a `ci_prob` that is no probability.

    See Also
    --------
    summarize_nodes : The numbers.

    Examples
    --------
    >>> pymc_mrf.plots.plot_nodes(idata, "weight", graph=graph, measures=["strength", "expected_influence"])
    """
    check_tree(dt, "dt")
    parts = ("reference", "intervals", "points", "labels", "title")
    plot = Plot("plot_nodes", parts, visuals, pc_kwargs)
    ci_prob = interval_probability(ci_prob)
    found = node_measures(
        dt,
        var_name,
        graph=graph,
        measures=measures,
        communities=communities,
        max_draws=max_draws,
        group=group,
    )
    d = check_readable(found.sizes["node"], "the first rows of summarize_nodes")
    summary = summarise(found, ci_prob)
    first = summary[next(iter(found.data_vars))].sel(quantity="mean")
    summary = summary.isel(node=np.argsort(first.values, kind="stable"))
    n_panels = len(found.data_vars)
    figsize = (1.0 + 2.6 * min(n_panels, 4), (1.0 + 0.22 * d) * -(-n_panels // 4))
    plot.open(summary, figsize, cols=["__variable__"], col_wrap=4)
    plot.map("reference", _draw_reference, color="0.75", linewidth=0.8, zorder=0)
    plot.map("intervals", draw_intervals, **INTERVALS)
    plot.map("points", _draw_points, **POINTS)
    name_panels(plot)
    return plot.pc


def check_readable(d: int, instead: str) -> int:
    """Return a number of nodes, refused if there are too many to write their names one below the other."""
    if d > MAX_NODES:
        raise ValueError(
            f"graph has {d} nodes, more than the {MAX_NODES} whose names can be read; take {instead}"
        )
    return d


def _draw_reference(da: xr.DataArray, target: Any, **style: Any) -> Any:
    return target.axvline(0.0, **style)


def draw_intervals(da: xr.DataArray, target: Any, **style: Any) -> Any:
    """Draw the intervals of all nodes, from a summary of one quantity."""
    low, high = (da.sel(quantity=name).values for name in ("low", "high"))
    return target.hlines(np.arange(da.sizes["node"]), low, high, **style)


def _draw_points(da: xr.DataArray, target: Any, **style: Any) -> Any:
    (points,) = target.plot(da.sel(quantity="mean").values, np.arange(da.sizes["node"]), **style)
    return points


def name_panels(plot: Plot) -> None:
    """Name the nodes beside the panels of the first column, and the quantity of each panel above it."""
    plot.map("labels", _label_nodes, fontsize=9, store_artist=False)
    plot.map("title", _write_title, fontsize=10)


def _label_nodes(da: xr.DataArray, target: Any, **style: Any) -> None:
    names = [literal(node) for node in da["node"].values]
    if target.get_subplotspec().colspan.start:
        names = [""] * len(names)
    target.set_yticks(np.arange(len(names)), **{"labels": names, **style})
    target.set_ylim(-0.7, len(names) - 0.3)


def _write_title(da: xr.DataArray, target: Any, **style: Any) -> Any:
    words = str(da.name).replace("_2", ", two steps").replace("_", " ")
    return target.set_title(**{"label": words, **style})
