"""What the data say of one edge parameter, all others fixed.

By identity (A1) the log-likelihood of a field's data is, as a function of the parameter x of one edge,

    l(x) = S x - n log sum_l exp(lam_l + f_l x),

f_l being the values of the edge's statistic f, the levels, and lam_l their log probabilities at x = 0, up to
a constant. If f is 0 or 1, the sum is 1 + exp(x + lam), lam being the logit of P(f = 1) at x = 0. A sum over
fields that share the parameter, and a pseudo-likelihood, one term for each row and end of the edge, are sums
of such terms.

Two levels have terms of their own: as `LevelTerms` a step of `GroupGibbs` takes 4.5 times the CPU time (a
4 x 4 grid of 500 rows, the 279 edges of the Senate) under "pseudo", 1.2 to 1.3 times under "exact".
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import by_type, lean, lean_summing, part
from pymc_mrf.kernels.vector_sums import LOWEST, exp_negative, log_from_one


class Terms(NamedTuple):
    """l(x) = S x - sum_t n_t log(1 + exp(x + lam_t)), f being 0 or 1, and how well the terms are known.

    `size` (1,) int64: number of terms. `total` (1,): S. `n` and `lam` (T,): the first ``size[0]``
    entries are in use. `more` (T,): further observations that the noise of an estimated lam calls for, 0
    where it is exact (`views.particle_edges`). `n_tilts` (1,) int64. `tilts` (fields, 4): what a
    Monte Carlo likelihood subtracts beside, as of `add_tilt`; the first ``n_tilts[0]`` are in use.
    """

    size: np.ndarray
    total: np.ndarray
    n: np.ndarray
    lam: np.ndarray
    more: np.ndarray
    n_tilts: np.ndarray
    tilts: np.ndarray


class LevelTerms(NamedTuple):
    """l(x) = S x - sum_t n_t log sum_l exp(lam_lt + f_lt x), f having any values.

    `size`, `total`, `n`, `more`, `n_tilts` and `tilts`: as of `Terms`. `f` and `lam` (L, T): levels that
    a term does not have, or that are impossible, have lam -inf. `top`, `center`, `z`, `first`, `second`
    and `p` (T,): what `sum_levels` finds of each term, and room for work.
    """

    size: np.ndarray
    total: np.ndarray
    n: np.ndarray
    f: np.ndarray
    lam: np.ndarray
    more: np.ndarray
    top: np.ndarray
    center: np.ndarray
    z: np.ndarray
    first: np.ndarray
    second: np.ndarray
    p: np.ndarray
    n_tilts: np.ndarray
    tilts: np.ndarray


def _no_tilts(size):
    return np.zeros(1, dtype=np.int64), np.zeros((size, 4))


def allocate_terms(size):
    return Terms(np.zeros(1, dtype=np.int64), np.zeros(1), *np.zeros((3, size)), *_no_tilts(size))


def allocate_level_terms(size, n_levels):
    """`LevelTerms` with room for `size` of them, of up to `n_levels` levels."""
    f, lam = np.zeros((2, n_levels, size))
    return LevelTerms(
        np.zeros(1, dtype=np.int64),
        np.zeros(1),
        np.zeros(size),
        f,
        lam,
        *np.zeros((7, size)),
        *_no_tilts(size),
    )


@part
def clear(terms):
    terms.size[0] = terms.n_tilts[0] = 0
    terms.total[0] = 0.0


@part
def add_tilt(terms, slope, curvature, place, limit):
    """Subtract slope b + curvature b^2 / 2, b being the distance from `place`, at most `limit` either way."""
    row = terms.tilts[terms.n_tilts[0]]
    row[0], row[1], row[2], row[3] = slope, curvature, place, limit
    terms.n_tilts[0] += 1


@part
def tilt_at(terms, x):
    """Sum what the tilts subtract at x, its slope and its curvature."""
    value, slope, curvature = 0.0, 0.0, 0.0
    for t in range(terms.n_tilts[0]):
        row = terms.tilts[t]
        b = min(max(x - row[2], -row[3]), row[3])
        value += b * (row[0] + 0.5 * row[1] * b)
        if b == x - row[2]:
            slope += row[0] + row[1] * b
            curvature += row[1]
    return value, slope, curvature


@part
def add_term(terms, n, lam, more):
    """Append one of the `Terms`; the sum S is for the caller to add."""
    t = terms.size[0]
    terms.n[t], terms.lam[t], terms.more[t] = n, lam, more
    terms.size[0] = t + 1


@by_type
def add_levels(terms, n, log_mass, f, x, more):
    """Append one term by the log probabilities `log_mass` (L,) of the levels `f` (L,) at the parameter x."""


@add_levels.register(Terms)
def add_two_levels(terms, n, log_mass, f, x, more):
    add_term(terms, n, log_mass[1] - log_mass[0] - x, more)


@add_levels.register(LevelTerms)
def add_many_levels(terms, n, log_mass, f, x, more):
    """Levels that are impossible have log_mass -inf."""
    t, L = terms.size[0], f.shape[0]
    for k in range(terms.f.shape[0]):
        terms.f[k, t] = f[k] if k < L else 0.0
        terms.lam[k, t] = log_mass[k] - f[k] * x if k < L else -np.inf
    terms.n[t], terms.more[t] = n, more
    terms.size[0] = t + 1


@part
def softplus(z):
    """log(1 + exp(z)), to 1e-16 absolutely: log1p would take twice as long as log."""
    return max(z, 0.0) + np.log(1.0 + np.exp(-abs(z)))


@part
def sigmoid(z):
    """1 / (1 + exp(-z)), accurate in both tails."""
    e = np.exp(-abs(z))
    return 1.0 / (1.0 + e) if z >= 0.0 else e / (1.0 + e)


@by_type
def log_likelihood(terms, x):
    """l(x), up to a constant that is the same for every x."""


@by_type
def slope_and_information(terms, x):
    """l'(x) and -l''(x)."""


@by_type
def expected(terms, t, x):
    """Mean of f at x in one observation of term t."""


@lean_summing
def sum_of_softplus(n, lam, size, x):
    """Sum n log(1 + exp(x + lam)) over the first `size` entries of `n` and `lam` (T,)."""
    value = 0.0
    for t in range(size):
        z = x + lam[t]
        e = exp_negative(max(-abs(z), LOWEST))
        value += n[t] * ((z if z > 0.0 else 0.0) + log_from_one(1.0 + e))
    return value


@lean_summing
def binomial_moments(n, lam, size, x):
    """Sum n p and n p (1 - p), p = sigmoid(x + lam), over the first `size` entries of `n` and `lam` (T,)."""
    mean, variance = 0.0, 0.0
    for t in range(size):
        z = x + lam[t]
        e = exp_negative(max(-abs(z), LOWEST))
        q = 1.0 / (1.0 + e)
        mean += n[t] * (q if z > 0.0 else e * q)
        variance += n[t] * (e * q * q)
    return mean, variance


@log_likelihood.register(Terms)
def two_level_likelihood(terms, x):
    value = terms.total[0] * x - sum_of_softplus(terms.n, terms.lam, terms.size[0], x)
    return value - tilt_at(terms, x)[0]


@slope_and_information.register(Terms)
def two_level_derivatives(terms, x):
    mean, information = binomial_moments(terms.n, terms.lam, terms.size[0], x)
    _, slope, curvature = tilt_at(terms, x)
    return terms.total[0] - mean - slope, max(information + curvature, 0.1 * information)


@expected.register(Terms)
def two_level_mean(terms, t, x):
    return sigmoid(x + terms.lam[t])


@lean
def sum_levels(terms, x):
    """Find the moments of f at x in one observation of each term, up to a factor.

    With weights w = exp(lam + f x - top), the largest of which is 1, at the level that is the center, sums
    over the levels are z of w, first of w (f - center) and second of w (f - center)^2.
    """
    T, top, center, p = terms.size[0], terms.top, terms.center, terms.p
    z, first, second = terms.z, terms.first, terms.second
    for t in range(T):
        top[t], center[t], z[t] = -np.inf, 0.0, 0.0
    for t in range(T):
        first[t], second[t] = 0.0, 0.0
    for k in range(terms.f.shape[0]):
        f, lam = terms.f[k], terms.lam[k]
        for t in range(T):
            v = lam[t] + f[t] * x
            center[t] = f[t] if v > top[t] else center[t]
            top[t] = v if v > top[t] else top[t]
    for k in range(terms.f.shape[0]):
        f, lam = terms.f[k], terms.lam[k]
        for t in range(T):
            v = exp_negative(max(lam[t] + f[t] * x - top[t], LOWEST))
            z[t] += v
            p[t] = v * (f[t] - center[t])
        for t in range(T):
            first[t] += p[t]
            second[t] += p[t] * (f[t] - center[t])


@lean_summing
def sum_of_norms(n, top, z, size):
    """Sum n (top + log z) over the first `size` entries of `n`, `top` and `z`, all (T,)."""
    value = 0.0
    for t in range(size):
        value += n[t] * (top[t] + log_from_one(z[t]) + 0.0 * z[t])  # NaN stays NaN
    return value


@lean_summing
def level_moments(terms):
    """Sum the mean and the variance of f over all observations, after `sum_levels`."""
    n, center, z, first, second = terms.n, terms.center, terms.z, terms.first, terms.second
    mean, variance = 0.0, 0.0
    for t in range(terms.size[0]):
        gap = first[t] / z[t]
        mean += n[t] * (center[t] + gap)
        variance += n[t] * (second[t] / z[t] - gap * gap)
    return mean, max(variance, 0.0)


@log_likelihood.register(LevelTerms)
def level_likelihood(terms, x):
    sum_levels(terms, x)
    value = terms.total[0] * x - sum_of_norms(terms.n, terms.top, terms.z, terms.size[0])
    return value - tilt_at(terms, x)[0]


@slope_and_information.register(LevelTerms)
def level_derivatives(terms, x):
    sum_levels(terms, x)
    mean, information = level_moments(terms)
    _, slope, curvature = tilt_at(terms, x)
    return terms.total[0] - mean - slope, max(information + curvature, 0.1 * information)


@expected.register(LevelTerms)
def level_mean(terms, t, x):
    """Mean over the levels."""
    top, total, mean = -np.inf, 0.0, 0.0
    for k in range(terms.f.shape[0]):
        top = max(top, terms.lam[k, t] + terms.f[k, t] * x)
    for k in range(terms.f.shape[0]):
        weight = np.exp(terms.lam[k, t] + terms.f[k, t] * x - top)
        total += weight
        mean += weight * terms.f[k, t]
    return mean / total
