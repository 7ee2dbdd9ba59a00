"""Edges of a Gaussian field under its exact likelihood, and the log of the diagonal of its precision.

As a function of one weight, w_uv = -K_uv, the others fixed, the log-likelihood of n rows with scatter T about
their means is, at a distance y from the present weight,

    n/2 log f(y) + y T_uv,  f(y) = (1 - y S_uv)^2 - y^2 S_uu S_vv = (1 - a y)(1 - c y),

a, c = S_uv +- sqrt(S_uu S_vv), S = K^-1: the determinant of K is quadratic in one entry. K is positive
definite for y in (1/c, 1/a). S follows a change by a rank-2 update; it is computed anew at the start of
every sweep, and where an update would lose digits. Its relative error then stays below some 1e-10, as a
test asks.

An edge whose absence, given all others, would leave the cone is present for certain (`gaussian`).

Moves of single edges leave the diagonal where it is. Joint moves have the weights and the log of the diagonal
for coordinates, about the normal approximation of the posterior, because both are strongly correlated where
partial correlations are strong.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit, lean
from pymc_mrf.kernels.gaussian import (
    ABSENT,
    ILL,
    LIMITS,
    add_rank_two,
    brought_within,
    factorise,
    fill_precision,
    invert_factorised,
    multiply,
    origin,
    rank_two,
)
from pymc_mrf.kernels.views import questions

LOOK = np.dtype([*LIMITS, ("x", float), ("s", float)], align=True)
"""Of the entry looked at: its limits, its value, and the sum of T_uv times the factors."""

TERM = np.dtype([("a", float), ("c", float), ("n", float)])
"""Of a term of this entry: a and c, times the factor, and the rows of the block."""


class GaussianField(NamedTuple):
    """What moves of single entries ask of fields: their edges, and what an entry is in the weights.

    Attributes
    ----------
    edges : (R, 2) int64 array
        Ends of the edges of all blocks, one block after the other, as nodes of their block.
    block : (R,) int64 array
        Block of each edge.
    first_node, first_edge : (B + 1,) int64 arrays
        Of each block; nodes of blocks follow one another as well.
    order : (r,) int64 array
        Order of visits.
    first : (r + 1,) int64 array
        Terms first[k] to first[k + 1] are those of entry k.
    edge : (T,) int64 array
        Edges that the terms are weights of, of different blocks for one entry.
    factor : (T,) array
        By which the entry is multiplied.
    contrast : float
        Two over the first step of a search for the mode of an entry.
    """

    edges: np.ndarray
    block: np.ndarray
    first_node: np.ndarray
    first_edge: np.ndarray
    order: np.ndarray
    first: np.ndarray
    edge: np.ndarray
    factor: np.ndarray
    contrast: float


class GaussianView(NamedTuple):
    """Data and present parameters; each block has rows of the arrays (D, m), its nodes.

    There are D nodes in all, m in the largest block.

    Attributes
    ----------
    field : GaussianField
    w : (r,) array
        The vector.
    b : (D,) array
        Log of the diagonal of the precision.
    beta : (D,) array, or (0,)
        The same, if it is moved.
    n_biases : int
        D if it is moved, else 0.
    offset, weight : (R,) arrays
        Weights of the edges without the vector, and as they are.
    n : (B,) array
        Rows of each block.
    scatter : (D, m) array
        T, sums over rows of products of deviations from the means.
    S, L : (D, m) arrays
        Inverse of the precision, and room for a factor.
    look : (1,) record array of `LOOK`
    terms : (most,) record array of `TERM`
    """

    field: GaussianField
    w: np.ndarray
    b: np.ndarray
    beta: np.ndarray
    n_biases: int
    offset: np.ndarray
    weight: np.ndarray
    n: np.ndarray
    scatter: np.ndarray
    S: np.ndarray
    L: np.ndarray
    look: np.ndarray
    terms: np.ndarray


@lean
def invert_block(view, k):
    """Fill S of block k at the view's parameters; return log det K, NaN if K is not positive definite."""
    field = view.field
    low, high = field.first_node[k], field.first_node[k + 1]
    edges, L, b = slice(field.first_edge[k], field.first_edge[k + 1]), view.L[low:high], view.b[low:high]
    fill_precision(field.edges[edges], view.weight[edges], b, L)
    for i in range(b.shape[0]):
        L[i, i] = np.exp(b[i])
    log_det = factorise(L)
    if np.isfinite(log_det):
        invert_factorised(L, view.S[low:high])
    return log_det


@lean
def invert(view):
    """Fill S (D, m); return the sum of log det K times the rows of a block, NaN where K has no inverse."""
    value = 0.0
    for k in range(view.n.shape[0]):
        value += view.n[k] * invert_block(view, k)
    return value


@lean
def log_likelihood_at(view, e, x):
    """Log-likelihood at value x of entry e, looked at, against the present one; -inf outside of the cone."""
    y = x - view.look[0].x
    value = y * view.look[0].s
    for t in range(view.field.first[e + 1] - view.field.first[e]):
        term = view.terms[t]
        first, second = 1.0 - y * term.a, 1.0 - y * term.c
        if first <= 0.0 or second <= 0.0:
            return -np.inf
        value += 0.5 * term.n * (np.log(first) + np.log(second))
    return value


@questions.look_at.register(GaussianView)
def look_at_entry(view, e, x):
    """Read what S has of the pairs, and the limits of the cone, common to all of them."""
    field, look = view.field, view.look[0]
    look.x, look.low, look.high, look.s = x, -np.inf, np.inf, 0.0
    for t in range(field.first[e], field.first[e + 1]):
        pair, factor, term = field.edge[t], field.factor[t], view.terms[t - field.first[e]]
        block = field.block[pair]
        v, start = field.edges[pair, 1], field.first_node[block]
        u, local = start + field.edges[pair, 0], field.edges[pair, 0]
        root = np.sqrt(view.S[u, local] * view.S[start + v, v])
        upper, lower = factor * (view.S[u, v] + root), factor * (view.S[u, v] - root)
        term.a, term.c, term.n = upper, lower, view.n[block]
        look.s += factor * view.scatter[u, v]
        look.low = max(look.low, x + 1.0 / min(upper, lower))
        look.high = min(look.high, x + 1.0 / max(upper, lower))
    look.may_end = look.low < 0.0 < look.high
    g, h = terms_within(view, e, 0.0)[1:]
    return 0.5 * g * g / h, h


@lean
def terms_within(view, e, x):
    """Log-likelihood at value x against `origin`, its slope and information; beyond INNER a parabola's."""
    look = view.look[0]
    inside = brought_within(look, x)
    y, slope, information = inside - look.x, look.s, 0.0
    for t in range(view.field.first[e + 1] - view.field.first[e]):
        term = view.terms[t]
        of_first, of_second = term.a / (1.0 - y * term.a), term.c / (1.0 - y * term.c)
        slope -= 0.5 * term.n * (of_first + of_second)
        information += 0.5 * term.n * (of_first * of_first + of_second * of_second)
    value = log_likelihood_at(view, e, inside) - log_likelihood_at(view, e, origin(look))
    beyond = x - inside
    value += (slope - 0.5 * information * beyond) * beyond
    return value, slope - information * beyond, information


@questions.likelihood_terms.register(GaussianView)
def entry_terms(view, e, x):
    """Follow the likelihood within the cone."""
    return terms_within(view, e, x)


@questions.gain.register(GaussianView)
def entry_gain(view, e, x):
    """Compare the likelihood with that at `origin`."""
    return log_likelihood_at(view, e, x) - log_likelihood_at(view, e, origin(view.look[0]))


@questions.bias_terms.register(GaussianView)
def cone_terms(view, e, x, bias):
    """Return what the cone says of absence; the diagonal stays, and so does its prior."""
    return (ABSENT if x == 0.0 and not view.look[0].may_end else 0.0), 0.0, 0.0


@questions.set_edge.register(GaussianView)
def set_entry(view, e, x):
    view.w[e] = x


@questions.follow.register(GaussianView)
def follow_weights(view, e, old, new):
    """Write the weights and update S by rank 2, or anew where it nearly has a pole."""
    field = view.field
    for t in range(field.first[e], field.first[e + 1]):
        pair, y = field.edge[t], field.factor[t] * (new - old)
        view.weight[pair] = view.offset[pair] + field.factor[t] * new
        k = field.block[pair]
        low, high = field.first_node[k], field.first_node[k + 1]
        u, v, S = field.edges[pair, 0], field.edges[pair, 1], view.S[low:high]
        own_u, both, own_v, f = rank_two(S, u, v, y)
        if f < ILL:
            invert_block(view, k)
        else:
            add_rank_two(S, u, v, own_u, both, own_v, view.L)


@questions.set_parameters.register(GaussianView)
def set_entries_and_diagonal(view, active, place):
    """Write the entries `active` (k,), their weights and, if it is moved, the log of the diagonal (D,)."""
    field, k = view.field, active.shape[0]
    for a in range(k):
        view.w[active[a]] = place[a]
        for t in range(field.first[active[a]], field.first[active[a] + 1]):
            view.weight[field.edge[t]] = view.offset[field.edge[t]] + field.factor[t] * place[a]
    for i in range(view.n_biases):
        view.b[i] = place[k + i]
        view.beta[i] = place[k + i]


@questions.add_slopes.register(GaussianView)
def add_gaussian_slopes(view, active, slope):
    """Add the slopes at the view's parameters; outside of the cone there are none, and the value is -inf."""
    field, log_det, k = view.field, invert(view), active.shape[0]
    if not np.isfinite(log_det):
        return -np.inf
    value = 0.5 * log_det
    for block in range(view.n.shape[0]):
        start = field.first_node[block]
        for i in range(start, field.first_node[block + 1]):
            half, T = 0.5 * np.exp(view.b[i]), view.scatter[i, i - start]
            value -= half * T
            if view.n_biases > 0:
                slope[k + i] += half * (view.n[block] * view.S[i, i - start] - T)
    for a in range(k):
        for t in range(field.first[active[a]], field.first[active[a] + 1]):
            pair = field.edge[t]
            block, v = field.block[pair], field.edges[pair, 1]
            u = field.first_node[block] + field.edges[pair, 0]
            value += view.weight[pair] * view.scatter[u, v]
            slope[a] += field.factor[t] * (view.scatter[u, v] - view.n[block] * view.S[u, v])
    return value


@questions.without_slab.register(GaussianView)
def gaussian_without_slab(view, active, bias, slope):
    """Add the prior of the log of the diagonal, which depends on no weight."""
    k, value = active.shape[0], 0.0
    if view.n_biases > 0:
        value = questions.bias_prior(bias, view.b, slope[k:])
    for a in range(k):
        slope[a] = 0.0
    return value + questions.add_slopes(view, active, slope)


@jit
def expand(view, reference, active, precision, shift):
    """Add the log-likelihood to second order about a `reference` (R + D,), weights and diagonal.

    To the `precision` (N, N) and to the `shift` (N,), precision times mean, of the entries `active` (k,) and
    of the log of the diagonal, if it is moved. The curvature is the Fisher information: with dK_a = f_a (e_p
    e_q' + e_q e_p') the derivative of a block by a parameter, n tr(S dK_a S dK_b) / 2.
    """
    field, n_weights, k = view.field, view.weight.shape[0], active.shape[0]
    m = view.S.shape[1]
    room, columns, factors = np.empty((4, m, m)), np.empty(k + m, np.int64), np.empty(k + m)
    p, q = np.empty(k + m, np.int64), np.empty(k + m, np.int64)
    for block in range(view.n.shape[0]):
        start, n = field.first_node[block], view.n[block]
        d = field.first_node[block + 1] - start
        K, S, gap, by_gap = room[0, :d, :d], room[1, :d, :d], room[2, :d, :d], room[3, :d, :d]
        edges = slice(field.first_edge[block], field.first_edge[block + 1])
        diagonal = reference[n_weights + start : n_weights + start + d]
        fill_precision(field.edges[edges], reference[edges], diagonal, K)
        factorise(K)
        invert_factorised(K, S)
        # gap: how K changes, to first order, from where all that is moved is 0 to the reference
        for i in range(d):
            held = 0.0 if view.n_biases > 0 else view.b[start + i]
            for j in range(d):
                gap[i, j] = 0.0
            gap[i, i] = diagonal[i] * (np.log(diagonal[i]) - held)
        for e in range(edges.start, edges.stop):
            u, v = field.edges[e, 0], field.edges[e, 1]
            gap[u, v] -= reference[e] - view.offset[e]
            gap[v, u] -= reference[e] - view.offset[e]
        multiply(S, gap, K)
        multiply(K, S, by_gap)
        n_moved = 0
        for a in range(k):
            for t in range(field.first[active[a]], field.first[active[a] + 1]):
                e = field.edge[t]
                if field.block[e] == block:
                    p[n_moved], q[n_moved] = field.edges[e, 0], field.edges[e, 1]
                    columns[n_moved], factors[n_moved] = a, -field.factor[t]
                    n_moved += 1
        if view.n_biases > 0:
            for i in range(d):
                p[n_moved], q[n_moved] = i, i
                columns[n_moved], factors[n_moved] = k + start + i, 0.5 * diagonal[i]
                n_moved += 1
        for a in range(n_moved):
            i, j, c = p[a], q[a], columns[a]
            T = view.scatter[start + i, j]
            shift[c] += factors[a] * (n * (S[i, j] + by_gap[i, j]) - T)
            for b in range(n_moved):
                u, v = p[b], q[b]
                precision[c, columns[b]] += (
                    n * factors[a] * factors[b] * (S[u, i] * S[v, j] + S[u, j] * S[v, i])
                )
