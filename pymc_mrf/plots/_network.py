"""What the pictures of a network share: places of the nodes, their colours, labels and legends."""

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import node_draws, of_nodes
from pymc_mrf.analysis.groups import point_grouping
from pymc_mrf.graph.lagged import LaggedGraph
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.plots._collection import Plot, category_palette, literal
from pymc_mrf.plots._layout import ASPECT, network_layout, scaled_to, separate
from pymc_mrf.plots._node_shapes import (
    COLOR,
    WIDTH,
    NodeLabels,
    Rings,
    Shape,
    node_kinds,
    node_labels,
    node_shares,
    shape_handles,
    shapes_of,
    text_size,
)
from pymc_mrf.plots._places import points

MAX_NODE_LABELS = 150
FONT_SIZE, LEGEND_FONT_SIZE = 8.5, 10.0
DOT = 0.06  # inches
# square inches of a network that is alone in a figure, or beside others: in any case, and for each node;
# and for each that labels cover
AREA, NODE_AREA = 20.0, 0.6
AREA_BESIDE, NODE_AREA_BESIDE = 6.0, 0.4
LABEL_AREA = 3.0
MAX_WIDTH = 16.0  # inches of networks side by side
CATEGORIES_HEIGHT, TITLE_HEIGHT, COLUMN_GAP = 0.35, 0.3, 0.35  # inches


class NodeLooks(NamedTuple):
    """How the nodes of a network look."""

    colors: list  # of each node
    categories: list | None  # that the colours stand for
    kinds: list[str] | None  # that shapes stand for
    shares: np.ndarray | None  # that rings stand for

    @property
    def is_explained(self) -> bool:
        """Whether colours, shapes or rings stand for something."""
        return any(meaning is not None for meaning in (self.categories, self.kinds, self.shares))

    @property
    def shapes(self) -> list[Shape]:
        return shapes_of(self.kinds, len(self.colors))


class Canvas(NamedTuple):
    """A picture of one network or several, in which edges and nodes are to be drawn."""

    plot: Plot
    looks: NodeLooks
    targets: list  # axes of each network
    xy: np.ndarray  # (d, 2), places of the nodes in inches
    labels: NodeLabels | None  # None if dots stand for the nodes
    n_columns: int  # of the legend of names


def open_network(
    plot: Plot,
    data: xr.Dataset,
    graph: PairwiseGraph | LaggedGraph,
    looks: NodeLooks,
    edges: np.ndarray,
    pos: Any,
    *,
    lengths: np.ndarray | None = None,
    beside: tuple[float, float],
    loop_height: float = 0.0,
) -> Canvas:
    """Empty picture with a plot for every variable of `data`, all with the same places of the nodes.

    `plot`: with the visuals "nodes", "names" and "legend" among others. `edges` (m, 2) integer: pairs of
    nodes that are drawn together unless `pos` is given. `pos`: position (x, y) of every node, as
    `points` takes them. `lengths` (m,), optional: how long `edges` should be, compared with each other;
    all alike by default. `beside` (float, float): inches that other legends take to the right of the
    networks, and below. `loop_height`: inches that loops take above or below a node.
    """
    labels = None
    if graph.n_nodes <= MAX_NODE_LABELS:
        labels = node_labels(graph.nodes, plot.style("nodes", fontsize=FONT_SIZE)["fontsize"])
    growth = np.array([shape.growth for shape in looks.shapes])[:, None]
    boxes = np.full((graph.n_nodes, 2), DOT) if labels is None else growth * labels.boxes
    if pos is None:
        lengths = np.ones(len(edges)) if lengths is None else lengths
        xy = network_layout(edges, lengths, boxes, partial(_network_size, is_alone=len(data) == 1))
    else:
        xy = scaled_to(points(graph.nodes, pos), _network_size(boxes, len(data) == 1))
    if labels is not None:
        xy = separate(xy, 1.1 * boxes)
    reach = 0.5 * boxes + [0.0, loop_height]
    corners = np.concatenate([xy - reach, xy + reach])
    width, height = np.maximum(1.03 * np.ptp(corners, axis=0) + 0.1, [2.5, 1.5])
    facets: dict[str, Any] = {}
    if len(data) > 1:
        wrap = plot.pc_kwargs.get("col_wrap", int(np.clip(MAX_WIDTH // width, 1, 3)))
        facets = {"cols": ["__variable__"], "col_wrap": wrap}
        n_cols = min(len(data), wrap)
        width, height = n_cols * width, -(-len(data) // n_cols) * (height + TITLE_HEIGHT)
    n_columns, names_width = _columns([] if labels is None else labels.names, height)
    has_legend = looks.is_explained and plot.shows("legend")
    figsize = (
        width + beside[0] + names_width * plot.shows("names"),
        height + beside[1] + CATEGORIES_HEIGHT * has_legend,
    )
    pc = plot.open(data, figsize, **facets)
    targets = [pc.get_target(name, {}) for name in data]
    for target in targets:
        target.set_axis_off()
        target.set_aspect("equal")
        target.margins(0.01)
        target.update_datalim(corners)  # text does not count for the limits of the axes
    return Canvas(plot, looks, targets, xy, labels, n_columns)


def _network_size(boxes: np.ndarray, is_alone: bool) -> np.ndarray:
    """Width and height in inches of a network whose labels have these sizes (d, 2)."""
    base, of_node = (AREA, NODE_AREA) if is_alone else (AREA_BESIDE, NODE_AREA_BESIDE)
    area = base + of_node * min(len(boxes), MAX_NODE_LABELS) + LABEL_AREA * boxes.prod(axis=1).sum()
    return np.sqrt([area * ASPECT, area / ASPECT])


def _columns(names: list[str], height: float) -> tuple[int, float]:
    """Columns of a legend of names that is not higher than the networks, and its width in inches."""
    if not names:
        return 1, 0.0
    widths, heights = np.array([text_size(name, FONT_SIZE) for name in names]).T
    n_columns = int(np.ceil(1.3 * heights.sum() / height))
    return n_columns, n_columns * (widths.max() + COLUMN_GAP)


def close_network(canvas: Canvas) -> None:
    """Draw what lies above the edges, the visual "nodes", and the legends of their names and categories."""
    plot, looks = canvas.plot, canvas.looks
    options = {"colors": looks.colors, "xy": canvas.xy, "shapes": looks.shapes}
    if canvas.labels is None:
        plot.map("nodes", _draw_dots, **options)
    else:
        options |= {"texts": canvas.labels.texts, "artist_dims": {"node": len(canvas.xy)}}
        plot.map("nodes", _draw_labels, fontsize=FONT_SIZE, **options)
        if looks.shares is not None and plot.shows("nodes"):
            plot.map("rings", _draw_rings, pc=plot.pc, shares=looks.shares)
        if canvas.labels.names and plot.shows("nodes") and plot.shows("names"):
            _draw_names(canvas)
    for target in canvas.targets:
        target.autoscale_view()
    if looks.is_explained and plot.shows("legend"):
        _draw_category_legend(canvas)


def check_mapping(value: Any, name: str, of: str) -> None:
    """Refuse what is no mapping; `of` tells what it must hold."""
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} must be a dictionary with {of}, not {value!r}")


def node_looks(
    dt: xr.DataTree,
    graph: PairwiseGraph | LaggedGraph,
    group: str,
    node_category: Any,
    category_colors: Mapping | None,
    node_kind: Any = None,
    predictability: Any = None,
) -> NodeLooks:
    """Colours of the categories of the nodes, neutral grey without any, their kinds and shares of a ring.

    Categories that are a variable of `dt` are those of its `point_grouping`.
    """
    kinds, shares = node_kinds(graph.nodes, node_kind), node_shares(graph.nodes, predictability)
    if shares is not None and graph.n_nodes > MAX_NODE_LABELS:
        raise ValueError(
            f"predictability is for up to {MAX_NODE_LABELS} nodes, which have labels, not {graph.n_nodes}"
        )
    if node_category is None:
        if category_colors is not None:
            raise ValueError("category_colors needs node_category, the category of every node")
        return NodeLooks(["#8C8C8C"] * graph.n_nodes, None, kinds, shares)
    if isinstance(node_category, str):
        node_draws(dt, node_category, graph, group, "node_category")
        labels = point_grouping(dt, node_category, group=group).values.tolist()
        numbers = {label: k for k, label in enumerate(dict.fromkeys(labels), start=1)}
        categories = [f"community {numbers[label]}" for label in labels]
    else:
        check_mapping(node_category, "node_category", "the category of every node")
        categories = of_nodes(node_category, graph.nodes, "node_category", "category")
    names = list(dict.fromkeys(categories))
    if category_colors is None:
        category_colors = dict(zip(names, category_palette(len(names)), strict=True))
    check_mapping(category_colors, "category_colors", "the colour of every category")
    for name in names:
        if name not in category_colors:
            raise ValueError(f"category_colors has no colour for {name!r}; give one to every category")
        if not _is_color(category_colors[name]):
            raise ValueError(
                f"category_colors[{name!r}] is {category_colors[name]!r}, which is no colour of matplotlib"
            )
    return NodeLooks([category_colors[name] for name in categories], categories, kinds, shares)


def _is_color(value: Any) -> bool:
    from matplotlib.colors import is_color_like

    return bool(is_color_like(value))


def _draw_labels(
    da: xr.DataArray,
    target: Any,
    texts: list[str],
    colors: list,
    xy: np.ndarray,
    shapes: list,
    **style: Any,
) -> np.ndarray:
    """Write every node's label in a tinted box of its shape."""
    artists = np.empty(len(texts), dtype=object)
    for i, (text, color, (x, y), shape) in enumerate(zip(texts, colors, xy, shapes, strict=True)):
        box = {"boxstyle": shape.box, "fc": _tint(color), "ec": color, "lw": 0.8}
        look = {"ha": "center", "va": "center", "multialignment": "center", "zorder": 2, "bbox": box}
        artists[i] = target.text(x, y, text, **{**look, **style})
    return artists


def _draw_rings(da: xr.DataArray, target: Any, pc: Any, shares: np.ndarray, **style: Any) -> Any:
    look = {"color": COLOR, "linewidth": WIDTH, "zorder": 3, **style}
    return target.add_artist(Rings(pc.get_viz("nodes", da.name).values, shares, **look))


def _draw_dots(
    da: xr.DataArray, target: Any, colors: list, xy: np.ndarray, shapes: list, **style: Any
) -> Any:
    look = {"s": 14, "zorder": 2, "edgecolors": "white", "linewidths": 0.4}
    dots = target.scatter(xy[:, 0], xy[:, 1], c=colors, **{**look, **style})
    if len({shape.marker for shape in shapes}) > 1 or shapes[0].marker != "o":
        dots.set_paths([_outline(shape.marker) for shape in shapes])
    return dots


def _outline(marker: str) -> Any:
    from matplotlib.markers import MarkerStyle

    style = MarkerStyle(marker)
    return style.get_path().transformed(style.get_transform())


def _draw_names(canvas: Canvas) -> None:
    """Explain the numbers that stand for the nodes."""
    from matplotlib.lines import Line2D

    assert canvas.labels is not None
    handles = [Line2D([], [], linestyle="", label=name) for name in canvas.labels.names]
    style = {
        "loc": "outside right center",
        "ncols": canvas.n_columns,
        "frameon": False,
        "fontsize": FONT_SIZE,
        "handlelength": 0.0,
        "handletextpad": 0.0,
    }
    canvas.plot.legend("names", canvas.targets[0].figure, handles, **style)


def _draw_category_legend(canvas: Canvas) -> None:
    """Explain the colours of the categories, and the shapes of the kinds."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    looks = canvas.looks
    color_of = {} if looks.categories is None else dict(zip(looks.categories, looks.colors, strict=True))
    handles: list[Any] = [
        Patch(facecolor=_tint(color), edgecolor=color, label=literal(name))
        for name, color in color_of.items()
    ]
    handles += [] if looks.kinds is None else shape_handles(looks.kinds)
    if looks.shares is not None and canvas.plot.shows("rings"):
        label = "part of the outline: predictability"
        handles.append(Line2D([], [], label=label, color=COLOR, linewidth=WIDTH))
    figure = canvas.targets[0].figure
    widest = max(text_size(handle.get_label(), LEGEND_FONT_SIZE)[0] for handle in handles)
    style = {
        "loc": "outside upper center",
        "ncols": int(np.clip(figure.get_figwidth() // (widest + 2.0 * COLUMN_GAP), 1, len(handles))),
        "frameon": False,
        "fontsize": LEGEND_FONT_SIZE,
    }
    canvas.plot.legend("legend", figure, handles, **style)


def _tint(color: Any) -> tuple[float, float, float]:
    """Mix a colour with white, light enough for black text."""
    from matplotlib.colors import to_rgb

    r, g, b = (0.78 + 0.22 * c for c in to_rgb(color))
    return r, g, b
