"""Parameters of fields of scaled measurements, in the units of the data."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import checked_group, node_draws, sampled_vector
from pymc_mrf.analysis.edge_tables import edge_parameters
from pymc_mrf.analysis.edges import edge_values
from pymc_mrf.analysis.known_edges import known_edges
from pymc_mrf.checks import check_entries, check_labels, numeric_array
from pymc_mrf.fields.column_kinds import ColumnKinds
from pymc_mrf.graph.structure import PairwiseGraph, as_graph


def original_units(
    idata: xr.DataTree,
    *,
    graph: Any = None,
    model: Any = None,
    kinds: ColumnKinds | None = None,
    sd: Any = None,
    mean: Any = None,
    weight: str = "weight",
    diagonal: str | None = "diagonal",
    means: str | None = "mean",
    group: str = "posterior",
) -> xr.Dataset:
    """Turn parameters of a `GaussianMRF` of scaled measurements into those of the measurements themselves.

    Those of a `MixedMRF`, whose measurements have a `scale`, become those of the same field without one.

    With the `scale` s a weight of x_u and x_v is that of the scaled ones over s_u s_v, and the diagonal of
    x_i that of the scaled one over s_i^2; means are in the units of the measurements as they are. Of columns
    z_i = (x_i - m_i) / s_i that were standardised before a field without `scale` got them, the mean of x_i is
    m_i + s_i mu_i. Partial correlations are the same in all of these. In a mixed field answers have no s.

    Parameters
    ----------
    idata : xarray.DataTree
        As returned by `pymc.sample`.
    graph : networkx.Graph or PairwiseGraph, optional
        Of the field. By default it, and `kinds`, are those of the model.
    model : pymc.Model, optional
        Whose Gaussian field has a `scale`. With `graph` not needed for models of `network_model`, which keep
        it as ``column_sd`` among the constant data.
    kinds : ColumnKinds, optional
        What the nodes of a `MixedMRF` are.
    sd, mean : (d,) array_like, optional
        Of columns that were standardised before: what was divided by, and what was subtracted before, in node
        order; a missing `mean` is 0. Of a mixed field `sd` is its `scale`, one for each measurement, by
        default ``column_sd``, and there is no `mean`.
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
        If a variable does not exist or does not belong to the graph, nothing tells a scale, or it is given
        twice, or is not positive, or the field is a mixed one and `kinds` is missing.

    Examples
    --------
    >>> with pymc_mrf.network_model(table, kind="continuous") as model:
    ...     idata = pm.sample()
    >>> pymc_mrf.analysis.original_units(idata, model=model)["weight"].mean(("chain", "draw"))
    """
    weight, graph, kinds = known_edges("original_units", model, weight, graph, kinds)
    graph = as_graph(graph)
    kept = checked_group(idata, "constant_data") if "constant_data" in idata.children else xr.Dataset()
    if kinds is not None:
        if mean is not None:
            raise ValueError(
                "mean has no meaning beside kinds, as means of a mixed field are in the units of the data"
            )
        if sd is None and "column_sd" not in kept:
            raise ValueError(
                "sd is missing: give the scale of the field, one number for each measurement"
            )
        of_measured = kept["column_sd"] if sd is None else sd
        return _of_mixed(idata, graph, kinds, of_measured, (weight, diagonal, means), group)
    weights = sampled_vector(idata, weight, group)
    if weights.dims[-1] == "entry" or weights.shape[-1] > graph.n_edges:
        raise ValueError(
            f"{weight} has {weights.shape[-1]} entries along {weights.dims[-1]!r}, those of a MixedMRF with "
            f"{graph.n_edges} edges: say kinds=, what its nodes are, as pymc_mrf.column_kinds(table) found it"
        )
    s, shift, of_means = _scale_and_shift(kept, graph, model, sd, mean, weight)
    check_entries(s, s > 0.0, "sd", "standard deviations are positive")
    u, v = graph.edges.T
    found = {weight: edge_values(idata, weight, graph, group) / (s[u] * s[v])}
    if diagonal is not None:
        found[diagonal] = node_draws(idata, diagonal, graph, group, "diagonal") / s**2
    if means is not None:
        found[means] = node_draws(idata, means, graph, group, "means") * of_means + shift
    return xr.Dataset(found)


def _scale_and_shift(
    kept: xr.Dataset, graph: PairwiseGraph, model: Any, sd: Any, mean: Any, weight: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scale of measurements; what is added to their means, and what these are multiplied by before."""
    from pymc_mrf.distributions.field_record import scale_of

    nothing, once = np.zeros(graph.n_nodes), np.ones(graph.n_nodes)
    if sd is not None:
        if model is not None and (scale_of(model, weight) != 1.0).any():
            raise ValueError(
                "sd is given, but the field of the model has a scale of its own: leave sd out"
            )
        if "column_sd" in kept:
            raise ValueError(
                "sd is given, but the model keeps column_sd, by which its field divides the columns: leave "
                "sd out"
            )
        s = _numbers_of_nodes(sd, "sd", graph.nodes)
        return s, nothing if mean is None else _numbers_of_nodes(mean, "mean", graph.nodes), s
    if mean is not None:
        raise ValueError(
            "mean is given without sd: means of a field with a scale are in units of the data"
        )
    if model is not None:
        return scale_of(model, weight), nothing, once
    if "column_sd" not in kept:
        raise ValueError(
            "sd is missing: give the model, whose field has a scale, or the standard deviations by which the "
            "columns were divided before, in node order"
        )
    return _numbers_of_nodes(kept["column_sd"], "column_sd", graph.nodes), nothing, once


def _of_mixed(
    idata: xr.DataTree, graph: Any, kinds: ColumnKinds, sd: Any, names: tuple, group: str
) -> xr.Dataset:
    """Parameters of a mixed field of measurements that are not scaled, by the `names` of its variables."""
    weight, diagonal, means = names
    values, sizes = edge_parameters(idata, weight, graph, kinds, group)
    s = np.ones(graph.n_nodes)
    measured = [graph.nodes[i] for i in kinds.measurements]
    s[kinds.measurements] = _numbers_of_nodes(sd, "sd", measured, "measurement")
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


def _numbers_of_nodes(value: Any, name: str, nodes: Sequence, what: str = "node") -> np.ndarray:
    """Return one number for each node."""
    check_labels(value, nodes, name, what)
    numbers = numeric_array(value, name, "iuf").astype(np.float64)
    if numbers.shape != (len(nodes),):
        raise ValueError(
            f"{name} has the shape {numbers.shape}: give one number for each of the {len(nodes)} {what}s"
        )
    return numbers
