"""The graph of a field with its edges coloured by the posterior mean of their parameters."""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, check_edge_labels, sampled_vector
from pymc_mrf.graph.structure import PairwiseGraph, as_graph
from pymc_mrf.plots._collection import matplotlib_collection, visual_options

# orange - grey - purple: told apart with every colour vision, and unlike the usual colours of parties
DIVERGING = ("#7f3b08", "#d98018", "#f0b56a", "#d4d4d4", "#a695cc", "#6a4a9c", "#2d004b")
# Okabe & Ito (2008)
CATEGORICAL = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C8C8C")
MAX_NODE_LABELS = 150


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
    graph = as_graph(graph)
    values = sampled_vector(dt, var_name, group)
    if values.shape[-1] != graph.n_edges:
        raise ValueError(
            f"{var_name} has {values.shape[-1]} entries but the graph has {graph.n_edges} edges"
        )
    check_edge_labels(values, graph, var_name)
    colors = _node_colors(graph, node_category, category_colors)
    size = 4.5 + 0.9 * min(graph.n_nodes, MAX_NODE_LABELS) ** 0.5  # inches
    figsize = (1.3 * size, size)
    font_size = 8.5
    xy = _positions(graph, pos) * figsize  # (d, 2), inches: sizes of labels are known there
    if graph.n_nodes <= MAX_NODE_LABELS:
        lengths = np.array([len(str(label)) for label in graph.nodes])
        boxes = np.column_stack([0.66 * lengths + 1.6, np.full(graph.n_nodes, 2.1)])
        xy = separate(xy, boxes * font_size / 72.0)

    means = values.mean(SAMPLE_DIMS)
    pc = matplotlib_collection(
        means, function="plot_groups", backend=backend, figsize=figsize, **pc_kwargs
    )
    shared = {"ignore_aes": "all", "xy": xy}
    target = pc.get_target(var_name, {})
    target.set_axis_off()
    target.set_aspect("equal")
    if options["edges"] is not False:
        pc.map(_draw_edges, "edges", graph=graph, center=center, kwargs=options["edges"], **shared)
        if options["colorbar"] is not False:
            lines = pc.get_viz("edges", var_name)
            style = {"label": f"posterior mean of {var_name}", "shrink": 0.5, "aspect": 30}
            style |= {"ax": target, "pad": 0.01} | options["colorbar"]
            target.figure.colorbar(lines, **style)
    if options["nodes"] is not False:
        draw = _draw_labels if graph.n_nodes <= MAX_NODE_LABELS else _draw_dots
        style = {"fontsize": font_size} if draw is _draw_labels else {}
        style |= options["nodes"]
        artist_dims = {"node": graph.n_nodes} if draw is _draw_labels else None
        pc.map(
            draw, "nodes", artist_dims=artist_dims, graph=graph, colors=colors, kwargs=style, **shared
        )
    target.autoscale_view()
    if node_category is not None and options["legend"] is not False:
        _draw_legend(target, graph, node_category, colors, options["legend"])
    return pc


def separate(xy: np.ndarray, boxes: np.ndarray, max_rounds: int = 1000) -> np.ndarray:
    """Move centres until boxes around them no longer overlap, each pair along its shorter way out.

    Parameters
    ----------
    xy, boxes : (d, 2) arrays
        Centres, and widths and heights.
    max_rounds : int
        Crowded boxes may still overlap after so many rounds.

    Returns
    -------
    (d, 2) array
    """
    xy = xy.copy()
    reach = 0.5 * (boxes[:, None] + boxes[None])  # (d, d, 2)
    # nodes at one place part in the order of their indices
    index = np.arange(len(xy))
    side = np.sign(index[:, None] - index[None])[..., None]
    for _ in range(max_rounds):
        gap = xy[:, None] - xy[None]
        overlap = reach - np.abs(gap)
        overlap[index, index] = 0.0
        clash = np.all(overlap > 0.0, axis=-1)
        if not clash.any():
            break
        along_x = overlap[..., 0] < overlap[..., 1]
        # a little farther than needed: chains of boxes would else part ever more slowly
        push = np.where(gap != 0.0, np.sign(gap), side) * (overlap + 0.05 * reach)
        push[..., 0] *= clash & along_x
        push[..., 1] *= clash & ~along_x
        xy += 0.3 * push.sum(axis=1)
    return xy


def _positions(graph: PairwiseGraph, pos: Mapping | None) -> np.ndarray:
    """Positions in the unit square, (d, 2)."""
    if pos is None:
        xy = _packed_layout(graph)
    else:
        missing = [label for label in graph.nodes if label not in pos]
        if missing:
            raise ValueError(f"pos has no position for node {missing[0]!r}")
        xy = np.array([pos[label] for label in graph.nodes], dtype=float)
    return _unit_square(xy)


def _unit_square(xy: np.ndarray) -> np.ndarray:
    extent = np.ptp(xy, axis=0)
    return (xy - xy.min(axis=0)) / np.where(extent > 0, extent, 1.0)


def _packed_layout(graph: PairwiseGraph) -> np.ndarray:
    """Kamada-Kawai layout of each connected part, the parts packed in columns, largest first."""
    import networkx as nx

    net = nx.empty_graph(graph.n_nodes)
    net.add_edges_from(graph.edges.tolist())
    xy = np.zeros((graph.n_nodes, 2))
    left = width = bottom = 0.0
    height = 0.0
    for part in sorted(nx.connected_components(net), key=lambda part: (-len(part), min(part))):
        side = np.sqrt(len(part))
        height = max(height, side)
        if bottom + side > height:
            left, bottom, width = left + width, 0.0, 0.0
        members = sorted(part)
        inside = np.full((len(members), 2), 0.5)
        if len(members) > 1:
            layout = nx.kamada_kawai_layout(net.subgraph(members))
            # a pair would fill its square from corner to corner
            inside = 0.1 + 0.8 * _unit_square(np.array([layout[i] for i in members]))
        xy[members] = [left, bottom] + side * inside
        bottom += side
        width = max(width, side)
    return xy


def _node_colors(
    graph: PairwiseGraph, node_category: Mapping | None, category_colors: Mapping | None
) -> list:
    """One colour per node; neutral grey without categories."""
    if node_category is None:
        if category_colors is not None:
            raise ValueError("category_colors needs node_category, the category of every node")
        return ["#8C8C8C"] * graph.n_nodes
    missing = [label for label in graph.nodes if label not in node_category]
    if missing:
        raise ValueError(f"node_category has no entry for node {missing[0]!r}")
    names = list(dict.fromkeys(node_category[label] for label in graph.nodes))
    if category_colors is None:
        if len(names) > len(CATEGORICAL):
            raise ValueError(
                f"node_category has {len(names)} categories; beyond {len(CATEGORICAL)} give "
                "category_colors"
            )
        category_colors = dict(zip(names, CATEGORICAL, strict=False))
    for name in names:
        if name not in category_colors:
            raise ValueError(f"category_colors has no colour for {name!r}")
    return [category_colors[node_category[label]] for label in graph.nodes]


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


def _draw_labels(
    da: xr.DataArray, target: Any, graph: PairwiseGraph, colors: list, xy: np.ndarray, kwargs: dict
) -> np.ndarray:
    """Write every node's label in a tinted box."""
    texts = []
    for label, color, (x, y) in zip(graph.nodes, colors, xy, strict=True):
        box = {"boxstyle": "round,pad=0.3", "fc": _tint(color), "ec": color, "lw": 0.8}
        style = {"ha": "center", "va": "center", "zorder": 2, "bbox": box, **kwargs}
        texts.append(target.text(x, y, str(label), **style))
    # text does not count for the limits of the axes
    target.update_datalim(xy)
    target.margins(0.06)
    artists = np.empty(len(texts), dtype=object)
    artists[:] = texts
    return artists


def _draw_dots(
    da: xr.DataArray, target: Any, graph: PairwiseGraph, colors: list, xy: np.ndarray, kwargs: dict
) -> Any:
    style = {"s": 14, "zorder": 2, "edgecolors": "white", "linewidths": 0.4, **kwargs}
    return target.scatter(xy[:, 0], xy[:, 1], c=colors, **style)


def _draw_legend(
    target: Any, graph: PairwiseGraph, node_category: Mapping, colors: list, kwargs: dict
) -> None:
    from matplotlib.patches import Patch

    names = [node_category[label] for label in graph.nodes]
    handles = [
        Patch(facecolor=_tint(color), edgecolor=color, label=str(name))
        for name, color in dict(zip(names, colors, strict=True)).items()
    ]
    style = {"loc": "upper left", "frameon": False, "fontsize": 11, **kwargs}
    target.legend(handles=handles, **style)


def _tint(color: Any) -> tuple[float, float, float]:
    """Mix a colour with white, light enough for black text."""
    from matplotlib.colors import to_rgb

    r, g, b = (0.78 + 0.22 * c for c in to_rgb(color))
    return r, g, b
