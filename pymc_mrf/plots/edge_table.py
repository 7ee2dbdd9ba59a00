"""The table of one edge of a nominal field as a picture."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, check_tree
from pymc_mrf.analysis.edge_tables import edge_table
from pymc_mrf.plots._collection import literal, matplotlib_collection, visual_options
from pymc_mrf.plots.groups import DIVERGING

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
    backend: str | None = None,
    visuals: Mapping[str, Any] | None = None,
    **pc_kwargs,
) -> Any:
    """Heat map of the table of an edge: which states of both nodes go together, and which avoid each other.

    A cell is the posterior mean of T(a, b), as of `edge_table`, in the draws with the edge, with its standard
    deviation below: purple for states that are together more often than the other edges make them, orange for
    those that are less often.

    Parameters
    ----------
    dt : xarray.DataTree
        As returned by `pymc.sample`.
    var_name, edge, graph, n_states
        As in `edge_table`; the first node of `edge` gives the rows.
    state_labels : mapping, optional
        Names of the states of nodes, one for each state; 0, 1, ... by default.
    group : str
        Group of `dt` to read.
    backend : {"matplotlib"}, optional
        Only matplotlib is supported.
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
        As in `edge_table`; also if no draw has the edge, or labels are not as many as states.

    Examples
    --------
    >>> labels = {"vote": ["A", "B", "C"], "faith": ["Catholic", "Protestant", "none"]}
    >>> pymc_mrf.plot_edge_table(
    ...     idata, "weight", ("faith", "vote"), graph=graph, n_states=3, state_labels=labels
    ... )
    """
    check_tree(dt, "dt")
    options = visual_options(visuals, ("heatmap", "values", "colorbar", "labels", "title"))
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
    labels = [_labels(state_labels, end, n) for end, n in zip(edge, mean.shape, strict=True)]
    n_rows, n_columns = mean.shape
    pc = matplotlib_collection(
        xr.Dataset({var_name: mean}),
        function="plot_edge_table",
        backend=backend,
        figsize=(CELL * n_columns + MARGINS[0], CELL * n_rows + MARGINS[1]),
        **pc_kwargs,
    )
    pc.map(_heatmap, "heatmap", ignore_aes="all", kwargs=options["heatmap"] or {})
    if options["values"] is not False:
        pc.map(_values, store_artist=False, ignore_aes="all", sd=sd.values, kwargs=options["values"])
    image = pc.get_viz("heatmap", var_name)
    axes = image.axes
    if options["labels"] is not False:
        axes.set_xticks(np.arange(n_columns), **{"labels": labels[1], **options["labels"]})
        axes.set_yticks(np.arange(n_rows), **{"labels": labels[0], **options["labels"]})
    axes.set_xlabel(literal(edge[1]))
    axes.set_ylabel(literal(edge[0]))
    if options["title"] is not False:
        axes.set_title(**{"label": f"inclusion {inclusion:.2f}", **options["title"]})
    if options["colorbar"] is not False:
        image.figure.colorbar(
            image, **{"ax": axes, "label": f"mean {literal(var_name)}", **options["colorbar"]}
        )
    return pc


def _labels(state_labels: Mapping[Any, Sequence[str]] | None, node: Any, n: int) -> list[str]:
    """Names of the n states of a node."""
    given = (state_labels or {}).get(node)
    if given is None:
        return [str(k) for k in range(n)]
    if isinstance(given, str) or len(given) != n:
        raise ValueError(
            f"state_labels has {given!r} for {node!r}, which has {n} states: give one name for each"
        )
    return [literal(name) for name in given]


def _heatmap(da: xr.DataArray, target: Any, kwargs: dict) -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    largest = float(np.abs(da.values).max())
    style = {
        "cmap": LinearSegmentedColormap.from_list("diverging", DIVERGING),
        "vmin": -largest,
        "vmax": largest,
        **kwargs,
    }
    target.tick_params(length=0)
    target.spines[:].set_visible(False)
    return target.imshow(da.values, **style)


def _values(da: xr.DataArray, target: Any, sd: np.ndarray, kwargs: dict) -> None:
    """Write mean and standard deviation into every cell."""
    largest = np.abs(da.values).max()
    for (a, b), mean in np.ndenumerate(da.values):
        style = {
            "ha": "center",
            "va": "center",
            "fontsize": 9,
            "color": "white" if abs(mean) > 0.6 * largest else "black",
            **kwargs,
        }
        target.text(b, a, f"{mean:+.2f}\n({sd[a, b]:.2f})", **style)
