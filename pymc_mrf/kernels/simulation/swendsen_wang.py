"""Cluster sweeps of agreement fields: Swendsen & Wang (1987).

The field is p(x) proportional to exp(sum_e coupling_e [x_u = x_v] + sum_i evidence[i, x_i]). A sweep opens
each edge whose ends agree with probability 1 - exp(-coupling_e), and redraws the common state of each cluster
of nodes that open edges join, by the sum of the evidence over its nodes (Edwards & Sokal, 1988). Couplings
of two states may be negative: an edge whose ends differ is opened with probability 1 - exp(coupling_e), and
a cluster keeps or exchanges the states of all its nodes. The field is left invariant, whatever the evidence.
Without evidence a sweep decorrelates far more than one of single sites near the critical coupling; strong
evidence on large clusters lets them seldom change, as do frustrated couplings, whose clusters are too large.

In all kernels `edges` (r, 2) have `coupling` (r,) or log tables `edge_tables` (r, K, K), and nodes `evidence`
(d, K).
"""

import numpy as np

from pymc_mrf.kernels._jit import jit, part
from pymc_mrf.kernels.log_scores import draw_state
from pymc_mrf.kernels.simulation.gibbs import gibbs_sweeps

ORDERING = 1.7
"""Neighbours that a node could be joined to, on average, from which sweeps over clusters are made: fields
order at 2 or more; far below, sweeps over nodes and trees forget quickly themselves."""

ROUNDING = 4.0 * np.finfo(np.float64).eps
"""Share of a table that the cancellation of its equal terms may leave behind, which is no coupling."""


@part
def find_root(parent, i):
    """Root of the tree in which i is, path halved: the smallest index of its cluster; `parent` (d,)."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@jit
def join_clusters(x, edges, coupling, closed, parent, rng):
    """Open edges whose ends are as the coupling wants; on return `parent` (d,) is the root of each cluster.

    `x` (d,) is one row, `coupling` and `closed` (r,) as below.
    """
    for i in range(parent.shape[0]):
        parent[i] = i
    for e in range(edges.shape[0]):
        u, v = edges[e, 0], edges[e, 1]
        if (x[u] == x[v]) == (coupling[e] >= 0.0) and rng.random() >= closed[e]:
            u, v = find_root(parent, u), find_root(parent, v)
            if u < v:
                parent[v] = u
            else:
                parent[u] = v
    for i in range(parent.shape[0]):
        parent[i] = parent[parent[i]]  # of a smaller index, whose parent is a root by now


@jit
def swendsen_wang(x, edges, coupling, closed, evidence, parent, scores, rng):
    """Move `x` by one sweep, in place.

    `x` (d,) int8: state indices 0..K-1, possible under the evidence. `edges` (r, 2) integer: node
    indices of each edge. `coupling` (r,): not negative if there are more than two states. `closed` (r,):
    exp(-abs(coupling)), the probability that an edge which may open stays closed, in [0, 1]. `evidence`
    (d, K): log weights of the states of each node; -inf marks impossible ones. `parent` (d,) int64:
    scratch; on return the smallest node index of each node's cluster. `scores` (d, K): scratch.
    """
    join_clusters(x, edges, coupling, closed, parent, rng)
    for i in range(x.shape[0]):
        root = parent[i]
        if root < i:
            x[i] = x[i] != x[root]  # until the states of roots are known
        for a in range(scores.shape[1]):
            b = 1 - a if root < i and x[i] else a
            scores[root, a] = evidence[i, b] + (scores[root, a] if root < i else 0.0)
    for i in range(x.shape[0]):
        root = parent[i]
        if root == i:
            x[i] = draw_state(scores[i], rng)
        else:
            x[i] = 1 - x[root] if x[i] else x[root]


@jit
def swendsen_wang_sweeps(x, edges, coupling, evidence, n_sweeps, rng):
    """Move every row of `x` (m, d) by `n_sweeps` sweeps, in place; `coupling` (r,) and the rest as above."""
    closed = np.exp(-np.abs(coupling))
    parent, scores = np.empty(x.shape[1], dtype=np.int64), np.empty(evidence.shape)
    for c in range(x.shape[0]):
        for _ in range(n_sweeps):
            swendsen_wang(x[c], edges, coupling, closed, evidence, parent, scores, rng)


@jit
def is_balanced(edges, coupling, n_nodes):
    """Whether exchanging the two states of some nodes makes all couplings (r,) attractive (Harary, 1953)."""
    parent, differs = np.arange(n_nodes), np.zeros(n_nodes, dtype=np.bool_)  # from the parent
    for e in range(edges.shape[0]):
        if coupling[e] == 0.0:
            continue
        odd = coupling[e] < 0.0
        roots = edges[e].copy()
        for k in range(2):
            while parent[roots[k]] != roots[k]:
                odd ^= differs[roots[k]]
                above = parent[roots[k]]
                differs[roots[k]] ^= differs[above]
                parent[roots[k]] = parent[above]
                roots[k] = above
        if roots[0] != roots[1]:
            parent[roots[0]], differs[roots[0]] = roots[1], odd
        elif odd:
            return False
    return True


@jit
def read_attraction(edge_tables, edges, coupling, alone):
    """Read an agreement field with clusters off log tables (r, K, K), and return whether there is one.

    Tables of two states are agreement and what they say of either node alone; their signs must be balanced.
    Those of more states must ask for agreement only, none of them for its opposite.

    `edge_tables` (r, K, K) and `edges` (r, 2) integer. `coupling` (r,): result. `alone` (d, K): result:
    log weights of the states of each node.
    """
    n_states, repels = edge_tables.shape[1], False
    alone[:] = 0.0
    for e in range(edge_tables.shape[0]):
        table, agrees = edge_tables[e], True
        for a in range(n_states):
            for b in range(n_states):
                agrees &= table[a, b] == (table[0, 0] if a == b else table[0, 1])
        coupling[e] = table[0, 0] - table[0, 1]
        if not agrees:
            if n_states > 2:
                return False
            coupling[e] = 0.5 * (coupling[e] + table[1, 1] - table[1, 0])
            alone[edges[e, 0], 1] += 0.5 * (table[1, 0] - table[0, 0] + table[1, 1] - table[0, 1])
            alone[edges[e, 1], 1] += 0.5 * (table[0, 1] - table[0, 0] + table[1, 1] - table[1, 0])
            if not (np.isfinite(coupling[e]) and np.isfinite(alone[edges[e], 1]).all()):
                return False
            if np.abs(coupling[e]) <= ROUNDING * np.abs(table).sum():
                coupling[e] = 0.0
        repels |= not coupling[e] >= 0.0
    return not repels or (n_states == 2 and is_balanced(edges, coupling, alone.shape[0]))


@jit
def may_order(coupling, n_nodes):
    """Whether couplings (r,) join a node to `ORDERING` neighbours or more."""
    joined = 0.0
    for e in range(coupling.shape[0]):
        joined -= 2.0 * np.expm1(-np.abs(coupling[e]))
    return joined >= ORDERING * n_nodes


@jit
def gibbs_and_cluster_sweeps(x, edge_tables, node_tables, graph, n_sweeps, rng):
    """`gibbs_sweeps`, every second one over clusters instead, where the field has them and may order.

    `x` (m, d) are chains of the field with `edge_tables` and `node_tables` (d, K).
    """
    coupling, weights = np.empty(edge_tables.shape[0]), np.empty(node_tables.shape)
    attracts = read_attraction(edge_tables, graph.edges, coupling, weights)
    if not (attracts and may_order(coupling, x.shape[1])):
        gibbs_sweeps(x, edge_tables, node_tables, graph, n_sweeps, rng)
        return
    weights += node_tables
    for k in range(n_sweeps):
        if k % 2:
            swendsen_wang_sweeps(x, graph.edges, coupling, weights, 1, rng)
        else:
            gibbs_sweeps(x, edge_tables, node_tables, graph, 1, rng)
