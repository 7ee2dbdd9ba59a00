"""Agreements of an agreement field with one coupling and no field, counted along Swendsen-Wang sweeps."""

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.swendsen_wang import join_clusters


@jit
def agreements(x, edges, out):
    """Count the edges between equal states in every row of `x` (m, d), into `out` (m,)."""
    for c in range(x.shape[0]):
        total = 0
        for e in range(edges.shape[0]):
            total += x[c, edges[e, 0]] == x[c, edges[e, 1]]
        out[c] = total


@jit
def agreement_series(x, edges, coupling, n_states, counts, means, rng):
    """Move `x` (d,) int8 by cluster sweeps and count its agreeing edges after each.

    Without evidence the clusters of a sweep take independent, uniform states: an edge inside a cluster
    agrees, one between two clusters with probability 1 / K. That mean given the clusters is less noisy than
    the count (Rao-Blackwell).

    Parameters
    ----------
    x : (d,) int8 array
        State indices 0..K-1, moved in place.
    edges : (r, 2) integer array
    coupling : float
        At least 0, of all edges.
    n_states : int
        K.
    counts : (n_sweeps,) array
        Result: agreeing edges.
    means : (n_sweeps,) array
        Result: their mean given the clusters.
    rng : numpy.random.Generator
    """
    closed = np.full(edges.shape[0], np.exp(-coupling))
    parent = np.empty(x.shape[0], dtype=np.int64)
    for s in range(counts.shape[0]):
        join_clusters(x, edges, closed, parent, rng)
        for i in range(x.shape[0]):
            x[i] = int(rng.random() * n_states) if parent[i] == i else x[parent[i]]
        agreeing, inside = 0, 0
        for e in range(edges.shape[0]):
            u, v = edges[e, 0], edges[e, 1]
            agreeing += x[u] == x[v]
            inside += parent[u] == parent[v]
        counts[s] = agreeing
        means[s] = inside + (edges.shape[0] - inside) / n_states
