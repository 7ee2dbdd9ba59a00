"""Proposals of one edge parameter, shaped like what the data say of it (`edge_terms`)."""

import math
from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import by_type, lean, part
from pymc_mrf.kernels.groups.edge_terms import (
    LevelTerms,
    Terms,
    binomial_moments,
    log_likelihood,
    sigmoid,
    slope_and_information,
    softplus,
)
from pymc_mrf.kernels.priors.series import draw_envelope, log_envelope, series_value

PSEUDO_COUNT = 0.5  # observations of either kind that a proposal adds: Jeffreys' prior
BASE_SHARE = (
    0.1  # of proposals from the base, which bound the weights; from 0.02 to 0.5 made no difference
)
NEWTON_STEPS = 12
LEVEL_STEPS = 30  # the same of likelihoods of many levels, which may be far from logistic
LEAST_SCALE, LEAST_WIDTH = 1e-3, 0.05  # of proposals and of pseudo-counts, in units of the range of f


class Proposal(NamedTuple):
    """Proposal of a value: (logit(p) - lam) / c with p ~ Beta(a, b); beyond a support's end an exponential.

    `a`, `b`, `c` and `lam`: a is 0 where the data say nothing: then all proposals are from the base.
    `log_scale`: log c - log B(a, b), or log |rate|. `end` and `rate`: where the likelihood's mode lies
    outside the support of the base, its nearer end, and the rate of the exponential distribution that
    starts there, negative if it goes down; else the rate is 0.
    """

    a: float
    b: float
    c: float
    lam: float
    log_scale: float
    end: float
    rate: float


@by_type
def shape(terms):
    """Parameters a, b, c and lam of a `Proposal` with the mode and curvature of at least one term.

    The prior of `PSEUDO_COUNT` keeps the mode finite where all observations are at an end.
    """


@shape.register(Terms)
def two_level_shape(terms):
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
    """Match the tails, too: with one term of two levels the proposal is the likelihood itself."""
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
def log_proposal_density(x, proposal, base):
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
    return prior + log_likelihood(terms, x) - log_proposal_density(x, proposal, base)
