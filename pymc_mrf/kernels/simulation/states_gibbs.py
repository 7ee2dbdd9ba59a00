"""Gibbs sweeps of fields with any number of states, vectorised over chains.

The kernel of Geman & Geman (1984) in chromatic order, with the arithmetic moved out of the loops over
chains: a node's conditional depends on the chain only through the states of its neighbours, which one
integer encodes, and everything else is tabulated once per call.

- Few neighbours, K ** degree <= `DIRECT` (less for few draws): the table holds the cumulative
  probabilities of the K states as thresholds of 31 bits, and a draw is K - 1 comparisons of one random
  word.
- More neighbours: these are taken in groups of g, K ** g <= `GROUPED` (g = 1 at least); the tables hold log
  potentials, which are summed over the groups, exponentiated and accumulated per chain in float32.

Each probability of the first kind is off by at most 4e-7 (float32 exponential, `dense_gibbs`) plus
2 ** -31; of the second kind by that plus 2 ** -24 (24 random bits) and (groups + 2) 2 ** -24 times
the sum of the largest absolute log potentials. States of probability zero are never drawn.

Log tables are `edge_tables` (r, K, K) and `node_tables` (d, K); `places` (d + 1,), `sizes` (d,), `thresholds`
(K - 1, n) and `potentials` (K, n) as in `StatesTables`. A block has the states `z` (d, BLOCK), and of one
node `z_i`, `code`, `top` and `bits`, all (BLOCK,), and `scores` (K, BLOCK).
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.random_lanes import STATE_SIZE, seed_lanes
from pymc_mrf.kernels.simulation.dense_gibbs import (
    BLOCK,
    WORDS,
    draw_bits,
    exp_negative_float32,
    load_block,
    store_block,
)

DIRECT = 256
GROUPED = 32
DRAWS_PER_CELL = 2
"""Draws of a node that pay for one threshold; with fewer, its neighbours are taken in groups."""

SCALE31 = 2.0**31
SCALE24 = np.float32(2.0**-24)


@jit
def group_size(n_states, cap):
    """Largest g >= 1 with n_states ** g <= cap, or 1."""
    g = 1
    cells = n_states * n_states
    while cells <= cap:
        g += 1
        cells *= n_states
    return g


@jit
def table_places(indptr, n_states, direct_cells):
    """Where each node's tables start, (d + 1,), and its neighbours per group, (d,); `indptr` (d + 1,).

    Thresholds are tabulated for nodes whose neighbours have at most `direct_cells` configurations.
    """
    n_nodes = len(indptr) - 1
    places = np.zeros(n_nodes + 1, dtype=np.int64)
    sizes = np.empty(n_nodes, dtype=np.int64)
    direct, grouped = group_size(n_states, direct_cells), group_size(n_states, GROUPED)
    for i in range(n_nodes):
        degree = indptr[i + 1] - indptr[i]
        sizes[i] = direct if degree <= direct else grouped
        cells = 0
        for start in range(0, max(degree, 1), sizes[i]):
            cells += n_states ** min(sizes[i], degree - start)
        places[i + 1] = places[i] + cells
    return places, sizes


@jit
def add_tables(scores, i, start, stop, edge_tables, graph):
    """Log potentials of node i with its neighbours start..stop-1, for all their configurations.

    `scores` (K, width), width >= K ** (stop - start): on entry its first column holds what does not depend
    on the neighbours; on return column sum_k z_k K ** (k - start) belongs to the neighbours' states z.
    """
    n_states = scores.shape[0]
    cells = 1
    for k in range(start, stop):
        table = edge_tables[graph.edge_ids[k]]
        first = graph.edges[graph.edge_ids[k], 0] == i
        for a in range(n_states):
            score = scores[a]
            for b in range(n_states - 1, -1, -1):  # state 0 last: it overwrites the columns read
                t = table[a, b] if first else table[b, a]
                for cell in range(cells):
                    score[b * cells + cell] = score[cell] + t
        cells *= n_states


@jit
def fill_thresholds(thresholds, place, cells, scores, work):
    """Turn log potentials into thresholds: a random 31-bit word below row a means a state of at most a.

    `scores` (K, width), its first `cells` columns; `thresholds` (K - 1, n) uint32, from column `place`;
    `work` (2, width) is scratch.
    """
    n_states = scores.shape[0]
    top, total = work[0], work[1]
    top[:cells] = scores[0, :cells]
    total[:cells] = 0.0
    for a in range(1, n_states):
        score = scores[a]
        for cell in range(cells):
            top[cell] = max(top[cell], score[cell])
    for a in range(n_states):
        score = scores[a]
        for cell in range(cells):
            total[cell] += exp_negative_float32(np.float32(score[cell] - top[cell]))
            score[cell] = total[cell]
    for a in range(n_states - 1):
        score, threshold = scores[a], thresholds[a, place : place + cells]
        for cell in range(cells):
            threshold[cell] = np.uint32(score[cell] / total[cell] * SCALE31)


@jit
def make_tables(places, sizes, edge_tables, node_tables, graph):
    """Thresholds (K - 1, n) uint32 and log potentials (K, n) float32; a node uses one of them."""
    n_nodes, n_states = node_tables.shape
    thresholds = np.empty((n_states - 1, places[-1]), dtype=np.uint32)
    potentials = np.empty((n_states, places[-1]), dtype=np.float32)
    width = max(DIRECT, n_states)
    scores, work = np.empty((n_states, width)), np.empty((2, width))
    for i in range(n_nodes):
        place, start, end = places[i], graph.indptr[i], graph.indptr[i + 1]
        scores[:, 0] = node_tables[i]
        if end - start <= sizes[i]:
            add_tables(scores, i, start, end, edge_tables, graph)
            fill_thresholds(thresholds, place, places[i + 1] - place, scores, work)
            continue
        while start < end:
            stop = min(start + sizes[i], end)
            cells = n_states ** (stop - start)
            add_tables(scores, i, start, stop, edge_tables, graph)
            for a in range(n_states):
                score, potential = scores[a], potentials[a, place : place + cells]
                for cell in range(cells):
                    potential[cell] = score[cell]
            place += cells
            start = stop
            scores[:, 0] = 0.0
    return thresholds, potentials


@jit
def encode_neighbors(code, z, neighbors, n_states, start, stop):
    """Write the states of `neighbors` (2 r,) start..stop-1 as one integer per chain, `code` (BLOCK,)."""
    code[:] = 0
    stride = np.int32(1)
    for k in range(start, stop):
        z_k = z[neighbors[k]]
        for c in range(BLOCK):
            code[c] += np.int32(z_k[c]) * stride
        stride *= np.int32(n_states)


@jit
def draw_direct(z_i, code, thresholds, place, bits):
    """Draw one node in all chains of a block from its thresholds (K - 1, n), from column `place`."""
    z_i[:] = 0
    for a in range(thresholds.shape[0]):
        row = thresholds[a, place:]
        for c in range(BLOCK):
            z_i[c] += np.int8((bits[c] >> np.uint32(1)) >= row[code[c]])


@jit
def add_potentials(scores, code, potentials, place):
    """Add one group's log potentials (K, n), from column `place`, to `scores` (K, BLOCK)."""
    for a in range(scores.shape[0]):
        row, score = potentials[a, place:], scores[a]
        for c in range(BLOCK):
            score[c] += row[code[c]]


@jit
def draw_scores(z_i, scores, top, bits):
    """Draw one node in all chains of a block from its log potentials, which are overwritten."""
    n_states = scores.shape[0]
    top[:] = scores[0]
    for a in range(1, n_states):
        score = scores[a]
        for c in range(BLOCK):
            top[c] = max(top[c], score[c])
    for a in range(n_states):
        score = scores[a]
        for c in range(BLOCK):
            score[c] = exp_negative_float32(score[c] - top[c])
    for a in range(1, n_states):
        below, score = scores[a - 1], scores[a]
        for c in range(BLOCK):
            score[c] += below[c]
    total = scores[n_states - 1]
    z_i[:] = 0
    for c in range(BLOCK):
        top[c] = np.float32(bits[c] >> np.uint32(8)) * SCALE24 * total[c]
    for a in range(n_states - 1):
        score = scores[a]
        for c in range(BLOCK):
            z_i[c] += np.int8(top[c] >= score[c])


class StatesTables(NamedTuple):
    """What draws need of a field: see `tabulate`.

    `places` (d + 1,) int64: where the tables of each node start. `sizes` (d,) int64: neighbours per
    group. `thresholds` (K - 1, n) uint32 and `potentials` (K, n) float32.
    """

    places: np.ndarray
    sizes: np.ndarray
    thresholds: np.ndarray
    potentials: np.ndarray


@jit
def tabulate(edge_tables, node_tables, graph, n_draws):
    """`StatesTables` of a field (log tables as above) for about `n_draws` draws of each node."""
    direct_cells = min(DIRECT, n_draws // DRAWS_PER_CELL)
    places, sizes = table_places(graph.indptr, node_tables.shape[1], direct_cells)
    thresholds, potentials = make_tables(places, sizes, edge_tables, node_tables, graph)
    return StatesTables(places, sizes, thresholds, potentials)


@jit
def load_blocks(x, z):
    """Blocks of columns `z` (blocks, d, BLOCK) from the rows of `x` (m, d)."""
    for b in range(z.shape[0]):
        load_block(x[b * BLOCK : (b + 1) * BLOCK], z[b])


@jit
def store_blocks(z, x):
    """Rows of `x` (m, d) from blocks of columns `z` (blocks, d, BLOCK)."""
    for b in range(z.shape[0]):
        store_block(z[b], x[b * BLOCK : (b + 1) * BLOCK])


@jit
def sweep_rows(x, tables, graph, n_sweeps, rng):
    """Move every row of `x` (m, d) int8 as `sweep_blocks` does, in place."""
    blocks = np.zeros((-(-x.shape[0] // BLOCK), x.shape[1], BLOCK), dtype=np.int8)
    load_blocks(x, blocks)
    sweep_blocks(blocks, tables, graph, n_sweeps, rng)
    store_blocks(blocks, x)


@jit
def sweep_blocks(blocks, tables, graph, n_sweeps, rng):
    """Move every chain of `blocks` (blocks, d, BLOCK) int8, one per column, by sweeps in chromatic order.

    Log potentials behind the `StatesTables` may be -inf if the states of chains are possible; `rng` seeds the
    lanes, its only use.
    """
    state = np.empty(STATE_SIZE, dtype=np.uint64)
    seed_lanes(state, rng)
    for z in blocks:
        sweep_block(z, tables, graph, n_sweeps, state)


@jit
def sweep_block(z, tables, graph, n_sweeps, state):
    """Move the chains of one block `z` (d, BLOCK); `state` of the generators is moved on."""
    places, sizes, thresholds, potentials = tables
    n_states = potentials.shape[0]
    code = np.empty(BLOCK, dtype=np.int32)
    scores = np.empty((n_states, BLOCK), dtype=np.float32)
    top = np.empty(BLOCK, dtype=np.float32)
    words = np.empty(WORDS, dtype=np.uint64)
    bits = words.view(np.uint32)  # (BLOCK,)
    for _ in range(n_sweeps):
        for i in graph.order:
            place, start, end = places[i], graph.indptr[i], graph.indptr[i + 1]
            draw_bits(words, state)
            if end - start <= sizes[i]:
                encode_neighbors(code, z, graph.neighbors, n_states, start, end)
                draw_direct(z[i], code, thresholds, place, bits)
                continue
            scores[:] = np.float32(0.0)
            while start < end:
                stop = min(start + sizes[i], end)
                encode_neighbors(code, z, graph.neighbors, n_states, start, stop)
                add_potentials(scores, code, potentials, place)
                place += n_states ** (stop - start)
                start = stop
            draw_scores(z[i], scores, top, bits)
