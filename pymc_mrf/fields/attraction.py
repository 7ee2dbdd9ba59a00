"""Binary fields whose couplings are attractive, or become so when the states of some nodes are exchanged.

That is possible exactly when the signed graph is balanced (Harary, 1953): on trees, on bipartite graphs with
couplings of one sign, and always when no coupling is repulsive.
"""

from collections import deque
from typing import Any

import numpy as np

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
    if weight.shape != (graph.n_edges,):
        raise ValueError(f"weight must have shape ({graph.n_edges},), one per edge, not {weight.shape}")
    if np.isnan(weight).any():
        raise ValueError(f"weight[{int(np.argmax(np.isnan(weight)))}] is nan; weights must be numbers")
    if (weight >= 0.0).all():
        return np.zeros(graph.n_nodes, dtype=bool)
    arrays = graph.arrays
    side = np.zeros(graph.n_nodes, dtype=np.int64)  # 0 while unvisited, then +1 or -1
    parent = np.full(graph.n_nodes, -1)
    for root in range(graph.n_nodes):
        if side[root] != 0:
            continue
        side[root] = 1
        queue = deque([root])
        while queue:
            u = queue.popleft()
            for k in range(arrays.indptr[u], arrays.indptr[u + 1]):
                v, w = int(arrays.neighbors[k]), weight[arrays.edge_ids[k]]
                if w == 0.0:
                    continue
                wanted = side[u] if w > 0.0 else -side[u]
                if side[v] == 0:
                    side[v], parent[v] = wanted, u
                    queue.append(v)
                elif side[v] != wanted:
                    raise FrustrationError(_frustrated(graph, parent, u, v))
    return side < 0


def _frustrated(graph: PairwiseGraph, parent: np.ndarray, u: int, v: int) -> str:
    """Message about the cycle that the edge u--v closes in the search tree."""

    def to_root(node: int) -> list[int]:
        path = [node]
        while parent[path[-1]] >= 0:
            path.append(int(parent[path[-1]]))
        return path

    from_u, from_v = to_root(u), to_root(v)
    while len(from_u) > 1 and len(from_v) > 1 and from_u[-2] == from_v[-2]:
        from_u.pop()
        from_v.pop()
    cycle = [*from_u, *from_v[-2::-1], u]
    names = "--".join(str(graph.nodes[i]) for i in cycle)
    return (
        f"the couplings are frustrated: the cycle {names} has an odd number of repulsive edges, so no "
        "exchange of states makes all of them attractive"
    )


def attractive_form(
    graph: PairwiseGraph, edge_tables: np.ndarray, node_tables: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights (r,) >= 0 and biases (d,) of an equal {0, 1} Boltzmann field, and which nodes (d,) are flipped.

    Parameters
    ----------
    graph : PairwiseGraph
    edge_tables : (r, 2, 2) array, finite
    node_tables : (d, 2) array

    Raises
    ------
    FrustrationError
        As in `attractive_flips`.
    """
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
