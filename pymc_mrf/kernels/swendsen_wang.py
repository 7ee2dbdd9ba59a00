"""Cluster sweeps of agreement fields with couplings that are not negative: Swendsen & Wang (1987).

The field is p(x) proportional to exp(sum_e coupling_e [x_u = x_v] + sum_i evidence[i, x_i]). A sweep opens
each edge whose ends agree with probability 1 - exp(-coupling_e), and redraws the common state of each cluster
of nodes that open edges join, by the sum of the evidence over its nodes (Edwards & Sokal, 1988). The field is
left invariant, whatever the evidence. Without evidence a sweep decorrelates far more than one of single sites
near the critical coupling; strong evidence on large clusters lets them seldom change.
"""

import numpy as np

from pymc_mrf.kernels._jit import inlined, jit
from pymc_mrf.kernels.log_scores import draw_state


@inlined
def find_root(parent, i):
    """Root of the tree in which i is, path halved; the root is the smallest index of its cluster."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@jit
def join_clusters(x, edges, closed, parent, rng):
    """Open edges between equal states; on return `parent` (d,) is the root of each node's cluster."""
    for i in range(parent.shape[0]):
        parent[i] = i
    for e in range(edges.shape[0]):
        u, v = edges[e, 0], edges[e, 1]
        if x[u] == x[v] and rng.random() >= closed[e]:
            u, v = find_root(parent, u), find_root(parent, v)
            if u < v:
                parent[v] = u
            else:
                parent[u] = v
    for i in range(parent.shape[0]):
        parent[i] = parent[parent[i]]  # of a smaller index, whose parent is a root by now


@jit
def swendsen_wang(x, edges, closed, evidence, parent, scores, rng):
    """Move `x` by one sweep, in place.

    Parameters
    ----------
    x : (d,) int8 array
        State indices 0..K-1, possible under the evidence.
    edges : (r, 2) integer array
        Node indices of each edge.
    closed : (r,) array
        exp(-coupling), the probability that an edge between equal states stays closed, in [0, 1].
    evidence : (d, K) array
        Log weights of the states of each node; -inf marks impossible ones.
    parent : (d,) int64 array
        Scratch; on return the smallest node index of each node's cluster.
    scores : (d, K) array
        Scratch.
    rng : numpy.random.Generator
    """
    join_clusters(x, edges, closed, parent, rng)
    for i in range(x.shape[0]):
        root = parent[i]
        for a in range(scores.shape[1]):
            scores[root, a] = evidence[i, a] + (scores[root, a] if root < i else 0.0)
    for i in range(x.shape[0]):
        root = parent[i]
        x[i] = draw_state(scores[i], rng) if root == i else x[root]


@jit
def swendsen_wang_sweeps(x, edges, coupling, evidence, n_sweeps, rng):
    """Move every row of `x` (m, d) by `n_sweeps` sweeps, in place; `coupling` (r,) >= 0, else as above."""
    closed = np.exp(-coupling)
    parent, scores = np.empty(x.shape[1], dtype=np.int64), np.empty(evidence.shape)
    for c in range(x.shape[0]):
        for _ in range(n_sweeps):
            swendsen_wang(x[c], edges, closed, evidence, parent, scores, rng)
