"""Dense symmetric matrices of Gaussian fields: precision, its triangular factor, inverse, and draws.

All arrays are float64 and as large as the field, (d, d) or (d,), but for edges (r, 2) and weights (r,).

One weight has limits within the cone of positive definite precisions, in a record `look` that begins with
`LIMITS`. An edge whose absence, given all others, would leave the cone is present for certain. Its ratios to
absence are infinite: in their place stands `ABSENT`, a number, so that ratios of two values of the edge are
as they are.
"""

import numpy as np

from pymc_mrf.kernels._jit import jit, lean

ILL = 1e-4
"""Changes of the determinant by a smaller factor call for the inverse anew."""


@lean
def fill_precision(edges, w, diagonal, K):
    """Fill the precision `K` (d, d) of `edges` (r, 2): K_uv = -`w` (r,), K_uu = `diagonal` (d,)."""
    d = K.shape[0]
    for i in range(d):
        for j in range(d):
            K[i, j] = 0.0
        K[i, i] = diagonal[i]
    for e in range(w.shape[0]):
        u, v = edges[e, 0], edges[e, 1]
        K[u, v] -= w[e]
        K[v, u] -= w[e]


@lean
def factorise(K):
    """Overwrite the lower triangle of `K` (d, d) by L, L L' = K; return log det K, NaN if it has none."""
    value = 0.0
    for i in range(K.shape[0]):
        for j in range(i + 1):
            x = K[i, j]
            for k in range(j):
                x -= K[i, k] * K[j, k]
            if j < i:
                K[i, j] = x / K[j, j]
            elif x > 0.0:
                K[i, i] = np.sqrt(x)
                value += np.log(x)
            else:
                return np.nan
    return value


@lean
def invert_factorised(L, S):
    """Fill `S` (d, d) with the inverse of L L', from the lower triangle of `L` (d, d), which is lost."""
    d = L.shape[0]
    for j in range(d):  # L^-1, column by column
        L[j, j] = 1.0 / L[j, j]
        for i in range(j + 1, d):
            x = 0.0
            for k in range(j, i):
                x -= L[i, k] * L[k, j]
            L[i, j] = x / L[i, i]
    for i in range(d):
        for j in range(i + 1):
            x = 0.0
            for k in range(i, d):
                x += L[k, i] * L[k, j]
            S[i, j] = x
            S[j, i] = x


@lean
def multiply(A, B, out):
    """Fill `out` (d, d) with the product of `A` (d, d) and `B` (d, d)."""
    d = out.shape[0]
    for i in range(d):
        for j in range(d):
            out[i, j] = 0.0
        for k in range(d):
            by = A[i, k]
            for j in range(d):
                out[i, j] += by * B[k, j]


@lean
def rank_two(S, i, j, y):
    """Tell how the inverse `S` (d, d) of a precision K moves with weight ij by y (Woodbury's identity).

    Returns what it gains of S_i S_i', of S_i S_j' + S_j S_i' and of S_j S_j', and the factor of |K|.
    """
    f = (1.0 - y * S[i, j]) ** 2 - y * y * S[i, i] * S[j, j]
    return y * y * S[j, j] / f, y * (1.0 - y * S[i, j]) / f, y * y * S[i, i] / f, f


@lean
def add_rank_two(S, i, j, own_i, both, own_j, room):
    """Add to `S` (d, d) what `rank_two` says; `room` (2, d) or longer is scratch."""
    d = S.shape[0]
    for k in range(d):
        room[0, k], room[1, k] = S[k, i], S[k, j]
    for k in range(d):
        by_i = own_i * room[0, k] + both * room[1, k]
        by_j = both * room[0, k] + own_j * room[1, k]
        for l in range(d):
            S[k, l] += by_i * room[0, l] + by_j * room[1, l]


@lean
def draw_centred(L, x, rng):
    """Fill `x` (d,) with a normal draw of precision L L', from the lower triangle of `L` (d, d)."""
    d = L.shape[0]
    for i in range(d):
        x[i] = rng.standard_normal()
    for i in range(d - 1, -1, -1):  # L' x = z
        value = x[i]
        for k in range(i + 1, d):
            value -= L[k, i] * x[k]
        x[i] = value / L[i, i]


@lean
def fill_conditional_precision(K, which, x, block):
    """Fill `block` (m, m), the part of `K` (d, d) of the nodes `which` (m,), their precision given others.

    Into `x` (d,), deviations from the means, at `which`: what that precision makes of the conditional mean.
    """
    m = which.shape[0]
    for a in range(m):
        x[which[a]] = 0.0
    for a in range(m):
        for b in range(m):
            block[a, b] = K[which[a], which[b]]
    for a in range(m):
        value = 0.0
        for j in range(K.shape[0]):
            value -= K[which[a], j] * x[j]
        block[a, a] = value  # not yet in x, which others read
    for a in range(m):
        x[which[a]] = block[a, a]
        block[a, a] = K[which[a], which[a]]


@lean
def solve_factorised(L, which, x):
    """Solve L L' y = x at `which` (m,), in place, from the lower triangle of `L` (m, m); `x` (d,)."""
    for a in range(which.shape[0]):
        value = x[which[a]]
        for b in range(a):
            value -= L[a, b] * x[which[b]]
        x[which[a]] = value / L[a, a]
    solve_transposed(L, which, x)


@lean
def solve_transposed(L, which, x):
    """Solve L' y = x at `which` (m,), in place, from the lower triangle of `L` (m, m); `x` (d,)."""
    m = which.shape[0]
    for a in range(m - 1, -1, -1):
        value = x[which[a]]
        for b in range(a + 1, m):
            value -= L[b, a] * x[which[b]]
        x[which[a]] = value / L[a, a]


@jit
def draw_shift(edges, w, diagonal, n, score, precision, shift, rng):
    """Draw from the normal density of precision n K + diag(`precision` (d,)) and score at zero `score` (d,).

    Into `shift` (d,); K is that of `edges` (r, 2), weights `w` (r,) and `diagonal` (d,), and the score is
    precision times mean.
    """
    d = shift.shape[0]
    L, z, all_of_them = np.empty((d, d)), np.empty(d), np.arange(d)
    fill_precision(edges, w, diagonal, L)
    for i in range(d):
        for j in range(i + 1):
            L[i, j] *= n
        L[i, i] += precision[i]
        shift[i] = score[i]
    factorise(L)
    solve_factorised(L, all_of_them, shift)
    draw_centred(L, z, rng)
    for i in range(d):
        shift[i] += z[i]


@jit
def draw_missing(x, edges, w, diagonal, rng):
    """Draw the missing cells of every row of `x` (n, d), NaN, given the others; deviations from the means.

    Of `edges` (r, 2); weights `w` (m, r) and `diagonal` (m, d) are those of all rows, m = 1, or of each, m
    = n.
    """
    n, d = x.shape
    K, block, z = np.empty((d, d)), np.empty((d, d)), np.empty(d)
    for i in range(n):
        if i == 0 or w.shape[0] > 1 or diagonal.shape[0] > 1:
            fill_precision(edges, w[min(i, w.shape[0] - 1)], diagonal[min(i, diagonal.shape[0] - 1)], K)
        missing = np.flatnonzero(np.isnan(x[i]))
        own = block[: len(missing), : len(missing)]
        fill_conditional_precision(K, missing, x[i], own)
        factorise(own)
        solve_factorised(own, missing, x[i])  # the conditional mean
        for a in missing:
            z[a] = rng.standard_normal()
        solve_transposed(own, missing, z)
        for a in missing:
            x[i, a] += z[a]


ABSENT = -1e9
"""Log prior of absence outside the cone; two log ratios that it is part of differ right to some 1e-7."""

INNER = 0.95
"""Share of the way from the middle of the cone to its ends within which proposals follow the likelihood;
beyond they follow the parabola that touches it there."""

LIMITS = [("low", float), ("high", float), ("may_end", bool)]
"""Lowest and highest value within the cone, and whether the edge may be absent."""


@lean
def origin(look):
    """Return the value that those of the edge are relative to: absence if it may be absent."""
    return 0.0 if look.may_end else 0.5 * (look.low + look.high)


@lean
def brought_within(look, x):
    """Return the value next to `x` from the middle of the cone to `INNER` of the way to its ends."""
    middle, reach = 0.5 * (look.low + look.high), 0.5 * INNER * (look.high - look.low)
    return min(max(x, middle - reach), middle + reach)
