"""Single-site Gibbs sampling of sparse binary fields, bit-packed: 64 chains in a machine word.

Multi-spin coding (Jacobs & Rebbi, 1981) with exact heat-bath probabilities. A node with k neighbours has
2 ** k neighbour configurations c, each with a threshold T(c) of 64 bits, T(c) / 2 ** 64 = P(z_i = 1 | c).
In every chain the new state is [R < T(c)] for a uniform R of 64 bits. Threshold and R are compared one
binary place ("plane") after the other, the most significant first, and the comparison ends when no chain
of the block of 512 is undecided: after about 10 planes. Plane p of the threshold is a Boolean function of
the k neighbour words; its truth table is looked up for the first two neighbours (16 functions, formed once
per visit) and multiplexed by the others.

Accuracy: ``|T(c) / 2 ** 64 - p| <= 2 ** -62 + 4 eps min(p, 1 - p)``, eps = 2 ** -52, p the probability at the
log odds as summed in doubles. A state that is possible has a probability of at least 2 ** -63; a state that
is impossible (-inf in the log tables) has probability zero, because R = T(c) gives the last bit of T(c), and
T(c) = 2 ** 64 - 1 then stands for certainty. Where both states are impossible, the chain is in an impossible
configuration and the draw is fair.

Nodes are visited in the chromatic order of the graph. Cost per visit grows as 2 ** k.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.random_lanes import seed_lanes, step
from pymc_mrf.kernels.simulation.packed_states import BLOCK
from pymc_mrf.kernels.word_vectors import N_WORDS, any_set, load, splat, store

N_PLANES = 16
"""Planes tabulated; the others are formed when a draw needs them, in 1 of 100 visits."""

STATE_SIZE = 4 * N_WORDS
"""Length of the generator state: one lane per word of a block."""

_ZERO, _ONE, _ALL = np.uint64(0), np.uint64(1), np.uint64(2**64 - 1)
_HALF = np.uint64(2**63)
_NIBBLE = np.uint64(15)
LOG2_E = 1.4426950408889634
# ln 2 in two parts, the first with 21 trailing zeros, so that n * LN2_HIGH is exact (Cody & Waite, 1980)
LN2_HIGH, LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
_PLANE_SHIFTS = 63 - np.arange(N_PLANES, dtype=np.uint64)  # place of each plane in the threshold


class PackedPlan(NamedTuple):
    """What the graph alone determines.

    Attributes
    ----------
    order : (d,) int64 array
        Nodes in the order of visits.
    row_ptr : (d + 1,) int64 array
        Neighbours of node i are ``rows[row_ptr[i] : row_ptr[i + 1]]``, 2, or 4, or its degree. Missing ones
        are filled up by the node itself, on which nothing depends.
    rows : (sum of padded degrees,) int64 array
    start : (d + 1,) int64 array
        Thresholds of node i are ``thresholds[start[i] : start[i + 1]]``; bit j of the position is the
        state of neighbour j.
    table_ptr : (d + 2,) int64 array
        Truth table j of node i, 64 configurations to a word, is at plane p
        ``planes[(table_ptr[i] + j) * N_PLANES + p]``. The last entries are room for a plane beyond.
    """

    order: np.ndarray
    row_ptr: np.ndarray
    rows: np.ndarray
    start: np.ndarray
    table_ptr: np.ndarray


class PackedTables(NamedTuple):
    """Working arrays that depend on the parameters: see `allocate_tables` and `fill_tables`.

    `scores` (2, n): log potentials of the states 0 and 1 of each node, given each neighbour
    configuration. `thresholds` (n,) uint64 and `planes` (n_tables * N_PLANES,) uint64. `functions` (16 *
    N_WORDS,) uint64: the 16 functions of the first two neighbours. `last` (N_WORDS,) uint64: chains of
    the last block that exist; a comparison goes on until all of these are decided. `chunks` (c,) uint64:
    values for 16 configurations each, before the fifth and further neighbours choose.
    """

    scores: np.ndarray
    thresholds: np.ndarray
    planes: np.ndarray
    functions: np.ndarray
    last: np.ndarray
    chunks: np.ndarray


def plan(graph) -> PackedPlan:
    """Lay out tables and neighbour rows for a `GraphArrays`."""
    degree = np.diff(graph.indptr)
    padded = np.where(degree <= 2, 2, np.maximum(degree, 4))
    row_ptr = np.concatenate([[0], np.cumsum(padded)])
    rows = np.repeat(np.arange(len(degree)), padded)
    for i, k in enumerate(degree):
        rows[row_ptr[i] : row_ptr[i] + k] = graph.neighbors[graph.indptr[i] : graph.indptr[i + 1]]
    n_tables = 2 ** np.maximum(padded - 6, 0)
    return PackedPlan(
        graph.order,
        row_ptr,
        rows,
        np.concatenate([[0], np.cumsum(2**padded)]),
        np.concatenate([[0], np.cumsum(n_tables), [n_tables.sum() + n_tables.max()]]),
    )


def allocate_tables(plan: PackedPlan, n_chains: int = BLOCK) -> PackedTables:
    """Arrays for `fill_tables` and `packed_sweeps`; by default the last block of chains is full."""
    in_last = (n_chains - 1) % BLOCK + 1
    last = [min(max(in_last - 64 * w, 0), 64) for w in range(N_WORDS)]
    n_chunks = 2 ** max(int(np.diff(plan.row_ptr).max()) - 4, 0)
    return PackedTables(
        np.empty((2, plan.start[-1])),
        np.empty(plan.start[-1], dtype=np.uint64),
        np.empty(plan.table_ptr[-1] * N_PLANES, dtype=np.uint64),
        np.empty(16 * N_WORDS, dtype=np.uint64),
        np.array([2**bits - 1 for bits in last], dtype=np.uint64),
        np.empty(n_chunks * N_WORDS, dtype=np.uint64),
    )


@jit
def fill_configuration_scores(scores, edge_tables, node_tables, graph, start):
    """Log potentials of both states of all nodes for all neighbour configurations.

    Into `scores` (2, n), from `edge_tables` (r, 2, 2) and `node_tables` (d, 2); `start` (d + 1,) as in the
    plan.
    """
    for i in range(node_tables.shape[0]):
        room = start[i + 1] - start[i]
        own = scores[:, start[i] : start[i + 1]]
        own[0, 0], own[1, 0] = node_tables[i, 0], node_tables[i, 1]
        size = 1
        for k in range(graph.indptr[i], graph.indptr[i + 1]):
            e = graph.edge_ids[k]
            first = graph.edges[e, 0] == i
            for a in range(2):
                near0 = edge_tables[e, a, 0] if first else edge_tables[e, 0, a]
                near1 = edge_tables[e, a, 1] if first else edge_tables[e, 1, a]
                for c in range(size):
                    own[a, size + c] = own[a, c] + near1
                    own[a, c] += near0
            size *= 2
        while size < room:
            for a in range(2):
                for c in range(size):
                    own[a, size + c] = own[a, c]
            size *= 2


@jit
def exp_minus(a):
    """Return exp(-a), a in [0, 60], within 2 eps; free of branches, so that loops over it vectorise."""
    n = np.int64(a * LOG2_E + 0.5)
    r = (n * LN2_HIGH - a) + n * LN2_LOW  # |r| <= ln 2 / 2; the series' error is below 5e-18
    series = 1.0
    for k in range(13, 0, -1):
        series = 1.0 + series * r * (1.0 / k)
    return series * np.int64((1023 - n) << 52).view(np.float64)


@jit
def fill_thresholds(T, score0, score1):
    """`T` (n,) of P(state 1) from the log potentials `score0` and `score1` (n,); accuracy: see the module."""
    possible = True
    for c in range(T.shape[0]):
        h = score1[c] - score0[c]
        possible &= score0[c] > -np.inf and score1[c] > -np.inf
        e = exp_minus(min(abs(h), 60.0))
        # the rarer state: a probability of at most 1 / 2 keeps its relative accuracy
        half = np.int64(e / (1.0 + e) * 2.0**63 + 0.5)
        rare = np.uint64(half if half > 0 else 1) << _ONE
        T[c] = rare if h < 0.0 else ~rare + _ONE
    if not possible:
        for c in range(T.shape[0]):
            if score0[c] == -np.inf or score1[c] == -np.inf:
                if score0[c] == score1[c]:
                    T[c] = _HALF
                else:
                    T[c] = _ALL if score0[c] == -np.inf else _ZERO


@jit
def fill_tables(tables, edge_tables, node_tables, graph, plan):
    """Tabulate the conditionals of a field with log tables `edge_tables` (r, 2, 2), `node_tables` (d, 2)."""
    fill_configuration_scores(tables.scores, edge_tables, node_tables, graph, plan.start)
    T = tables.thresholds
    fill_thresholds(T, tables.scores[0], tables.scores[1])
    shifts0, shifts1 = load(_PLANE_SHIFTS, 0), load(_PLANE_SHIFTS, N_WORDS)
    one = splat(_ONE)
    for i in range(plan.start.shape[0] - 1):
        n = plan.start[i + 1] - plan.start[i]
        for j in range((n + 63) // 64):
            table0, table1 = splat(_ZERO), splat(_ZERO)
            for c in range(min(n, 64)):
                t = splat(T[plan.start[i] + 64 * j + c])
                table0 = table0 | (((t >> shifts0) & one) << np.uint64(c))
                table1 = table1 | (((t >> shifts1) & one) << np.uint64(c))
            place = (plan.table_ptr[i] + j) * N_PLANES
            store(tables.planes, place, table0)
            store(tables.planes, place + N_WORDS, table1)


@jit
def plane_beyond(tables, plan, i, p):
    """Truth tables of plane p >= N_PLANES of node i; returns their place in ``tables.planes``."""
    place = plan.table_ptr[-2] * N_PLANES
    n = plan.start[i + 1] - plan.start[i]
    for j in range((n + 63) // 64):
        table = _ZERO
        for c in range(min(n, 64)):
            bit = (tables.thresholds[plan.start[i] + 64 * j + c] >> np.uint64(63 - p)) & _ONE
            table |= bit << np.uint64(c)
        tables.planes[place + j * N_PLANES] = table
    return place


@jit
def choose(mask, zero, one):
    """Bits of `one` where the mask is set, bits of `zero` elsewhere."""
    return (mask & one) | (~mask & zero)


@jit
def fill_functions(functions, u, v):
    """All 16 Boolean functions of u and v; bit u + 2 v of the index is the value at (u, v)."""
    for f in range(16):
        value = splat(_ZERO)
        if f & 1:
            value = value | (~u & ~v)
        if f & 2:
            value = value | (u & ~v)
        if f & 4:
            value = value | (~u & v)
        if f & 8:
            value = value | (u & v)
        store(functions, f * N_WORDS, value)


@jit
def look_up(functions, table):
    """Look up the function of two neighbours whose truth table is the lowest four bits of `table`."""
    return load(functions, np.int64((table & _NIBBLE) * np.uint64(N_WORDS)))


@jit
def look_up_4(functions, table, v2, v3):
    """Evaluate the function of four neighbours whose truth table is the lowest 16 bits of `table`."""
    f0, f1 = look_up(functions, table), look_up(functions, table >> np.uint64(4))
    f2, f3 = look_up(functions, table >> np.uint64(8)), look_up(functions, table >> np.uint64(12))
    return choose(v3, choose(v2, f0, f1), choose(v2, f2, f3))


@jit
def look_up_many(tables, place, v2, v3, flat, near, W, w):
    """Evaluate the function of five and more neighbours `near` (k,) whose truth tables begin at `place`."""
    chunks = tables.chunks
    n = 1 << (near.shape[0] - 4)
    for j in range(n):
        table = tables.planes[place + (j >> 2) * N_PLANES] >> np.uint64(16 * (j & 3))
        store(chunks, j * N_WORDS, look_up_4(tables.functions, table, v2, v3))
    for q in range(4, near.shape[0]):
        v = load(flat, near[q] * W + w)
        n >>= 1
        for j in range(n):
            low, high = load(chunks, 2 * j * N_WORDS), load(chunks, (2 * j + 1) * N_WORDS)
            store(chunks, j * N_WORDS, choose(v, low, high))
    return load(chunks, 0)


@jit
def packed_sweeps(z, plan, tables, n_sweeps, state):
    """Move all chains by `n_sweeps` sweeps, in place.

    `z` (d, W) uint64: state of node i in chain 64 w + b is bit b of ``z[i, w]``; W is a multiple of
    N_WORDS. `plan` (PackedPlan). `tables`: filled by `fill_tables`. `state` (STATE_SIZE,) uint64:
    generators seeded by `random_lanes.seed_lanes`, moved on.
    """
    W = z.shape[1]
    flat = z.reshape(-1)
    planes, functions = tables.planes, tables.functions
    s0, s1 = load(state, 0), load(state, N_WORDS)
    s2, s3 = load(state, 2 * N_WORDS), load(state, 3 * N_WORDS)
    for w in range(0, W, N_WORDS):
        live = splat(_ALL) if w + N_WORDS < W else load(tables.last, 0)
        for _ in range(n_sweeps):
            for i in plan.order:
                near = plan.rows[plan.row_ptr[i] : plan.row_ptr[i + 1]]
                k = near.shape[0]
                fill_functions(functions, load(flat, near[0] * W + w), load(flat, near[1] * W + w))
                v2, v3 = splat(_ZERO), splat(_ZERO)
                if k > 2:
                    v2, v3 = load(flat, near[2] * W + w), load(flat, near[3] * W + w)
                undecided, value = live, splat(_ZERO)
                place, p = plan.table_ptr[i] * N_PLANES, 0
                while any_set(undecided):
                    if p >= N_PLANES:
                        place = plane_beyond(tables, plan, i, p)
                    if k == 2:
                        t = look_up(functions, planes[place])
                    elif k == 4:
                        t = look_up_4(functions, planes[place], v2, v3)
                    else:
                        t = look_up_many(tables, place, v2, v3, flat, near, W, w)
                    r, s0, s1, s2, s3 = step(s0, s1, s2, s3)
                    value = value | (undecided & t & ~r)
                    undecided = undecided & ~(t ^ r)
                    place, p = place + 1, p + 1
                    if p == 64:
                        value = value | (undecided & t)
                        undecided = splat(_ZERO)
                store(flat, i * W + w, value)
    store(state, 0, s0)
    store(state, N_WORDS, s1)
    store(state, 2 * N_WORDS, s2)
    store(state, 3 * N_WORDS, s3)


@jit
def seeded_sweeps(z, plan, tables, n_sweeps, rng):
    """Move all chains by `n_sweeps` sweeps of a field that is tabulated."""
    state = np.empty(STATE_SIZE, dtype=np.uint64)
    seed_lanes(state, rng)
    packed_sweeps(z, plan, tables, n_sweeps, state)
