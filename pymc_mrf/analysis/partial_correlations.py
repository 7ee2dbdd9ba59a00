"""Partial correlations of measurements, draw by draw."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, sampled_variable, sampled_vector
from pymc_mrf.analysis.cone_draws import warn_of_precisions
from pymc_mrf.analysis.edge_tables import edge_parameters
from pymc_mrf.analysis.edges import edge_values
from pymc_mrf.analysis.known_edges import known_diagonal, known_edges
from pymc_mrf.checks import check_entries, check_labels, numeric_array
from pymc_mrf.fields.column_kinds import ColumnKinds
from pymc_mrf.graph.structure import PairwiseGraph, as_graph

MIXED = "; if these are parameters of a MixedMRF, say kinds=, what its nodes are"


def partial_correlations(
    idata: xr.DataTree,
    var_name: str | None = None,
    diagonal: Any = None,
    graph: Any = None,
    *,
    kinds: ColumnKinds | None = None,
    model: Any = None,
    group: str = "posterior",
) -> xr.DataArray:
    """Partial correlation of both ends of every edge between measurements, given all other nodes.

    It is weight / sqrt(diagonal_u diagonal_v) = -K_uv / sqrt(K_uu K_vv), of the sign of the weight:
    positive where high values of both nodes go together, all others being equal; exactly 0 where the edge
    is absent. It has no unit, and does not change if a column is multiplied by a positive number.

    Parameters
    ----------
    idata : xarray.DataTree
        As returned by `pymc.sample`.
    var_name : str, optional
        Variable of the weights of a `GaussianMRF`, or of a `MixedMRF`. By default it, and the three other
        arguments, are those of the model.
    diagonal : str or array_like, optional
        Variable of the diagonal of the precision, one entry for each measurement or one for all; or the
        numbers, if it is known.
    graph : networkx.Graph or PairwiseGraph, optional
        Of the field.
    kinds : ColumnKinds, optional
        Of a `MixedMRF`, what each node is.
    model : pymc.Model, optional
        The model that was sampled.
    group : str
        Group of `idata` to read.

    Returns
    -------
    xarray.DataArray
        (chain, draw, edge), with the dimensions and labels of the weights; of a `MixedMRF` with the edges
        between measurements alone, in the order of the graph. Put into the results it is a
        variable like any other, which `summarize_edges` and the plots of edges read::

            idata["posterior"]["partial"] = pymc_mrf.partial_correlations(idata, model=model)

    Raises
    ------
    TypeError, ValueError
        If a variable does not exist or does not belong to the graph, the diagonal is not positive, or no
        edge is between measurements.

    Warns
    -----
    UserWarning
        If draws have a precision that is not positive definite, under which there is no field.

    References
    ----------
    Whittaker (1990), sec. 5.7.

    Examples
    --------
    >>> pymc_mrf.partial_correlations(idata, "weight", "diagonal", graph, kinds=kinds)
    """
    call = "partial_correlations"
    var_name, graph, kinds = known_edges(call, model, var_name, graph, kinds)
    if diagonal is None:
        diagonal = known_diagonal(call, model, var_name)
    graph = as_graph(graph)
    if kinds is None:
        w = _of_measurements(idata, var_name, graph, group)
    else:
        w, graph = _between_measurements(idata, var_name, graph, kinds, group)
    name = diagonal if isinstance(diagonal, str) else "diagonal"
    if isinstance(diagonal, str):
        values = sampled_variable(idata, diagonal, group)
        check_labels(values, graph.nodes, name, "node", own_names=True)
        numbers = values.transpose(*SAMPLE_DIMS, ...).values
    else:
        check_labels(diagonal, graph.nodes, name, "node")
        numbers = numeric_array(diagonal, name, "iuf").astype(np.float64)
    lead = 2 if isinstance(diagonal, str) else 0
    if numbers.ndim == lead:
        numbers = numbers[..., None]
    if numbers.ndim != lead + 1 or numbers.shape[-1] not in (1, graph.n_nodes):
        raise ValueError(
            f"{name} has the shape {numbers.shape[lead:]}, but the graph has {graph.n_nodes} "
            f"{'nodes' if kinds is None else 'measurements'}: give the diagonal of the precision, one number "
            f"for each or one for all{MIXED if kinds is None else ''}"
        )
    remedy = "name the variable that the field has for the diagonal of its precision, which is positive"
    check_entries(numbers, numbers > 0.0, name, remedy)
    numbers = np.broadcast_to(numbers, (*numbers.shape[:-1], graph.n_nodes))
    u, v = graph.edges.T
    result = w / np.sqrt(numbers[..., u] * numbers[..., v])
    K = np.zeros((*result.shape[:2], graph.n_nodes, graph.n_nodes))  # of standardised measurements
    K[..., u, v] = K[..., v, u] = -result
    K[..., np.arange(graph.n_nodes), np.arange(graph.n_nodes)] = 1.0
    warn_of_precisions(K, var_name)
    return result.rename("partial_correlation")


def _of_measurements(idata: xr.DataTree, name: str, graph: PairwiseGraph, group: str) -> xr.DataArray:
    """Draws (chain, draw, edge) of the weights of a field that has measurements only."""
    n_entries = sampled_vector(idata, name, group).shape[-1]
    if n_entries > graph.n_edges:
        raise ValueError(
            f"{name} has {n_entries} entries but the graph has {graph.n_edges} edges: pass the graph of the "
            f"GaussianMRF that it was sampled for{MIXED}"
        )
    return edge_values(idata, name, graph, group)


def _between_measurements(
    idata: xr.DataTree, name: str, graph: PairwiseGraph, kinds: Any, group: str
) -> tuple[xr.DataArray, PairwiseGraph]:
    """Draws (chain, draw, edge) of the weights between measurements of a `MixedMRF`, and their graph."""
    if not isinstance(kinds, ColumnKinds):
        raise TypeError(f"kinds must be what pymc_mrf.column_kinds(table) found, not {kinds!r}")
    values, sizes = edge_parameters(idata, name, graph, kinds, group)
    inside = np.flatnonzero(kinds.edge_kinds(graph) == 2)
    if not len(inside):
        raise ValueError(
            "no edge of the graph is between two measurements, which alone have partial correlations: "
            "pymc_mrf.analysis.edge_strength tells of the others"
        )
    part = PairwiseGraph(
        [graph.nodes[i] for i in kinds.measurements],
        [tuple(graph.nodes[i] for i in graph.edges[e]) for e in inside],
    )
    entries = values.isel({values.dims[-1]: (np.cumsum(sizes) - sizes)[inside]})
    w = entries.rename({values.dims[-1]: "edge"}).assign_coords(edge=list(part.edge_labels))
    return w, part
