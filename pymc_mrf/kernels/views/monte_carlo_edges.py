"""View of the Monte Carlo likelihood for `edge_moves` and `hamiltonian` (Geyer & Thompson, 1992).

A sample of the field at fixed parameters, the reference, tells the log-partition function A elsewhere: with
delta the parameters less those of the reference and y_j = delta . f(z_j), f the statistics,

    A(delta) - A(0) = log mean_j exp(y_j) + gap . delta + delta' excess delta / 2.

The second and third terms replace the sample's first two cumulants by those of a longer simulation, so that
the sample has to supply the third and higher ones only, which are small. The likelihood is a fixed, smooth
function: nothing is simulated while it is sampled from.

Parameters are those of the edges (r,) and the centred biases (d q,), in this order p of them; statistics are
the cells of the edges and the basis of the nodes. In single precision are what is as long as the sample, m,
and `excess`; sums are added in double precision over pieces of the sample.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit, lean
from pymc_mrf.kernels.views import questions
from pymc_mrf.kernels.views.exact_edges import pair_terms, rows_of, subtract_edge
from pymc_mrf.kernels.views.questions import Field
from pymc_mrf.kernels.views.sample_sums import (
    LANES,
    add_products,
    add_row,
    add_table,
    count_pair,
    exponentiate,
    largest_of,
    multiply_weights,
    row_product,
    sum_feature_moments,
    sum_moments,
    sum_pair,
    sum_powers,
)

PIECE = 1024
"""Points of the sample that are added in single precision, and that stay in the nearest cache."""

REACH, STIFFNESS = 1.5, 10.0
"""How far the parameter of an edge is from the reference where a wall begins, in units of one over the
standard deviation of its statistic, and the curvature of the wall, in units of the information. Far away the
sample says nothing, and `excess`, if negative, would make any likelihood infinite; there is no posterior
there."""

TRUSTED_SHARE = 0.01
"""Effective share of the weights below which joint moves do not go: nothing is known there."""


class Sample(NamedTuple):
    """States of the field at the reference, of each of B blocks, and the cumulants of a longer simulation.

    Attributes
    ----------
    size : (B,) int64 array
        Points of each block, even; m is the largest of them.
    nodes, edges : (B + 1,) int64 arrays
        Nodes nodes[b] to nodes[b + 1] are those of block b, and so on.
    block : (d,) int64 array
        Of each node.
    states : (d, m) int8 array
    features : (M, d, m) float32 array
    place : (p,) array
        Parameters of the reference.
    gap : (p,) array
        Means of the statistics in the longer simulation less those in the sample.
    excess : (p, p) float32 array
        Covariances, the same; (0, 0) if only the means are known.
    apart : (p,) array
        Half the difference of the means in both halves of the longer simulation.
    variances : (p,) array
        Of the statistics in the longer simulation.
    reach : (r,) array
        How far from the reference the wall of each edge begins.
    limit : (p,) array
        How far from the reference each parameter counts in the cumulants, infinite for those with a wall: far
        away a quadratic function is wrong, and the sample alone pulls parameters back. Of biases of all
        states of a node, how far from their mean.
    """

    size: np.ndarray
    nodes: np.ndarray
    edges: np.ndarray
    block: np.ndarray
    states: np.ndarray
    features: np.ndarray
    place: np.ndarray
    gap: np.ndarray
    excess: np.ndarray
    apart: np.ndarray
    variances: np.ndarray
    reach: np.ndarray
    limit: np.ndarray


class MonteCarloEdges(NamedTuple):
    """A field by a sample of it.

    Attributes
    ----------
    field : Field
        Edges and nodes of a block follow one another.
    w, b, beta : (r,), (d q,), (d q,) arrays
        Present parameters: weights, biases, centred biases.
    n_biases : int
        d q if the biases move, else 0.
    log_p : (K K,) array
        Log probabilities of the states of the edge's pair without it.
    kept : (blocks, K K + 2) array
        The same, kept, and `tilt`.
    tilt : (2,) array
        Slope, at 0, of `gap` and `excess` by the edge that is looked at; its curvature.
    looked : (2,) int64 array
        The edge that is looked at, and 1 if `log_p` is its table.
    sample : Sample
    delta : (p,) array
        Parameters less those of the reference, by `locate`.
    bounded : (p,) array
        The same, within the limits.
    slope : (p,) array
        gap + excess bounded.
    y, weight : (B, m) float32 arrays
        Scratch; weights exp(y) of the points, up to a factor.
    total : (B,) array
        Sums of the weights.
    log_A : (B,) array
        Log-partition functions at the last `locate`, relative to the reference.
    share : (B,) array
        Effective shares of the weights at the last `locate`.
    spread : (B,) array
        Variances of y in the samples there: delta' Sigma delta, Sigma the covariance of the statistics.
    apart : (B,) array
        Half the difference of what both halves of each sample, and of the simulation, say of A there.
    counts : (LANES, K K) array
        Scratch.
    factor : (K K,) float32 array
        Scratch.
    tables : (d, K) float32 array
        Scratch: what the nodes add to y.
    shares : (d, K) array
        Scratch: expected states of nodes.
    """

    field: Field
    w: np.ndarray
    b: np.ndarray
    beta: np.ndarray
    n_biases: int
    log_p: np.ndarray
    kept: np.ndarray
    tilt: np.ndarray
    looked: np.ndarray
    sample: Sample
    delta: np.ndarray
    bounded: np.ndarray
    slope: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    total: np.ndarray
    log_A: np.ndarray
    share: np.ndarray
    spread: np.ndarray
    apart: np.ndarray
    counts: np.ndarray
    factor: np.ndarray
    tables: np.ndarray
    shares: np.ndarray


@lean
def block_of(view, e):
    """Block of edge e."""
    return view.sample.block[view.field.edges[e, 0]]


@lean
def edge_moments(view, e):
    """Weighted mean and variance of the statistic of edge e."""
    sample, field, k = view.sample, view.field, block_of(view, e)
    u, v, centre, first, second = field.edges[e, 0], field.edges[e, 1], field.centre[e], 0.0, 0.0
    weight, m = view.weight[k], sample.size[k]
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
    first /= view.total[k]
    return first, max(second / view.total[k] - first * first, 0.0)


@lean
def tabulate_pair(view, x):
    """Log probabilities of the pair's states without its edge, of value x, into `view.log_p`."""
    e = view.looked[0]
    sample, field, k = view.sample, view.field, block_of(view, e)
    u, v = field.edges[e, 0], field.edges[e, 1]
    count_pair(
        sample.states[u],
        sample.states[v],
        view.weight[k],
        sample.size[k],
        field.floor.shape[1],
        view.counts,
    )
    for i in range(view.log_p.shape[0]):
        share = 0.0
        for lane in range(LANES):
            share += view.counts[lane, i]
        view.log_p[i] = np.log(share) if share > 0.0 else -np.inf
    subtract_edge(x, field.cells[e], view.log_p)
    view.looked[1] = 1


@lean
def complete_look(view):
    """Make the table of the pair if it was not: that of an absent edge."""
    if view.looked[1] == 0:
        tabulate_pair(view, 0.0)


@questions.look_at.register(MonteCarloEdges)
def look_at_in_sample(view, e, x):
    """Sum over the sample: moments of an absent edge, the table of a present one."""
    n, excess, curvature = rows_of(view.field, e), view.sample.excess, 0.0
    if excess.shape[0] > 0:
        curvature = np.float64(excess[e, e])
    view.tilt[0], view.tilt[1] = view.slope[e] - curvature * x, curvature
    view.looked[0], view.looked[1] = e, 0
    if x != 0.0:
        tabulate_pair(view, x)
        _, g, h = tilted_terms(view, e, 0.0)
    else:
        mean, variance = edge_moments(view, e)
        _, bend, stiffness = wall(view, e, 0.0)
        g = view.field.s[e] - n * (mean + view.tilt[0]) - bend
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
    beyond = abs(x - place) - view.sample.reach[e]
    if beyond <= 0.0:
        return 0.0, 0.0, 0.0
    k = STIFFNESS * rows_of(view.field, e) * view.sample.variances[e]
    return 0.5 * k * beyond * beyond, np.copysign(k * beyond, x - place), k


@lean
def tilted_terms(view, e, x):
    """Log-likelihood gained by moving edge e from 0 to x, its slope and information there, from the table."""
    complete_look(view)
    n = rows_of(view.field, e)
    s = view.field.s[e] - n * view.tilt[0]
    value, slope, information = pair_terms(x, view.log_p, view.field.cells[e], s, n)
    bend, (loss, loss_slope, loss_information) = n * view.tilt[1], wall(view, e, x)
    return (
        value - 0.5 * bend * x * x - loss + wall(view, e, 0.0)[0],
        slope - bend * x - loss_slope,
        information_of(n, information / n, view.tilt[1]) + loss_information,
    )


@questions.without_edge.register(MonteCarloEdges)
def without_sampled_edge(view, e):
    """Compute both from the pair's table."""
    _, g, h = tilted_terms(view, e, 0.0)
    return g, h


@questions.likelihood_terms.register(MonteCarloEdges)
def sampled_terms(view, e, x):
    """Compute the terms from the pair's table."""
    return tilted_terms(view, e, x)


@questions.gain.register(MonteCarloEdges)
def sampled_gain(view, e, x):
    """Compute the gain from the pair's table."""
    return tilted_terms(view, e, x)[0]


@questions.keep_look.register(MonteCarloEdges)
def keep_tilted_pair(view, slot):
    """Copy the pair's table and the tilt."""
    complete_look(view)
    for k in range(view.log_p.shape[0]):
        view.kept[slot, k] = view.log_p[k]
    view.kept[slot, view.log_p.shape[0]] = view.tilt[0]
    view.kept[slot, view.log_p.shape[0] + 1] = view.tilt[1]


@questions.recall_look.register(MonteCarloEdges)
def recall_tilted_pair(view, slot):
    """Copy them back."""
    for k in range(view.log_p.shape[0]):
        view.log_p[k] = view.kept[slot, k]
    view.tilt[0] = view.kept[slot, view.log_p.shape[0]]
    view.tilt[1] = view.kept[slot, view.log_p.shape[0] + 1]
    view.looked[1] = 1


@lean
def multiply_all(states_u, states_v, K, view, k):
    """Multiply the weights of block k by `view.factor`; their new sum.

    `states_u` and `states_v` (m,): states of the pair.
    """
    total, m = 0.0, view.sample.size[k]
    for start in range(0, m, PIECE):
        stop = min(start + PIECE, m)
        a, b = states_u[start:stop], states_v[start:stop]
        total += multiply_weights(a, b, K, view.factor, view.weight[k, start:stop])
    return total


@questions.follow.register(MonteCarloEdges)
def follow_in_sample(view, e, old, new):
    """Multiply the weights, by factors with mean one, and move the slopes."""
    sample, field, k = view.sample, view.field, block_of(view, e)
    c, u, v, K = field.cells[e], field.edges[e, 0], field.edges[e, 1], field.floor.shape[1]
    after, before = (
        pair_terms(new, view.log_p, c, 0.0, 1.0)[0],
        pair_terms(old, view.log_p, c, 0.0, 1.0)[0],
    )
    for i in range(c.shape[0]):
        view.factor[i] = np.float32(np.exp((new - old) * c[i] + after - before))
    view.total[k] = multiply_all(sample.states[u], sample.states[v], K, view, k)
    if sample.excess.shape[0] > 0:
        add_row(sample.excess[e], new - old, view.slope)


@lean
def places_of_states(view, i):
    """Return the places of the biases of all states of bias i's node; none if a state has no bias."""
    r, (q, K) = view.w.shape[0], view.field.basis.shape
    first = r + i // q * q
    return range(first, first + q if q == K else first)


@lean
def common_displacement(view, i):
    """Return by how much the biases of all states of a node have moved, which changes nothing."""
    total = 0.0
    for k in places_of_states(view, i):
        total += view.delta[k]
    return total / view.field.basis.shape[0]


@lean
def slope_within(view, i):
    """Slope of the cumulants by parameter i: none beyond its limit."""
    return view.slope[i] if view.bounded[i] == view.delta[i] else 0.0


@lean
def common_slope(view, i):
    """Return the slope of the cumulants by `common_displacement`, with which biases beyond limits move."""
    total = 0.0
    for k in places_of_states(view, i):
        total += view.slope[k] - slope_within(view, k)
    return total / view.field.basis.shape[0]


@lean
def fill_displacement(view):
    """Parameters less those of the reference, `view.delta`, and slopes, `view.slope`."""
    sample, r = view.sample, view.w.shape[0]
    for e in range(r):
        view.delta[e] = view.w[e] - sample.place[e]
    for i in range(view.beta.shape[0]):
        view.delta[r + i] = view.beta[i] - sample.place[r + i]
    for e in range(r):
        view.bounded[e] = min(max(view.delta[e], -sample.limit[e]), sample.limit[e])
    for i in range(view.beta.shape[0]):
        common = common_displacement(view, i)
        if abs(view.delta[r + i] - common) <= sample.limit[r + i]:
            view.bounded[r + i] = view.delta[r + i]
        else:
            beyond = np.copysign(sample.limit[r + i], view.delta[r + i] - common)
            view.bounded[r + i] = common + beyond
    for i in range(view.delta.shape[0]):
        view.slope[i] = sample.gap[i]
        if sample.excess.shape[0] > 0:
            view.slope[i] += row_product(sample.excess[i], view.bounded)


@lean
def fill_tables_of_nodes(view):
    """Fill `view.tables`, what nodes add to y: their biases, and what is taken from the features of edges."""
    field, r, q = view.field, view.w.shape[0], view.field.basis.shape[0]
    for i in range(field.floor.shape[0]):
        for a in range(field.floor.shape[1]):
            value = 0.0
            for k in range(q):
                value += view.delta[r + i * q + k] * field.basis[k, a]
            view.tables[i, a] = value
    for e in range(r):
        if view.delta[e] != 0.0:
            for end in range(2):
                i = field.edges[e, end]
                for a in range(field.floor.shape[1]):
                    value = 0.0
                    for l in range(field.features.shape[1]):
                        value += field.centre[e, 1 - end, l] * field.features[i, l, a]
                    view.tables[i, a] -= view.delta[e] * value


@lean
def fill_exponents(view, k):
    """Fill y of the sample of block k."""
    sample, field, y = view.sample, view.field, view.y[k]
    m = sample.size[k]
    for start in range(0, m, PIECE):
        stop = min(start + PIECE, m)
        piece = y[start:stop]
        for j in range(piece.shape[0]):
            piece[j] = np.float32(0.0)
        for i in range(sample.nodes[k], sample.nodes[k + 1]):
            add_table(sample.states[i, start:stop], view.tables[i], piece)
        for e in range(sample.edges[k], sample.edges[k + 1]):
            move = np.float32(view.delta[e])
            if move != 0.0:
                u, v = field.edges[e, 0], field.edges[e, 1]
                for t in range(field.products.shape[1]):
                    a = sample.features[field.products[e, t, 0], u, start:stop]
                    b = sample.features[field.products[e, t, 1], v, start:stop]
                    add_products(a, b, move, piece)


@lean
def weigh_half(y, top, weight, start, stop):
    """Fill `weight` (m,) from `start` to `stop`, from `y` (m,); sums of it, its squares, y and y^2."""
    total, square, first, second = 0.0, 0.0, 0.0, 0.0
    for begin in range(start, stop, PIECE):
        end = min(begin + PIECE, stop)
        s, t = exponentiate(y[begin:end], top, weight[begin:end])
        total += s
        square += t
        s, t = sum_powers(y[begin:end])
        first += s
        second += t
    return total, square, first, second


@lean
def remainder(total, first, second, m, share):
    """Log mean of exp(y) less its mean and `share` of half its variance, from sums over m points."""
    mean = first / m
    return np.log(total / m) - mean - 0.5 * share * (second / m - mean * mean)


@lean
def locate(view):
    """Bring weights and slopes up to date with the parameters, and `view.log_A`."""
    sample = view.sample
    fill_displacement(view)
    fill_tables_of_nodes(view)
    r, q = view.w.shape[0], view.field.basis.shape[0]
    for k in range(sample.size.shape[0]):
        fill_exponents(view, k)
        y, weight, m = view.y[k], view.weight[k], sample.size[k]
        top = largest_of(y, m)
        total, square, first, second = weigh_half(y, top, weight, 0, m // 2)
        more, more_square, more_first, more_second = weigh_half(y, top, weight, m // 2, m)
        half, known = 0.5 * m, 1.0 if sample.excess.shape[0] > 0 else 0.0
        apart = remainder(total, first, second, half, known)
        apart -= remainder(more, more_first, more_second, half, known)
        view.total[k] = total + more
        view.share[k] = view.total[k] ** 2 / (m * (square + more_square))
        view.spread[k] = max((second + more_second) / m - ((first + more_first) / m) ** 2, 0.0)
        correction, linear = 0.0, 0.0
        for i in range(sample.edges[k], sample.edges[k + 1]):
            correction += view.bounded[i] * (sample.gap[i] + view.slope[i])
            linear += view.bounded[i] * sample.apart[i]
        for i in range(r + q * sample.nodes[k], r + q * sample.nodes[k + 1]):
            correction += view.bounded[i] * (sample.gap[i] + view.slope[i])
            linear += view.bounded[i] * sample.apart[i]
        view.log_A[k] = top + np.log(view.total[k] / m) + 0.5 * correction
        view.apart[k] = 0.5 * apart + linear


@lean
def fill_shares(view, k):
    """Weighted shares of the states of the nodes of block k, `view.shares`."""
    sample, weight, K = view.sample, view.weight[k], view.shares.shape[1]
    m, counts = sample.size[k], view.counts
    for i in range(sample.nodes[k], sample.nodes[k + 1]):
        states = sample.states[i]
        for lane in range(LANES):
            for a in range(K):
                counts[lane, a] = 0.0
        for j in range(0, m - LANES + 1, LANES):
            for lane in range(LANES):
                counts[lane, states[j + lane]] += weight[j + lane]
        for j in range(m - m % LANES, m):
            counts[0, states[j]] += weight[j]
        for a in range(K):
            view.shares[i, a] = 0.0
            for lane in range(LANES):
                view.shares[i, a] += counts[lane, a] / view.total[k]


@lean
def mean_of_edge(view, e, k):
    """Weighted mean of the statistic of edge e, of block k, after `fill_shares`."""
    sample, field, value = view.sample, view.field, 0.0
    u, v, m = field.edges[e, 0], field.edges[e, 1], sample.size[k]
    for start in range(0, m, PIECE):
        stop = min(start + PIECE, m)
        for t in range(field.products.shape[1]):
            a = sample.features[field.products[e, t, 0], u, start:stop]
            b = sample.features[field.products[e, t, 1], v, start:stop]
            value += sum_pair(a, b, view.weight[k, start:stop])
    value /= view.total[k]
    for l in range(field.features.shape[1]):
        for a in range(view.shares.shape[1]):
            value -= field.centre[e, 1, l] * view.shares[u, a] * field.features[u, l, a]
            value -= field.centre[e, 0, l] * view.shares[v, a] * field.features[v, l, a]
    return value


@questions.add_slopes.register(MonteCarloEdges)
def add_slopes_of_sample(view, active, slope):
    """Log-likelihood and slopes, from all weights anew."""
    field, r, q, n_active = view.field, view.w.shape[0], view.field.basis.shape[0], active.shape[0]
    locate(view)
    value = 0.0
    for k in range(view.total.shape[0]):
        value -= field.n[view.sample.nodes[k]] * view.log_A[k]
        fill_shares(view, k)
    for e in range(r):
        value += view.w[e] * field.s[e] - wall(view, e, view.w[e])[0]
    for i in range(view.beta.shape[0]):
        value += view.beta[i] * field.t[i]
    for a in range(n_active):
        e = active[a]
        mean = mean_of_edge(view, e, block_of(view, e))
        slope[a] += field.s[e] - rows_of(field, e) * (mean + slope_within(view, e))
        slope[a] -= wall(view, e, view.w[e])[1]
    for i in range(view.n_biases):
        mean = slope_within(view, r + i) + common_slope(view, i)
        for a in range(view.shares.shape[1]):
            mean += view.shares[i // q, a] * field.basis[i % q, a]
        slope[n_active + i] += field.t[i] - field.n[i // q] * mean
    return value


@questions.is_trusted.register(MonteCarloEdges)
def sample_is_trusted(view):
    """Whether weights are even enough where the trajectory ended."""
    for k in range(view.share.shape[0]):
        if view.share[k] < TRUSTED_SHARE:
            return False
    return True


@jit
def log_partition_by_sample(
    natural, edges, products, features, basis, sampled, states, place, gap, excess, limit, gradient
):
    """Evaluate the log-partition function of one field, less that at the reference, and its gradient.

    Parameters
    ----------
    natural : (p,) array
        Where. Edges first; nodes as they are, not centred.
    edges : (r, 2) int64 array
    products : (r, L, 2) int64 array
    features : (d, M, K) array
    basis : (q, K) array
    sampled : (M, d, m) float32 array
        Features of the sample.
    states : (d, m) int8 array
    place, gap, excess, limit : arrays
        As in `Sample`.
    gradient : (p,) array
    """
    (M, d, m), r, (q, K), p = sampled.shape, edges.shape[0], basis.shape, natural.shape[0]
    one, no_edges, no_nodes = np.ones(d), np.zeros(r), np.zeros(d * q)
    cells = np.zeros((r, K * K))
    field = Field(
        edges, np.arange(r), products, np.arange(r), one, features, basis, np.zeros((d, K)), np.zeros((r, 2,
        M)), np.zeros((d * q, M)), no_edges, no_edges, no_nodes, cells, cells, 0.0,
    )  # fmt: skip
    sample = Sample(
        np.full(1, m), np.array([0, d]), np.array([0, r]), np.zeros(d, np.int64), states, sampled, place, gap,
        excess, np.zeros(p), np.ones(p), np.full(r, np.inf), limit,
    )  # fmt: skip
    w, b = natural[:r].copy(), natural[r:].copy()
    view = MonteCarloEdges(
        field, w, b, b, d * q, np.zeros(K * K), np.zeros((1, K * K + 2)), np.zeros(2), np.zeros(2, np.int64),
        sample, np.zeros(p), np.zeros(p), np.zeros(p), np.zeros((1, m), np.float32),
        np.zeros((1, m), np.float32), np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1),
        np.zeros((LANES, K * K)), np.zeros(K * K, np.float32), np.zeros((d, K), np.float32), np.zeros((d, K)),
    )  # fmt: skip
    gradient[:] = 0.0
    value = add_slopes_of_sample(view, np.arange(r), gradient)
    for i in range(p):
        gradient[i] = -gradient[i]
    return -value
