"""Plots of a posterior over groupings: parameters on the network, co-clustering, number of groups."""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, check_tree, sampled_vector
from pymc_mrf.analysis.edges import edge_values
from pymc_mrf.analysis.groups import co_clustering, n_groups, point_grouping
from pymc_mrf.checks import number
from pymc_mrf.graph.lagged import as_undirected
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.plots._collection import (
    MAX_TICK_LABELS,
    Plot,
    diverging_map,
    draw_matrix,
    stacked,
    tick_style,
)
from pymc_mrf.plots._network import close_network, node_looks, open_network

COLORBAR_WIDTH = 0.9  # inches, of that of a network


def plot_groups(
    dt: xr.DataTree,
    var_name: str = "theta",
    *,
    graph: Any,
    center: float = 0.5,
    node_category: Mapping[Hashable, str] | str | None = None,
    category_colors: Mapping[str, Any] | None = None,
    pos: Any = None,
    group: str = "posterior",
    visuals: Mapping[str, Any] | None = None,
    **pc_kwargs,
) -> Any:
    """Network whose edges show the posterior mean of their parameter.

    Colour is the mean, on a diverging scale around `center`; width is its distance from `center`.
    Nodes are drawn as by `plot_edges`.

    Parameters
    ----------
    dt : xarray.DataTree
        As returned by `pymc.sample`.
    var_name : str
        A vector with one entry per edge.
    graph : networkx.Graph or PairwiseGraph
        The graph of the field.
    center : float
        Value without effect: 0.5 for agreement parameters, 0 for couplings and weights.
    node_category : mapping or str, optional
        Category of every node, such as its party, or the name of a variable of `dt` with an entry for each
        node, such as an `EdgeCommunities`, whose communities are those of `point_grouping`; colours the
        nodes, with a legend.
    category_colors : mapping, optional
        Matplotlib colour of every category. Communities of a variable are called
        "community 1", "community 2" and so on, as they come first in the order of the nodes.
    pos : optional
        Position (x, y) of every node, as in `plot_edges`. By default Kamada & Kawai (1989), which takes about
        a second for 100 nodes and minutes for 1,000.
    group : str
        Group of `dt` to read.
    visuals : mapping, optional
        Keyword arguments, or False to leave it out, for each of "edges" (a ``LineCollection``, whose ``urls``
        are one for each edge of the graph), "nodes" (``Axes.text``, or ``Axes.scatter`` beyond 150 nodes),
        "names" (``Figure.legend``) of nodes that are numbered, "colorbar" (``Figure.colorbar``) and "legend"
        (``Figure.legend``), that of the node categories.
    **pc_kwargs
        Passed to `arviz_plots.PlotCollection.wrap`.

    Returns
    -------
    arviz_plots.PlotCollection

    Raises
    ------
    TypeError, ValueError
        If the variable is not a finite vector of the graph's edges, or a mapping lacks a node or a
        category.
    """
    check_tree(dt, "dt")
    parts = ("edges", "nodes", "names", "colorbar", "legend")
    plot = Plot("plot_groups", parts, visuals, pc_kwargs)
    center = number(center, "center", -np.inf)
    graph = as_undirected(graph, "plot_edges, which draws arrows, with group_labels for their groups")
    values = edge_values(dt, var_name, graph, group)
    looks = node_looks(dt, graph, group, node_category, category_colors)
    means = values.mean(SAMPLE_DIMS)
    canvas = open_network(
        plot,
        means.to_dataset(),
        graph,
        looks,
        graph.edges,
        pos,
        beside=(COLORBAR_WIDTH * plot.shows("colorbar"), 0.0),
    )
    plot.map("edges", _draw_edges, graph=graph, center=center, xy=canvas.xy)
    if plot.shows("edges"):
        bar = {"label": f"posterior mean of {var_name}", "shrink": 0.5, "aspect": 30, "pad": 0.01}
        plot.colorbar(plot.pc.get_viz("edges", var_name), **bar)
    close_network(canvas)
    return plot.pc


def _draw_edges(
    da: xr.DataArray, target: Any, graph: PairwiseGraph, center: float, xy: np.ndarray, **style: Any
) -> Any:
    from matplotlib.collections import LineCollection
    from matplotlib.colors import Normalize

    effect = np.abs(da.values - center)
    largest = effect.max() if effect.size and effect.max() > 0 else 1.0
    order = np.argsort(effect, kind="stable")  # strong edges on top
    style = {
        "cmap": diverging_map(),
        "norm": Normalize(center - largest, center + largest),
        "linewidths": 0.5 + 3.0 * effect[order] / largest,
        "capstyle": "round",
        "zorder": 1,
        **style,
    }
    if "urls" in style:
        style["urls"] = [style["urls"][e] for e in order]
    lines = LineCollection(xy[graph.edges[order]], array=da.values[order], **style)
    target.add_collection(lines)
    return lines


def plot_co_clustering(
    dt: xr.DataTree,
    var_name: str = "theta",
    *,
    group: str = "posterior",
    visuals: Mapping[str, Any] | None = None,
    **pc_kwargs,
) -> Any:
    """Heat map of the posterior probability that two entries have the same value.

    Entries are ordered by the groups of `point_grouping`, in increasing order of their values, and
    within a group by their posterior means. Lines separate the groups.

    Parameters
    ----------
    dt : xarray.DataTree
        As returned by `pymc.sample`.
    var_name : str
        A vector whose exact ties are groups.
    group : str
        Group of `dt` to read.
    visuals : mapping, optional
        Keyword arguments, or False to leave it out, for each of "heatmap" (``Axes.imshow``),
        "boundaries" (a ``LineCollection``), "colorbar" (``Figure.colorbar``) and "labels"
        (``Axes.set_yticks``).
    **pc_kwargs
        Passed to `arviz_plots.PlotCollection.wrap`.

    Returns
    -------
    arviz_plots.PlotCollection

    Raises
    ------
    TypeError, ValueError
        As in `co_clustering`; also for an unknown backend or visual.
    """
    check_tree(dt, "dt")
    parts = ("heatmap", "boundaries", "colorbar", "labels")
    plot = Plot("plot_co_clustering", parts, visuals, pc_kwargs)
    values = sampled_vector(dt, var_name, group)
    dim = values.dims[-1]
    matrix = co_clustering(dt, var_name, group=group)
    grouping = point_grouping(dt, var_name, group=group)
    means = values.mean(SAMPLE_DIMS)
    order = np.lexsort((means.values, grouping.values))
    matrix = matrix.isel({dim: order, f"{dim}_bis": order}).rename(var_name)
    sizes = np.bincount(grouping.values)
    group_means = np.bincount(grouping.values, weights=means.values) / sizes
    pc = plot.open(matrix.to_dataset(), (8.4, 7.2))
    style = plot.style("heatmap", cmap="Blues", vmin=0.0, vmax=1.0)
    pc.map(draw_matrix, "heatmap", ignore_aes="all", **style)
    plot.map("boundaries", _draw_boundaries, sizes=sizes, colors="0.25", linewidths=0.6)
    plot.map("labels", _label_items, sizes=sizes, group_means=group_means, store_artist=False)
    label = f"posterior probability of equal {var_name}"
    plot.colorbar(pc.get_viz("heatmap", var_name), label=label, shrink=0.8)
    return pc


def _draw_boundaries(da: xr.DataArray, target: Any, sizes: np.ndarray, **style: Any) -> Any:
    from matplotlib.collections import LineCollection

    low, high = -0.5, len(da) - 0.5
    cuts = np.cumsum(sizes)[:-1] - 0.5
    lines = [((low, c), (high, c)) for c in cuts] + [((c, low), (c, high)) for c in cuts]
    return target.add_collection(LineCollection(lines, **style))


def _label_items(
    da: xr.DataArray, target: Any, sizes: np.ndarray, group_means: np.ndarray, **style: Any
) -> None:
    """Label the entries, or, if there are too many to read, the groups that have room for it."""
    dim = da.dims[0]
    target.set_xticks([])
    if len(da) <= MAX_TICK_LABELS:
        target.set_yticks(np.arange(len(da)), **{**tick_style(da[dim].values, len(da)), **style})
        return
    centres = np.cumsum(sizes) - 0.5 * sizes - 0.5
    roomy = np.flatnonzero(sizes >= 0.02 * len(da))
    labels = [f"{group_means[k]:.2f}  ({sizes[k]})" for k in roomy]
    target.set_yticks(centres[roomy], **{"labels": labels, "fontsize": 9, **style})
    target.set_ylabel(f"groups of {dim}s: mean value (size)")


def plot_n_groups(
    dt: xr.DataTree,
    var_name: str = "theta",
    *,
    group: str = "posterior",
    visuals: Mapping[str, Any] | None = None,
    **pc_kwargs,
) -> Any:
    """Posterior of the number of groups: one line per chain, grey bars for all chains.

    Parameters
    ----------
    dt, var_name, group
        As in `plot_co_clustering`.
    visuals : mapping, optional
        Keyword arguments, or False to leave it out, for each of "pooled", "lines", "points",
        "xlabel", "ylabel" and "legend".
    **pc_kwargs
        Passed to `arviz_plots.PlotCollection.wrap`, such as a `backend`, any that arviz-plots has.

    Returns
    -------
    arviz_plots.PlotCollection

    Raises
    ------
    TypeError, ValueError
        As in `n_groups`; also for an unknown visual.
    """
    from arviz_plots import visuals as azv

    check_tree(dt, "dt")
    parts = ("pooled", "lines", "points", "xlabel", "ylabel", "legend")
    plot = Plot("plot_n_groups", parts, visuals, pc_kwargs, any_backend=True)
    counts = n_groups(dt, var_name, group=group)
    low, high = max(int(counts.min()) - 1, 0), int(counts.max()) + 1
    support = xr.DataArray(np.arange(low, high + 1), dims="n_groups")
    probability = (counts == support).mean("draw")
    curves = stacked({"x": support, "y": probability}, var_name)
    pc = plot.open(curves, (6.4, 4.0), by_chain=True)
    pooled = curves.mean("chain")
    ends = {"left_edges": support - 0.5, "right_edges": support + 0.5}
    bars = stacked({"histogram": probability.mean("chain"), **ends}, var_name)
    plot.map("pooled", azv.hist, data=bars, color="#D0D0D0", edgecolor="#D0D0D0")
    plot.map("lines", azv.line_xy, ignore_aes=frozenset(), alpha=0.7)
    plot.map("points", azv.scatter_xy, ignore_aes=frozenset())
    if len(support) <= 20:  # whole numbers only
        ticks = {"values": support.values, "labels": [str(k) for k in support.values]}
        pc.map(azv.set_xticks, data=pooled, ignore_aes="all", store_artist=False, **ticks)
    plot.map("xlabel", azv.labelled_x, data=pooled, text=f"number of groups of {var_name}")
    plot.map("ylabel", azv.labelled_y, data=pooled, text="posterior probability")
    plot.chain_legend(counts.sizes["chain"])
    return pc
