"""Rows of data that are equal, counted."""

from typing import NamedTuple

import numpy as np

LARGEST_KEY = 2**62


class DistinctRows(NamedTuple):
    """Rows of a matrix (n, d), each once.

    Attributes
    ----------
    rows : (m, d) array
        In lexicographic order; of the type of the matrix.
    counts : (m,) float array
        How often each occurs.
    where : (n,) int array
        Which of them each row of the matrix is.
    """

    rows: np.ndarray
    counts: np.ndarray
    where: np.ndarray


def distinct_rows(x: np.ndarray) -> DistinctRows:
    """Count the rows of `x` (n, d), integers.

    A row is one number whose digits are its entries, which is much faster than `numpy.unique` along an axis.
    Where numbers would become too large, ranks take their place.
    """
    key, n_keys = np.zeros(len(x), dtype=np.int64), 1
    for column in x.T.astype(np.int64):
        low, base = int(column.min()), int(column.max()) - int(column.min()) + 1
        if n_keys * base > LARGEST_KEY:
            (key, n_keys), (column, base), low = _ranks(key), _ranks(column), 0
        key = key * base + (column - low)
        n_keys *= base
    _, first, where, counts = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    return DistinctRows(x.take(first, axis=0), counts.astype(np.float64), where)


def _ranks(values: np.ndarray) -> tuple[np.ndarray, int]:
    """Which of the different values each of them is, and how many these are."""
    different, rank = np.unique(values, return_inverse=True)
    return rank, len(different)
