"""Parameters of fields of standardised or scaled measurements, in the units of the data."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import checked_group, node_draws, sampled_vector
from pymc_mrf.analysis.edge_tables import edge_parameters
from pymc_mrf.analysis.edges import edge_values
from pymc_mrf.checks import check_entries, check_labels, numeric_array
from pymc_mrf.fields.column_kinds import ColumnKinds
from pymc_mrf.graph.structure import as_graph


def original_units(
    idata: xr.DataTree,
    *,
    graph: Any,
    kinds: ColumnKinds | None = None,
    sd: Any = None,
    mean: Any = None,
    weight: str = "weight",
    diagonal: str | None = "diagonal",
    means: str | None = "mean",
    group: str = "posterior",
) -> xr.Dataset:
    """Turn parameters of a `GaussianMRF` of standardised columns into those of the columns as they were.

    Those of a `MixedMRF`, whose measurements have a `scale`, become those of the same field without one.

    With z_i = (x_i - m_i) / s_i a weight of x_u and x_v is that of z_u and z_v over s_u s_v, the diagonal of
    x_i that of z_i over s_i^2, and the mean m_i + s_i mu_i. Partial correlations are the same in both. In a
    mixed field answers have no s, and means are in the units of the data already.

    Parameters
    ----------
    idata : xarray.DataTree
        As returned by `pymc.sample`.
    graph : networkx.Graph or PairwiseGraph
        Of the field.
    kinds : ColumnKinds, optional
        What the nodes of a `MixedMRF` are.
    sd, mean : (d,) array_like, optional
        What was divided by, and what was subtracted before, in node order; by default ``column_sd`` and
        ``column_mean`` of the constant data, which `network_model` keeps. Without `sd` in either place there
        is nothing to turn; a missing `mean` is 0. Of a mixed field `sd` is its `scale`, one for each
        measurement, and there is no `mean`.
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
        If a variable does not exist or does not belong to the graph, there are no standard deviations, these
        are not positive, or the field is a mixed one and `kinds` is missing.

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
    if kinds is not None:
        if mean is not None:
            raise ValueError(
                "mean has no meaning beside kinds, as means of a mixed field are in the units of the data"
            )
        return _of_mixed(idata, graph, kinds, sd, (weight, diagonal, means), group)
    weights = sampled_vector(idata, weight, group)
    if weights.dims[-1] == "entry" or weights.shape[-1] > graph.n_edges:
        raise ValueError(
            f"{weight} has {weights.shape[-1]} entries along {weights.dims[-1]!r}, those of a MixedMRF with "
            f"{graph.n_edges} edges: say kinds=, what its nodes are, as pymc_mrf.column_kinds(table) found it"
        )
    if mean is None:
        mean = kept["column_mean"] if "column_mean" in kept else np.zeros(graph.n_nodes)
    s, m = (_of_nodes(value, name, graph.nodes) for value, name in ((sd, "sd"), (mean, "mean")))
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


def _of_mixed(
    idata: xr.DataTree, graph: Any, kinds: ColumnKinds, sd: Any, names: tuple, group: str
) -> xr.Dataset:
    """Parameters of a mixed field of measurements that are not scaled, by the `names` of its variables."""
    weight, diagonal, means = names
    values, sizes = edge_parameters(idata, weight, graph, kinds, group)
    s = np.ones(graph.n_nodes)
    measured = [graph.nodes[i] for i in kinds.measurements]
    s[kinds.measurements] = _of_nodes(sd, "sd", measured, "measurement")
    check_entries(s, s > 0.0, "sd", "standard deviations are positive")
    u, v = graph.edges.T
    found = {weight: values / np.repeat(s[u] * s[v], sizes)}
    of_each = (("diagonal", diagonal, 1.0 / s[kinds.measurements] ** 2), ("means", means, 1.0))
    for argument, name, scale in of_each:
        if name is not None:
            drawn = sampled_vector(idata, name, group)
            if drawn.shape[-1] != len(measured):
                raise ValueError(
                    f"{argument}={name!r} has {drawn.shape[-1]} entries, but there are {len(measured)} "
                    "measurements: name a variable with one entry for each"
                )
            check_labels(drawn, measured, name, "measurement", own_names=True)
            found[name] = drawn * scale
    return xr.Dataset(found)


def _of_nodes(value: Any, name: str, nodes: Sequence, what: str = "node") -> np.ndarray:
    """Return one number for each node."""
    check_labels(value, nodes, name, what)
    numbers = numeric_array(value, name, "iuf").astype(np.float64)
    if numbers.shape != (len(nodes),):
        raise ValueError(
            f"{name} has the shape {numbers.shape}: give one number for each of the {len(nodes)} {what}s"
        )
    return numbers
