"""Edges of a mixed field under its pseudo-likelihood: answers to `block_edges` by rows.

The pseudo-likelihood is the product of the probabilities of every answer given all else, and the density of
the measurements given the answers (`pymc_mrf.kernels.mixed`):

    prod_rows prod_i p(x_i | x_-i, y) p(y | x).

Given all else an answer i has log weights b_i(x) + F_i(x)' l_i, its local fields l_i being sums over the
features at the other ends of its edges. Both ends of an edge between answers count it, and an edge between an
answer and a measurement counts in both factors.

In all functions values `x` (W,), `old` and `new` (W,), slopes `g` (W,) and information `H` (W, W) are as in
`block_edges`.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.gaussian import rank_two
from pymc_mrf.kernels.mixed import OF_ANSWERS, OF_MEASURED, Layout, Weighted, fill_covariance
from pymc_mrf.kernels.vector_sums import add_multiple, centred_dot, dot
from pymc_mrf.kernels.views import block_edges as blocks
from pymc_mrf.kernels.views import questions
from pymc_mrf.kernels.views.gaussian_edges import ILL
from pymc_mrf.kernels.views.mixed_rows import (
    AnswerTerms,
    MixedRows,
    fill_conditional,
    fill_moments,
    value_at,
)
from pymc_mrf.kernels.views.mixed_views import (
    BEFORE,
    MEAN,
    VARIANCE,
    MixedData,
    MixedField,
    absence_outside_the_cone,
    add_bias_slopes,
    change_rows,
    data_value,
    look_at_measured,
    measured_gain,
    measured_value,
    measurement_of,
    move_precision,
    taken_from,
    terms_in_cone,
)


class PseudoRoom(NamedTuple):
    """Scratch.

    Attributes
    ----------
    tilt, tilted : (n,) arrays
    p : (K,) array
    mean : (M,) array
    diagonal, seconds : (c,) arrays
        As in `mixed_views`.
    """

    tilt: np.ndarray
    tilted: np.ndarray
    p: np.ndarray
    mean: np.ndarray
    diagonal: np.ndarray
    seconds: np.ndarray


class MixedPseudo(NamedTuple):
    """Rows, their full conditionals, and present parameters.

    Attributes
    ----------
    field : MixedField
    data : MixedData
    layout : Layout
    rows : MixedRows
    now, trial : AnswerTerms
        At the present parameters; of the ends of the edge looked at, at others.
    at : Weighted
        Conditional means of the measurements in the rows, and their covariance.
    w : (P,) array
    b : (a K + c,) array
    beta : (a K + c,) array, or (0,)
    n_biases : int
    look : (9,) array
        As in `mixed_views`.
    room : PseudoRoom
    """

    field: MixedField
    data: MixedData
    layout: Layout
    rows: MixedRows
    now: AnswerTerms
    trial: AnswerTerms
    at: Weighted
    w: np.ndarray
    b: np.ndarray
    beta: np.ndarray
    n_biases: int
    look: np.ndarray
    room: PseudoRoom


blocks.absence.register(MixedPseudo)(absence_outside_the_cone)


@lean
def refresh(view):
    """Fill all that the view keeps; return n log det K / 2 less what the answers explain, NaN outside."""
    layout, Q, c = view.layout, view.layout.owner.shape[0], view.layout.n_measured
    a, K = layout.cards.shape[0], layout.features.shape[1]
    for j in range(c):
        view.room.diagonal[j] = np.exp(view.b[a * K + j])
    log_det = fill_covariance(layout, view.w, view.room.diagonal, view.at.S, view.at.L)
    if not np.isfinite(log_det):
        return np.nan
    h, m, local = view.at.h, view.at.m, view.now.local
    for f in range(Q):
        for s in range(local.shape[1]):
            local[f, s] = 0.0
    for j in range(c):
        for s in range(h.shape[1]):
            h[j, s] = 0.0
            m[j, s] = 0.0
    for e in range(view.w.shape[0]):
        y, p, q = view.w[e], layout.pairs[e, 0], layout.pairs[e, 1]
        if y != 0.0 and layout.kind[e] != OF_MEASURED:
            add_multiple(y, view.rows.z[q], local[p])
            add_multiple(y, view.rows.z[p], local[q] if layout.kind[e] == OF_ANSWERS else h[q - Q])
    value = 0.5 * view.data.n[0] * log_det
    for i in range(c):
        for j in range(c):
            add_multiple(view.at.S[i, j], h[j], m[i])
        value -= 0.5 * dot(h[i], m[i])
    for i in range(a):
        fill_conditional(view, i, view.now)
    return value


@measured_value.register(MixedPseudo)
def measured_value_of_rows(view, first, y):
    """Compute the terms from sums over rows of products of conditional means."""
    n, look = view.data.n[0], view.look
    i, j = measurement_of(view, first, 0), measurement_of(view, first, 1)
    own_i, both, own_j, f = rank_two(view.at.S, i, j, y)
    (a, b, c, d), (s_ii, s_ij, s_jj) = change_rows(view.at.S, i, j, own_i, both, own_j)
    m_i, m_j = view.at.m[i], view.at.m[j]
    ii, ij, jj = dot(m_i, m_i), dot(m_i, m_j), dot(m_j, m_j)
    after_ii, after_jj = (
        a * a * ii + 2.0 * a * b * ij + b * b * jj,
        c * c * ii + 2.0 * c * d * ij + d * d * jj,
    )
    after_ij = a * c * ii + (a * d + b * c) * ij + b * d * jj
    look[MEAN] = s_ij + after_ij / n
    look[VARIANCE] = (
        s_ii * s_jj + s_ij * s_ij + (s_jj * after_ii + s_ii * after_jj + 2.0 * s_ij * after_ij) / n
    )
    explained = 0.5 * (own_i * ii + own_j * jj) + both * ij
    return y * view.data.s[first] + 0.5 * n * np.log(f) - explained


@blocks.take_out.register(MixedPseudo)
def take_block_out_of_mixed_rows(whole, view, e, x):
    """Read the score from the residuals, without a pass if the block is absent."""
    first, room, width = view.field.first[e], view.room, x.shape[0]
    if whole.layout.kind[first] == OF_MEASURED:
        look_at_measured(whole, first)
        _, room.score[0], room.information[0, 0] = terms_in_cone(whole, first, 0.0)
    elif whole.w[first] == 0.0:
        whole.look[BEFORE] = 0.0
        fill_moments(whole, first, room.zero[:width], whole.now, room.score, room.information)
    else:
        whole.look[BEFORE] = value_at(whole, first, room.zero[:width])
        fill_moments(whole, first, room.zero[:width], whole.trial, room.score, room.information)


@blocks.block_terms.register(MixedPseudo)
def block_terms_of_mixed_rows(whole, view, e, x, g, H):
    """Compute the terms by a pass over the rows."""
    first = view.field.first[e]
    if whole.layout.kind[first] == OF_MEASURED:
        value, g[0], H[0, 0] = terms_in_cone(whole, first, x[0])
        return value
    value = value_at(whole, first, x) - whole.look[BEFORE]
    fill_moments(whole, first, x, whole.trial, g, H)
    return value


@blocks.block_gain.register(MixedPseudo)
def block_gain_of_mixed_rows(whole, view, e, x):
    """Compute the gain by a pass over the rows."""
    first = view.field.first[e]
    if whole.layout.kind[first] == OF_MEASURED:
        return measured_gain(whole, first, x[0])
    return value_at(whole, first, x) - whole.look[BEFORE]


@blocks.follow_block.register(MixedPseudo)
def follow_block_in_mixed_rows(whole, view, e, old, new):
    """Move the local fields of the ends, and the means of the measurements; weights and biases have moved."""
    first, layout, move = view.field.first[e], whole.layout, view.room.move[: new.shape[0]]
    for k in range(new.shape[0]):
        move[k] = new[k] - old[k]
    if layout.kind[first] == OF_MEASURED:
        i, j = measurement_of(whole, first, 0), measurement_of(whole, first, 1)
        own_i, both, own_j, f = rank_two(whole.at.S, i, j, move[0])
        if f < ILL:
            refresh(whole)
        else:
            move_precision(whole, i, j, own_i, both, own_j)
        return
    Q = layout.owner.shape[0]
    for k in range(new.shape[0]):
        p, q = layout.pairs[first + k, 0], layout.pairs[first + k, 1]
        add_multiple(move[k], whole.rows.z[q], whole.now.local[p])
        if q < Q:
            add_multiple(move[k], whole.rows.z[p], whole.now.local[q])
        else:
            for i in range(whole.at.S.shape[0]):
                add_multiple(move[k] * whole.at.S[i, q - Q], whole.rows.z[p], whole.at.m[i])
    fill_conditional(whole, whole.field.edges[first, 0], whole.now)
    if layout.kind[first] == OF_ANSWERS:
        fill_conditional(whole, whole.field.edges[first, 1], whole.now)


@questions.add_slopes.register(MixedPseudo)
def add_slopes_of_mixed_rows(view, active, slope):
    """Add the slopes at the view's parameters; outside of the cone there are none, and the value is -inf."""
    layout, at, now, n, k = view.layout, view.at, view.now, view.data.n[0], active.shape[0]
    z, Q, value = view.rows.z, view.layout.owner.shape[0], refresh(view)
    if not np.isfinite(value):
        return -np.inf
    for i in range(k):
        e = active[i]
        p, q = layout.pairs[e, 0], layout.pairs[e, 1]
        if layout.kind[e] == OF_MEASURED:
            slope[i] += view.data.s[e] - n * at.S[p - Q, q - Q] - dot(at.m[p - Q], at.m[q - Q])
            continue
        slope[i] += centred_dot(now.residual[p], z[q], taken_from(view, e, 0))
        if q < Q:
            slope[i] += centred_dot(now.residual[q], z[p], taken_from(view, e, 1))
        else:
            slope[i] += dot(z[p], z[q]) - dot(z[p], at.m[q - Q])
    for i in range(now.log_sum.shape[0]):
        value -= now.log_sum[i]
    for j in range(at.m.shape[0]):
        view.room.seconds[j] = n * at.S[j, j] + dot(at.m[j], at.m[j])
    add_bias_slopes(view, now.shares, 1.0, slope[k:])
    return value + data_value(view)
