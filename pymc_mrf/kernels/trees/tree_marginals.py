"""Rao-Blackwellised marginals of tree sampling: Rivasseau (2005, eq. 4.14).

After the messages from the leaves to the roots, which sampling needs anyway, the second half of belief
propagation gives the marginals of a block given everything outside it. Their averages over the sweeps
of a chain vary less than counts of states.

Chains are `x` (m, d). By probabilities they are all in one tile `z` (d, T), T = m; in logs they are moved one
by one, `z` (d,).
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import by_type, jit
from pymc_mrf.kernels.log_scores import log_sum
from pymc_mrf.kernels.trees.tree_messages import ChainLogs, pair_scores
from pymc_mrf.kernels.trees.tree_potentials import representation, table_of, tree_potentials
from pymc_mrf.kernels.trees.tree_sampling import chain_messages, draw_block, filter_block
from pymc_mrf.kernels.trees.tree_sampling_tile import TileScaled, seeded_uniforms, tile_scaled


class TreeMarginals(NamedTuple):
    """Marginals of the nodes of a block, `pi` (p, K) or (p, K, T), and sums over sweeps.

    The sums are `node_sum` (d, K, m) and `edge_sum` (r, K, K, m).
    """

    pi: np.ndarray
    node_sum: np.ndarray
    edge_sum: np.ndarray


def tree_marginals(x, edge_tables, node_tables, forest, graph, n_sweeps, rng, node_sum, edge_sum):
    """`tree_sampling.tree_sweeps` that adds up conditional marginals on its way (eq. 4.14).

    `node_sum` (d, K, m) and `edge_sum` (r, K, K, m) get, per chain, the sum over sweeps of the
    marginals of each node and edge given what the block of the node was conditioned on. Edges with
    two clamped ends get nothing. All chains form one tile: call with few.
    """
    m, edges = len(x), graph.edges
    form = "log" if representation(edge_tables, node_tables, edges, m) == "log" else "scaled"
    potentials = tree_potentials(edge_tables, node_tables, edges, m, form)
    sweeps_with_marginals(x, potentials, forest, n_sweeps, rng, node_sum, edge_sum)


def sweeps_with_marginals(x, potentials, forest, n_sweeps, rng, node_sum, edge_sum):
    """`tree_marginals` by `Potentials` in logs or probabilities."""
    form, edges, nodes = potentials
    p, m = len(forest.nodes), len(x)
    if form == "log":
        logs = chain_messages(potentials, p)
        marginals = TreeMarginals(np.empty(logs.nu.shape), node_sum, edge_sum)
        for c in range(m):
            sweep_with_marginals(x[c], logs, marginals, forest, n_sweeps, c, rng)
        return
    tile = tile_scaled(edges, nodes, p, m, seeded_uniforms(rng, m))
    z = x.T.astype(np.uint8, order="C")
    marginals = TreeMarginals(np.empty(tile.nu.shape), node_sum, edge_sum)
    sweep_with_marginals(z, tile, marginals, forest, n_sweeps, 0, rng)
    x[:] = z.T


@jit
def sweep_with_marginals(z, messages, marginals, forest, n_sweeps, row, rng):
    """Do as `tree_sampling.sweep`, and add the marginals of each block."""
    for _ in range(n_sweeps):
        for b in forest.visits:
            filter_block(messages, z, forest, b, row)
            add_marginals(messages, marginals, z, forest, b, row)
            draw_block(messages, z, forest, b, rng)


@by_type
def add_marginals(messages, marginals, z, forest, b, row):
    """Second half of belief propagation in block b, after `filter_block` and before the draw.

    The marginals of the block's nodes given the outside go into `pi` and are added to `node_sum`; those of
    the edges at the block are added, weighted by `forest.edge_weight`, to `edge_sum`, from chain `row` on.
    """


@add_marginals.register(TileScaled)
def add_marginals_of_tile(messages, marginals, z, forest, b, row):
    """Add those of all chains side by side."""
    nu, psi, scale, (pi, node_sum, edge_sum) = messages.nu, messages.psi, messages.total, marginals
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
        p, link, near = forest.out_positions[k], forest.out_links[k], forest.out_neighbors[k]
        e = link >> 1
        for a in range(n_states):
            for c in range(T):
                first, second = (a, z[near, c]) if link & 1 else (z[near, c], a)
                edge_sum[e, first, second, c] += forest.edge_weight[e] * pi[p, a, c]


@add_marginals.register(ChainLogs)
def add_marginals_of_chain(messages, marginals, z, forest, b, row):
    nu, scores, (pi, node_sum, edge_sum) = messages.nu, messages.scores, marginals
    n_states = nu.shape[1]
    for p in range(forest.block_ptr[b + 1] - 1, forest.block_ptr[b] - 1, -1):
        i, j, link = forest.nodes[p], forest.parent[p], forest.parent_link[p]
        total = log_sum(nu[p])
        for s in range(n_states):
            pi[p, s] = np.exp(nu[p, s] - total) if j < 0 else 0.0
        for a in range(n_states if j >= 0 else 0):
            if pi[j, a] == 0.0:
                continue
            pair_scores(messages, p, link, a, scores)
            total = log_sum(scores)
            for s in range(n_states):
                q = pi[j, a] * np.exp(scores[s] - total)
                pi[p, s] += q
                first, second = (s, a) if link & 1 else (a, s)
                edge_sum[link >> 1, first, second, row] += q
        for a in range(n_states):
            node_sum[i, a, row] += pi[p, a]
    for k in range(forest.out_ptr[b], forest.out_ptr[b + 1]):
        p, link, state = forest.out_positions[k], forest.out_links[k], z[forest.out_neighbors[k]]
        e = link >> 1
        for a in range(n_states):
            first, second = (a, state) if link & 1 else (state, a)
            edge_sum[e, first, second, row] += forest.edge_weight[e] * pi[p, a]
