"""Tree-blocked Gibbs sampling of pairwise fields: Rivasseau (2005, figures 4.2 and 4.11).

A sweep visits the blocks of a tree partition. The values outside a block are absorbed into the
local potentials of its nodes (eq. 4.11), messages go from the leaves to the roots (*filtering*), and
the whole forest is drawn from the roots to the leaves (*backward sampling*). Each block is drawn from
its exact conditional distribution, so that the field is left invariant. The Rao-Blackwellised
estimates of eq. 4.14 are in `tree_marginals`.

Three representations of a message, chosen by `representation`: odds of binary fields, without any
transcendental function; probabilities of K states; and the log domain (`tree_sampling_log`), for
couplings too strong for the others and for impossible pairs of states.

Chains are moved in tiles of `TILE`, few of them one by one (`tree_sampling_chain`). A tile is kept
node-major, so that the loop over chains is the innermost: `z` is (d, T) uint8, a message (T,) or
(K, T). `graph` is a GraphArrays, `forest` a ForestArrays namedtuple; nodes in no block keep their
values. Node tables are (1, d, K), or (m, d, K) if every chain has its own.

What is computed from the tables alone is a `Potentials`, which serves any number of calls.

Loops are spelt out where array expressions would do: these take numba seconds to compile.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels import tree_sampling_log
from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.random_lanes import LANES, STATE_SIZE, next_word, seed_lanes, unit_interval
from pymc_mrf.kernels.tree_sampling_chain import FEW, chain_odds, chain_scaled

TILE = 64
"""Chains moved together."""

BUFFER = 8 * TILE
"""Uniform random numbers made at once."""

RANGE = 120.0
"""Largest sum of the ranges of the edge tables around one node outside the log domain: products of
messages then stay within the range of floating-point numbers (odds within exp(300 + 2 * 120))."""


class Potentials(NamedTuple):
    """Tables of a field in one representation.

    Attributes
    ----------
    form : {"odds", "scaled", "log"}
    edges, nodes : arrays
        As `binary_odds` and `scaled_tables` fill them; the log tables themselves under "log".
    """

    form: str
    edges: np.ndarray
    nodes: np.ndarray


def representation(edge_tables, node_tables, edges):
    """Choose the representation of messages: "odds", "scaled" or "log"."""
    # cells first: numpy reduces over a long last axis many times faster than over a short one
    cells = edge_tables.reshape(len(edges), node_tables.shape[-1] ** 2).T.copy()
    low, high = cells.min(axis=0), cells.max(axis=0)
    if len(edges) and low.min() == -np.inf:
        return "log"
    d = node_tables.shape[1]
    load = np.bincount(edges[:, 0], high - low, minlength=d)
    load += np.bincount(edges[:, 1], high - low, minlength=d)
    if load.max() > RANGE:
        return "log"
    if node_tables.shape[2] == 2 and node_tables.min() > -np.inf:
        return "odds"
    return "scaled"


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
    potentials = tree_potentials(edge_tables, node_tables, graph)
    sweep_potentials(x, potentials, forest, graph, n_sweeps, rng)


def tree_potentials(edge_tables, node_tables, graph, form=None):
    """`Potentials` of tables as in `tree_sweeps`, in the representation chosen for them or in `form`."""
    form = form or representation(edge_tables, node_tables, graph.edges)
    if form == "log":
        return Potentials(form, edge_tables, node_tables)
    m, d, n_states = node_tables.shape
    r = graph.edges.shape[0]
    if form == "odds":
        edges, nodes, fill = np.empty(r), np.empty((d, m)), binary_odds
    else:
        edges, nodes = np.empty((2, r, n_states, n_states)), np.empty((d, n_states, m))
        fill = scaled_tables
    fill(edge_tables, node_tables, graph.edges, edges, nodes)
    return Potentials(form, edges, nodes)


def sweep_potentials(x, potentials, forest, graph, n_sweeps, rng):
    """`tree_sweeps` with what `tree_potentials` makes of the tables."""
    form, edges, nodes = potentials
    sweeps = {"odds": sweeps_odds, "scaled": sweeps_scaled, "log": tree_sampling_log.sweeps}[form]
    sweeps(x, edges, nodes, forest, graph, n_sweeps, rng)


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
def binary_odds(edge_tables, node_tables, edges, ratio, base):
    """Odds of state 1: `ratio` (r,) per edge to a neighbour in state 1, `base` (d, 1 or m) of a node.

    Log odds of a node beyond 300 are beyond the resolution of a uniform random number, whatever the
    neighbours do; they are kept at 300.
    """
    shift = np.zeros(base.shape[0])
    for e in range(edges.shape[0]):
        low = edge_tables[e, 0, 0]
        shift[edges[e, 0]] += edge_tables[e, 1, 0] - low
        shift[edges[e, 1]] += edge_tables[e, 0, 1] - low
        ratio[e] = np.exp(edge_tables[e, 1, 1] - edge_tables[e, 1, 0] - edge_tables[e, 0, 1] + low)
    for i in range(base.shape[0]):
        for c in range(base.shape[1]):
            h = node_tables[c, i, 1] - node_tables[c, i, 0] + shift[i]
            base[i, c] = np.exp(min(max(h, -300.0), 300.0))


@jit
def filter_odds(odds, z, ratio, base, start, forest, b):
    """Odds of state 1 of each node of block b given its descendants and the outside, (d, T).

    `start` is the column of the tile in `base`, if this has one per chain.
    """
    T = odds.shape[1]
    first, last = forest.block_ptr[b], forest.block_ptr[b + 1]
    shared = base.shape[1] == 1
    for p in range(first, last):
        i = forest.nodes[p]
        for c in range(T):
            odds[i, c] = base[i, 0 if shared else start + c]
        for k in range(forest.out_ptr[p], forest.out_ptr[p + 1]):
            w, j = ratio[forest.out_edges[k]], forest.out_neighbors[k]
            for c in range(T):
                odds[i, c] *= w if z[j, c] else 1.0
    for p in range(first, last):
        j = forest.parent[p]
        if j >= 0:
            w, i = ratio[forest.parent_edge[p]], forest.nodes[p]
            for c in range(T):
                odds[j, c] *= (1.0 + w * odds[i, c]) / (1.0 + odds[i, c])


@jit
def draw_odds(odds, z, ratio, forest, b, u, used, state):
    """Draw block b from the roots to the leaves into `z`, after `filter_odds`."""
    T = odds.shape[1]
    for p in range(forest.block_ptr[b + 1] - 1, forest.block_ptr[b] - 1, -1):
        i, j = forest.nodes[p], forest.parent[p]
        first = take_uniform(u, used, T, state)
        if j < 0:
            for c in range(T):
                z[i, c] = u[first + c] * (1.0 + odds[i, c]) < odds[i, c]
        else:
            w = ratio[forest.parent_edge[p]]
            for c in range(T):
                q = odds[i, c] * (w if z[j, c] else 1.0)
                z[i, c] = u[first + c] * (1.0 + q) < q


@jit
def sweeps_odds(x, ratio, base, forest, graph, n_sweeps, rng):
    """`sweep_potentials` of binary fields, by odds."""
    m, d = x.shape
    if m < FEW:
        chain = np.empty(d)
        for c in range(m):
            row = c if base.shape[1] > 1 else 0
            chain_odds(x[c], chain, ratio, base, row, forest, n_sweeps, rng)
        return
    u, used, state = np.empty(BUFFER), np.full(1, BUFFER), np.empty(STATE_SIZE, dtype=np.uint64)
    seed_lanes(state, rng)
    for start in range(0, m, TILE):
        T = min(TILE, m - start)
        z, odds = np.empty((d, T), dtype=np.uint8), np.empty((d, T))
        load_tile(x, start, z)
        for _ in range(n_sweeps):
            for b in range(forest.block_ptr.shape[0] - 1):
                filter_odds(odds, z, ratio, base, start, forest, b)
                draw_odds(odds, z, ratio, forest, b, u, used, state)
        store_tile(z, x, start)


@jit
def scaled_tables(edge_tables, node_tables, edges, psi, phi):
    """Potentials with largest entry one: `phi` (d, K, 1 or m) of nodes, `psi` (2, r, K, K) of edges.

    psi[0, e, a, b] has the state of edges[e, 0] first, psi[1, e] is its transpose.
    """
    n_states = psi.shape[2]
    for e in range(edges.shape[0]):
        top = -np.inf
        for a in range(n_states):
            for b in range(n_states):
                top = max(top, edge_tables[e, a, b])
        for a in range(n_states):
            for b in range(n_states):
                psi[0, e, a, b] = psi[1, e, b, a] = np.exp(edge_tables[e, a, b] - top)
    for i in range(phi.shape[0]):
        for c in range(phi.shape[2]):
            top = -np.inf
            for a in range(n_states):
                top = max(top, node_tables[c, i, a])
            for a in range(n_states):
                phi[i, a, c] = np.exp(node_tables[c, i, a] - top)


@jit
def filter_scaled(nu, z, psi, phi, start, edges, forest, b, message, total):
    """P(x_i = a | descendants and outside) of the nodes of block b, (d, K, T), each up to a factor.

    `start` is the column of the tile in `phi`, if this has one per chain; `message` and `total` (T,)
    are room.
    """
    n_states, T = nu.shape[1], nu.shape[2]
    first, last = forest.block_ptr[b], forest.block_ptr[b + 1]
    shared = phi.shape[2] == 1
    for p in range(first, last):
        i = forest.nodes[p]
        for a in range(n_states):
            for c in range(T):
                nu[i, a, c] = phi[i, a, 0 if shared else start + c]
        for k in range(forest.out_ptr[p], forest.out_ptr[p + 1]):
            e, j = forest.out_edges[k], forest.out_neighbors[k]
            side = 0 if edges[e, 0] == i else 1
            for a in range(n_states):
                for c in range(T):
                    nu[i, a, c] *= psi[side, e, a, z[j, c]]
    for p in range(first, last):
        j = forest.parent[p]
        if j < 0:
            continue
        i, e = forest.nodes[p], forest.parent_edge[p]
        upwards = 1 if edges[e, 0] == i else 0
        for c in range(T):
            total[c] = nu[i, 0, c]
        for s in range(1, n_states):
            for c in range(T):
                total[c] += nu[i, s, c]
        for c in range(T):
            total[c] = 1.0 / total[c]
        for a in range(n_states):
            for c in range(T):
                message[c] = 0.0
            for s in range(n_states):
                weight = psi[upwards, e, a, s]
                for c in range(T):
                    message[c] += weight * nu[i, s, c]
            for c in range(T):
                nu[j, a, c] *= message[c] * total[c]


@jit
def draw_scaled(nu, z, psi, edges, forest, b, cumulated, u, used, state):
    """Draw block b from the roots to the leaves into `z`, after `filter_scaled`; changes `nu`.

    `cumulated` (T,) is room.
    """
    n_states, T = nu.shape[1], nu.shape[2]
    for p in range(forest.block_ptr[b + 1] - 1, forest.block_ptr[b] - 1, -1):
        i, j, e = forest.nodes[p], forest.parent[p], forest.parent_edge[p]
        side = 1 if j >= 0 and edges[e, 0] != i else 0
        for c in range(T):
            cumulated[c] = 0.0
        for a in range(n_states):
            for c in range(T):
                cumulated[c] += nu[i, a, c] * (1.0 if j < 0 else psi[side, e, a, z[j, c]])
                nu[i, a, c] = cumulated[c]
        first = take_uniform(u, used, T, state)
        for c in range(T):
            cumulated[c] *= u[first + c]
            z[i, c] = 0
        for a in range(n_states - 1):
            for c in range(T):
                z[i, c] += nu[i, a, c] <= cumulated[c]


@jit
def sweeps_scaled(x, psi, phi, forest, graph, n_sweeps, rng):
    """`sweep_potentials` of K-state fields, by probabilities."""
    m, d = x.shape
    n_states, n_rows = phi.shape[1], phi.shape[2]
    if m < FEW:
        chain = np.empty((d, n_states))
        for c in range(m):
            row = c if n_rows > 1 else 0
            chain_scaled(x[c], chain, psi, phi, row, graph.edges, forest, n_sweeps, rng)
        return
    u, used, state = np.empty(BUFFER), np.full(1, BUFFER), np.empty(STATE_SIZE, dtype=np.uint64)
    seed_lanes(state, rng)
    for start in range(0, m, TILE):
        T = min(TILE, m - start)
        z, nu = np.empty((d, T), dtype=np.uint8), np.empty((d, n_states, T))
        message, total = np.empty(T), np.empty(T)
        load_tile(x, start, z)
        for _ in range(n_sweeps):
            for b in range(forest.block_ptr.shape[0] - 1):
                filter_scaled(nu, z, psi, phi, start, graph.edges, forest, b, message, total)
                draw_scaled(nu, z, psi, graph.edges, forest, b, total, u, used, state)
        store_tile(z, x, start)
