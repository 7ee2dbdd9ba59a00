"""The network of the edges that a posterior finds probable."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, check_tree
from pymc_mrf.analysis.edges import edge_values
from pymc_mrf.checks import is_number, sequence
from pymc_mrf.graph.lagged import LaggedGraph, as_directed_or_not
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.plots._collection import visual_options
from pymc_mrf.plots._network import MAX_NODE_LABELS, close_network, node_colors, open_network

# told apart with every colour vision
NEGATIVE, POSITIVE = "#d07410", "#54278f"
WIDEST, NARROWEST = 4.5, 0.5  # line widths in points
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

    Arrows of a `LaggedGraph` have heads, and lead from a node of an earlier row to one of the present row,
    maybe the same one; two between the same nodes part. Lags differ by their dashes, links within a row have
    no head.

    Parameters
    ----------
    dt : xarray.DataTree
        As returned by `pymc.sample`.
    var_name : str or sequence of str
        A vector with one entry per edge whose exact zeros are absent edges, or several, a plot for each.
    graph : networkx.Graph, PairwiseGraph, networkx.DiGraph or LaggedGraph
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
        Keyword arguments, or False to leave it out, for each of "edges" (a ``LineCollection``),
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
    pairs, size, skeleton = _pairs(
        graph,
        np.max([inclusion[name] for name in names], axis=0),
        np.max([np.abs(means[name]) for name in names], axis=0),
        np.unique(np.concatenate(list(shown.values()))),
    )
    pc, targets, xy = open_network(
        means,
        graph,
        pairs[skeleton],
        pos,
        lengths=_lengths(size[skeleton]),
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
            graph=graph,
            xy=xy,
            inclusion=inclusion,
            min_inclusion=min_inclusion,
            largest=largest,
            kwargs=options["edges"],
        )
        if options["edge_legend"] is not False and largest > 0.0:
            label = f"mean {names[0]}" if len(names) == 1 else "mean"
            _draw_edge_legend(targets[0].figure, label, largest, graph, options["edge_legend"])
    if len(names) > 1 and options["title"] is not False:
        for name, target in zip(names, targets, strict=True):
            target.set_title(**{"label": name, **options["title"]})
    close_network(pc, targets, graph, xy, colors, node_category, options)
    if (
        isinstance(graph, LaggedGraph)
        and options["edges"] is not False
        and options["nodes"] is not False
    ):
        for name in names:
            _end_at_nodes(pc, name, graph, shown[name])
    return pc


def _shown(inclusion: xr.DataArray, means: xr.DataArray, min_inclusion: float) -> np.ndarray:
    """Edges that are probable enough to be drawn, strong ones last and so on top."""
    shown = np.flatnonzero((inclusion.values >= min_inclusion) & (inclusion.values > 0.0))
    return shown[np.argsort(np.abs(means.values[shown]), kind="stable")]


def _pairs(
    graph: PairwiseGraph | LaggedGraph, inclusion: np.ndarray, size: np.ndarray, shown: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of nodes (m, 2) that edges join, their largest size, and which of them place the nodes.

    These are the pairs of the median graph and of a most probable forest of the edges shown.
    """
    import networkx as nx

    order: dict[tuple[int, int], int] = {}
    pair_of = [order.setdefault((min(pair), max(pair)), len(order)) for pair in graph.edges.tolist()]
    pairs = np.array(list(order), dtype=np.int64).reshape(-1, 2)
    largest, likeliest = np.zeros(len(pairs)), np.zeros(len(pairs))
    np.maximum.at(largest, pair_of, size)
    np.maximum.at(likeliest, pair_of, inclusion)
    drawn = [k for k in np.unique(np.array(pair_of)[shown]) if pairs[k, 0] != pairs[k, 1]]
    net = nx.Graph()
    for k in drawn:
        net.add_edge(*pairs[k].tolist(), weight=likeliest[k], pair=k)
    forest = [data["pair"] for *_, data in nx.maximum_spanning_edges(net)]
    median = [k for k in drawn if likeliest[k] > 0.5]
    return pairs, largest, np.union1d(median, forest).astype(np.int64)


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
    means, ends = da.values[shown], xy[graph.edges[shown]]
    rgba = to_rgba_array([POSITIVE if mean > 0.0 else NEGATIVE for mean in means]).reshape(-1, 4)
    rgba[:, 3] = inclusion.values[shown]
    style = {"colors": rgba, "linewidths": _line_width(means, largest), "capstyle": "round", "zorder": 1}
    if isinstance(graph, LaggedGraph):
        from pymc_mrf.plots import _arrows

        lines: LineCollection = _arrows.ArrowCollection(
            ends,
            _arrows.bends(graph, shown),
            graph.lag_of[shown] > 0,
            _arrows.loop_sides(xy, graph.edges[shown]),
            **{**style, "linestyles": _arrows.line_styles(graph, shown), **kwargs},
        )
        room = np.array([0.0, _arrows.LOOP_REACH])
        target.update_datalim(np.concatenate([xy - room, xy + room]))
    else:
        lines = LineCollection(list(ends), **{**style, **kwargs})
    target.add_collection(lines)
    return lines


def _end_at_nodes(pc: Any, name: str, graph: LaggedGraph, shown: np.ndarray) -> None:
    """Let the arrows of a variable end at its nodes, which are drawn above them."""
    arrows, nodes = pc.get_viz("edges", name), pc.get_viz("nodes", name)
    if graph.n_nodes <= MAX_NODE_LABELS:
        arrows.end_at(nodes.values, graph.edges[shown])
    else:
        arrows.end_near(0.5 * float(nodes.get_sizes()[0]) ** 0.5)


def _draw_edge_legend(
    figure: Any, mean: str, largest: float, graph: PairwiseGraph | LaggedGraph, kwargs: dict
) -> None:
    """Explain colour, width and opacity of the edges, and dashes of their lags, one column each."""
    from matplotlib.lines import Line2D
    from matplotlib.ticker import MaxNLocator

    def line(
        label: str,
        color: str = "0.35",
        width: float = 3.0,
        opacity: float = 1.0,
        dashes: Any = "solid",
    ) -> Line2D:
        style = {"color": color, "linewidth": width, "alpha": opacity, "linestyle": dashes}
        return Line2D([], [], label=label, **style)

    nice = [m for m in MaxNLocator(4).tick_values(0.0, largest) if 0.0 < m <= largest]
    strengths = list(dict.fromkeys([nice[-1], nice[0]]))
    columns = [
        [line("positive", POSITIVE), line("negative", NEGATIVE)],
        [line(f"|{mean}| = {m:.3g}", width=_line_width(m, largest)) for m in strengths],
        [line("inclusion 1", opacity=1.0), line("inclusion 0.5", opacity=0.5)],
    ]
    lags = graph.lags if isinstance(graph, LaggedGraph) else ()
    if len(lags) > 1:
        from pymc_mrf.plots._arrows import DASHES

        columns.append(
            [line(f"lag {lag}", width=1.5, dashes=DASHES[k % len(DASHES)]) for k, lag in enumerate(lags)]
        )
    n_rows = max(map(len, columns))
    for column in columns:
        column += [line("", width=0.0) for _ in range(n_rows - len(column))]
    handles = [handle for column in columns for handle in column]
    font_size = max(10.0, 0.8 * figure.get_figwidth())  # large figures are seen reduced
    style = {
        "loc": "outside lower center",
        "ncols": len(columns),
        "frameon": False,
        "fontsize": font_size,
    }
    figure.legend(handles=handles, **{**style, **kwargs})
