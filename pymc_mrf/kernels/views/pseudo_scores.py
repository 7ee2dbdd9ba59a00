"""Scores of many absent edges at once, for `PseudoView` of fields with many candidates.

The score of an edge at 0 is the product of the residuals of either end with the columns of the other. Those
of all edges between some nodes, the *panel*, and others are a product of matrices, made in single precision
before the edges of the panel are visited. An edge that changes changes the residuals of its ends alone, and
no score by more than the distance that they have moved times the norm of the column that they are multiplied
by (Cauchy and Schwarz). The bound so found is wide enough for rounding, so that what it settles would be
settled by a pass over the rows as well.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import by_type, lean, lean_summing

PANEL = 32  # nodes: the fewer, the fewer residuals have changed; the more, the quicker is the product


class Scores(NamedTuple):
    """Scores between the nodes of a panel and others, as they were when it was begun.

    Attributes
    ----------
    panel : (2,) int64 array
        First node and number of nodes; no node as long as scores are not known.
    own : (PANEL, D) float32 array
        Residuals of the nodes of the panel times columns of sources.
    back : (PANEL, d) float32 array
        Columns of the nodes of the panel times residuals.
    columns : (D, M N) float32 array
        Features of sources in the rows, less their means.
    residuals : (d, M N) float32 array
        Of the nodes, as they were.
    mean : (D, M) array
        Means of the features.
    norm : (D,) array
        Norms of the columns.
    size, moved : (d,) arrays
        Norms of the residuals, and of what has been added to them since.
    total : (d, M) array
        Sums of the residuals as they are.
    """

    panel: np.ndarray
    own: np.ndarray
    back: np.ndarray
    columns: np.ndarray
    residuals: np.ndarray
    mean: np.ndarray
    norm: np.ndarray
    size: np.ndarray
    moved: np.ndarray
    total: np.ndarray


class NoScores(NamedTuple):
    """Scores of fields of few candidates, which are not known: kernels that take these have less to read."""


def allocate_scores(d: int, D: int, M: int, N: int) -> Scores:
    """Room for d nodes and D sources of M features in N rows."""
    n, single = PANEL, np.float32
    return Scores(
        panel=np.zeros(2, dtype=np.int64),
        own=np.zeros((n, D), dtype=single),
        back=np.zeros((n, d), dtype=single),
        columns=np.zeros((D, M * N), dtype=single),
        residuals=np.zeros((d, M * N), dtype=single),
        mean=np.zeros((D, M)),
        norm=np.zeros(D),
        size=np.zeros(d),
        moved=np.zeros(d),
        total=np.zeros((d, M)),
    )


@lean
def rounding(scores):
    """Share of the product of both norms by which a score may be wrong, in single precision."""
    return 2.0**-23 * (scores.columns.shape[1] + 8)


@by_type
def follow(scores, i, R):
    """Residuals `R` (M, N) of node i have changed."""


@follow.register(NoScores)
def follow_nothing(scores, i, R):
    """Nothing is known."""


@follow.register(Scores)
def follow_if_known(scores, i, R):
    """Scores are known while there is a panel."""
    if scores.panel[1] > 0:
        follow_residuals(scores, i, R)


@lean_summing
def follow_residuals(scores, i, R):
    """Residuals `R` (M, N) of node i have changed."""
    N, square = R.shape[1], 0.0
    for l in range(R.shape[0]):
        total = 0.0
        for j in range(N):
            change = R[l, j] - scores.residuals[i, l * N + j]
            square += change * change
            total += R[l, j]
        scores.total[i, l] = total
    scores.moved[i] = np.sqrt(square)


@lean_summing
def take_residuals(scores, i, R):
    """Let products be made with the residuals `R` (M, N) of node i as they are."""
    N, square = R.shape[1], 0.0
    for l in range(R.shape[0]):
        total = 0.0
        for j in range(N):
            square += R[l, j] * R[l, j]
            total += R[l, j]
            scores.residuals[i, l * N + j] = R[l, j]
        scores.total[i, l] = total
    scores.size[i], scores.moved[i] = np.sqrt(square), 0.0


@lean
def take_moved(scores, R):
    """Take the residuals `R` (d, M, N) of all nodes that have moved."""
    for i in range(R.shape[0]):
        if scores.moved[i] > 0.0:
            take_residuals(scores, i, R[i])
