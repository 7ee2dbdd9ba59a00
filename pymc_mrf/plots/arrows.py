"""Arrows of a network in time: in a picture of the network, and as matrices that are not symmetric."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS
from pymc_mrf.graph.lagged import LaggedGraph
from pymc_mrf.plots._collection import matplotlib_collection
from pymc_mrf.plots._network import FONT_SIZE, MAX_NODE_LABELS

BEND = 0.18  # of an arrow, so that it is apart from the one that leads back
HEAD = 11.0  # size of a head in points
GAP = 2.0  # points between a head and the box of its node


def draw_arrows(
    target: Any,
    graph: LaggedGraph,
    xy: np.ndarray,
    shown: np.ndarray,
    colors: np.ndarray,
    widths: np.ndarray,
    kwargs: Mapping[str, Any],
) -> None:
    """Draw arrows `shown` (m,) between nodes at `xy` (d, 2), in inches, with colours (m, 4) and widths (m,).

    Arrows are bent, those from a node to itself are loops above it, and links have no heads.
    """
    from matplotlib.patches import FancyArrowPatch

    boxes = _half_boxes(graph)
    for e, color, width in zip(shown, colors, widths, strict=True):
        (u, v), is_link = graph.edges[e], graph.lag_of[e] == 0
        style: dict[str, Any] = {
            "arrowstyle": "-" if is_link else "-|>",
            "mutation_scale": HEAD,
            "color": color,
            "linewidth": width,
            "zorder": 1,
            "clip_on": False,
        }
        if u == v:
            side, top = 0.5 * boxes[u, 0], boxes[u, 1]
            ends = xy[u] + [-side, top], xy[u] + [side, top]
            style.update(connectionstyle="arc3,rad=-1.6", shrinkA=0.0, shrinkB=GAP)
        else:
            ends = xy[u], xy[v]
            shrinks = [72.0 * _to_border(boxes[i], xy[v] - xy[u]) for i in (u, v)]
            bend = 0.0 if is_link else BEND
            style.update(
                connectionstyle=f"arc3,rad={bend}", shrinkA=shrinks[0], shrinkB=shrinks[1] + GAP
            )
        target.add_patch(FancyArrowPatch(*ends, **{**style, **kwargs}))


def _half_boxes(graph: LaggedGraph) -> np.ndarray:
    """Half widths and heights (d, 2) of what stands for the nodes, in inches."""
    if graph.n_nodes > MAX_NODE_LABELS:
        return np.full((graph.n_nodes, 2), 3.0 / 72.0)
    lengths = np.array([len(str(label)) for label in graph.nodes])
    sizes = np.column_stack([0.3 * lengths + 0.4, np.full(graph.n_nodes, 0.9)])
    return sizes * FONT_SIZE / 72.0


def _to_border(half: np.ndarray, direction: np.ndarray) -> float:
    """Way from the centre of a box of half sizes (2,) to its border."""
    norm = np.hypot(*direction)
    if norm == 0.0:
        return 0.0
    steps = np.abs(direction) / norm
    with np.errstate(divide="ignore"):
        return float(np.min(half / steps))


def arrow_matrices(
    values: xr.DataArray,
    graph: LaggedGraph,
    styles: Mapping[str, dict],
    options: Mapping[str, Any],
    *,
    function: str,
    backend: str | None,
    **pc_kwargs,
) -> tuple[Any, list]:
    """Draw inclusion probabilities and means from each node (row) to each node (column), for every lag.

    Returns
    -------
    collection, list of its plots
    """
    name, d = str(values.name), graph.n_nodes
    of_edges = {
        "inclusion": (values != 0.0).mean(SAMPLE_DIMS).values,
        "mean": values.mean(SAMPLE_DIMS).values,
    }
    matrices, titles = {}, {}
    for k in np.unique(graph.lag_of):
        (u, v), when = graph.edges[graph.lag_of == k].T, "same row"
        if k > 0:
            when = "row before" if graph.lags[k - 1] == 1 else f"{graph.lags[k - 1]} rows before"
        for what, numbers in of_edges.items():
            matrix = np.full((d, d), np.nan)
            matrix[u, v] = numbers[graph.lag_of == k]
            if k == 0:
                matrix[v, u] = matrix[u, v]
            key = f"{what} {k}"
            matrices[key] = (("node", "node_bis"), matrix)
            words = "inclusion probability" if what == "inclusion" else "posterior mean"
            titles[key] = f"{words} of {name}, {when}"
    side = min(3.5 + 0.06 * d, 9.0)
    pc_kwargs = {"cols": ["__variable__"], "col_wrap": 2, **pc_kwargs}
    pc = matplotlib_collection(
        xr.Dataset(matrices),
        function=function,
        backend=backend,
        figsize=(2.5 * side, side * len(matrices) / 2),
        **pc_kwargs,
    )
    targets = []
    for key, title in titles.items():
        what, target = key.split()[0], pc.get_target(key, {})
        target.tick_params(length=0)
        target.spines[:].set_visible(False)
        target.patch.set(facecolor="white", hatch="////", edgecolor="0.85", linewidth=0.0)
        target.set_xlabel("to")
        target.set_ylabel("from")
        if options[what] is not False:
            image = np.ma.masked_invalid(matrices[key][1])
            style = {"interpolation": "nearest", **styles[what], **options[what]}
            drawn = target.imshow(image, **style)
            bar = options[f"{what}_colorbar"]
            if bar is not False:
                style = {"ax": target, "label": title, "shrink": 0.8, "pad": 0.02, "aspect": 30}
                target.figure.colorbar(drawn, **{**style, **bar})
        targets.append(target)
    return pc, targets
