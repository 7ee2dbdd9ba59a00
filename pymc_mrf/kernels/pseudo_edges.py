"""Edge moves of a binary field under its pseudo-likelihood: one edge at a time, and all jointly.

Local fields L_i = c (b_i + sum_j w_ij y_j) of all nodes and rows are kept, with what follows from them, and
only two nodes change with an edge. Edges move at constant *centred* biases beta_i = b_i + sum_j w_ij m_j,
m the means of the data, which decorrelates weights and biases: then L_i = c beta_i + sum_j w_ij Z_j with
Z_j = c (y_j - m_j). If the biases are not the sampler's to move, m = 0 and beta = b.

Arrays over rows are stored node by node, padded to a multiple of 8 by rows with Z = 0.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit, summing
from pymc_mrf.kernels.edge_slab import (
    HALF_LOG_2PI,
    LEAST,
    MAX_SHIFT,
    NORMAL,
    SERIES,
    in_support,
    inclusion_probability,
    log_density,
    log_proposal,
    propose_value,
    quadratic_log_odds,
    quadratic_mode,
    slope_and_precision,
)
from pymc_mrf.kernels.slab_shape import (
    scalars,
    simple_log_density,
    simple_mode,
    simple_slope_and_precision,
)

LANES = 8
CHUNK = 512  # rows whose factors 1 + exp(-|L|) <= 2 are multiplied before a logarithm is taken
LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
_MAGIC = 1.5 * 2.0**52  # adding it rounds to an integer, kept in the low bits
LOWEST = -700.0
REFINE = 0.25  # proposals of presence more probable than this get a better mode
STRONG = 3.5  # or if the score is that many standard deviations from zero
MAX_NEWTON = 6


class PseudoField(NamedTuple):
    """Data of one field, and the state that `refresh` and the moves keep.

    Attributes
    ----------
    edges : (r, 2) int64 array
    T : (d, N) array
        1 where a node is in its second state.
    Z : (d, N) array
    n : int
        Rows; N - n are padding.
    c : float
        Difference of the two state values.
    m : (d,) array
        Means of the state values, or zeros.
    z2 : (d,) array
        Mean square of Z.
    s : (r,) array
        T_u . Z_v + T_v . Z_u.
    L, R, V : (d, N) arrays
        Local fields, residuals T - P and variances P (1 - P), P = sigmoid(L).
    v, A : (d,) arrays
        Sum over rows of V, and of log(1 + exp(L)).
    room : (20, N) array
    """

    edges: np.ndarray
    T: np.ndarray
    Z: np.ndarray
    n: int
    c: float
    m: np.ndarray
    z2: np.ndarray
    s: np.ndarray
    L: np.ndarray
    R: np.ndarray
    V: np.ndarray
    v: np.ndarray
    A: np.ndarray
    room: np.ndarray


@jit
def exp_negative(x):
    """exp(x), x in [-700, 0], to 3e-13; free of branches and conversions, so that loops vectorise."""
    t = x * LOG2_E + _MAGIC
    n = t - _MAGIC
    r = (x - n * LN2_HIGH) - n * LN2_LOW  # |r| <= ln 2 / 2
    p = 1.0 / 362880.0 + r * (1.0 / 3628800.0)
    p = 1.0 / 40320.0 + r * p
    p = 1.0 / 5040.0 + r * p
    p = 1.0 / 720.0 + r * p
    p = 1.0 / 120.0 + r * p
    p = 1.0 / 24.0 + r * p
    p = 1.0 / 6.0 + r * p
    p = 0.5 + r * p
    p = 1.0 + r * p
    p = 1.0 + r * p
    bits = np.float64(t).view(np.int64) + 1023
    return p * np.int64(bits << 52).view(np.float64)


@summing
def dot(a, b):
    """Inner product."""
    s = 0.0
    for j in range(a.shape[0]):
        s += a[j] * b[j]
    return s


@summing
def pair_dot(a, b, c, d):
    """Sum of two inner products, a . b + c . d."""
    s = 0.0
    for j in range(a.shape[0]):
        s += a[j] * b[j] + c[j] * d[j]
    return s


@summing
def dot_square(a, b):
    """Sum of a b^2."""
    s = 0.0
    for j in range(a.shape[0]):
        s += a[j] * (b[j] * b[j])
    return s


@summing
def total(a):
    """Sum of an array."""
    s = 0.0
    for j in range(a.shape[0]):
        s += a[j]
    return s


@summing
def total_positive(a):
    """Sum of max(a, 0)."""
    s = 0.0
    for j in range(a.shape[0]):
        s += a[j] if a[j] > 0.0 else 0.0
    return s


@summing
def product(a):
    """Product of an array."""
    s = 1.0
    for j in range(a.shape[0]):
        s *= a[j]
    return s


@jit
def node_terms(base, x, Z, T, n, L, R, V, factor):
    """Local fields L = base + x Z of one node, with residuals and variances, all (N,).

    `factor` (N,) is scratch. Returns the sums over rows of V and log(1 + exp(L)).
    """
    # two loops: LLVM vectorises a loop only if it touches few arrays
    for j in range(L.shape[0]):
        l = base[j] + x * Z[j]
        L[j] = l
        factor[j] = 1.0 + exp_negative(max(-abs(l), LOWEST))
    for j in range(L.shape[0]):
        q = 1.0 / factor[j]
        p = q if L[j] >= 0.0 else 1.0 - q
        R[j] = T[j] - p
        V[j] = q * (1.0 - q)
    for j in range(n, L.shape[0]):  # padding
        L[j], R[j], V[j], factor[j] = 0.0, 0.0, 0.0, 1.0
    A = total_positive(L)
    for start in range(0, L.shape[0], CHUNK):
        A += np.log(product(factor[start : start + CHUNK]))
    return total(V), A


@jit
def refresh(field, w, beta):
    """Recompute the state from the weights (r,) and the centred biases (d,)."""
    base = field.R  # not L itself: node_terms would run slowly if its arrays overlapped
    for i in range(base.shape[0]):
        level = field.c * beta[i]
        for j in range(base.shape[1]):
            base[i, j] = level
    for e in range(w.shape[0]):
        if w[e] != 0.0:
            base_u, base_v = base[field.edges[e, 0]], base[field.edges[e, 1]]
            Z_u, Z_v = field.Z[field.edges[e, 0]], field.Z[field.edges[e, 1]]
            x = w[e]
            for j in range(base.shape[1]):
                base_u[j] += x * Z_v[j]
            for j in range(base.shape[1]):
                base_v[j] += x * Z_u[j]
    for i in range(base.shape[0]):
        field.v[i], field.A[i] = node_terms(
            base[i],
            0.0,
            field.Z[i],
            field.T[i],
            field.n,
            field.L[i],
            field.R[i],
            field.V[i],
            field.room[12],
        )


@jit
def centred(field, w, b, beta):
    """Fill the centred biases `beta` (d,) from weights and biases."""
    beta[:] = b
    for e in range(w.shape[0]):
        if w[e] != 0.0:
            beta[field.edges[e, 0]] += w[e] * field.m[field.edges[e, 1]]
            beta[field.edges[e, 1]] += w[e] * field.m[field.edges[e, 0]]


@jit
def bias_terms(bias, u, v, b_u, b_v, m_u, m_v, x):
    """Log prior of the biases of both ends at value x of the edge; derivative and curvature by x.

    `b_u` and `b_v` are the biases at x = 0.
    """
    at_u, at_v = b_u - x * m_v, b_v - x * m_u
    if bias.kind == NORMAL:  # four times as fast as by the general functions
        location, scale, constant = bias.location, bias.scale, bias.constant
        z_u, z_v = (at_u - location[u]) / scale[u], (at_v - location[v]) / scale[v]
        c_u, c_v = m_v / scale[u], m_u / scale[v]
        value = constant[u] + constant[v] - 0.5 * (z_u * z_u + z_v * z_v)
        return value, c_u * z_u + c_v * z_v, c_u * c_u + c_v * c_v
    slope_u, precision_u = slope_and_precision(bias, u, at_u)
    slope_v, precision_v = slope_and_precision(bias, v, at_v)
    return (
        log_density(bias, u, at_u) + log_density(bias, v, at_v),
        -m_v * slope_u - m_u * slope_v,
        m_v * m_v * precision_u + m_u * m_u * precision_v,
    )


@jit
def shifted(field, u, v, L_u, L_v, x, out):
    """Terms of both ends at L_u + x Z_v and L_v + x Z_u, into rows of `out`: L, R, V of u, then of v.

    Returns score and information of the edge, sums of V of u and v, and of log(1 + exp(L)) likewise.
    """
    Z_u, Z_v = field.Z[u], field.Z[v]
    v_u, A_u = node_terms(L_u, x, Z_v, field.T[u], field.n, out[0], out[1], out[2], field.room[12])
    v_v, A_v = node_terms(L_v, x, Z_u, field.T[v], field.n, out[3], out[4], out[5], field.room[12])
    g = pair_dot(out[1], Z_v, out[4], Z_u)
    h = dot_square(out[2], Z_v) + dot_square(out[5], Z_u)
    return g, h, v_u, v_v, A_u, A_v


@jit
def copy_row(source, i, target, k):
    """Copy row i of `source` (., N) to row k of `target` (., N); ten times as fast as by slices."""
    for j in range(target.shape[1]):
        target[k, j] = source[i, j]


@jit
def keep(field, u, v, rows, v_u, v_v, A_u, A_v):
    """Make the terms in `rows` (6, N) those of the nodes u and v."""
    copy_row(rows, 0, field.L, u)
    copy_row(rows, 1, field.R, u)
    copy_row(rows, 2, field.V, u)
    copy_row(rows, 3, field.L, v)
    copy_row(rows, 4, field.R, v)
    copy_row(rows, 5, field.V, v)
    field.v[u], field.v[v], field.A[u], field.A[v] = v_u, v_v, A_u, A_v


@jit
def refined_mode(field, u, v, L_u, L_v, A, s, x, b_u, b_v, slab, shape, bias, rows):
    """Mode of the density of an edge, presence given, by Newton's method from x; precision, log odds.

    `L_u`, `L_v` (N,), `A` = A_u + A_v, `b_u` and `b_v` are those without the edge; `shape` is that of `slab`;
    `rows` (6, N) is scratch. The odds, of presence, are those of Laplace's method without the prior's.
    """
    m_u, m_v = field.m[u], field.m[v]
    prior_0 = bias_terms(bias, u, v, b_u, b_v, m_u, m_v, 0.0)[0]
    odds, H = 0.0, 1.0
    for _ in range(MAX_NEWTON):
        g, h, _, _, B_u, B_v = shifted(field, u, v, L_u, L_v, x, rows)
        prior, slope, precision = bias_terms(bias, u, v, b_u, b_v, m_u, m_v, x)
        if shape.kind != SERIES:
            slab_slope, slab_precision = simple_slope_and_precision(shape, x)
            density = simple_log_density(shape, x)
        else:
            slab_slope, slab_precision = slope_and_precision(slab, 0, x)
            density = log_density(slab, 0, x)
        H = h + precision + slab_precision
        shift = (g + slope + slab_slope) / H
        odds = x * s - (B_u + B_v - A) + prior - prior_0 + density + 0.5 * shift * shift * H
        shift = min(max(shift, -MAX_SHIFT), MAX_SHIFT)
        x = in_support(slab, x + shift)
        if shift * shift * H < 0.1:
            break
    return x, H, odds + HALF_LOG_2PI - 0.5 * np.log(H)


@jit
def sweep_edges(field, w, b, log_odds, slab, bias, corrected, rng):
    """Update every edge in turn, after `refresh` at the same weights and biases.

    Parameters
    ----------
    field : PseudoField
    w : (r,) array, changed in place
    b : (d,) array, changed in place if m is not zero
    log_odds : (r,) array
        Prior log odds of presence.
    slab : Densities of one parameter
    bias : Densities of d parameters
    corrected : bool
        Whether proposals are accepted by the rule of Metropolis and Hastings; else always.
    rng : numpy.random.Generator

    Returns
    -------
    n_proposed, n_accepted : int
        Proposals that would change an edge.
    """
    n_proposed, n_accepted = 0, 0
    reference, proposed = field.room[:6], field.room[6:12]
    simple = slab.kind != SERIES
    shape = scalars(slab)
    highest = np.exp(log_odds + slab.constant[0] + HALF_LOG_2PI)
    for e in range(w.shape[0]):
        u, v = field.edges[e, 0], field.edges[e, 1]
        old = w[e]
        uniform = rng.random()
        if old == 0.0:
            g = pair_dot(field.R[u], field.Z[v], field.R[v], field.Z[u])
            v_u, v_v, A_u, A_v = field.v[u], field.v[v], field.A[u], field.A[v]
            # information if the edge's ends had independent variances: no pass over the rows
            h = v_u * field.z2[v] + v_v * field.z2[u]
            # most edges are hopeless: an upper bound of what `rho` will be settles them
            bound = highest[e] / np.sqrt(h) * np.exp(min(0.5 * g * g / h, 50.0))
            if uniform > max(bound, LEAST) and bound < REFINE and g * g < STRONG * STRONG * h:
                continue
            L_u, L_v = field.L[u], field.L[v]
        else:
            L_u, L_v = reference[0], reference[3]
            g, _, v_u, v_v, A_u, A_v = shifted(field, u, v, field.L[u], field.L[v], -old, reference)
            h = v_u * field.z2[v] + v_v * field.z2[u]
        strong = g * g >= STRONG * STRONG * h
        m_u, m_v = field.m[u], field.m[v]
        b_u, b_v = b[u] + old * m_v, b[v] + old * m_u  # without the edge
        prior_0 = bias_terms(bias, u, v, b_u, b_v, m_u, m_v, 0.0)[0]
        if simple:
            x, H, odds = simple_mode(g, h, shape)
        else:
            x, H = quadratic_mode(g, h, slab)
            odds = quadratic_log_odds(x, H, g, h, slab)
        odds += log_odds[e]
        rho = inclusion_probability(odds)
        if rho > REFINE or strong:
            x, H, odds = refined_mode(
                field, u, v, L_u, L_v, A_u + A_v, field.s[e], x, b_u, b_v, slab, shape, bias, proposed
            )
            odds += log_odds[e]
            rho = inclusion_probability(odds)
        new = 0.0
        if uniform < rho:
            new = propose_value(x, H, rng)
        elif old == 0.0:
            continue
        n_proposed += 1
        log_ratio = 0.0
        w_u, w_v, B_u, B_v = v_u, v_v, A_u, A_v
        present = log_odds[e] - prior_0 - np.log(rho / (1.0 - rho))
        if new != 0.0:
            _, _, w_u, w_v, B_u, B_v = shifted(field, u, v, L_u, L_v, new, proposed)
            prior = bias_terms(bias, u, v, b_u, b_v, m_u, m_v, new)[0]
            log_ratio += new * field.s[e] - (B_u - A_u) - (B_v - A_v) + prior + present
            density = simple_log_density(shape, new) if simple else log_density(slab, 0, new)
            log_ratio += density - log_proposal(new, x, H)
        if old != 0.0:
            C_u, C_v = field.A[u], field.A[v]
            prior = bias_terms(bias, u, v, b_u, b_v, m_u, m_v, old)[0]
            log_ratio -= old * field.s[e] - (C_u - A_u) - (C_v - A_v) + prior + present
            density = simple_log_density(shape, old) if simple else log_density(slab, 0, old)
            log_ratio -= density - log_proposal(old, x, H)
        if corrected and not np.log(rng.random()) < log_ratio:
            continue
        n_accepted += 1
        w[e] = new
        b[u], b[v] = b_u - new * m_v, b_v - new * m_u
        keep(field, u, v, proposed if new != 0.0 else reference, w_u, w_v, B_u, B_v)
    return n_proposed, n_accepted
