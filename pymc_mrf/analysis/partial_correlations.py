"""Partial correlations of Gaussian fields, draw by draw."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, sampled_variable
from pymc_mrf.analysis.edges import edge_values
from pymc_mrf.checks import check_labels, numeric_array
from pymc_mrf.graph.structure import as_graph


def partial_correlations(
    idata: xr.DataTree,
    var_name: str,
    diagonal: Any,
    graph: Any,
    *,
    group: str = "posterior",
) -> xr.DataArray:
    """Partial correlation of both ends of every edge of a `GaussianMRF`, given all other nodes.

    It is weight / sqrt(diagonal_u diagonal_v) = -K_uv / sqrt(K_uu K_vv), of the sign of the weight:
    positive where high values of both nodes go together, all others being equal; exactly 0 where the edge
    is absent. It has no unit, and does not change if a column is multiplied by a positive number.

    Parameters
    ----------
    idata : xarray.DataTree
        As returned by `pymc.sample`.
    var_name : str
        Variable of the weights.
    diagonal : str or array_like
        Variable of the diagonal of the precision, one entry for each node or one for all; or the numbers,
        if it is known.
    graph : networkx.Graph or PairwiseGraph
        Of the field.
    group : str
        Group of `idata` to read.

    Returns
    -------
    xarray.DataArray
        (chain, draw, edge), with the dimensions and labels of the weights. Put into the results it is a
        variable like any other, which `summarize_edges` and the plots of edges read::

            idata["posterior"]["partial"] = pymc_mrf.partial_correlations(idata, "weight", "diagonal", graph)

    Raises
    ------
    TypeError, ValueError
        If a variable does not exist or does not belong to the graph, or the diagonal is not positive.

    References
    ----------
    Whittaker (1990), sec. 5.7.
    """
    graph = as_graph(graph)
    w = edge_values(idata, var_name, graph, group)
    name = diagonal if isinstance(diagonal, str) else "diagonal"
    if isinstance(diagonal, str):
        values = sampled_variable(idata, diagonal, group)
        check_labels(values, graph.nodes, name, "node")
        numbers = values.transpose(*SAMPLE_DIMS, ...).values
    else:
        check_labels(diagonal, graph.nodes, name, "node")
        numbers = numeric_array(diagonal, name, "iuf").astype(np.float64)
    lead = 2 if isinstance(diagonal, str) else 0
    if numbers.ndim == lead:
        numbers = numbers[..., None]
    if numbers.ndim != lead + 1 or numbers.shape[-1] not in (1, graph.n_nodes):
        raise ValueError(
            f"{name} has the shape {numbers.shape[lead:]}, but the graph has {graph.n_nodes} nodes: give the "
            "diagonal of the precision, one number for each node or one for all"
        )
    if not (numbers > 0).all():
        raise ValueError(
            f"{name} has the value {numbers[~(numbers > 0)][0]:g}, but the diagonal of a precision is "
            "positive: name the variable that GaussianMRF has for its diagonal"
        )
    numbers = np.broadcast_to(numbers, (*numbers.shape[:-1], graph.n_nodes))
    u, v = graph.edges.T
    result = w / np.sqrt(numbers[..., u] * numbers[..., v])
    return result.rename("partial_correlation")
