"""Tree-blocked Gibbs sampling in the log domain: `tree_sampling` for any log tables.

Couplings of any strength and -inf entries; one chain at a time, and slower. Arguments as in
`tree_sampling`.
"""

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.log_scores import draw_state, largest, log_sum


@jit
def pair_scores(scores, nu_i, edge_tables, edges, e, i, a):
    """Log weight of each state of node i when the other end of edge e is in state a, (K,).

    `scores` may be `nu_i` itself.
    """
    for b in range(scores.shape[0]):
        scores[b] = nu_i[b] + (edge_tables[e, b, a] if edges[e, 0] == i else edge_tables[e, a, b])


@jit
def filter_block(nu, z, edge_tables, phi, edges, forest, b):
    """Log P(x_i = a | descendants and outside) of the nodes of block b, (d, K), up to constants.

    `z` (d,) is the chain, `phi` (d, K) its node tables.
    """
    n_states = nu.shape[1]
    first, last = forest.block_ptr[b], forest.block_ptr[b + 1]
    scores, message = np.empty(n_states), np.empty(n_states)
    for p in range(first, last):
        i = forest.nodes[p]
        for a in range(n_states):
            nu[i, a] = phi[i, a]
        for k in range(forest.out_ptr[p], forest.out_ptr[p + 1]):
            near = z[forest.out_neighbors[k]]
            pair_scores(nu[i], nu[i], edge_tables, edges, forest.out_edges[k], i, near)
    for p in range(first, last):
        i, j = forest.nodes[p], forest.parent[p]
        if j < 0:
            continue
        for a in range(n_states):
            pair_scores(scores, nu[i], edge_tables, edges, forest.parent_edge[p], i, a)
            message[a] = log_sum(scores)
        top = largest(message)
        for a in range(n_states):
            # an impossible parent stays impossible, whatever the constant
            nu[j, a] += message[a] - (top if top > -np.inf else 0.0)


@jit
def draw_block(nu, z, edge_tables, edges, forest, b, rng):
    """Draw block b from the roots to the leaves into `z` (d,), after `filter_block`."""
    n_states = nu.shape[1]
    scores = np.empty(n_states)
    for p in range(forest.block_ptr[b + 1] - 1, forest.block_ptr[b] - 1, -1):
        i, j = forest.nodes[p], forest.parent[p]
        if j < 0:
            for a in range(n_states):
                scores[a] = nu[i, a]
        else:
            pair_scores(scores, nu[i], edge_tables, edges, forest.parent_edge[p], i, z[j])
        z[i] = draw_state(scores, rng)


@jit
def add_block_marginals(nu, pi, z, edge_tables, edges, forest, b, node_sum, edge_sum, c):
    """Second half of belief propagation in block b for chain c; see `tree_marginals.add_marginals`.

    `pi` (d, K), `node_sum` (d, K, m) and `edge_sum` (r, K, K, m).
    """
    n_states = nu.shape[1]
    scores = np.empty(n_states)
    for p in range(forest.block_ptr[b + 1] - 1, forest.block_ptr[b] - 1, -1):
        i, j, e = forest.nodes[p], forest.parent[p], forest.parent_edge[p]
        if j < 0:
            total = log_sum(nu[i])
            for s in range(n_states):
                pi[i, s] = np.exp(nu[i, s] - total)
        else:
            for s in range(n_states):
                pi[i, s] = 0.0
        for a in range(n_states if j >= 0 else 0):
            if pi[j, a] == 0.0:
                continue
            pair_scores(scores, nu[i], edge_tables, edges, e, i, a)
            total = log_sum(scores)
            for s in range(n_states):
                q = pi[j, a] * np.exp(scores[s] - total)
                pi[i, s] += q
                if edges[e, 0] == i:
                    edge_sum[e, s, a, c] += q
                else:
                    edge_sum[e, a, s, c] += q
        for k in range(forest.out_ptr[p], forest.out_ptr[p + 1]):
            e = forest.out_edges[k]
            near = z[forest.out_neighbors[k]]
            for a in range(n_states):
                if edges[e, 0] == i:
                    edge_sum[e, a, near, c] += forest.edge_weight[e] * pi[i, a]
                else:
                    edge_sum[e, near, a, c] += forest.edge_weight[e] * pi[i, a]
        for a in range(n_states):
            node_sum[i, a, c] += pi[i, a]


@jit
def sweeps(x, edge_tables, node_tables, forest, graph, n_sweeps, rng):
    """Move every row of `x` (m, d) by `n_sweeps` sweeps, in place."""
    nu = np.empty(node_tables.shape[1:])
    for c in range(x.shape[0]):
        phi = node_tables[c if node_tables.shape[0] > 1 else 0]
        for _ in range(n_sweeps):
            for b in range(forest.block_ptr.shape[0] - 1):
                filter_block(nu, x[c], edge_tables, phi, graph.edges, forest, b)
                draw_block(nu, x[c], edge_tables, graph.edges, forest, b, rng)


@jit
def sweeps_with_marginals(x, edge_tables, node_tables, forest, graph, n_sweeps, rng, node_sum, edge_sum):
    """`sweeps` that adds marginals to `node_sum` (d, K, m) and `edge_sum` (r, K, K, m)."""
    nu, pi = np.empty(node_tables.shape[1:]), np.empty(node_tables.shape[1:])
    edges = graph.edges
    for c in range(x.shape[0]):
        phi = node_tables[c if node_tables.shape[0] > 1 else 0]
        for _ in range(n_sweeps):
            for b in range(forest.block_ptr.shape[0] - 1):
                filter_block(nu, x[c], edge_tables, phi, edges, forest, b)
                add_block_marginals(nu, pi, x[c], edge_tables, edges, forest, b, node_sum, edge_sum, c)
                draw_block(nu, x[c], edge_tables, edges, forest, b, rng)
