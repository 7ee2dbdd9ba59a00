"""Tree-blocked Gibbs sampling in the log domain: `tree_sampling` for any log tables.

Couplings of any strength and -inf entries, which no other representation takes; one chain at a time, and
6 to 10 times slower for it, more where others move chains together (``docs/results.md``, "Cost of a node
update"). `factor_tree_sampling`, which takes the same tables, takes 8 to 9 times as long (32 x 32 grid, 2 and
3 states). Arguments as in `tree_sampling`: chains `x` (m, d), log tables `edge_tables` (r, K, K) and
`node_tables` (1 or m, d, K); of one chain the states `z` (d,) and filtered log probabilities `nu` (p, K).
"""

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.log_scores import draw_state, largest, log_sum


@jit
def pair_scores(scores, nu_i, edge_tables, link, a):
    """Log weight of each state of a node whose neighbour by `link` is in state a, (K,).

    They are those of `nu_i` (K,) plus the edge's; `scores` (K,) may be `nu_i` itself.
    """
    e = link >> 1
    for b in range(scores.shape[0]):
        scores[b] = nu_i[b] + (edge_tables[e, b, a] if link & 1 else edge_tables[e, a, b])


@jit
def filter_block(nu, z, edge_tables, phi, forest, b):
    """Log P(x_i = a | descendants and outside) of the nodes of block b, (p, K), up to constants.

    `z` (d,) is the chain, `phi` (d, K) its node tables.
    """
    n_states = nu.shape[1]
    first, last = forest.block_ptr[b], forest.block_ptr[b + 1]
    scores, message = np.empty(n_states), np.empty(n_states)
    for p in range(first, last):
        for a in range(n_states):
            nu[p, a] = phi[forest.nodes[p], a]
    for k in range(forest.out_ptr[b], forest.out_ptr[b + 1]):
        p, near = forest.out_positions[k], z[forest.out_neighbors[k]]
        pair_scores(nu[p], nu[p], edge_tables, forest.out_links[k], near)
    for p in range(first, last):
        j = forest.parent[p]
        if j < 0:
            continue
        for a in range(n_states):
            pair_scores(scores, nu[p], edge_tables, forest.parent_link[p], a)
            message[a] = log_sum(scores)
        top = largest(message)
        for a in range(n_states):
            # an impossible parent stays impossible, whatever the constant
            nu[j, a] += message[a] - (top if top > -np.inf else 0.0)


@jit
def draw_block(nu, z, edge_tables, forest, b, rng):
    """Draw block b from the roots to the leaves into `z` (d,), after `filter_block`."""
    n_states = nu.shape[1]
    scores = np.empty(n_states)
    for p in range(forest.block_ptr[b + 1] - 1, forest.block_ptr[b] - 1, -1):
        j = forest.parent[p]
        if j < 0:
            for a in range(n_states):
                scores[a] = nu[p, a]
        else:
            pair_scores(scores, nu[p], edge_tables, forest.parent_link[p], z[forest.nodes[j]])
        z[forest.nodes[p]] = draw_state(scores, rng)


@jit
def add_block_marginals(nu, pi, z, edge_tables, forest, b, node_sum, edge_sum, c):
    """Second half of belief propagation in block b for chain c; see `tree_marginals.add_marginals`.

    `pi` (p, K), `node_sum` (d, K, m) and `edge_sum` (r, K, K, m).
    """
    n_states = nu.shape[1]
    scores = np.empty(n_states)
    for p in range(forest.block_ptr[b + 1] - 1, forest.block_ptr[b] - 1, -1):
        i, j, link = forest.nodes[p], forest.parent[p], forest.parent_link[p]
        if j < 0:
            total = log_sum(nu[p])
            for s in range(n_states):
                pi[p, s] = np.exp(nu[p, s] - total)
        else:
            for s in range(n_states):
                pi[p, s] = 0.0
        for a in range(n_states if j >= 0 else 0):
            if pi[j, a] == 0.0:
                continue
            pair_scores(scores, nu[p], edge_tables, link, a)
            total = log_sum(scores)
            for s in range(n_states):
                q = pi[j, a] * np.exp(scores[s] - total)
                pi[p, s] += q
                if link & 1:
                    edge_sum[link >> 1, s, a, c] += q
                else:
                    edge_sum[link >> 1, a, s, c] += q
        for a in range(n_states):
            node_sum[i, a, c] += pi[p, a]
    for k in range(forest.out_ptr[b], forest.out_ptr[b + 1]):
        p, link, near = forest.out_positions[k], forest.out_links[k], z[forest.out_neighbors[k]]
        e = link >> 1
        for a in range(n_states):
            if link & 1:
                edge_sum[e, a, near, c] += forest.edge_weight[e] * pi[p, a]
            else:
                edge_sum[e, near, a, c] += forest.edge_weight[e] * pi[p, a]


@jit
def sweeps(x, edge_tables, node_tables, forest, n_sweeps, rng):
    """Move every row of `x` (m, d) by `n_sweeps` sweeps, in place."""
    nu = np.empty((forest.nodes.shape[0], node_tables.shape[2]))
    for c in range(x.shape[0]):
        phi = node_tables[c if node_tables.shape[0] > 1 else 0]
        for _ in range(n_sweeps):
            for b in forest.visits:
                filter_block(nu, x[c], edge_tables, phi, forest, b)
                draw_block(nu, x[c], edge_tables, forest, b, rng)


@jit
def sweeps_with_marginals(x, edge_tables, node_tables, forest, n_sweeps, rng, node_sum, edge_sum):
    """`sweeps` that adds marginals to `node_sum` (d, K, m) and `edge_sum` (r, K, K, m)."""
    n_free, n_states = forest.nodes.shape[0], node_tables.shape[2]
    nu, pi = np.empty((n_free, n_states)), np.empty((n_free, n_states))
    for c in range(x.shape[0]):
        phi = node_tables[c if node_tables.shape[0] > 1 else 0]
        for _ in range(n_sweeps):
            for b in forest.visits:
                filter_block(nu, x[c], edge_tables, phi, forest, b)
                add_block_marginals(nu, pi, x[c], edge_tables, forest, b, node_sum, edge_sum, c)
                draw_block(nu, x[c], edge_tables, forest, b, rng)
