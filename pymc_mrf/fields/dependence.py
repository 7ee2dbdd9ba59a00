"""Columns of a table that are linearly dependent, such as a total beside its items."""

from collections.abc import Sequence
from typing import Any

import numpy as np

LEFT = 1e-4
"""Share of its variance that others may leave of a column that depends on them, as where it is rounded."""

EXACT = 1e-10  # of the same where there are few rows, of which any number of columns leave little
MORE_ROWS = (
    5  # than columns, from which `LEFT` is no chance: it happens in about one of a million columns
)
MEMBER = 0.02  # standardised coefficient beyond which a column is one of those on which another depends


def dependent_columns(values: np.ndarray, is_missing: np.ndarray, names: Sequence) -> list[list[Any]]:
    """Find sets of columns (n, d) of which one is a linear function of the others, up to rounding.

    Told from the complete rows; where there are no more than columns, nothing is.

    Parameters
    ----------
    values : (n, d) array
        Finite where not missing.
    is_missing : (n, d) bool array
    names : sequence of d
        Of the columns.

    Returns
    -------
    list of lists of names
        The column that depends on the others of its set comes last, and is in no other set.
    """
    complete = values[~is_missing.any(axis=1)]
    n, d = complete.shape
    if d < 2 or n <= max(2, d):
        return []
    deviations = complete - complete.mean(axis=0)
    scale = np.abs(deviations).max(axis=0)  # squares of columns in units of 1e-200 would vanish
    varies = np.flatnonzero(scale > 0.0)
    z = deviations[:, varies] / scale[varies]
    z /= np.sqrt((z**2).sum(axis=0))
    least = LEFT if n > d + MORE_ROWS else EXACT
    C = z.T @ z
    if not len(varies) or np.linalg.eigvalsh(C)[0] > least:  # no column has less left
        return []
    found, basis = [], np.zeros(0, dtype=np.int64)
    for j in range(len(varies)):
        slopes = np.linalg.solve(C[np.ix_(basis, basis)], C[basis, j])
        left = z[:, j] - z[:, basis] @ slopes
        if left @ left > least:
            basis = np.append(basis, j)
            continue
        members = [*basis[np.abs(slopes) > MEMBER].tolist(), j]
        found.append([names[varies[k]] for k in members])
    return found


def told_of(dependent: list[list[Any]]) -> str:
    """Say which sets of `dependent_columns` there are."""
    sets = [
        f"{c[-1]} is a multiple of {c[0]}, up to a constant"
        if len(c) == 2
        else f"{c[-1]} is a sum of multiples of {_listed(c[:-1])}, up to a constant"
        for c in dependent[:3]
    ]
    more = f"; {len(dependent) - 3} more are such sums" if len(dependent) > 3 else ""
    return "; ".join(sets) + more


def _listed(names: list) -> str:
    """Name up to eight of some."""
    if len(names) > 8:
        return f"{', '.join(map(str, names[:8]))} and {len(names) - 8} more"
    return f"{', '.join(map(str, names[:-1]))} and {names[-1]}"
