"""Cholesky factor of a sparse matrix in a pattern that is known beforehand, and its inverse there.

The inverse is computed where the factor has entries: Takahashi, Fagan & Chen (1973).
"""

import numpy as np

from pymc_mrf.kernels._jit import jit


@jit
def factorise_sparse(indptr, rows, values, lower, pivots):
    """Factorise a symmetric matrix as L D L'; return the log of its determinant.

    NaN if the matrix is not positive definite, `lower` and `pivots` then having no meaning.

    `indptr` and `rows` (n + 1,), (m,) int: pattern of L, as of `selected_inverse`. `values` (m,):
    entries of the matrix, on its diagonal and below, zeros where only L has some. `lower` and `pivots`
    (m,), (n,): overwritten: entries of L, and the diagonal of D.
    """
    n, log_det = pivots.shape[0], 0.0
    column = np.zeros(n)  # the present column
    # columns k to the left with an entry in row j, `at[k]`, are a list: head[j], following[head[j]], ...
    head, following, at = np.full(n, -1), np.full(n, -1), np.zeros(n, dtype=np.int64)
    for j in range(n):
        first, last = indptr[j], indptr[j + 1]
        for p in range(first, last):
            column[rows[p]] = values[p]
        k = head[j]
        while k >= 0:
            after, q = following[k], at[k]
            factor = lower[q] * pivots[k]
            for p in range(q, indptr[k + 1]):
                column[rows[p]] -= factor * lower[p]
            if q + 1 < indptr[k + 1]:
                at[k], following[k] = q + 1, head[rows[q + 1]]
                head[rows[q + 1]] = k
            k = after
        pivot = column[j]
        if not pivot > 0.0:
            return np.nan
        log_det += np.log(pivot)
        pivots[j], lower[first] = pivot, 1.0
        for p in range(first + 1, last):
            lower[p] = column[rows[p]] / pivot
        if first + 1 < last:
            at[j], following[j] = first + 1, head[rows[first + 1]]
            head[rows[first + 1]] = j
    return log_det


@jit
def log_determinant_and_slopes(indptr, rows, place, entries, slopes):
    """Log of the determinant of a sparse symmetric matrix, and its slopes by the entries.

    NaN if the matrix is not positive definite, and slopes 0.

    `indptr` and `rows` (n + 1,), (m,) int: pattern of the factor, as of `selected_inverse`. `place` (N,)
    int: where in this pattern each entry is. `entries` (N,): of the matrix, those on the diagonal and
    below. `slopes` (N,): overwritten: entries of the inverse, twice those off the diagonal, each being
    two of the matrix.
    """
    m, n = rows.shape[0], indptr.shape[0] - 1
    values, lower, pivots, inverse = np.zeros(m), np.empty(m), np.empty(n), np.empty(m)
    for k in range(place.shape[0]):
        values[place[k]] = entries[k]
    log_det = factorise_sparse(indptr, rows, values, lower, pivots)
    slopes[:] = 0.0
    if np.isnan(log_det):
        return log_det
    selected_inverse(indptr, rows, lower, pivots, inverse)
    for k in range(place.shape[0]):
        slopes[k] = 2.0 * inverse[place[k]]
    for k in range(n):
        slopes[k] *= 0.5
    return log_det


@jit
def selected_inverse(indptr, rows, lower, pivots, inverse):
    """Compute the entries of (L D L')^-1 in the pattern of L, last column first.

    `indptr` (n + 1,) int: column j of L has the entries ``indptr[j] : indptr[j + 1]``, the diagonal
    first. `rows` (m,) int: ascending within a column. If column j has entries in rows i < k, column i
    has one in row k. `lower` (m,): entries of L, ones on the diagonal. `pivots` (n,): diagonal of D.
    `inverse` (m,): overwritten.
    """
    n = pivots.shape[0]
    total = np.zeros(n)
    factor = np.zeros(n)  # column j of L, zero outside its pattern, where all other sums are not needed
    for j in range(n - 1, -1, -1):
        first, last = indptr[j] + 1, indptr[j + 1]
        for p in range(first, last):
            factor[rows[p]] = lower[p]
            total[rows[p]] = 0.0
        for p in range(first, last):
            k = rows[p]
            total[k] += lower[p] * inverse[indptr[k]]
            for q in range(indptr[k] + 1, indptr[k + 1]):
                i = rows[q]
                if factor[i] != 0.0:
                    total[i] += lower[p] * inverse[q]
                    total[k] += factor[i] * inverse[q]
        here = 1.0 / pivots[j]
        for p in range(first, last):
            inverse[p] = -total[rows[p]]
            here -= lower[p] * inverse[p]
            factor[rows[p]] = 0.0
        inverse[first - 1] = here
