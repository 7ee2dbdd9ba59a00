"""xoshiro256++ and threshold Gibbs sampling in plain Python, chain by chain, from the definitions."""

from decimal import Decimal, getcontext

import numpy as np

getcontext().prec = 60
MASK = 2**64 - 1


def xoshiro(state):
    """Blackman & Vigna (2021), figure 1 and table of xoshiro256++: advance the list, return 64 bits."""

    def rotl(x, k):
        return ((x << k) | (x >> (64 - k))) & MASK

    result = (rotl((state[0] + state[3]) & MASK, 23) + state[0]) & MASK
    t = (state[1] << 17) & MASK
    state[2] ^= state[0]
    state[3] ^= state[1]
    state[1] ^= state[2]
    state[0] ^= state[3]
    state[2] ^= t
    state[3] = rotl(state[3], 45)
    return result


def probability(i, configuration, edges, edge_tables, node_tables):
    """P(z_i = 1 | the rest of the configuration), in 60 digits; finite tables."""
    score = [Decimal(float(node_tables[i][a])) for a in range(2)]
    for e, (u, v) in enumerate(edges):
        for a in range(2):
            if u == i:
                score[a] += Decimal(float(edge_tables[e][a][configuration[v]]))
            elif v == i:
                score[a] += Decimal(float(edge_tables[e][configuration[u]][a]))
    return 1 / (1 + (score[0] - score[1]).exp())


def sweep(x, edges, order, edge_tables, node_tables, lanes, known):
    """One sweep of 512 chains `x` (512, d): z_i = [R < T], R read from the lanes plane by plane.

    `lanes` holds the states of eight generators; `known` keeps thresholds between calls. Returns the
    largest number of planes that a draw needed.
    """
    most = 0
    for i in order:
        near = sorted({v for e in edges for v in e if i in e and v != i})
        T = []
        for row in x.tolist():
            key = (i, *[row[v] for v in near])
            if key not in known:
                p = probability(i, row, edges, edge_tables, node_tables)
                known[key] = int((p * 2**64).to_integral_value())
            T.append(known[key])
        T = np.array(T, dtype=object)
        R = np.array([0] * len(x), dtype=object)
        n_planes = 0
        while np.any(R == T >> (64 - n_planes)):
            words = [xoshiro(lane) for lane in lanes]
            bits = [(word >> b) & 1 for word in words for b in range(64)]
            R = 2 * R + np.array(bits, dtype=object)
            n_planes += 1
        x[:, i] = T >> (64 - n_planes) > R
        most = max(most, n_planes)
    return most
