"""What the data decide: edges in three classes, the number of edges, and both under other priors."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import check_tree
from pymc_mrf.analysis.edges import (
    BOUNDS,
    CLASSES,
    checked_bounds,
    edge_evidence,
    edge_values,
    evidence_classes,
)
from pymc_mrf.analysis.evidence import complexity_probabilities
from pymc_mrf.analysis.known_edges import known_edges
from pymc_mrf.analysis.prior_sensitivity import INCLUSIONS, SCALES, prior_sensitivity
from pymc_mrf.graph.lagged import as_directed_or_not
from pymc_mrf.plots._collection import Plot
from pymc_mrf.plots.edges import plot_edges

COLORS = {"for": "#0072B2", "undecided": "#8C8C8C", "against": "#D55E00"}
FAINT = 0.1  # inclusion by which edges that are not likely are kept from placing the nodes


def plot_evidence(
    dt: xr.DataTree,
    var_name: str | None = None,
    *,
    graph: Any = None,
    bounds: Sequence[float] = BOUNDS,
    model: Any = None,
    prior_inclusion: Any = None,
    node_category: Mapping[Hashable, str] | None = None,
    node_kind: Any = None,
    pos: Any = None,
    group: str = "posterior",
    visuals: Mapping[str, Any] | None = None,
    **pc_kwargs,
) -> Any:
    """Draw the edges in three networks: the data speak for them, leave them undecided, or speak against them.

    All edges of a network have one colour and width: how strong they are is the matter of `plot_edges`.

    Parameters
    ----------
    dt, var_name, bounds, model, prior_inclusion, group
        As in `summarize_edges`.
    graph : networkx.Graph, PairwiseGraph, networkx.DiGraph or LaggedGraph, optional
        The candidate edges; by default they, and their variable, are those of the model's only field.
    node_category, node_kind, pos
        As in `plot_edges`. By default the edges with evidence place the nodes.
    visuals : mapping, optional
        As in `plot_edges`, for each of "edges", "nodes", "legend" and "title".
    **pc_kwargs
        Passed to `arviz_plots.PlotCollection.wrap`.

    Returns
    -------
    arviz_plots.PlotCollection
        With the variables "for", "undecided" and "against".

    Raises
    ------
    TypeError, ValueError
        As in `summarize_edges` and `plot_edges`.

    See Also
    --------
    summarize_edges : The classes and the Bayes factors.
    """
    check_tree(dt, "dt")
    plot = Plot("plot_evidence", ("edges", "nodes", "legend", "title"), visuals, pc_kwargs)
    var_name, graph, _ = known_edges("plot_evidence", model, var_name, graph, None)
    graph = as_directed_or_not(graph)
    values = edge_values(dt, var_name, graph, group)
    classes = edge_evidence(
        dt, var_name, bounds=bounds, model=model, prior_inclusion=prior_inclusion, group=group
    )
    size = np.abs(values.mean(("chain", "draw")))
    pc = plot_edges(
        _as_networks(classes, size),
        list(CLASSES),
        graph=graph,
        min_inclusion=0.0,
        node_category=node_category,
        node_kind=node_kind,
        pos=pos,
        visuals={**(visuals or {}), "edge_legend": False, "title": False},
        **pc_kwargs,
    )
    low, high = bounds
    words = {
        "for": f"above {high:.3g}",
        "undecided": f"{low:.3g} to {high:.3g}",
        "against": f"below {low:.3g}",
    }
    for name in CLASSES:
        if plot.shows("edges"):
            style = plot.style("edges", color=COLORS[name], alpha=0.7, linewidths=1.3)
            pc.get_viz("edges", name).set(**style)
        count = int((classes == name).sum())
        text = f"{name}: {count} edge{'' if count == 1 else 's'} (Bayes factor {words[name]})"
        plot.write(pc.get_target(name, {}), title=text)
    return pc


def _as_networks(classes: xr.DataArray, size: Any) -> xr.DataTree:
    """Put each class into a variable of its own, in which its edges alone are present.

    Edges with evidence are in all draws, others in few, so that the first place the nodes.
    """
    dim = classes.dims[-1]
    n_draws = round(1.0 / FAINT)
    networks = {}
    for name in CLASSES:
        w = (classes == name) * np.maximum(size, 1e-3 * float(size.max()) or 1.0)
        w = w.expand_dims(chain=1, draw=n_draws).copy()
        if name != "for":
            w[:, 1:] = 0.0
        networks[name] = w.transpose("chain", "draw", dim)
    return xr.DataTree.from_dict({"posterior": xr.Dataset(networks)})


def plot_complexity(
    dt: xr.DataTree,
    var_name: str,
    *,
    model: Any = None,
    group: str = "posterior",
    visuals: Mapping[str, Any] | None = None,
    **pc_kwargs,
) -> Any:
    """Draw the posterior probabilities of the number of edges, with their Monte-Carlo errors.

    Parameters
    ----------
    dt, var_name, model, group
        As in `complexity_probabilities`; with a model, a line is the prior.
    visuals : mapping, optional
        Keyword arguments, or False to leave it out, for each of "posterior" (``Axes.bar``), "errors"
        (``Axes.vlines``), "prior" (``Axes.plot``), "xlabel", "ylabel" and "legend".
    **pc_kwargs
        Passed to `arviz_plots.PlotCollection.wrap`.

    Returns
    -------
    arviz_plots.PlotCollection

    Raises
    ------
    TypeError, ValueError
        As in `complexity_probabilities`; also for an unknown backend or visual.
    """
    from matplotlib.ticker import MaxNLocator

    check_tree(dt, "dt")
    parts = ("posterior", "errors", "prior", "xlabel", "ylabel", "legend")
    plot = Plot("plot_complexity", parts, visuals, pc_kwargs)
    table = complexity_probabilities(dt, var_name, model=model, group=group)
    data = table.to_xarray().to_array("quantity").rename(var_name)
    pc = plot.open(data.to_dataset(), (6.4, 3.8))
    plot.map("posterior", _draw_bars, color="#B8CDE0", width=0.9, label="posterior")
    plot.map("errors", _draw_errors, color=COLORS["for"], linewidth=1.2)
    target = pc.get_target(var_name, {})
    target.xaxis.set_major_locator(MaxNLocator(integer=True))
    plot.write(target, xlabel=f"number of edges of {var_name}", ylabel="probability")
    if model is not None:
        style = {"color": "0.35", "marker": ".", "linewidth": 1.0, "label": "prior"}
        plot.map("prior", _draw_prior, **style)
        if plot.shows("legend"):
            target.margins(y=0.25)  # room for it
            target.legend(**plot.style("legend", frameon=False))
    return pc


def _draw_bars(da: xr.DataArray, target: Any, **style: Any) -> Any:
    return target.bar(da["n_edges"].values, da.sel(quantity="probability").values, **style)


def _draw_errors(da: xr.DataArray, target: Any, **style: Any) -> Any:
    height, error = (da.sel(quantity=name).values for name in ("probability", "probability_mcse"))
    return target.vlines(da["n_edges"].values, height - error, height + error, **style)


def _draw_prior(da: xr.DataArray, target: Any, **style: Any) -> Any:
    (line,) = target.plot(da["n_edges"].values, da.sel(quantity="prior").values, **style)
    return line


def plot_prior_sensitivity(
    dt: xr.DataTree,
    var_name: str,
    *,
    between: Sequence | None = None,
    model: Any = None,
    prior_inclusion: Sequence[float] = INCLUSIONS,
    slab_scale: Sequence[float] = SCALES,
    bounds: Sequence[float] = BOUNDS,
    group: str = "posterior",
    visuals: Mapping[str, Any] | None = None,
    **pc_kwargs,
) -> Any:
    """Draw how many edges are decided under other priors, a panel for each scale of the slab.

    Lines end where too few draws remain to tell.

    Parameters
    ----------
    dt, var_name, between, model, prior_inclusion, slab_scale, group
        As in `prior_sensitivity`.
    bounds : (float, float)
        As in `summarize_edges`.
    visuals : mapping, optional
        Keyword arguments, or False to leave it out, for each of "lines" (``Axes.plot``), "title", "xlabel",
        "ylabel" and "legend".
    **pc_kwargs
        Passed to `arviz_plots.PlotCollection.wrap`.

    Returns
    -------
    arviz_plots.PlotCollection

    Raises
    ------
    TypeError, ValueError
        As in `prior_sensitivity` and `summarize_edges`; also for an unknown backend or visual.

    Warns
    -----
    UserWarning
        As in `prior_sensitivity`.

    References
    ----------
    Huth et al. (2024), who draw the shares of the classes over the prior probability.
    """
    check_tree(dt, "dt")
    parts = ("lines", "title", "xlabel", "ylabel", "legend")
    plot = Plot("plot_prior_sensitivity", parts, visuals, pc_kwargs)
    low, high = checked_bounds(bounds)
    priors = {"prior_inclusion": prior_inclusion, "slab_scale": slab_scale}
    found = prior_sensitivity(dt, var_name, between=between, model=model, group=group, **priors)
    classes = evidence_classes(found, low, high)
    dim = str(classes.dims[-1])
    known = found["inclusion"].notnull().all(dim)
    counts = xr.concat(
        [(classes == name).sum(dim).where(known) for name in CLASSES],
        dim=xr.Variable("evidence", list(CLASSES)),
    ).rename(var_name)
    n_panels = counts.sizes["slab_scale"]
    figsize = (1.0 + 2.8 * min(n_panels, 4), 3.4 * -(-n_panels // 4))
    pc = plot.open(counts.to_dataset(), figsize, cols=["slab_scale"], col_wrap=4)
    style = {"marker": "o", "markersize": 4}
    plot.map("lines", _draw_classes, artist_dims={"class": len(CLASSES)}, **style)
    explained = None
    for k, scale in enumerate(counts["slab_scale"].values):
        target = pc.get_target(var_name, {"slab_scale": scale})
        target.set(xlim=(0.0, 1.0), ylim=(-0.02 * classes.sizes[dim], 1.02 * classes.sizes[dim]))
        words = {"title": f"slab scale times {scale:g}", "xlabel": "prior inclusion probability"}
        plot.write(target, **words, **({} if k else {"ylabel": "edges"}))
        if known.sel(slab_scale=scale).any():
            explained = target
        else:  # of which nothing is drawn
            target.text(0.5, 0.5, "too few draws", ha="center", transform=target.transAxes)
    if explained and plot.shows("legend") and plot.shows("lines"):
        explained.legend(**plot.style("legend", frameon=False, title="evidence"))
    return pc


def _draw_classes(da: xr.DataArray, target: Any, **style: Any) -> np.ndarray:
    lines = np.empty(len(CLASSES), dtype=object)
    for k, name in enumerate(CLASSES):
        x, y = da["prior_inclusion"].values, da.sel(evidence=name).values
        (lines[k],) = target.plot(x, y, **{"color": COLORS[name], "label": name, **style})
    return lines
