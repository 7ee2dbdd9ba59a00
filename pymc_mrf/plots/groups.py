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
    any_collection,
    literal,
    matplotlib_collection,
    visual_options,
)
from pymc_mrf.plots._network import close_network, node_categories, node_colors, open_network

# orange - grey - purple: told apart with every colour vision, and unlike the usual colours of parties
DIVERGING = ("#7f3b08", "#d98018", "#f0b56a", "#d4d4d4", "#a695cc", "#6a4a9c", "#2d004b")
MAX_ITEM_LABELS = 60
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
    backend: str | None = None,
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
        Matplotlib colour of every category, needed if there are more than 7. Communities of a variable are
        called "community 1", "community 2" and so on, as they come first in the order of the nodes.
    pos : optional
        Position (x, y) of every node, as in `plot_edges`. By default Kamada & Kawai (1989), which takes about
        a second for 100 nodes and minutes for 1,000.
    group : str
        Group of `dt` to read.
    backend : {"matplotlib"}, optional
        Only matplotlib is supported.
    visuals : mapping, optional
        Keyword arguments, or False to leave it out, for each of "edges" (a ``LineCollection``),
        "nodes" (``Axes.text``, or ``Axes.scatter`` beyond 150 nodes), "names" (``Figure.legend``) of nodes
        that are numbered, "colorbar" (``Figure.colorbar``) and "legend" (``Figure.legend``), that of the
        node categories.
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
    options = visual_options(visuals, ("edges", "nodes", "names", "colorbar", "legend"))
    center = number(center, "center", -np.inf)
    graph = as_undirected(graph, "plot_edges, which draws arrows, with group_labels for their groups")
    values = edge_values(dt, var_name, graph, group)
    categories = node_categories(dt, node_category, graph, group)
    colors = node_colors(graph, categories, category_colors)
    means = values.mean(SAMPLE_DIMS)
    canvas = open_network(
        means.to_dataset(),
        graph,
        graph.edges,
        pos,
        node_category=categories,
        options=options,
        beside=(COLORBAR_WIDTH * (options["colorbar"] is not False), 0.0),
        function="plot_groups",
        backend=backend,
        **pc_kwargs,
    )
    pc = canvas.pc
    if options["edges"] is not False:
        pc.map(
            _draw_edges,
            "edges",
            ignore_aes="all",
            graph=graph,
            center=center,
            xy=canvas.xy,
            kwargs=options["edges"],
        )
        if options["colorbar"] is not False:
            lines = pc.get_viz("edges", var_name)
            style = {"label": f"posterior mean of {var_name}", "shrink": 0.5, "aspect": 30}
            style |= {"ax": lines.axes, "pad": 0.01} | options["colorbar"]
            lines.figure.colorbar(lines, **style)
    close_network(canvas, graph, colors, categories, options)
    return pc


def _draw_edges(
    da: xr.DataArray, target: Any, graph: PairwiseGraph, center: float, xy: np.ndarray, kwargs: dict
) -> Any:
    from matplotlib.collections import LineCollection
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    effect = np.abs(da.values - center)
    largest = effect.max() if effect.size and effect.max() > 0 else 1.0
    order = np.argsort(effect, kind="stable")  # strong edges on top
    style = {
        "cmap": LinearSegmentedColormap.from_list("orange_purple", DIVERGING),
        "norm": Normalize(center - largest, center + largest),
        "linewidths": 0.5 + 3.0 * effect[order] / largest,
        "capstyle": "round",
        "zorder": 1,
        **kwargs,
    }
    lines = LineCollection(xy[graph.edges[order]], array=da.values[order], **style)
    target.add_collection(lines)
    return lines


def plot_co_clustering(
    dt: xr.DataTree,
    var_name: str = "theta",
    *,
    group: str = "posterior",
    backend: str | None = None,
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
    backend : {"matplotlib"}, optional
        Only matplotlib is supported.
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
    options = visual_options(visuals, ("heatmap", "boundaries", "colorbar", "labels"))
    values = sampled_vector(dt, var_name, group)
    dim = values.dims[-1]
    matrix = co_clustering(dt, var_name, group=group)
    grouping = point_grouping(dt, var_name, group=group)
    means = values.mean(SAMPLE_DIMS)
    order = np.lexsort((means.values, grouping.values))
    matrix = matrix.isel({dim: order, f"{dim}_bis": order}).rename(var_name)
    sizes = np.bincount(grouping.values)
    group_means = np.bincount(grouping.values, weights=means.values) / sizes
    pc = matplotlib_collection(
        matrix.to_dataset(),
        function="plot_co_clustering",
        backend=backend,
        figsize=(8.4, 7.2),
        **pc_kwargs,
    )
    pc.map(_heatmap, "heatmap", ignore_aes="all", kwargs=options["heatmap"] or {})
    if options["boundaries"] is not False:
        pc.map(_boundaries, "boundaries", sizes=sizes, kwargs=options["boundaries"])
    if options["labels"] is not False:
        pc.map(
            _item_labels,
            store_artist=False,
            sizes=sizes,
            group_means=group_means,
            kwargs=options["labels"],
        )
    if options["colorbar"] is not False:
        image = pc.get_viz("heatmap", var_name)
        label = f"posterior probability of equal {var_name}"
        image.figure.colorbar(
            image, **{"ax": image.axes, "label": label, "shrink": 0.8, **options["colorbar"]}
        )
    return pc


def _heatmap(da: xr.DataArray, target: Any, kwargs: dict) -> Any:
    style = {"cmap": "Blues", "vmin": 0.0, "vmax": 1.0, "interpolation": "nearest", **kwargs}
    target.tick_params(length=0)
    target.spines[:].set_visible(False)
    return target.imshow(da.values, **style)


def _boundaries(da: xr.DataArray, target: Any, sizes: np.ndarray, kwargs: dict) -> Any:
    from matplotlib.collections import LineCollection

    low, high = -0.5, len(da) - 0.5
    cuts = np.cumsum(sizes)[:-1] - 0.5
    lines = [((low, c), (high, c)) for c in cuts] + [((c, low), (c, high)) for c in cuts]
    style = {"colors": "0.25", "linewidths": 0.6, **kwargs}
    return target.add_collection(LineCollection(lines, **style))


def _item_labels(
    da: xr.DataArray, target: Any, sizes: np.ndarray, group_means: np.ndarray, kwargs: dict
) -> None:
    """Label the entries, or, if there are too many to read, the groups that have room for it."""
    dim = da.dims[0]
    target.set_xticks([])
    if len(da) <= MAX_ITEM_LABELS:
        style = {
            "labels": [literal(item) for item in da[dim].values],
            "fontsize": 9 if len(da) <= 30 else 7,
            **kwargs,
        }
        target.set_yticks(np.arange(len(da)), **style)
        return
    centres = np.cumsum(sizes) - 0.5 * sizes - 0.5
    roomy = sizes >= 0.02 * len(da)
    labels = [f"{m:.2f}  ({s})" for m, s in zip(group_means, sizes, strict=True)]
    labels = [label for label, wide in zip(labels, roomy, strict=True) if wide]
    target.set_yticks(centres[roomy], **{"labels": labels, "fontsize": 9} | kwargs)
    target.set_ylabel(f"groups of {dim}s: mean value (size)")


def plot_n_groups(
    dt: xr.DataTree,
    var_name: str = "theta",
    *,
    group: str = "posterior",
    backend: str | None = None,
    visuals: Mapping[str, Any] | None = None,
    **pc_kwargs,
) -> Any:
    """Posterior of the number of groups: one line per chain, grey bars for all chains.

    Parameters
    ----------
    dt, var_name, group
        As in `plot_co_clustering`.
    backend : str, optional
        Any backend of arviz-plots.
    visuals : mapping, optional
        Keyword arguments, or False to leave it out, for each of "pooled", "lines", "points",
        "xlabel", "ylabel" and "legend".
    **pc_kwargs
        Passed to `arviz_plots.PlotCollection.wrap`.

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
    options = visual_options(visuals, ("pooled", "lines", "points", "xlabel", "ylabel", "legend"))
    counts = n_groups(dt, var_name, group=group)
    low, high = max(int(counts.min()) - 1, 0), int(counts.max()) + 1
    support = np.arange(low, high + 1)
    probability = (counts == xr.DataArray(support, dims="n_groups")).mean("draw")
    x = xr.DataArray(np.broadcast_to(support, probability.shape), dims=probability.dims)
    curves = xr.concat([x, probability], dim="plot_axis", coords="minimal", compat="override")
    curves = curves.assign_coords(plot_axis=["x", "y"]).rename(var_name)  # (2, chain, n_groups)
    pc = any_collection(
        curves.to_dataset(), backend=backend, figsize=(6.4, 4.0), by_chain=True, **pc_kwargs
    )
    pooled = curves.mean("chain").to_dataset()
    if options["pooled"] is not False:
        bars = xr.concat(
            [
                pooled.sel(plot_axis="y"),
                pooled.sel(plot_axis="x") - 0.5,
                pooled.sel(plot_axis="x") + 0.5,
            ],
            dim=xr.Variable("plot_axis", ["histogram", "left_edges", "right_edges"]),
        )
        style = {"color": "#D0D0D0", "edgecolor": "#D0D0D0", **options["pooled"]}
        pc.map(azv.hist, "pooled", data=bars, ignore_aes="all", **style)
    if options["lines"] is not False:
        pc.map(azv.line_xy, "lines", **{"alpha": 0.7, **options["lines"]})
    if options["points"] is not False:
        pc.map(azv.scatter_xy, "points", **options["points"])
    if len(support) <= 20:  # whole numbers only
        ticks = {"values": support, "labels": [str(k) for k in support]}
        pc.map(azv.set_xticks, data=pooled, ignore_aes="all", store_artist=False, **ticks)
    labels = {"xlabel": f"number of groups of {var_name}", "ylabel": "posterior probability"}
    for name, label in labels.items():
        if options[name] is not False:
            visual = azv.labelled_x if name == "xlabel" else azv.labelled_y
            pc.map(visual, name, data=pooled, ignore_aes="all", **{"text": label, **options[name]})
    if options["legend"] is not False and counts.sizes["chain"] > 1:
        pc.add_legend("chain", **options["legend"])
    return pc
