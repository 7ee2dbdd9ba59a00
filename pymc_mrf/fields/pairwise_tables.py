"""Log tables of a pairwise field: as functions take them, and what they say of its couplings.

How strong couplings are is told in one number, and whether those of two states are attractive, or become so
when the states of some nodes are exchanged. That is possible exactly when the signed graph is balanced
(Harary, 1953): on trees, on bipartite graphs with couplings of one sign, and always when no coupling is
repulsive.
"""

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from pymc_mrf.checks import check_array_shape
from pymc_mrf.graph.structure import GraphArrays, PairwiseGraph, as_graph
from pymc_mrf.kernels.simulation.gibbs import binary_form

STRONG_INFLUENCE = 1.0
"""Radius from which correlations need not decay, and the pseudo-likelihood is no substitute."""

POWER_STEPS = 200


class PairwiseTables(NamedTuple):
    """Graph and log tables: log p(x) = sum_e edges[e, x_u, x_v] + sum_i nodes[i, x_i] - A.

    `edges` (r, K, K) and `nodes` (d, K).
    """

    graph: PairwiseGraph
    edges: np.ndarray
    nodes: np.ndarray

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, GraphArrays]:
        """Tables and graph in the order in which kernels take them."""
        return self.edges, self.nodes, self.graph.arrays

    def log_potential(self, x: np.ndarray) -> np.ndarray:
        """Sum of the log potentials (...) of configurations `x` (..., d)."""
        u, v = self.graph.edges.T
        pairs = self.edges[np.arange(len(self.edges)), x[..., u], x[..., v]]
        return pairs.sum(axis=-1) + self.nodes[np.arange(x.shape[-1]), x].sum(axis=-1)

    def largest(self) -> float:
        """Log potential that no configuration exceeds: that of the best cell of every table."""
        return float(self.edges.max(axis=(1, 2)).sum() + self.nodes.max(axis=1).sum())


def influence_radius(edges: np.ndarray, edge_tables: np.ndarray, n_nodes: int) -> float:
    """Spectral radius of the matrix of influences between neighbours; below 1, couplings are weak.

    The influence of a node on another is at most tanh(D / 4), D the largest log odds ratio in the table of
    their edge; it is tanh |J| in an Ising model. Below 1 correlations decay and Gibbs sampling mixes fast
    (Dobrushin, 1968; Hayes, 2006).

    `edges` (r, 2) integer. `edge_tables` (r, K, K): log tables.
    """
    D = np.zeros(len(edges))
    for k, l in combinations(range(edge_tables.shape[1]), 2):
        np.maximum(D, np.ptp(edge_tables[:, k] - edge_tables[:, l], axis=1), out=D)
    influence = np.tanh(D / 4.0)
    u, v = edges.T
    x = np.ones(n_nodes)
    radius = 0.0
    for _ in range(POWER_STEPS):
        # of the matrix plus one: without it, bipartite graphs have two eigenvalues of one size
        y = x + np.bincount(u, influence * x[v], n_nodes) + np.bincount(v, influence * x[u], n_nodes)
        radius = float(np.linalg.norm(y) / np.linalg.norm(x)) - 1.0
        x = y / np.linalg.norm(y)
    return radius


class FrustrationError(ValueError):
    """A cycle has an odd number of repulsive edges."""


def attractive_flips(graph: Any, weight: Any) -> np.ndarray:
    """Nodes whose two states must be exchanged to make all weights non-negative.

    `weight` (r,): weights of the {0, 1} Boltzmann form, edges in graph order. Only signs matter; an edge
    of weight zero joins nothing. Returns (d,) bool: the first node of every connected component is not
    flipped. Raises a ValueError if the shape is wrong or a weight is NaN. Raises a FrustrationError if
    no such set of nodes exists: the message names a cycle with an odd number of negative weights.
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

    Raises a `FrustrationError`, as `attractive_flips`.
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
