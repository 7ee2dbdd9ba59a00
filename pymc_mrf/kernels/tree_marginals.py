"""Rao-Blackwellised marginals of tree sampling: Rivasseau (2005, eq. 4.14).

After the messages from the leaves to the roots, which sampling needs anyway, the second half of belief
propagation gives the marginals of a block given everything outside it. Their averages over the sweeps
of a chain vary less than counts of states.

Notation as in `tree_sampling`.
"""

import numpy as np

from pymc_mrf.kernels import tree_sampling_log
from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.random_lanes import STATE_SIZE, seed_lanes
from pymc_mrf.kernels.tree_sampling import (
    BUFFER,
    draw_scaled,
    filter_scaled,
    load_tile,
    representation,
    scaled_tables,
    store_tile,
)


def tree_marginals(x, edge_tables, node_tables, forest, graph, n_sweeps, rng, node_sum, edge_sum):
    """`tree_sampling.tree_sweeps` that adds up conditional marginals on its way (eq. 4.14).

    `node_sum` (d, K, m) and `edge_sum` (r, K, K, m) get, per chain, the sum over sweeps of the
    marginals of each node and edge given what the block of the node was conditioned on. Edges with
    two clamped ends get nothing. All chains form one tile: call with few.
    """
    sweeps = sweeps_with_marginals
    if representation(edge_tables, node_tables, graph.edges) == "log":
        sweeps = tree_sampling_log.sweeps_with_marginals
    sweeps(x, edge_tables, node_tables, forest, graph, n_sweeps, rng, node_sum, edge_sum)


@jit
def add_marginals(nu, pi, z, psi, edges, forest, b, scale, node_sum, edge_sum):
    """Second half of belief propagation in block b, after `filter_scaled` and before the draw.

    The marginals of the block's nodes given the outside go into `pi` (d, K, T) and are added to
    `node_sum` (d, K, T); those of the edges at the block are added, weighted by
    `forest.edge_weight`, to `edge_sum` (r, K, K, T); `scale` (T,) is room.
    """
    n_states, T = nu.shape[1], nu.shape[2]
    for p in range(forest.block_ptr[b + 1] - 1, forest.block_ptr[b] - 1, -1):
        i, j, e = forest.nodes[p], forest.parent[p], forest.parent_edge[p]
        for a in range(n_states):
            for c in range(T):
                pi[i, a, c] = nu[i, a, c] if j < 0 else 0.0
        if j < 0:
            for c in range(T):
                total = 0.0
                for a in range(n_states):
                    total += pi[i, a, c]
                for a in range(n_states):
                    pi[i, a, c] /= total
        upwards = 1 if j >= 0 and edges[e, 0] == i else 0
        for a in range(n_states if j >= 0 else 0):
            for c in range(T):
                scale[c] = 0.0
            for s in range(n_states):
                for c in range(T):
                    scale[c] += nu[i, s, c] * psi[upwards, e, a, s]
            for c in range(T):
                scale[c] = pi[j, a, c] / scale[c] if scale[c] > 0.0 else 0.0
            for s in range(n_states):
                first, second = (s, a) if upwards == 1 else (a, s)
                weight = psi[upwards, e, a, s]
                for c in range(T):
                    q = nu[i, s, c] * weight * scale[c]
                    pi[i, s, c] += q
                    edge_sum[e, first, second, c] += q
        for k in range(forest.out_ptr[p], forest.out_ptr[p + 1]):
            e = forest.out_edges[k]
            near, weight = z[forest.out_neighbors[k]], forest.edge_weight[e]
            for a in range(n_states):
                for c in range(T):
                    if edges[e, 0] == i:
                        edge_sum[e, a, near[c], c] += weight * pi[i, a, c]
                    else:
                        edge_sum[e, near[c], a, c] += weight * pi[i, a, c]
        for a in range(n_states):
            for c in range(T):
                node_sum[i, a, c] += pi[i, a, c]


@jit
def sweeps_with_marginals(x, edge_tables, node_tables, forest, graph, n_sweeps, rng, node_sum, edge_sum):
    """`tree_marginals` by probabilities."""
    T, d = x.shape
    n_states = node_tables.shape[2]
    psi = np.empty((2, graph.edges.shape[0], n_states, n_states))
    phi = np.empty((d, n_states, node_tables.shape[0]))
    scaled_tables(edge_tables, node_tables, graph.edges, psi, phi)
    u, used, state = np.empty(BUFFER), np.full(1, BUFFER), np.empty(STATE_SIZE, dtype=np.uint64)
    seed_lanes(state, rng)
    z, nu, pi = np.empty((d, T), dtype=np.uint8), np.empty((d, n_states, T)), np.empty((d, n_states, T))
    message, total = np.empty(T), np.empty(T)
    load_tile(x, 0, z)
    for _ in range(n_sweeps):
        for b in range(forest.block_ptr.shape[0] - 1):
            filter_scaled(nu, z, psi, phi, 0, graph.edges, forest, b, message, total)
            add_marginals(nu, pi, z, psi, graph.edges, forest, b, total, node_sum, edge_sum)
            draw_scaled(nu, z, psi, graph.edges, forest, b, total, u, used, state)
    store_tile(z, x, 0)
