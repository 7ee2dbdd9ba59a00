"""Where the nodes of a network are drawn: related ones near each other, labels apart."""

from collections.abc import Callable

import numpy as np

ASPECT = 1.3  # width over height of a network
ALONE = (0.7, 0.4)  # room of a node without edges, in units of that of others
MAX_STRETCH = 1.5  # of one direction, compared with the other
LEAST_DEPTH = (
    0.15  # height over width, below which joined nodes are in a row and hide edges of each other
)
ARC = 4.0 / 3.0 * np.pi  # of a bent row, which is then about `ASPECT` times as wide as high
LEAST_SIZE = 0.5  # of a part in each direction, in units of the room of a node
MAX_BESIDE = 40  # parts in a row
GAP = 0.25, 0.14  # inches between nodes without edges, and twice as much above them


def packed_layout(n_nodes: int, edges: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Layout (d, 2) of Kamada & Kawai (1989) of each connected part, the parts in rows, largest first.

    Nodes are to be as far apart as the shortest way over `edges` (m, 2) of these `lengths` (m,). Each part
    has an area as it has nodes, and lies on its longer side. Nodes without edges are in rows of their own.
    """
    import networkx as nx

    net = nx.empty_graph(n_nodes)
    net.add_weighted_edges_from(
        (*pair, length) for pair, length in zip(edges.tolist(), lengths, strict=True)
    )
    parts = [
        sorted(part)
        for part in sorted(nx.connected_components(net), key=lambda part: (-len(part), min(part)))
    ]
    places, sizes = [], []
    for part in parts:
        if len(part) == 1:
            places.append(np.full((1, 2), 0.5) * ALONE)
            sizes.append(ALONE)
            continue
        layout = nx.kamada_kawai_layout(net.subgraph(part))
        inside = _bent(_lying(np.array([layout[i] for i in part])))
        extent = np.ptp(inside, axis=0)
        aspect = np.clip(extent[0] / max(extent[1], 1e-9), 1.0, MAX_STRETCH)
        size = np.sqrt([len(part) * aspect, len(part) / aspect])
        shape = scaled_to(inside, 0.85 * size)
        size = np.maximum(np.ptp(shape, axis=0) + 0.15 * size, LEAST_SIZE)
        places.append(shape + 0.5 * (size - np.ptp(shape, axis=0)))
        sizes.append(tuple(size))
    return _in_rows(parts, places, sizes)


def network_layout(
    edges: np.ndarray,
    lengths: np.ndarray,
    boxes: np.ndarray,
    size_of: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Layout (d, 2) in inches of joined nodes by `packed_layout`, and below them others, close together.

    `boxes` (d, 2) are the widths and heights of the nodes; `size_of` tells the size of a picture of some.
    """
    is_joined = np.isin(np.arange(len(boxes)), edges)
    joined, alone = np.flatnonzero(is_joined), np.flatnonzero(~is_joined)
    xy = np.zeros((len(boxes), 2))
    if len(joined):
        layout = packed_layout(len(joined), np.searchsorted(joined, edges), lengths)
        xy[joined] = scaled_to(layout, size_of(boxes[joined]))
    if not len(alone):
        return xy
    cell = boxes[alone].max(axis=0) + GAP
    if len(joined):
        width = max(np.ptp(xy[joined, 0]), cell[0])
    else:
        width = cell[0] * np.ceil(np.sqrt(len(alone) * ASPECT * cell[1] / cell[0]))
    n_columns = min(int(width / cell[0]), len(alone))
    row, column = np.divmod(np.arange(len(alone)), n_columns)
    xy[alone, 0] = (column + 0.5) * width / n_columns
    xy[alone, 1] = -cell[1] * (row + 2.0 * bool(len(joined)))
    return xy


def _lying(xy: np.ndarray) -> np.ndarray:
    """Turn places so that they extend most from left to right."""
    centred = xy - xy.mean(axis=0)
    axes = np.linalg.eigh(centred.T @ centred)[1][:, ::-1]
    axes *= np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])  # the same on every machine
    return centred @ axes


def _bent(xy: np.ndarray) -> np.ndarray:
    """Bend places that are nearly in a row to two thirds of a circle, where edges do not lie behind nodes."""
    width, depth = np.ptp(xy, axis=0)
    if len(xy) < 3 or depth >= LEAST_DEPTH * width:
        return xy
    x, y = xy.T
    radius = width / ARC
    angle = (x - x.min()) / radius - 0.5 * ARC  # as far apart along the arc as in the row
    arc = -radius * np.cos(angle)
    turn = -1.0 if (arc - arc.mean()) @ y < 0.0 else 1.0  # as they are bent already
    return np.column_stack([radius * np.sin(angle), y + turn * arc])


def _in_rows(parts: list, places: list, sizes: list) -> np.ndarray:
    """Put parts beside each other in rows that leave little room empty."""
    widths, heights = np.array(sizes).T

    def side(row_width: float) -> float:
        rows = _rows(parts, widths, row_width)
        width = max(widths[row].sum() for row in rows)
        return max(width / ASPECT, sum(heights[row].max() for row in rows))

    row_width = min(np.cumsum(widths)[:MAX_BESIDE], key=side)
    xy = np.zeros((sum(map(len, parts)), 2))
    top = 0.0
    for row in _rows(parts, widths, row_width):
        gap = (row_width - widths[row].sum()) / len(row)
        left, height = 0.5 * gap, heights[row].max()
        for k in row:
            xy[parts[k]] = places[k] + [left, top - 0.5 * (height + heights[k])]
            left += widths[k] + gap
        top -= height
    return xy


def _rows(parts: list, widths: np.ndarray, row_width: float) -> list[list[int]]:
    """Fill rows with parts; nodes without edges begin a new one."""
    rows: list[list[int]] = [[]]
    for k, width in enumerate(widths):
        is_full = widths[rows[-1]].sum() + width > row_width * (1.0 + 1e-9)
        is_first_alone = k > 0 and len(parts[k]) == 1 < len(parts[k - 1])
        if rows[-1] and (is_full or is_first_alone):
            rows.append([])
        rows[-1].append(k)
    return rows


def scaled_to(xy: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Scale places to a picture of this size; shapes are kept, but for a stretch of `MAX_STRETCH`."""
    extent = np.ptp(xy, axis=0)
    if not extent.any():
        return xy - xy.min(axis=0)
    scale = np.asarray(size) / np.where(extent > 0.0, extent, np.nan)
    scale = np.fmin(scale, MAX_STRETCH * np.nanmin(scale))
    return (xy - xy.min(axis=0)) * scale


def separate(xy: np.ndarray, boxes: np.ndarray, max_rounds: int = 1000) -> np.ndarray:
    """Move centres until boxes around them no longer overlap, each pair along its shorter way out.

    `xy` and `boxes` (d, 2): centres, and widths and heights. `max_rounds`: crowded boxes may still
    overlap after so many rounds. Returns (d, 2).
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
