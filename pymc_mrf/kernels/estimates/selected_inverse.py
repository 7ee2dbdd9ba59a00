"""Inverse of a sparse matrix, where its Cholesky factor has entries: Takahashi, Fagan & Chen (1973)."""

import numpy as np

from pymc_mrf.kernels._jit import jit


@jit
def selected_inverse(indptr, rows, lower, pivots, inverse):
    """Compute the entries of (L D L')^-1 in the pattern of L, last column first.

    Parameters
    ----------
    indptr : (n + 1,) int array
        Column j of L has the entries ``indptr[j] : indptr[j + 1]``, the diagonal first.
    rows : (m,) int array
        Ascending within a column. If column j has entries in rows i < k, column i has one in row k.
    lower : (m,) array
        Entries of L, ones on the diagonal.
    pivots : (n,) array
        Diagonal of D.
    inverse : (m,) array
        Overwritten.
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
