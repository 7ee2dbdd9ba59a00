"""Additions and deletions of edges by reversible jumps: Chen & Welling (2012), sec. 4, eq. (8)-(13).

An absent edge gets a value drawn from a Gaussian truncated to [-Delta, Delta]; a present edge whose value
lies there is deleted. Every edge is proposed, so that P_add = P_del = 1. `parallel_jumps` estimates the
ratio of partition functions from chains, to second order; `sequential_jumps` computes it exactly.
"""

from math import erf, erfc

import numpy as np

from pymc_mrf.kernels._jit import jit, lean
from pymc_mrf.kernels.metropolis import metropolis
from pymc_mrf.kernels.priors.densities import HALF_LOG_2PI, log_density, quadratic_fit
from pymc_mrf.kernels.views.questions import follow, gain, look_at, without_edge

_ROOT_HALF = np.sqrt(0.5)
_ROOT_PI = np.sqrt(np.pi)
FAR = 25.0  # beyond, exp(x^2) and erfc(x) approach the ends of the range of doubles


@lean
def scaled_tail(x):
    """exp(x^2) erfc(x) for x >= 0; relative error below 1e-10."""
    if x < FAR:
        return np.exp(x * x) * erfc(x)
    q = 0.5 / (x * x)
    return (1.0 - q * (1.0 - 3.0 * q * (1.0 - 5.0 * q))) / (x * _ROOT_PI)


@lean
def log_normal_mass(low, high):
    """Log probability that a standard normal lies between low < high; also far out in a tail."""
    if low < 0.0 < high:
        return np.log(0.5 * (erf(high * _ROOT_HALF) - erf(low * _ROOT_HALF)))
    if high <= 0.0:
        low, high = -high, -low
    ratio = np.exp(-0.5 * (high - low) * (high + low))
    mass = scaled_tail(low * _ROOT_HALF) - ratio * scaled_tail(high * _ROOT_HALF)
    return np.log(0.5 * mass) - 0.5 * low * low


@lean
def draw_normal_between(low, high, rng):
    """Draw a standard normal between low < high, by rejection (Robert, 1995)."""
    if low < 0.0 < high:
        if high - low > 2.0:
            while True:
                z = rng.standard_normal()
                if low <= z <= high:
                    return z
        while True:
            z = low + (high - low) * rng.random()
            if rng.random() < np.exp(-0.5 * z * z):
                return z
    if high <= 0.0:
        return -draw_tail(-high, -low, rng)
    return draw_tail(low, high, rng)


@lean
def draw_tail(low, high, rng):
    """Draw a standard normal between 0 <= low < high, from an exponential cut off at `high`."""
    rate = 0.5 * (low + np.sqrt(low * low + 4.0))
    nearest = min(rate, high)
    cut = -np.expm1(-rate * (high - low))
    while True:
        z = min(low - np.log1p(-cut * rng.random()) / rate, high)
        if rng.random() < np.exp(-0.5 * ((z - rate) ** 2 - (nearest - rate) ** 2)):
            return z


@lean
def draw_truncated(mode, H, width, rng):
    """Draw from the Gaussian of precision H at `mode`, truncated to [-width, width]: eq. (13)."""
    root = np.sqrt(H)
    z = draw_normal_between((-width - mode) * root, (width - mode) * root, rng)
    return min(max(mode + z / root, -width), width)


@lean
def log_truncated_density(a, mode, H, width):
    """Log density of `draw_truncated` at a in [-width, width]."""
    root = np.sqrt(H)
    mass = log_normal_mass((-width - mode) * root, (width - mode) * root)
    return 0.5 * np.log(H) - HALF_LOG_2PI - 0.5 * H * (a - mode) ** 2 - mass


@jit
def log_ratio_estimate(a, mean, variance, N, n):
    """Log of R~(a), eq. (11): estimate of (Z(0) / Z(a))^N from n draws at parameter 0.

    `mean` and `variance` are those of the feature in the draws. With -a in place of a, and draws at a, it
    is the estimate of (Z(a) / Z(0))^N.
    """
    return -N * a * mean - 0.5 * N * a * a * variance - np.log1p(N * N * a * a * variance / (2.0 * n))


@lean
def proposal(slab, g, h):
    """Mode and precision of slab(x) exp(g x - h x^2 / 2), approximately."""
    fit = quadratic_fit(slab, g, h)[0]
    return fit.mode, fit.precision


@lean
def parallel_jumps(w, s, N, n, mean, variance, prior, width, rng):
    """Propose a jump of every edge, all from the same draws of the field (sec. 4.3).

    `w` (r,): changed in place. `s` (r,): sums of the features over the N observations. `N` and `n`:
    observations; draws. `mean` and `variance` (r,): of the features, in the draws. `prior` (EdgePrior).
    `width` (r,): delta. Returns `n_absent, n_added, n_deletable, n_deleted`.
    """
    slab = prior.slab
    n_absent, n_added, n_deletable, n_deleted = 0, 0, 0, 0
    for e in range(w.shape[0]):
        S2 = variance[e]
        if w[e] == 0.0:
            n_absent += 1
            mode, H = proposal(slab, s[e] - N * mean[e], N * S2)
            a = draw_truncated(mode, H, width[e], rng)
            log_Q = a * s[e] + log_ratio_estimate(a, mean[e], S2, N, n)
            log_Q += prior.log_odds[e] + log_density(slab, a)
            log_Q -= log_truncated_density(a, mode, H, width[e])
            if a != 0.0 and metropolis(log_Q, rng)[0]:
                w[e] = a
                n_added += 1
        elif abs(w[e]) <= width[e]:
            n_deletable += 1
            a = w[e]
            mode, H = proposal(slab, s[e] - N * (mean[e] - a * S2), N * S2)
            log_Q = -a * s[e] + log_ratio_estimate(-a, mean[e], S2, N, n)
            log_Q -= prior.log_odds[e] + log_density(slab, a)
            log_Q += log_truncated_density(a, mode, H, width[e])
            if metropolis(log_Q, rng)[0]:
                w[e] = 0.0
                n_deleted += 1
    return n_absent, n_added, n_deletable, n_deleted


@lean
def sequential_jumps(view, prior, width, rng):
    """Propose a jump of one edge after the other, by exact ratios.

    `view`: for `edge_moves`, exact, with `centre` 0: the biases stay. `prior` (EdgePrior). `width` (r,):
    delta. Returns `n_absent, n_added, n_deletable, n_deleted`.
    """
    w, slab = view.w, prior.slab
    n_absent, n_added, n_deletable, n_deleted = 0, 0, 0, 0
    for e in view.field.order:
        old = w[e]
        if abs(old) > width[e]:
            continue
        look_at(view, e, old)
        g, h = without_edge(view, e)
        mode, H = proposal(slab, g, h)
        a = draw_truncated(mode, H, width[e], rng) if old == 0.0 else old
        log_Q = gain(view, e, a) + prior.log_odds[e] + log_density(slab, a)
        log_Q -= log_truncated_density(a, mode, H, width[e])
        n_absent += old == 0.0
        n_deletable += old != 0.0
        if a != 0.0 and metropolis(log_Q if old == 0.0 else -log_Q, rng)[0]:
            n_added += old == 0.0
            n_deleted += old != 0.0
            w[e] = a if old == 0.0 else 0.0
            follow(view, e, old, w[e])
    return n_absent, n_added, n_deletable, n_deleted
