"""Cluster sweeps of agreement fields with couplings that are not negative: Swendsen & Wang (1987).

The field is p(x) proportional to exp(sum_e coupling_e [x_u = x_v] + sum_i evidence[i, x_i]). A sweep opens
each edge whose ends agree with probability 1 - exp(-coupling_e), and redraws the common state of each cluster
of nodes that open edges join, by the sum of the evidence over its nodes (Edwards & Sokal, 1988). The field is
left invariant, whatever the evidence. Without evidence a sweep decorrelates far more than one of single sites
near the critical coupling; strong evidence on large clusters lets them seldom change.

In all kernels `edges` (r, 2) have `coupling` (r,) or log tables `edge_tables` (r, K, K), and nodes `evidence`
(d, K).
"""

import numpy as np

from pymc_mrf.kernels._jit import jit, part
from pymc_mrf.kernels.gibbs import gibbs_sweeps
from pymc_mrf.kernels.log_scores import draw_state

ORDERING = 1.7
"""Neighbours that a node could be joined to, on average, from which sweeps over clusters are made: fields
order at 2 or more; far below, sweeps over nodes and trees forget quickly themselves."""


@part
def find_root(parent, i):
    """Root of the tree in which i is, path halved: the smallest index of its cluster; `parent` (d,)."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@jit
def join_clusters(x, edges, closed, parent, rng):
    """Open edges between equal states; on return `parent` (d,) is the root of each node's cluster.

    `x` (d,) is one row, `closed` (r,) as below.
    """
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


@jit
def read_attraction(edge_tables, coupling):
    """Fill `coupling` (r,) from log tables (r, K, K), and return whether they say no more than that.

    False if a table says more than whether two states agree, or a coupling is negative: no clusters then.
    """
    for e in range(edge_tables.shape[0]):
        table = edge_tables[e]
        for a in range(table.shape[0]):
            for b in range(table.shape[1]):
                if table[a, b] != (table[0, 0] if a == b else table[0, 1]):
                    return False
        coupling[e] = table[0, 0] - table[0, 1]
        if not coupling[e] >= 0.0:
            return False
    return True


@jit
def may_order(coupling, n_nodes):
    """Whether couplings (r,) >= 0 join a node to `ORDERING` neighbours or more."""
    joined = 0.0
    for e in range(coupling.shape[0]):
        joined -= 2.0 * np.expm1(-coupling[e])
    return joined >= ORDERING * n_nodes


@jit
def gibbs_and_cluster_sweeps(x, edge_tables, node_tables, graph, n_sweeps, rng):
    """`gibbs_sweeps`, every second one over clusters instead, where the field has them and may order.

    `x` (m, d).
    """
    coupling = np.empty(edge_tables.shape[0])
    if not (read_attraction(edge_tables, coupling) and may_order(coupling, x.shape[1])):
        gibbs_sweeps(x, edge_tables, node_tables, graph, n_sweeps, rng)
        return
    for k in range(n_sweeps):
        if k % 2:
            swendsen_wang_sweeps(x, graph.edges, coupling, node_tables, 1, rng)
        else:
            gibbs_sweeps(x, edge_tables, node_tables, graph, 1, rng)
