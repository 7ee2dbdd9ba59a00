"""Counts of state pairs along the edges, over rows of data or many chains: what a pairwise field depends on.

The edges are `edges` (r, 2). On bit-packed chains (`packed_states`) a pair is counted by one population count
per 64 chains.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit

_M1, _M2, _M4 = (
    np.uint64(0x5555555555555555),
    np.uint64(0x3333333333333333),
    np.uint64(0x0F0F0F0F0F0F0F0F),
)
_BYTES = np.uint64(0x0101010101010101)


class Links(NamedTuple):
    """Edges by node: those of node i are at ``ptr[i]`` to ``ptr[i + 1]`` of the others.

    Attributes
    ----------
    ptr : (d + 1,) int32 or int64 array
    end, edge : (2 r,) int32 or int64 array
        Other end, and number of the edge.
    first : (2 r,) bool array
        Whether the node comes first in the edge.
    """

    ptr: np.ndarray
    end: np.ndarray
    edge: np.ndarray
    first: np.ndarray


@jit
def population_count(word):
    """Count the bits set in a uint64, or in each word of a vector; LLVM has an instruction for this form."""
    word = word - ((word >> np.uint64(1)) & _M1)
    word = (word & _M2) + ((word >> np.uint64(2)) & _M2)
    word = (word + (word >> np.uint64(4))) & _M4
    return (word * _BYTES) >> np.uint64(56)


@jit
def pair_counts_packed(z, n_chains, edges, counts):
    """Count the state pairs of every edge over the chains in `z` (d, W) uint64, into `counts` (r, 2, 2).

    Bits beyond `n_chains` are zero, as `packed_states.pack` and `packed_gibbs.packed_sweeps` leave them.
    """
    ones = np.empty(z.shape[0], dtype=np.int64)
    for i in range(z.shape[0]):
        total = np.uint64(0)
        for w in range(z.shape[1]):
            total += population_count(z[i, w])
        ones[i] = np.int64(total)
    for e in range(edges.shape[0]):
        u, v = edges[e, 0], edges[e, 1]
        z_u, z_v = z[u], z[v]
        total = np.uint64(0)
        for w in range(z.shape[1]):
            total += population_count(z_u[w] & z_v[w])
        both = np.int64(total)
        counts[e, 1, 1] = both
        counts[e, 1, 0] = ones[u] - both
        counts[e, 0, 1] = ones[v] - both
        counts[e, 0, 0] = n_chains - ones[u] - ones[v] + both


@jit
def pair_counts(x, edges, counts):
    """Count the state pairs of every edge over the rows of `x` (m, d) int8, into `counts` (r, K, K)."""
    counts[:] = 0
    for c in range(x.shape[0]):
        z = x[c]
        for e in range(edges.shape[0]):
            counts[e, z[edges[e, 0]], z[edges[e, 1]]] += 1


@jit
def count_configurations(x, edges, edge_count, node_count):
    """Count the states of all rows of `x` (n, d): of pairs, as `pair_counts`, and of nodes.

    `edges` (r, 2); `edge_count` (r, K, K) and `node_count` (d, K) are overwritten.
    """
    pair_counts(x, edges, edge_count)
    node_count[:] = 0
    for c in range(x.shape[0]):
        for i in range(x.shape[1]):
            node_count[i, x[c, i]] += 1


@jit
def change_counts(x, new, start, links, nodes, pairs):
    """Make `x` (n, d_b) int8 equal to `new` (n, d_b), and keep up the counts; time goes with the changes.

    The columns are the nodes `start`, `start` + 1, ... of a field of d nodes and r edges, whose `Links` are
    `links`. `nodes` (d, K) and `pairs` (r, K, K) count states and pairs of them over the rows.
    """
    for c in range(x.shape[0]):
        for k in range(x.shape[1]):
            old, now = x[c, k], new[c, k]
            if old == now:
                continue
            i = start + k
            nodes[i, old] -= 1
            nodes[i, now] += 1
            for j in range(links.ptr[i], links.ptr[i + 1]):
                e, other = links.edge[j], x[c, links.end[j] - start]
                if links.first[j]:
                    pairs[e, old, other] -= 1
                    pairs[e, now, other] += 1
                else:
                    pairs[e, other, old] -= 1
                    pairs[e, other, now] += 1
            x[c, k] = now
