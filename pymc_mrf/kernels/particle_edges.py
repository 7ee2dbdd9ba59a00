"""View of a binary field's likelihood, estimated from weighted particles, for `edge_moves`.

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

The particles themselves, and the notation, are those of `binary_particles`; joint moves are those of
`particle_joint`.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels import edge_moves as moves
from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.binary_particles import (
    Particles,
    add_edge,
    fill_product,
    fill_sigmoid,
    fill_uniform,
    link,
    normalise,
    push,
    resample,
    sweep_particles,
    unlink,
    update_probabilities,
)
from pymc_mrf.kernels.edge_moves import Field
from pymc_mrf.kernels.exact_edges import pair_terms
from pymc_mrf.kernels.particle_groups import sharpening
from pymc_mrf.kernels.vector_sums import copy, dot, dot_two, total

TINY = 1e-300
LEAST_CELL = 1e-15  # of an estimated probability of a pair's state: rounding errors reach that far

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

OWNER = np.dtype([("node", np.int64), ("sum_W", float), ("sum_P", float)])
"""The node whose P times W is kept, -1 for none, and sums of W and of that product."""


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


class PairScratch(NamedTuple):
    """What is known of the edge that is looked at.

    Attributes
    ----------
    p, log_p, factors : (4,) arrays
        Probabilities of the pair's states without the edge, their logs, and what a value multiplies them by.
    W, P_u, P_v, H_u, H_v : (N,) arrays
        Weights, probabilities and local fields of both ends without the edge, if it is present.
    owned : (N,) array
        W times P of the node that is named in `owner`.
    product, flips_u, flips_v, uniform : (N,) arrays
    sums : (1,) record array of `SUMS`
    owner : (1,) record array of `OWNER`
    """

    p: np.ndarray
    log_p: np.ndarray
    factors: np.ndarray
    W: np.ndarray
    P_u: np.ndarray
    P_v: np.ndarray
    H_u: np.ndarray
    H_v: np.ndarray
    owned: np.ndarray
    product: np.ndarray
    flips_u: np.ndarray
    flips_v: np.ndarray
    uniform: np.ndarray
    sums: np.ndarray
    owner: np.ndarray


class Joint(NamedTuple):
    """What is known in a joint move.

    Attributes
    ----------
    D, W, product : (N,) arrays
        Log of what the move multiplies each weight by; the weights multiplied; scratch.
    n : (1,) array
        Observations, further ones included.
    s, t : (r,), (d,) arrays
        Sums of the features over them.
    edge_mean, node_mean : (r,), (d,) arrays
        Means of the features under W.
    by_node : (d,) array
        Scratch.
    """

    D: np.ndarray
    W: np.ndarray
    product: np.ndarray
    n: np.ndarray
    s: np.ndarray
    t: np.ndarray
    edge_mean: np.ndarray
    node_mean: np.ndarray
    by_node: np.ndarray


class ParticleEdges(NamedTuple):
    """A field by its particles.

    Attributes
    ----------
    field : Field
        Edges with the same first end follow each other in its order.
    w, b, beta : (r,), (d,), (d,) arrays
        Present parameters: weights, biases, centred biases.
    n_biases : int
        d if the biases move, else 0.
    particles : Particles
        Between moves they stand for w and beta.
    least_size : float
        Effective size below which particles are resampled and moved by `n_sweeps` sweeps; a piece of a joint
        move may not end where it is smaller.
    n_sweeps : int
    means : Means
    pair : PairScratch
    joint : Joint
    tally : (1,) record array of `TALLY`
    """

    field: Field
    w: np.ndarray
    b: np.ndarray
    beta: np.ndarray
    n_biases: int
    particles: Particles
    least_size: float
    n_sweeps: int
    means: Means
    pair: PairScratch
    joint: Joint
    tally: np.ndarray


def allocate_view(
    field: Field, n_biases: int, particles: Particles, least_size: float, n_sweeps: int
) -> ParticleEdges:
    """View of a field with these particles; parameters are for the caller to fill."""
    r, d, N = len(field.edges), len(field.m), len(particles.W)
    pair = PairScratch._make(
        [
            *np.zeros((3, 4)),
            *np.zeros((10, N)),
            np.zeros(1, SUMS).view(np.recarray),
            np.zeros(1, OWNER).view(np.recarray),
        ]
    )
    sizes = (N, N, N, 1, r, d, r, d, d)
    joint = Joint._make(np.zeros(size) for size in sizes)
    return ParticleEdges(
        field=field,
        w=np.zeros(r),
        b=np.full(d, np.nan),
        beta=np.zeros(d),
        n_biases=n_biases,
        particles=particles,
        least_size=least_size,
        n_sweeps=n_sweeps,
        means=Means(np.full(r, np.nan), np.full(r, np.nan)),
        pair=pair,
        joint=joint,
        tally=np.zeros(1, TALLY).view(np.recarray),
    )


@lean
def fill_pair(sum_W, sum_u, sum_v, sum_uv, p):
    """Probabilities `p` (4,) of the states of a pair from sums over the particles."""
    p_u, p_v, p_uv = sum_u / sum_W, sum_v / sum_W, sum_uv / sum_W
    p[0] = max(1.0 - p_u - p_v + p_uv, LEAST_CELL)
    p[1] = max(p_v - p_uv, LEAST_CELL)
    p[2] = max(p_u - p_uv, LEAST_CELL)
    p[3] = max(p_uv, LEAST_CELL)


@lean
def mean_and_variance(p, c):
    """Mean and variance of c (4,) under p (4,)."""
    mean, variance = 0.0, 0.0
    for k in range(4):
        mean += p[k] * c[k]
    for k in range(4):
        variance += p[k] * (c[k] - mean) ** 2
    return mean, variance


@lean
def variance_of_mean(W, P_u, P_v, c, mean, product):
    """Variance of the estimated mean of c (4,) over the pair, from the spread over particles, all (N,)."""
    slope_u, slope_v, slope_uv = c[2] - c[0], c[1] - c[0], c[3] - c[2] - c[1] + c[0]
    for j in range(W.shape[0]):
        gap = c[0] - mean + slope_u * P_u[j] + (slope_v + slope_uv * P_u[j]) * P_v[j]
        product[j] = W[j] * gap
    return dot(product, product) / total(W) ** 2


@lean
def fill_factors(x, c, out):
    """exp(x c) (4,), divided by its largest entry."""
    top = max(max(x * c[0], x * c[1]), max(x * c[2], x * c[3]))
    for k in range(4):
        out[k] = np.exp(x * c[k] - top)


@lean
def divide_weights(W, P_u, P_v, f, out):
    """W / R of every particle, all (N,), for a pair with factors f (4,)."""
    for j in range(W.shape[0]):
        zero = f[0] + (f[1] - f[0]) * P_v[j]
        one = f[2] + (f[3] - f[2]) * P_v[j]
        out[j] = W[j] / max(zero + (one - zero) * P_u[j], TINY)


@lean
def redraw_pair(W, P_u, P_v, f, uniform, T_u, T_v, flips_u, flips_v):
    """Multiply the weights by R, and draw both ends; the changes of T go to `flips_u`, `flips_v`.

    All (N,) but the factors f (4,).
    """
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


@lean
def strip(view, e, x):
    """Take edge e with value x away: weights, local fields and P of both ends without it."""
    u, v = view.field.edges[e, 0], view.field.edges[e, 1]
    pair, H, T = view.pair, view.particles.H, view.particles.T
    copy(H[u], pair.H_u)
    copy(H[v], pair.H_v)
    add_edge(-x, v, view.field, T, pair.H_u)
    add_edge(-x, u, view.field, T, pair.H_v)
    fill_sigmoid(pair.H_u, pair.P_u)
    fill_sigmoid(pair.H_v, pair.P_v)
    fill_factors(x, view.field.cells[e], pair.factors)
    divide_weights(view.particles.W, pair.P_u, pair.P_v, pair.factors, pair.W)


@lean
def own(view, u):
    """Keep the product of W and P of node u."""
    owner, pair, W = view.pair.owner[0], view.pair, view.particles.W
    if owner.node != u:
        update_probabilities(u, view.particles)
        fill_product(W, view.particles.P[u], pair.owned)
        owner.node, owner.sum_W, owner.sum_P = u, total(W), total(pair.owned)


@moves.look_at.register(ParticleEdges)
def look_at_particles(view, e, x):
    """Estimate the pair's table.

    With q n further observations what the score explains is convex in q, so that the bound is at 0 or, twice
    as many, at 1.
    """
    u, v = view.field.edges[e, 0], view.field.edges[e, 1]
    pair, sums, particles, c = view.pair, view.pair.sums[0], view.particles, view.field.cells[e]
    s, n = view.field.s[e], view.field.n[0]
    if x == 0.0:
        own(view, u)
        update_probabilities(v, particles)
        sum_v, sum_uv = dot_two(particles.W, pair.owned, particles.P[v])
        fill_pair(pair.owner[0].sum_W, pair.owner[0].sum_P, sum_v, sum_uv, pair.p)
    else:
        strip(view, e, x)
        fill_product(pair.W, pair.P_u, pair.product)
        sum_v, sum_uv = dot_two(pair.W, pair.product, pair.P_v)
        fill_pair(total(pair.W), total(pair.product), sum_v, sum_uv, pair.p)
    sums.mean, sums.variance = mean_and_variance(pair.p, c)
    view.means.now[e] = sums.mean
    g, h = s - n * sums.mean, n * sums.variance
    far = g + n * (view.means.expected[e] - sums.mean)
    return max(0.5 * g * g, 0.25 * far * far) / h, h


@moves.without_edge.register(ParticleEdges)
def particles_without_edge(view, e):
    """Measure the noise of the pair's table, and correct for it."""
    pair, sums, tally = view.pair, view.pair.sums[0], view.tally[0]
    c, n = view.field.cells[e], view.field.n[0]
    if view.w[e] == 0.0:
        u, v, P = view.field.edges[e, 0], view.field.edges[e, 1], view.particles.P
        variance = variance_of_mean(view.particles.W, P[u], P[v], c, sums.mean, pair.product)
    else:
        variance = variance_of_mean(pair.W, pair.P_u, pair.P_v, c, sums.mean, pair.product)
    ratio = n * variance / sums.variance
    tally.noise += ratio
    tally.n_noise += 1
    more = n * (sharpening(ratio) - 1.0)
    sums.s, sums.n = view.field.s[e] + more * view.means.expected[e], n + more
    for k in range(4):
        pair.log_p[k] = np.log(pair.p[k])
    if view.w[e] != 0.0:
        view.means.now[e] = -pair_terms(view.w[e], pair.log_p, c, 0.0, 1.0)[1]
    return sums.s - sums.n * sums.mean, sums.n * sums.variance


@moves.likelihood_terms.register(ParticleEdges)
def particle_terms(view, e, x):
    """From the pair's table."""
    sums = view.pair.sums[0]
    return pair_terms(x, view.pair.log_p, view.field.cells[e], sums.s, sums.n)


@moves.gain.register(ParticleEdges)
def particle_gain(view, e, x):
    """From the pair's table."""
    sums = view.pair.sums[0]
    return pair_terms(x, view.pair.log_p, view.field.cells[e], sums.s, sums.n)[0]


@lean
def renew(view):
    """Resample the particles, and move them."""
    resample(view.particles)
    sweep_particles(view.field, view.particles, view.n_sweeps)
    view.tally[0].resamplings += 1
    view.pair.owner[0].node = -1


@moves.follow.register(ParticleEdges)
def follow_by_particles(view, e, old, new):
    """Multiply the weights, draw both ends anew, and resample if the weights have become uneven."""
    u, v = view.field.edges[e, 0], view.field.edges[e, 1]
    particles, pair, tally = view.particles, view.pair, view.tally[0]
    H, T = particles.H, particles.T
    fill_factors(new, view.field.cells[e], pair.factors)
    fill_uniform(particles.lanes, pair.uniform)
    if old != 0.0:
        copy(pair.W, particles.W)
        copy(pair.H_u, H[u])
        copy(pair.H_v, H[v])
        P_u, P_v = pair.P_u, pair.P_v
    else:
        P_u, P_v = particles.P[u], particles.P[v]
    redraw_pair(
        particles.W, P_u, P_v, pair.factors, pair.uniform, T[u], T[v], pair.flips_u, pair.flips_v
    )  # fmt: skip
    particles.w[e] = new
    if old == 0.0:
        link(u, v, e, particles)
        link(v, u, e, particles)
    elif new == 0.0:
        unlink(u, e, particles)
        unlink(v, e, particles)
    push(u, pair.flips_u, e, view.field, particles)
    push(v, pair.flips_v, e, view.field, particles)
    add_edge(new, v, view.field, T, H[u])
    add_edge(new, u, view.field, T, H[v])
    particles.stale[u], particles.stale[v] = True, True
    pair.owner[0].node = -1
    size = normalise(particles.W, particles.size)
    tally.least_size = min(tally.least_size, size)
    if size < view.least_size:
        renew(view)
