"""Moves of weights and diagonals of precisions under their prior, within the cone of positive definite ones.

Candidates are drawn from the prior, one for each entry of a vector of weights, zeros included, and for each
of a diagonal. The next one takes the place of the present value where all precisions stay positive definite.
That is the acceptance step of Metropolis & Hastings for a proposal from the prior, which leaves the prior,
cut to the cone, invariant.

Of all precisions `K` and `S` (B, m, m) are the matrices and their inverses, of one they are (m, m);
`L` (m, m) is scratch.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit, lean
from pymc_mrf.kernels.gaussian import ILL, add_rank_two, factorise, invert_factorised, rank_two


class ConeTerms(NamedTuple):
    """What entries of vectors are in B precisions (m, m), in different ones for one entry.

    `first` (r + 1,) int64: ConeTerms first[e] to first[e + 1] are those of entry e. `block`, `u` and `v`
    (T,) int64: precision, row and column; of a diagonal u = v. `factor` (T,): by which the entry is
    multiplied.
    """

    first: np.ndarray
    block: np.ndarray
    u: np.ndarray
    v: np.ndarray
    factor: np.ndarray


@lean
def fill_inverse(K, S, L):
    """Fill `S` (m, m) with the inverse of `K`; `L` is scratch. Return log det K, NaN if it has none."""
    for i in range(K.shape[0]):
        for j in range(i + 1):
            L[i, j] = K[i, j]
    log_det = factorise(L)
    if np.isfinite(log_det):
        invert_factorised(L, S)
    return log_det


@lean
def limits(e, x, terms, S):
    """Lowest and highest value of entry e, now `x`, with which all precisions are positive definite.

    At a distance y of a weight from the present one these are those between 1 / (S_uv - s) and
    1 / (S_uv + s), s^2 = S_uu S_vv, the determinant being quadratic in y; diagonals have a lower end only.
    """
    low, high = -np.inf, np.inf
    for t in range(terms.first[e], terms.first[e + 1]):
        k, u, v, f = terms.block[t], terms.u[t], terms.v[t], terms.factor[t]
        if u == v:
            low = max(low, x - 1.0 / (f * S[k, u, u]))
            continue
        root = np.sqrt(S[k, u, u] * S[k, v, v])
        one, other = x + 1.0 / (f * (S[k, u, v] - root)), x + 1.0 / (f * (S[k, u, v] + root))
        low, high = max(low, min(one, other)), min(high, max(one, other))
    return low, high


@lean
def move(e, y, terms, K, S, L):
    """Move entry e by `y`: `K` and `S` follow."""
    for t in range(terms.first[e], terms.first[e + 1]):
        k, u, v, change = terms.block[t], terms.u[t], terms.v[t], terms.factor[t] * y
        if u == v:
            K[k, u, u] += change
            f = 1.0 + change * S[k, u, u]
            own, both, other = -change / f, 0.0, 0.0
        else:
            K[k, u, v] -= change
            K[k, v, u] -= change
            own, both, other, f = rank_two(S[k], u, v, change)
        if f < ILL:
            fill_inverse(K[k], S[k], L)
        else:
            add_rank_two(S[k], u, v, own, both, other, L)


@jit
def walk(K, S, L, weights, w, of_weights, diagonals, b, of_diagonals, low, high):
    """Sweep over all entries, once for each row of candidates.

    `K`, `S` and `L` (B, m, m), (B, m, m) and (m, m), m at least 2: the precisions, room for their
    inverses, and scratch. `weights` and `diagonals` (ConeTerms). `w` and `b` (r,) and (q,): present
    values. `of_weights` and `of_diagonals` (n, r) and (n, q): candidates. `low` and `high` (r,): filled
    with the limits of the weights, each given all else, that the last sweep has seen. Returns bool:
    whether the precisions were positive definite to begin with; nothing has moved if not.
    """
    for i in range(of_weights.shape[0]):
        for k in range(K.shape[0]):
            if not np.isfinite(fill_inverse(K[k], S[k], L)):
                return False
        for e in range(w.shape[0]):
            low[e], high[e] = limits(e, w[e], weights, S)
            new = of_weights[i, e]
            if new != w[e] and low[e] < new < high[e]:
                move(e, new - w[e], weights, K, S, L)
                w[e] = new
        for e in range(b.shape[0]):
            new = of_diagonals[i, e]
            if new > limits(e, b[e], diagonals, S)[0]:
                move(e, new - b[e], diagonals, K, S, L)
                b[e] = new
    return True
