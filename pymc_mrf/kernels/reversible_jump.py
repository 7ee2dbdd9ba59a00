"""Additions and deletions of edges by reversible jumps: Chen & Welling (2012), sec. 4, eq. (8)-(13).

An absent edge gets a value drawn from a Gaussian truncated to [-Delta, Delta]; a present edge whose value
lies there is deleted. Every edge is proposed, so that P_add = P_del = 1. `parallel_jumps` estimates the
ratio of partition functions from chains, to second order; `sequential_jumps` computes it exactly.
"""

from math import erf, erfc

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.edge_slab import HALF_LOG_2PI, log_density, quadratic_mode
from pymc_mrf.kernels.enumerated_field import (
    fill_probabilities,
    multiply_pair,
    pair_probabilities,
)
from pymc_mrf.kernels.exact_edges import normalise_logs, pack, pair_terms
from pymc_mrf.kernels.junction_tree_focus import calibrate, factor_log_table, update_factor

_ROOT_HALF = np.sqrt(0.5)
_ROOT_PI = np.sqrt(np.pi)
FAR = 25.0  # beyond, exp(x^2) and erfc(x) approach the ends of the range of doubles


@jit
def scaled_tail(x):
    """exp(x^2) erfc(x) for x >= 0; relative error below 1e-10."""
    if x < FAR:
        return np.exp(x * x) * erfc(x)
    q = 0.5 / (x * x)
    return (1.0 - q * (1.0 - 3.0 * q * (1.0 - 5.0 * q))) / (x * _ROOT_PI)


@jit
def log_normal_mass(low, high):
    """Log probability that a standard normal lies between low < high; also far out in a tail."""
    if low < 0.0 < high:
        return np.log(0.5 * (erf(high * _ROOT_HALF) - erf(low * _ROOT_HALF)))
    if high <= 0.0:
        low, high = -high, -low
    ratio = np.exp(-0.5 * (high - low) * (high + low))
    mass = scaled_tail(low * _ROOT_HALF) - ratio * scaled_tail(high * _ROOT_HALF)
    return np.log(0.5 * mass) - 0.5 * low * low


@jit
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


@jit
def draw_tail(low, high, rng):
    """Draw a standard normal between 0 <= low < high, from an exponential cut off at `high`."""
    rate = 0.5 * (low + np.sqrt(low * low + 4.0))
    nearest = min(rate, high)
    cut = -np.expm1(-rate * (high - low))
    while True:
        z = min(low - np.log1p(-cut * rng.random()) / rate, high)
        if rng.random() < np.exp(-0.5 * ((z - rate) ** 2 - (nearest - rate) ** 2)):
            return z


@jit
def draw_value(mode, H, width, rng):
    """Draw from the Gaussian of precision H at `mode`, truncated to [-width, width]: eq. (13)."""
    root = np.sqrt(H)
    z = draw_normal_between((-width - mode) * root, (width - mode) * root, rng)
    return min(max(mode + z / root, -width), width)


@jit
def log_value_density(a, mode, H, width):
    """Log density of `draw_value` at a in [-width, width]."""
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


@jit
def parallel_jumps(w, s, N, n, mean, variance, prior, width, rng):
    """Propose a jump of every edge, all from the same draws of the field (sec. 4.3).

    Parameters
    ----------
    w : (r,) array
        Changed in place.
    s : (r,) array
        Sums of the features over the N observations.
    N, n : float
        Observations; draws.
    mean, variance : (r,) arrays
        Of the features, in the draws.
    prior : EdgePrior
    width : (r,) array
        Delta.
    rng : numpy.random.Generator

    Returns
    -------
    n_absent, n_added, n_deletable, n_deleted : int
    """
    slab = prior.slab
    n_absent, n_added, n_deletable, n_deleted = 0, 0, 0, 0
    for e in range(w.shape[0]):
        S2 = variance[e]
        if w[e] == 0.0:
            n_absent += 1
            mode, H = quadratic_mode(s[e] - N * mean[e], N * S2, slab)
            a = draw_value(mode, H, width[e], rng)
            log_Q = a * s[e] + log_ratio_estimate(a, mean[e], S2, N, n)
            log_Q += prior.log_odds[e] + log_density(slab, 0, a)
            log_Q -= log_value_density(a, mode, H, width[e])
            if np.log(rng.random()) < log_Q and a != 0.0:
                w[e] = a
                n_added += 1
        elif abs(w[e]) <= width[e]:
            n_deletable += 1
            a = w[e]
            mode, H = quadratic_mode(s[e] - N * (mean[e] - a * S2), N * S2, slab)
            log_Q = -a * s[e] + log_ratio_estimate(-a, mean[e], S2, N, n)
            log_Q -= prior.log_odds[e] + log_density(slab, 0, a)
            log_Q += log_value_density(a, mode, H, width[e])
            if np.log(rng.random()) < log_Q:
                w[e] = 0.0
                n_deleted += 1
    return n_absent, n_added, n_deletable, n_deleted


@jit
def exact_jump(a, log_p, c, s, N, log_odds, slab, width, rng):
    """One jump of an edge with value a, by the exact ratio; returns its new value.

    `log_p` (4,): normalised log probabilities of the pair without the edge; `c` (4,): the feature.
    """
    _, g, h = pair_terms(0.0, log_p, c, s, N)
    mode, H = quadratic_mode(g, h, slab)
    value = draw_value(mode, H, width, rng) if a == 0.0 else a
    log_Q = pair_terms(value, log_p, c, s, N)[0] + log_odds + log_density(slab, 0, value)
    log_Q -= log_value_density(value, mode, H, width)
    if np.log(rng.random()) < (log_Q if a == 0.0 else -log_Q):
        return value if a == 0.0 else 0.0
    return a


@jit
def sequential_jumps(field, w, b, prior, width, machine, rng):
    """Propose a jump of one edge after the other, under the exact likelihood.

    Parameters
    ----------
    field : exact_edges.ExactField
        With m = 0: the biases stay.
    w : (r,) array
        Changed in place.
    b : (d,) array
    prior : EdgePrior
    width : (r,) array
        Delta; below `exact_edges.UNDERFLOW`, so that listed probabilities do not underflow.
    machine : exact_edges.Machine
    rng : numpy.random.Generator

    Returns
    -------
    n_absent, n_added, n_deletable, n_deleted : int
    """
    n_absent, n_added, n_deletable, n_deleted = 0, 0, 0, 0
    tree, focus, P = machine.tree, machine.focus, machine.P
    log_p, delta = np.empty(4), np.empty(4)
    if machine.enumerates:
        fill_probabilities(field.edges, field.y, w, b, machine.W, P, machine.h)
    else:
        pack(field, w, b, machine.work.tables)
        calibrate(tree, machine.work.tables, focus)
    for e in field.order:
        old, c = w[e], field.cells[e]
        if abs(old) > width[e]:
            continue
        u, v = field.edges[e, 0], field.edges[e, 1]
        if machine.enumerates:
            pair_probabilities(P, u, v, log_p)
        else:
            factor_log_table(tree, focus, e, log_p)
        for k in range(4):
            log_p[k] -= old * c[k]
        normalise_logs(log_p)
        new = exact_jump(
            old, log_p, c, field.s[e], field.n, prior.log_odds[e], prior.slab, width[e], rng
        )
        n_absent += old == 0.0
        n_deletable += old != 0.0
        if new == old:
            continue
        n_added += old == 0.0
        n_deleted += old != 0.0
        w[e] = new
        for k in range(4):
            delta[k] = (new - old) * c[k]
            log_p[k] += old * c[k]
        if machine.enumerates:
            normalise_logs(log_p)
            top = (log_p + delta).max()
            delta -= top + np.log(np.exp(log_p + delta - top).sum())
            delta[:] = np.exp(delta)
            multiply_pair(P, u, v, delta[0], delta[1], delta[2], delta[3])
        else:
            update_factor(tree, focus, e, delta)
    return n_absent, n_added, n_deletable, n_deleted
