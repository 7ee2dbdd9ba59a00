"""Rao-Blackwellised marginals of tree sampling: Rivasseau (2005, eq. 4.14).

After the messages from the leaves to the roots, which sampling needs anyway, the second half of belief
propagation gives the marginals of a block given everything outside it. Their averages over the sweeps
of a chain vary less than counts of states.

Notation as in `tree_sampling`: chains `x` (m, d), all in one tile of T = m, with states `z` (d, T), filtered
probabilities `nu` (p, K, T), and tables `psi` (1 or r, 2, K, K) and `phi` (d, K, 1 or m).
"""

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.random_lanes import STATE_SIZE, seed_lanes
from pymc_mrf.kernels.trees import tree_sampling_log
from pymc_mrf.kernels.trees.tree_potentials import representation, table_of, tree_potentials
from pymc_mrf.kernels.trees.tree_sampling import (
    BUFFER,
    draw_scaled,
    filter_scaled,
    load_tile,
    store_tile,
)


def tree_marginals(x, edge_tables, node_tables, forest, graph, n_sweeps, rng, node_sum, edge_sum):
    """`tree_sampling.tree_sweeps` that adds up conditional marginals on its way (eq. 4.14).

    `node_sum` (d, K, m) and `edge_sum` (r, K, K, m) get, per chain, the sum over sweeps of the
    marginals of each node and edge given what the block of the node was conditioned on. Edges with
    two clamped ends get nothing. All chains form one tile: call with few.
    """
    m, edges = len(x), graph.edges
    form = "log" if representation(edge_tables, node_tables, edges, m) == "log" else "scaled"
    sweeps = tree_sampling_log.sweeps_with_marginals if form == "log" else sweeps_with_marginals
    _, *tables = tree_potentials(edge_tables, node_tables, edges, m, form)
    sweeps(x, *tables, forest, n_sweeps, rng, node_sum, edge_sum)


@jit
def add_marginals(nu, pi, z, psi, forest, b, scale, node_sum, edge_sum):
    """Second half of belief propagation in block b, after `filter_scaled` and before the draw.

    The marginals of the block's nodes given the outside go into `pi` (p, K, T) and are added to
    `node_sum` (d, K, T); those of the edges at the block are added, weighted by
    `forest.edge_weight`, to `edge_sum` (r, K, K, T); `scale` (T,) is room.
    """
    n_states, T = nu.shape[1], nu.shape[2]
    for p in range(forest.block_ptr[b + 1] - 1, forest.block_ptr[b] - 1, -1):
        i, j, link = forest.nodes[p], forest.parent[p], forest.parent_link[p]
        for a in range(n_states):
            for c in range(T):
                pi[p, a, c] = nu[p, a, c] if j < 0 else 0.0
        if j < 0:
            for c in range(T):
                total = 0.0
                for a in range(n_states):
                    total += pi[p, a, c]
                for a in range(n_states):
                    pi[p, a, c] /= total
        e, table = link >> 1, psi[table_of(link, psi.shape[0]) if j >= 0 else 0, link & 1]
        for a in range(n_states if j >= 0 else 0):
            for c in range(T):
                scale[c] = 0.0
            for s in range(n_states):
                for c in range(T):
                    scale[c] += nu[p, s, c] * table[a, s]
            for c in range(T):
                scale[c] = pi[j, a, c] / scale[c] if scale[c] > 0.0 else 0.0
            for s in range(n_states):
                first, second = (s, a) if link & 1 else (a, s)
                for c in range(T):
                    q = nu[p, s, c] * table[a, s] * scale[c]
                    pi[p, s, c] += q
                    edge_sum[e, first, second, c] += q
        for a in range(n_states):
            for c in range(T):
                node_sum[i, a, c] += pi[p, a, c]
    for k in range(forest.out_ptr[b], forest.out_ptr[b + 1]):
        p, link, near = forest.out_positions[k], forest.out_links[k], z[forest.out_neighbors[k]]
        e = link >> 1
        for a in range(n_states):
            for c in range(T):
                if link & 1:
                    edge_sum[e, a, near[c], c] += forest.edge_weight[e] * pi[p, a, c]
                else:
                    edge_sum[e, near[c], a, c] += forest.edge_weight[e] * pi[p, a, c]


@jit
def sweeps_with_marginals(x, psi, phi, forest, n_sweeps, rng, node_sum, edge_sum):
    """`tree_marginals` by probabilities; `node_sum` (d, K, m) and `edge_sum` (r, K, K, m)."""
    T, d = x.shape
    n_states, n_free = phi.shape[1], forest.nodes.shape[0]
    u, used, state = np.empty(BUFFER), np.full(1, BUFFER), np.empty(STATE_SIZE, dtype=np.uint64)
    seed_lanes(state, rng)
    z = np.empty((d, T), dtype=np.uint8)
    nu, pi = np.empty((n_free, n_states, T)), np.empty((n_free, n_states, T))
    message, total = np.empty(T), np.empty(T)
    load_tile(x, 0, z)
    for _ in range(n_sweeps):
        for b in forest.visits:
            filter_scaled(nu, z, psi, phi, 0, forest, b, message, total)
            add_marginals(nu, pi, z, psi, forest, b, total, node_sum, edge_sum)
            draw_scaled(nu, z, psi, forest, b, total, u, used, state)
    store_tile(z, x, 0)
