"""Rows of a mixed field, the full conditionals of its answers in them, and what an edge changes.

In all functions `view` is `MixedPseudo`, and an edge begins at parameter `first`; values `x` (W,), slopes `g`
(W,) and information `H` (W, W) are as in `block_edges`.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.mixed import MIXED, OF_ANSWERS
from pymc_mrf.kernels.vector_sums import add_multiple, centred_dot, copy, dot, total
from pymc_mrf.kernels.views.mixed_views import measurement_of, taken_from


class MixedRows(NamedTuple):
    """The rows.

    Attributes
    ----------
    z : (Q + c, n) array
        Features of the answers, and deviations of the measurements.
    products : (Q, Q) array
        Sums over rows of products of the features of answers.
    """

    z: np.ndarray
    products: np.ndarray


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


@lean
def fill_conditional(view, i, terms):
    """Fill all that `terms`, `AnswerTerms`, say of answer i, from its local fields and the biases."""
    layout, p, mean = view.layout, view.room.p, view.room.mean
    F, first, last, k = layout.features, layout.first[i], layout.first[i + 1], layout.cards[i]
    b, log_sum = view.b[i * F.shape[1] :], 0.0
    for a in range(F.shape[1]):
        terms.shares[i, a] = 0.0
    for f in range(first, last):
        for g in range(last - first):
            terms.covariance[f, g] = 0.0
    for s in range(view.rows.z.shape[1]):
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
            terms.residual[f, s] = view.rows.z[f, s] - mean[f - first]
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
def fill_end(view, first, end, x):
    """Fill the conditional of an end, an answer, at parameters `x` (W,) of an edge; how A changes."""
    layout, i = view.layout, view.field.edges[first, end]
    for f in range(layout.first[i], layout.first[i + 1]):
        copy(view.now.local[f], view.trial.local[f])
    for k in range(x.shape[0]):
        move, c = x[k] - view.w[first + k], taken_from(view, first + k, end)
        if move != 0.0:
            own = view.trial.local[layout.pairs[first + k, end]]
            other = view.rows.z[layout.pairs[first + k, 1 - end]]
            for s in range(own.shape[0]):
                own[s] += move * (other[s] - c)
    fill_conditional(view, i, view.trial)
    return view.trial.log_sum[i] - view.now.log_sum[i]


@lean
def fill_shift(view, first, x):
    """Fill `tilt`, by how much parameters x of an edge move h beyond the present ones."""
    for s in range(view.room.tilt.shape[0]):
        view.room.tilt[s] = 0.0
    for k in range(x.shape[0]):
        z = view.rows.z[view.layout.pairs[first + k, 0]]
        add_multiple(x[k] - view.w[first + k], z, view.room.tilt)


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
    j, g = measurement_of(view, first, 1), view.room.tilt
    fill_shift(view, first, x)
    return value - dot(g, view.at.m[j]) - 0.5 * view.at.S[j, j] * dot(g, g)


@lean
def spread(view, p, q, c, d):
    """Sum over rows of (z_p - c) (z_q - d)."""
    x, y, n = view.rows.z[p], view.rows.z[q], view.rows.z.shape[1]
    return dot(x, y) - d * total(x) - c * total(y) + n * c * d


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
        g[k] = centred_dot(terms.residual[p], view.rows.z[q], taken_from(view, first + k, 0))
        if is_mixed:
            g[k] += dot(view.rows.z[p], view.rows.z[q]) - dot(view.rows.z[p], view.at.m[j])
            for l in range(width):
                o = layout.pairs[first + l, 0]
                g[k] -= view.at.S[j, j] * view.rows.products[p, o] * (x[l] - view.w[first + l])
        else:
            g[k] += centred_dot(terms.residual[q], view.rows.z[p], taken_from(view, first + k, 1))
        for l in range(k + 1):
            o, r = layout.pairs[first + l, 0], layout.pairs[first + l, 1]
            value = terms.covariance[p, o - layout.first[layout.owner[p]]] * spread(
                view, q, r, taken_from(view, first + k, 0), taken_from(view, first + l, 0)
            )
            if is_mixed:
                value = value / n + view.at.S[j, j] * view.rows.products[p, o]
            else:
                value += terms.covariance[q, r - layout.first[layout.owner[q]]] * spread(
                    view, p, o, taken_from(view, first + k, 1), taken_from(view, first + l, 1)
                )
                value /= n
            H[k, l] = value
            H[l, k] = value
