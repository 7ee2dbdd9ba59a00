"""Probabilities of all 2^d configurations of a small binary field, and what follows from them.

Bit i of a configuration's number is the state index of node i; `P` (2^d,) are the probabilities. For
candidate graphs that connect almost all pairs the junction tree is one clique of this size anyway; without
its bookkeeping, and in probabilities rather than logs, every operation is a few passes over contiguous runs.
"""

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.vector_sums import total

SMALLEST = 1e-300  # probabilities of pairs are kept above it


@jit
def pair_probabilities(P, u, v, out):
    """Log probabilities `out` (4,) of the states (0, 0), (0, 1), (1, 0), (1, 1) of nodes u and v."""
    a, c = 1 << min(u, v), 1 << max(u, v)
    p00, p01, p10, p11 = 0.0, 0.0, 0.0, 0.0
    for high in range(0, P.shape[0], 2 * c):
        for middle in range(high, high + c, 2 * a):
            for k in range(middle, middle + a):
                p00 += P[k]
                p01 += P[k + a]
                p10 += P[k + c]
                p11 += P[k + a + c]
    if u < v:  # the first state is that of u
        p01, p10 = p10, p01
    out[0] = np.log(max(p00, SMALLEST))
    out[1] = np.log(max(p01, SMALLEST))
    out[2] = np.log(max(p10, SMALLEST))
    out[3] = np.log(max(p11, SMALLEST))


@jit
def multiply_pair(P, u, v, f00, f01, f10, f11):
    """Multiply all probabilities by the factor of the states of nodes u and v."""
    a, c = 1 << min(u, v), 1 << max(u, v)
    if u < v:
        f01, f10 = f10, f01
    for high in range(0, P.shape[0], 2 * c):
        for middle in range(high, high + c, 2 * a):
            for k in range(middle, middle + a):
                P[k] *= f00
                P[k + a] *= f01
                P[k + c] *= f10
                P[k + a + c] *= f11


@jit
def second_moments(P, moments, Q):
    """P(t_u = t_v = 1) into `moments` (d, d), u <= v, by folding; `P` and `Q` (2^d,) are overwritten."""
    d = moments.shape[0]
    for v in range(d - 1, -1, -1):
        half = 1 << v
        for k in range(half):
            Q[k] = P[half + k]
            P[k] += P[half + k]
        for u in range(v - 1, -1, -1):
            quarter = 1 << u
            if quarter >= 8:
                moments[u, v] = total(Q[quarter : 2 * quarter])
            else:
                moments[u, v] = 0.0
                for k in range(quarter, 2 * quarter):
                    moments[u, v] += Q[k]
            for k in range(quarter):
                Q[k] += Q[quarter + k]
        moments[v, v] = Q[0]


@jit
def fill_marginals(edges, moments, marginals):
    """Marginal tables of all edges, then of all nodes, one after the other, from `second_moments`.

    They go to `marginals` (4 r + 2 d,), from `edges` (r, 2) and `moments` (d, d).
    """
    r, d = edges.shape[0], moments.shape[0]
    for e in range(r):
        u, v = edges[e, 0], edges[e, 1]
        p11 = moments[min(u, v), max(u, v)]
        p10, p01 = moments[u, u] - p11, moments[v, v] - p11
        marginals[4 * e] = 1.0 - p11 - p10 - p01
        marginals[4 * e + 1] = p01
        marginals[4 * e + 2] = p10
        marginals[4 * e + 3] = p11
    for i in range(d):
        marginals[4 * r + 2 * i] = 1.0 - moments[i, i]
        marginals[4 * r + 2 * i + 1] = moments[i, i]
