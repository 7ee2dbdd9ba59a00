"""How much each node of a network matters, a panel for each measure."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, check_tree
from pymc_mrf.analysis.node_measures import node_measures
from pymc_mrf.plots._collection import CATEGORICAL, literal, matplotlib_collection, visual_options
from pymc_mrf.plots.ppc import interval_probability, summarise

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
    backend: str | None = None,
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
        As in `node_measures`.
    ci_prob : float, optional
        Probability of the equal-tailed intervals; ``rcParams["stats.ci_prob"]`` of ArviZ by default.
    backend : {"matplotlib"}, optional
        Only matplotlib is supported.
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
        As in `node_measures`; also if there are more than 60 nodes, whose names nobody could read, for an
        unknown backend or visual, or a `ci_prob` that is no probability.

    See Also
    --------
    summarize_nodes : The numbers.

    Examples
    --------
    >>> pymc_mrf.plot_nodes(idata, "weight", graph=graph, measures=["strength", "expected_influence"])
    """
    check_tree(dt, "dt")
    options = visual_options(visuals, ("reference", "intervals", "points", "labels", "title"))
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
    first = next(iter(found.data_vars))
    order = np.argsort(found[first].mean(SAMPLE_DIMS).values, kind="stable")
    found = found.isel(node=order)
    n_panels = len(found.data_vars)
    pc_kwargs.setdefault("cols", ["__variable__"])
    pc_kwargs.setdefault("col_wrap", 4)
    pc = matplotlib_collection(
        found,
        function="plot_nodes",
        backend=backend,
        figsize=(1.0 + 2.6 * min(n_panels, 4), (1.0 + 0.22 * d) * -(-n_panels // 4)),
        **pc_kwargs,
    )
    if options["reference"] is not False:
        pc.map(_draw_reference, "reference", ignore_aes="all", kwargs=options["reference"])
    for name, draw in (("intervals", _draw_intervals), ("points", _draw_points)):
        if options[name] is not False:
            pc.map(draw, name, ignore_aes="all", ci_prob=ci_prob, kwargs=options[name])
    if options["labels"] is not False:
        pc.map(draw_labels, "labels", ignore_aes="all", store_artist=False, kwargs=options["labels"])
    if options["title"] is not False:
        pc.map(draw_title, "title", ignore_aes="all", kwargs=options["title"])
    return pc


def check_readable(d: int, instead: str) -> int:
    """Return a number of nodes, refused if there are too many to write their names one below the other."""
    if d > MAX_NODES:
        raise ValueError(
            f"graph has {d} nodes, more than the {MAX_NODES} whose names can be read; take {instead}"
        )
    return d


def _draw_reference(da: xr.DataArray, target: Any, kwargs: dict) -> Any:
    return target.axvline(0.0, **{"color": "0.75", "linewidth": 0.8, "zorder": 0, **kwargs})


def _draw_intervals(da: xr.DataArray, target: Any, ci_prob: float, kwargs: dict) -> Any:
    _, low, high = summarise(da, ci_prob)
    style = {"color": CATEGORICAL[0], "alpha": 0.6, "linewidth": 1.8, **kwargs}
    return target.hlines(np.arange(da.sizes["node"]), low.values, high.values, **style)


def _draw_points(da: xr.DataArray, target: Any, ci_prob: float, kwargs: dict) -> Any:
    style = {"color": CATEGORICAL[0], "marker": "o", "markersize": 4, "linestyle": "", **kwargs}
    (points,) = target.plot(da.mean(SAMPLE_DIMS).values, np.arange(da.sizes["node"]), **style)
    return points


def draw_labels(da: xr.DataArray, target: Any, kwargs: dict) -> None:
    """Name the nodes beside the panels of the first column."""
    names = [literal(node) for node in da["node"].values]
    if target.get_subplotspec().colspan.start:
        names = [""] * len(names)
    target.set_yticks(np.arange(len(names)), **{"labels": names, "fontsize": 9, **kwargs})
    target.set_ylim(-0.7, len(names) - 0.3)


def draw_title(da: xr.DataArray, target: Any, kwargs: dict) -> Any:
    """Name the measure of a panel."""
    words = str(da.name).replace("_2", ", two steps").replace("_", " ")
    return target.set_title(**{"label": words, "fontsize": 10, **kwargs})
