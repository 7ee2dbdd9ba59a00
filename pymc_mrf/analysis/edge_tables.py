"""Tables of the edges of nominal and mixed fields in a posterior, and how strong these edges are."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import by_draw, sampled_vector
from pymc_mrf.analysis.known_edges import known_edges
from pymc_mrf.fields.column_kinds import ColumnKinds
from pymc_mrf.fields.families import nominal
from pymc_mrf.fields.family import contrasts
from pymc_mrf.graph.structure import PairwiseGraph, as_graph


def edge_strength(
    idata: xr.DataTree,
    var_name: str | None = None,
    *,
    graph: Any = None,
    n_states: Any = None,
    model: Any = None,
    group: str = "posterior",
) -> xr.DataArray:
    r"""Strength of every edge of a nominal or mixed field, in every draw.

    It is the Frobenius norm of the edge's table in the form in which rows and columns sum to zero,
    :math:`\sqrt{\sum_{ab} T_{uv}(a, b)^2}`, which is that of its parameters: 0 for an absent edge, and the
    same whatever the states are called. Between nodes of two states it is twice the size of an Ising
    coupling. Of a mixed field it has the sign of the parameter if there is one, and a measurement counts by
    its scaled unit: it is :math:`w \|f_u\| \|f_v\|`, the norms those of the features over the states, 1 for
    a measurement, and the root of the sum of squares of these if the edge has several parameters.

    Parameters
    ----------
    idata : xarray.DataTree
        As returned by `pymc.sample`.
    var_name : str
        The weight of a `NominalMRF` or `MixedMRF`, a vector of the parameters of all edges.
    graph : networkx.Graph or PairwiseGraph
        The candidate edges.
    n_states : int, sequence of d of them, or ColumnKinds
        Number of states of every node, or of each; of a mixed field its kinds of nodes.
    model : pymc.Model, optional
        That was sampled, which knows variable, graph and states.
    group : str
        Group of `idata` to read.

    Returns
    -------
    xarray.DataArray
        With dims ("chain", "draw", "edge"), in nats. The attribute ``has_sign`` is 1 for each edge whose sign
        has a meaning, 0 if an end is an answer without an order; `plot_edges` reads it.

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

    >>> idata.posterior["strength"] = pymc_mrf.analysis.edge_strength(idata, model=model)
    >>> pymc_mrf.plot_edges(idata, "strength", graph=graph)
    """
    var_name, graph, n_states = known_edges("edge_strength", model, var_name, graph, n_states)
    if n_states is None:
        raise TypeError(
            "edge_strength needs n_states=, or model=, whose edges have tables; others are strengths"
        )
    graph = as_graph(graph)
    values, _ = edge_parameters(idata, var_name, graph, n_states, group)
    strength = strengths(values.values, graph, n_states)
    found = by_draw(values, strength, f"{var_name}_strength", edge=list(graph.edge_labels))
    return found.assign_attrs(has_sign=_have_sign(n_states, graph).astype(int))


def edge_table(
    idata: xr.DataTree,
    var_name: str,
    edge: tuple,
    *,
    graph: Any,
    n_states: Any,
    group: str = "posterior",
) -> xr.DataArray:
    r"""Table of one edge of a nominal or mixed field, :math:`T_{uv}(a, b)`, in every draw; zeros if absent.

    See `Network.table`. The first of the two nodes of `edge` gives the rows.

    Raises
    ------
    TypeError, ValueError
        As in `edge_strength`; also if there is no such edge.
    """
    graph = as_graph(graph)
    values, sizes = edge_parameters(idata, var_name, graph, n_states, group)
    e, is_turned = _find_edge(graph, edge)
    stop = np.cumsum(sizes)[e]
    own = values.values[..., stop - sizes[e] : stop]
    of_u, of_v = (_features(n_states, int(i)) for i in graph.edges[e])
    own = own.reshape(*own.shape[:-1], len(of_u), len(of_v))
    tables = of_u.T @ own @ of_v
    tables = tables.swapaxes(-1, -2) if is_turned else tables
    row, column = (state_names(n_states, graph, node) for node in edge)
    return by_draw(values, tables, var_name, row=row, column=column)


def state_names(n_states: Any, graph: PairwiseGraph, node: Any) -> list | None:
    """Return what the states of a node are called, if its kinds tell; nothing of a measurement."""
    if not isinstance(n_states, ColumnKinds):
        return None
    return list(n_states.labels[list(graph.nodes).index(node)]) or None


def strengths(parameters: np.ndarray, graph: PairwiseGraph, n_states: Any) -> np.ndarray:
    """Strengths (..., r) of all edges, from their parameters (..., P), as of `edge_strength`."""
    sizes = table_sizes_of(n_states, graph)
    first = np.cumsum(sizes) - sizes
    if isinstance(n_states, ColumnKinds):
        norms = n_states.feature_norms()[graph.edges].prod(axis=1)
        parameters = parameters * np.repeat(norms, sizes)
    found = np.sqrt(np.add.reduceat(parameters**2, first, axis=-1))
    if isinstance(n_states, ColumnKinds):
        has_sign = sizes == 1
        found[..., has_sign] = parameters[..., first[has_sign]]
    return found


def _have_sign(n_states: Any, graph: PairwiseGraph) -> np.ndarray:
    """Whether the strength of each edge has a sign, (r,): no end is an answer without an order."""
    if not isinstance(n_states, ColumnKinds):
        return np.zeros(graph.n_edges, dtype=bool)
    return ~(np.array(n_states.kinds) == "nominal")[graph.edges].any(axis=1)


def table_sizes_of(n_states: Any, graph: PairwiseGraph) -> np.ndarray:
    """Count the parameters of each edge (r,), of numbers of states or of kinds of nodes."""
    if isinstance(n_states, ColumnKinds):
        return n_states.block_sizes(graph)
    family = nominal(n_states)
    family.check_nodes(graph.n_nodes)
    return family.block_sizes(graph.edges)


def edge_parameters(
    idata: xr.DataTree, var_name: str, graph: PairwiseGraph, n_states: Any, group: str
) -> tuple[xr.DataArray, np.ndarray]:
    """Draws (chain, draw, P) of the parameters of all edges, and how many each edge has."""
    sizes = table_sizes_of(n_states, graph)
    values = sampled_vector(idata, var_name, group)
    if values.shape[-1] != sizes.sum():
        raise ValueError(
            f"{var_name} has {values.shape[-1]} entries, but the tables of {graph.n_edges} edges have "
            f"{sizes.sum()} parameters: pass the graph and the n_states of the field that it was sampled for"
        )
    return values, sizes


def _features(n_states: Any, i: int) -> np.ndarray:
    """Features (m, K) of node i; a measurement has its unit for a state."""
    if isinstance(n_states, ColumnKinds):
        place = np.flatnonzero(n_states.answers == i)
        return n_states.features()[place[0]] if len(place) else np.ones((1, 1))
    k = n_states if np.ndim(n_states) == 0 else n_states[i]
    return contrasts(k, k)


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
