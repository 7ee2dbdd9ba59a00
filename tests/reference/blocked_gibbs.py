"""Plain twins of the Gibbs kernels that are vectorised over chains, replaying their random words.

Words come from the same generators (`random_lanes`, tested elsewhere); conditionals are written from the
definition, in double precision.
"""

import math

import numpy as np

from pymc_mrf.kernels.random_lanes import LANES, STATE_SIZE, next_word, seed_lanes

BLOCK = 64


def random_bits(state):
    """32 random bits for each of the 64 chains of a block: halves of 32 words, low half first."""
    bits = []
    for _ in range(BLOCK // 2 // LANES):
        for j in range(LANES):
            word = int(next_word(state, j))
            bits += [word % 2**32, word // 2**32]
    return bits


def conditional(z, i, edges, edge_tables, node_tables):
    """P(z_i = a | rest) for every state a."""
    scores = [float(t) for t in node_tables[i]]
    for e, (u, v) in enumerate(edges):
        for a in range(len(scores)):
            if u == i:
                scores[a] += edge_tables[e][a][z[v]]
            elif v == i:
                scores[a] += edge_tables[e][z[u]][a]
    top = max(scores)
    p = [math.exp(s - top) for s in scores]
    return [q / sum(p) for q in p]


def draw_binary(p, bits):
    """The rarer state if the upper 31 of 32 bits, as a fraction, are below its probability."""
    rare = 1 if p[1] <= p[0] else 0
    return rare if bits // 2 < p[rare] * 2**31 else 1 - rare


def draw_from_31_bits(p, bits):
    """Smallest state whose cumulative probability is above the upper 31 of 32 bits."""
    u, total = (bits // 2) / 2**31, 0.0
    for a in range(len(p) - 1):
        total += p[a]
        if u < total:
            return a
    return len(p) - 1


def draw_from_24_bits(p, bits):
    """The same with the upper 24 bits."""
    return draw_from_31_bits(p, bits // 2**8 * 2**8)


def sweeps(x, edges, edge_tables, node_tables, order, n_sweeps, rng, draw):
    """States after `n_sweeps` sweeps from `x` (m, d); `draw(i)` is the rule of node i."""
    x = np.array(x)
    state = np.empty(STATE_SIZE, dtype=np.uint64)
    seed_lanes(state, rng)
    for first in range(0, len(x), BLOCK):
        for _ in range(n_sweeps):
            for i in order:
                bits = random_bits(state)
                for c, z in enumerate(x[first : first + BLOCK]):
                    z[i] = draw(i)(conditional(z, i, edges, edge_tables, node_tables), bits[c])
    return x
