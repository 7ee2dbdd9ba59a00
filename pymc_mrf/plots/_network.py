"""What the pictures of a network share: places of the nodes, their colours, labels and legend."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.graph.lagged import LaggedGraph
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.plots._collection import CATEGORICAL, literal, matplotlib_collection
from pymc_mrf.plots._places import points

MAX_NODE_LABELS = 150
FONT_SIZE = 8.5
ALONE = 0.6  # side of the square of a node without edges; those of others have as many units of area as nodes


def network_size(graph: PairwiseGraph | LaggedGraph, is_alone: bool = True) -> tuple[float, float]:
    """Width and height in inches of a network, alone in a figure or one of several."""
    size = (4.5 if is_alone else 2.0) + 0.9 * min(graph.n_nodes, MAX_NODE_LABELS) ** 0.5
    return 1.3 * size, size


def open_network(
    data: xr.Dataset,
    graph: PairwiseGraph | LaggedGraph,
    edges: np.ndarray,
    pos: Any,
    *,
    lengths: np.ndarray | None = None,
    function: str,
    backend: str | None,
    **pc_kwargs,
) -> tuple[Any, list, np.ndarray]:
    """Empty picture of a network: the collection, its plots and the places of the nodes (d, 2).

    Every variable of `data` has a plot. `edges`, `pos` and `lengths` are those of `node_positions`, the
    other arguments those of `matplotlib_collection`.
    """
    n_plots = len(data)
    width, height = network_size(graph, n_plots == 1)
    xy = node_positions(graph, edges, pos, (width, height), lengths)
    if n_plots > 1:
        pc_kwargs = {"cols": ["__variable__"], "col_wrap": 3, **pc_kwargs}
        n_cols = min(n_plots, pc_kwargs["col_wrap"])
        width, height = n_cols * width, -(-n_plots // n_cols) * height
    pc = matplotlib_collection(
        data, function=function, backend=backend, figsize=(width, height), **pc_kwargs
    )
    targets = [pc.get_target(name, {}) for name in data]
    for target in targets:
        target.set_axis_off()
        target.set_aspect("equal")
    return pc, targets, xy


def close_network(
    pc: Any,
    targets: list,
    graph: PairwiseGraph | LaggedGraph,
    xy: np.ndarray,
    colors: list,
    node_category: Mapping | None,
    options: Mapping[str, Any],
) -> None:
    """Draw what lies above the edges: the visual "nodes", and the legend of their categories."""
    if options["nodes"] is not False:
        draw_nodes(pc, graph, xy, colors, options["nodes"])
    for target in targets:
        target.autoscale_view()
    if node_category is not None and options["legend"] is not False:
        draw_category_legend(targets[0], graph, node_category, colors, options["legend"])


def node_positions(
    graph: PairwiseGraph | LaggedGraph,
    edges: np.ndarray,
    pos: Any,
    figsize: tuple[float, float],
    lengths: np.ndarray | None = None,
) -> np.ndarray:
    """Place the nodes, apart from each other where their labels would overlap.

    Parameters
    ----------
    graph : PairwiseGraph or LaggedGraph
    edges : (m, 2) integer array
        Pairs of nodes that are drawn together unless `pos` is given.
    pos : optional
        Position (x, y) of every node, as `points` takes them.
    figsize : tuple of float
        Sizes of labels are known in inches.
    lengths : (m,) array, optional
        How long `edges` should be, compared with each other; all alike by default.

    Returns
    -------
    (d, 2) array
        In inches.
    """
    if pos is None:
        xy = _packed_layout(graph.n_nodes, edges, np.ones(len(edges)) if lengths is None else lengths)
    else:
        xy = points(graph.nodes, pos)
    xy = _unit_square(xy) * figsize
    if graph.n_nodes > MAX_NODE_LABELS:
        return xy
    lengths = np.array([len(str(label)) for label in graph.nodes])
    boxes = np.column_stack([0.66 * lengths + 1.6, np.full(graph.n_nodes, 2.1)])
    return separate(xy, boxes * FONT_SIZE / 72.0)


def check_mapping(value: Any, name: str, of: str) -> None:
    """Refuse what is no mapping; `of` tells what it must hold."""
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} must be a dictionary with {of}, not {value!r}")


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


def _unit_square(xy: np.ndarray) -> np.ndarray:
    extent = np.ptp(xy, axis=0)
    return (xy - xy.min(axis=0)) / np.where(extent > 0, extent, 1.0)


def _packed_layout(n_nodes: int, edges: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Kamada-Kawai layout of each connected part, the parts packed in columns, largest first.

    Nodes are to be as far apart as the shortest way over edges of these lengths.
    """
    import networkx as nx

    net = nx.empty_graph(n_nodes)
    net.add_weighted_edges_from(
        (*pair, length) for pair, length in zip(edges.tolist(), lengths, strict=True)
    )
    xy = np.zeros((n_nodes, 2))
    left = width = bottom = 0.0
    height = 0.0
    for part in sorted(nx.connected_components(net), key=lambda part: (-len(part), min(part))):
        side = np.sqrt(len(part)) if len(part) > 1 else ALONE
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


def node_colors(
    graph: PairwiseGraph | LaggedGraph, node_category: Mapping | None, category_colors: Mapping | None
) -> list:
    """One colour per node; neutral grey without categories."""
    if node_category is None:
        if category_colors is not None:
            raise ValueError("category_colors needs node_category, the category of every node")
        return ["#8C8C8C"] * graph.n_nodes
    check_mapping(node_category, "node_category", "the category of every node")
    if category_colors is not None:
        check_mapping(category_colors, "category_colors", "the colour of every category")
    missing = [label for label in graph.nodes if label not in node_category]
    if missing:
        raise ValueError(
            f"node_category has no entry for node {missing[0]!r}; give a category to every node"
        )
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
            raise ValueError(f"category_colors has no colour for {name!r}; give one to every category")
        if not _is_color(category_colors[name]):
            raise ValueError(
                f"category_colors[{name!r}] is {category_colors[name]!r}, which is no colour of matplotlib"
            )
    return [category_colors[node_category[label]] for label in graph.nodes]


def _is_color(value: Any) -> bool:
    from matplotlib.colors import is_color_like

    return bool(is_color_like(value))


def draw_nodes(
    pc: Any, graph: PairwiseGraph | LaggedGraph, xy: np.ndarray, colors: list, kwargs: dict
) -> None:
    """Add the visual "nodes" to the collection: labels, or dots if there are too many to read."""
    draw, style, artist_dims = _draw_dots, kwargs, None
    if graph.n_nodes <= MAX_NODE_LABELS:
        draw, style = _draw_labels, {"fontsize": FONT_SIZE, **kwargs}
        artist_dims = {"node": graph.n_nodes}
    pc.map(
        draw,
        "nodes",
        artist_dims=artist_dims,
        ignore_aes="all",
        graph=graph,
        colors=colors,
        xy=xy,
        kwargs=style,
    )


def _draw_labels(
    da: xr.DataArray,
    target: Any,
    graph: PairwiseGraph | LaggedGraph,
    colors: list,
    xy: np.ndarray,
    kwargs: dict,
) -> np.ndarray:
    """Write every node's label in a tinted box."""
    texts = []
    for label, color, (x, y) in zip(graph.nodes, colors, xy, strict=True):
        box = {"boxstyle": "round,pad=0.3", "fc": _tint(color), "ec": color, "lw": 0.8}
        style = {"ha": "center", "va": "center", "zorder": 2, "bbox": box, **kwargs}
        texts.append(target.text(x, y, literal(label), **style))
    # text does not count for the limits of the axes
    target.update_datalim(xy)
    target.margins(0.06)
    artists = np.empty(len(texts), dtype=object)
    artists[:] = texts
    return artists


def _draw_dots(
    da: xr.DataArray,
    target: Any,
    graph: PairwiseGraph | LaggedGraph,
    colors: list,
    xy: np.ndarray,
    kwargs: dict,
) -> Any:
    style = {"s": 14, "zorder": 2, "edgecolors": "white", "linewidths": 0.4, **kwargs}
    return target.scatter(xy[:, 0], xy[:, 1], c=colors, **style)


def draw_category_legend(
    target: Any, graph: PairwiseGraph | LaggedGraph, node_category: Mapping, colors: list, kwargs: dict
) -> None:
    """Explain the colours of the categories."""
    from matplotlib.patches import Patch

    names = [node_category[label] for label in graph.nodes]
    handles = [
        Patch(facecolor=_tint(color), edgecolor=color, label=literal(name))
        for name, color in dict(zip(names, colors, strict=True)).items()
    ]
    style = {"loc": "upper left", "frameon": False, "fontsize": 11, **kwargs}
    target.legend(handles=handles, **style)


def _tint(color: Any) -> tuple[float, float, float]:
    """Mix a colour with white, light enough for black text."""
    from matplotlib.colors import to_rgb

    r, g, b = (0.78 + 0.22 * c for c in to_rgb(color))
    return r, g, b
