"""Edges of a Gaussian field under its exact likelihood, and the log of the diagonal of its precision.

As a function of one weight, w_uv = -K_uv, the others fixed, the log-likelihood of n rows with scatter T about
their means is, at a distance y from the present weight,

    n/2 log f(y) + y T_uv,  f(y) = (1 - y S_uv)^2 - y^2 S_uu S_vv = (1 - a y)(1 - c y),

a, c = S_uv +- sqrt(S_uu S_vv), S = K^-1: the determinant of K is quadratic in one entry. K is positive
definite for y in (1/c, 1/a). S follows a change by a rank-2 update; it is computed anew at the start of
every sweep, and where an update would lose digits. Its relative error then stays below some 1e-10, as a
test asks.

An edge whose absence, given all others, would leave the cone is present for certain. Its ratios to absence
are infinite: in their place stands `ABSENT`, a number, so that ratios of two values of the edge are as they
are.

Moves of single edges leave the diagonal where it is. Joint moves have the weights and the log of the diagonal
for coordinates, about the normal approximation of the posterior, because both are strongly correlated where
partial correlations are strong.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit, lean
from pymc_mrf.kernels.gaussian import factorise, fill_precision, invert_factorised
from pymc_mrf.kernels.views import questions

ABSENT = -1e9
"""Log prior of absence outside the cone; two log ratios that it is part of differ right to some 1e-7."""

INNER = 0.95
"""Share of the way from the middle of the cone to its ends within which proposals follow the likelihood;
beyond they follow the parabola that touches it there."""

ILL = 1e-4
"""Changes of the determinant by a smaller factor call for the inverse anew."""


class GaussianField(NamedTuple):
    """What moves of single edges ask of a field.

    Attributes
    ----------
    edges : (r, 2) int64 array
    order : (r,) int64 array
        Order of visits.
    contrast : float
        Two over the first step of a search for the mode of a weight.
    """

    edges: np.ndarray
    order: np.ndarray
    contrast: float


class GaussianEdges(NamedTuple):
    """Data and present parameters.

    Attributes
    ----------
    field : GaussianField
    w : (r,) array
    b : (d,) array
        Log of the diagonal of the precision.
    beta : (d,) array, or (0,)
        The same, if it is moved.
    n_biases : int
        d if it is moved, else 0.
    n : float
        Rows.
    scatter : (d, d) array
        T, sums over rows of products of deviations from the means.
    S, L : (d, d) arrays
        Inverse of the precision, and room for a factor.
    look : (7,) array
        Of the edge looked at: weight x, a, c, T_uv, lowest and highest weight within the cone, whether
        absence is.
    """

    field: GaussianField
    w: np.ndarray
    b: np.ndarray
    beta: np.ndarray
    n_biases: int
    n: float
    scatter: np.ndarray
    S: np.ndarray
    L: np.ndarray
    look: np.ndarray


X, A, C, T, LOW, HIGH, MAY_END = range(7)


@lean
def invert(view):
    """Fill S (d, d) of the view's parameters; return log det K, NaN if K is not positive definite."""
    fill_precision(view.field.edges, view.w, view.b, view.L)
    for i in range(view.b.shape[0]):
        view.L[i, i] = np.exp(view.b[i])
    log_det = factorise(view.L)
    if np.isfinite(log_det):
        invert_factorised(view.L, view.S)
    return log_det


@lean
def log_likelihood_at(view, x):
    """Log-likelihood at weight x of the edge looked at, against the present one; -inf outside of the cone."""
    y = x - view.look[X]
    first, second = 1.0 - y * view.look[A], 1.0 - y * view.look[C]
    if first <= 0.0 or second <= 0.0:
        return -np.inf
    return 0.5 * view.n * (np.log(first) + np.log(second)) + y * view.look[T]


@lean
def origin(view):
    """Return the weight that values of the edge looked at are relative to: absence if it may be absent."""
    return 0.0 if view.look[MAY_END] > 0.0 else 0.5 * (view.look[LOW] + view.look[HIGH])


@questions.look_at.register(GaussianEdges)
def look_at_pair(view, e, x):
    """Read the pair's part of S, and the limits of the cone."""
    u, v, look = view.field.edges[e, 0], view.field.edges[e, 1], view.look
    root = np.sqrt(view.S[u, u] * view.S[v, v])
    look[X], look[T] = x, view.scatter[u, v]
    look[A], look[C] = view.S[u, v] + root, view.S[u, v] - root
    look[LOW], look[HIGH] = x + 1.0 / look[C], x + 1.0 / look[A]
    look[MAY_END] = 1.0 if look[LOW] < 0.0 < look[HIGH] else 0.0
    g, h = terms_within(view, 0.0)[1:]
    return 0.5 * g * g / h, h


@lean
def terms_within(view, x):
    """Log-likelihood at weight x against `origin`, its slope and information; beyond INNER a parabola's."""
    look = view.look
    middle, reach = 0.5 * (look[LOW] + look[HIGH]), 0.5 * INNER * (look[HIGH] - look[LOW])
    inside = min(max(x, middle - reach), middle + reach)
    y = inside - look[X]
    of_first, of_second = look[A] / (1.0 - y * look[A]), look[C] / (1.0 - y * look[C])
    slope = look[T] - 0.5 * view.n * (of_first + of_second)
    information = 0.5 * view.n * (of_first * of_first + of_second * of_second)
    value = log_likelihood_at(view, inside) - log_likelihood_at(view, origin(view))
    beyond = x - inside
    value += (slope - 0.5 * information * beyond) * beyond
    return value, slope - information * beyond, information


@questions.without_edge.register(GaussianEdges)
def pair_without_edge(view, e):
    """Return the slope and information at 0, or of the parabola that goes there."""
    return terms_within(view, 0.0)[1:]


@questions.likelihood_terms.register(GaussianEdges)
def pair_terms(view, e, x):
    """Follow the likelihood within the cone."""
    return terms_within(view, x)


@questions.gain.register(GaussianEdges)
def pair_gain(view, e, x):
    """Compare the likelihood with that at `origin`."""
    return log_likelihood_at(view, x) - log_likelihood_at(view, origin(view))


@questions.bias_terms.register(GaussianEdges)
def cone_terms(view, e, x, bias):
    """Return what the cone says of absence; the diagonal stays, and so does its prior."""
    return (ABSENT if x == 0.0 and view.look[MAY_END] == 0.0 else 0.0), 0.0, 0.0


@questions.set_edge.register(GaussianEdges)
def set_weight(view, e, x):
    """Write the weight; the diagonal stays."""
    view.w[e] = x


@questions.follow.register(GaussianEdges)
def follow_inverse(view, e, old, new):
    """Update S by rank 2 (Woodbury's identity); anew where the determinant nearly vanishes."""
    u, v, S, y = view.field.edges[e, 0], view.field.edges[e, 1], view.S, new - old
    uu, uv, vv = S[u, u], S[u, v], S[v, v]
    f = (1.0 - y * uv) ** 2 - y * y * uu * vv
    if f < ILL:
        invert(view)
        return
    d, L = S.shape[0], view.L  # in whose first rows there is room for columns of S
    for i in range(d):
        L[0, i], L[1, i] = S[i, u], S[i, v]
    own_u, both, own_v = y * y * vv / f, y * (1.0 - y * uv) / f, y * y * uu / f
    for i in range(d):
        by_u = own_u * L[0, i] + both * L[1, i]
        by_v = both * L[0, i] + own_v * L[1, i]
        for j in range(d):
            S[i, j] += by_u * L[0, j] + by_v * L[1, j]


@questions.set_parameters.register(GaussianEdges)
def set_weights_and_diagonal(view, active, place):
    """Write the weights of the edges `active` (k,) and, if it is moved, the log of the diagonal (d,)."""
    k = active.shape[0]
    for a in range(k):
        view.w[active[a]] = place[a]
    for i in range(view.n_biases):
        view.b[i] = place[k + i]
        view.beta[i] = place[k + i]


@questions.add_slopes.register(GaussianEdges)
def add_gaussian_slopes(view, active, slope):
    """Add the slopes at the view's parameters; outside of the cone there are none, and the value is -inf."""
    log_det = invert(view)
    if not np.isfinite(log_det):
        return -np.inf
    value, k = 0.5 * view.n * log_det, active.shape[0]
    for i in range(view.b.shape[0]):
        half = 0.5 * np.exp(view.b[i])
        value -= half * view.scatter[i, i]
        if view.n_biases > 0:
            slope[k + i] += half * (view.n * view.S[i, i] - view.scatter[i, i])
    for a in range(active.shape[0]):
        u, v = view.field.edges[active[a], 0], view.field.edges[active[a], 1]
        value += view.w[active[a]] * view.scatter[u, v]
        slope[a] += view.scatter[u, v] - view.n * view.S[u, v]
    return value


@questions.without_slab.register(GaussianEdges)
def gaussian_without_slab(view, active, bias, slope):
    """Add the prior of the log of the diagonal, which depends on no weight."""
    k, value = active.shape[0], 0.0
    if view.n_biases > 0:
        value = questions.bias_prior(bias, view.b, slope[k:])
    for a in range(k):
        slope[a] = 0.0
    return value + questions.add_slopes(view, active, slope)


@questions.is_trusted.register(GaussianEdges)
def all_is_trusted(view):
    """Trust the likelihood, which is exact."""
    return True


@jit
def fill_curvature(edges, K, S, rows, out):
    """Fisher information of one row about weights (r,) and the log of the diagonal (d,), `out` (m, r + d).

    Its `rows` (m,) only, of `edges` (r, 2) at a precision `K` (d, d) with the inverse `S` (d, d): tr(S dK S
    dK') / 2.
    """
    r, d = edges.shape[0], K.shape[0]
    for a in range(rows.shape[0]):
        i = rows[a]
        p, q, by = i - r, i - r, 0.5 * K[i - r, i - r]  # dK = by (e_p e_q' + e_q e_p')
        if i < r:
            p, q, by = edges[i, 0], edges[i, 1], -1.0
        for j in range(r):
            u, v = edges[j, 0], edges[j, 1]
            out[a, j] = -by * (S[p, u] * S[q, v] + S[p, v] * S[q, u])
        for u in range(d):
            out[a, r + u] = by * K[u, u] * S[p, u] * S[q, u]
