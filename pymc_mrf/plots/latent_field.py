"""Pictures of a latent field: what its nodes are on average, most probably, and how surely."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import check_tree, names_of, sampled_variable
from pymc_mrf.analysis.latent_marginals import counted_marginals
from pymc_mrf.checks import check_labels, quoted
from pymc_mrf.graph.coordinates import coords as node_coords
from pymc_mrf.graph.structure import as_graph
from pymc_mrf.plots._collection import CATEGORICAL, Plot
from pymc_mrf.plots._layout import packed_layout, scaled_to
from pymc_mrf.plots._network import check_mapping
from pymc_mrf.plots._places import (
    aspect_of,
    draw_image,
    draw_nodes,
    draw_polygons,
    lattice,
    mosaic,
    points,
    polygons_of,
    segmented,
)

PANELS = ("mean", "mode", "entropy")
MAX_STATES = 50
TITLES = {"mean": "posterior mean", "mode": "most probable state", "entropy": "marginal entropy"}


def plot_latent_field(
    dt: xr.DataTree,
    var_name: str,
    *,
    graph: Any = None,
    shape: tuple[int, ...] | None = None,
    segments: Any = None,
    polygons: Any = None,
    pos: Any = None,
    layers: Sequence[int] | None = None,
    panels: Sequence[str] | None = None,
    coords: Mapping[str, Any] | None = None,
    group: str = "posterior",
    visuals: Mapping[str, Any] | None = None,
    **pc_kwargs,
) -> Any:
    """Posterior of a latent field by node: mean, marginal mode and marginal entropy.

    A field on a lattice is shown as images, layer by layer if it is a volume, one of segments as images,
    one of regions as maps, any other as networks with coloured nodes. The marginal mode (the state that
    a node has most often; MPM of Marroquin, Mitter & Poggio, 1987) has the fewest wrong nodes on
    average. It need not be the most probable configuration of all nodes together, which draws do not
    tell.

    Parameters
    ----------
    dt : xarray.DataTree
        As returned by `pymc.sample`.
    var_name : str
        A latent field, or one with missing cells.
    graph : networkx.Graph or PairwiseGraph, optional
        The graph of the field. Needed for networks, and for names of nodes that are not in `dt`: nodes of a
        field with ``dims="node"`` and ``pm.Model(coords=pymc_mrf.coords(graph))`` are.
    shape : (int, int) or (int, int, int), optional
        Rows, columns and layers of the lattice, nodes in the order of ``array.ravel()``. Found from
        nodes that are two or three integers, as those of `pymc_mrf.graphs.grid` are, if not given.
    segments : (rows, columns) or (rows, columns, layers) integer array, optional
        Label of each pixel, where nodes are segments of an image, such as superpixels. The labels are
        the names of the nodes if these are integers, else their places 0, 1, ... in the order of the
        graph; pixels with any other label are blank.
    polygons : optional
        Outline of every node on a map: a dictionary by the names of the nodes, a sequence in their
        order, or a geopandas table, whose index has their names (0, 1, ... is the order of the graph).
        An outline is an array of corners (n, 2), a GeoJSON geometry, or an object with
        ``__geo_interface__``, as those of shapely.
    pos : optional
        Point (x, y) of every node, drawn as a network: a dictionary, sequence or table as for `polygons`. By
        default as in `plot_edges`.
    layers : sequence of int, optional
        Those of a volume to be shown, by default up to 16 at equal distances.
    panels : sequence of {"mean", "mode", "entropy"}, optional
        All three by default for two states; without "mean" for more, which may have no order.
    coords : mapping, optional
        Selects one row of a field that has several: ``{"obs": 0}``.
    group : str
        Group of `dt` to read: one of draws, or one made of `LatentMarginals.to_dataset`.
    visuals : mapping, optional
        Keyword arguments, or False to leave it out, for each of "mean", "mode" and "entropy"
        (``Axes.imshow``, ``Axes.scatter`` for networks, a ``PatchCollection`` for maps), "edges" (a
        ``LineCollection``), "labels" (``Axes.annotate``; layers, or up to 40 nodes), "title" and "colorbar"
        (``Figure.colorbar``).
    **pc_kwargs
        Passed to `arviz_plots.PlotCollection.wrap`.

    Returns
    -------
    arviz_plots.PlotCollection

    Raises
    ------
    TypeError, ValueError
        If the variable is no single row of integer states, its size is not that of the graph or shape, a
        node has no place, or nothing or more than one argument tells the places; also for an unknown
        panel or visual.

    Examples
    --------
    Superpixels of scikit-image, and regions of geopandas:

    >>> segments = skimage.segmentation.slic(image, start_label=0)
    >>> pymc_mrf.plot_latent_field(idata, "x", segments=segments)
    >>> pymc_mrf.plot_latent_field(idata, "x", graph=graph, polygons=table.set_index("name"))
    """
    check_tree(dt, "dt")
    parts = (*PANELS, "edges", "labels", "title", "colorbar")
    plot = Plot("plot_latent_field", parts, visuals, pc_kwargs)
    values = _one_row(dt, var_name, group, coords)
    graph = None if graph is None else as_graph(graph)
    given = {"shape": shape, "segments": segments, "polygons": polygons, "pos": pos}
    told = [name for name, value in given.items() if value is not None]
    if len(told) > 1:
        raise ValueError(f"{told[0]} and {told[1]} both tell the places of the nodes; give one of them")
    if graph is not None and graph.n_nodes != values.shape[-1]:
        raise ValueError(
            f"{var_name} has {values.shape[-1]} nodes but the graph has {graph.n_nodes}; give the "
            "graph of the field"
        )
    if graph is not None:
        check_labels(values, node_coords(graph)["node"], var_name, "node", own_names=True)
    nodes = _names(values) if graph is None else graph.nodes
    tiles = None
    if segments is not None:
        tiles = mosaic(segmented(nodes, segments), layers)
    elif polygons is None and pos is None:
        index = lattice(nodes, shape, var_name)
        tiles = None if index is None else mosaic(index, layers)
    if tiles is None and layers is not None:
        raise ValueError(
            f"layers={layers!r} is for volumes, but {var_name} is drawn as a map or a network"
        )
    if tiles is None and polygons is None and graph is None:
        raise ValueError(
            f"the places of the {values.shape[-1]} nodes of {var_name} are not known: give shape=(rows, "
            "columns) if they form a lattice, segments= or polygons= if they are regions, otherwise graph="
        )
    is_counted = "state" in values.dims
    states = values["state"].values if is_counted else np.unique(values.values)
    if len(states) > MAX_STATES:
        raise ValueError(
            f"{var_name} has {len(states)} states; up to {MAX_STATES} can be told apart: is it a field?"
        )
    panels = _chosen_panels(panels, len(states))
    draws = values.values.reshape(-1, values.shape[-1])
    p = draws if is_counted else np.stack([(draws == state).mean(axis=0) for state in states])
    summaries = _summaries(p, states)
    chosen = np.stack([summaries[panel] for panel in panels])  # (panels, d)
    data, aspect = xr.DataArray(chosen, dims=("panel", "node")), 1.0
    draw: Callable
    if tiles is not None:
        height, width = tiles.pixels.shape
        pictures = np.where(tiles.pixels >= 0, chosen[:, tiles.pixels], np.nan)
        data = xr.DataArray(pictures, dims=("panel", "row", "column"))
        draw = partial(draw_image, tiles=tiles)
    elif polygons is not None:
        outlines = polygons_of(nodes, polygons)
        corners = np.concatenate([ring for parts in outlines for rings in parts for ring in rings])
        aspect = aspect_of(corners, polygons)
        width, height = np.ptp(corners, axis=0) * [1.0, aspect]
        draw = partial(draw_polygons, nodes=nodes, outlines=outlines)
    else:
        assert graph is not None
        width, height = 5.2, 4.4
        if pos is None:
            xy = packed_layout(graph.n_nodes, graph.edges, np.ones(graph.n_edges))
            xy = scaled_to(xy, np.array([width, height]))
        else:
            xy = points(nodes, pos)
            aspect = aspect_of(xy, pos)
            width, height = np.ptp(xy, axis=0) * [1.0, aspect]
        draw = partial(draw_nodes, graph=graph, xy=xy)
    tall = float(np.clip(4.2 * height / (width or 1.0), 1.6, 8.0))
    figsize = (4.9 * len(panels), tall + 0.6)
    data = data.assign_coords(panel=list(panels)).rename(var_name)
    pc = plot.open(data.to_dataset(), figsize, cols=["panel"], col_wrap=len(panels))
    for panel in panels:
        target = pc.get_target(var_name, {"panel": panel})
        target.set_aspect(aspect)
        plot.write(target, title=TITLES[panel])
        if plot.shows(panel):
            options = {"data": data.sel(panel=panel, drop=True), "coords": {"panel": panel}}
            plot.map(panel, draw, plot=plot, **options, **_scale(panel, states))
            _draw_colorbar(pc.get_viz(panel, var_name), panel, states, plot)
    return pc


def _one_row(dt: Any, var_name: str, group: str, coords: Mapping | None) -> xr.DataArray:
    """States (chain, draw, node), or probabilities (chain, state, node), of one row of the field."""
    counted = counted_marginals(dt, var_name, group)
    values = sampled_variable(dt, var_name, group) if counted is None else counted
    if counted is None and values.dtype.kind not in "iu":
        raise TypeError(
            f"{var_name} is {values.dtype}; the states of a latent field are integers: show measurements by "
            "arviz_plots.plot_forest"
        )
    if coords is not None:
        check_mapping(coords, "coords", "the row to show, such as {'obs': 0}")
    for dim, label in (coords or {}).items():
        if dim not in values.dims[2:]:
            raise ValueError(f"coords names {dim!r}, but {var_name} has dims {values.dims}")
        try:
            values = values.sel({dim: label})
        except (KeyError, TypeError) as error:
            known = values[dim].values
            raise ValueError(
                f"coords[{dim!r}] is {label!r}, but {dim!r} of {var_name} goes from {known[0]} to {known[-1]}"
            ) from error
    single = [d for d in values.dims[2:-1] if values.sizes[d] == 1]
    values = values.isel({dim: 0 for dim in single})
    if values.ndim != 3:
        extra = values.dims[2:-1]
        hint = f"choose one row, coords={{{extra[0]!r}: 0}}" if extra else "it has no nodes"
        raise ValueError(f"{var_name} has dims {values.dims}, of which one field is shown: {hint}")
    return values


def _chosen_panels(panels: Sequence[str] | None, n_states: int) -> tuple[str, ...]:
    if panels is None:
        return PANELS if n_states <= 2 else PANELS[1:]
    panels = tuple(names_of(panels, "panels", "names of panels"))
    unknown = [panel for panel in panels if panel not in PANELS]
    if unknown or not panels or len(set(panels)) < len(panels):
        raise ValueError(f"panels must be different ones of {quoted(PANELS)}, not {panels!r}")
    return panels


def _summaries(p: np.ndarray, states: np.ndarray) -> dict[str, np.ndarray]:
    """Mean, index of the marginal mode among `states`, and marginal entropy in nats, each (d,).

    `p` (K, d) are probabilities. Of states that are equally frequent, the lowest is the mode.
    """
    logs = np.log(np.where(p > 0.0, p, 1.0))
    return {"mean": states @ p, "mode": p.argmax(axis=0), "entropy": -(p * logs).sum(axis=0)}


def _scale(panel: str, states: np.ndarray) -> dict[str, Any]:
    """Colours of a panel, and their range."""
    from matplotlib.colors import ListedColormap

    K = len(states)
    if panel == "mean":
        return {"cmap": "gray", "vmin": states[0], "vmax": states[-1] + (K == 1)}
    if panel == "entropy":
        return {"cmap": "viridis", "vmin": 0.0, "vmax": np.log(max(K, 2))}
    if K <= 2:
        colors: Any = ["#000000", "#FFFFFF"][:K]
    elif K <= len(CATEGORICAL):
        colors = CATEGORICAL[:K]
    else:
        from matplotlib import colormaps

        colors = colormaps["viridis"](np.linspace(0.0, 1.0, K))
    return {"cmap": ListedColormap(colors), "vmin": -0.5, "vmax": K - 0.5}


def _names(values: xr.DataArray) -> list[Hashable]:
    """Labels of the nodes, or 0, 1, ... if they have none."""
    dim = values.dims[-1]
    return values[dim].values.tolist() if dim in values.coords else list(range(values.sizes[dim]))


def _draw_colorbar(artist: Any, panel: str, states: np.ndarray, plot: Plot) -> None:
    style: dict[str, Any] = {"shrink": 0.8, "pad": 0.02}
    if panel == "entropy":
        style["label"] = "nats"
    if panel != "mode":
        plot.colorbar(artist, **style)
        return
    ticks = np.arange(0, len(states), -(-len(states) // 12))
    bar = plot.colorbar(artist, ticks=ticks, **style)
    if bar is not None:
        bar.ax.set_yticklabels([str(states[k]) for k in ticks])
        bar.ax.tick_params(length=0)
