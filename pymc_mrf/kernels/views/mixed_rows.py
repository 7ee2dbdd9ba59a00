"""Full conditionals of the nodes of a mixed field in the rows, and what an edge changes.

Given all else an answer i has log weights b_i(x) + F_i(x)' l_i, its local fields l_i being sums over the
features at the other ends of its edges; a measurement with diagonal entry K_jj of the precision and local
field h_j is normal with mean h_j / K_jj and variance 1 / K_jj. A measurement counts as its own feature.

In all functions `view` is `MixedPseudo`, and an edge begins at parameter `first`; values `x` (W,), slopes `g`
(W,) and information `H` (W, W) are as in `block_edges`.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.vector_sums import centred_dot, copy, dot, total
from pymc_mrf.kernels.views.mixed_views import taken_from


class NodeConditionals(NamedTuple):
    """Full conditionals of the nodes in n rows, everything but the local fields times their weights.

    Attributes
    ----------
    local : (Q + c, n) array
        Local fields of the features.
    residual : (Q + c, n) array
        Features less their conditional means.
    covariance : (Q + c, M) array
        Sums over rows of conditional covariances of a feature with those of the same node.
    shares : (a, K) array
        Sums over rows of the probabilities of the states.
    seconds : (c,) array
        Sums over rows of the conditional means of squared deviations.
    log_sum : (a + c,) array
        Sums over rows of the log normalisers.
    """

    local: np.ndarray
    residual: np.ndarray
    covariance: np.ndarray
    shares: np.ndarray
    seconds: np.ndarray
    log_sum: np.ndarray


@lean
def features_of_node(layout, i):
    """Return the first feature of node i, and the one after its last."""
    a, Q = layout.cards.shape[0], layout.owner.shape[0]
    return (layout.first[i], layout.first[i + 1]) if i < a else (Q + i - a, Q + i - a + 1)


@lean
def fill_conditional(view, i, terms):
    """Fill all that `terms`, `NodeConditionals`, say of node i, from its local fields and the biases."""
    if i < view.layout.cards.shape[0]:
        fill_answer(view, i, terms)
    else:
        fill_measurement(view, i, terms)


@lean
def fill_measurement(view, i, terms):
    """Do what `fill_conditional` does, for a measurement."""
    layout, weight, n = view.layout, view.weights[i], view.z.shape[1]
    j, f = i - layout.cards.shape[0], features_of_node(layout, i)[0]
    precision, squares = view.room.diagonal[j], 0.0
    for s in range(n):
        mean = terms.local[f, s] / precision
        terms.residual[f, s] = weight * (view.z[f, s] - mean)
        squares += mean * mean
    terms.covariance[f, 0] = weight * n / precision
    terms.seconds[j] = weight * (n / precision + squares)
    terms.log_sum[i] = 0.5 * weight * (precision * squares - n * np.log(precision))


@lean
def fill_answer(view, i, terms):
    """Do what `fill_conditional` does, for an answer."""
    layout, p, mean, weight = view.layout, view.room.p, view.room.mean, view.weights[i]
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
            terms.shares[i, a] += weight * p[a]
            for f in range(first, last):
                mean[f - first] += p[a] * F[f, a]
        for f in range(first, last):
            terms.residual[f, s] = weight * (view.z[f, s] - mean[f - first])
            for g in range(f, last):
                value = -mean[f - first] * mean[g - first]
                for a in range(k):
                    value += p[a] * F[f, a] * F[g, a]
                terms.covariance[f, g - first] += weight * value
    for f in range(first, last):
        for g in range(first, f):
            terms.covariance[f, g - first] = terms.covariance[g, f - first]
    terms.log_sum[i] = weight * log_sum


@lean
def fill_end(view, first, end, x):
    """Fill the conditional of an end at parameters `x` (W,) of an edge; how its log normaliser changes."""
    layout, i = view.layout, view.field.edges[first, end]
    start, stop = features_of_node(layout, i)
    for f in range(start, stop):
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
    """Log-likelihood at parameters x of an edge against the present ones; its ends are in `trial`."""
    value = -fill_end(view, first, 0, x) - fill_end(view, first, 1, x)
    for k in range(x.shape[0]):
        value += (x[k] - view.w[first + k]) * view.data.s[first + k]
    return value


@lean
def spread(view, p, q, c, d):
    """Mean over rows of (z_p - c) (z_q - d)."""
    x, y, n = view.z[p], view.z[q], view.z.shape[1]
    return (dot(x, y) - d * total(x) - c * total(y)) / n + c * d


@lean
def covariance_of(view, terms, p, q):
    """Sum over rows of the conditional covariances of two features of one node."""
    layout, Q = view.layout, view.layout.owner.shape[0]
    return terms.covariance[p, q - layout.first[layout.owner[q]] if q < Q else 0]


@lean
def score(view, e, terms):
    """Slope by parameter e where `terms` are the conditionals of its ends."""
    p, q = view.layout.pairs[e, 0], view.layout.pairs[e, 1]
    value = centred_dot(terms.residual[p], view.z[q], taken_from(view, e, 0))
    return value + centred_dot(terms.residual[q], view.z[p], taken_from(view, e, 1))


@lean
def fill_moments(view, first, width, terms, g, H):
    """Score and information of an edge, where `terms` are the conditionals of its ends.

    The information is that of conditional covariances and features of the other end that vary independently.
    """
    for k in range(width):
        p, q = view.layout.pairs[first + k, 0], view.layout.pairs[first + k, 1]
        g[k] = score(view, first + k, terms)
        for l in range(k + 1):
            o, r = view.layout.pairs[first + l, 0], view.layout.pairs[first + l, 1]
            value = covariance_of(view, terms, p, o) * spread(
                view, q, r, taken_from(view, first + k, 0), taken_from(view, first + l, 0)
            )
            value += covariance_of(view, terms, q, r) * spread(
                view, p, o, taken_from(view, first + k, 1), taken_from(view, first + l, 1)
            )
            H[k, l] = value
            H[l, k] = value
