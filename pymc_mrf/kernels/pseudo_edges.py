"""Edge moves of a binary field under its pseudo-likelihood, one edge at a time.

Local fields L_i = c (b_i + sum_j w_ij y_j) of all nodes and rows are kept, with what follows from them, and
only two nodes change with an edge. Edges move at constant centred biases (see `edge_slab`): then
L_i = c beta_i + sum_j w_ij Z_j with Z_j = c (y_j - m_j).

Arrays over rows are stored node by node, padded to a multiple of 8 by rows with Z = 0.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import inlined, jit
from pymc_mrf.kernels.edge_slab import (
    HALF_LOG_2PI,
    LEAST,
    MAX_NEWTON,
    MAX_SHIFT,
    REFINE,
    SERIES,
    STRONG_SCORE,
    Fit,
    bias_terms,
    expanded_fit,
    inclusion_probability,
    log_density,
    log_fit,
    propose_fit,
    quadratic_fit,
)
from pymc_mrf.kernels.slab_shape import (
    scalars,
    simple_log_density,
    simple_mode,
    simple_slope_and_precision,
)
from pymc_mrf.kernels.vector_sums import (
    LOWEST,
    copy_row,
    dot_square,
    exp_negative,
    pair_dot,
    product,
    total,
    total_positive,
)

LANES = 8
CHUNK = 512  # rows whose factors 1 + exp(-|L|) <= 2 are multiplied before a logarithm is taken


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
def refined_fit(field, u, v, L_u, L_v, A, s, x, b_u, b_v, slab, shape, bias, rows):
    """`Fit` of the density of an edge, presence given, by Newton's method from x; the log odds of presence.

    `L_u`, `L_v` (N,), `A` = A_u + A_v, `b_u` and `b_v` are those without the edge; `shape` is that of `slab`;
    `rows` (6, N) is scratch. The odds are without the prior's. Under a tabulated slab the log-likelihood is
    expanded at the mean of the last fit.
    """
    m_u, m_v = field.m[u], field.m[v]
    prior_0 = bias_terms(bias, u, v, b_u, b_v, m_u, m_v, 0.0)[0]
    fit, odds = Fit(0.0, 1.0, 0.0, 1.0, 0.0), 0.0
    for _ in range(MAX_NEWTON):
        g, h, _, _, B_u, B_v = shifted(field, u, v, L_u, L_v, x, rows)
        prior, slope, precision = bias_terms(bias, u, v, b_u, b_v, m_u, m_v, x)
        value = x * s - (B_u + B_v - A) + prior - prior_0
        if shape.kind != SERIES:
            slab_slope, slab_precision = simple_slope_and_precision(shape, x)
            H = h + precision + slab_precision
            shift = (g + slope + slab_slope) / H
            odds = value + simple_log_density(shape, x) + 0.5 * shift * shift * H
            odds += HALF_LOG_2PI - 0.5 * np.log(H)
        else:
            fit, odds = expanded_fit(x, value, g + slope, h + precision, slab)
            shift, H = fit.mode - x, fit.precision
        shift = min(max(shift, -MAX_SHIFT), MAX_SHIFT)
        x += shift
        if shape.kind != SERIES:
            fit = Fit(x, H, 0.0, 1.0, 0.0)
        if shift * shift * H < 0.1:
            break
    return fit, odds


@inlined
def update_edge(
    e, u, v, L_u, L_v, g, h, v_u, v_v, A_u, A_v, uniform, field, w, b, prior, shape, corrected, rng
):
    """Update edge e as in `edge_slab`, given the terms of its ends without it.

    `L_u`, `L_v` (N,): local fields; `g`, `h`: score and information of the edge; `v_u`, `v_v`, `A_u`, `A_v`:
    sums of V and of log(1 + exp(L)). If the edge is present, all terms without it are in the first six rows
    of the room. `uniform` decides between presence and absence; `shape` is that of the slab.
    Changes `w` and `b` in place; returns whether a change was proposed and made.
    """
    reference, proposed = field.room[:6], field.room[6:12]
    slab, bias, log_odds = prior.slab, prior.bias, prior.log_odds[e]
    simple = slab.kind != SERIES
    old, m_u, m_v = w[e], field.m[u], field.m[v]
    b_u, b_v = b[u] + old * m_v, b[v] + old * m_u  # without the edge
    prior_0 = bias_terms(bias, u, v, b_u, b_v, m_u, m_v, 0.0)[0]
    if simple:
        x, H, odds = simple_mode(g, h, shape)
        fit = Fit(x, H, 0.0, 1.0, 0.0)
    else:
        fit, odds = quadratic_fit(g, h, slab)
    odds += log_odds
    rho = inclusion_probability(odds)
    if rho > REFINE or g * g >= STRONG_SCORE * STRONG_SCORE * h:
        A = A_u + A_v
        fit, odds = refined_fit(
            field, u, v, L_u, L_v, A, field.s[e], fit.mode, b_u, b_v, slab, shape, bias, proposed
        )
        odds += log_odds
        rho = inclusion_probability(odds)
    new = propose_fit(fit, slab.cells, slab.heights, rng) if uniform < rho else 0.0
    if new == 0.0 and old == 0.0:
        return False, False
    log_ratio = 0.0
    w_u, w_v, B_u, B_v = v_u, v_v, A_u, A_v
    present = log_odds - prior_0 - np.log(rho / (1.0 - rho))
    if new != 0.0:
        _, _, w_u, w_v, B_u, B_v = shifted(field, u, v, L_u, L_v, new, proposed)
        prior_new = bias_terms(bias, u, v, b_u, b_v, m_u, m_v, new)[0]
        log_ratio += new * field.s[e] - (B_u - A_u) - (B_v - A_v) + prior_new + present
        density = simple_log_density(shape, new) if simple else log_density(slab, 0, new)
        log_ratio += density - log_fit(fit, slab.cells, slab.heights, new)
    if old != 0.0:
        C_u, C_v = field.A[u], field.A[v]
        prior_old = bias_terms(bias, u, v, b_u, b_v, m_u, m_v, old)[0]
        log_ratio -= old * field.s[e] - (C_u - A_u) - (C_v - A_v) + prior_old + present
        density = simple_log_density(shape, old) if simple else log_density(slab, 0, old)
        log_ratio -= density - log_fit(fit, slab.cells, slab.heights, old)
    if corrected and not np.log(rng.random()) < log_ratio:
        return True, False
    w[e] = new
    b[u], b[v] = b_u - new * m_v, b_v - new * m_u
    keep(field, u, v, proposed if new != 0.0 else reference, w_u, w_v, B_u, B_v)
    return True, True


@jit
def sweep_edges(field, w, b, prior, corrected, rng):
    """Update every edge in turn, after `refresh` at the same weights and biases.

    Parameters
    ----------
    field : PseudoField
    w : (r,) array, changed in place
    b : (d,) array, changed in place if m is not zero
    prior : EdgePrior
    corrected : bool
        Whether proposals are accepted by the rule of Metropolis and Hastings; else always.
    rng : numpy.random.Generator

    Returns
    -------
    n_proposed, n_accepted : int
        Proposals that would change an edge.
    """
    n_proposed, n_accepted = 0, 0
    reference = field.room[:6]
    shape = scalars(prior.slab, 0)
    highest = np.exp(prior.log_odds + prior.slab.constant[0] + HALF_LOG_2PI)
    for e in range(w.shape[0]):
        u, v = field.edges[e, 0], field.edges[e, 1]
        uniform = rng.random()
        if w[e] == 0.0:
            g = pair_dot(field.R[u], field.Z[v], field.R[v], field.Z[u])
            v_u, v_v, A_u, A_v = field.v[u], field.v[v], field.A[u], field.A[v]
            # information if the edge's ends had independent variances: no pass over the rows
            h = v_u * field.z2[v] + v_v * field.z2[u]
            # most edges are hopeless: an upper bound of what `rho` will be settles them
            bound = highest[e] / np.sqrt(h) * np.exp(min(0.5 * g * g / h, 50.0))
            if (
                uniform > max(bound, LEAST)
                and bound < REFINE
                and g * g < STRONG_SCORE * STRONG_SCORE * h
            ):
                continue
            L_u, L_v = field.L[u], field.L[v]
        else:
            L_u, L_v = reference[0], reference[3]
            g, _, v_u, v_v, A_u, A_v = shifted(field, u, v, field.L[u], field.L[v], -w[e], reference)
            h = v_u * field.z2[v] + v_v * field.z2[u]
        proposed, accepted = update_edge(
            e,
            u,
            v,
            L_u,
            L_v,
            g,
            h,
            v_u,
            v_v,
            A_u,
            A_v,
            uniform,
            field,
            w,
            b,
            prior,
            shape,
            corrected,
            rng,
        )
        n_proposed += proposed
        n_accepted += accepted
    return n_proposed, n_accepted
