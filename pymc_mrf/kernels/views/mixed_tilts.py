"""Listed states of a mixed field whose weights an edge changes, and the means of the measurements with them.

In all functions `whole` is `MixedView`, and an edge begins at parameter `first`; values `x` and `move` (W,),
slopes `g` (W,) and information `H` (W, W) are as in `block_edges`, and probabilities `p` (N,) those of the
states.
"""

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.vector_sums import LOWEST, copy, exp_negative, largest, total
from pymc_mrf.kernels.views.mixed_views import measurement_of

SMALLEST = 1e-300
"""Least probability of a pair of states that has a logarithm. A floor that matters would make moves depend on
the present edge, with which the probability is."""


@lean
def clear_moves(whole):
    """Let no state of an answer move h."""
    for a in range(whole.room.moves.shape[0]):
        whole.room.moves[a] = 0.0


@lean
def add_moves(whole, first, x, sign):
    """Add to `moves` how far each state of the answer moves h by parameters x times `sign`."""
    F, out = whole.layout.features, whole.room.moves
    for k in range(x.shape[0]):
        if x[k] != 0.0:
            row = F[whole.layout.pairs[first + k, 0]]
            for a in range(out.shape[0]):
                out[a] += sign * x[k] * row[a]


@lean
def tilt_by_answer(whole, first):
    """Fill `tilt` where the states of the answer move h by `moves`, and `tilted`; log of the mean factor.

    Probabilities of the states, and moments of the centred measurement, go to `by_state`.
    """
    j, p = measurement_of(whole, first, 1), whole.at.p
    x = whole.states.states[whole.field.edges[first, 0]]
    m, S, y = whole.at.m[j], whole.at.S[j, j], whole.field.centre[first, 1, 0]
    room, moves, top = whole.room, False, 0.0
    tilt, tilted, sums, g = room.tilt, room.tilted, room.by_state, room.moves
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
def answer_value(whole, first, x):
    """Log-likelihood at parameters x against the present ones; moments go to `by_state`."""
    n, width = whole.data.n[0], x.shape[0]
    clear_moves(whole)
    add_moves(whole, first, x, 1.0)
    add_moves(whole, first, whole.w[first : first + width], -1.0)
    value = -n * tilt_by_answer(whole, first)
    for k in range(width):
        value += (x[k] - whole.w[first + k]) * whole.data.s[first + k]
    return value


@lean
def fill_answer_moments(whole, first, width, g, H):
    """Score and information at the moments of `by_state`."""
    n, sums, pairs, F = whole.data.n[0], whole.room.by_state, whole.layout.pairs, whole.layout.features
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


@lean
def normalise(p):
    """Divide `p` (N,) by its sum."""
    scale = 1.0 / total(p)
    for s in range(p.shape[0]):
        p[s] *= scale


@lean
def follow_answer(whole, first, move):
    """Move the parameters of an edge between an answer and a measurement."""
    clear_moves(whole)
    add_moves(whole, first, move, 1.0)
    tilt_by_answer(whole, first)
    copy(whole.room.tilted, whole.at.p)
    normalise(whole.at.p)
    x = whole.states.states[whole.field.edges[first, 0]]
    j, S = measurement_of(whole, first, 1), whole.at.S
    g, shift = whole.room.moves, whole.room.by_state[0]
    for i in range(S.shape[0]):
        for a in range(g.shape[0]):
            shift[a] = S[i, j] * g[a]
        m = whole.at.m[i]
        for s in range(m.shape[0]):
            m[s] += shift[x[s]]
