"""Perfect sampling by monotone coupling from the past: Propp & Wilson (1996).

An attractive binary field (all weights of its {0, 1} Boltzmann form >= 0) has monotone Gibbs sweeps:
driven by the same random numbers, a chain that starts above another stays above. So run one chain from
all zeros and one from all ones from time -T to 0; where they agree at 0, every chain started at or
before -T would be in that state, which is therefore an exact draw. Double T until they agree, with the
same random numbers for the same times.

Random words are a function of (seed, time, node, bit, word), SplitMix64 evaluated at a counter (Steele,
Lea & Flood, 2014), so that a longer run sees the old words again however many a comparison looked at.

Weights are `weight` (r,), biases `bias` (d,); `thresholds` (n,), `places` (d + 1,), `counts` (d, BITS + 1)
and `ones` (BITS + 1, n) are explained in `conditional_thresholds` and `cells_by_bit`.

Every lane is a run of its own. Lanes share a horizon: going further back than a lane needs does not
change its state at time 0.

- Packed, nodes of degree <= `PACKED_DEGREE`: 64 lanes per word; conditional probabilities tabulated per
  configuration of the neighbours, rounded to multiples of 2 ** -31 (error at most 2 ** -32), made
  monotone after rounding, and compared bit by bit with random words until every lane is decided. For 512
  draws of `PairwiseField.sample` the wide kernel takes 7 to 16 times the CPU time on 32 x 32 grids (Ising
  couplings of 0.2 and 0.4); for up to 32 draws both take about as long.
- Wide, any degree: one lane per float64; z_i = 1 if logit(u) < h_i for u of 52 bits. This is monotone
  whatever the rounding errors of the logit, and in spite of those of h_i, which adds terms >= 0 to b_i in a
  fixed order. Error of a probability: 2 ** -51 + (n + 2) 2 ** -55 (|b| + sum |w|) for n neighbours.

Not implemented: bounding chains for fields that are not attractive, read-once coupling.
"""

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.simulation.dense_gibbs import BLOCK, add_neighbors
from pymc_mrf.kernels.word_vectors import N_WORDS, any_set, load, splat, store

PACKED_DEGREE = 8
WIDE_LANES = BLOCK // 2
"""Lanes moved together by the wide kernel."""

BITS = 31
ZERO, ALL = np.uint64(0), np.uint64(0xFFFFFFFFFFFFFFFF)
GAMMA = np.uint64(0x9E3779B97F4A7C15)
MIX1, MIX2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@jit
def word_at(seed, counter):
    """Word `counter` of the SplitMix64 sequence that starts at `seed`; both uint64."""
    w = seed + counter * GAMMA
    w = (w ^ (w >> np.uint64(30))) * MIX1
    w = (w ^ (w >> np.uint64(27))) * MIX2
    return w ^ (w >> np.uint64(31))


@jit
def conditional_thresholds(weight, bias, graph):
    """P(z_i = 1 | neighbours) in units of 2 ** -31.

    Returns `thresholds` (n,) uint32 and `places` (d + 1,): those of node i start at
    ``places[i]``, and entry sum_k z_k 2 ** k belongs to the states z of its neighbours in the order of
    the graph. A threshold is at least those of the configurations below it. Weights must be >= 0.
    """
    n_nodes = len(bias)
    places = np.zeros(n_nodes + 1, dtype=np.int64)
    for i in range(n_nodes):
        places[i + 1] = places[i] + (1 << (graph.indptr[i + 1] - graph.indptr[i]))
    thresholds = np.empty(places[-1], dtype=np.uint32)
    for i in range(n_nodes):
        start, degree = graph.indptr[i], graph.indptr[i + 1] - graph.indptr[i]
        own = thresholds[places[i] : places[i + 1]]
        for cell in range(1 << degree):
            h = bias[i]
            for k in range(degree):
                if (cell >> k) & 1:
                    h += weight[graph.edge_ids[start + k]]
            own[cell] = np.uint32(np.rint(2.0**BITS / (1.0 + np.exp(-h))))
            for k in range(degree):
                if (cell >> k) & 1:
                    own[cell] = max(own[cell], own[cell ^ (1 << k)])
    return thresholds, places


@jit
def cells_by_bit(thresholds, places):
    """Which configurations of node i have a one at each bit of their threshold.

    Returns `counts` (d, BITS + 1), how many they are, and `ones` (BITS + 1, n) uint8, where those of node i
    and bit b are ``ones[b, places[i] :][: counts[i, b]]``.
    """
    counts = np.zeros((len(places) - 1, BITS + 1), dtype=np.int64)
    ones = np.zeros((BITS + 1, len(thresholds)), dtype=np.uint8)
    for bit in range(BITS + 1):
        for i in range(len(places) - 1):
            for place in range(places[i], places[i + 1]):
                if (thresholds[place] >> np.uint32(bit)) & np.uint32(1):
                    ones[bit, places[i] + counts[i, bit]] = place - places[i]
                    counts[i, bit] += 1
    return counts, ones


@jit
def split_lanes(masks, flat, place, neighbors, start, stop):
    """Which lanes see which configuration, for the chain whose node k is at ``flat[k * 2 W + place]``.

    `masks` (2 ** degree * W,) uint64: W words for each configuration of the `neighbors` (2 r,).
    """
    store(masks, 0, splat(ALL))
    cells = 1
    for k in range(start, stop):
        z_k = load(flat, neighbors[k] * 2 * N_WORDS + place)
        for cell in range(cells):
            both = load(masks, cell * N_WORDS)
            store(masks, (cells + cell) * N_WORDS, both & z_k)
            store(masks, cell * N_WORDS, both & ~z_k)
        cells *= 2


@jit
def run_packed(z, places, counts, ones, graph, horizon, seed, first):
    """Move both chains from time -horizon to time 0: `z` (d, 2 W) uint64, W = N_WORDS.

    The first W words of a row are the chain from all zeros, the others that from all ones. Bit `bit` of
    the random numbers of node i in the sweep that ends at time -t is word number
    first + ((t d + i) BITS + bit) W + w, for word w of both chains.
    """
    n_nodes, width = len(z), np.max(np.diff(places))
    z[:, :N_WORDS] = ZERO
    z[:, N_WORDS:] = ALL
    flat = z.reshape(-1)
    masks_low, masks_high = np.empty(width * N_WORDS, np.uint64), np.empty(width * N_WORDS, np.uint64)
    words = np.empty(N_WORDS, dtype=np.uint64)
    for t in range(horizon - 1, -1, -1):
        for i in graph.order:
            split_lanes(masks_low, flat, 0, graph.neighbors, graph.indptr[i], graph.indptr[i + 1])
            split_lanes(masks_high, flat, N_WORDS, graph.neighbors, graph.indptr[i], graph.indptr[i + 1])
            below_low, below_high = splat(ZERO), splat(ZERO)
            open_low, open_high = splat(ALL), splat(ALL)
            r = splat(ZERO)  # at bit BITS: a threshold of 2 ** BITS is above every random number
            bit = BITS
            while True:
                t_low, t_high = splat(ZERO), splat(ZERO)
                for n in range(counts[i, bit]):
                    cell = np.int64(ones[bit, places[i] + n]) * N_WORDS
                    t_low = t_low | load(masks_low, cell)
                    t_high = t_high | load(masks_high, cell)
                below_low = below_low | (open_low & t_low & ~r)
                below_high = below_high | (open_high & t_high & ~r)
                open_low = open_low & ~(t_low ^ r)
                open_high = open_high & ~(t_high ^ r)
                if bit == 0 or not any_set(open_low | open_high):
                    break
                bit -= 1
                counter = first + np.uint64(((t * n_nodes + i) * BITS + bit) * N_WORDS)
                for w in range(N_WORDS):
                    words[w] = word_at(seed, counter + np.uint64(w))
                r = load(words, 0)
            store(flat, i * 2 * N_WORDS, below_low)
            store(flat, i * 2 * N_WORDS + N_WORDS, below_high)


@jit
def run_wide(z, weight, bias, graph, horizon, seed, first):
    """Do as `run_packed` for `z` (d, BLOCK) float64, W = BLOCK // 2 lanes: word first + (t d + i) W + c."""
    n_nodes = len(z)
    z[:, :WIDE_LANES] = 0.0
    z[:, WIDE_LANES:] = 1.0
    near_weight = weight[graph.edge_ids]
    h, logit = np.empty(BLOCK), np.empty(BLOCK)
    for t in range(horizon - 1, -1, -1):
        for i in graph.order:
            h[:] = bias[i]
            add_neighbors(h, z, near_weight, graph.neighbors, graph.indptr[i], graph.indptr[i + 1])
            counter = first + np.uint64((t * n_nodes + i) * WIDE_LANES)
            for c in range(WIDE_LANES):
                word = word_at(seed, counter + np.uint64(c))
                u = (np.float64(np.int64(word >> np.uint64(12))) + 0.5) * 2.0**-52  # in (0, 1)
                logit[c] = np.log(u / (1.0 - u))
                logit[c + WIDE_LANES] = logit[c]
            z_i = z[i]
            for c in range(BLOCK):
                z_i[c] = 1.0 if logit[c] < h[c] else 0.0


@jit
def coalesced(z):
    """Whether both chains of `z` (d, 2 W) agree in every lane."""
    half = z.shape[1] // 2
    for i in range(len(z)):
        for w in range(half):
            if z[i, w] != z[i, w + half]:
                return False
    return True


@jit
def perfect_draws_packed(x, weight, bias, graph, max_sweeps, seed):
    """Fill `x` (n, d) int8 with exact draws of an attractive field of degrees <= `PACKED_DEGREE`.

    `weight` (r,) >= 0, `bias` (d,): its {0, 1} Boltzmann form; `seed` uint64. Returns how many rows
    were filled: n, or fewer when a row needs more than `max_sweeps` sweeps.
    """
    n, n_nodes = x.shape
    lanes = 64 * N_WORDS
    thresholds, places = conditional_thresholds(weight, bias, graph)
    counts, ones = cells_by_bit(thresholds, places)
    z = np.empty((n_nodes, 2 * N_WORDS), dtype=np.uint64)
    for row in range(0, n, lanes):
        # blocks of rows use disjoint stretches of the sequence
        first = np.uint64(row // lanes) * np.uint64(max_sweeps * n_nodes * BITS * N_WORDS)
        horizon = 1
        run_packed(z, places, counts, ones, graph, horizon, seed, first)
        while not coalesced(z):
            if horizon == max_sweeps:
                return row
            horizon = min(2 * horizon, max_sweeps)
            run_packed(z, places, counts, ones, graph, horizon, seed, first)
        for c in range(min(lanes, n - row)):
            for i in range(n_nodes):
                x[row + c, i] = np.int8((z[i, c // 64] >> np.uint64(c % 64)) & np.uint64(1))
    return n


@jit
def perfect_draws_wide(x, weight, bias, graph, max_sweeps, seed):
    """Do as `perfect_draws_packed`, into `x` (m, d), for any degree."""
    n, n_nodes = x.shape
    z = np.empty((n_nodes, BLOCK))
    for row in range(0, n, WIDE_LANES):
        first = np.uint64(row // WIDE_LANES) * np.uint64(max_sweeps * n_nodes * WIDE_LANES)
        horizon = 1
        run_wide(z, weight, bias, graph, horizon, seed, first)
        while not coalesced(z):
            if horizon == max_sweeps:
                return row
            horizon = min(2 * horizon, max_sweeps)
            run_wide(z, weight, bias, graph, horizon, seed, first)
        for c in range(min(WIDE_LANES, n - row)):
            for i in range(n_nodes):
                x[row + c, i] = np.int8(z[i, c])
    return n
