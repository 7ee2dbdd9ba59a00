"""Missing cells of mixed fields, row by row.

The missing answers of a row are drawn in turn with its missing measurements integrated out, then these at
once. With V the missing and O the known measurements, h = B z and y the deviations, log weights of the
answers are those of `pymc_mrf.kernels.mixed` with y_O' B_O z + (h_V - K_VO y_O)' K_VV^-1 (h_V - K_VO y_O) / 2
in place of the terms of all measurements.
"""

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.gaussian import draw_centred, factorise, invert_factorised
from pymc_mrf.kernels.mixed import (
    fill_answer_weights,
    fill_covariance,
    fill_precision_of,
    redraw_answer,
)


@jit
def redraw_missing(layout, w, b, diagonal, states, y, free_states, free_y, n_sweeps, rng):
    """Draw the missing cells of every row given the others, in place; answers by `n_sweeps` Gibbs sweeps.

    At weights `w` (P,), biases `b` (a K,) and `diagonal` (c,): `states` (n, a) int8, deviations `y` (n, c),
    and which of them are missing, `free_states` (n, a) and `free_y` (n, c) bool.
    """
    n, a, c = states.shape[0], states.shape[1], layout.n_measured
    Q, F = layout.owner.shape[0], layout.features
    S, L, K = np.empty((c, c)), np.empty((c, c)), np.empty((c, c))
    A, B, E = np.empty((Q, Q)), np.empty((c, Q)), np.empty((Q, Q))
    fill_covariance(layout, w, diagonal, S, L)
    fill_answer_weights(layout, w, S, A, B, E)
    fill_precision_of(layout, w, diagonal, K)
    block, inverse = np.empty((c, c)), np.empty((c, c))
    z, known, mean, draw, scores = (
        np.empty(Q),
        np.empty(Q),
        np.empty(c),
        np.empty(c),
        np.empty(F.shape[1]),
    )
    for r in range(n):
        missing = np.flatnonzero(free_y[r])
        V = missing.shape[0]
        own, inner = block[:V, :V], inverse[:V, :V]
        for i in range(V):
            for j in range(V):
                own[i, j] = K[missing[i], missing[j]]
        factorise(own)
        invert_factorised(own, inner)
        for i in range(V):  # -K_VO y_O
            mean[i] = 0.0
            for j in range(c):
                if not free_y[r, j]:
                    mean[i] -= K[missing[i], j] * y[r, j]
        for p in range(Q):  # what known measurements, and missing ones by them, say of a feature
            z[p], known[p] = F[p, states[r, layout.owner[p]]], 0.0
            for j in range(c):
                if not free_y[r, j]:
                    known[p] += B[j, p] * y[r, j]
            for i in range(V):
                for j in range(V):
                    known[p] += B[missing[i], p] * inner[i, j] * mean[j]
        for p in range(Q):
            for q in range(p + 1):
                value = A[p, q]
                for i in range(V):
                    for j in range(V):
                        value += B[missing[i], p] * inner[i, j] * B[missing[j], q]
                E[p, q] = value
                E[q, p] = value
        for _ in range(n_sweeps):
            for i in range(a):
                if free_states[r, i]:
                    states[r, i] = redraw_answer(layout, i, E, b, known, z, scores, rng)
        for i in range(V):
            for p in range(Q):
                mean[i] += B[missing[i], p] * z[p]
        for i in range(V):
            for j in range(V):
                own[i, j] = K[missing[i], missing[j]]
        factorise(own)
        draw_centred(own, draw[:V], rng)
        for i in range(V):
            y[r, missing[i]] = draw[i]
            for j in range(V):
                y[r, missing[i]] += inner[i, j] * mean[j]
