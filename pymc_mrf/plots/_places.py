"""Where the nodes of a field are, and its pictures there, coloured by one number of each node.

Nodes are cells or segments of an image or a volume, polygons or points of a map, or those of a network.
"""

import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import of_nodes
from pymc_mrf.checks import axes_of_values, numeric_array, sequence, whole_number
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.plots._collection import Plot, literal

MAX_LAYERS = 16
PANEL_ASPECT = 1.15  # width over height of a panel

Nodes = Sequence[Hashable]

MAX_NODE_LABELS = 40  # per panel


class Mosaic(NamedTuple):
    """Nodes by pixel, -1 where there is none; and the first pixels (row, column) of each layer shown."""

    pixels: np.ndarray
    layers: dict[int, tuple[int, int]]


def lattice(nodes: Nodes, shape: Any, name: str) -> np.ndarray | None:
    """Node of each cell of a lattice of two or three dimensions, -1 in none; None if they form no lattice.

    `shape` is its shape, None if the nodes are to tell; `name` that of the field.
    """
    d = len(nodes)
    if shape is not None:
        lengths = sequence(shape, "shape", "rows, columns and perhaps layers")
        sizes = [whole_number(n, f"shape[{k}]", 1) for k, n in enumerate(lengths)]
        if len(sizes) not in (2, 3) or np.prod(sizes) != d:
            raise ValueError(
                f"shape={shape!r} does not hold the {d} nodes of {name}; give (rows, columns), or (rows, "
                "columns, layers)"
            )
        return np.arange(d).reshape(sizes)
    found = [_cell(node) for node in nodes]
    if len({len(cell) for cell in found}) != 1 or len(found[0]) not in (2, 3):
        return None
    cells = np.array(found)
    cells -= cells.min(axis=0)
    ends = cells.max(axis=0) + 1
    if 2 * d < np.prod(ends):
        return None  # cells that fill less than half of their rectangle are no picture
    index = np.full(ends, -1)
    index[tuple(cells.T)] = np.arange(d)
    return index


def _cell(node: Any) -> tuple[int, ...]:
    """Read (row, column) or (row, column, layer), also from its text; () if it is none."""
    if isinstance(node, str) and re.fullmatch(r"\((-?\d+, ){1,2}-?\d+\)", node):
        return tuple(map(int, node[1:-1].split(", ")))
    if isinstance(node, tuple) and all(isinstance(i, int | np.integer) for i in node):
        return tuple(map(int, node))
    return ()


def segmented(nodes: Nodes, segments: Any) -> np.ndarray:
    """Node of each pixel of an image of labels, of two or three dimensions; -1 where there is none."""
    labels = numeric_array(segments, "segments", "iu")
    if labels.ndim not in (2, 3):
        raise ValueError(
            "segments must be an image of labels, (rows, columns) or (rows, columns, layers), not an array "
            f"of shape {labels.shape}"
        )
    names = [node for node in nodes if isinstance(node, int | np.integer)]
    are_labels = len(names) == len(nodes)
    known = {int(label): i for i, label in enumerate(names if are_labels else range(len(nodes)))}
    found, where = np.unique(labels, return_inverse=True)
    missing = [number for number in known if number not in set(found.tolist())]
    if missing:
        raise ValueError(
            f"segments has no pixel of node {nodes[known[missing[0]]]!r}, whose label is {missing[0]}: its "
            f"labels go from {found[0]} to {found[-1]}; labels are the names of the nodes if these are "
            "integers, else 0, 1, ... in the order of the graph"
        )
    return np.array([known.get(label, -1) for label in found.tolist()])[where].reshape(labels.shape)


def mosaic(index: np.ndarray, layers: Any) -> Mosaic:
    """Lay the layers of a volume side by side; an image is left as it is.

    `layers` are to be shown, by default up to 16 at equal distances.
    """
    if index.ndim == 2:
        if layers is not None:
            raise ValueError(
                f"layers={layers!r} is for volumes, but the field is an image of two dimensions"
            )
        return Mosaic(index, {})
    rows, columns, depth = index.shape
    if layers is None:
        chosen = np.unique(
            np.linspace(0, depth - 1, min(depth, MAX_LAYERS)).round().astype(int)
        ).tolist()
    else:
        chosen = [whole_number(k, "layers", 0) for k in sequence(layers, "layers", "numbers of layers")]
        if not chosen or max(chosen) >= depth or len(set(chosen)) < len(chosen):
            raise ValueError(f"layers must be different ones of 0 to {depth - 1}, not {layers!r}")
    n = len(chosen)
    gap = max(1, round(0.04 * max(rows, columns)))
    aspects = [k * columns / (-(-n // k) * rows) for k in range(1, n + 1)]
    across = 1 + int(np.abs(np.log(np.array(aspects) / PANEL_ASPECT)).argmin())
    down = -(-n // across)
    tiles = np.full((down * (rows + gap) - gap, across * (columns + gap) - gap), -1)
    corners = {}
    for k, layer in enumerate(chosen):
        i, j = k // across * (rows + gap), k % across * (columns + gap)
        tiles[i : i + rows, j : j + columns] = index[..., layer]
        corners[layer] = (i, j)
    return Mosaic(tiles, corners)


def points(nodes: Nodes, pos: Any) -> np.ndarray:
    """Coordinates (d, 2) of the nodes, from a mapping, a sequence, or a table of points."""
    places = [
        _point(node, value)
        for node, value in zip(nodes, _given_of_nodes(nodes, pos, "pos", "position"), strict=True)
    ]
    return np.array(places)


def _point(node: Hashable, value: Any) -> np.ndarray:
    shape = _geometry(value)
    if isinstance(shape, Mapping):
        value = shape.get("coordinates") if shape.get("type") == "Point" else None
    try:
        place = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        place = np.zeros(0)
    if place.shape != (2,) or not np.isfinite(place).all():
        raise ValueError(f"pos[{node!r}] must be two finite numbers (x, y), or a point, not {value!r}")
    return place


def polygons_of(nodes: Nodes, polygons: Any) -> list[list[list[np.ndarray]]]:
    """Polygons of each node, of each its rings (n, 2), of which those after the first are holes."""
    return [
        _polygons(node, value)
        for node, value in zip(
            nodes, _given_of_nodes(nodes, polygons, "polygons", "polygon"), strict=True
        )
    ]


def _polygons(node: Hashable, value: Any) -> list[list[np.ndarray]]:
    shape = _geometry(value)
    if not isinstance(shape, Mapping):
        shape = {"type": "Polygon", "coordinates": [shape]}
    kind, coordinates = shape.get("type"), shape.get("coordinates")
    if kind not in ("Polygon", "MultiPolygon"):
        raise ValueError(
            f"polygons has {value!r} for node {node!r}; give a polygon, or several as a multipolygon: "
            "corners (n, 2), a GeoJSON geometry, or an object with __geo_interface__"
        )
    parts = [coordinates] if kind == "Polygon" else coordinates
    try:
        rings = [[np.asarray(ring, dtype=float)[:, :2] for ring in part] for part in parts]
    except (TypeError, ValueError, IndexError):
        rings = []
    corners = [ring for part in rings for ring in part]
    if not corners or any(len(ring) < 3 or not np.isfinite(ring).all() for ring in corners):
        raise ValueError(f"polygons has no polygon of three finite corners or more for node {node!r}")
    return rings


def _geometry(value: Any) -> Any:
    """GeoJSON of a geometry, or of that of a feature; other values as they are."""
    value = getattr(value, "__geo_interface__", value)
    is_feature = isinstance(value, Mapping) and value.get("type") == "Feature"
    return value["geometry"] if is_feature else value


def _given_of_nodes(nodes: Nodes, values: Any, name: str, what: str) -> list:
    """Values of the nodes: of a mapping or of rows with an index by name, of a sequence in their order."""
    if isinstance(values, Mapping):
        return of_nodes(values, nodes, name, what)
    has_shapes = hasattr(values, "geometry") and hasattr(values.geometry, "index")
    given = values.geometry if has_shapes else values
    axes = axes_of_values(given, name)
    index = axes[0][0].labels if axes and axes[0] else None
    in_order = f"{what}s in the order of the nodes, or a dictionary of them"
    rows = sequence(list(np.asarray(given)) if axes else given, name, in_order)
    if index is not None and index != list(range(len(nodes))):
        known = dict(zip(index, rows, strict=True))
        if len(known) < len(rows):
            raise ValueError(f"{name} has several rows of one name; make one {what} of them")
        return of_nodes(known, nodes, name, what)
    if len(rows) != len(nodes):
        raise ValueError(
            f"{name} has {len(rows)} {what}s for {len(nodes)} nodes; give one for each, in the order of "
            "the graph, or a dictionary"
        )
    return rows


def aspect_of(xy: np.ndarray, given: Any) -> float:
    """Length of a unit of y over that of x, which differ in degrees of latitude and longitude."""
    is_geographic = getattr(getattr(given, "crs", None), "is_geographic", False)
    return 1.0 / np.cos(np.deg2rad(xy[:, 1].mean())) if is_geographic else 1.0


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
