"""Perfect sampling of binary pairwise fields whose couplings can be made attractive.

Exact independent draws by monotone coupling from the past (Propp & Wilson, 1996), after exchanging the two
states of some nodes where couplings are repulsive: possible exactly when the signed graph is balanced
(Harary, 1953), as on trees, on bipartite graphs with couplings of one sign, and always when no coupling is
repulsive.
"""

from collections import deque
from typing import Any

import numpy as np

from pymc_mrf.checks import numeric_array, random_generator, whole_number
from pymc_mrf.fields.exact import check_overflow, checked_table
from pymc_mrf.graph.structure import PairwiseGraph, as_graph
from pymc_mrf.kernels import coupling_from_the_past as kernel
from pymc_mrf.kernels.gibbs import binary_form


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
        If the shape is wrong, a weight is NaN, or no such set of nodes exists: the message names a cycle
        with an odd number of negative weights (Harary, 1953).
    """
    graph = as_graph(graph)
    weight = np.asarray(weight, dtype=np.float64)
    if weight.shape != (graph.n_edges,):
        raise ValueError(f"weight must have shape ({graph.n_edges},), one per edge, not {weight.shape}")
    if np.isnan(weight).any():
        raise ValueError(f"weight[{int(np.argmax(np.isnan(weight)))}] is nan; weights must be numbers")
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
                    raise ValueError(_frustrated(graph, parent, u, v))
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
        "exchange of states makes all of them attractive and coupling from the past does not apply; use "
        '"exact" in place of "perfect" if the junction tree is small enough, else "gibbs"'
    )


def perfect_sample(
    graph: Any,
    edge_tables: Any,
    node_tables: Any,
    n: int,
    rng: np.random.Generator | int | None = None,
    *,
    max_sweeps: int = 16_384,
) -> np.ndarray:
    """Draw exact independent configurations of a binary field with attractive couplings.

    Monotone coupling from the past (Propp & Wilson, 1996), 512 draws at a time where every node has at
    most 8 neighbours, 32 at a time elsewhere. Couplings are made attractive by `attractive_flips` first.
    The only error is the rounding of conditional probabilities, below 2 ** -31 each (see
    `pymc_mrf.kernels.coupling_from_the_past`).

    Parameters
    ----------
    graph : networkx.Graph or PairwiseGraph
    edge_tables : (r, 2, 2) array_like, finite
        Log potentials, edges in graph order; the first index is the state of the edge's first node.
    node_tables : (d, 2) array_like, finite
        Log potentials, nodes in graph order.
    n : int
        Number of draws, non-negative.
    rng : numpy.random.Generator or int, optional
        Generator or seed.
    max_sweeps : int
        How far back in time chains may start, at least 1. The sweeps needed grow with the logarithm of d
        and n where couplings are weak, and without practical limit where they order the field.

    Returns
    -------
    (n, d) int8 array
        State indices.

    Raises
    ------
    ValueError
        If the field is not binary, a table has another shape or entries that are not finite, or the
        signs of the couplings are not balanced.
    RuntimeError
        If the chains have not met within `max_sweeps` sweeps.
    """
    graph = as_graph(graph)
    n, max_sweeps = whole_number(n, "n", 0), whole_number(max_sweeps, "max_sweeps", 1)
    shape = numeric_array(node_tables, "node_tables", "iuf").shape
    if len(shape) == 2 and shape[1] != 2:
        raise ValueError(
            f"node_tables has {shape[1]} states per node, and coupling from the past is for binary fields; "
            'use PairwiseField.sample with method="exact", "tree" or "gibbs"'
        )
    nodes = checked_table(node_tables, (graph.n_nodes, 2), "node_tables")
    edges = checked_table(edge_tables, (graph.n_edges, 2, 2), "edge_tables")
    for name, table in (("edge_tables", edges), ("node_tables", nodes)):
        if np.isinf(table).any():
            cell = tuple(int(i) for i in np.argwhere(np.isinf(table))[0])
            raise ValueError(
                f"{name}{list(cell)} is -inf; coupling from the past needs finite log tables: "
                "remove nodes whose state is certain, or use a large negative number such as -50"
            )
    check_overflow(np.concatenate([np.abs(edges).max(axis=(1, 2)), np.abs(nodes).max(axis=1)]))
    # blocks of draws use disjoint stretches of one sequence of 2 ** 64 words
    if (n // 32 + 1) * max_sweeps * graph.n_nodes * 256 >= 2**63:
        raise ValueError(f"max_sweeps={max_sweeps} is too large for {n} draws of {graph.n_nodes} nodes")

    weight, _ = binary_form(edges, nodes, graph.edges)
    # what the cancellation of equal terms leaves behind is no coupling
    weight[np.abs(weight) <= 4 * np.finfo(float).eps * np.abs(edges).sum(axis=(1, 2))] = 0.0
    flips = attractive_flips(graph, weight)
    nodes = np.where(flips[:, None], nodes[:, ::-1], nodes)
    first, second = graph.edges.T
    edges = np.where(flips[first, None, None], edges[:, ::-1], edges)
    edges = np.where(flips[second, None, None], edges[:, :, ::-1], edges)
    _, bias = binary_form(edges, nodes, graph.edges)

    x = np.zeros((n, graph.n_nodes), dtype=np.int8)
    seed = random_generator(rng, "rng").integers(0, 2**64, dtype=np.uint64)
    packed = np.diff(graph.arrays.indptr).max() <= kernel.PACKED_DEGREE
    draw = kernel.perfect_draws_packed if packed else kernel.perfect_draws_wide
    filled = draw(x, np.abs(weight), bias, graph.arrays, max_sweeps, seed)
    if filled < n:
        raise RuntimeError(
            f"the chains of draw {filled} have not met within max_sweeps={max_sweeps} sweeps: the couplings "
            'are too strong for coupling from the past; raise max_sweeps, or use "exact" in place of '
            '"perfect" if the junction tree is small enough, else "gibbs"'
        )
    return x ^ flips.astype(np.int8)
