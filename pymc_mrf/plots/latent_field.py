"""Pictures of a latent field: what its nodes are on average, most probably, and how surely."""

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import check_tree, sampled_variable
from pymc_mrf.analysis.latent_marginals import counted_marginals
from pymc_mrf.checks import check_labels, sequence, whole_number
from pymc_mrf.graph.structure import PairwiseGraph, as_graph
from pymc_mrf.graph.structure import coords as node_coords
from pymc_mrf.plots._collection import CATEGORICAL, literal, matplotlib_collection, visual_options
from pymc_mrf.plots._network import check_mapping, node_positions

PANELS = ("mean", "mode", "entropy")
MAX_STATES = 50
MAX_NODE_LABELS = 40  # per panel
TITLES = {"mean": "posterior mean", "mode": "most probable state", "entropy": "marginal entropy"}


def plot_latent_field(
    dt: xr.DataTree,
    var_name: str,
    *,
    graph: Any = None,
    shape: tuple[int, int] | None = None,
    panels: Sequence[str] | None = None,
    coords: Mapping[str, Any] | None = None,
    pos: Mapping[Hashable, tuple[float, float]] | None = None,
    group: str = "posterior",
    backend: str | None = None,
    visuals: Mapping[str, Any] | None = None,
    **pc_kwargs,
) -> Any:
    """Posterior of a latent field by node: mean, marginal mode and marginal entropy.

    A field on a lattice is shown as images, any other as networks with coloured nodes. The marginal mode
    (the state that a node has most often; MPM of Marroquin, Mitter & Poggio, 1987) has the fewest wrong
    nodes on average. It need not be the most probable configuration of all nodes together, which draws
    do not tell.

    Parameters
    ----------
    dt : xarray.DataTree
        As returned by `pymc.sample`.
    var_name : str
        A latent field, or one with missing cells.
    graph : networkx.Graph or PairwiseGraph, optional
        The graph of the field. Not needed if `shape` is given, or if the coordinates of the nodes
        are pairs of integers, as those of `pymc_mrf.graphs.grid` are.
    shape : (int, int), optional
        Rows and columns of the lattice, nodes row by row. Found from nodes that are pairs of
        integers (row, column) if not given.
    panels : sequence of {"mean", "mode", "entropy"}, optional
        All three by default for two states; without "mean" for more, which may have no order.
    coords : mapping, optional
        Selects one row of a field that has several: ``{"obs": 0}``.
    pos : mapping, optional
        Position (x, y) of every node of a network; by default as in `plot_edges`.
    group : str
        Group of `dt` to read: one of draws, or one made of `LatentMarginals.to_dataset`.
    backend : {"matplotlib"}, optional
        Only matplotlib is supported.
    visuals : mapping, optional
        Keyword arguments, or False to leave it out, for each of "mean", "mode" and "entropy"
        (``Axes.imshow``, or ``Axes.scatter`` for networks), "edges" (a ``LineCollection``), "labels"
        (``Axes.annotate``; up to 40 nodes), "title" and "colorbar" (``Figure.colorbar``).
    **pc_kwargs
        Passed to `arviz_plots.PlotCollection.wrap`.

    Returns
    -------
    arviz_plots.PlotCollection

    Raises
    ------
    TypeError, ValueError
        If the variable is no single row of integer states, its size is not that of the graph or shape, or
        neither tells the places of the nodes; also for an unknown panel or visual.
    """
    check_tree(dt, "dt")
    options = visual_options(visuals, (*PANELS, "edges", "labels", "title", "colorbar"))
    values = _one_row(dt, var_name, group, coords)
    graph = None if graph is None else as_graph(graph)
    cells = None
    if pos is None:
        cells = _lattice_cells(values, var_name, graph, shape)
    if graph is not None and graph.n_nodes != values.shape[-1]:
        raise ValueError(
            f"{var_name} has {values.shape[-1]} nodes but the graph has {graph.n_nodes}; give the "
            "graph of the field"
        )
    if graph is not None:
        check_labels(values, node_coords(graph)["node"], var_name, "node")
    if cells is None and graph is None:
        raise ValueError(
            f"the places of the {values.shape[-1]} nodes of {var_name} are not known: give shape=(rows, "
            "columns) if they form a lattice, otherwise graph="
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
    draw: Callable = _draw_image
    kwargs: dict[str, Any] = {}
    if cells is not None:
        size = cells.max(axis=0) + 1
        pictures = np.full((len(panels), *size), np.nan)
        pictures[:, cells[:, 0], cells[:, 1]] = chosen
        data = xr.DataArray(pictures, dims=("panel", "row", "column"))
        tall = float(np.clip(4.2 * size[0] / size[1], 1.6, 8.0))
        figsize = (4.9 * len(panels), tall + 0.6)
    else:
        assert graph is not None
        draw, box = _draw_nodes, (5.2, 4.4)
        kwargs = {
            "graph": graph,
            "xy": node_positions(_unlabelled(graph), graph.edges, _by_index(pos, graph), box),
        }
        kwargs |= {"edges": options["edges"], "labels": options["labels"]}
        data = xr.DataArray(chosen, dims=("panel", "node"))
        figsize = ((box[0] + 1.0) * len(panels), box[1] + 0.6)
    data = data.assign_coords(panel=list(panels)).rename(var_name)
    pc = matplotlib_collection(
        data.to_dataset(),
        function="plot_latent_field",
        backend=backend,
        figsize=figsize,
        **{"cols": ["panel"], "col_wrap": len(panels), **pc_kwargs},
    )
    for panel in panels:
        target = pc.get_target(var_name, {"panel": panel})
        target.set_aspect("equal")
        if options["title"] is not False:
            target.set_title(**{"label": TITLES[panel], **options["title"]})
        if options[panel] is False:
            continue
        style = {**_scale(panel, states), **options[panel]}
        one = data.sel(panel=panel, drop=True)
        pc.map(draw, panel, data=one, coords={"panel": panel}, ignore_aes="all", style=style, **kwargs)
        if options["colorbar"] is not False:
            artist = pc.get_viz(panel, var_name)
            _draw_colorbar(artist, target, panel, states, options["colorbar"])
    return pc


def _one_row(dt: Any, var_name: str, group: str, coords: Mapping | None) -> xr.DataArray:
    """States (chain, draw, node), or probabilities (chain, state, node), of one row of the field."""
    counted = counted_marginals(dt, var_name, group)
    values = sampled_variable(dt, var_name, group) if counted is None else counted
    if counted is None and values.dtype.kind not in "iu":
        raise TypeError(f"{var_name} is {values.dtype}; the states of a latent field are integers")
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


def _lattice_cells(
    values: xr.DataArray, var_name: str, graph: PairwiseGraph | None, shape: Any
) -> np.ndarray | None:
    """Row and column (d, 2) of every node, or None if the nodes form no lattice."""
    d = values.shape[-1]
    if shape is not None:
        lengths = sequence(shape, "shape", "rows and columns")
        sizes = [whole_number(n, f"shape[{k}]", 1) for k, n in enumerate(lengths)]
        if len(sizes) != 2 or sizes[0] * sizes[1] != d:
            raise ValueError(
                f"shape={shape!r} does not hold the {d} nodes of {var_name}; give (rows, columns)"
            )
        return np.stack(np.unravel_index(np.arange(d), tuple(shape)), axis=1)
    if graph is not None:
        nodes: Sequence = graph.nodes
    else:
        dim = values.dims[-1]
        nodes = values[dim].values.tolist() if dim in values.coords else ()
    pairs = [_pair(node) for node in nodes]
    if not pairs or None in pairs:
        return None
    cells = np.array(pairs)
    cells -= cells.min(axis=0)
    # pairs of integers that fill less than half of their rectangle are no picture
    return cells if 2 * len(cells) >= np.prod(cells.max(axis=0) + 1) else None


def _pair(node: Any) -> tuple[int, int] | None:
    """Read (row, column), also from its text."""
    if isinstance(node, str):
        found = re.fullmatch(r"\((-?\d+), (-?\d+)\)", node)
        return None if found is None else (int(found[1]), int(found[2]))
    if isinstance(node, tuple) and len(node) == 2:
        if all(isinstance(i, int | np.integer) for i in node):
            return int(node[0]), int(node[1])
    return None


def _chosen_panels(panels: Sequence[str] | None, n_states: int) -> tuple[str, ...]:
    if panels is None:
        return PANELS if n_states <= 2 else PANELS[1:]
    panels = (
        (panels,) if isinstance(panels, str) else tuple(sequence(panels, "panels", "names of panels"))
    )
    unknown = [panel for panel in panels if panel not in PANELS]
    if unknown or not panels or len(set(panels)) < len(panels):
        raise ValueError(
            f"panels must be different ones of {', '.join(map(repr, PANELS))}, not {panels!r}"
        )
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


def _draw_image(da: xr.DataArray, target: Any, style: dict) -> Any:
    target.set_xticks([])
    target.set_yticks([])
    return target.imshow(np.ma.masked_invalid(da.values), **{"interpolation": "nearest", **style})


def _draw_nodes(
    da: xr.DataArray,
    target: Any,
    graph: PairwiseGraph,
    xy: np.ndarray,
    style: dict,
    edges: Any,
    labels: Any,
) -> Any:
    from matplotlib.collections import LineCollection

    target.set_axis_off()
    if edges is not False:
        look = {"colors": "0.75", "linewidths": 0.6, "zorder": 1, **edges}
        target.add_collection(LineCollection(list(xy[graph.edges]), **look))
    named = graph.n_nodes <= MAX_NODE_LABELS and labels is not False
    if named:
        look = {
            "xytext": (0, -8),
            "textcoords": "offset points",
            "fontsize": 8,
            "ha": "center",
            "va": "top",
        }
        for label, place in zip(graph.nodes, xy, strict=True):
            target.annotate(literal(label), place, **{**look, **labels})
    target.margins(0.08)
    size = float(np.clip(6000.0 / graph.n_nodes, 12.0, 120.0))
    look = {"s": size, "edgecolors": "0.35", "linewidths": 0.6, "zorder": 2, **style}
    return target.scatter(xy[:, 0], xy[:, 1], c=da.values, **look)


def _draw_colorbar(artist: Any, target: Any, panel: str, states: np.ndarray, kwargs: dict) -> None:
    style = {"ax": target, "shrink": 0.8, "pad": 0.02, **kwargs}
    if panel == "mode":
        K = len(states)
        ticks = np.arange(0, K, -(-K // 12))
        bar = target.figure.colorbar(artist, **{"ticks": ticks, **style})
        bar.ax.set_yticklabels([str(states[k]) for k in ticks])
        bar.ax.tick_params(length=0)
    else:
        if panel == "entropy":
            style.setdefault("label", "nats")
        target.figure.colorbar(artist, **style)


def _unlabelled(graph: PairwiseGraph) -> PairwiseGraph:
    """Give the same graph with indices for names: labels are written beside the dots."""
    return PairwiseGraph(range(graph.n_nodes), graph.edges.tolist())


def _by_index(pos: Mapping | None, graph: PairwiseGraph) -> dict[Hashable, Any] | None:
    if pos is None:
        return None
    check_mapping(pos, "pos", "(x, y) of every node")
    missing = [label for label in graph.nodes if label not in pos]
    if missing:
        raise ValueError(f"pos has no position for node {missing[0]!r}")
    return {i: pos[label] for i, label in enumerate(graph.nodes)}
