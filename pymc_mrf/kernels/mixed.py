r"""Mixed fields of answers x and measurements y, the measurements integrated out.

With features z(x) (Q,) of the answers, their tables of biases, weights A (Q, Q) between them, B (c, Q) of
measurements and answers, and the precision K (c, c) of the measurements,

    p(x, y) \propto exp(b(x) + z' A z / 2 + y' B z - y' K y / 2):

given the answers measurements are normal, of mean m(x) = S B z, S = K^-1, and answers alone have the log
weights phi(x) = b(x) + z' A z / 2 + z' B' S B z / 2, up to |K|^(-1/2) (Lauritzen & Wermuth, 1989). What
follows knows the answers by a list: of all their states, or of a sample with log weights `base`.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit, lean, part
from pymc_mrf.kernels.gaussian import draw_centred, factorise, invert_factorised
from pymc_mrf.kernels.log_scores import draw_state
from pymc_mrf.kernels.vector_sums import copy, dot, normalise_log_weights

OF_ANSWERS, MIXED, OF_MEASURED = 0, 1, 2

PIECE = 1024
"""Listed states that are worked on at once: what is known of them stays in a near cache."""


class Layout(NamedTuple):
    """Features of a mixed field with a answers and c measurements, and what each parameter multiplies.

    Attributes
    ----------
    cards : (a,) int64 array
        Number of states of each answer.
    first : (a + 1,) int64 array
        First feature of each answer, and the number of all of them, Q.
    features : (Q, K) array
        Values at the states of their answer.
    owner : (Q,) int64 array
        Answer that has each feature.
    n_measured : int
        c.
    pairs : (P, 2) int64 array
        Features whose product each parameter multiplies: below Q of answers, else Q + j of measurement j,
        which come second.
    edge : (P,) int64 array
        Edge that each parameter is one of, in ascending order.
    ends : (P, 2) int64 array
        Its ends: below a answers, else a + j.
    kind : (P,) int64 array
        How many of these are measurements.
    """

    cards: np.ndarray
    first: np.ndarray
    features: np.ndarray
    owner: np.ndarray
    n_measured: int
    pairs: np.ndarray
    edge: np.ndarray
    ends: np.ndarray
    kind: np.ndarray


class NodeKinds(NamedTuple):
    """What of a `Layout` tells where measurements are: for kernels that know the features themselves."""

    cards: np.ndarray
    n_measured: int
    ends: np.ndarray
    kind: np.ndarray


class Listed(NamedTuple):
    """States of the answers, all or a sample of them.

    `states` (a, N) int8. `z` (Q, N): features. `base` (N,): log weights.
    """

    states: np.ndarray
    z: np.ndarray
    base: np.ndarray


class Weighted(NamedTuple):
    """Probabilities of listed states at some parameters.

    `p` (N,): probabilities. `m` (c, N): conditional means of the measurements. `h` (c, N): B z: scratch.
    `S` and `L` (c, c): conditional covariance; a factor of the precision.
    """

    p: np.ndarray
    m: np.ndarray
    h: np.ndarray
    S: np.ndarray
    L: np.ndarray


def all_states(layout: Layout) -> Listed:
    """List all states of the answers, those of the first varying fastest."""
    cards = layout.cards
    N = int(np.prod(cards))
    steps = np.cumprod([1, *cards[:-1]])
    states = (np.arange(N)[None] // steps[:, None] % cards[:, None]).astype(np.int8)
    return list_states(layout, states, np.zeros(N))


def list_states(layout: Layout, states: np.ndarray, base: np.ndarray) -> Listed:
    """Make a list of `states` (a, N) with log weights `base` (N,)."""
    z = layout.features[np.arange(len(layout.owner))[:, None], states[layout.owner]]
    return Listed(np.ascontiguousarray(states), np.ascontiguousarray(z), base)


def allocate_weighted(layout: Layout, n_states: int) -> Weighted:
    c = layout.n_measured
    return Weighted(
        np.zeros(n_states), np.zeros((c, n_states)), np.zeros((c, n_states)), *np.zeros((2, c, c))
    )


@lean
def fill_precision_of(layout, w, diagonal, K):
    """Fill `K` (c, c), the precision of the measurements, from weights `w` (P,) and `diagonal` (c,)."""
    a, c = layout.cards.shape[0], layout.n_measured
    for i in range(c):
        for j in range(c):
            K[i, j] = 0.0
        K[i, i] = diagonal[i]
    for e in range(w.shape[0]):
        if layout.kind[e] == OF_MEASURED:
            i, j = layout.ends[e, 0] - a, layout.ends[e, 1] - a
            K[i, j] -= w[e]
            K[j, i] -= w[e]


@lean
def fill_covariance(layout, w, diagonal, S, L):
    """Fill `S` (c, c), the inverse of the precision; return log det K, NaN if it is not positive definite.

    From weights `w` (P,) and `diagonal` (c,); `L` (c, c) is overwritten.
    """
    fill_precision_of(layout, w, diagonal, L)
    log_det = factorise(L)
    if np.isfinite(log_det):
        invert_factorised(L, S)
    return log_det


@lean
def fill_log_weights(layout, states, w, b, out, start, stop):
    """Fill log weights, into `out.p`, and `out.h` and `out.m`, of the states from `start` to `stop`.

    At weights `w` (P,), biases `b` (a K,) and the covariance `out.S`; `states` is a `Listed`.
    """
    Q, K, c, p = layout.owner.shape[0], layout.features.shape[1], layout.n_measured, out.p[start:stop]
    n = p.shape[0]
    copy(states.base[start:stop], p)
    for i in range(layout.cards.shape[0]):
        x = states.states[i, start:stop]
        for s in range(n):
            p[s] += b[i * K + x[s]]
    for i in range(c):
        h, m = out.h[i, start:stop], out.m[i, start:stop]
        for s in range(n):
            h[s] = 0.0
            m[s] = 0.0
    for e in range(w.shape[0]):
        y, q = w[e], layout.pairs[e, 1]
        if y != 0.0 and layout.kind[e] != OF_MEASURED:
            first = states.z[layout.pairs[e, 0], start:stop]
            if layout.kind[e] == OF_ANSWERS:
                second = states.z[q, start:stop]
                for s in range(n):
                    p[s] += y * first[s] * second[s]
            else:
                h = out.h[q - Q, start:stop]
                for s in range(n):
                    h[s] += y * first[s]
    for i in range(c):
        m = out.m[i, start:stop]
        for j in range(c):
            h, y = out.h[j, start:stop], out.S[i, j]
            for s in range(n):
                m[s] += y * h[s]
        h = out.h[i, start:stop]
        for s in range(n):
            p[s] += 0.5 * h[s] * m[s]


@jit
def fill_state_weights(layout, states, w, b, diagonal, out):
    """Fill `out` at weights `w` (P,), biases `b` (a K,) and `diagonal` (c,); `states` is a `Listed`.

    Returns the log of the sum of the weights of the states, and log det K, both NaN if K is not positive
    definite.
    """
    N = out.p.shape[0]
    log_det = fill_covariance(layout, w, diagonal, out.S, out.L)
    if not np.isfinite(log_det):
        return np.nan, np.nan
    for start in range(0, N, PIECE):
        fill_log_weights(layout, states, w, b, out, start, min(start + PIECE, N))
    return normalise_log_weights(out.p), log_det


@lean
def fill_weighted(p, x, out):
    """Fill `out` (N,) with the products of `p` and `x` (N,)."""
    for s in range(p.shape[0]):
        out[s] = p[s] * x[s]


@lean
def fill_product_means(layout, states, at, active, room, out):
    """Fill `out` (k,) with the means, at a `Weighted`, of what parameters `active` (k,) multiply.

    Scratch `room` (N,).
    """
    Q, N, k = layout.owner.shape[0], at.p.shape[0], active.shape[0]
    for i in range(k):
        p, q = layout.pairs[active[i], 0], layout.pairs[active[i], 1]
        out[i] = at.S[p - Q, q - Q] if layout.kind[active[i]] == OF_MEASURED else 0.0
    for start in range(0, N, PIECE):
        stop, last = min(start + PIECE, N), -1
        weighted = room[start:stop]
        for i in range(k):
            kind, p, q = layout.kind[active[i]], layout.pairs[active[i], 0], layout.pairs[active[i], 1]
            if p != last:
                first = at.m[p - Q, start:stop] if kind == OF_MEASURED else states.z[p, start:stop]
                fill_weighted(at.p[start:stop], first, weighted)
                last = p
            second = states.z[q, start:stop] if kind == OF_ANSWERS else at.m[q - Q, start:stop]
            out[i] += dot(weighted, second)


@jit
def fill_weighted_means(layout, states, at, of_products, of_states, of_squares):
    """Fill in means at a `Weighted`: of all products (P,), probabilities (a, K), and squares (c,).

    Into `of_products` (P,), `of_states` (a, K) and `of_squares` (c,), of the measurements.
    """
    room = np.empty(at.p.shape[0])
    fill_product_means(layout, states, at, np.arange(of_products.shape[0]), room, of_products)
    for i in range(of_states.shape[0]):
        sum_by_states(states.states[i], at.p, of_states[i])
    for j in range(of_squares.shape[0]):
        fill_weighted(at.p, at.m[j], room)
        of_squares[j] = at.S[j, j] + dot(room, at.m[j])


@lean
def sum_by_states(x, p, out):
    """Sum the probabilities `p` (N,) by the states `x` (N,) of an answer, into `out` (K,)."""
    for k in range(out.shape[0]):
        out[k] = 0.0
    for s in range(p.shape[0]):
        out[x[s]] += p[s]


@jit
def fill_answer_weights(layout, w, S, A, B, E):
    """Fill `A` (Q, Q), `B` (c, Q), and `E` (Q, Q), A + B' S B, from weights `w` (P,) and `S` (c, c)."""
    Q, c = layout.owner.shape[0], layout.n_measured
    A[:] = 0.0
    B[:] = 0.0
    for e in range(w.shape[0]):
        p, q = layout.pairs[e, 0], layout.pairs[e, 1]
        if layout.kind[e] == OF_ANSWERS:
            A[p, q] = w[e]
            A[q, p] = w[e]
        elif layout.kind[e] == MIXED:
            B[q - Q, p] = w[e]
    for p in range(Q):
        for q in range(p + 1):
            value = A[p, q]
            for i in range(c):
                for j in range(c):
                    value += B[i, p] * S[i, j] * B[j, q]
            E[p, q] = value
            E[q, p] = value


@part
def redraw_answer(layout, i, E, b, known, z, scores, rng):
    """Draw the state of answer i given the features `z` (Q,) of all answers, and put its own there.

    At weights `E` (Q, Q) and biases `b` (a K,); `known` (Q,) is what measurements say of each feature, and
    `scores` (K,) is scratch.
    """
    F, n_states, K = layout.features, layout.cards[i], layout.features.shape[1]
    first, stop = layout.first[i], layout.first[i + 1]
    for x in range(n_states):
        scores[x] = b[i * K + x]
    for p in range(first, stop):
        field = known[p]
        for q in range(E.shape[0]):
            if q < first or q >= stop:
                field += E[p, q] * z[q]
        for x in range(n_states):
            own = 0.0
            for q in range(first, stop):
                own += E[p, q] * F[q, x]
            scores[x] += F[p, x] * (field + 0.5 * own)
    state = draw_state(scores[:n_states], rng)
    for p in range(first, stop):
        z[p] = F[p, state]
    return state


@jit
def sweep_answers(layout, E, b, states, n_sweeps, rng):
    """Gibbs sweeps of answers alone, at weights `E` (Q, Q) and biases `b` (a K,), of N chains.

    `states` (a, N) int8 are changed in place.
    """
    Q, (a, N) = layout.owner.shape[0], states.shape
    z, nothing, scores = np.empty(Q), np.zeros(Q), np.empty(layout.features.shape[1])
    for s in range(N):
        for p in range(Q):
            z[p] = layout.features[p, states[layout.owner[p], s]]
        for _ in range(n_sweeps):
            for i in range(a):
                states[i, s] = redraw_answer(layout, i, E, b, nothing, z, scores, rng)


@jit
def draw_mixed(layout, states, w, b, diagonal, n_sweeps, x, y, rng):
    """Draw a row: states `x` (a,) of answers, and deviations `y` (c,) of measurements.

    At weights `w` (P,), biases `b` (a K,) and `diagonal` (c,): from the `Listed` states, if there are any,
    else by `n_sweeps` Gibbs sweeps of the answers. All are NaN if there is no such field.
    """
    Q, c, K, a = layout.owner.shape[0], layout.n_measured, layout.features.shape[1], x.shape[0]
    S, L, chain = np.empty((c, c)), np.empty((c, c)), np.zeros((a, 1), dtype=np.int8)
    A, B, E = np.empty((Q, Q)), np.empty((c, Q)), np.empty((Q, Q))
    if not np.isfinite(fill_covariance(layout, w, diagonal, S, L)):
        x[:] = np.nan
        y[:] = np.nan
        return
    fill_answer_weights(layout, w, S, A, B, E)
    if states.base.shape[0] > 0:
        p = np.zeros(states.base.shape[0])
        for s in range(p.shape[0]):
            for i in range(a):
                p[s] += b[i * K + states.states[i, s]]
            for e in range(Q):
                field = 0.0
                for f in range(Q):
                    field += E[e, f] * states.z[f, s]
                p[s] += 0.5 * states.z[e, s] * field
        s = draw_state(p, rng)
        for i in range(a):
            chain[i, 0] = states.states[i, s]
    else:
        for i in range(a):
            chain[i, 0] = min(int(layout.cards[i] * rng.random()), layout.cards[i] - 1)
        sweep_answers(layout, E, b, chain, n_sweeps, rng)
    for i in range(a):
        x[i] = chain[i, 0]
    fill_precision_of(layout, w, diagonal, L)
    factorise(L)
    draw_centred(L, y, rng)
    for i in range(c):
        for j in range(c):
            for p_ in range(Q):
                y[i] += S[i, j] * B[j, p_] * layout.features[p_, chain[layout.owner[p_], 0]]
