"""How the nodes of a network look: shapes by their kinds, names, and rings around them.

Measurements and answers with or without an order have shapes of their own. Names are written on one line
or several, or as numbers with a legend. The part of a ring that is thick tells a share of each node.
Boxes of labels have their size in points, so that their outlines are known only when they are drawn.
"""

import textwrap
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.colors import to_rgba
from matplotlib.path import Path
from matplotlib.transforms import IdentityTransform

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, of_nodes
from pymc_mrf.checks import check_labels, quoted, sequence
from pymc_mrf.plots._collection import literal

LINE = 20  # characters
MAX_LINES = 3
MAX_WRAPPED = 15  # names of several lines
LEGEND_LINE = 50  # characters
PADDING, LINE_SPACING = 0.3, 1.3  # in parts of the font size
COLOR, WIDTH = "#202020", 2.6  # points
SHARES = ("explained_accuracy", "explained_variance")  # of `predict_nodes`, by the kind of a node


class Shape(NamedTuple):
    """How nodes of one kind look.

    `box`: style of the box of a label, as matplotlib takes it. `marker`: of a dot. `growth`: width and
    height in parts of those of the label.
    """

    box: Any
    marker: str
    growth: float


def ellipse(x0: float, y0: float, width: float, height: float, mutation_size: float) -> Any:
    from matplotlib.path import Path

    centre, half = _padded(x0, y0, width, height, mutation_size)
    circle = Path.unit_circle()
    return Path(centre + np.sqrt(2.0) * half * circle.vertices, circle.codes)


def rectangle(x0: float, y0: float, width: float, height: float, mutation_size: float) -> Any:
    return _polygon([(-1, -1), (1, -1), (1, 1), (-1, 1)], x0, y0, width, height, mutation_size)


def diamond(x0: float, y0: float, width: float, height: float, mutation_size: float) -> Any:
    return _polygon([(-2, 0), (0, -2), (2, 0), (0, 2)], x0, y0, width, height, mutation_size)


def _polygon(corners: list, *label: float) -> Any:
    """Path through corners in half sizes of a label from its centre."""
    from matplotlib.path import Path

    centre, half = _padded(*label)
    return Path(centre + half * np.array([*corners, corners[0]]), closed=True)


def _padded(x0: float, y0: float, width: float, height: float, size: float) -> tuple:
    """Centre and half sizes of a label with padding, at least as wide as high: one letter gets a circle."""
    pad = 2.0 * PADDING * size
    half = 0.5 * np.array([max(width, height) + pad, height + pad])
    return np.array([x0 + 0.5 * width, y0 + 0.5 * height]), half


PLAIN = Shape(f"round,pad={PADDING}", "o", 1.0)
SHAPES = {
    "continuous": Shape(ellipse, "o", float(np.sqrt(2.0))),
    "ordinal": Shape(rectangle, "s", 1.0),
    "nominal": Shape(diamond, "D", 2.0),
}


def node_kinds(nodes: Sequence[Hashable], node_kind: Any) -> list[str] | None:
    """Kind of each of the `nodes`; None if none are given.

    `nodes` sequence of d hashables. Raises a TypeError or ValueError if a node has no kind, or one that
    has no shape.
    """
    if node_kind is None:
        return None
    if isinstance(node_kind, Mapping):
        kinds = of_nodes(node_kind, nodes, "node_kind", "kind")
    elif hasattr(node_kind, "owner"):
        kinds = _kinds_of_field(node_kind, len(nodes))
    else:
        check_labels(node_kind, nodes, "node_kind", "node")
        kinds = sequence(node_kind, "node_kind", "kinds")
    if len(kinds) != len(nodes):
        raise ValueError(f"node_kind has {len(kinds)} entries, but the graph has {len(nodes)} nodes")
    for node, kind in zip(nodes, kinds, strict=True):
        if kind not in SHAPES:
            raise ValueError(f"node_kind of {node!r} is {kind!r}, but must be one of {quoted(SHAPES)}")
    return kinds


def _kinds_of_field(variable: Any, n_nodes: int) -> list[str]:
    """Kinds of the nodes of a field of a model."""
    from pymc_mrf.distributions.parents import field_node
    from pymc_mrf.fields.gaussian import GAUSSIAN
    from pymc_mrf.fields.mixed import MixedFamily

    node = field_node(variable)
    family = getattr(node.op, "family", None) if node is not None else None
    if family is None:
        raise TypeError(
            f"node_kind={variable.name!r} is no field of nodes that all have one kind: give a kind for each "
            "node, in a dictionary"
        )
    if isinstance(family, MixedFamily):
        return list(family.columns.kinds)
    kind = "continuous" if family is GAUSSIAN else "nominal" if family.has_blocks else "ordinal"
    return [kind] * n_nodes


def shapes_of(kinds: list[str] | None, n_nodes: int) -> list[Shape]:
    """Shape of each node, that of nodes without a kind if there are no `kinds`."""
    return [PLAIN] * n_nodes if kinds is None else [SHAPES[kind] for kind in kinds]


def shape_handles(kinds: list[str]) -> list:
    """Entries of a legend for the kinds that occur."""
    from matplotlib.lines import Line2D

    style: dict[str, Any] = {
        "linestyle": "",
        "markersize": 9,
        "color": "#D9D9D9",
        "markeredgecolor": "#606060",
    }
    return [
        Line2D([], [], marker=shape.marker, label=kind, **style)
        for kind, shape in SHAPES.items()
        if kind in kinds
    ]


class NodeLabels(NamedTuple):
    """What is written at each node, the inches (d, 2) that it takes, and names if these are numbers."""

    texts: list[str]
    boxes: np.ndarray
    names: list[str]


def node_labels(nodes: Sequence[Hashable], font_size: Any) -> NodeLabels:
    """Break names longer than `LINE` into lines, or number all nodes where these would be too many."""
    names = [str(node) for node in nodes]
    texts = [balanced(name) for name in names]
    n_lines = [text.count("\n") + 1 for text in texts]
    is_numbered = max(n_lines) > MAX_LINES or sum(n > 1 for n in n_lines) > MAX_WRAPPED
    if is_numbered:
        texts = [str(k) for k in range(1, len(names) + 1)]
        names = [wrapped(f"{k}  {name}", LEGEND_LINE, "    ") for k, name in enumerate(names, start=1)]
    boxes = np.array([text_size(text, font_size, PADDING) for text in texts])
    boxes[:, 0] = boxes.max(axis=1)  # no shape is narrower than high
    return NodeLabels(
        [literal(text) for text in texts], boxes, [literal(name) for name in names] * is_numbered
    )


def balanced(name: str) -> str:
    """Break a long name into as few lines as `LINE` allows, about equally long."""
    if len(name) <= LINE:
        return name
    n_lines = wrapped(name, LINE).count("\n")
    narrowest = min(LINE, max(map(len, name.split()), default=LINE))  # words stay whole
    texts = (wrapped(name, width) for width in range(narrowest, LINE + 1))
    return next(text for text in texts if text.count("\n") == n_lines)


def wrapped(name: str, width: int, indent: str = "") -> str:
    """Break a name into lines; a short one stays as it is."""
    if len(name) <= width:
        return name
    return "\n".join(textwrap.wrap(name, width, subsequent_indent=indent))


def text_size(text: str, font_size: Any, padding: float = 0.0) -> tuple[float, float]:
    """Width and height in inches of a text, with padding in parts of the font size on all sides."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=font_size)
    points = font.get_size_in_points()
    lines = text.split("\n")
    width = max(
        text_to_path.get_text_width_height_descent(line, font, ismath=False)[0] for line in lines
    )
    extra = 2.0 * padding * points
    return (width + extra) / 72.0, (LINE_SPACING * points * len(lines) + extra) / 72.0


def node_shares(nodes: Sequence[Hashable], value: Any) -> np.ndarray | None:
    """Share (d,) of each of the `nodes`, NaN where there is none; None if `value` is.

    `nodes` sequence of d hashables. `value`: means of draws are taken. Shares below 0, of nodes that the
    others mislead about, are 0. Raises a ValueError if nodes have other names, or a share is above 1.
    """
    if value is None:
        return None
    if isinstance(value, xr.Dataset):
        value = _by_node(value, [name for name in SHARES if name in value])
    elif isinstance(value, xr.DataArray):
        value = _by_node(value.to_dataset(name="share"), ["share"])
    if isinstance(value, Mapping):
        shares = of_nodes(value, nodes, "predictability", "share")
    else:
        check_labels(value, nodes, "predictability", "node")
        shares = sequence(value, "predictability", "shares")
    if len(shares) != len(nodes):
        raise ValueError(
            f"predictability has {len(shares)} entries, but the graph has {len(nodes)} nodes"
        )
    found = np.asarray(shares, dtype=np.float64)
    if (found > 1.0).any():
        k = int(np.nanargmax(found))
        raise ValueError(f"predictability of {nodes[k]!r} is {found[k]:g}, but shares are 1 at most")
    return np.maximum(found, 0.0)


def _by_node(shares: xr.Dataset, names: list[str]) -> dict[Hashable, float]:
    """Mean share by the label of its node, of several variables together."""
    found: dict[Hashable, float] = {}
    for name in names:
        mean = shares[name].mean([dim for dim in SAMPLE_DIMS if dim in shares[name].dims])
        if mean.ndim != 1:
            raise ValueError(
                f"predictability[{name!r}] has the dimensions {shares[name].dims}: give one number for each "
                "node, or draws of it"
            )
        found |= dict(zip(mean[mean.dims[0]].values.tolist(), mean.values.tolist(), strict=True))
    return found


class Rings(Artist):
    """Parts of the outlines of labels, clockwise from the middle of the top.

    `texts` sequence of d matplotlib texts with boxes. `shares` (d,): of each outline; nothing is drawn
    of those that are NaN. `**style`: ``color`` and ``linewidth``, in points.
    """

    def __init__(
        self, texts: Sequence, shares: np.ndarray, *, color: Any, linewidth: float, zorder: float
    ):
        super().__init__()
        self.shares = shares
        self._texts, self._color, self._width = texts, to_rgba(color), linewidth
        self.set_zorder(zorder)

    def draw(self, renderer: Any) -> None:
        if not self.get_visible():
            return
        gc = renderer.new_gc()
        gc.set_foreground(self._color, isRGBA=True)
        gc.set_linewidth(self._width)  # in points, which renderers make pixels
        gc.set_capstyle("butt")
        for text, share in zip(self._texts, self.shares, strict=True):
            if share > 0.0:
                text.update_bbox_position_size(renderer)
                patch = text.get_bbox_patch()
                outline = patch.get_transform().transform_path(patch.get_path())
                renderer.draw_path(gc, Path(part_of_outline(outline, share)), IdentityTransform())
        gc.restore()


def part_of_outline(outline: Path, share: float) -> np.ndarray:
    """Corners (m, 2) of a share of a closed outline, clockwise from the middle of its top."""
    corners = max((np.asarray(polygon) for polygon in outline.to_polygons()), key=len)
    x, y = corners.T
    if np.sum(x[:-1] * y[1:] - x[1:] * y[:-1]) > 0.0:
        corners = corners[::-1]
    lengths = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(corners, axis=0), axis=1))])
    fine = np.linspace(0.0, lengths[-1], 401)[:-1]
    places = np.column_stack([np.interp(fine, lengths, c) for c in corners.T])
    middle, top = 0.5 * (x.min() + x.max()), y.max()
    start = int(np.argmin(np.hypot(places[:, 0] - middle, places[:, 1] - top)))
    ordered = np.roll(places, -start, axis=0)
    return np.concatenate([ordered, ordered[:1]])[: 1 + int(np.ceil(share * len(ordered)))]
