"""Plots of a posterior over structures: the network of probable edges, and all edges as a matrix."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, check_tree
from pymc_mrf.analysis.edges import edge_values
from pymc_mrf.checks import is_number, sequence
from pymc_mrf.graph.lagged import LaggedGraph, as_directed_or_not
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.plots._collection import literal, matplotlib_collection, visual_options
from pymc_mrf.plots._network import close_network, node_colors, open_network
from pymc_mrf.plots.arrows import arrow_matrices, draw_arrows

# told apart with every colour vision
NEGATIVE, POSITIVE = "#d07410", "#54278f"
WIDEST, NARROWEST = 4.5, 0.5  # line widths in points
MAX_TICK_LABELS = 60
POWER, LEAST_SIZE = (
    0.5,
    0.05,
)  # of the length of edges in their size; size that counts, in parts of the largest


def plot_edges(
    dt: xr.DataTree,
    var_name: str | Sequence[str],
    *,
    graph: Any,
    min_inclusion: float = 0.25,
    node_category: Mapping[Hashable, str] | None = None,
    category_colors: Mapping[str, Any] | None = None,
    pos: Any = None,
    group: str = "posterior",
    backend: str | None = None,
    visuals: Mapping[str, Any] | None = None,
    **pc_kwargs,
) -> Any:
    """Network of the edges that the posterior finds probable, or several networks side by side.

    Opacity is the inclusion probability, width the distance of the posterior mean (zeros included) from
    zero, colour its sign: purple above, orange below zero. Nodes are their labels, moved apart
    where they would overlap; beyond 150 nodes they are dots. Networks of several variables, such as
    those of two groups and their difference, have the same places of nodes and the same widths.

    Parameters
    ----------
    dt : xarray.DataTree
        As returned by `pymc.sample`.
    var_name : str or sequence of str
        A vector with one entry per edge whose exact zeros are absent edges, or several, a plot for each.
    graph : networkx.Graph, PairwiseGraph or LaggedGraph
        The candidate edges.
    min_inclusion : float
        Less probable edges are left out: thousands of faint lines are a fog.
    node_category, category_colors
        As in `plot_groups`.
    pos : optional
        Position (x, y) of every node: a dictionary by their names, a sequence in their order, or a table of
        points, as in `plot_latent_field`. By default Kamada & Kawai (1989) places the median graph, its parts
        held together by the most probable of the other edges in the picture, and strong edges are short: an
        edge has a length as the inverse root of its mean weight. Of several variables the one that finds an
        edge most probable counts, and the one that finds it strongest.
    group : str
        Group of `dt` to read.
    backend : {"matplotlib"}, optional
        Only matplotlib is supported.
    visuals : mapping, optional
        Keyword arguments, or False to leave it out, for each of "edges" (a ``LineCollection``, or a
        ``FancyArrowPatch`` for each arrow),
        "nodes" (``Axes.text``, or ``Axes.scatter`` beyond 150 nodes), "edge_legend"
        (``Figure.legend``), "legend" (``Axes.legend``), that of the node categories, and "title"
        (``Axes.set_title``), the variable where there are several.
    **pc_kwargs
        Passed to `arviz_plots.PlotCollection.wrap`.

    Returns
    -------
    arviz_plots.PlotCollection

    Raises
    ------
    TypeError, ValueError
        If a variable is not a finite vector of the graph's edges, `min_inclusion` is not a
        probability, or a mapping lacks a node or a category.

    Examples
    --------
    Two groups with the weights ``w + 0.5 * delta`` and ``w - 0.5 * delta``:

    >>> posterior = idata.posterior
    >>> posterior["patients"] = posterior["w"] + 0.5 * posterior["delta"]
    >>> posterior["controls"] = posterior["w"] - 0.5 * posterior["delta"]
    >>> pymc_mrf.plot_edges(idata, ["patients", "controls", "delta"], graph=graph)
    """
    check_tree(dt, "dt")
    options = visual_options(visuals, ("edges", "nodes", "edge_legend", "legend", "title"))
    if not is_number(min_inclusion) or not 0.0 <= min_inclusion <= 1.0:
        raise ValueError(f"min_inclusion must be between 0 and 1, not {min_inclusion!r}")
    graph = as_directed_or_not(graph)
    names = [var_name] if isinstance(var_name, str) else sequence(var_name, "var_name", "names")
    if not names:
        raise ValueError("var_name is empty; give the name of a variable, or of several")
    values = xr.Dataset({name: edge_values(dt, name, graph, group) for name in names})
    inclusion, means = (values != 0.0).mean(SAMPLE_DIMS), values.mean(SAMPLE_DIMS)
    colors = node_colors(graph, node_category, category_colors)
    shown = {name: _shown(inclusion[name], means[name], min_inclusion) for name in names}
    skeleton = _skeleton(
        graph,
        np.max([inclusion[name] for name in names], axis=0),
        np.unique(np.concatenate(list(shown.values()))),
    )
    pc, targets, xy = open_network(
        means,
        graph,
        graph.edges[skeleton],
        pos,
        lengths=_lengths(np.max([np.abs(means[name]) for name in names], axis=0)[skeleton]),
        function="plot_edges",
        backend=backend,
        **pc_kwargs,
    )
    if options["edges"] is not False:
        largest = max(np.abs(means[name].values[shown[name]]).max(initial=0.0) for name in names)
        pc.map(
            _draw_edges,
            "edges",
            ignore_aes="all",
            store_artist=not isinstance(graph, LaggedGraph),
            graph=graph,
            xy=xy,
            inclusion=inclusion,
            min_inclusion=min_inclusion,
            largest=largest,
            kwargs=options["edges"],
        )
        if options["edge_legend"] is not False and largest > 0.0:
            label = f"mean {names[0]}" if len(names) == 1 else "mean"
            _draw_edge_legend(targets[0].figure, label, largest, options["edge_legend"])
    if len(names) > 1 and options["title"] is not False:
        for name, target in zip(names, targets, strict=True):
            target.set_title(**{"label": name, **options["title"]})
    close_network(pc, targets, graph, xy, colors, node_category, options)
    return pc


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

    Nodes are in the order of the graph. Pairs that are no candidate edges are hatched. Arrows of a
    `LaggedGraph` have two matrices for each lag, one of probabilities and one of means, whose rows are the
    nodes from which they lead and whose columns those to which.

    Parameters
    ----------
    dt, var_name, graph, group, backend
        As in `plot_edges`.
    visuals : mapping, optional
        Keyword arguments, or False to leave it out, for each of "inclusion" and "mean"
        (``Axes.imshow``), "inclusion_colorbar" and "mean_colorbar" (``Figure.colorbar``) and "labels"
        (``Axes.set_xticks`` and ``Axes.set_yticks``).
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
    names = ("inclusion", "mean", "inclusion_colorbar", "mean_colorbar", "labels")
    options = visual_options(visuals, names)
    graph = as_directed_or_not(graph)
    values = edge_values(dt, var_name, graph, group)
    largest = float(np.abs(values.mean(SAMPLE_DIMS)).max()) or 1.0
    styles = {
        "inclusion": {"cmap": "Greys", "vmin": 0.0, "vmax": 1.0},
        # orange - white - purple, as the signs in `plot_edges`
        "mean": {"cmap": "PuOr", "vmin": -largest, "vmax": largest},
    }
    if isinstance(graph, LaggedGraph):
        pc, targets = arrow_matrices(
            values, graph, styles, options, function="plot_inclusion", backend=backend, **pc_kwargs
        )
        for target in targets if options["labels"] is not False else ():
            _label_nodes(target, graph, options["labels"])
        return pc
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
    target.tick_params(length=0)
    target.spines[:].set_visible(False)
    target.patch.set(facecolor="white", hatch="////", edgecolor="0.85", linewidth=0.0)
    target.axline((0.0, 0.0), slope=1.0, color="0.5", linewidth=0.6)
    labels = {
        "inclusion": f"above: inclusion probability of {var_name}",
        "mean": f"below: posterior mean of {var_name}",
    }
    for name, style in styles.items():
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


def _shown(inclusion: xr.DataArray, means: xr.DataArray, min_inclusion: float) -> np.ndarray:
    """Edges that are probable enough to be drawn, strong ones last and so on top."""
    shown = np.flatnonzero((inclusion.values >= min_inclusion) & (inclusion.values > 0.0))
    return shown[np.argsort(np.abs(means.values[shown]), kind="stable")]


def _skeleton(
    graph: PairwiseGraph | LaggedGraph, inclusion: np.ndarray, shown: np.ndarray
) -> np.ndarray:
    """Edges of the median graph and of a most probable forest of the edges shown."""
    import networkx as nx

    shown = shown[graph.edges[shown, 0] != graph.edges[shown, 1]]
    net = nx.Graph()
    for e, (u, v) in zip(shown.tolist(), graph.edges[shown].tolist(), strict=True):
        net.add_edge(u, v, weight=inclusion[e], edge=e)
    forest = [data["edge"] for *_, data in nx.maximum_spanning_edges(net)]
    return np.union1d(shown[inclusion[shown] > 0.5], forest).astype(np.int64)


def _lengths(sizes: np.ndarray) -> np.ndarray:
    """Tell how long edges of these sizes should be drawn, strong ones short."""
    shares = sizes / (sizes.max(initial=0.0) or 1.0)
    return np.maximum(shares, LEAST_SIZE) ** -POWER


def _line_width(mean: Any, largest: float) -> Any:
    return NARROWEST + (WIDEST - NARROWEST) * np.abs(mean) / (largest or 1.0)


def _draw_edges(
    da: xr.DataArray,
    target: Any,
    graph: PairwiseGraph | LaggedGraph,
    xy: np.ndarray,
    inclusion: xr.DataArray,
    min_inclusion: float,
    largest: float,
    kwargs: dict,
) -> Any:
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgba_array

    shown = _shown(inclusion, da, min_inclusion)
    means = da.values[shown]
    rgba = to_rgba_array([POSITIVE if mean > 0.0 else NEGATIVE for mean in means]).reshape(-1, 4)
    rgba[:, 3], widths = inclusion.values[shown], _line_width(means, largest)
    if isinstance(graph, LaggedGraph):
        return draw_arrows(target, graph, xy, shown, rgba, widths, kwargs)
    style = {
        "colors": rgba,
        "linewidths": widths,
        "capstyle": "round",
        "zorder": 1,
        **kwargs,
    }
    lines = LineCollection(list(xy[graph.edges[shown]]), **style)
    target.add_collection(lines)
    return lines


def _draw_edge_legend(figure: Any, mean: str, largest: float, kwargs: dict) -> None:
    """Explain colour, width and opacity of the edges, one column each."""
    from matplotlib.lines import Line2D
    from matplotlib.ticker import MaxNLocator

    def line(label: str, color: str = "0.35", width: float = 3.0, opacity: float = 1.0) -> Line2D:
        return Line2D([], [], color=color, linewidth=width, alpha=opacity, label=label)

    nice = [m for m in MaxNLocator(4).tick_values(0.0, largest) if 0.0 < m <= largest]
    strengths = list(dict.fromkeys([nice[-1], nice[0]]))
    columns = [
        [line("positive", POSITIVE), line("negative", NEGATIVE)],
        [line(f"|{mean}| = {m:.3g}", width=_line_width(m, largest)) for m in strengths],
        [line("inclusion 1", opacity=1.0), line("inclusion 0.5", opacity=0.5)],
    ]
    if len(strengths) == 1:
        columns[1].append(line("", width=0.0))
    handles = [handle for column in columns for handle in column]
    font_size = max(10.0, 0.8 * figure.get_figwidth())  # large figures are seen reduced
    style = {"loc": "outside lower center", "ncols": 3, "frameon": False, "fontsize": font_size}
    figure.legend(handles=handles, **{**style, **kwargs})


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
