"""Uniformly drawn spanning trees: how likely they are to hold each edge, by a sparse factorisation.

Kirchhoff's theorem: the probability is the effective resistance of the edge, three entries of the inverse of
the Laplacian matrix without one node of every connected component. Those entries are in the pattern of its
Cholesky factor, and are computed there alone.
"""

import numpy as np

from pymc_mrf.graph.elimination import little_fill_order
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.estimates.sparse_cholesky import selected_inverse
from pymc_mrf.kernels.junction_trees.elimination import clique_contents

MAX_ENTRIES = 5e7
"""Entries of the factor, some 50 bytes each with all that is computed from them."""

MAX_SQUARES = 2e10
"""Sum of the squared lengths of its columns: about a minute."""

SURE = 1e-8
"""What is nearer to one is a bridge, and rounding: an edge of a cycle of n edges has at most 1 - 1 / n."""


def component_of_nodes(graph: PairwiseGraph) -> np.ndarray:
    """Return the number, from 0, of the connected component of each node, (d,) int array."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = coo_array((np.ones(graph.n_edges), tuple(graph.edges.T)), shape=(graph.n_nodes,) * 2)
    return connected_components(links, directed=False)[1]


def tree_edge_probabilities(graph: PairwiseGraph) -> np.ndarray:
    """Probability of each edge in a uniformly drawn spanning tree (forest), (r,), in (0, 1].

    Raises a ValueError if the factor is too large; the message tells how large.
    """
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    d, (u, v) = graph.n_nodes, graph.edges.T
    is_kept = np.ones(d, dtype=bool)
    is_kept[np.unique(component_of_nodes(graph), return_index=True)[1]] = False
    if not is_kept.any():
        return np.ones(0)
    laplacian = csc_array(
        (
            np.concatenate([np.bincount(graph.edges.ravel(), minlength=d), -np.ones(2 * graph.n_edges)]),
            (np.concatenate([np.arange(d), u, v]), np.concatenate([np.arange(d), v, u])),
        ),
        shape=(d, d),
    )[is_kept][:, is_kept]
    order = little_fill_order(laplacian)
    _check_size(graph, laplacian, order)
    options = dict(diag_pivot_thresh=0.0, options=dict(SymmetricMode=True))
    factor = splu(csc_array(laplacian[order][:, order]), permc_spec="NATURAL", **options)
    lower = csc_array(factor.L)
    lower.sort_indices()
    inverse = np.empty(lower.nnz)
    selected_inverse(lower.indptr, lower.indices, lower.data, factor.U.diagonal(), inverse)

    place = np.full(d, -1)
    place[np.flatnonzero(is_kept)[order]] = np.arange(len(order))
    alone = np.append(inverse[lower.indptr[:-1]], 0.0)  # the last for nodes that are left out
    low, high = np.minimum(place[u], place[v]), np.maximum(place[u], place[v])
    joint = np.zeros(graph.n_edges)
    inside = low >= 0
    # column by column, rows ascending: one sorted list
    n = len(order)
    keys = np.repeat(np.arange(n), np.diff(lower.indptr)) * n + lower.indices
    joint[inside] = inverse[np.searchsorted(keys, low[inside] * n + high[inside])]
    ρ = alone[low] + alone[high] - 2.0 * joint
    return np.where(ρ > 1.0 - SURE, 1.0, ρ)


def _check_size(graph: PairwiseGraph, laplacian, order: np.ndarray) -> None:
    pattern = laplacian.tocsr(copy=True)
    pattern.setdiag(0.0)
    pattern.eliminate_zeros()
    pattern.sort_indices()
    pointers, columns = (values.astype(np.int32) for values in (pattern.indptr, pattern.indices))
    kinds = np.zeros(len(order), dtype=np.int64)
    contents, _ = clique_contents(pointers, columns, order.astype(np.int64), kinds, 1)
    lengths = contents.astype(np.float64)
    n_entries, n_squares = lengths.sum(), (lengths**2).sum()
    if n_entries > MAX_ENTRIES or n_squares > MAX_SQUARES:
        raise ValueError(
            f"the spanning trees of a graph of {graph.n_nodes} nodes and {graph.n_edges} edges need a matrix "
            f"factor of {n_entries:.2g} entries and {n_squares:.2g} operations; the limits are "
            f"{MAX_ENTRIES:.0e} and {MAX_SQUARES:.0e}. Give edge_probabilities: the "
            "share of some hundred spanning trees that hold each edge, such as "
            "scipy.sparse.csgraph.minimum_spanning_tree of random weights, once each edge is in one of them"
        )
