"""What the data say of one edge parameter, all others fixed, and proposals shaped like it.

By identity (A1) the log-likelihood of a field's data is, as a function of the parameter x of one edge,

    l(x) = S x - n log(1 + exp(x + lam)),

lam being the logit of P(f = 1) at x = 0. A sum over fields that share the parameter, and a
pseudo-likelihood, one term for each row and end of the edge, are sums of such terms.
"""

import math
from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean, part
from pymc_mrf.kernels.series import draw_envelope, log_envelope, series_value

PSEUDO_COUNT = 0.5  # observations of either kind that a proposal adds: Jeffreys' prior
BASE_SHARE = (
    0.1  # of proposals from the base, which bound the weights; from 0.02 to 0.5 made no difference
)
NEWTON_STEPS = 12


class Terms(NamedTuple):
    """l(x) = S x - sum_t n_t log(1 + exp(x + lam_t)), and how well the terms are known.

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


class Proposal(NamedTuple):
    """Proposal of a value: logit(p) - lam with p ~ Beta(a, b); beyond a support's end an exponential.

    Attributes
    ----------
    a, b, lam : float
        a is 0 where the data say nothing: then all proposals are from the base.
    log_scale : float
        -log B(a, b), or log |rate|.
    end, rate : float
        Where the likelihood's mode lies outside the support of the base, its nearer end, and the rate of the
        exponential distribution that starts there, negative if it goes down; else the rate is 0.
    """

    a: float
    b: float
    lam: float
    log_scale: float
    end: float
    rate: float


def allocate_terms(size):
    """`Terms` with room for `size` of them."""
    return Terms(
        np.zeros(1, dtype=np.int64), np.zeros(1), np.zeros(size), np.zeros(size), np.zeros(size)
    )


@part
def clear(terms):
    """Forget all terms."""
    terms.size[0] = 0
    terms.total[0] = 0.0


@part
def add_term(terms, n, lam, more):
    """Append one term; the sum S is for the caller to add."""
    t = terms.size[0]
    terms.n[t], terms.lam[t], terms.more[t] = n, lam, more
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


@lean
def log_likelihood(x, terms):
    """l(x), up to a constant that is the same for every x."""
    value = terms.total[0] * x
    for t in range(terms.size[0]):
        value -= terms.n[t] * softplus(x + terms.lam[t])
    return value


@lean
def slope_and_information(x, terms):
    """l'(x) and -l''(x)."""
    slope, information = terms.total[0], 0.0
    for t in range(terms.size[0]):
        p = sigmoid(x + terms.lam[t])
        slope -= terms.n[t] * p
        information += terms.n[t] * p * (1.0 - p)
    return slope, information


@lean
def beta_of_many(terms):
    """Parameters a, b and lam of a `Proposal` with the mode and curvature of several terms.

    The prior of `PSEUDO_COUNT` keeps the mode finite where all observations agree.
    """
    n, center = 0.0, 0.0
    for t in range(terms.size[0]):
        n += terms.n[t]
        center += terms.n[t] * terms.lam[t]
    center /= max(n, 1.0)
    p = (terms.total[0] + PSEUDO_COUNT) / (n + 2.0 * PSEUDO_COUNT)
    x = np.log(p) - np.log1p(-p) - center
    information = 0.0
    for _ in range(NEWTON_STEPS):
        slope, information = slope_and_information(x, terms)
        p = sigmoid(x + center)
        slope += PSEUDO_COUNT * (1.0 - 2.0 * p)
        information += 2.0 * PSEUDO_COUNT * p * (1.0 - p)
        step = min(max(slope / max(information, 1e-12), -3.0), 3.0)
        x += step
        if abs(step) < 1e-3:
            break
    mean = PSEUDO_COUNT * 2.0 * sigmoid(x + center)
    for t in range(terms.size[0]):
        mean += terms.n[t] * sigmoid(x + terms.lam[t])
    mean = min(max(mean / (n + 2.0 * PSEUDO_COUNT), 1e-12), 1.0 - 1e-12)
    size = max(information / (mean * (1.0 - mean)), 2.0 * PSEUDO_COUNT)
    return size * mean, size * (1.0 - mean), np.log(mean) - np.log1p(-mean) - x


@lean
def fit_proposal(terms, base):
    """`Proposal` shaped like exp(l), kept inside the support of `base`."""
    if terms.size[0] == 1:
        a = terms.total[0] + PSEUDO_COUNT
        b = terms.n[0] - terms.total[0] + PSEUDO_COUNT
        lam = terms.lam[0]
    elif terms.size[0] == 0:
        return Proposal(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    else:
        a, b, lam = beta_of_many(terms)
    mode = np.log(a) - np.log(b) - lam
    low, high = base.series.lower[0], base.series.upper[-1]
    if low < mode < high:
        return Proposal(a, b, lam, math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b), 0.0, 0.0)
    end = low if mode <= low else high
    slope, information = slope_and_information(end, terms)
    rate = abs(slope) + np.sqrt(information) + 1e-3
    return Proposal(a, b, lam, np.log(rate), end, rate if end == low else -rate)


@lean
def draw_value(proposal, base, rng):
    """Draw a value from the mixture of a `Proposal` and the envelope of the base."""
    if proposal.a == 0.0 or rng.random() < BASE_SHARE:
        return draw_envelope(base, rng)
    if proposal.rate != 0.0:
        return proposal.end + rng.standard_exponential() / proposal.rate
    # the logit of a Beta variable as a difference of log Gammas: no rounding to 0 or 1
    return log_gamma_variate(proposal.a, rng) - log_gamma_variate(proposal.b, rng) - proposal.lam


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
        z = x + proposal.lam
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
    return prior + log_likelihood(x, terms) - log_proposal(x, proposal, base)
