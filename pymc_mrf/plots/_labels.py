"""How the names of nodes are written in a network: on one line or several, or as numbers with a legend."""

import textwrap
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.plots._collection import literal

LINE = 20  # characters
MAX_LINES = 3
MAX_WRAPPED = 15  # names of several lines
LEGEND_LINE = 50  # characters
PADDING, LINE_SPACING = 0.3, 1.3  # in parts of the font size


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
