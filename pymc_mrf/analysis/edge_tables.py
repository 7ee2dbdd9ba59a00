"""Tables of the edges of nominal fields in a posterior, and how strong these edges are."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import sampled_vector
from pymc_mrf.fields.nominal import nominal
from pymc_mrf.graph.structure import PairwiseGraph, as_graph


def edge_strength(
    idata: xr.DataTree, var_name: str, *, graph: Any, n_states: Any, group: str = "posterior"
) -> xr.DataArray:
    r"""Strength of every edge of a nominal field, in every draw.

    It is the Frobenius norm of the edge's table in the form in which rows and columns sum to zero,
    :math:`\sqrt{\sum_{ab} T_{uv}(a, b)^2}`, which is that of its parameters: 0 for an absent edge, and the
    same whatever the states are called. Between nodes of two states it is twice the size of an Ising
    coupling.

    Parameters
    ----------
    idata : xarray.DataTree
        As returned by `pymc.sample`.
    var_name : str
        The weight of a `NominalMRF`, a vector of the parameters of all edges.
    graph : networkx.Graph or PairwiseGraph
        The candidate edges.
    n_states : int, or sequence of d of them
        Number of states of every node, or of each.
    group : str
        Group of `idata` to read.

    Returns
    -------
    xarray.DataArray
        With dims ("chain", "draw", "edge"), in nats.

    Raises
    ------
    TypeError, ValueError
        If the variable is no finite vector with chains and draws, or its entries are not those of these
        edges.

    References
    ----------
    Ekeberg et al. (2013) score pairs of positions in proteins by this norm.

    Examples
    --------
    Whatever takes one value per edge, such as `plot_edges`, takes strengths:

    >>> idata.posterior["strength"] = pymc_mrf.edge_strength(
    ...     idata, "weight", graph=graph, n_states=n_states
    ... )
    >>> pymc_mrf.plot_edges(idata, "strength", graph=graph)
    """
    graph = as_graph(graph)
    values, sizes = _parameters(idata, var_name, graph, n_states, group)
    first = np.cumsum(sizes) - sizes
    squares = np.add.reduceat(values.values**2, first, axis=-1)
    return xr.DataArray(
        np.sqrt(squares),
        dims=("chain", "draw", "edge"),
        coords={**_sample_coords(values), "edge": list(graph.edge_labels)},
        name=f"{var_name}_strength",
    )


def edge_table(
    idata: xr.DataTree,
    var_name: str,
    edge: tuple,
    *,
    graph: Any,
    n_states: Any,
    group: str = "posterior",
) -> xr.DataArray:
    r"""Table of one edge of a nominal field, :math:`T_{uv}(a, b)`, in every draw; zeros where it is absent.

    Parameters
    ----------
    idata, var_name, graph, n_states, group
        As in `edge_strength`.
    edge : (node, node) tuple
        Ends of the edge; the first one gives the rows.

    Returns
    -------
    xarray.DataArray
        With dims ("chain", "draw", "row", "column"): states of the first and of the second node. Rows and
        columns sum to zero. T(a, b) + T(c, d) - T(a, d) - T(c, b) is a log odds ratio given all other nodes.

    Raises
    ------
    TypeError, ValueError
        As in `edge_strength`; also if there is no such edge.
    """
    graph = as_graph(graph)
    values, sizes = _parameters(idata, var_name, graph, n_states, group)
    e, is_turned = _find_edge(graph, edge)
    family, stop = nominal(n_states), np.cumsum(sizes)[e]
    own = values.values[..., stop - sizes[e] : stop]
    tables = family.edge_tables(own, graph.edges[[e]])[..., 0, :, :]
    k, l = (len(family.node_states(graph.n_nodes)[i]) for i in graph.edges[e])
    tables = tables[..., :k, :l]
    return xr.DataArray(
        tables.swapaxes(-1, -2) if is_turned else tables,
        dims=("chain", "draw", "row", "column"),
        coords=_sample_coords(values),
        name=var_name,
    )


def _parameters(
    idata: xr.DataTree, var_name: str, graph: PairwiseGraph, n_states: Any, group: str
) -> tuple[xr.DataArray, np.ndarray]:
    """Draws (chain, draw, P) of the parameters of all edges, and how many each edge has."""
    family = nominal(n_states)
    family.check_nodes(graph.n_nodes)
    values, sizes = sampled_vector(idata, var_name, group), family.block_sizes(graph.edges)
    if values.shape[-1] != sizes.sum():
        raise ValueError(
            f"{var_name} has {values.shape[-1]} entries, but the tables of {graph.n_edges} edges have "
            f"{sizes.sum()} parameters: pass the graph and the n_states of the field that it was sampled for"
        )
    return values, sizes


def _sample_coords(values: xr.DataArray) -> dict[str, Any]:
    return {dim: values[dim] for dim in ("chain", "draw") if dim in values.coords}


def _find_edge(graph: PairwiseGraph, edge: Any) -> tuple[int, bool]:
    """Find the number of the edge between two nodes, and whether the graph lists them the other way round."""
    ends = tuple(edge) if isinstance(edge, tuple | list) and len(edge) == 2 else ()
    for e, (u, v) in enumerate(graph.edges.tolist()):
        pair = graph.nodes[u], graph.nodes[v]
        if ends in (pair, pair[::-1]):
            return e, ends != pair
    raise ValueError(
        f"edge={edge!r} is no edge of the graph: give its two nodes, such as "
        f"{tuple(graph.nodes[i] for i in graph.edges[0])!r}"
    )
