"""Edge moves of a binary field whose likelihood is estimated from weighted particles.

The counterpart of `exact_edges` for fields of any treewidth, by the same identity: the probabilities of the
four states of a pair without its edge give the likelihood over the whole range of the edge's parameter. They
are averages over particles z with weights W that represent the field, Rao-Blackwellised over both ends: given
all other nodes and without the edge the ends are independent, with probabilities P = sigmoid(H), H the local
fields.

After a change from x to x' all other nodes keep their states in each particle, its weight is multiplied by
R(x') / R(x), R(x) = sum_k q_k exp(x c_k) over the four states k of the pair, q_k their probabilities without
the edge, and the pair is drawn anew from its conditional. That is importance sampling (Geyer, 1991; Asuncion
et al., 2010) for the field with the pair summed out: exact, and less variable than the ratio exp((x' - x) c)
of the complete configurations. Particles that have become uneven are resampled, and moved by Gibbs sweeps.

Estimated likelihoods are corrected for their own noise as in `particle_groups`: by further observations that
have the mean to be expected. That is the posterior mean of the statistic, averaged over the draws while
tuning. A mean given the other edges would not do: where many edges compete for the same data none of them is
likely, though some edge is, and all of them would be found too rarely.

The particles themselves, and the notation, are those of `binary_particles`.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.binary_particles import (
    add_edge,
    fill_product,
    fill_sigmoid,
    fill_uniform,
    link,
    normalise,
    probabilities,
    push,
    resample,
    sweep_particles,
    unlink,
)
from pymc_mrf.kernels.edge_slab import (
    HALF_LOG_2PI,
    LEAST,
    MAX_NEWTON,
    MAX_SHIFT,
    REFINE,
    SERIES,
    STRONG_SCORE,
    Fit,
    bias_terms,
    inclusion_probability,
    log_density,
    log_fit,
    propose_fit,
    quadratic_fit,
    slope_and_precision,
)
from pymc_mrf.kernels.exact_edges import fit_pair, pair_terms
from pymc_mrf.kernels.particle_groups import sharpening
from pymc_mrf.kernels.random_lanes import seed_lanes
from pymc_mrf.kernels.vector_sums import dot, dot_two, total

TINY = 1e-300
LEAST_CELL = 1e-15  # of an estimated probability of a pair's state: rounding errors reach that far


class Tally(NamedTuple):
    """Counts of one step.

    Attributes
    ----------
    moves : (2,) int64 array
        Proposals that would change an edge, and those accepted.
    resamplings : (1,) int64 array
    refused : (1,) int64 array
        Pieces of joint moves that ended where the effective size was too small.
    least_size : (1,) array
        Smallest effective size.
    noise : (2,) array
        Sum, over the edges whose noise was measured, of the variance of the log-likelihood ratio between
        two values one standard deviation apart; their number.
    """

    moves: np.ndarray
    resamplings: np.ndarray
    refused: np.ndarray
    least_size: np.ndarray
    noise: np.ndarray


class Means(NamedTuple):
    """Means of the edges' statistics in the field, per observation.

    Attributes
    ----------
    now : (r,) array
        At the parameters of the last visit.
    expected : (r,) array
        On average over the posterior; NaN as long as nothing is known.
    """

    now: np.ndarray
    expected: np.ndarray


@jit
def fill_pair(sum_W, sum_u, sum_v, sum_uv, p):
    """Probabilities `p` (4,) of the states of a pair from sums over the particles."""
    p_u, p_v, p_uv = sum_u / sum_W, sum_v / sum_W, sum_uv / sum_W
    p[0] = max(1.0 - p_u - p_v + p_uv, LEAST_CELL)
    p[1] = max(p_v - p_uv, LEAST_CELL)
    p[2] = max(p_u - p_uv, LEAST_CELL)
    p[3] = max(p_uv, LEAST_CELL)


@jit
def mean_and_variance(p, c):
    """Mean and variance of c (4,) under p (4,)."""
    mean, variance = 0.0, 0.0
    for k in range(4):
        mean += p[k] * c[k]
    for k in range(4):
        variance += p[k] * (c[k] - mean) ** 2
    return mean, variance


@jit
def variance_of_mean(W, P_u, P_v, c, mean, room):
    """Variance of the estimated mean of c over the pair, from the spread over particles."""
    slope_u, slope_v, slope_uv = c[2] - c[0], c[1] - c[0], c[3] - c[2] - c[1] + c[0]
    for j in range(W.shape[0]):
        gap = c[0] - mean + slope_u * P_u[j] + (slope_v + slope_uv * P_u[j]) * P_v[j]
        room[j] = W[j] * gap
    return dot(room, room) / total(W) ** 2


@jit
def fill_factors(x, c, out):
    """exp(x c) (4,), divided by its largest entry."""
    top = max(max(x * c[0], x * c[1]), max(x * c[2], x * c[3]))
    for k in range(4):
        out[k] = np.exp(x * c[k] - top)


@jit
def divide_weights(W, P_u, P_v, f, out):
    """W / R of every particle, all (N,), for a pair with factors f (4,)."""
    for j in range(W.shape[0]):
        zero = f[0] + (f[1] - f[0]) * P_v[j]
        one = f[2] + (f[3] - f[2]) * P_v[j]
        out[j] = W[j] / max(zero + (one - zero) * P_u[j], TINY)


@jit
def redraw_pair(W, P_u, P_v, f, lanes, T_u, T_v, flips_u, flips_v, uniform):
    """Multiply the weights by R, and draw both ends; the changes of T go to `flips_u`, `flips_v`."""
    fill_uniform(lanes, uniform)
    for j in range(W.shape[0]):
        p, q = P_u[j], P_v[j]
        zero = (1.0 - p) * (f[0] + (f[1] - f[0]) * q)
        one = p * (f[2] + (f[3] - f[2]) * q)
        R = max(zero + one, TINY)
        W[j] *= R
        level = uniform[j] * R
        first = (1.0 - p) * (1.0 - q) * f[0]
        third = zero + p * (1.0 - q) * f[2]
        above_first = 1.0 if level >= first else 0.0
        new_u = 1.0 if level >= zero else 0.0
        above_third = 1.0 if level >= third else 0.0
        flips_u[j] = new_u
        flips_v[j] = above_first - new_u + above_third
    for j in range(W.shape[0]):
        new = flips_u[j]
        flips_u[j] = new - T_u[j]
        T_u[j] = new
    for j in range(W.shape[0]):
        new = flips_v[j]
        flips_v[j] = new - T_v[j]
        T_v[j] = new


@jit
def refined_fit(e, u, v, log_p, x, s, n, field, b_u, b_v, prior):
    """`Fit` of the conditional density of a present edge by Newton's method from x; the log odds."""
    c, m_u, m_v = field.cells[e], field.m[u], field.m[v]
    prior_0 = bias_terms(prior.bias, u, v, b_u, b_v, m_u, m_v, 0.0)[0]
    if prior.slab.kind == SERIES:
        fit, odds = fit_pair(log_p, c, s, n, prior.slab, prior.bias, u, v, b_u, b_v, m_u, m_v)
        return fit, odds + prior.log_odds[e] - prior_0
    odds, H = 0.0, 1.0
    for _ in range(MAX_NEWTON):
        gain, g, h = pair_terms(x, log_p, c, s, n)
        value, slope, precision = bias_terms(prior.bias, u, v, b_u, b_v, m_u, m_v, x)
        slab_slope, slab_precision = slope_and_precision(prior.slab, 0, x)
        H = h + precision + slab_precision
        shift = (g + slope + slab_slope) / H
        odds = prior.log_odds[e] + gain + value - prior_0 + log_density(prior.slab, 0, x)
        odds += 0.5 * shift * shift * H
        x += min(max(shift, -MAX_SHIFT), MAX_SHIFT)
        if shift * shift * H < 0.02:
            break
    return Fit(x, H, 0.0, 1.0, 0.0), odds + HALF_LOG_2PI - 0.5 * np.log(H)


@jit
def update_edge(e, u, v, p, log_p, ratio, uniform, field, w, b, prior, corrected, means, rng):
    """Update edge e given estimated probabilities `p` (4,) of the pair without it, as in `edge_slab`.

    `ratio` is the variance of the estimated score relative to the data's; `uniform` decides between
    presence and absence. Changes `w` and `b` in place; returns whether a change was proposed and made.
    """
    slab, c = prior.slab, field.cells[e]
    old, m_u, m_v = w[e], field.m[u], field.m[v]
    b_u, b_v = b[u] + old * m_v, b[v] + old * m_u  # without the edge
    mean, variance = mean_and_variance(p, c)
    for k in range(4):
        log_p[k] = np.log(p[k])
    means.now[e] = mean
    if old != 0.0:
        means.now[e] = (field.s[e] - pair_terms(old, log_p, c, field.s[e], field.n)[1]) / field.n
    more = field.n * (sharpening(ratio) - 1.0)
    is_known = not np.isnan(means.expected[e])
    s, n = field.s[e] + more * (means.expected[e] if is_known else mean), field.n + more
    g, h = s - n * mean, n * variance
    fit, odds = quadratic_fit(g, h, slab)
    rho = inclusion_probability(prior.log_odds[e] + odds)
    if rho > REFINE or g * g >= STRONG_SCORE * STRONG_SCORE * field.n * variance:
        if not is_known:  # the mean of absence and presence, by their odds given the other edges
            fit, odds = refined_fit(
                e, u, v, log_p, fit.mode, field.s[e], field.n, field, b_u, b_v, prior
            )
            rho = inclusion_probability(odds)
            present = (field.s[e] - pair_terms(fit.mode, log_p, c, field.s[e], field.n)[1]) / field.n
            s = field.s[e] + more * (mean + rho * (present - mean))
        fit, odds = refined_fit(e, u, v, log_p, fit.mode, s, n, field, b_u, b_v, prior)
        rho = inclusion_probability(odds)
    new = propose_fit(fit, slab.cells, slab.heights, rng) if uniform < rho else 0.0
    if new == 0.0 and old == 0.0:
        return False, False
    prior_0 = bias_terms(prior.bias, u, v, b_u, b_v, m_u, m_v, 0.0)[0]
    log_ratio = 0.0
    for value, sign in ((new, 1.0), (old, -1.0)):
        if value != 0.0:
            gain = pair_terms(value, log_p, c, s, n)[0] + prior.log_odds[e] - prior_0
            gain += bias_terms(prior.bias, u, v, b_u, b_v, m_u, m_v, value)[0]
            gain += log_density(slab, 0, value) - log_fit(fit, slab.cells, slab.heights, value)
            log_ratio += sign * (gain - np.log(rho / (1.0 - rho)))
    if corrected and not np.log(rng.random()) < log_ratio:
        return True, False
    w[e] = new
    b[u], b[v] = b_u - new * m_v, b_v - new * m_u
    return True, True


@jit
def strip(e, u, v, field, particles, factors):
    """Take edge e away: weights, local fields and P of both ends without it, in rows 0 to 4 of the room."""
    room, H, T = particles.room, particles.H, particles.T
    old = particles.w[e]
    room[3, :] = H[u]
    room[4, :] = H[v]
    add_edge(-old, v, field, T, room[3])
    add_edge(-old, u, field, T, room[4])
    fill_sigmoid(room[3], room[1])
    fill_sigmoid(room[4], room[2])
    fill_factors(old, field.cells[e], factors)
    divide_weights(particles.W, room[1], room[2], factors, room[0])


@jit
def carry_over(e, u, v, old, new, W, P_u, P_v, field, particles, factors):
    """Make weights and states of the particles follow a change of edge e; the effective size.

    `W`, `P_u` and `P_v` (N,) are those without the edge.
    """
    room, H, T = particles.room, particles.H, particles.T
    particles.w[e] = new
    if old != 0.0:
        particles.W[:] = W
        H[u, :] = room[3]
        H[v, :] = room[4]
    fill_factors(new, field.cells[e], factors)
    redraw_pair(particles.W, P_u, P_v, factors, particles.lanes, T[u], T[v], room[5], room[6], room[7])
    if old == 0.0:
        link(u, v, e, particles)
        link(v, u, e, particles)
    elif new == 0.0:
        unlink(u, e, particles)
        unlink(v, e, particles)
    push(u, room[5], e, field, particles)
    push(v, room[6], e, field, particles)
    add_edge(new, v, field, T, H[u])
    add_edge(new, u, field, T, H[v])
    particles.stale[u], particles.stale[v] = True, True
    return normalise(particles.W, particles.size)


@jit
def sweep_edges(field, particles, w, b, prior, corrected, least_size, n_sweeps, means, tally, rng):
    """Update every edge in turn.

    Parameters
    ----------
    field : ExactField
        Edges with the same first end follow each other in its order.
    particles : Particles
        Those of w and b.
    w : (r,) array, changed in place
    b : (d,) array, changed in place if m is not zero
    prior : EdgePrior
    corrected : bool
        Whether proposals are accepted by the rule of Metropolis and Hastings; else always.
    least_size : float
        Effective size below which particles are resampled and moved by `n_sweeps` sweeps.
    n_sweeps : int
    means : Means, changed in place
    tally : Tally, changed in place
    rng : numpy.random.Generator
    """
    seed_lanes(particles.lanes, rng)
    p, log_p, factors = np.empty(4), np.empty(4), np.empty(4)
    room, owned = particles.room, particles.room[8]
    W, P, stale = particles.W, particles.P, particles.stale
    edges, cells, s, n = field.edges, field.cells, field.s, field.n
    highest = np.exp(prior.log_odds + prior.slab.constant[0] + HALF_LOG_2PI)
    owner, sum_W, sum_u = -1, 0.0, 0.0
    for e in field.order:
        u, v = edges[e, 0], edges[e, 1]
        old = w[e]
        uniform = rng.random()
        if old == 0.0:
            if stale[v]:
                probabilities(v, particles)
            P_v = P[v]
            if owner != u:
                fill_product(W, probabilities(u, particles), owned)
                owner, sum_W, sum_u = u, total(W), total(owned)
            sum_v, sum_uv = dot_two(W, owned, P_v)
            fill_pair(sum_W, sum_u, sum_v, sum_uv, p)
            mean, variance = mean_and_variance(p, cells[e])
            # most edges are hopeless: an upper bound of what `rho` will be settles them; with q n further
            # observations its exponent is convex in q, so that the bound is at 0 or, twice as many, at 1
            g, h = s[e] - n * mean, n * variance
            far = g if np.isnan(means.expected[e]) else g + n * (means.expected[e] - mean)
            if uniform > LEAST and max(g * g, far * far) < STRONG_SCORE * STRONG_SCORE * h:
                exponent = max(0.5 * g * g, 0.25 * far * far) / h
                bound = highest[e] / np.sqrt(h) * np.exp(min(exponent, 50.0))
                if uniform > bound and bound < REFINE:
                    means.now[e] = mean
                    continue
            P_u, here = P[u], W
        else:
            strip(e, u, v, field, particles, factors)
            here, P_u, P_v = room[0], room[1], room[2]
            fill_product(here, P_u, room[9])
            fill_pair(total(here), total(room[9]), dot(here, P_v), dot(room[9], P_v), p)
            mean, variance = mean_and_variance(p, cells[e])
        ratio = n * variance_of_mean(here, P_u, P_v, cells[e], mean, room[9]) / variance
        tally.noise[0] += ratio
        tally.noise[1] += 1.0
        proposed, accepted = update_edge(
            e, u, v, p, log_p, ratio, uniform, field, w, b, prior, corrected, means, rng
        )
        tally.moves[0] += proposed
        tally.moves[1] += accepted
        if not accepted:
            continue
        size = carry_over(e, u, v, old, w[e], here, P_u, P_v, field, particles, factors)
        owner = -1
        tally.least_size[0] = min(tally.least_size[0], size)
        if size < least_size:
            resample(particles, rng)
            sweep_particles(field, particles, n_sweeps)
            tally.resamplings[0] += 1
