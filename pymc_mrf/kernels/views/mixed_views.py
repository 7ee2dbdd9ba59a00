"""What the views of mixed fields have in common: data, the cone, and the slopes by biases.

A view has the attributes `field` (`questions.Field`, whose nodes are the answers, then the measurements,
which have no biases there), `data` (`MixedData`), `layout` (`pymc_mrf.kernels.mixed.Layout`), `at` with the
conditional covariance S (c, c) of the measurements, `w` (P,), `b` and `beta` (a K + c,), `n_biases`, `look`
(1,), a record of `LOOK`, and scratch, `room`, of which is `diagonal` (c,), that of the precision. Where
states are listed, `at` has the means m (c, N) of the measurements in N of them as well, `room` has `seconds`
(c,), `tilt` and `tilted` (N,), and the view answers `measured_value`.

Edges between measurements whose absence would leave the cone of positive definite matrices are present for
certain (`pymc_mrf.kernels.gaussian`).
"""

from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.by_type import by_type
from pymc_mrf.kernels.gaussian import ABSENT, LIMITS, add_rank_two, brought_within, origin
from pymc_mrf.kernels.mixed import MIXED

LOOK = np.dtype([*LIMITS, ("before", float), ("mean", float), ("variance", float)], align=True)
"""Of the edge looked at: limits, if it is between measurements; log-likelihood without it, or in the middle
of the cone if it cannot be absent, relative to the present; mean and variance of a product of measurements.
"""


class MixedData(NamedTuple):
    """What the rows say of a mixed field of d nodes.

    Attributes
    ----------
    n : (d,) array
        Rows.
    s, sums : (P,) arrays
        What the weights multiply in the log-likelihood, centred, and as it is: sums over rows.
    t : (a K,) array
        Rows in which each answer is in each state.
    squares : (c,) array
        Sums over rows of the squared deviations of the measurements.
    """

    n: np.ndarray
    s: np.ndarray
    sums: np.ndarray
    t: np.ndarray
    squares: np.ndarray


@lean
def measurement_of(view, first, end):
    """Return which measurement is an end of the edge that begins at a parameter."""
    return view.field.edges[first, end] - view.layout.cards.shape[0]


@lean
def taken_from(view, e, end):
    """Return what is taken from what is at the other end, as one end sees it by parameter e.

    Nothing if this end is a measurement.
    """
    p = view.layout.pairs[e, end]
    if p >= view.layout.owner.shape[0]:
        return 0.0
    return view.field.centre[e, 1 - end, p - view.layout.first[view.layout.owner[p]]]


@by_type
def measured_value(view: Any, first: int, y: float) -> Any:
    """Log-likelihood gained by a weight between measurements that is y above the present one.

    Within the cone. Mean and variance there, by a row, go to `look`.
    """


@lean
def change_rows(S, i, j, own_i, both, own_j):
    """Return how m_i and m_j turn with `S` (c, c), four numbers, and S_ii, S_ij and S_jj afterwards."""
    ii, ij, jj = S[i, i], S[i, j], S[j, j]
    turn = (
        1.0 + own_i * ii + both * ij,
        both * ii + own_j * ij,
        own_i * ij + both * jj,
        1.0 + both * ij + own_j * jj,
    )
    s_ii = ii + own_i * ii * ii + 2.0 * both * ii * ij + own_j * ij * ij
    s_ij = ij + own_i * ii * ij + both * (ii * jj + ij * ij) + own_j * ij * jj
    s_jj = jj + own_i * ij * ij + 2.0 * both * ij * jj + own_j * jj * jj
    return turn, (s_ii, s_ij, s_jj)


@lean
def move_precision(view, i, j, own_i, both, own_j):
    """Move the means and the covariance of the measurements by `rank_two`."""
    S, m, by_i, by_j = view.at.S, view.at.m, view.room.tilt, view.room.tilted
    for s in range(by_i.shape[0]):
        by_i[s] = own_i * m[i, s] + both * m[j, s]
        by_j[s] = both * m[i, s] + own_j * m[j, s]
    for k in range(S.shape[0]):
        a, b, row = S[k, i], S[k, j], m[k]
        for s in range(by_i.shape[0]):
            row[s] += a * by_i[s] + b * by_j[s]
    add_rank_two(S, i, j, own_i, both, own_j, view.at.L)


@lean
def find_limits(view, first):
    """Find the limits of a weight between measurements, and whether the edge may be absent."""
    look, S = view.look[0], view.at.S
    i, j = measurement_of(view, first, 0), measurement_of(view, first, 1)
    root = np.sqrt(S[i, i] * S[j, j])
    look.low, look.high = view.w[first] + 1.0 / (S[i, j] - root), view.w[first] + 1.0 / (S[i, j] + root)
    look.may_end = look.low < 0.0 < look.high


@lean
def look_at_measured(view, first):
    """Do what `find_limits` does, and find the log-likelihood without the edge."""
    find_limits(view, first)
    look = view.look[0]
    look.before = measured_value(view, first, origin(look) - view.w[first])


@lean
def terms_in_cone(view, first, x):
    """Log-likelihood gained at weight x, slope and information; beyond INNER a parabola's."""
    look, n = view.look[0], view.data.n[0]
    inside = brought_within(look, x)
    value = measured_value(view, first, inside - view.w[first]) - look.before
    slope, information, beyond = view.data.s[first] - n * look.mean, n * look.variance, x - inside
    value += (slope - 0.5 * information * beyond) * beyond
    return value, slope - information * beyond, information


@lean
def measured_gain(view, first, x):
    """Log-likelihood gained at weight x; -inf outside of the cone."""
    look = view.look[0]
    if not look.low < x < look.high:
        return -np.inf
    return measured_value(view, first, x - view.w[first]) - look.before


def absence_outside_the_cone(whole, view, e, x):
    """Return what the cone says of absence, at value `x` (W,)."""
    is_measured = whole.layout.kind[view.field.first[e]] > MIXED
    return ABSENT if is_measured and x[0] == 0.0 and not whole.look[0].may_end else 0.0


@lean
def data_value(view):
    """Return the sums over rows that the view's parameters multiply, times these."""
    data, value = view.data, 0.0
    for e in range(view.w.shape[0]):
        value += view.w[e] * data.sums[e]
    for i in range(data.t.shape[0]):
        value += view.b[i] * data.t[i]
    for j in range(data.squares.shape[0]):
        value -= 0.5 * view.room.diagonal[j] * data.squares[j]
    return value


@lean
def add_bias_slopes(view, shares, n, slope):
    """Add the slopes by the biases to `slope` (n_biases,), if they move.

    Of the states of answers n times `shares` (a, K) are expected, and `seconds` as sums of squares.
    """
    data, K = view.data, shares.shape[1]
    if view.n_biases > 0:
        for i in range(data.t.shape[0]):
            slope[i] += data.t[i] - n * shares[i // K, i % K]
        for j in range(data.squares.shape[0]):
            beyond = view.room.seconds[j] - data.squares[j]
            slope[data.t.shape[0] + j] += 0.5 * view.room.diagonal[j] * beyond
