"""Edges of a mixed field where the states of the answers are listed: answers to `block_edges`.

The measurements are integrated out (`pymc_mrf.kernels.mixed`), so that the normaliser is a sum over the
listed states: all of them, or a sample with weights. What changes with an edge is seen state by state:

- between answers, the probabilities of the states of the pair are multiplied by exp(x c), as in
  `table_blocks`;
- between an answer and a measurement j, which the answer moves by g, by exp(g m_j + g^2 S_jj / 2);
- between measurements, the precision changes in one entry and its inverse S by rank 2, and with it m and phi
  (`move_precision`).

In all functions values `x` (W,), `old` and `new` (W,), slopes `g` (W,) and information `H` (W, W) are as in
`block_edges`.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.gaussian import ILL, add_rank_two, brought_within, origin, rank_two
from pymc_mrf.kernels.mixed import (
    MIXED,
    OF_ANSWERS,
    Layout,
    Listed,
    Weighted,
    fill_product_means,
    fill_state_weights,
    sum_by_states,
)
from pymc_mrf.kernels.vector_sums import LOWEST, copy, dot, exp_negative, largest, total
from pymc_mrf.kernels.views import block_edges as blocks
from pymc_mrf.kernels.views import questions
from pymc_mrf.kernels.views.mixed_tilts import (
    answer_value,
    fill_answer_moments,
    fill_pair,
    follow_answer,
    normalise,
)
from pymc_mrf.kernels.views.mixed_views import (
    MixedData,
    absence_outside_the_cone,
    find_limits,
    measurement_of,
)
from pymc_mrf.kernels.views.table_blocks import fill_pair_moments, fill_table, pair_gain, take_table_off


class ListRoom(NamedTuple):
    """Scratch.

    Attributes
    ----------
    tilt, tilted : (N,) arrays
        Change of the log weights, and the probabilities after it.
    moves : (K,) array
        How far each state of an answer moves h.
    by_state : (3, K) array
        Mass, and first and second moments of the measurement, by the state of the answer.
    shares : (a, K) array
        Probabilities of the states of each answer.
    diagonal, seconds : (c,) arrays
        Of the precision, and expected sums over rows of the squares of the measurements.
    products : (P,) array
        Means of what the parameters multiply.
    """

    tilt: np.ndarray
    tilted: np.ndarray
    moves: np.ndarray
    by_state: np.ndarray
    shares: np.ndarray
    diagonal: np.ndarray
    seconds: np.ndarray
    products: np.ndarray


class MixedView(NamedTuple):
    """Listed states, data and present parameters.

    Attributes
    ----------
    field : questions.Field
    data : MixedData
    layout : Layout
    states : Listed
    at : Weighted
        The states at the present parameters.
    w : (P,) array
    b : (a K + c,) array
        Biases of the states of the answers, and the log of the diagonal of the precision.
    beta : (a K + c,) array
        Centred.
    n_biases : int
        a K + c if they are moved, else 0.
    log_p : (K K,) array
        Of the states of the pair that is looked at, without its edge.
    look : (1,) record array of `LOOK`
    least_share : float
        Effective share of the states below which their weights are not trusted; 0 if all are listed.
    room : ListRoom
    """

    field: questions.Field
    data: MixedData
    layout: Layout
    states: Listed
    at: Weighted
    w: np.ndarray
    b: np.ndarray
    beta: np.ndarray
    n_biases: int
    log_p: np.ndarray
    look: np.ndarray
    least_share: float
    room: ListRoom


blocks.absence.register(MixedView)(absence_outside_the_cone)


@lean
def refresh(view):
    """List the probabilities at the view's parameters; return the log-likelihood but for the data's part."""
    places = view.layout.cards.shape[0] * view.layout.features.shape[1]
    for j in range(view.room.diagonal.shape[0]):
        view.room.diagonal[j] = np.exp(view.b[places + j])
    log_sum, log_det = fill_state_weights(
        view.layout, view.states, view.w, view.b, view.room.diagonal, view.at
    )
    return view.data.n[0] * (0.5 * log_det - log_sum)


@lean
def change_rows(S, i, j, own_i, both, own_j):
    """Return how m_i and m_j turn with `S` (c, c), four numbers, and S_ii, S_ij and S_jj afterwards."""
    ii, ij, jj = S[i, i], S[i, j], S[j, j]
    turn = (
        1.0 + own_i * ii + both * ij,
        both * ii + own_j * ij,
        own_i * ij + both * jj,
        1.0 + both * ij + own_j * jj,
    )
    s_ii = ii + own_i * ii * ii + 2.0 * both * ii * ij + own_j * ij * ij
    s_ij = ij + own_i * ii * ij + both * (ii * jj + ij * ij) + own_j * ij * jj
    s_jj = jj + own_i * ij * ij + 2.0 * both * ij * jj + own_j * jj * jj
    return turn, (s_ii, s_ij, s_jj)


@lean
def measured_value(view, first, y):
    """Log-likelihood gained by a weight between measurements that is y above the present one.

    Within the cone. Mean and variance there, by a row, go to `look`, the probabilities of the states to
    `tilted`.
    """
    look, p, n, tilt, tilted = view.look[0], view.at.p, view.data.n[0], view.room.tilt, view.room.tilted
    top = 0.0
    i, j = measurement_of(view, first, 0), measurement_of(view, first, 1)
    m_i, m_j = view.at.m[i], view.at.m[j]
    own_i, both, own_j, f = rank_two(view.at.S, i, j, y)
    if y != 0.0:
        for s in range(p.shape[0]):
            tilt[s] = 0.5 * (own_i * m_i[s] * m_i[s] + own_j * m_j[s] * m_j[s]) + both * m_i[s] * m_j[s]
        top = largest(tilt)
        for s in range(p.shape[0]):
            tilted[s] = p[s] * exp_negative(max(tilt[s] - top, LOWEST))
    else:
        copy(p, tilted)
    mass, first_moment, second = total(tilted), 0.0, 0.0
    turn, (s_ii, s_ij, s_jj) = change_rows(view.at.S, i, j, own_i, both, own_j)
    for s in range(p.shape[0]):
        u, v = turn[0] * m_i[s] + turn[1] * m_j[s], turn[2] * m_i[s] + turn[3] * m_j[s]
        mean = s_ij + u * v
        variance = s_ii * s_jj + s_ij * s_ij + u * u * s_jj + v * v * s_ii + 2.0 * u * v * s_ij
        first_moment += tilted[s] * mean
        second += tilted[s] * (mean * mean + variance)
    look.mean = first_moment / mass
    look.variance = max(second / mass - look.mean**2, 0.0)
    return y * view.data.s[first] + n * (0.5 * np.log(f) - top - np.log(mass))


@lean
def look_at_measured(view, first):
    """Do what `find_limits` does, and find the log-likelihood without the edge."""
    find_limits(view, first)
    look = view.look[0]
    look.before = measured_value(view, first, origin(look) - view.w[first])


@lean
def terms_in_cone(view, first, x):
    """Log-likelihood gained at weight x, slope and information; beyond INNER a parabola's."""
    look, n = view.look[0], view.data.n[0]
    inside = brought_within(look, x)
    value = measured_value(view, first, inside - view.w[first]) - look.before
    slope, information, beyond = view.data.s[first] - n * look.mean, n * look.variance, x - inside
    value += (slope - 0.5 * information * beyond) * beyond
    return value, slope - information * beyond, information


@lean
def measured_gain(view, first, x):
    """Log-likelihood gained at weight x; -inf outside of the cone."""
    look = view.look[0]
    if not look.low < x < look.high:
        return -np.inf
    return measured_value(view, first, x - view.w[first]) - look.before


@lean
def move_precision(view, i, j, own_i, both, own_j):
    """Move the means and the covariance of the measurements by `rank_two`."""
    S, m, by_i, by_j = view.at.S, view.at.m, view.room.tilt, view.room.tilted
    for s in range(by_i.shape[0]):
        by_i[s] = own_i * m[i, s] + both * m[j, s]
        by_j[s] = both * m[i, s] + own_j * m[j, s]
    for k in range(S.shape[0]):
        a, b, row = S[k, i], S[k, j], m[k]
        for s in range(by_i.shape[0]):
            row[s] += a * by_i[s] + b * by_j[s]
    add_rank_two(S, i, j, own_i, both, own_j, view.at.L)


# Answers to the questions of blocks


@blocks.take_out.register(MixedView)
def take_block_out_of_list(whole, view, e, x):
    """Sum over the listed states what the edge changes."""
    first, room, kind = view.field.first[e], view.room, whole.layout.kind[view.field.first[e]]
    width = x.shape[0]
    if kind == OF_ANSWERS:
        fill_pair(whole, first)
        take_table_off(whole, view, e, x, whole.log_p)
    elif kind == MIXED:
        whole.look[0].before = answer_value(whole, first, room.zero[:width])
        fill_answer_moments(whole, first, width, room.score, room.information)
    else:
        look_at_measured(whole, first)
        _, room.score[0], room.information[0, 0] = terms_in_cone(whole, first, 0.0)


@blocks.block_terms.register(MixedView)
def block_terms_of_list(whole, view, e, x, g, H):
    """Compute the terms from the listed states."""
    field, first, width = whole.field, view.field.first[e], x.shape[0]
    kind = whole.layout.kind[first]
    if kind == OF_ANSWERS:
        s = whole.data.s[first : first + width]
        value = pair_gain(field, first, x, whole.log_p, s, whole.data.n[0], view.room)
        fill_pair_moments(field, first, width, s, whole.data.n[0], view.room, g, H)
    elif kind == MIXED:
        value = answer_value(whole, first, x) - whole.look[0].before
        fill_answer_moments(whole, first, width, g, H)
    else:
        value, g[0], H[0, 0] = terms_in_cone(whole, first, x[0])
    return value


@blocks.block_gain.register(MixedView)
def block_gain_of_list(whole, view, e, x):
    """Compute the gain from the listed states."""
    field, first, kind = whole.field, view.field.first[e], whole.layout.kind[view.field.first[e]]
    if kind == OF_ANSWERS:
        s = whole.data.s[first : first + x.shape[0]]
        return pair_gain(field, first, x, whole.log_p, s, whole.data.n[0], view.room)
    if kind == MIXED:
        return answer_value(whole, first, x) - whole.look[0].before
    return measured_gain(whole, first, x[0])


@blocks.follow_block.register(MixedView)
def follow_block_in_list(whole, view, e, old, new):
    """Multiply the probabilities of the states, and move the measurements."""
    first, room, kind = view.field.first[e], view.room, whole.layout.kind[view.field.first[e]]
    K, p, move = whole.layout.features.shape[1], whole.at.p, room.move[: new.shape[0]]
    for k in range(new.shape[0]):
        move[k] = new[k] - old[k]
    if kind == OF_ANSWERS:
        x = whole.states.states[whole.field.edges[first, 0]]
        y = whole.states.states[whole.field.edges[first, 1]]
        fill_table(whole.field, first, move, room.table)
        for k in range(room.table.shape[0]):
            room.table[k] = np.exp(room.table[k])
        for s in range(p.shape[0]):
            p[s] *= room.table[x[s] * K + y[s]]
        normalise(p)
    elif kind == MIXED:
        follow_answer(whole, first, move)
    else:
        follow_measured(whole, first, move[0])


@lean
def follow_measured(whole, first, y):
    """Move the weight of an edge between measurements by y."""
    i, j = measurement_of(whole, first, 0), measurement_of(whole, first, 1)
    own_i, both, own_j, f = rank_two(whole.at.S, i, j, y)
    if f < ILL:
        refresh(whole)
        return
    measured_value(whole, first, y)
    copy(whole.room.tilted, whole.at.p)
    normalise(whole.at.p)
    move_precision(whole, i, j, own_i, both, own_j)


# Answers to joint moves


@questions.add_slopes.register(MixedView)
def add_mixed_slopes(view, active, slope):
    """Add the slopes at the view's parameters; outside of the cone there are none, and the value is -inf."""
    layout, at, room, n, k = view.layout, view.at, view.room, view.data.n[0], active.shape[0]
    value = refresh(view)
    if not np.isfinite(value):
        return -np.inf
    for i in range(room.shares.shape[0]):
        sum_by_states(view.states.states[i], at.p, room.shares[i])
    fill_product_means(layout, view.states, at, active, room.tilt, room.products[:k])
    for i in range(k):
        e = active[i]
        p, q, mean = layout.pairs[e, 0], layout.pairs[e, 1], room.products[i]
        if layout.kind[e] <= MIXED:
            mean -= taken_from(view, e, 0) * feature_mean(view, p)
        if layout.kind[e] == OF_ANSWERS:
            mean -= taken_from(view, e, 1) * feature_mean(view, q)
        slope[i] += view.data.s[e] - n * mean
    for j in range(room.seconds.shape[0]):
        m = at.m[j]
        for s in range(m.shape[0]):
            room.tilt[s] = at.p[s] * m[s]
        room.seconds[j] = n * (at.S[j, j] + dot(room.tilt, m))
    add_bias_slopes(view, room.shares, n, slope[k:])
    return value + data_value(view)


@lean
def data_value(view):
    """Return the sums over rows that the view's parameters multiply, times these."""
    data, value = view.data, 0.0
    for e in range(view.w.shape[0]):
        value += view.w[e] * data.sums[e]
    for i in range(data.t.shape[0]):
        value += view.b[i] * data.t[i]
    for j in range(data.squares.shape[0]):
        value -= 0.5 * view.room.diagonal[j] * data.squares[j]
    return value


@lean
def add_bias_slopes(view, shares, n, slope):
    """Add the slopes by the biases to `slope` (n_biases,), if they move.

    Of the states of answers n times `shares` (a, K) are expected, and `seconds` as sums of squares.
    """
    data, K = view.data, shares.shape[1]
    if view.n_biases > 0:
        for i in range(data.t.shape[0]):
            slope[i] += data.t[i] - n * shares[i // K, i % K]
        for j in range(data.squares.shape[0]):
            beyond = view.room.seconds[j] - data.squares[j]
            slope[data.t.shape[0] + j] += 0.5 * view.room.diagonal[j] * beyond


@lean
def taken_from(view, e, end):
    """Return what is taken from what is at the other end, as one end sees it by parameter e.

    Nothing if this end is a measurement.
    """
    p = view.layout.pairs[e, end]
    if p >= view.layout.owner.shape[0]:
        return 0.0
    return view.field.centre[e, 1 - end, p - view.layout.first[view.layout.owner[p]]]


@lean
def feature_mean(view, p):
    """Mean of feature p of an answer, from the probabilities of its states."""
    value, shares = 0.0, view.room.shares[view.layout.owner[p]]
    for a in range(shares.shape[0]):
        value += shares[a] * view.layout.features[p, a]
    return value


@questions.is_trusted.register(MixedView)
def list_is_trusted(view):
    """Whether the weights of the states are even enough."""
    return 1.0 >= view.least_share * view.at.p.shape[0] * dot(view.at.p, view.at.p)
