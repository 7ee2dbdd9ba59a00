"""The table of one edge of a nominal field as a picture."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, check_tree
from pymc_mrf.analysis.edge_tables import edge_table
from pymc_mrf.plots._collection import Plot, diverging_map, draw_matrix, literal

CELL = 0.9  # inches, of a cell
MARGINS = 2.4, 1.4


def plot_edge_table(
    dt: xr.DataTree,
    var_name: str,
    edge: tuple,
    *,
    graph: Any,
    n_states: Any,
    state_labels: Mapping[Any, Sequence[str]] | None = None,
    group: str = "posterior",
    visuals: Mapping[str, Any] | None = None,
    **pc_kwargs,
) -> Any:
    """Heat map of the table of an edge: which states of both nodes go together, and which avoid each other.

    A cell is the posterior mean of T(a, b), as of `Network.table`, in the draws with the edge, with its
    standard deviation below: purple for states that are together more often than the other edges make them,
    orange for those that are less often.

    Parameters
    ----------
    dt : xarray.DataTree
        As returned by `pymc.sample`.
    var_name, graph, n_states
        As in `pymc_mrf.analysis.edge_strength`.
    edge : (node, node) tuple
        Ends of the edge; the first one gives the rows.
    state_labels : mapping, optional
        Names of the states of nodes, one for each state; by default those of the table, or 0, 1, ...
    group : str
        Group of `dt` to read.
    visuals : mapping, optional
        Keyword arguments, or False to leave it out, for each of "heatmap" (``Axes.imshow``), "values"
        (``Axes.text``), "colorbar" (``Figure.colorbar``), "labels" (``Axes.set_xticks`` and
        ``Axes.set_yticks``) and "title" (``Axes.set_title``), which tells the probability of the edge.
    **pc_kwargs
        Passed to `arviz_plots.PlotCollection.wrap`.

    Returns
    -------
    arviz_plots.PlotCollection

    Raises
    ------
    TypeError, ValueError
        As in `pymc_mrf.analysis.edge_strength`; also if there is no such edge, no draw has it, or labels
        are not as many as states.

    Examples
    --------
    >>> labels = {"vote": ["A", "B", "C"], "faith": ["Catholic", "Protestant", "none"]}
    >>> pymc_mrf.plots.plot_edge_table(
    ...     idata, "weight", ("faith", "vote"), graph=graph, n_states=3, state_labels=labels
    ... )
    """
    check_tree(dt, "dt")
    parts = ("heatmap", "values", "colorbar", "labels", "title")
    plot = Plot("plot_edge_table", parts, visuals, pc_kwargs)
    tables = edge_table(dt, var_name, edge, graph=graph, n_states=n_states, group=group)
    present = (tables != 0.0).any(("row", "column"))
    inclusion = float(present.mean())
    if inclusion == 0.0:
        raise ValueError(
            f"edge={edge!r} is absent in all draws, so that there is no table to be shown: take an edge from "
            "pymc_mrf.summarize_edges"
        )
    own = tables.where(present)
    mean, sd = own.mean(SAMPLE_DIMS), own.std(SAMPLE_DIMS)
    own_names = [
        tables[dim].values if dim in tables.coords else range(n) if n > 1 else [""]  # of one number
        for dim, n in mean.sizes.items()
    ]
    labels = [_state_names(state_labels, end, own) for end, own in zip(edge, own_names, strict=True)]
    n_rows, n_columns = mean.shape
    figsize = (CELL * n_columns + MARGINS[0], CELL * n_rows + MARGINS[1])
    pc = plot.open(xr.Dataset({var_name: mean}), figsize)
    largest = float(np.abs(mean).max())
    style = {"cmap": diverging_map(), "vmin": -largest, "vmax": largest}
    pc.map(draw_matrix, "heatmap", ignore_aes="all", **plot.style("heatmap", **style))
    plot.map("values", _write_values, sd=sd.values, store_artist=False)
    image = pc.get_viz("heatmap", var_name)
    axes = image.axes
    if plot.shows("labels"):
        axes.set_xticks(np.arange(n_columns), **plot.style("labels", labels=labels[1]))
        axes.set_yticks(np.arange(n_rows), **plot.style("labels", labels=labels[0]))
    axes.set_xlabel(literal(edge[1]))
    axes.set_ylabel(literal(edge[0]))
    plot.write(axes, title=f"inclusion {inclusion:.2f}")
    plot.colorbar(image, label=f"mean {literal(var_name)}")
    return pc


def _state_names(state_labels: Mapping[Any, Sequence[str]] | None, node: Any, own: Any) -> list[str]:
    given = (state_labels or {}).get(node, own)
    if isinstance(given, str) or len(given) != len(own):
        raise ValueError(
            f"state_labels has {given!r} for {node!r}, which has {len(own)} states: give one name for each"
        )
    return [literal(name) for name in given]


def _write_values(da: xr.DataArray, target: Any, sd: np.ndarray, **style: Any) -> None:
    largest = np.abs(da.values).max()
    style = {"ha": "center", "va": "center", "fontsize": 9, **style}
    for (a, b), mean in np.ndenumerate(da.values):
        color = "white" if abs(mean) > 0.6 * largest else "black"
        target.text(b, a, f"{mean:+.2f}\n({sd[a, b]:.2f})", **{"color": color, **style})
