"""Rings around the labels of a network: the part of the outline that is thick tells a share of each node.

Boxes of labels have their size in points, so that their outlines are known only when they are drawn.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.colors import to_rgba
from matplotlib.path import Path
from matplotlib.transforms import IdentityTransform

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, of_nodes
from pymc_mrf.checks import check_labels, sequence

COLOR, WIDTH = "#202020", 2.6  # points
SHARES = ("explained_accuracy", "explained_variance")  # of `predict_nodes`, by the kind of a node


def node_shares(nodes: Sequence[Hashable], value: Any) -> np.ndarray | None:
    """Share (d,) of each of the `nodes`, NaN where there is none; None if `value` is.

    Parameters
    ----------
    nodes : sequence of d hashables
    value : Dataset of `predict_nodes` or a DataArray of it, mapping by node, sequence of d numbers, or None
        Means of draws are taken. Shares below 0, of nodes that the others mislead about, are 0.

    Raises
    ------
    ValueError
        If nodes have other names, or a share is above 1.
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

    Parameters
    ----------
    texts : sequence of d matplotlib texts with boxes
    shares : (d,) array
        Of each outline; nothing is drawn of those that are NaN.
    **style
        ``color`` and ``linewidth``, in points.
    """

    def __init__(
        self, texts: Sequence, shares: np.ndarray, *, color: Any, linewidth: float, zorder: float
    ):
        super().__init__()
        self.shares = shares
        self._texts, self._color, self._width = texts, to_rgba(color), linewidth
        self.set_zorder(zorder)

    def draw(self, renderer: Any) -> None:
        """Draw them."""
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
