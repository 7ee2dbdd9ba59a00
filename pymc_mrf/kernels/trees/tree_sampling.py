"""Tree-blocked Gibbs sampling of pairwise fields: Rivasseau (2005, figures 4.2 and 4.11).

A sweep visits the blocks of a tree partition. The values outside a block are absorbed into the
local potentials of its nodes (eq. 4.11), messages go from the leaves to the roots (*filtering*), and
the whole forest is drawn from the roots to the leaves (*backward sampling*). Each block is drawn from
its exact conditional distribution, so that the field is left invariant. The Rao-Blackwellised
estimates of eq. 4.14 are in `tree_marginals`.

Messages are of one of the representations of `tree_potentials`: odds of binary fields, probabilities of K
states, or the log domain (`tree_sampling_log`).

Chains are moved in tiles of `TILE`, few of them one by one (`tree_sampling_chain`). A tile is kept
node-major, so that the loop over chains is the innermost: `z` (d, T) is uint8, a message (T,) or
(K, T), by the position of its node. `forest` is a ForestArrays namedtuple; nodes in no block keep their
values. What is computed from the tables alone is a `Potentials`, which serves any number of calls.

Kernels move the chains `x` (m, d) by uniform random numbers `u` (BUFFER,). For the p nodes in blocks they
filter `odds` (p, T), by tables `ratio` (1 or r,) and `base` (d, 1 or m), or probabilities `nu` (p, K, T), by
`psi` (1 or r, 2, K, K) and `phi` (d, K, 1 or m); weights of agreement are `gain` (1 or r,).

Loops are spelt out where array expressions would do: these take numba seconds to compile.
"""

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.random_lanes import LANES, STATE_SIZE, next_word, seed_lanes, unit_interval
from pymc_mrf.kernels.trees import tree_sampling_log
from pymc_mrf.kernels.trees.tree_potentials import FEW, table_of, tree_potentials
from pymc_mrf.kernels.trees.tree_sampling_chain import chain_agreement, chain_odds, chain_scaled

TILE = 64
"""Chains moved together."""

BUFFER = 8 * TILE
"""Uniform random numbers made at once."""


def tree_sweeps(x, edge_tables, node_tables, forest, graph, n_sweeps, rng):
    """Move every row of `x` by `n_sweeps` sweeps over the blocks of `forest`, in place.

    Parameters
    ----------
    x : (m, d) int8 array
        State indices; one chain per row, each of positive probability.
    edge_tables : (r, K, K) array
    node_tables : (1, d, K) or (m, d, K) array
        Shared by all chains, or one table per chain.
    forest : ForestArrays
    graph : GraphArrays
    n_sweeps : int
    rng : numpy.random.Generator
    """
    potentials = tree_potentials(edge_tables, node_tables, graph.edges, len(x))
    sweep_potentials(x, potentials, forest, n_sweeps, rng)


def sweep_potentials(x, potentials, forest, n_sweeps, rng):
    """`tree_sweeps` with what `tree_potentials` makes of the tables, for as many chains."""
    form, edges, nodes = potentials
    SWEEPS[form](x, edges, nodes, forest, n_sweeps, rng)


@jit
def take_uniform(u, used, n, state):
    """Return the position of the next `n` unused numbers in `u` (BUFFER,), filled anew if need be.

    `used` (1,) counts the used ones, `state` is that of `random_lanes`.
    """
    if used[0] + n > BUFFER:
        for start in range(0, BUFFER, LANES):
            for lane in range(LANES):
                u[start + lane] = unit_interval(next_word(state, lane))
        used[0] = 0
    used[0] += n
    return used[0] - n


@jit
def load_tile(x, start, z):
    """Copy rows `start`, ... of `x` (m, d) to `z` (d, T)."""
    for i in range(z.shape[0]):
        for c in range(z.shape[1]):
            z[i, c] = x[start + c, i]


@jit
def store_tile(z, x, start):
    """Copy `z` (d, T) back to rows `start`, ... of `x` (m, d)."""
    for c in range(z.shape[1]):
        for i in range(z.shape[0]):
            x[start + c, i] = z[i, c]


@jit
def filter_odds(odds, z, ratio, base, start, forest, b):
    """Odds of state 1 of each node of block b given its descendants and the outside, (p, T).

    `start` is the column of the tile in `base`, if this has one per chain.
    """
    T, t = odds.shape[1], ratio.shape[0]
    first, last = forest.block_ptr[b], forest.block_ptr[b + 1]
    shared = base.shape[1] == 1
    for p in range(first, last):
        i = forest.nodes[p]
        for c in range(T):
            odds[p, c] = base[i, 0 if shared else start + c]
    for k in range(forest.out_ptr[b], forest.out_ptr[b + 1]):
        w, p = ratio[table_of(forest.out_links[k], t)], forest.out_positions[k]
        j = forest.out_neighbors[k]
        for c in range(T):
            odds[p, c] *= w if z[j, c] else 1.0
    for p in range(first, last):
        j = forest.parent[p]
        if j >= 0:
            w = ratio[table_of(forest.parent_link[p], t)]
            for c in range(T):
                odds[j, c] *= (1.0 + w * odds[p, c]) / (1.0 + odds[p, c])


@jit
def draw_odds(odds, z, ratio, forest, b, u, used, state):
    """Draw block b from the roots to the leaves into `z`, after `filter_odds`."""
    T, t = odds.shape[1], ratio.shape[0]
    for p in range(forest.block_ptr[b + 1] - 1, forest.block_ptr[b] - 1, -1):
        i, parent = forest.nodes[p], forest.parent[p]
        first = take_uniform(u, used, T, state)
        if parent < 0:
            for c in range(T):
                z[i, c] = u[first + c] * (1.0 + odds[p, c]) < odds[p, c]
        else:
            w, j = ratio[table_of(forest.parent_link[p], t)], forest.nodes[parent]
            for c in range(T):
                q = odds[p, c] * (w if z[j, c] else 1.0)
                z[i, c] = u[first + c] * (1.0 + q) < q


@jit
def sweeps_odds(x, ratio, base, forest, n_sweeps, rng):
    """`sweep_potentials` of binary fields, by odds."""
    m, d = x.shape
    if m < FEW:
        chain = np.empty(forest.nodes.shape[0])
        for c in range(m):
            row = c if base.shape[1] > 1 else 0
            chain_odds(x[c], chain, ratio, base, row, forest, n_sweeps, rng)
        return
    u, used, state = np.empty(BUFFER), np.full(1, BUFFER), np.empty(STATE_SIZE, dtype=np.uint64)
    seed_lanes(state, rng)
    for start in range(0, m, TILE):
        T = min(TILE, m - start)
        z, odds = np.empty((d, T), dtype=np.uint8), np.empty((forest.nodes.shape[0], T))
        load_tile(x, start, z)
        for _ in range(n_sweeps):
            for b in forest.visits:
                filter_odds(odds, z, ratio, base, start, forest, b)
                draw_odds(odds, z, ratio, forest, b, u, used, state)
        store_tile(z, x, start)


@jit
def filter_scaled(nu, z, psi, phi, start, forest, b, message, total):
    """P(x_i = a | descendants and outside) of the nodes of block b, (p, K, T), each up to a factor.

    `start` is the column of the tile in `phi`, if this has one per chain; `message` and `total` (T,)
    are room.
    """
    n_states, T, t = nu.shape[1], nu.shape[2], psi.shape[0]
    first, last = forest.block_ptr[b], forest.block_ptr[b + 1]
    shared = phi.shape[2] == 1
    for p in range(first, last):
        i = forest.nodes[p]
        for a in range(n_states):
            for c in range(T):
                nu[p, a, c] = phi[i, a, 0 if shared else start + c]
    for k in range(forest.out_ptr[b], forest.out_ptr[b + 1]):
        p, j, link = forest.out_positions[k], forest.out_neighbors[k], forest.out_links[k]
        table = psi[table_of(link, t), link & 1]
        for a in range(n_states):
            for c in range(T):
                nu[p, a, c] *= table[z[j, c], a]
    for p in range(first, last):
        j, link = forest.parent[p], forest.parent_link[p]
        if j < 0:
            continue
        table = psi[table_of(link, t), link & 1]
        for c in range(T):
            total[c] = nu[p, 0, c]
        for s in range(1, n_states):
            for c in range(T):
                total[c] += nu[p, s, c]
        for c in range(T):
            total[c] = 1.0 / total[c]
        for a in range(n_states):
            for c in range(T):
                message[c] = 0.0
            for s in range(n_states):
                weight = table[a, s]
                for c in range(T):
                    message[c] += weight * nu[p, s, c]
            for c in range(T):
                nu[j, a, c] *= message[c] * total[c]


@jit
def draw_scaled(nu, z, psi, forest, b, cumulated, u, used, state):
    """Draw block b from the roots to the leaves into `z`, after `filter_scaled`; changes `nu`.

    `cumulated` (T,) is room.
    """
    n_states, T, t = nu.shape[1], nu.shape[2], psi.shape[0]
    for p in range(forest.block_ptr[b + 1] - 1, forest.block_ptr[b] - 1, -1):
        i, parent, link = forest.nodes[p], forest.parent[p], forest.parent_link[p]
        for c in range(T):
            cumulated[c] = 0.0
        if parent >= 0:
            table, j = psi[table_of(link, t), link & 1], forest.nodes[parent]
            for a in range(n_states):
                for c in range(T):
                    nu[p, a, c] *= table[z[j, c], a]
        for a in range(n_states):
            for c in range(T):
                cumulated[c] += nu[p, a, c]
                nu[p, a, c] = cumulated[c]
        first = take_uniform(u, used, T, state)
        for c in range(T):
            cumulated[c] *= u[first + c]
            z[i, c] = 0
        for a in range(n_states - 1):
            for c in range(T):
                z[i, c] += nu[p, a, c] <= cumulated[c]


@jit
def sweeps_scaled(x, psi, phi, forest, n_sweeps, rng):
    """`sweep_potentials` of K-state fields, by probabilities."""
    m, d = x.shape
    n_states, n_rows, n_free = phi.shape[1], phi.shape[2], forest.nodes.shape[0]
    if m < FEW:
        chain = np.empty((n_free, n_states))
        for c in range(m):
            chain_scaled(x[c], chain, psi, phi, c if n_rows > 1 else 0, forest, n_sweeps, rng)
        return
    u, used, state = np.empty(BUFFER), np.full(1, BUFFER), np.empty(STATE_SIZE, dtype=np.uint64)
    seed_lanes(state, rng)
    for start in range(0, m, TILE):
        T = min(TILE, m - start)
        z, nu = np.empty((d, T), dtype=np.uint8), np.empty((n_free, n_states, T))
        message, total = np.empty(T), np.empty(T)
        load_tile(x, start, z)
        for _ in range(n_sweeps):
            for b in forest.visits:
                filter_scaled(nu, z, psi, phi, start, forest, b, message, total)
                draw_scaled(nu, z, psi, forest, b, total, u, used, state)
        store_tile(z, x, start)


@jit
def sweeps_agreement(x, gain, phi, forest, n_sweeps, rng):
    """`sweep_potentials` of few chains of K-state fields, by weights of agreement."""
    chain = np.empty((forest.nodes.shape[0], phi.shape[1]))
    for c in range(x.shape[0]):
        chain_agreement(x[c], chain, gain, phi, c if phi.shape[2] > 1 else 0, forest, n_sweeps, rng)


SWEEPS = {
    "odds": sweeps_odds,
    "agreement": sweeps_agreement,
    "scaled": sweeps_scaled,
    "log": tree_sampling_log.sweeps,
}
