"""All edges of a posterior as matrices: how probable, and how strong."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, check_tree
from pymc_mrf.analysis.edges import edge_values
from pymc_mrf.analysis.known_edges import known_edges
from pymc_mrf.graph.lagged import LaggedGraph, as_directed_or_not
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.plots._collection import MAX_TICK_LABELS, Plot, draw_matrix, tick_style


def plot_inclusion(
    dt: xr.DataTree,
    var_name: str | None = None,
    *,
    graph: Any = None,
    model: Any = None,
    group: str = "posterior",
    visuals: Mapping[str, Any] | None = None,
    **pc_kwargs,
) -> Any:
    """Heat map of all pairs of nodes: inclusion probability above, posterior mean below the diagonal.

    Nodes are in the order of the graph. Pairs that are no candidate edges are hatched.

    Arrows of a `LaggedGraph` have a map of their inclusion probabilities and one of their means, from the
    rows to the columns: two for each lag, and two for the links within a row.

    Parameters
    ----------
    dt, var_name, graph, model, group
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
    parts = ("inclusion", "mean", "inclusion_colorbar", "mean_colorbar", "labels", "title")
    plot = Plot("plot_inclusion", parts, visuals, pc_kwargs)
    var_name, graph, _ = known_edges("plot_inclusion", model, var_name, graph, None)
    graph = as_directed_or_not(graph)
    values = edge_values(dt, var_name, graph, group)
    found = xr.Dataset(
        {"inclusion": (values != 0.0).mean(SAMPLE_DIMS), "mean": values.mean(SAMPLE_DIMS)}
    )
    largest = float(np.abs(found["mean"]).max()) or 1.0
    colors = {
        "inclusion": {"cmap": "Greys", "vmin": 0.0, "vmax": 1.0},
        # orange - white - purple, as the signs in `plot_edges`
        "mean": {"cmap": "PuOr", "vmin": -largest, "vmax": largest},
    }
    has_arrows = isinstance(graph, LaggedGraph)
    data = (_arrow_matrices if has_arrows else _triangles)(found, graph).rename(var_name)
    words = {
        "inclusion": f"inclusion probability of {var_name}",
        "mean": f"posterior mean of {var_name}",
    }
    if has_arrows:
        side = min(3.2 + 0.1 * graph.n_nodes, 10.0)
        size, cols = (2.4 * side, data.sizes["lag"] * side), ["lag", "quantity"]
        places = [{"quantity": name, "lag": lag} for name in colors for lag in data["lag"].values]
    else:
        side = min(5.0 + 0.06 * graph.n_nodes, 12.0)
        size, cols, places = (1.2 * side, side), [], [{}]
    pc = plot.open(data.to_dataset(), size, cols=cols, col_wrap=2)
    for place in places:
        target = pc.get_target(var_name, place)
        # seen where no image will be
        target.patch.set(facecolor="white", hatch="////", edgecolor="0.85", linewidth=0.0)
        if has_arrows:
            plot.write(target, title=words[place["quantity"]])
        else:
            target.axline((0.0, 0.0), slope=1.0, color="0.5", linewidth=0.6)
    for name, style in colors.items():
        coords = {"quantity": name} if has_arrows else {}
        one = data.sel(quantity=name, drop=True)
        plot.map(name, draw_matrix, data=one, coords=coords, **style)
        bar: dict[str, Any] = {"shrink": 0.8, "pad": 0.02, "aspect": 30}
        if not has_arrows:
            bar["label"] = f"{'above' if name == 'inclusion' else 'below'}: {words[name]}"
        for image in pc.viz[name][var_name].values.ravel() if plot.shows(name) else ():
            plot.colorbar(image, f"{name}_colorbar", **bar)
    if plot.shows("labels"):
        for place in places:
            target = pc.get_target(var_name, place)
            _label_nodes(target, graph, plot)
            if has_arrows:
                lag = place["lag"]
                target.set(xlabel=f"{'to' if lag else 'in'} the present row", ylabel=_origin(lag))
    return pc


def _triangles(found: xr.Dataset, graph: PairwiseGraph) -> xr.DataArray:
    """Matrices of inclusion, above the diagonal, and of means, below it and on it; NaN elsewhere."""
    first, last = graph.edges.min(axis=1), graph.edges.max(axis=1)
    matrices = np.full((2, graph.n_nodes, graph.n_nodes), np.nan)
    matrices[0, first, last] = found["inclusion"]
    matrices[1, last, first] = found["mean"]
    np.fill_diagonal(matrices[1], 0.0)  # plain, not hatched
    coords = {"quantity": list(found)}
    return xr.DataArray(matrices, dims=("quantity", "node", "node_bis"), coords=coords)


def _arrow_matrices(found: xr.Dataset, graph: LaggedGraph) -> xr.DataArray:
    """Matrices of inclusion and of means of the arrows, from rows to columns, for each lag; 0 are links."""
    lags = ([0] if graph.n_links else []) + list(graph.lags)
    values = found.to_array().values
    matrices = np.full((2, len(lags), graph.n_nodes, graph.n_nodes), np.nan)
    (source, target), row = graph.edges.T, graph.lag_of - (0 if graph.n_links else 1)
    matrices[:, row, source, target] = values
    links = graph.lag_of == 0
    matrices[:, row[links], target[links], source[links]] = values[:, links]
    coords = {"quantity": list(found), "lag": lags}
    return xr.DataArray(matrices, dims=("quantity", "lag", "node", "node_bis"), coords=coords)


def _origin(lag: int) -> str:
    """Say in which row the arrows of a lag start; of links, 0, it is the present one."""
    return f"from {lag} row{'s' if lag > 1 else ''} earlier" if lag else "in the present row"


def _label_nodes(target: Any, graph: PairwiseGraph | LaggedGraph, plot: Plot) -> None:
    """Label the nodes, or every second, third, ... if there are too many to read."""
    places = np.arange(0, graph.n_nodes, -(-graph.n_nodes // MAX_TICK_LABELS))
    style = tick_style([graph.nodes[i] for i in places], graph.n_nodes)
    target.set_xticks(places, **plot.style("labels", rotation=90, **style))
    target.set_yticks(places, **plot.style("labels", **style))
