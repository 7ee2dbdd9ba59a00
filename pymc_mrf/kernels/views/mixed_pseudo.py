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
from pymc_mrf.kernels.mixed import MIXED, OF_ANSWERS, OF_MEASURED, Layout, Weighted, fill_covariance
from pymc_mrf.kernels.vector_sums import centred_dot, copy, dot, total
from pymc_mrf.kernels.views import block_edges as blocks
from pymc_mrf.kernels.views import questions
from pymc_mrf.kernels.views.gaussian_edges import ILL
from pymc_mrf.kernels.views.mixed_views import (
    BEFORE,
    MEAN,
    VARIANCE,
    MixedData,
    MixedField,
    absence_outside_the_cone,
    biases_of_answer,
    change_rows,
    look_at_measured,
    measured_gain,
    measured_value,
    measurement_of,
    mixed_without_slab,
    move_precision,
    rank_two,
    set_mixed_parameters,
    set_parameter,
    taken_from,
    terms_in_cone,
)


class AnswerTerms(NamedTuple):
    """Full conditionals of answers in n rows.

    Attributes
    ----------
    local : (Q, n) array
        Local fields of their features.
    residual : (Q, n) array
        Features less their conditional means.
    covariance : (Q, M) array
        Sums over rows of conditional covariances of a feature with those of the same answer.
    shares : (a, K) array
        Sums over rows of the probabilities of the states.
    log_sum : (a,) array
        Sums over rows of the log normalisers.
    """

    local: np.ndarray
    residual: np.ndarray
    covariance: np.ndarray
    shares: np.ndarray
    log_sum: np.ndarray


class MixedPseudo(NamedTuple):
    """Rows, their full conditionals, and present parameters.

    Attributes
    ----------
    field : MixedField
    data : MixedData
    layout : Layout
    z : (Q + c, n) array
        Features of the answers, and deviations of the measurements, of the rows.
    products : (Q, Q) array
        Sums over rows of products of the features of answers.
    now, trial : AnswerTerms
        At the present parameters; of the ends of the edge looked at, at others.
    at : Weighted
        Conditional means of the measurements in the rows, and their covariance.
    w : (P,) array
    b : (a K + c,) array
    beta : (a K + c,) array, or (0,)
    n_biases : int
    tilt, tilted : (n,) arrays
        Scratch.
    p : (K,) array
        Scratch.
    mean : (M,) array
        Scratch.
    diagonal : (c,) array
        Scratch.
    look : (9,) array
        As in `mixed_views`.
    """

    field: MixedField
    data: MixedData
    layout: Layout
    z: np.ndarray
    products: np.ndarray
    now: AnswerTerms
    trial: AnswerTerms
    at: Weighted
    w: np.ndarray
    b: np.ndarray
    beta: np.ndarray
    n_biases: int
    tilt: np.ndarray
    tilted: np.ndarray
    p: np.ndarray
    mean: np.ndarray
    diagonal: np.ndarray
    look: np.ndarray


blocks.bias_range.register(MixedPseudo)(biases_of_answer)
blocks.absence.register(MixedPseudo)(absence_outside_the_cone)
questions.set_edge.register(MixedPseudo)(set_parameter)
questions.set_parameters.register(MixedPseudo)(set_mixed_parameters)
questions.without_slab.register(MixedPseudo)(mixed_without_slab)


@lean
def fill_conditional(view, i, terms):
    """Fill all that `terms`, `AnswerTerms`, say of answer i, from its local fields and the biases."""
    layout, p, mean = view.layout, view.p, view.mean
    F, first, last, k = layout.features, layout.first[i], layout.first[i + 1], layout.cards[i]
    b, log_sum = view.b[i * F.shape[1] :], 0.0
    for a in range(F.shape[1]):
        terms.shares[i, a] = 0.0
    for f in range(first, last):
        for g in range(last - first):
            terms.covariance[f, g] = 0.0
    for s in range(view.z.shape[1]):
        top = -np.inf
        for a in range(k):
            score = b[a]
            for f in range(first, last):
                score += F[f, a] * terms.local[f, s]
            p[a] = score
            top = max(top, score)
        mass = 0.0
        for a in range(k):
            p[a] = np.exp(p[a] - top)
            mass += p[a]
        log_sum += top + np.log(mass)
        for f in range(first, last):
            mean[f - first] = 0.0
        for a in range(k):
            p[a] /= mass
            terms.shares[i, a] += p[a]
            for f in range(first, last):
                mean[f - first] += p[a] * F[f, a]
        for f in range(first, last):
            terms.residual[f, s] = view.z[f, s] - mean[f - first]
            for g in range(f, last):
                value = -mean[f - first] * mean[g - first]
                for a in range(k):
                    value += p[a] * F[f, a] * F[g, a]
                terms.covariance[f, g - first] += value
    for f in range(first, last):
        for g in range(first, f):
            terms.covariance[f, g - first] = terms.covariance[g, f - first]
    terms.log_sum[i] = log_sum


@lean
def refresh(view):
    """Fill all that the view keeps; return n log det K / 2 less what the answers explain, NaN outside."""
    layout, Q, c = view.layout, view.layout.owner.shape[0], view.layout.n_measured
    a, K = layout.cards.shape[0], layout.features.shape[1]
    for j in range(c):
        view.diagonal[j] = np.exp(view.b[a * K + j])
    log_det = fill_covariance(layout, view.w, view.diagonal, view.at.S, view.at.L)
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
            add(view.z[q], y, local[p])
            add(view.z[p], y, local[q] if layout.kind[e] == OF_ANSWERS else h[q - Q])
    value = 0.5 * view.data.n[0] * log_det
    for i in range(c):
        for j in range(c):
            add(h[j], view.at.S[i, j], m[i])
        value -= 0.5 * dot(h[i], m[i])
    for i in range(a):
        fill_conditional(view, i, view.now)
    return value


@lean
def add(x, y, out):
    """Add y times `x` (n,) to `out` (n,)."""
    for s in range(x.shape[0]):
        out[s] += y * x[s]


@lean
def fill_end(view, first, end, x):
    """Fill the conditional of an end, an answer, at parameters `x` (W,) of an edge; how A changes."""
    layout, i = view.layout, view.field.edges[first, end]
    for f in range(layout.first[i], layout.first[i + 1]):
        copy(view.now.local[f], view.trial.local[f])
    for k in range(x.shape[0]):
        move, c = x[k] - view.w[first + k], taken_from(view, first + k, end)
        if move != 0.0:
            own = view.trial.local[layout.pairs[first + k, end]]
            other = view.z[layout.pairs[first + k, 1 - end]]
            for s in range(own.shape[0]):
                own[s] += move * (other[s] - c)
    fill_conditional(view, i, view.trial)
    return view.trial.log_sum[i] - view.now.log_sum[i]


@lean
def value_at(view, first, x):
    """Log-likelihood at parameters x of an edge against the present ones; its ends are in `trial`.

    Not of an edge between measurements.
    """
    value = -fill_end(view, first, 0, x)
    for k in range(x.shape[0]):
        value += (x[k] - view.w[first + k]) * view.data.s[first + k]
    if view.layout.kind[first] == OF_ANSWERS:
        return value - fill_end(view, first, 1, x)
    j, g = measurement_of(view, first, 1), view.tilt
    fill_shift(view, first, x)
    return value - dot(g, view.at.m[j]) - 0.5 * view.at.S[j, j] * dot(g, g)


@lean
def fill_shift(view, first, x):
    """Fill `tilt`, by how much parameters x of an edge move h beyond the present ones."""
    for s in range(view.tilt.shape[0]):
        view.tilt[s] = 0.0
    for k in range(x.shape[0]):
        add(view.z[view.layout.pairs[first + k, 0]], x[k] - view.w[first + k], view.tilt)


@lean
def fill_moments(view, first, x, terms, g, H):
    """Score and information of an edge at x, where `terms` are the conditionals of its ends.

    The information is that of conditional covariances and features of the other end that vary independently.
    """
    layout, n, width = view.layout, view.data.n[0], x.shape[0]
    is_mixed = layout.kind[first] == MIXED
    j = measurement_of(view, first, 1)
    for k in range(width):
        p, q = layout.pairs[first + k, 0], layout.pairs[first + k, 1]
        g[k] = centred_dot(terms.residual[p], view.z[q], taken_from(view, first + k, 0))
        if is_mixed:
            g[k] += dot(view.z[p], view.z[q]) - dot(view.z[p], view.at.m[j])
            for l in range(width):
                o = layout.pairs[first + l, 0]
                g[k] -= view.at.S[j, j] * view.products[p, o] * (x[l] - view.w[first + l])
        else:
            g[k] += centred_dot(terms.residual[q], view.z[p], taken_from(view, first + k, 1))
        for l in range(k + 1):
            o, r = layout.pairs[first + l, 0], layout.pairs[first + l, 1]
            value = terms.covariance[p, o - layout.first[layout.owner[p]]] * spread(
                view, q, r, taken_from(view, first + k, 0), taken_from(view, first + l, 0)
            )
            if is_mixed:
                value = value / n + view.at.S[j, j] * view.products[p, o]
            else:
                value += terms.covariance[q, r - layout.first[layout.owner[q]]] * spread(
                    view, p, o, taken_from(view, first + k, 1), taken_from(view, first + l, 1)
                )
                value /= n
            H[k, l] = value
            H[l, k] = value


@lean
def spread(view, p, q, c, d):
    """Sum over rows of (z_p - c) (z_q - d)."""
    x, y, n = view.z[p], view.z[q], view.z.shape[1]
    return dot(x, y) - d * total(x) - c * total(y) + n * c * d


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
        add(whole.z[q], move[k], whole.now.local[p])
        if q < Q:
            add(whole.z[p], move[k], whole.now.local[q])
        else:
            for i in range(whole.at.S.shape[0]):
                add(whole.z[p], move[k] * whole.at.S[i, q - Q], whole.at.m[i])
    fill_conditional(whole, whole.field.edges[first, 0], whole.now)
    if layout.kind[first] == OF_ANSWERS:
        fill_conditional(whole, whole.field.edges[first, 1], whole.now)


@questions.add_slopes.register(MixedPseudo)
def add_slopes_of_mixed_rows(view, active, slope):
    """Add the slopes at the view's parameters; outside of the cone there are none, and the value is -inf."""
    data, layout, k, value = view.data, view.layout, active.shape[0], refresh(view)
    if not np.isfinite(value):
        return -np.inf
    a, K, Q, n = layout.cards.shape[0], layout.features.shape[1], layout.owner.shape[0], data.n[0]
    for i in range(k):
        e = active[i]
        p, q = layout.pairs[e, 0], layout.pairs[e, 1]
        if layout.kind[e] == OF_MEASURED:
            slope[i] += data.s[e] - n * view.at.S[p - Q, q - Q] - dot(view.at.m[p - Q], view.at.m[q - Q])
            continue
        slope[i] += centred_dot(view.now.residual[p], view.z[q], taken_from(view, e, 0))
        if q < Q:
            slope[i] += centred_dot(view.now.residual[q], view.z[p], taken_from(view, e, 1))
        else:
            slope[i] += dot(view.z[p], view.z[q]) - dot(view.z[p], view.at.m[q - Q])
    for e in range(view.w.shape[0]):
        value += view.w[e] * data.sums[e]
    for i in range(a):
        value -= view.now.log_sum[i]
        for x in range(K):
            value += view.b[i * K + x] * data.t[i * K + x]
            if view.n_biases > 0:
                slope[k + i * K + x] += data.t[i * K + x] - view.now.shares[i, x]
    for j in range(view.diagonal.shape[0]):
        half, m = 0.5 * view.diagonal[j], view.at.m[j]
        value -= half * data.squares[j]
        if view.n_biases > 0:
            slope[k + a * K + j] += half * (n * view.at.S[j, j] + dot(m, m) - data.squares[j])
    return value


@questions.is_trusted.register(MixedPseudo)
def mixed_rows_are_trusted(view):
    """Nothing is estimated."""
    return True
