"""Parameters of Gaussian fields of standardised columns, in the units of the data."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import checked_group, node_draws
from pymc_mrf.analysis.edges import edge_values
from pymc_mrf.checks import check_entries, check_labels, numeric_array
from pymc_mrf.graph.structure import as_graph


def original_units(
    idata: xr.DataTree,
    *,
    graph: Any,
    sd: Any = None,
    mean: Any = None,
    weight: str = "weight",
    diagonal: str | None = "diagonal",
    means: str | None = "mean",
    group: str = "posterior",
) -> xr.Dataset:
    """Turn parameters of a `GaussianMRF` of standardised columns into those of the columns as they were.

    With z_i = (x_i - m_i) / s_i a weight of x_u and x_v is that of z_u and z_v over s_u s_v, the diagonal of
    x_i that of z_i over s_i^2, and the mean m_i + s_i mu_i. Partial correlations are the same in both.

    Parameters
    ----------
    idata : xarray.DataTree
        As returned by `pymc.sample`.
    graph : networkx.Graph or PairwiseGraph
        Of the field.
    sd, mean : (d,) array_like, optional
        What was divided by, and what was subtracted before, in node order; by default ``column_sd`` and
        ``column_mean`` of the constant data, which `network_model` keeps. Without `sd` in either place there
        is nothing to turn; a missing `mean` is 0.
    weight, diagonal, means : str
        Variables of the field's parameters; None for `diagonal` or `means` leaves them out.
    group : str
        Group of `idata` to read.

    Returns
    -------
    xarray.Dataset
        Draws of these variables, by their names.

    Raises
    ------
    TypeError, ValueError
        If a variable does not exist or does not belong to the graph, there are no standard deviations, or
        these are not positive.

    Examples
    --------
    >>> with pymc_mrf.network_model(table, kind="continuous") as model:
    ...     idata = pm.sample()
    >>> graph = pymc_mrf.graphs.complete(model.coords["node"])
    >>> pymc_mrf.original_units(idata, graph=graph)["weight"].mean(("chain", "draw"))
    """
    graph = as_graph(graph)
    kept = checked_group(idata, "constant_data") if "constant_data" in idata.children else xr.Dataset()
    if sd is None:
        if "column_sd" not in kept:
            raise ValueError(
                "sd is missing: give the standard deviations by which the columns were divided, in node order"
            )
        sd = kept["column_sd"]
    if mean is None:
        mean = kept["column_mean"] if "column_mean" in kept else np.zeros(graph.n_nodes)
    s, m = (_of_nodes(value, name, graph) for value, name in ((sd, "sd"), (mean, "mean")))
    check_entries(s, s > 0.0, "sd", "standard deviations are positive")
    u, v = graph.edges.T
    found = {weight: edge_values(idata, weight, graph, group) / (s[u] * s[v])}
    for argument, name, scale, shift in (
        ("diagonal", diagonal, 1.0 / s**2, 0.0),
        ("means", means, s, m),
    ):
        if name is not None:
            found[name] = node_draws(idata, name, graph, group, argument) * scale + shift
    return xr.Dataset(found)


def _of_nodes(value: Any, name: str, graph: Any) -> np.ndarray:
    """Return one number for each node."""
    check_labels(value, graph.nodes, name, "node")
    numbers = numeric_array(value, name, "iuf").astype(np.float64)
    if numbers.shape != (graph.n_nodes,):
        raise ValueError(
            f"{name} has the shape {numbers.shape}: give one number for each of the {graph.n_nodes} nodes"
        )
    return numbers
