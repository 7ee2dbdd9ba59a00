"""Counts of states along chains: the plain Monte Carlo estimates of Rivasseau (2005, eq. 4.13)."""

import numpy as np

from pymc_mrf.kernels._jit import jit

MOST_COUNTED = 255
"""Sweeps that bytes can count."""


@jit
def count_states(x, edges, nodes, pairs):
    """Add the states of all chains to counts by bytes, in place; 64 chains to an AVX-512 instruction.

    State 0 is not counted: it has the sweeps that are left. Several sweeps are counted at once, because it is
    the counts that take time to read and to write.

    Parameters
    ----------
    x : (s, d, m) int8 array
        State indices 0..K-1 after each of s sweeps, one chain per column.
    edges : (r, 2) integer array
    nodes : (d, K - 1, m) uint8 array
        Of the states 1..K-1.
    pairs : (r, K - 1, K - 1, m) uint8 array
        Of pairs of them at the ends of an edge.
    """
    n_chains, n_counted = x.shape[2], nodes.shape[1]
    for i in range(x.shape[1]):
        for a in range(n_counted):
            state, count = np.int8(a + 1), nodes[i, a]
            for s in range(x.shape[0]):
                own = x[s, i]
                for c in range(n_chains):
                    count[c] += np.uint8(own[c] == state)
    for e in range(edges.shape[0]):
        u, v = edges[e, 0], edges[e, 1]
        for a in range(n_counted):
            for b in range(n_counted):
                state_u, state_v, count = np.int8(a + 1), np.int8(b + 1), pairs[e, a, b]
                for s in range(x.shape[0]):
                    x_u, x_v = x[s, u], x[s, v]
                    for c in range(n_chains):
                        count[c] += np.uint8((x_u[c] == state_u) & (x_v[c] == state_v))


@jit
def moments(counts, n_sweeps, mean, squares):
    """Mean over chains of the shares ``counts / n_sweeps``, and sum of squared deviations, of each row.

    `counts` (q, m); `mean` and `squares` (q,) are written to.
    """
    m = counts.shape[1]
    for i in range(counts.shape[0]):
        total, deviations = 0.0, 0.0
        for c in range(m):
            total += counts[i, c]
        for c in range(m):
            deviations += (counts[i, c] - total / m) ** 2
        mean[i], squares[i] = total / (m * n_sweeps), deviations / n_sweeps**2


@jit
def count_moments(nodes, pairs, edges, n_sweeps, node_moments, pair_moments):
    """Moments over chains of the shares of sweeps in all states, from counts as `count_states` makes them.

    Parameters
    ----------
    nodes : (d, K - 1, m) integer array
    pairs : (r, K - 1, K - 1, m) integer array
    edges : (r, 2) integer array
    n_sweeps : int
        Sweeps that were counted.
    node_moments : (2, d, K) array
        Mean, and sum of squared deviations, on return.
    pair_moments : (2, r, K, K) array
    """
    K, m = nodes.shape[1] + 1, nodes.shape[2]
    every = np.empty((K, K, m), dtype=np.int64)
    for i in range(nodes.shape[0]):
        every[0, 0] = n_sweeps
        for a in range(1, K):
            every[0, a] = nodes[i, a - 1]
            every[0, 0] -= nodes[i, a - 1]
        moments(every[0], n_sweeps, node_moments[0, i], node_moments[1, i])
    for e in range(edges.shape[0]):
        u, v = nodes[edges[e, 0]], nodes[edges[e, 1]]
        every[0, 0] = n_sweeps
        for a in range(1, K):
            every[a, 0] = u[a - 1]
            every[0, a] = v[a - 1]
            every[0, 0] -= u[a - 1]
        for a in range(1, K):
            for b in range(1, K):
                every[a, b] = pairs[e, a - 1, b - 1]
                every[a, 0] -= pairs[e, a - 1, b - 1]
                every[0, b] -= pairs[e, a - 1, b - 1]
        for b in range(1, K):
            every[0, 0] -= every[0, b]
        for a in range(K):
            moments(every[a], n_sweeps, pair_moments[0, e, a], pair_moments[1, e, a])
