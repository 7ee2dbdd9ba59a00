"""What a panel of a field shows: an image, a map or a network, coloured by one number of each node."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.plots._collection import Plot, literal
from pymc_mrf.plots._places import Mosaic

MAX_NODE_LABELS = 40  # per panel


def draw_image(da: xr.DataArray, target: Any, tiles: Mosaic, plot: Plot, **style: Any) -> Any:
    target.set_xticks([])
    target.set_yticks([])
    if tiles.layers and plot.shows("labels"):
        target.spines[:].set_visible(False)
        box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 1.0}
        look = {"xytext": (2, -2), "textcoords": "offset points", "ha": "left", "va": "top"}
        look = plot.style("labels", fontsize=8, bbox=box, **look)
        for k, (layer, (row, column)) in enumerate(tiles.layers.items()):
            text = str(layer) if k else f"layer {layer}"
            target.annotate(text, (column - 0.5, row - 0.5), **look)
    return target.imshow(np.ma.masked_invalid(da.values), **{"interpolation": "nearest", **style})


def draw_polygons(
    da: xr.DataArray,
    target: Any,
    nodes: Sequence[Hashable],
    outlines: list[list[list[np.ndarray]]],
    plot: Plot,
    **style: Any,
) -> Any:
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    target.set_axis_off()
    patches = []
    for parts in outlines:
        # holes run the other way round than what they are in
        rings = [
            ring if (_area(ring) > 0.0) == (k == 0) else ring[::-1]
            for part in parts
            for k, ring in enumerate(part)
        ]
        closed = [Path(np.vstack([ring, ring[:1]]), closed=True) for ring in rings]
        patches.append(PathPatch(Path.make_compound_path(*closed)))
    look = {"edgecolors": "0.35", "linewidths": 0.5, **style}
    limits = look.pop("vmin", None), look.pop("vmax", None)
    artist = PatchCollection(patches, **{"array": da.values, **look})
    artist.set_clim(*limits)
    target.add_collection(artist)
    target.autoscale_view()
    if len(nodes) <= MAX_NODE_LABELS and plot.shows("labels"):
        from matplotlib.patheffects import withStroke

        halo = [withStroke(linewidth=2.0, foreground="white")]
        look = plot.style("labels", ha="center", va="center", fontsize=7, path_effects=halo)
        for node, parts in zip(nodes, outlines, strict=True):
            largest = max((part[0] for part in parts), key=lambda ring: abs(_area(ring)))
            target.annotate(literal(node), _centre(largest), **look)
    return artist


def _area(ring: np.ndarray) -> float:
    """Area inside a ring (n, 2), negative if it runs clockwise."""
    x, y = (ring - ring[0]).T
    return float(0.5 * (x @ np.roll(y, -1) - y @ np.roll(x, -1)))


def _centre(ring: np.ndarray) -> np.ndarray:
    """Centre of gravity of what is inside a ring (n, 2)."""
    shifted = ring - ring[0]
    after = np.roll(shifted, -1, axis=0)
    cross = shifted[:, 0] * after[:, 1] - shifted[:, 1] * after[:, 0]
    if not cross.sum():
        return ring.mean(axis=0)
    return ring[0] + cross @ (shifted + after) / (3.0 * cross.sum())


def draw_nodes(
    da: xr.DataArray, target: Any, graph: PairwiseGraph, xy: np.ndarray, plot: Plot, **style: Any
) -> Any:
    from matplotlib.collections import LineCollection

    target.set_axis_off()
    if plot.shows("edges"):
        look = plot.style("edges", colors="0.75", linewidths=0.6, zorder=1)
        target.add_collection(LineCollection(list(xy[graph.edges]), **look))
    if graph.n_nodes <= MAX_NODE_LABELS and plot.shows("labels"):
        look = {"xytext": (0, -8), "textcoords": "offset points", "ha": "center", "va": "top"}
        look = plot.style("labels", fontsize=8, **look)
        for label, place in zip(graph.nodes, xy, strict=True):
            target.annotate(literal(label), place, **look)
    target.margins(0.08)
    size = float(np.clip(6000.0 / graph.n_nodes, 12.0, 120.0))
    look = {"s": size, "edgecolors": "0.35", "linewidths": 0.6, "zorder": 2, **style}
    return target.scatter(xy[:, 0], xy[:, 1], c=da.values, **look)
