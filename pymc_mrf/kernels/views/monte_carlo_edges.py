"""View of the Monte Carlo likelihood for `edge_moves` and `hamiltonian` (Geyer & Thompson, 1992).

A sample of the field at a reference, weighted, tells the log-partition function elsewhere: see
`weighted_sample`. The likelihood is a fixed, smooth function: nothing is simulated while it is sampled from.

Where blocks of parameters are asked for, values `x` (W,), `old` and `new` (W,), slopes `g` (W,) and
information `H` (W, W) are as in `block_edges`.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.log_scores import pair_terms
from pymc_mrf.kernels.vector_sums import copy
from pymc_mrf.kernels.views import block_edges as blocks
from pymc_mrf.kernels.views import questions
from pymc_mrf.kernels.views.exact_edges import subtract_edge
from pymc_mrf.kernels.views.questions import Field, FieldData, rows_of
from pymc_mrf.kernels.views.sample_sums import (
    LANES,
    add_row,
    count_pair,
    sum_feature_moments,
    sum_moments,
)
from pymc_mrf.kernels.views.table_blocks import (
    fill_pair_moments,
    fill_table,
    pair_gain,
    take_table_off,
)
from pymc_mrf.kernels.views.weighted_sample import (
    PIECE,
    Sample,
    SampleAt,
    SampleRoom,
    fill_shares,
    multiply_pair,
    slope_by_bias,
    slope_by_edge,
    weigh,
)

REACH, STIFFNESS = 1.5, 10.0
"""How far the parameter of an edge is from the reference where a wall begins, in units of one over the
standard deviation of its statistic, and the curvature of the wall, in units of the information. Far away the
sample says nothing, and `excess`, if negative, would make any likelihood infinite; there is no posterior
there."""

TRUSTED_SHARE = 0.01
"""Effective share of the weights below which joint moves do not go: nothing is known there."""


class Walls(NamedTuple):
    """Where a sample tells of the parameters of edges.

    Attributes
    ----------
    reach : (r,) array
        How far from the reference the wall of each edge begins.
    variances : (p,) array
        Of the statistics in the longer simulation.
    """

    reach: np.ndarray
    variances: np.ndarray


class SampledPair(NamedTuple):
    """What is known of the edge that is looked at.

    Attributes
    ----------
    log_p : (K K,) array
        Log probabilities of the states of the edge's pair without it.
    tilt : (2,) array
        Slope, at 0, of `gap` and `excess` by the edge; its curvature.
    looked : (2,) int64 array
        The edge, and 1 if `log_p` is its table.
    kept : (blocks, K K + 2) array
        `log_p` and `tilt`, kept.
    """

    log_p: np.ndarray
    tilt: np.ndarray
    looked: np.ndarray
    kept: np.ndarray


class MonteCarloView(NamedTuple):
    """A field by a sample of it.

    Attributes
    ----------
    field : Field
        Edges and nodes of a block follow one another.
    data : FieldData
    w, b, beta : (r,), (d q,), (d q,) arrays
        Present parameters: weights, biases, centred biases.
    n_biases : int
        d q if the biases move, else 0.
    sample : Sample
    walls : Walls
    at : SampleAt
    pair : SampledPair
    room : SampleRoom
    """

    field: Field
    data: FieldData
    w: np.ndarray
    b: np.ndarray
    beta: np.ndarray
    n_biases: int
    sample: Sample
    walls: Walls
    at: SampleAt
    pair: SampledPair
    room: SampleRoom


@lean
def block_of(view, e):
    return view.sample.block[view.field.edges[e, 0]]


@lean
def edge_moments(view, e):
    """Weighted mean and variance of the statistic of edge e."""
    sample, field, k = view.sample, view.field, block_of(view, e)
    u, v, centre, first, second = field.edges[e, 0], field.edges[e, 1], field.centre[e], 0.0, 0.0
    weight, m = view.at.weight[k], sample.size[k]
    by_u, by_v = np.float32(0.0), np.float32(0.0)
    if sample.features.shape[0] == 1:
        by_u, by_v = np.float32(centre[1, 0]), np.float32(centre[0, 0])
    for start in range(0, m, PIECE):
        stop = min(start + PIECE, m)
        if sample.features.shape[0] == 1:
            a, b = sample.features[0, u, start:stop], sample.features[0, v, start:stop]
            s, t = sum_moments(a, b, by_u, by_v, weight[start:stop])
        else:
            s, t = sum_feature_moments(
                sample.features[:, :, start:stop], u, v, centre, weight[start:stop]
            )
        first += s
        second += t
    first /= view.at.total[k]
    return first, max(second / view.at.total[k] - first * first, 0.0)


@lean
def tabulate_pair(view, x):
    """Log probabilities of the pair's states without its edge, of value x, into `view.pair.log_p`."""
    e, log_p, counts = view.pair.looked[0], view.pair.log_p, view.room.counts
    states, field, k = view.sample.states, view.field, block_of(view, e)
    u, v, K = field.edges[e, 0], field.edges[e, 1], field.basis.shape[1]
    count_pair(states[u], states[v], view.at.weight[k], view.sample.size[k], K, counts)
    for i in range(log_p.shape[0]):
        share = 0.0
        for lane in range(LANES):
            share += counts[lane, i]
        log_p[i] = np.log(share) if share > 0.0 else -np.inf
    subtract_edge(x, field.cells[e], log_p)
    view.pair.looked[1] = 1


@lean
def complete_look(view):
    """Make the table of the pair if it was not: that of an absent edge."""
    if view.pair.looked[1] == 0:
        tabulate_pair(view, 0.0)


@questions.look_at.register(MonteCarloView)
def look_at_in_sample(view, e, x):
    """Sum over the sample: moments of an absent edge, the table of a present one."""
    n, pair, excess, curvature = rows_of(view, e), view.pair, view.sample.excess, 0.0
    if excess.shape[0] > 0:
        curvature = np.float64(excess[e, e])
    pair.tilt[0], pair.tilt[1] = view.at.slope[e] - curvature * x, curvature
    pair.looked[0], pair.looked[1] = e, 0
    if x != 0.0:
        tabulate_pair(view, x)
        _, g, h = tilted_terms(view, e, 0.0)
    else:
        mean, variance = edge_moments(view, e)
        _, bend, stiffness = wall(view, e, 0.0)
        g = view.data.s[e] - n * (mean + pair.tilt[0]) - bend
        h = information_of(n, variance, curvature) + stiffness
    return 0.5 * g * g / h, h


@lean
def information_of(n, variance, curvature):
    """Information of n rows, kept positive: far from the reference the curvature may be nonsense."""
    return n * max(variance + curvature, 0.1 * variance, 1e-12)


@lean
def wall(view, e, x):
    """Log-likelihood that edge e loses at x beyond its wall, its slope and the information."""
    place = view.sample.place[e]
    beyond = abs(x - place) - view.walls.reach[e]
    if beyond <= 0.0:
        return 0.0, 0.0, 0.0
    k = STIFFNESS * rows_of(view, e) * view.walls.variances[e]
    return 0.5 * k * beyond * beyond, np.copysign(k * beyond, x - place), k


@lean
def tilted_terms(view, e, x):
    """Log-likelihood gained by moving edge e from 0 to x, its slope and information there, from the table."""
    complete_look(view)
    n = rows_of(view, e)
    s = view.data.s[e] - n * view.pair.tilt[0]
    value, slope, information = pair_terms(x, view.pair.log_p, view.field.cells[e], s, n)
    bend, (loss, loss_slope, loss_information) = n * view.pair.tilt[1], wall(view, e, x)
    return (
        value - 0.5 * bend * x * x - loss + wall(view, e, 0.0)[0],
        slope - bend * x - loss_slope,
        information_of(n, information / n, view.pair.tilt[1]) + loss_information,
    )


@questions.likelihood_terms.register(MonteCarloView)
def sampled_terms(view, e, x):
    """Compute the terms from the pair's table, in a kernel that several answers share."""
    return tilted_terms(view, e, x)


@questions.keep_look.register(MonteCarloView)
def keep_tilted_pair(view, slot):
    complete_look(view)
    pair, K2 = view.pair, view.pair.log_p.shape[0]
    copy(pair.log_p, pair.kept[slot, :K2])
    copy(pair.tilt, pair.kept[slot, K2:])


@questions.recall_look.register(MonteCarloView)
def recall_tilted_pair(view, slot):
    pair, K2 = view.pair, view.pair.log_p.shape[0]
    copy(pair.kept[slot, :K2], pair.log_p)
    copy(pair.kept[slot, K2:], pair.tilt)
    pair.looked[1] = 1


@questions.follow.register(MonteCarloView)
def follow_in_sample(view, e, old, new):
    """Multiply the weights, by factors with mean one, and move the slopes."""
    sample, field, k = view.sample, view.field, block_of(view, e)
    c = field.cells[e]
    after = pair_terms(new, view.pair.log_p, c, 0.0, 1.0)[0]
    before = pair_terms(old, view.pair.log_p, c, 0.0, 1.0)[0]
    for i in range(c.shape[0]):
        view.room.factor[i] = np.float32(np.exp((new - old) * c[i] + after - before))
    multiply_pair(sample, view.at, view.room.factor, field.edges[e, 0], field.edges[e, 1], k)
    if sample.excess.shape[0] > 0:
        add_row(sample.excess[e], new - old, view.at.slope)


@lean
def locate(view):
    """Bring the weights up to date with the view's parameters."""
    weigh(view.field, view.sample, view.at, view.room, view.w, view.beta)


@questions.add_slopes.register(MonteCarloView)
def add_slopes_of_sample(view, active, slope):
    """Log-likelihood and slopes, from all weights anew."""
    field, data, at, r, n_active = view.field, view.data, view.at, view.w.shape[0], active.shape[0]
    value = 0.0
    locate(view)
    for k in range(at.total.shape[0]):
        value -= data.n[view.sample.nodes[k]] * at.log_A[k]
        fill_shares(view.sample, at, view.room.counts, k)
    for e in range(r):
        value += view.w[e] * data.s[e] - wall(view, e, view.w[e])[0]
    for i in range(view.beta.shape[0]):
        value += view.beta[i] * data.t[i]
    for a in range(n_active):
        e = active[a]
        slope[a] += data.s[e] - rows_of(view, e) * slope_by_edge(field, view.sample, at, e)
        slope[a] -= wall(view, e, view.w[e])[1]
    for i in range(view.n_biases):
        n = data.n[i // field.basis.shape[0]]
        slope[n_active + i] += data.t[i] - n * slope_by_bias(field.basis, at, r, i)
    return value


@questions.is_trusted.register(MonteCarloView)
def sample_is_trusted(view):
    """Whether weights are even enough where the trajectory ended."""
    for k in range(view.at.share.shape[0]):
        if view.at.share[k] < TRUSTED_SHARE:
            return False
    return True


@blocks.take_out.register(MonteCarloView)
def take_block_out_of_sample(whole, view, e, x):
    """Count the weighted states of the pair, and take the block's table off; slopes of the cumulants at 0."""
    sample, data, room, first = whole.sample, whole.data, view.room, view.field.first[e]
    whole.pair.looked[0], whole.pair.looked[1] = first, 0
    tabulate_pair(whole, 0.0)
    take_table_off(whole, view, e, x, whole.pair.log_p)
    n = rows_of(whole, first)
    for i in range(x.shape[0]):
        tilt = whole.at.slope[first + i]
        if sample.excess.shape[0] > 0:
            for j in range(x.shape[0]):
                tilt -= np.float64(sample.excess[first + i, first + j]) * x[j]
        room.sums[i] = data.s[first + i] - n * tilt
        _, bend, stiffness = wall(whole, first + i, 0.0)
        room.score[i] -= n * tilt + bend
        room.information[i, i] += stiffness


@lean
def correction(whole, first, x):
    """Log-likelihood that the second cumulants and the walls of a block add at x, relative to 0."""
    sample, value, n = whole.sample, 0.0, rows_of(whole, first)
    for i in range(x.shape[0]):
        value -= wall(whole, first + i, x[i])[0] - wall(whole, first + i, 0.0)[0]
        if sample.excess.shape[0] > 0:
            for j in range(x.shape[0]):
                value -= 0.5 * n * x[i] * x[j] * np.float64(sample.excess[first + i, first + j])
    return value


@blocks.block_gain.register(MonteCarloView)
def sampled_block_gain(whole, view, e, x):
    field, room, first = whole.field, view.room, view.field.first[e]
    value = pair_gain(field, first, x, whole.pair.log_p, room.sums, rows_of(whole, first), room)
    return value + correction(whole, first, x)


@blocks.block_terms.register(MonteCarloView)
def sampled_block_terms(whole, view, e, x, g, H):
    """Compute the terms from the pair's table; the information is that of the sample alone."""
    field, room, first, n = (
        whole.field,
        view.room,
        view.field.first[e],
        rows_of(whole, view.field.first[e]),
    )
    value = pair_gain(field, first, x, whole.pair.log_p, room.sums, n, room) + correction(
        whole, first, x
    )
    fill_pair_moments(field, first, x.shape[0], room.sums, n, room, g, H)
    for i in range(x.shape[0]):
        _, bend, stiffness = wall(whole, first + i, x[i])
        g[i] -= bend
        H[i, i] += stiffness
        if whole.sample.excess.shape[0] > 0:
            for j in range(x.shape[0]):
                g[i] -= n * np.float64(whole.sample.excess[first + i, first + j]) * x[j]
    return value


@blocks.follow_block.register(MonteCarloView)
def follow_block_in_sample(whole, view, e, old, new):
    """Multiply the weights, by factors with mean one, and move the slopes."""
    sample, field, room, first = whole.sample, whole.field, view.room, view.field.first[e]
    k, u, v = block_of(whole, first), field.edges[first, 0], field.edges[first, 1]
    move = room.move[: new.shape[0]]
    for i in range(new.shape[0]):
        move[i] = new[i] - old[i]
    after = pair_gain(field, first, new, whole.pair.log_p, room.zero, 1.0, room)
    before = pair_gain(field, first, old, whole.pair.log_p, room.zero, 1.0, room)
    fill_table(field, first, move, room.table)
    for i in range(room.table.shape[0]):
        whole.room.factor[i] = np.float32(np.exp(room.table[i] + after - before))
    multiply_pair(sample, whole.at, whole.room.factor, u, v, k)
    if sample.excess.shape[0] > 0:
        for i in range(new.shape[0]):
            add_row(sample.excess[first + i], move[i], whole.at.slope)
