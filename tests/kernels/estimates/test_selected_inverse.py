"""Selected entries of an inverse against the whole inverse."""

import numpy as np
from scipy.sparse import csc_array

from pymc_mrf.kernels.estimates.sparse_cholesky import selected_inverse


def test_entries_in_the_pattern_of_the_factor(rng):
    # a random factor whose pattern is closed: each column passes its rows on to the next in it
    n = 12
    pattern = rng.random((n, n)) < 0.25
    pattern = np.tril(pattern, -1)
    for j in range(n):
        rows = np.flatnonzero(pattern[:, j])
        if len(rows):
            pattern[rows[1:], rows[0]] = True
    lower = np.where(pattern, rng.normal(size=(n, n)), 0.0) + np.eye(n)
    pivots = rng.uniform(0.5, 2.0, n)
    factor = csc_array(lower)
    factor.sort_indices()
    found = np.empty(factor.nnz)
    selected_inverse(factor.indptr, factor.indices, factor.data, pivots, found)
    inverse = np.linalg.inv(lower @ np.diag(pivots) @ lower.T)
    columns = np.repeat(np.arange(n), np.diff(factor.indptr))
    np.testing.assert_allclose(found, inverse[factor.indices, columns], atol=1e-9)
    assert n < factor.nnz < n * (n + 1) // 2  # neither diagonal nor full
