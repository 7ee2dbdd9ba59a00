"""The network of the edges that a posterior finds probable."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, check_tree, names_of
from pymc_mrf.analysis.edges import edge_values
from pymc_mrf.checks import is_number, whole_number
from pymc_mrf.graph.lagged import LaggedGraph, as_directed_or_not
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.plots._collection import Plot, literal
from pymc_mrf.plots._network import (
    LEGEND_FONT_SIZE,
    MAX_NODE_LABELS,
    close_network,
    node_looks,
    open_network,
)

# told apart with every colour vision
NEGATIVE, POSITIVE, UNSIGNED = "#d07410", "#54278f", "#666666"
WIDEST, WIDEST_OF_DOTS, NARROWEST = 4.5, 1.5, 0.5  # line widths in points
# power of the size of edges in their length, and least size that counts, in parts of the largest
POWER, LEAST_SIZE = 0.5, 0.05
MANY_EDGES, EDGES_PER_NODE = 150, 3  # more are a fog
EDGE_LEGEND_HEIGHT, LOOP_HEIGHT = 0.8, 0.5  # inches


def plot_edges(
    dt: xr.DataTree,
    var_name: str | Sequence[str],
    *,
    graph: Any,
    min_inclusion: float = 0.25,
    max_edges: int | None = None,
    node_category: Mapping[Hashable, str] | str | None = None,
    category_colors: Mapping[str, Any] | None = None,
    node_kind: Any = None,
    predictability: Any = None,
    pos: Any = None,
    group: str = "posterior",
    visuals: Mapping[str, Any] | None = None,
    **pc_kwargs,
) -> Any:
    """Network of the edges that the posterior finds probable, or several networks side by side.

    Opacity is the inclusion probability, width the distance of the posterior mean (zeros included) from
    zero, colour its sign: purple above, orange below zero. Edges of answers without an order have a strength
    but no sign, and are grey: those of `edge_strength`, or of nominal nodes by `node_kind`. Networks of
    several variables, such as those of two groups and their difference, have the same places of nodes and the
    same widths.

    Nodes are their labels, moved apart where they would overlap. Labels of more than 20 characters are broken
    into lines; where one of them needs more than three lines, or more than 15 need more than one, nodes
    have numbers and a legend of their names. Beyond 150 nodes they are dots.

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
        Less probable edges are left out: thousands of faint lines are a fog. The legend says so.
    max_edges : int, optional
        At most so many edges are drawn in a network, those with the means farthest from zero, and others that
        equal the last of them; by default 150, or three for each node if that is more. One size of the mean
        decides in all networks. The legend says it, and how many edges are left out.
    node_category, category_colors
        As in `plot_groups`.
    node_kind : mapping, sequence, or field variable of a model, optional
        Kind of every node, by their names or in their order: "continuous" ones are circles, "ordinal" ones,
        of two states or more, squares, and "nominal" ones, without an order, diamonds, with a legend; all are
        stretched to hold their labels. Of a field, as ``model["x"]``, nodes are of its kind or kinds.
    predictability : Dataset or DataArray, mapping, or sequence, optional
        Share of every node that the others explain, as of `predict_nodes`, of which its means are
        ``explained_accuracy`` and, of measurements, ``explained_variance``; or numbers by the names of the
        nodes or in their order. So much of the outline of a label is thick, clockwise from the top, none
        where a share is negative or NaN. For up to 150 nodes.
    pos : optional
        Position (x, y) of every node: a dictionary by their names, a sequence in their order, or a table of
        points, as in `plot_latent_field`. By default Kamada & Kawai (1989) places the median graph, its parts
        held together by the most probable of the other edges in the picture, and strong edges are short: an
        edge has a length as the inverse root of its mean weight. Of several variables the one that finds an
        edge most probable counts, and the one that finds it strongest.
    group : str
        Group of `dt` to read.
    visuals : mapping, optional
        Keyword arguments, or False to leave it out, for each of "edges" (a ``LineCollection``, whose ``urls``
        are one for each edge of the graph), "nodes" (``Axes.text``, or ``Axes.scatter`` beyond 150 nodes),
        "rings" of their predictability (``color`` and ``linewidth``), "names" (``Figure.legend``) of nodes
        that are numbered, "edge_legend" (``Figure.legend``), "legend" (``Figure.legend``), that of the node
        categories and kinds, and "title" (``Axes.set_title``), the variable where there are several.
    **pc_kwargs
        Passed to `arviz_plots.PlotCollection.wrap`.

    Returns
    -------
    arviz_plots.PlotCollection

    Raises
    ------
    TypeError, ValueError
        If a variable is not a finite vector of the graph's edges, `min_inclusion` is not a
        probability, `max_edges` no positive number, a mapping lacks a node or a category, a kind is none
        of these, or a share is above 1.

    Examples
    --------
    Two groups with the weights ``w + 0.5 * delta`` and ``w - 0.5 * delta``:

    >>> posterior = idata.posterior
    >>> posterior["patients"] = posterior["w"] + 0.5 * posterior["delta"]
    >>> posterior["controls"] = posterior["w"] - 0.5 * posterior["delta"]
    >>> pymc_mrf.plot_edges(idata, ["patients", "controls", "delta"], graph=graph)
    """
    check_tree(dt, "dt")
    parts = ("edges", "nodes", "rings", "names", "edge_legend", "legend", "title")
    plot = Plot("plot_edges", parts, visuals, pc_kwargs)
    if not is_number(min_inclusion) or not 0.0 <= min_inclusion <= 1.0:
        raise ValueError(f"min_inclusion must be between 0 and 1, not {min_inclusion!r}")
    graph = as_directed_or_not(graph)
    names = names_of(var_name, "var_name")
    if not names:
        raise ValueError("var_name is empty; give the name of a variable, or of several")
    values = xr.Dataset({name: edge_values(dt, name, graph, group) for name in names})
    inclusion, means = (values != 0.0).mean(SAMPLE_DIMS), values.mean(SAMPLE_DIMS)
    looks = node_looks(dt, graph, group, node_category, category_colors, node_kind, predictability)
    signed = {name: _have_sign(values[name], graph, looks.kinds) for name in names}
    if max_edges is None:
        max_edges = max(MANY_EDGES, EDGES_PER_NODE * graph.n_nodes)
    max_edges = whole_number(max_edges, "max_edges", 1)
    shown, floor, n_weaker = _shown(inclusion, means, min_inclusion, max_edges)
    pairs, size, skeleton = _pairs(
        graph,
        np.max([inclusion[name] for name in names], axis=0),
        np.max([np.abs(means[name]) for name in names], axis=0),
        np.unique(np.concatenate(list(shown.values()))),
    )
    has_loops = bool((graph.edges[:, 0] == graph.edges[:, 1]).any())
    canvas = open_network(
        plot,
        means,
        graph,
        looks,
        pairs[skeleton],
        pos,
        lengths=_lengths(size[skeleton]),
        beside=(0.0, EDGE_LEGEND_HEIGHT * plot.shows("edge_legend")),
        loop_height=LOOP_HEIGHT * has_loops,
    )
    largest = max(np.abs(means[name].values[shown[name]]).max(initial=0.0) for name in names)
    drawn = {"inclusion": inclusion, "shown": shown, "largest": largest, "signed": signed}
    plot.map("edges", _draw_edges, graph=graph, xy=canvas.xy, **drawn)
    if plot.shows("edges") and plot.shows("edge_legend"):
        label = f"mean {literal(names[0])}" if len(names) == 1 else "mean"
        signs = {bool(sign) for name in names for sign in signed[name][shown[name]]}
        columns = _legend_columns(label, largest, graph, signs) if largest > 0.0 else []
        title = _said(label, largest, min_inclusion, floor, n_weaker)
        _draw_edge_legend(plot, canvas.targets[0].figure, columns, title)
    if len(names) > 1:
        for name, target in zip(names, canvas.targets, strict=True):
            plot.write(target, title=literal(name))
    close_network(canvas)
    if isinstance(graph, LaggedGraph) and plot.shows("edges") and plot.shows("nodes"):
        for name in names:
            _end_at_nodes(plot.pc, name, graph, shown[name])
    return plot.pc


def _have_sign(
    values: xr.DataArray, graph: PairwiseGraph | LaggedGraph, kinds: list[str] | None
) -> np.ndarray:
    """Whether the values of each edge have a sign, (r,)."""
    told = np.array(values.attrs.get("has_sign", np.ones(graph.n_edges)), dtype=bool)
    if kinds is None:
        return told
    return told & ~(np.array(kinds) == "nominal")[graph.edges].any(axis=1)


def _shown(
    inclusion: xr.Dataset, means: xr.Dataset, min_inclusion: float, max_edges: int
) -> tuple[dict[str, np.ndarray], float, int]:
    """Edges that are drawn in each network, strong ones last and so on top.

    If one network has more than `max_edges` that are probable enough, weak ones are left out of all. Also
    returns the size of the mean that edges need then, and how many of all networks are left out.
    """
    sizes = {str(name): np.abs(mean.values) for name, mean in means.items()}
    probable = {
        str(name): np.flatnonzero((found.values >= min_inclusion) & (found.values > 0.0))
        for name, found in inclusion.items()
    }
    floor = max(
        float(np.sort(sizes[name][edges])[-max_edges]) if len(edges) > max_edges else 0.0
        for name, edges in probable.items()
    )
    shown = {}
    for name, edges in probable.items():
        kept = edges[sizes[name][edges] >= floor]
        shown[name] = kept[np.argsort(sizes[name][kept], kind="stable")]
    return shown, floor, sum(map(len, probable.values())) - sum(map(len, shown.values()))


def _said(mean: str, largest: float, min_inclusion: float, floor: float, n_weaker: int) -> str | None:
    """Say which edges are drawn, and how many are too weak."""
    if not n_weaker:
        edges = "edges" if largest > 0.0 else "no edges"
        return f"{edges} with inclusion of at least {min_inclusion:g}" if min_inclusion > 0.0 else None
    probable = f"inclusion of at least {min_inclusion:g} and " if min_inclusion > 0.0 else ""
    return f"edges with {probable}|{mean}| of at least {floor:.3g}; {n_weaker} weaker ones are not drawn"


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


def _line_width(mean: Any, largest: float, graph: PairwiseGraph | LaggedGraph) -> Any:
    widest = WIDEST if graph.n_nodes <= MAX_NODE_LABELS else WIDEST_OF_DOTS
    return NARROWEST + (widest - NARROWEST) * np.abs(mean) / (largest or 1.0)


def _draw_edges(
    da: xr.DataArray,
    target: Any,
    graph: PairwiseGraph | LaggedGraph,
    xy: np.ndarray,
    inclusion: xr.DataArray,
    shown: dict[str, np.ndarray],
    largest: float,
    signed: dict[str, np.ndarray],
    **style: Any,
) -> Any:
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgba_array

    edges = shown[str(da.name)]
    means, ends = da.values[edges], xy[graph.edges[edges]]
    has_sign = signed[str(da.name)][edges]
    colors = np.where(has_sign, np.where(means > 0.0, POSITIVE, NEGATIVE), UNSIGNED)
    rgba = to_rgba_array(colors.tolist()).reshape(-1, 4)
    rgba[:, 3] = inclusion.values[edges]
    style = {
        "colors": rgba,
        "linewidths": _line_width(means, largest, graph),
        "capstyle": "round",
        "zorder": 1,
        **style,
    }
    if "urls" in style:
        style["urls"] = [style["urls"][e] for e in edges]
    if isinstance(graph, LaggedGraph):
        from pymc_mrf.plots import _arrows

        lines: LineCollection = _arrows.ArrowCollection(
            ends,
            _arrows.bends(graph, edges),
            graph.lag_of[edges] > 0,
            _arrows.loop_sides(xy, graph.edges[edges]),
            **{"linestyles": _arrows.line_styles(graph, edges), **style},
        )
    else:
        lines = LineCollection(list(ends), **style)
    target.add_collection(lines)
    return lines


def _end_at_nodes(pc: Any, name: str, graph: LaggedGraph, shown: np.ndarray) -> None:
    """Let the arrows of a variable end at its nodes, which are drawn above them."""
    arrows, nodes = pc.get_viz("edges", name), pc.get_viz("nodes", name)
    if graph.n_nodes <= MAX_NODE_LABELS:
        arrows.end_at(nodes.values, graph.edges[shown])
    else:
        arrows.end_near(0.5 * float(nodes.get_sizes()[0]) ** 0.5)


def _legend_columns(
    mean: str, largest: float, graph: PairwiseGraph | LaggedGraph, signs: set[bool]
) -> list[list]:
    """Lines that explain colour, width and opacity of the edges, and dashes of their lags."""
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
    by_sign = [line("positive", POSITIVE), line("negative", NEGATIVE)] if True in signs else []
    columns = [
        by_sign + ([line("no sign (nominal)", UNSIGNED)] if False in signs else []),
        [line(f"|{mean}| = {m:.3g}", width=_line_width(m, largest, graph)) for m in strengths],
        [line("inclusion 1", opacity=1.0), line("inclusion 0.5", opacity=0.5)],
    ]
    lags = graph.lags if isinstance(graph, LaggedGraph) else ()
    if len(lags) > 1:
        from pymc_mrf.plots._arrows import DASHES

        columns.append(
            [line(f"lag {lag}", width=1.5, dashes=DASHES[k % len(DASHES)]) for k, lag in enumerate(lags)]
        )
    return columns


def _draw_edge_legend(plot: Plot, figure: Any, columns: list[list], title: str | None) -> None:
    """Draw a legend of columns, of which short ones end in empty lines."""
    from matplotlib.lines import Line2D

    n_rows = max(map(len, columns), default=0)
    handles = []
    for column in columns:
        handles += column + [Line2D([], [], linewidth=0.0, label="")] * (n_rows - len(column))
    style = {
        "loc": "outside lower center",
        "ncols": len(columns) or 1,
        "frameon": False,
        "fontsize": LEGEND_FONT_SIZE,
        "title_fontsize": LEGEND_FONT_SIZE,
    }
    plot.legend("edge_legend", figure, handles, title=title, **style)
