"""All edges of a posterior as matrices: how probable, and how strong."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, check_tree
from pymc_mrf.analysis.edges import edge_values
from pymc_mrf.graph.lagged import LaggedGraph, as_directed_or_not
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.plots._collection import literal, matplotlib_collection, visual_options

MAX_TICK_LABELS = 60


def plot_inclusion(
    dt: xr.DataTree,
    var_name: str,
    *,
    graph: Any,
    group: str = "posterior",
    backend: str | None = None,
    visuals: Mapping[str, Any] | None = None,
    **pc_kwargs,
) -> Any:
    """Heat map of all pairs of nodes: inclusion probability above, posterior mean below the diagonal.

    Nodes are in the order of the graph. Pairs that are no candidate edges are hatched.

    Arrows of a `LaggedGraph` have a map of their inclusion probabilities and one of their means, from the
    rows to the columns: two for each lag, and two for the links within a row.

    Parameters
    ----------
    dt, var_name, graph, group, backend
        As in `plot_edges`.
    visuals : mapping, optional
        Keyword arguments, or False to leave it out, for each of "inclusion" and "mean"
        (``Axes.imshow``), "inclusion_colorbar" and "mean_colorbar" (``Figure.colorbar``), "labels"
        (``Axes.set_xticks`` and ``Axes.set_yticks``) and, of arrows, "title" (``Axes.set_title``).
    **pc_kwargs
        Passed to `arviz_plots.PlotCollection.wrap`.

    Returns
    -------
    arviz_plots.PlotCollection

    Raises
    ------
    TypeError, ValueError
        If the variable is not a finite vector of the graph's edges; also for an unknown backend or
        visual.
    """
    check_tree(dt, "dt")
    names = ("inclusion", "mean", "inclusion_colorbar", "mean_colorbar", "labels", "title")
    options = visual_options(visuals, names)
    graph = as_directed_or_not(graph)
    values = edge_values(dt, var_name, graph, group)
    if isinstance(graph, LaggedGraph):
        return _plot_arrow_inclusion(values, var_name, graph, options, backend, pc_kwargs)
    first, last = graph.edges.min(axis=1), graph.edges.max(axis=1)
    matrix = np.full((graph.n_nodes, graph.n_nodes), np.nan)
    matrix[first, last] = (values != 0.0).mean(SAMPLE_DIMS)
    matrix[last, first] = values.mean(SAMPLE_DIMS)
    np.fill_diagonal(matrix, 0.0)  # plain, not hatched
    data = xr.DataArray(matrix, dims=("node", "node_bis"), name=var_name)
    side = min(5.0 + 0.06 * graph.n_nodes, 12.0)
    pc = matplotlib_collection(
        data.to_dataset(),
        function="plot_inclusion",
        backend=backend,
        figsize=(1.2 * side, side),
        **pc_kwargs,
    )
    target = pc.get_target(var_name, {})
    _open_matrix(target)
    target.axline((0.0, 0.0), slope=1.0, color="0.5", linewidth=0.6)
    labels = {
        "inclusion": f"above: inclusion probability of {var_name}",
        "mean": f"below: posterior mean of {var_name}",
    }
    for name, style in _image_styles(values).items():
        if options[name] is False:
            continue
        keep = np.isfinite(matrix)
        keep = np.triu(keep, 1) if name == "inclusion" else np.tril(keep)
        pc.map(_draw_triangle, name, ignore_aes="all", keep=keep, kwargs={**style, **options[name]})
        bar = options[f"{name}_colorbar"]
        if bar is not False:
            image = pc.get_viz(name, var_name)
            style = {"ax": target, "label": labels[name], "shrink": 0.8, "pad": 0.02, "aspect": 30}
            target.figure.colorbar(image, **{**style, **bar})
    if options["labels"] is not False:
        _label_nodes(target, graph, options["labels"])
    return pc


def _plot_arrow_inclusion(
    values: xr.DataArray,
    var_name: str,
    graph: LaggedGraph,
    options: Mapping[str, Any],
    backend: str | None,
    pc_kwargs: dict,
) -> Any:
    """Matrices of the arrows, from rows to columns: inclusion and mean, beside each other, for each lag."""
    lags = ([0] if graph.n_links else []) + list(graph.lags)
    found = np.array([(values != 0.0).mean(SAMPLE_DIMS), values.mean(SAMPLE_DIMS)])
    matrix = np.full((2, len(lags), graph.n_nodes, graph.n_nodes), np.nan)
    (source, target), row = graph.edges.T, graph.lag_of - (0 if graph.n_links else 1)
    matrix[:, row, source, target] = found
    links = graph.lag_of == 0
    matrix[:, row[links], target[links], source[links]] = found[:, links]
    data = xr.DataArray(
        matrix,
        dims=("quantity", "lag", "node", "node_bis"),
        coords={"quantity": ["inclusion", "mean"], "lag": lags},
        name=var_name,
    )
    side = min(3.2 + 0.1 * graph.n_nodes, 10.0)
    pc_kwargs = {"cols": ["lag", "quantity"], "col_wrap": 2, **pc_kwargs}
    pc = matplotlib_collection(
        data.to_dataset(),
        function="plot_inclusion",
        backend=backend,
        figsize=(2.4 * side, len(lags) * side),
        **pc_kwargs,
    )
    words = {
        "inclusion": f"inclusion probability of {var_name}",
        "mean": f"posterior mean of {var_name}",
    }
    for name, style in _image_styles(values).items():
        if options[name] is not False:
            kwargs = {**style, **options[name]}
            pc.map(_draw_matrix, name, ignore_aes="all", quantity=name, kwargs=kwargs)
        for lag in lags:
            place = {"quantity": name, "lag": lag}
            panel = pc.get_target(var_name, place)
            _open_matrix(panel)
            bar = options[f"{name}_colorbar"]
            if options[name] is not False and bar is not False:
                image = pc.get_viz(name, var_name, place)
                style = {"ax": panel, "shrink": 0.8, "pad": 0.02, "aspect": 30}
                panel.figure.colorbar(image, **{**style, **bar})
            if options["labels"] is not False:
                _label_nodes(panel, graph, options["labels"])
                panel.set(xlabel=f"{'to' if lag else 'in'} the present row", ylabel=_origin(lag))
            if options["title"] is not False:
                panel.set_title(**{"label": words[name], "fontsize": 10, **options["title"]})
    return pc


def _origin(lag: int) -> str:
    """Say in which row the arrows of a lag start; of links, 0, it is the present one."""
    return f"from {lag} row{'s' if lag > 1 else ''} earlier" if lag else "in the present row"


def _image_styles(values: xr.DataArray) -> dict[str, dict]:
    """Colours of inclusion probabilities and of means."""
    largest = float(np.abs(values.mean(SAMPLE_DIMS)).max()) or 1.0
    return {
        "inclusion": {"cmap": "Greys", "vmin": 0.0, "vmax": 1.0},
        # orange - white - purple, as the signs in `plot_edges`
        "mean": {"cmap": "PuOr", "vmin": -largest, "vmax": largest},
    }


def _open_matrix(target: Any) -> None:
    """Empty matrix, hatched where no image will be."""
    target.tick_params(length=0)
    target.spines[:].set_visible(False)
    target.patch.set(facecolor="white", hatch="////", edgecolor="0.85", linewidth=0.0)


def _draw_matrix(da: xr.DataArray, target: Any, quantity: str, kwargs: dict) -> Any:
    """Draw a matrix in its plot, nothing in those of the other quantity."""
    if da["quantity"].item() != quantity:
        return None
    return target.imshow(np.ma.masked_invalid(da.values), **{"interpolation": "nearest", **kwargs})


def _draw_triangle(da: xr.DataArray, target: Any, keep: np.ndarray, kwargs: dict) -> Any:
    style = {"interpolation": "nearest", **kwargs}
    return target.imshow(np.ma.masked_where(~keep, da.values), **style)


def _label_nodes(target: Any, graph: PairwiseGraph | LaggedGraph, kwargs: dict) -> None:
    """Label the nodes, or every second, third, ... if there are too many to read."""
    step = -(-graph.n_nodes // MAX_TICK_LABELS)
    places = np.arange(0, graph.n_nodes, step)
    font_size = 9 if graph.n_nodes <= 30 else 7
    style = {"labels": [literal(graph.nodes[i]) for i in places], "fontsize": font_size, **kwargs}
    target.set_xticks(places, **{"rotation": 90, **style})
    target.set_yticks(places, **style)
