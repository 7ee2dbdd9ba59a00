"""Edges of a mixed field where the states of the answers are listed: answers to `block_edges`.

The measurements are integrated out (`pymc_mrf.kernels.mixed`), so that the normaliser is a sum over the
listed states: all of them, or a sample with weights. What changes with an edge is seen state by state:

- between answers, the probabilities of the states of the pair are multiplied by exp(x c), as in
  `table_blocks`;
- between an answer and a measurement j, which the answer moves by g, by exp(g m_j + g^2 S_jj / 2);
- between measurements, the precision changes in one entry and its inverse S by rank 2, and with it m and phi
  (`mixed_views`).

In all functions values `x` (W,), `old` and `new` (W,), slopes `g` (W,) and information `H` (W, W) are as in
`block_edges`.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.mixed import (
    MIXED,
    OF_ANSWERS,
    Layout,
    Listed,
    Weighted,
    fill_probabilities,
    fill_state_probabilities,
    product_mean,
)
from pymc_mrf.kernels.vector_sums import LOWEST, copy, dot, exp_negative, largest, total
from pymc_mrf.kernels.views import block_edges as blocks
from pymc_mrf.kernels.views import questions
from pymc_mrf.kernels.views.gaussian_edges import ILL
from pymc_mrf.kernels.views.mixed_views import (
    BEFORE,
    MEAN,
    VARIANCE,
    MixedData,
    MixedField,
    absence_outside_the_cone,
    biases_of_answer,
    change_rows,
    look_at_measured,
    measured_gain,
    measured_value,
    measurement_of,
    mixed_without_slab,
    move_precision,
    rank_two,
    set_mixed_parameters,
    set_parameter,
    taken_from,
    terms_in_cone,
)
from pymc_mrf.kernels.views.table_blocks import fill_pair_moments, fill_table, pair_gain, take_table_off

SMALLEST = 1e-300
"""Least probability of a pair of states that has a logarithm. A floor that matters would make moves depend on
the present edge, with which the probability is."""


class MixedEdges(NamedTuple):
    """Listed states, data and present parameters.

    Attributes
    ----------
    field : MixedField
    data : MixedData
    layout : Layout
    states : Listed
    at : Weighted
        The states at the present parameters.
    w : (P,) array
    b : (a K + c,) array
        Biases of the states of the answers, and the log of the diagonal of the precision.
    beta : (a K + c,) array, or (0,)
        Centred, if they are moved.
    n_biases : int
        a K + c if they are moved, else 0.
    log_p : (K K,) array
        Of the states of the pair that is looked at, without its edge.
    tilt, tilted : (N,) arrays
        Scratch: change of the log weights, and the probabilities after it.
    by_state : (3, K) array
        Scratch: mass, and first and second moments of the measurement, by the state of the answer.
    shares : (a, K) array
        Scratch: probabilities of the states of each answer.
    diagonal : (c,) array
        Scratch.
    look : (9,) array
        Of the edge looked at: log-likelihood without it, relative to its present value, and what
        `gaussian_edges` has.
    least_share : float
        Effective share of the states below which their weights are not trusted; 0 if all are listed.
    """

    field: MixedField
    data: MixedData
    layout: Layout
    states: Listed
    at: Weighted
    w: np.ndarray
    b: np.ndarray
    beta: np.ndarray
    n_biases: int
    log_p: np.ndarray
    tilt: np.ndarray
    tilted: np.ndarray
    by_state: np.ndarray
    shares: np.ndarray
    diagonal: np.ndarray
    look: np.ndarray
    least_share: float


blocks.bias_range.register(MixedEdges)(biases_of_answer)
blocks.absence.register(MixedEdges)(absence_outside_the_cone)
questions.set_edge.register(MixedEdges)(set_parameter)
questions.set_parameters.register(MixedEdges)(set_mixed_parameters)
questions.without_slab.register(MixedEdges)(mixed_without_slab)


@lean
def refresh(view):
    """List the probabilities at the view's parameters; return the log-likelihood but for the data's part."""
    places = view.layout.cards.shape[0] * view.layout.features.shape[1]
    for j in range(view.diagonal.shape[0]):
        view.diagonal[j] = np.exp(view.b[places + j])
    log_sum, log_det = fill_probabilities(
        view.layout, view.states, view.w, view.b, view.diagonal, view.at
    )
    return view.data.n[0] * (0.5 * log_det - log_sum)


# Edges between an answer and a measurement


@lean
def moves_of_states(whole, first, x, sign, out):
    """How far each state of the answer moves h by parameters x times `sign`, added to `out` (K,)."""
    F = whole.layout.features
    for k in range(x.shape[0]):
        if x[k] != 0.0:
            row = F[whole.layout.pairs[first + k, 0]]
            for a in range(out.shape[0]):
                out[a] += sign * x[k] * row[a]


@lean
def tilt_by_answer(whole, first, g):
    """Fill `tilt` where the states of the answer move h by `g` (K,), and `tilted`; log of the mean factor.

    Probabilities of the states, and moments of the centred measurement, go to `by_state`.
    """
    j, x, p = (
        measurement_of(whole, first, 1),
        whole.states.states[whole.field.edges[first, 0]],
        whole.at.p,
    )
    m, S, y = whole.at.m[j], whole.at.S[j, j], whole.field.centre[first, 1, 0]
    tilt, tilted, sums, top = whole.tilt, whole.tilted, whole.by_state, 0.0
    moves = False
    for a in range(g.shape[0]):
        moves = moves or g[a] != 0.0
    if moves:
        for s in range(p.shape[0]):
            tilt[s] = g[x[s]] * (m[s] - y + 0.5 * g[x[s]] * S)
        top = largest(tilt)
        for s in range(p.shape[0]):
            tilted[s] = p[s] * exp_negative(max(tilt[s] - top, LOWEST))
    else:
        copy(p, tilted)
    for a in range(g.shape[0]):
        sums[0, a], sums[1, a], sums[2, a] = 0.0, 0.0, 0.0
    for s in range(p.shape[0]):
        a, d = x[s], m[s] - y
        sums[0, a] += tilted[s]
        sums[1, a] += tilted[s] * d
        sums[2, a] += tilted[s] * d * d
    mass = 0.0
    for a in range(g.shape[0]):
        shift = g[a] * S
        sums[2, a] += 2.0 * shift * sums[1, a] + (shift * shift + S) * sums[0, a]
        sums[1, a] += shift * sums[0, a]
        mass += sums[0, a]
    for a in range(g.shape[0]):
        for i in range(3):
            sums[i, a] /= mass
    return top + np.log(mass)


@lean
def answer_value(whole, first, x, g):
    """Log-likelihood at parameters x against the present ones; moments go to `by_state`; scratch `g` (K,)."""
    n, width = whole.data.n[0], x.shape[0]
    for a in range(g.shape[0]):
        g[a] = 0.0
    moves_of_states(whole, first, x, 1.0, g)
    moves_of_states(whole, first, whole.w[first : first + width], -1.0, g)
    value = -n * tilt_by_answer(whole, first, g)
    for k in range(width):
        value += (x[k] - whole.w[first + k]) * whole.data.s[first + k]
    return value


@lean
def fill_answer_moments(whole, first, width, g, H):
    """Score and information at the moments of `by_state`."""
    n, sums, pairs, F = whole.data.n[0], whole.by_state, whole.layout.pairs, whole.layout.features
    for k in range(width):
        g[k] = 0.0
        for a in range(sums.shape[1]):
            g[k] += F[pairs[first + k, 0], a] * sums[1, a]
    for k in range(width):
        for l in range(k + 1):
            value = 0.0
            for a in range(sums.shape[1]):
                value += F[pairs[first + k, 0], a] * F[pairs[first + l, 0], a] * sums[2, a]
            H[k, l] = n * (value - g[k] * g[l])
            H[l, k] = H[k, l]
    for k in range(width):
        g[k] = whole.data.s[first + k] - n * g[k]


# Edges between measurements


@measured_value.register(MixedEdges)
def measured_value_of_list(view, first, y):
    """Compute the terms state by state, and the probabilities, into `tilted`."""
    look, p, n, tilt, tilted, top = view.look, view.at.p, view.data.n[0], view.tilt, view.tilted, 0.0
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
    look[MEAN] = first_moment / mass
    look[VARIANCE] = max(second / mass - look[MEAN] ** 2, 0.0)
    return y * view.data.s[first] + n * (0.5 * np.log(f) - top - np.log(mass))


# Answers to the questions of blocks


@lean
def fill_pair(whole, first):
    """Log probabilities of the states of a pair of answers, with their edge, into `log_p`."""
    K, log_p, p = whole.layout.features.shape[1], whole.log_p, whole.at.p
    u, v = whole.field.edges[first, 0], whole.field.edges[first, 1]
    x, y = whole.states.states[u], whole.states.states[v]
    for k in range(log_p.shape[0]):
        log_p[k] = 0.0
    for s in range(p.shape[0]):
        log_p[x[s] * K + y[s]] += p[s]
    for a in range(K):
        for c in range(K):
            is_possible = a < whole.layout.cards[u] and c < whole.layout.cards[v]
            k = a * K + c
            log_p[k] = np.log(max(log_p[k], SMALLEST)) if is_possible else -np.inf


@blocks.take_out.register(MixedEdges)
def take_block_out_of_list(whole, view, e, x):
    """Sum over the listed states what the edge changes."""
    first, room, kind = view.field.first[e], view.room, whole.layout.kind[view.field.first[e]]
    width = x.shape[0]
    if kind == OF_ANSWERS:
        fill_pair(whole, first)
        take_table_off(whole, view, e, x, whole.log_p)
    elif kind == MIXED:
        whole.look[BEFORE] = answer_value(
            whole, first, room.zero[:width], room.table[: whole.by_state.shape[1]]
        )
        fill_answer_moments(whole, first, width, room.score, room.information)
    else:
        look_at_measured(whole, first)
        _, room.score[0], room.information[0, 0] = terms_in_cone(whole, first, 0.0)


@blocks.block_terms.register(MixedEdges)
def block_terms_of_list(whole, view, e, x, g, H):
    """Compute the terms from the listed states."""
    field, first, kind, width = (
        whole.field,
        view.field.first[e],
        whole.layout.kind[view.field.first[e]],
        x.shape[0],
    )
    if kind == OF_ANSWERS:
        s = whole.data.s[first : first + width]
        value = pair_gain(field, first, x, whole.log_p, s, whole.data.n[0], view.room)
        fill_pair_moments(field, first, width, s, whole.data.n[0], view.room, g, H)
    elif kind == MIXED:
        value = (
            answer_value(whole, first, x, view.room.table[: whole.by_state.shape[1]])
            - whole.look[BEFORE]
        )
        fill_answer_moments(whole, first, width, g, H)
    else:
        value, g[0], H[0, 0] = terms_in_cone(whole, first, x[0])
    return value


@blocks.block_gain.register(MixedEdges)
def block_gain_of_list(whole, view, e, x):
    """Compute the gain from the listed states."""
    field, first, kind = whole.field, view.field.first[e], whole.layout.kind[view.field.first[e]]
    if kind == OF_ANSWERS:
        s = whole.data.s[first : first + x.shape[0]]
        return pair_gain(field, first, x, whole.log_p, s, whole.data.n[0], view.room)
    if kind == MIXED:
        return (
            answer_value(whole, first, x, view.room.table[: whole.by_state.shape[1]])
            - whole.look[BEFORE]
        )
    return measured_gain(whole, first, x[0])


@blocks.follow_block.register(MixedEdges)
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
        follow_answer(whole, first, move, room.table[:K])
    else:
        follow_measured(whole, first, move[0])


@lean
def normalise(p):
    """Divide `p` (N,) by its sum."""
    scale = 1.0 / total(p)
    for s in range(p.shape[0]):
        p[s] *= scale


@lean
def follow_answer(whole, first, move, g):
    """Move the parameters of an edge between an answer and a measurement; scratch `g` (K,)."""
    for a in range(g.shape[0]):
        g[a] = 0.0
    moves_of_states(whole, first, move, 1.0, g)
    tilt_by_answer(whole, first, g)
    copy(whole.tilted, whole.at.p)
    normalise(whole.at.p)
    x, j, S = (
        whole.states.states[whole.field.edges[first, 0]],
        measurement_of(whole, first, 1),
        whole.at.S,
    )
    for i in range(S.shape[0]):
        for a in range(g.shape[0]):
            whole.by_state[0, a] = S[i, j] * g[a]
        m = whole.at.m[i]
        for s in range(m.shape[0]):
            m[s] += whole.by_state[0, x[s]]


@lean
def follow_measured(whole, first, y):
    """Move the weight of an edge between measurements by y."""
    i, j = measurement_of(whole, first, 0), measurement_of(whole, first, 1)
    own_i, both, own_j, f = rank_two(whole.at.S, i, j, y)
    if f < ILL:
        refresh(whole)
        return
    measured_value(whole, first, y)
    copy(whole.tilted, whole.at.p)
    normalise(whole.at.p)
    move_precision(whole, i, j, own_i, both, own_j)


# Answers to joint moves


@questions.add_slopes.register(MixedEdges)
def add_mixed_slopes(view, active, slope):
    """Add the slopes at the view's parameters; outside of the cone there are none, and the value is -inf."""
    data, layout, at, k = view.data, view.layout, view.at, active.shape[0]
    K, a, n, value = layout.features.shape[1], layout.cards.shape[0], data.n[0], refresh(view)
    if not np.isfinite(value):
        return -np.inf
    for i in range(a):
        fill_state_probabilities(view.states.states[i], at.p, view.shares[i])
    for i in range(k):
        e = active[i]
        p, q = layout.pairs[e, 0], layout.pairs[e, 1]
        mean = product_mean(layout, view.states, at, e, view.tilt)
        if layout.kind[e] <= MIXED:
            mean -= taken_from(view, e, 0) * feature_mean(view, p)
        if layout.kind[e] == OF_ANSWERS:
            mean -= taken_from(view, e, 1) * feature_mean(view, q)
        slope[i] += data.s[e] - n * mean
    for e in range(view.w.shape[0]):
        value += view.w[e] * data.sums[e]
    for i in range(a * K):
        value += view.b[i] * data.t[i]
        if view.n_biases > 0:
            slope[k + i] += data.t[i] - n * view.shares[i // K, i % K]
    for j in range(view.diagonal.shape[0]):
        half = 0.5 * view.diagonal[j]
        value -= half * data.squares[j]
        if view.n_biases > 0:
            m = at.m[j]
            for s in range(m.shape[0]):
                view.tilt[s] = at.p[s] * m[s]
            slope[k + a * K + j] += half * (n * (at.S[j, j] + dot(view.tilt, m)) - data.squares[j])
    return value


@lean
def feature_mean(view, p):
    """Mean of feature p of an answer, from the probabilities of its states."""
    value, shares = 0.0, view.shares[view.layout.owner[p]]
    for a in range(shares.shape[0]):
        value += shares[a] * view.layout.features[p, a]
    return value


@questions.is_trusted.register(MixedEdges)
def list_is_trusted(view):
    """Whether the weights of the states are even enough."""
    return 1.0 >= view.least_share * view.at.p.shape[0] * dot(view.at.p, view.at.p)
