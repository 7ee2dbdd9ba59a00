"""Arrows of a network, with heads at the borders of the nodes, and loops of a node to itself.

Boxes of labels have their size in points, so that where an arrow ends is known only when it is drawn.
"""

from collections import Counter
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.path import Path
from matplotlib.transforms import IdentityTransform

from pymc_mrf.graph.lagged import LaggedGraph

BEND = 0.13  # distance of a curve's middle from the straight line, in parts of its length
LOOP_HEIGHT, LOOP_WIDTH = 24.0, 13.0  # points
HEAD_LENGTH, HEAD_WIDTH = 6.0, 5.0  # points, of the thinnest line
POINTS = 160  # of the polygon that a curve is
DASHES = ("solid", (0, (4, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)))  # by lag


def bends(graph: LaggedGraph, shown: np.ndarray) -> np.ndarray:
    """How far the edges `shown` are to bend: not at all where nothing else joins the two nodes.

    Arrows of opposite directions part to different sides, those of larger lags bend farther; links are
    straight. Of loops it is how much larger they are, one for each lag.
    """
    pairs = [tuple(sorted(pair)) for pair in graph.edges[shown].tolist()]
    lags = graph.lag_of[shown]
    is_loop = graph.edges[shown, 0] == graph.edges[shown, 1]
    counts = Counter(pairs)
    is_alone = np.array([counts[pair] == 1 for pair in pairs], dtype=bool)
    return np.where(
        is_loop, lags - 1.0, np.where(is_alone | (lags == 0), 0.0, BEND * (0.4 + 0.6 * lags))
    )


def line_styles(graph: LaggedGraph, shown: np.ndarray) -> list:
    """Dashes of the edges `shown`, which tell lags apart; links are like the first lag."""
    return [DASHES[max(k - 1, 0) % len(DASHES)] for k in graph.lag_of[shown]]


class ArrowCollection(LineCollection):
    """Lines between nodes, which end at the boxes of these and may have heads.

    `ends` (m, 2, 2): places of the source and of the target of each line; equal for loops. `bend` (m,):
    as from `bends`. `has_head` (m,) of bool. `loop_side` (m,): 1 for loops above the node, -1 below.
    `**style`: of a ``LineCollection``.
    """

    def __init__(
        self, ends: np.ndarray, bend: np.ndarray, has_head: np.ndarray, loop_side: np.ndarray, **style
    ):
        super().__init__(list(ends), **style)
        self._ends, self._bend, self._has_head, self._loop_side = ends, bend, has_head, loop_side
        self._boxes: list | None = None
        self._radius = 0.0

    def end_at(self, texts: Any, edges: np.ndarray) -> None:
        """Let lines end at the boxes of labels; `edges` (m, 2) are the positions of their ends in `texts`."""
        self._boxes = [(texts[u], texts[v]) for u, v in edges.tolist()]

    def end_near(self, radius: float) -> None:
        """Let lines end so many points from the centres of dots."""
        self._radius = radius

    def draw(self, renderer: Any) -> None:
        if not self.get_visible():
            return
        scale = renderer.points_to_pixels(1.0)
        places = self.get_transform().transform(self._ends.reshape(-1, 2)).reshape(-1, 2, 2)
        renderer.open_group(type(self).__name__, self.get_gid())
        # one style may be given for all lines
        styles: list[Any] = [self.get_colors(), self.get_linewidth(), self.get_linestyle()]
        urls = self.get_urls()
        for i, place in enumerate(places):
            color, width, dash = (values[i % len(values)] for values in styles)
            gc = renderer.new_gc()
            gc.set_foreground(color, isRGBA=True)
            gc.set_linewidth(width * scale)
            gc.set_url(urls[i % len(urls)])
            gc.set_capstyle("butt")
            gc.set_dashes(dash[0], None if dash[1] is None else [scale * part for part in dash[1]])
            curve, head = self.outline(i, place, width, scale, renderer)
            if len(curve) > 1:
                renderer.draw_path(gc, Path(curve), IdentityTransform())
            if head is not None:
                gc.set_linewidth(0.0)
                gc.set_dashes(0, None)
                renderer.draw_path(gc, Path(head, closed=True), IdentityTransform(), tuple(color))
            gc.restore()
        renderer.close_group(type(self).__name__)

    def outline(
        self, i: int, place: np.ndarray, width: float, scale: float, renderer: Any
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Pixels of the line and, if it has one, of its head."""
        boxes = [self._box(i, end, place[end], scale, renderer) for end in (0, 1)]
        is_loop = bool(np.all(self._ends[i, 0] == self._ends[i, 1]))
        curve = self._loop(i, boxes[0], scale) if is_loop else _arc(place[0], place[1], self._bend[i])
        outside = np.ones(len(curve), dtype=bool)
        for low, high in boxes:
            outside &= ~np.all((curve >= low) & (curve <= high), axis=1)
        kept = np.flatnonzero(outside)
        if len(kept) < 2:
            return curve[:0], None
        curve = curve[kept[0] : kept[-1] + 1]
        if not self._has_head[i]:
            return curve, None
        tip = curve[-1]
        length = scale * (HEAD_LENGTH + 1.2 * width)
        body = curve[np.linalg.norm(curve - tip, axis=1) >= length]
        base = body[-1] if len(body) else curve[0]
        along = tip - base
        across = np.array([-along[1], along[0]]) / (np.linalg.norm(along) or 1.0)
        half = 0.5 * scale * (HEAD_WIDTH + 1.6 * width) * across
        return body, np.array([tip, base + half, base - half, tip])

    def _box(
        self, i: int, end: int, centre: np.ndarray, scale: float, renderer: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Corners in pixels of what covers an end of a line."""
        if self._boxes is None:
            return centre - scale * self._radius, centre + scale * self._radius
        text = self._boxes[i][end]
        text.update_bbox_position_size(renderer)
        extent = text.get_bbox_patch().get_window_extent(renderer)
        return np.array([extent.x0, extent.y0]), np.array([extent.x1, extent.y1])

    def _loop(self, i: int, box: tuple[np.ndarray, np.ndarray], scale: float) -> np.ndarray:
        """Curve from the border of a box to the same border."""
        low, high = box
        side, size = self._loop_side[i], 1.0 + 0.6 * self._bend[i]
        middle = np.array([0.5 * (low[0] + high[0]), high[1] if side > 0 else low[1]])
        width, height = scale * size * LOOP_WIDTH, scale * size * LOOP_HEIGHT * side
        foot = np.array([min(0.45 * width, 0.4 * (high[0] - low[0])), 0.0])
        out = np.array([width, height])
        t = np.linspace(0.0, 1.0, POINTS)[:, None]
        weights = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3
        controls = middle - foot, middle + out * [-1, 1.3], middle + out * [1, 1.3], middle + foot
        return sum(weight * control for weight, control in zip(weights, controls, strict=True))


def _arc(start: np.ndarray, end: np.ndarray, bend: float) -> np.ndarray:
    """Curve between two places, which leaves the straight line to the left."""
    along = end - start
    control = 0.5 * (start + end) + 2.0 * bend * np.array([-along[1], along[0]])
    t = np.linspace(0.0, 1.0, POINTS)[:, None]
    return (1 - t) ** 2 * start + 2 * t * (1 - t) * control + t**2 * end


def loop_sides(xy: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Whether a loop fits better above (1) or below (-1) the source of each of the `edges` (m, 2)."""
    along = xy[edges[:, 1]] - xy[edges[:, 0]]
    length = np.hypot(*along.T)
    # steep lines are in the way of a loop, flat ones are not
    steep = (along[:, 1] / np.where(length > 0.0, length, 1.0)) ** 3
    upwards = np.zeros(len(xy))
    np.add.at(upwards, edges[:, 0], steep)
    np.add.at(upwards, edges[:, 1], -steep)
    return np.where(upwards[edges[:, 0]] > 0.0, -1.0, 1.0)
