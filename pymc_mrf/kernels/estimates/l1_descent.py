"""Coordinate descent for L1-penalised logistic regressions of all nodes on one another.

Friedman, Hastie & Tibshirani (2010), for the pseudo-likelihood as in Höfling & Tibshirani (2009): minimise

    quadratic model of - lpl / n  +  ridge / 2 * sum_i b_i^2  +  sum_a penalty_a |w_a|

Coordinate a with ends (i, j) is the weight of node j in the regression of node i and, if `symmetric`, also
that of i in the regression of j. Logits are c (beta_i + sum_j w_ij Z_j), b_i = beta_i - sum_j w_ij m_j.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit


class Regressions(NamedTuple):
    """Quadratic model of the logistic regressions of all nodes.

    `ends` (k, 2) int64: node regressed, predictor. `symmetric`: whether a coordinate is a weight in both
    directions. `Z` (d, n): centred values. `m` (d,): what was subtracted. `V` and `r` (d, n): weights of
    the rows, p (1 - p) > 0; residuals at the present parameters, changed in place.
    """

    ends: np.ndarray
    symmetric: bool
    Z: np.ndarray
    m: np.ndarray
    c: float
    ridge: float
    V: np.ndarray
    r: np.ndarray


@jit
def score_and_curvature(r, V, Z, c, n):
    """First and second derivative of the quadratic model by the weight of a predictor; `r`, `V`, `Z` (n,)."""
    g, h = 0.0, 0.0
    for k in range(n):
        g += r[k] * Z[k]
        h += V[k] * Z[k] * Z[k]
    return c * g / n, c * c * h / n


@jit
def shift_residuals(r, V, Z, by, n):
    """Residuals of the quadratic model after the logits have moved by `by` Z; `r`, `V`, `Z` (n,)."""
    for k in range(n):
        r[k] -= by * V[k] * Z[k]


@jit
def soft_threshold(x, by):
    if x > by:
        return x - by
    if x < -by:
        return x + by
    return 0.0


@jit
def descend(model, active, penalty, w, beta, b, tolerance, n_passes):
    """Move all biases and the active coordinates in turn until no step matters.

    `model` (Regressions). `active` (a,) int64: coordinates that may move. `penalty` (k,): of every
    coordinate. `w`, `beta` and `b` (k,), (d,), (d,): changed in place. `tolerance`: largest change of a
    derivative that is no step any more.
    """
    ends, symmetric, Z, m, c, ridge, V, r = model
    d, n = Z.shape
    for _ in range(n_passes):
        largest = 0.0
        for i in range(d):
            g, h = 0.0, 0.0
            for k in range(n):
                g += r[i, k]
                h += V[i, k]
            g, h = c * g / n - ridge * b[i], c * c * h / n + ridge
            step = g / h
            beta[i] += step
            b[i] += step
            for k in range(n):
                r[i, k] -= c * step * V[i, k]
            largest = max(largest, abs(g))
        for a in active:
            i, j = ends[a, 0], ends[a, 1]
            g, h = score_and_curvature(r[i], V[i], Z[j], c, n)
            g += ridge * b[i] * m[j]
            h += ridge * m[j] * m[j]
            if symmetric:
                g_j, h_j = score_and_curvature(r[j], V[j], Z[i], c, n)
                g += g_j + ridge * b[j] * m[i]
                h += h_j + ridge * m[i] * m[i]
            step = soft_threshold(w[a] + g / h, penalty[a] / h) - w[a]
            if step == 0.0:
                continue
            w[a] += step
            b[i] -= step * m[j]
            shift_residuals(r[i], V[i], Z[j], c * step, n)
            if symmetric:
                b[j] -= step * m[i]
                shift_residuals(r[j], V[j], Z[i], c * step, n)
            largest = max(largest, abs(step) * h)
        if largest < tolerance:
            return
