"""What the data say of one edge parameter, all others fixed, and proposals shaped like it.

By identity (A1) the log-likelihood of a field's data is, as a function of the parameter x of one edge,

    l(x) = S x - n log sum_l exp(lam_l + f_l x),

f_l being the values of the edge's statistic f, the levels, and lam_l their log probabilities at x = 0, up to
a constant. If f is 0 or 1, the sum is 1 + exp(x + lam), lam being the logit of P(f = 1) at x = 0. A sum over
fields that share the parameter, and a pseudo-likelihood, one term for each row and end of the edge, are sums
of such terms.
"""

import math
from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean, lean_summing, part
from pymc_mrf.kernels.by_type import by_type
from pymc_mrf.kernels.series import draw_envelope, log_envelope, series_value
from pymc_mrf.kernels.vector_sums import LOWEST, exp_negative, log_from_one

PSEUDO_COUNT = 0.5  # observations of either kind that a proposal adds: Jeffreys' prior
BASE_SHARE = (
    0.1  # of proposals from the base, which bound the weights; from 0.02 to 0.5 made no difference
)
NEWTON_STEPS = 12
LEVEL_STEPS = 30  # the same of likelihoods of many levels, which may be far from logistic
LEAST_SCALE, LEAST_WIDTH = 1e-3, 0.05  # of proposals and of pseudo-counts, in units of the range of f


class Terms(NamedTuple):
    """l(x) = S x - sum_t n_t log(1 + exp(x + lam_t)), f being 0 or 1, and how well the terms are known.

    Attributes
    ----------
    size : (1,) int64 array
        Number of terms.
    total : (1,) array
        S.
    n, lam : (T,) arrays
        The first ``size[0]`` entries are in use.
    more : (T,) array
        Further observations that the noise of an estimated lam calls for, 0 where it is exact
        (`pymc_mrf.kernels.particle_groups`).
    """

    size: np.ndarray
    total: np.ndarray
    n: np.ndarray
    lam: np.ndarray
    more: np.ndarray


class LevelTerms(NamedTuple):
    """l(x) = S x - sum_t n_t log sum_l exp(lam_lt + f_lt x), f having any values.

    Attributes
    ----------
    size, total, n, more
        As of `Terms`.
    f, lam : (L, T) arrays
        Levels that a term does not have, or that are impossible, have lam -inf.
    top, center, z, first, second, p : (T,) arrays
        What `sum_levels` finds of each term, and room for work.
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


class Proposal(NamedTuple):
    """Proposal of a value: (logit(p) - lam) / c with p ~ Beta(a, b); beyond a support's end an exponential.

    Attributes
    ----------
    a, b, c, lam : float
        a is 0 where the data say nothing: then all proposals are from the base.
    log_scale : float
        log c - log B(a, b), or log |rate|.
    end, rate : float
        Where the likelihood's mode lies outside the support of the base, its nearer end, and the rate of the
        exponential distribution that starts there, negative if it goes down; else the rate is 0.
    """

    a: float
    b: float
    c: float
    lam: float
    log_scale: float
    end: float
    rate: float


def allocate_terms(size):
    """`Terms` with room for `size` of them."""
    return Terms(
        np.zeros(1, dtype=np.int64), np.zeros(1), np.zeros(size), np.zeros(size), np.zeros(size)
    )


def allocate_level_terms(size, n_levels):
    """`LevelTerms` with room for `size` of them, of up to `n_levels` levels."""
    f, lam = np.zeros((2, n_levels, size))
    return LevelTerms(
        np.zeros(1, dtype=np.int64), np.zeros(1), np.zeros(size), f, lam, *np.zeros((7, size))
    )


@part
def clear(terms):
    """Forget all terms."""
    terms.size[0] = 0
    terms.total[0] = 0.0


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
    """Levels 0 and 1."""
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


@by_type
def shape(terms):
    """Parameters a, b, c and lam of a `Proposal` with the mode and curvature of at least one term.

    The prior of `PSEUDO_COUNT` keeps the mode finite where all observations are at an end.
    """


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
    """One logarithm for each term."""
    return terms.total[0] * x - sum_of_softplus(terms.n, terms.lam, terms.size[0], x)


@slope_and_information.register(Terms)
def two_level_derivatives(terms, x):
    """Binomial moments."""
    mean, information = binomial_moments(terms.n, terms.lam, terms.size[0], x)
    return terms.total[0] - mean, information


@expected.register(Terms)
def two_level_mean(terms, t, x):
    """Probability that f is 1."""
    return sigmoid(x + terms.lam[t])


@shape.register(Terms)
def two_level_shape(terms):
    """In closed form for one term."""
    if terms.size[0] > 1:
        a, b, lam = beta_of_many(terms)
        return a, b, 1.0, lam
    a = terms.total[0] + PSEUDO_COUNT
    return a, terms.n[0] - terms.total[0] + PSEUDO_COUNT, 1.0, terms.lam[0]


@lean
def beta_of_many(terms):
    """Parameters a, b and lam of a `Proposal` with the mode and curvature of several `Terms`."""
    n, center = 0.0, 0.0
    for t in range(terms.size[0]):
        n += terms.n[t]
        center += terms.n[t] * terms.lam[t]
    center /= max(n, 1.0)
    p = (terms.total[0] + PSEUDO_COUNT) / (n + 2.0 * PSEUDO_COUNT)
    x = np.log(p) - np.log1p(-p) - center
    information = 0.0
    for _ in range(NEWTON_STEPS):
        slope, information = slope_and_information(terms, x)
        p = sigmoid(x + center)
        slope += PSEUDO_COUNT * (1.0 - 2.0 * p)
        information += 2.0 * PSEUDO_COUNT * p * (1.0 - p)
        step = min(max(slope / max(information, 1e-12), -3.0), 3.0)
        x += step
        if abs(step) < 1e-3:
            break
    mean, _ = binomial_moments(terms.n, terms.lam, terms.size[0], x)
    mean += PSEUDO_COUNT * 2.0 * sigmoid(x + center)
    mean = min(max(mean / (n + 2.0 * PSEUDO_COUNT), 1e-12), 1.0 - 1e-12)
    size = max(information / (mean * (1.0 - mean)), 2.0 * PSEUDO_COUNT)
    return size * mean, size * (1.0 - mean), np.log(mean) - np.log1p(-mean) - x


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
    """Sum the exponentials of each term."""
    sum_levels(terms, x)
    return terms.total[0] * x - sum_of_norms(terms.n, terms.top, terms.z, terms.size[0])


@slope_and_information.register(LevelTerms)
def level_derivatives(terms, x):
    """Sum the moments of all observations."""
    sum_levels(terms, x)
    mean, information = level_moments(terms)
    return terms.total[0] - mean, information


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


@part
def ends(terms, t):
    """Positions of the lowest and of the highest level of term t that is possible."""
    low, high = -1, -1
    for k in range(terms.f.shape[0]):
        if terms.lam[k, t] > -np.inf:
            low = k if low < 0 or terms.f[k, t] < terms.f[low, t] else low
            high = k if high < 0 or terms.f[k, t] > terms.f[high, t] else high
    return low, high


@shape.register(LevelTerms)
def level_shape(terms):
    """With the tails of the likelihood, too: of one term with two levels it is the likelihood itself."""
    low, high, center, n, width = 0.0, 0.0, 0.0, 0.0, 0.0
    for t in range(terms.size[0]):
        first, last = ends(terms, t)
        low += terms.n[t] * terms.f[first, t]
        high += terms.n[t] * terms.f[last, t]
        center += terms.n[t] * (terms.lam[last, t] - terms.lam[first, t])
        n += terms.n[t]
        width = max(width, terms.f[last, t] - terms.f[first, t])
    if width == 0.0:  # only one level is possible
        return 0.0, 0.0, 1.0, 0.0
    middle = -center / (n * width)  # where the ends of a term are equally probable
    # further observations are two levels that vary as those of the data do there
    _, information = slope_and_information(terms, middle)
    prior = min(max(2.0 * np.sqrt(information / n), LEAST_WIDTH * width), width)
    # slopes of the logarithm far below and far above the mode
    rise = terms.total[0] - low + PSEUDO_COUNT * prior
    fall = high - terms.total[0] + PSEUDO_COUNT * prior
    x = middle + (np.log(rise) - np.log(fall)) / width
    below, above, reach = -np.inf, np.inf, 3.0 / width
    for _ in range(LEVEL_STEPS):
        slope, information = slope_and_information(terms, x)
        p = sigmoid(prior * (x - middle))
        slope += PSEUDO_COUNT * prior * (1.0 - 2.0 * p)
        information += 2.0 * PSEUDO_COUNT * prior * prior * p * (1.0 - p)
        if slope > 0.0:
            below = x
        else:
            above = x
        step = slope / max(information, 1e-300)
        if width * abs(step) < 1e-3:
            break
        if abs(step) > reach:
            step, reach = np.copysign(reach, step), 2.0 * reach
        x += step
        if not below < x < above:  # beyond a point from which the mode lies on this side
            x = 0.5 * (below + above)
    c = max(information * (rise + fall) / (rise * fall), LEAST_SCALE * width)
    return rise / c, fall / c, c, np.log(rise) - np.log(fall) - c * x


@part
def mode_of(proposal):
    """Mode of the shaped part over c times the value."""
    return (np.log(proposal.a) - np.log(proposal.b) - proposal.lam) / proposal.c


@lean
def fit_proposal(terms, base):
    """`Proposal` shaped like exp(l), kept inside the support of `base`."""
    a, b, c, lam = shape(terms) if terms.size[0] > 0 else (0.0, 0.0, 1.0, 0.0)
    if a == 0.0:
        return Proposal(0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0)
    log_scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + np.log(c)
    proposal = Proposal(a, b, c, lam, log_scale, 0.0, 0.0)
    mode = mode_of(proposal)
    low, high = base.series.lower[0], base.series.upper[-1]
    if low < mode < high:
        return proposal
    end = low if mode <= low else high
    slope, information = slope_and_information(terms, end)
    rate = abs(slope) + np.sqrt(information) + 1e-3
    return Proposal(a, b, c, lam, np.log(rate), end, rate if end == low else -rate)


@lean
def draw_value(proposal, base, rng):
    """Draw a value from the mixture of a `Proposal` and the envelope of the base."""
    if proposal.a == 0.0 or rng.random() < BASE_SHARE:
        return draw_envelope(base, rng)
    if proposal.rate != 0.0:
        return proposal.end + rng.standard_exponential() / proposal.rate
    # the logit of a Beta variable as a difference of log Gammas: no rounding to 0 or 1
    z = log_gamma_variate(proposal.a, rng) - log_gamma_variate(proposal.b, rng)
    return (z - proposal.lam) / proposal.c


@lean
def log_gamma_variate(shape, rng):
    """Log of a standard Gamma variable; does not underflow for small shapes."""
    if shape >= 1.0:
        return np.log(rng.standard_gamma(shape))
    # Gamma(shape) is Gamma(shape + 1) U^(1 / shape)
    return np.log(rng.standard_gamma(shape + 1.0)) + np.log(1.0 - rng.random()) / shape


@lean
def log_proposal(x, proposal, base):
    """Log density of `draw_value` at `x`."""
    if proposal.a == 0.0:
        return log_envelope(base, x)
    if proposal.rate != 0.0:
        distance = (x - proposal.end) * proposal.rate
        shaped = proposal.log_scale - distance if distance >= 0.0 else -np.inf
    else:
        z = proposal.c * x + proposal.lam
        shaped = proposal.log_scale + proposal.a * z - (proposal.a + proposal.b) * softplus(z)
    shaped += np.log(1.0 - BASE_SHARE)
    broad = np.log(BASE_SHARE) + log_envelope(base, x)
    top = max(shaped, broad)
    if top == -np.inf:
        return top
    return top + np.log(np.exp(shaped - top) + np.exp(broad - top))


@lean
def log_weight(x, terms, proposal, base):
    """Log of base density times likelihood over the density of `draw_value`.

    It is at most the largest l less log(BASE_SHARE), and the excess of the envelope.
    """
    prior = series_value(base.series, x)
    if prior == -np.inf:
        return prior
    return prior + log_likelihood(terms, x) - log_proposal(x, proposal, base)
