"""Counts of state pairs along the edges, over rows of data or many chains: what a pairwise field depends on.

The edges are `edges` (r, 2). On bit-packed chains (`packed_states`) a pair is counted by one population
count per 64 chains.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit, part

_M1, _M2, _M4 = (
    np.uint64(0x5555555555555555),
    np.uint64(0x3333333333333333),
    np.uint64(0x0F0F0F0F0F0F0F0F),
)
_BYTES = np.uint64(0x0101010101010101)


class Links(NamedTuple):
    """Edges by node: those of node i are at ``ptr[i]`` to ``ptr[i + 1]`` of the others.

    `ptr` (d + 1,) int32 or int64. `end` and `edge` (2 r,) int32 or int64: other end, and number of the
    edge. `first` (2 r,) bool: whether the node comes first in the edge.
    """

    ptr: np.ndarray
    end: np.ndarray
    edge: np.ndarray
    first: np.ndarray


@jit
def population_count(word):
    """Count the bits set in a uint64; LLVM has an instruction for this form."""
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
def count_states_of_chains(x, edges, nodes, pairs):
    """Add the states of chains after some sweeps to counts of each chain.

    State 0 is not counted: it has the sweeps that are left. Several sweeps are counted at once, at most 255,
    because it is the counts that take time to read and to write.

    `x` (s, d, m) int8: states after each of s sweeps, one chain to a column. `edges` (r, 2) integer.
    `nodes` (d, K - 1, m) int32: sweeps after which a node is in each of the states 1..K-1. `pairs` (r, K
    - 1, K - 1, m) int32: sweeps after which the ends of an edge are in two of them.
    """
    counted = np.empty(x.shape[2], dtype=np.uint8)  # bytes: 64 chains to an instruction
    for i in range(x.shape[1]):
        for a in range(nodes.shape[1]):
            counted[:] = 0
            for s in range(x.shape[0]):
                own = x[s, i]
                for c in range(x.shape[2]):
                    counted[c] += np.uint8(own[c] == np.int8(a + 1))
            for c in range(x.shape[2]):
                nodes[i, a, c] += counted[c]
    for e in range(edges.shape[0]):
        u, v = edges[e, 0], edges[e, 1]
        for a in range(nodes.shape[1]):
            for b in range(nodes.shape[1]):
                counted[:] = 0
                for s in range(x.shape[0]):
                    x_u, x_v = x[s, u], x[s, v]
                    for c in range(x.shape[2]):
                        is_a, is_b = x_u[c] == np.int8(a + 1), x_v[c] == np.int8(b + 1)
                        counted[c] += np.uint8(is_a & is_b)
                for c in range(x.shape[2]):
                    pairs[e, a, b, c] += counted[c]


@part
def fill_chain_moments(counts, n_sweeps, mean, squares):
    """Mean and sum of squared deviations, `mean` and `squares` (q,), of shares `counts` (q, m) / n_sweeps."""
    m = counts.shape[1]
    for a in range(counts.shape[0]):
        total, deviations = 0, 0.0
        for c in range(m):
            total += counts[a, c]
        for c in range(m):
            deviations += (counts[a, c] - total / m) ** 2
        mean[a], squares[a] = total / (m * n_sweeps), deviations / n_sweeps**2


@jit
def count_moments(nodes, pairs, edges, n_sweeps, node_moments, pair_moments):
    """Moments over chains of the shares of sweeps in all states, from counts of `count_states_of_chains`.

    `nodes` (d, K - 1, m) int32, `pairs` (r, K - 1, K - 1, m) int32 and `edges` (r, 2) integer.
    `n_sweeps`: that were counted. `node_moments` (2, d, K): mean, and sum of squared deviations, on
    return. `pair_moments` (2, r, K, K).
    """
    K, m = nodes.shape[1] + 1, nodes.shape[2]
    every = np.empty((K, K, m), dtype=np.int32)
    for i in range(nodes.shape[0]):
        every[0, 0] = n_sweeps
        every[0, 1:] = nodes[i]
        for a in range(1, K):
            every[0, 0] -= nodes[i, a - 1]
        fill_chain_moments(every[0], n_sweeps, node_moments[0, i], node_moments[1, i])
    for e in range(edges.shape[0]):
        u, v = nodes[edges[e, 0]], nodes[edges[e, 1]]
        every[0, 0] = n_sweeps
        every[0, 1:] = v
        for a in range(1, K):
            every[a, 0] = u[a - 1]
            every[0, 0] -= u[a - 1]
            for b in range(1, K):
                every[a, b] = pairs[e, a - 1, b - 1]
                every[a, 0] -= every[a, b]
                every[0, b] -= every[a, b]
        for b in range(1, K):
            every[0, 0] -= every[0, b]
        for a in range(K):
            fill_chain_moments(every[a], n_sweeps, pair_moments[0, e, a], pair_moments[1, e, a])


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


@jit
def tied_statistics(x, labels, edges, edge_statistic, out):
    """Sum f over the edges of each group, for every row of `x` (m, d), into `out` (m, G).

    `edges` (r, 2) have `labels` (r,); f is `edge_statistic` (K, K).
    """
    out[:] = 0.0
    for c in range(x.shape[0]):
        for e in range(edges.shape[0]):
            out[c, labels[e]] += edge_statistic[x[c, edges[e, 0]], x[c, edges[e, 1]]]
