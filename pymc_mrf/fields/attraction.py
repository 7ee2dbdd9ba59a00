"""Binary fields whose couplings are attractive, or become so when the states of some nodes are exchanged.

That is possible exactly when the signed graph is balanced (Harary, 1953): on trees, on bipartite graphs with
couplings of one sign, and always when no coupling is repulsive.
"""

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from pymc_mrf.checks import check_array_shape
from pymc_mrf.fields.pairwise_tables import PairwiseTables
from pymc_mrf.graph.structure import PairwiseGraph, as_graph
from pymc_mrf.kernels.simulation.gibbs import binary_form


class FrustrationError(ValueError):
    """A cycle has an odd number of repulsive edges."""


def attractive_flips(graph: Any, weight: Any) -> np.ndarray:
    """Nodes whose two states must be exchanged to make all weights non-negative.

    Parameters
    ----------
    graph : networkx.Graph or PairwiseGraph
    weight : (r,) array_like
        Weights of the {0, 1} Boltzmann form, edges in graph order. Only signs matter; an edge of weight
        zero joins nothing.

    Returns
    -------
    (d,) bool array
        The first node of every connected component is not flipped.

    Raises
    ------
    ValueError
        If the shape is wrong or a weight is NaN.
    FrustrationError
        If no such set of nodes exists: the message names a cycle with an odd number of negative weights.
    """
    graph = as_graph(graph)
    weight = np.asarray(weight, dtype=np.float64)
    check_array_shape(weight, (graph.n_edges,), "weight", "one per edge")
    if np.isnan(weight).any():
        raise ValueError(f"weight[{int(np.argmax(np.isnan(weight)))}] is nan; weights must be numbers")
    if (weight >= 0.0).all():
        return np.zeros(graph.n_nodes, dtype=bool)
    d, present = graph.n_nodes, weight != 0.0
    u, v = graph.edges[present].T
    # every node i as it is, i, and with its states exchanged, i + d
    other = np.where(weight[present] < 0.0, d, 0)
    ends = np.concatenate([u, u + d]), np.concatenate([v + other, v + d - other])
    cover = csr_array((np.ones(2 * len(u)), ends), shape=(2 * d, 2 * d))
    _, part = connected_components(cover, directed=False)
    torn = np.flatnonzero(part[:d] == part[d:])
    if len(torn):
        raise FrustrationError(_frustrated(graph, cover, int(torn[0])))
    first = np.unique(part, return_index=True)[1]  # node of each part
    return first[part[:d]] > first[part[d:]]


def _frustrated(graph: PairwiseGraph, cover: csr_array, node: int) -> str:
    """Message about a cycle through which a node is joined to itself with its states exchanged."""
    _, before = breadth_first_order(cover, node, directed=False)
    way = [node + graph.n_nodes]
    while way[-1] != node:
        way.append(int(before[way[-1]]))
    cycle: list[int] = []
    for i in (vertex % graph.n_nodes for vertex in way):
        if i in cycle:
            cycle = [*cycle[cycle.index(i) :], i]
            break
        cycle.append(i)
    names = "--".join(str(graph.nodes[i]) for i in cycle)
    return (
        f"the couplings are frustrated: the cycle {names} has an odd number of repulsive edges, so no "
        "exchange of states makes all of them attractive"
    )


def attractive_form(tables: PairwiseTables) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights (r,) >= 0 and biases (d,) of an equal {0, 1} Boltzmann field, and which nodes (d,) are flipped.

    The field has two states; its edge tables are finite.

    Raises
    ------
    FrustrationError
        As in `attractive_flips`.
    """
    graph, edge_tables, node_tables = tables
    weight, _ = binary_form(edge_tables, node_tables, graph.edges)
    # what the cancellation of equal terms leaves behind is no coupling
    weight[np.abs(weight) <= 4 * np.finfo(float).eps * np.abs(edge_tables).sum(axis=(1, 2))] = 0.0
    flips = attractive_flips(graph, weight)
    nodes = np.where(flips[:, None], node_tables[:, ::-1], node_tables)
    first, second = graph.edges.T
    edges = np.where(flips[first, None, None], edge_tables[:, ::-1], edge_tables)
    edges = np.where(flips[second, None, None], edges[:, :, ::-1], edges)
    _, bias = binary_form(edges, nodes, graph.edges)
    return np.abs(weight), bias, flips
