"""Weights of the agreeing edges of a field with one coupling, summed along Swendsen-Wang sweeps.

In all kernels `edges` (r, 2) have `weights` (r,), which are not negative: the coupling of an edge is its
weight times the one coupling.
"""

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.simulation.swendsen_wang import join_clusters


@jit
def agreements(x, edges, weights, out):
    """Sum the weights of the edges between equal states in every row of `x` (m, d), into `out` (m,)."""
    for c in range(x.shape[0]):
        total = 0.0
        for e in range(edges.shape[0]):
            if x[c, edges[e, 0]] == x[c, edges[e, 1]]:
                total += weights[e]
        out[c] = total


@jit
def agreement_series(x, edges, weights, coupling, n_states, counts, means, rng):
    """Move `x` (d,) int8 by cluster sweeps and sum the weights of its agreeing edges after each.

    Without evidence the clusters of a sweep take independent, uniform states: an edge inside a cluster
    agrees, one between two clusters with probability 1 / K. That mean given the clusters is less noisy than
    the sum (Rao-Blackwell). It takes 0.4 to 0.85 times as long as `field_series` without a field.

    `x` (d,) int8: state indices 0..K-1, moved in place. `edges` (r, 2) integer and `weights` (r,).
    `coupling`: at least 0. `n_states`: K. `counts` (n_sweeps,): result: weights of the agreeing edges.
    `means` (n_sweeps,): result: their mean given the clusters.
    """
    couplings, total = coupling * weights, weights.sum()
    closed = np.exp(-couplings)
    parent = np.empty(x.shape[0], dtype=np.int64)
    for s in range(counts.shape[0]):
        join_clusters(x, edges, couplings, closed, parent, rng)
        for i in range(x.shape[0]):
            x[i] = int(rng.random() * n_states) if parent[i] == i else x[parent[i]]
        agreeing, inside = 0.0, 0.0
        for e in range(edges.shape[0]):
            u, v = edges[e, 0], edges[e, 1]
            if x[u] == x[v]:
                agreeing += weights[e]
            if parent[u] == parent[v]:
                inside += weights[e]
        counts[s] = agreeing
        means[s] = inside + (total - inside) / n_states


@jit
def field_series(x, edges, weights, coupling, field, counts, means, rng):
    """Move `x` (d,) int8 by cluster sweeps in a field that all nodes share; count after each.

    Given the clusters of a sweep their states are independent, that of a cluster of m nodes a with
    probability proportional to exp(m field[a]): the means of the counts given the clusters follow.

    `x` (d,) int8: state indices 0..K-1, moved in place. `edges` (r, 2) integer and `weights` (r,).
    `coupling`: at least 0. `field` (K,): log weights of the states of each node. `counts` (n_sweeps, 1 +
    K): result: weights of the agreeing edges, then nodes in each state. `means` (n_sweeps, 1 + K):
    result: their means given the clusters.
    """
    d, K = x.shape[0], field.shape[0]
    couplings = coupling * weights
    closed = np.exp(-couplings)
    parent, size = np.empty(d, dtype=np.int64), np.empty(d, dtype=np.int64)
    p, below = np.empty((d, K)), field - field.max()
    for s in range(counts.shape[0]):
        join_clusters(x, edges, couplings, closed, parent, rng)
        counts[s] = 0.0
        means[s] = 0.0
        size[:] = 0
        for i in range(d):
            size[parent[i]] += 1
        for i in range(d):
            root = parent[i]
            if root == i:
                total = 0.0
                for a in range(K):
                    p[i, a] = np.exp(size[i] * below[a])
                    total += p[i, a]
                u, x[i] = rng.random() * total, K - 1
                for a in range(K - 1):
                    if u < p[i, a]:
                        x[i] = a
                        break
                    u -= p[i, a]
                for a in range(K):
                    p[i, a] /= total
                    means[s, 1 + a] += size[i] * p[i, a]
            else:
                x[i] = x[root]
            counts[s, 1 + x[i]] += 1.0
        for e in range(edges.shape[0]):
            u, v = edges[e, 0], edges[e, 1]
            if x[u] == x[v]:
                counts[s, 0] += weights[e]
            u, v = parent[u], parent[v]
            if u == v:
                means[s, 0] += weights[e]
            else:
                for a in range(K):
                    means[s, 0] += weights[e] * p[u, a] * p[v, a]
