"""View of a field's likelihood, estimated from weighted particles, for `edge_moves`.

The counterpart of `exact_edges` for fields of any treewidth, by the same identity: the probabilities of the
states of a pair without its edge give the likelihood over the whole range of the edge's parameter. They are
averages over particles z with weights W that represent the field, Rao-Blackwellised over both ends: given all
other nodes and without the edge the ends are independent, with probabilities P that follow from their local
fields.

After a change from x to x' all other nodes keep their states in each particle, its weight is multiplied by
R(x') / R(x), R(x) = sum_k q_k exp(x c_k) over the states k of the pair, q_k their probabilities without the
edge, and the pair is drawn anew from its conditional. That is importance sampling (Geyer, 1991; Asuncion
et al., 2010) for the field with the pair summed out: exact, and less variable than the ratio exp((x' - x) c)
of the complete configurations. Particles that have become uneven are resampled, and moved by Gibbs sweeps.

Estimated likelihoods are corrected for their own noise by further observations that have the mean to be
expected. The error of the estimated log-likelihood l of one parameter is, to first order, a random
multiple eps of mu(eta), the mean of f as a function of the parameter, less any constant. Drawn from
exp(l), a parameter would be too dispersed: a value whose mu lies away from the mean gains from errors of
either sign. To second order in eps the draw has the right distribution on average if n^2 var(eps)
(mu(eta) - mean mu)^2 / 2 is subtracted from l. That penalty is, to the same order, the log-likelihood of
further observations in which f is "mean mu" on average, n rho of them where rho is the error's variance
relative to that of the data, and 1 / (1 - rho) - 1 in place of rho makes it exact for Gaussian
likelihoods of any precision under a flat prior. So estimated likelihoods enter with n / (1 - rho)
observations, rho measured from the particles. Copies that resampling makes of a particle count as
particles of their own in rho, which is therefore too small where resampling is frequent. The mean to be
expected is the posterior mean of the statistic, averaged over the draws while tuning. A mean given the
other edges would not do: where many edges compete for the same data none of them is likely, though some
edge is, and all of them would be found too rarely.

The particles, and what they are asked, are in `weighted_particles`; joint moves are in `particle_moves`.
"""

from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.log_scores import fill_factors, pair_terms
from pymc_mrf.kernels.vector_sums import LOWEST, copy, exp_negative, largest, total
from pymc_mrf.kernels.views import questions
from pymc_mrf.kernels.views.questions import Field, FieldData
from pymc_mrf.kernels.views.weighted_particles import (
    TINY,
    add_move,
    change_edge,
    effective_size,
    fill_means,
    fill_pair,
    normalise_weights,
    refresh_particles,
    resample,
    sweep,
    variance_of_mean,
)

MAX_NOISE = 0.5  # variance ratio up to which an estimated likelihood is corrected


@lean
def sharpening(variance_ratio):
    """Factor by which observations are multiplied to correct for noise; see the module's docstring."""
    return 1.0 / (1.0 - min(variance_ratio, MAX_NOISE))


TALLY = np.dtype(
    [
        ("resamplings", np.int64),
        ("refused", np.int64),
        ("least_size", float),
        ("noise", float),
        ("n_noise", np.int64),
    ]
)
"""Counts of one step: resamplings; pieces of joint moves that ended where the effective size was too small;
the smallest effective size; sum, over the edges whose noise was measured, of the variance of the
log-likelihood ratio between two values one standard deviation apart, and their number."""

SUMS = np.dtype([("s", float), ("n", float), ("mean", float), ("variance", float)])
"""Sum of the statistic of the edge that is looked at and the observations, further ones included; mean and
variance of the statistic without the edge."""


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


class Pair(NamedTuple):
    """What is known of the edge that is looked at.

    Attributes
    ----------
    p, log_p : (K K,) arrays
        Probabilities of the pair's states without the edge, and their logs.
    sums : (1,) record array of `SUMS`
    """

    p: np.ndarray
    log_p: np.ndarray
    sums: np.ndarray


class Joint(NamedTuple):
    """What is known in a joint move.

    Attributes
    ----------
    W : (N,) array
        The weights, multiplied by what the move does to them.
    n : (1,) array
        Observations, further ones included.
    s, t : (r,), (d q,) arrays
        Sums of the statistics over them.
    edge_mean, node_mean : (r,), (d q,) arrays
        Means of the statistics under W.
    """

    W: np.ndarray
    n: np.ndarray
    s: np.ndarray
    t: np.ndarray
    edge_mean: np.ndarray
    node_mean: np.ndarray


class ParticleRoom(NamedTuple):
    """Scratch.

    Attributes
    ----------
    h : (K K,) array
    D : (N,) array
        Log of what a joint move multiplies each weight by.
    """

    h: np.ndarray
    D: np.ndarray


class ParticleView(NamedTuple):
    """A field by its particles.

    Attributes
    ----------
    field : Field
        Edges with the same first end follow each other in its order.
    data : FieldData
    w, b, beta : (r,), (d q,), (d q,) arrays
        Present parameters: weights, biases, centred biases.
    n_biases : int
        d q if the biases move, else 0.
    particles : BinaryParticles or StateParticles
        Between moves they stand for w and beta.
    least_size : float
        Effective size below which particles are resampled and moved by `n_sweeps` sweeps; a piece of a joint
        move may not end where it is smaller.
    n_sweeps : int
    means : Means
    pair : Pair
    joint : Joint
    tally : (1,) record array of `TALLY`
    room : ParticleRoom
    """

    field: Field
    data: FieldData
    w: np.ndarray
    b: np.ndarray
    beta: np.ndarray
    n_biases: int
    particles: Any
    least_size: float
    n_sweeps: int
    means: Means
    pair: Pair
    joint: Joint
    tally: np.ndarray
    room: ParticleRoom


def allocate_view(
    field: Field, data: FieldData, n_biases: int, particles: Any, least_size: float, n_sweeps: int
) -> ParticleView:
    """View of a field with these particles; parameters are for the caller to fill."""
    (r, n_cells), n_parameters, N = field.cells.shape, len(data.t), len(particles.W)
    sizes = N, 1, r, n_parameters, r, n_parameters
    return ParticleView(
        field=field,
        data=data,
        w=np.zeros(r),
        b=np.full(n_parameters, np.nan),
        beta=np.zeros(n_parameters),
        n_biases=n_biases,
        particles=particles,
        least_size=least_size,
        n_sweeps=n_sweeps,
        means=Means(np.full(r, np.nan), np.full(r, np.nan)),
        pair=Pair._make([*np.zeros((2, n_cells)), np.zeros(1, SUMS).view(np.recarray)]),
        joint=Joint._make(map(np.zeros, sizes)),
        tally=np.zeros(1, TALLY).view(np.recarray),
        room=ParticleRoom(np.zeros(n_cells), np.zeros(N)),
    )


@lean
def mean_and_variance(p, c):
    """Mean and variance of `c` (K K,) under `p` (K K,)."""
    mean, variance = 0.0, 0.0
    for k in range(c.shape[0]):
        mean += p[k] * c[k]
    for k in range(c.shape[0]):
        variance += p[k] * (c[k] - mean) ** 2
    return mean, variance


@questions.look_at.register(ParticleView)
def look_at_particles(view, e, x):
    """Estimate the pair's table.

    With q n further observations what the score explains is convex in q, so that the bound is at 0 or, twice
    as many, at 1.
    """
    pair, sums, c = view.pair, view.pair.sums[0], view.field.cells[e]
    s, n = view.data.s[e], view.data.n[0]
    fill_pair(view.particles, view.field, e, x, pair.p)
    sums.mean, sums.variance = mean_and_variance(pair.p, c)
    view.means.now[e] = sums.mean
    g, h = s - n * sums.mean, n * sums.variance
    far = g + n * (view.means.expected[e] - sums.mean)
    return max(0.5 * g * g, 0.25 * far * far) / h, h


@lean
def further_rows(view, e, x, variance):
    """Further observations that the noise of a mean calls for; `variance` is that of the statistic."""
    n, tally = view.data.n[0], view.tally[0]
    ratio = n * variance_of_mean(view.particles, view.field, e, x, view.room.h) / max(variance, TINY)
    tally.noise += ratio
    tally.n_noise += 1
    return n * (sharpening(ratio) - 1.0)


@questions.without_edge.register(ParticleView)
def particles_without_edge(view, e):
    """Measure the noise of the pair's table, and correct for it."""
    pair, sums, x = view.pair, view.pair.sums[0], view.w[e]
    c, n = view.field.cells[e], view.data.n[0]
    for k in range(c.shape[0]):
        view.room.h[k] = c[k] - sums.mean
    more = further_rows(view, e, x, sums.variance)
    sums.s, sums.n = view.data.s[e] + more * view.means.expected[e], n + more
    for k in range(c.shape[0]):
        pair.log_p[k] = np.log(pair.p[k])
    if x != 0.0:
        view.means.now[e] = -pair_terms(x, pair.log_p, c, 0.0, 1.0)[1]
    return sums.s - sums.n * sums.mean, sums.n * sums.variance


@questions.likelihood_terms.register(ParticleView)
def particle_terms(view, e, x):
    """Compute the terms from the pair's table."""
    sums = view.pair.sums[0]
    return pair_terms(x, view.pair.log_p, view.field.cells[e], sums.s, sums.n)


@lean
def estimate_pair(view, e, x):
    """Estimate the table of the pair of edge e, whose value is x, without it, into ``view.pair``.

    Returns the further observations that the noise of the mean of the statistic at x calls for.
    """
    pair, c = view.pair, view.field.cells[e]
    p, h = pair.p, view.room.h
    fill_pair(view.particles, view.field, e, x, p)
    fill_factors(x, c, h)
    norm, mean, variance = 0.0, 0.0, 0.0
    for k in range(c.shape[0]):
        pair.log_p[k] = np.log(p[k]) if p[k] > 0.0 else -np.inf
        norm += p[k] * h[k]
        mean += p[k] * h[k] * c[k]
    mean /= norm
    for k in range(c.shape[0]):
        variance += p[k] * h[k] / norm * (c[k] - mean) ** 2
        h[k] *= (c[k] - mean) / norm
    return further_rows(view, e, x, variance)


@lean
def renew(view):
    """Resample the particles, and move them."""
    resample(view.particles)
    sweep(view.particles, view.field, view.n_sweeps)
    view.tally[0].resamplings += 1


@lean
def move_by_particles(view, e, old, new):
    """Multiply the weights and draw both ends anew; whether the weights have become uneven."""
    particles, tally = view.particles, view.tally[0]
    change_edge(particles, view.field, e, old, new)
    size = normalise_weights(particles.W, particles.size)
    tally.least_size = min(tally.least_size, size)
    return size < view.least_size


@questions.follow.register(ParticleView)
def follow_by_particles(view, e, old, new):
    """Move the edge, and resample if the weights have become uneven."""
    if move_by_particles(view, e, old, new):
        renew(view)


@lean
def reweight(W, D, size, out):
    """Write W exp(D - max D) to `out`; return the log of sum(W exp(D)) / sum(W); `W`, `D`, `out` (N,)."""
    top = largest(D[:size])
    for j in range(D.shape[0]):
        out[j] = exp_negative(min(max(D[j] - top, LOWEST), 0.0))  # padding may lie above the top
    for j in range(D.shape[0]):
        out[j] *= W[j]
    return top + np.log(total(out) / total(W))


@lean
def carry_over(view, active, least):
    """Let the particles stand for the view's parameters, the edges `active` (k,) having changed.

    By weights; where their effective size, which is returned, would be less than `least`, as they are.
    """
    particles, joint = view.particles, view.joint
    add_move(particles, view.field, view.w, view.beta, active, view.room.D)
    reweight(particles.W, view.room.D, particles.size, joint.W)
    size = effective_size(joint.W)
    if size >= least:
        copy(joint.W, particles.W)
        normalise_weights(particles.W, particles.size)
    copy(view.w, particles.w)
    copy(view.beta, particles.beta)
    refresh_particles(particles, view.field)
    return size


# Answers to joint moves


@questions.add_slopes.register(ParticleView)
def add_slopes_by_particles(view, active, slope):
    """Log-likelihood relative to where the particles are, and its slopes; further observations included.

    Those by the edges `active` (k,) and by the biases are added to `slope` (k + n_biases,).
    """
    joint, particles, n, k = view.joint, view.particles, view.joint.n[0], active.shape[0]
    constant = add_move(particles, view.field, view.w, view.beta, active, view.room.D)
    value = -n * (constant + reweight(particles.W, view.room.D, particles.size, joint.W))
    fill_means(particles, view.field, active, joint.W, joint.edge_mean, joint.node_mean)
    for a in range(k):
        e = active[a]
        value += (view.w[e] - particles.w[e]) * joint.s[e]
        slope[a] += joint.s[e] - n * joint.edge_mean[e]
    for i in range(view.n_biases):
        value += (view.beta[i] - particles.beta[i]) * joint.t[i]
        slope[k + i] += joint.t[i] - n * joint.node_mean[i]
    return value


@questions.is_trusted.register(ParticleView)
def particles_are_trusted(view):
    """Whether the effective size of the weights is large enough."""
    return effective_size(view.joint.W) >= view.least_size
