"""Where the Cholesky factor of a matrix has entries that has the zeros of a graph."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from pymc_mrf.graph.structure import PairwiseGraph


class CholeskyPattern(NamedTuple):
    """Entries of the factor L of P K P', P being an order of elimination with little fill-in.

    Attributes
    ----------
    indptr : (d + 1,) int64 array
        Column j of L has the entries ``indptr[j] : indptr[j + 1]``, the diagonal first.
    rows : (m,) int64 array
        Ascending within a column.
    place : (d + r,) int64 array
        Where in `rows` the diagonal entry of each node is, and that of each edge.
    """

    indptr: np.ndarray
    rows: np.ndarray
    place: np.ndarray


def little_fill_order(links) -> np.ndarray:
    """Order of elimination by minimum degree of a sparse symmetric matrix `links` (d, d) of scipy."""
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import spilu

    # a factorisation that drops everything finds no more than the order of elimination
    options = dict(diag_pivot_thresh=0.0, options=dict(SymmetricMode=True))
    nothing = spilu(csc_array(links), 1.0, 1.0, permc_spec="MMD_AT_PLUS_A", **options)
    return np.argsort(nothing.perm_c)


@lru_cache(maxsize=16)
def cholesky_pattern(graph: PairwiseGraph) -> CholeskyPattern:
    """Find the pattern of a matrix with an entry for each node and each edge of `graph`."""
    from scipy.sparse import coo_array

    d, (u, v) = graph.n_nodes, graph.edges.T
    degrees = np.bincount(graph.edges.ravel(), minlength=d) + 1.0
    entries = np.concatenate([degrees, np.full(2 * graph.n_edges, -1.0)])
    nodes = np.arange(d)
    where = np.concatenate([nodes, u, v]), np.concatenate([nodes, v, u])
    order = little_fill_order(coo_array((entries, where), shape=(d, d)))
    position = np.empty(d, dtype=np.int64)
    position[order] = nodes
    ends = np.sort(position[graph.edges], axis=1)
    later: list[set[int]] = [set() for _ in range(d)]
    for low, high in ends.tolist():
        later[low].add(high)
    columns = []
    for j, above in enumerate(later):  # what is eliminated joins all that come later
        columns.append(np.array([j, *sorted(above)], dtype=np.int64))
        if above:
            parent = int(columns[-1][1])
            later[parent] |= above - {parent}
    indptr = np.concatenate([[0], np.cumsum([len(column) for column in columns])]).astype(np.int64)
    rows = np.concatenate(columns) if columns else np.zeros(0, dtype=np.int64)
    keys = np.repeat(nodes, np.diff(indptr)) * d + rows  # ascending
    of_edges = np.searchsorted(keys, ends[:, 0] * d + ends[:, 1])
    return CholeskyPattern(indptr, rows, np.concatenate([indptr[position], of_edges]).astype(np.int64))
