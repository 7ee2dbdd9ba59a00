"""The graph of a field with its edges coloured by the posterior mean of their parameters."""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, check_edge_labels, sampled_vector
from pymc_mrf.checks import is_number
from pymc_mrf.graph.structure import PairwiseGraph, as_graph
from pymc_mrf.plots._collection import visual_options
from pymc_mrf.plots._network import close_network, node_colors, open_network

# orange - grey - purple: told apart with every colour vision, and unlike the usual colours of parties
DIVERGING = ("#7f3b08", "#d98018", "#f0b56a", "#d4d4d4", "#a695cc", "#6a4a9c", "#2d004b")


def plot_groups(
    dt: xr.DataTree,
    var_name: str = "theta",
    *,
    graph: Any,
    center: float = 0.5,
    node_category: Mapping[Hashable, str] | None = None,
    category_colors: Mapping[str, Any] | None = None,
    pos: Mapping[Hashable, tuple[float, float]] | None = None,
    group: str = "posterior",
    backend: str | None = None,
    visuals: Mapping[str, Any] | None = None,
    **pc_kwargs,
) -> Any:
    """Network whose edges show the posterior mean of their parameter.

    Colour is the mean, on a diverging scale around `center`; width is its distance from `center`.
    Nodes are their labels, moved apart where they would overlap; beyond 150 nodes they are dots.

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
    node_category : mapping, optional
        Category of every node, such as its party; colours the nodes, with a legend.
    category_colors : mapping, optional
        Matplotlib colour of every category.
    pos : mapping, optional
        Position (x, y) of every node. By default Kamada & Kawai (1989), which takes about a second
        for 100 nodes and minutes for 1,000.
    group : str
        Group of `dt` to read.
    backend : {"matplotlib"}, optional
        Only matplotlib is supported.
    visuals : mapping, optional
        Keyword arguments, or False to leave it out, for each of "edges" (a ``LineCollection``),
        "nodes" (``Axes.text``, or ``Axes.scatter`` beyond 150 nodes), "colorbar"
        (``Figure.colorbar``) and "legend" (``Axes.legend``).
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
    options = visual_options(visuals, ("edges", "nodes", "colorbar", "legend"))
    if not is_number(center) or not np.isfinite(center):
        raise ValueError(f"center must be a finite number, not {center!r}")
    graph = as_graph(graph)
    values = sampled_vector(dt, var_name, group)
    if values.shape[-1] != graph.n_edges:
        raise ValueError(
            f"{var_name} has {values.shape[-1]} entries but the graph has {graph.n_edges} edges; pass "
            "the graph of the field that it was sampled for"
        )
    check_edge_labels(values, graph, var_name)
    colors = node_colors(graph, node_category, category_colors)
    means = values.mean(SAMPLE_DIMS)
    pc, target, xy = open_network(
        means, graph, graph.edges, pos, function="plot_groups", backend=backend, **pc_kwargs
    )
    if options["edges"] is not False:
        pc.map(
            _draw_edges,
            "edges",
            ignore_aes="all",
            graph=graph,
            center=center,
            xy=xy,
            kwargs=options["edges"],
        )
        if options["colorbar"] is not False:
            lines = pc.get_viz("edges", var_name)
            style = {"label": f"posterior mean of {var_name}", "shrink": 0.5, "aspect": 30}
            style |= {"ax": target, "pad": 0.01} | options["colorbar"]
            target.figure.colorbar(lines, **style)
    close_network(pc, target, graph, xy, colors, node_category, options)
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
