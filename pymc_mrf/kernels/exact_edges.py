"""Edge moves of a binary field under its exact likelihood, by junction tree or enumeration.

A change of one edge, with the biases of its ends shifted so that they stay centred at the data (see
`pseudo_edges`), multiplies the probabilities of the four states of the pair by exp(x c), c the table
(y_u - m_u)(y_v - m_v). So the pair's marginal gives the likelihood over the whole range of x: identity
(A1) of the design, with four cells in place of two.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.edge_slab import (
    HALF_LOG_2PI,
    MAX_SHIFT,
    in_support,
    inclusion_probability,
    log_density,
    log_proposal,
    propose_value,
    quadratic_mode,
    slope_and_precision,
)
from pymc_mrf.kernels.enumerated_field import fill_marginals, multiply_pair, pair_probabilities
from pymc_mrf.kernels.junction_tree import Workspace, log_partition_and_marginals
from pymc_mrf.kernels.junction_tree_focus import (
    Focus,
    calibrate,
    factor_log_table,
    update_factor,
)
from pymc_mrf.kernels.pseudo_edges import bias_terms
from pymc_mrf.kernels.split_field import Rows, Windows, fill_window, log_partition_and_moments

MAX_NEWTON = 20
# change of a log potential beyond which listed probabilities, kept as such, would underflow
STRONG = 300.0


class ExactField(NamedTuple):
    """Data of one field.

    Attributes
    ----------
    edges : (r, 2) int64 array
    y : (2,) array
        Values of the states.
    n : float
        Rows.
    m : (d,) array
        Means of the state values, or zeros.
    s : (r,) array
        Sum over rows of (y_u - m_u)(y_v - m_v) - m_u m_v, that is of y_u y_v - m_v y_u - m_u y_v.
    t : (d,) array
        Sum over rows of y.
    cells : (r, 4) array
        y_u y_v - m_v y_u - m_u y_v of the four states of each pair.
    order : (r,) int64 array
        Order of visits.
    """

    edges: np.ndarray
    y: np.ndarray
    n: float
    m: np.ndarray
    s: np.ndarray
    t: np.ndarray
    cells: np.ndarray
    order: np.ndarray


class Machine(NamedTuple):
    """How marginals of the field are computed.

    Attributes
    ----------
    enumerates : bool
        Whether over all configurations; else by junction tree.
    tree : TreeArrays
    focus : Focus
    work : Workspace
    marginals : (T,) array
        Of all factors, edges first.
    P, h : (2^d,) arrays, or (1,) with a junction tree
    W : (d + 1, d) array
    moments : (d, d) array
    windows : Windows
        Where single edges are moved.
    rows : Rows
    """

    enumerates: bool
    tree: NamedTuple
    focus: Focus
    work: Workspace
    marginals: np.ndarray
    P: np.ndarray
    h: np.ndarray
    W: np.ndarray
    moments: np.ndarray
    windows: Windows
    rows: Rows


@jit
def pair_terms(x, log_p, c, s, n):
    """Log-likelihood gained by moving an edge from 0 to x, its slope and information there.

    `log_p` (4,): normalised log probabilities of the pair at 0; `c` (4,).
    """
    top = log_p[0] + x * c[0]
    for k in range(1, 4):
        top = max(top, log_p[k] + x * c[k])
    z, first, second = 0.0, 0.0, 0.0
    for k in range(4):
        p = np.exp(log_p[k] + x * c[k] - top)
        z += p
        first += p * c[k]
        second += p * c[k] * c[k]
    first /= z
    second /= z
    return x * s - n * (top + np.log(z)), s - n * first, n * max(second - first * first, 0.0)


@jit
def normalise_logs(log_p):
    """Subtract the log of the sum of exponentials, in place."""
    top = log_p.max()
    log_p -= top + np.log(np.exp(log_p - top).sum())


@jit
def update_pair(e, u, v, log_p, field, w, b, prior, corrected, rng):
    """Update edge e given the pair's log probabilities `log_p` (4,) without it.

    Changes `w` and `b` in place; returns the change of w and whether a change was proposed and made.
    """
    slab, bias = prior.slab, prior.bias
    old, c, s, n = w[e], field.cells[e], field.s[e], field.n
    m_u, m_v = field.m[u], field.m[v]
    b_u, b_v = b[u] + old * m_v, b[v] + old * m_u  # without the edge
    prior_0, slope, precision = bias_terms(bias, u, v, b_u, b_v, m_u, m_v, 0.0)
    _, g, h = pair_terms(0.0, log_p, c, s, n)
    x, H = quadratic_mode(g + slope, h + precision, slab)
    odds = prior.log_odds[e]
    for _ in range(MAX_NEWTON):
        gain, g, h = pair_terms(x, log_p, c, s, n)
        value, slope, precision = bias_terms(bias, u, v, b_u, b_v, m_u, m_v, x)
        slab_slope, slab_precision = slope_and_precision(slab, 0, x)
        H = h + precision + slab_precision
        shift = (g + slope + slab_slope) / H
        odds = prior.log_odds[e] + gain + value - prior_0 + log_density(slab, 0, x)
        odds += 0.5 * shift * shift * H
        x = in_support(slab, x + min(max(shift, -MAX_SHIFT), MAX_SHIFT))
        if shift * shift * H < 0.01:
            break
    rho = inclusion_probability(odds + HALF_LOG_2PI - 0.5 * np.log(H))
    new = propose_value(x, H, rng) if rng.random() < rho else 0.0
    if new == 0.0 and old == 0.0:
        return 0.0, False, False
    log_ratio = 0.0
    for value, sign in ((new, 1.0), (old, -1.0)):
        if value != 0.0:
            gain = pair_terms(value, log_p, c, s, n)[0] + prior.log_odds[e] - prior_0
            gain += bias_terms(bias, u, v, b_u, b_v, m_u, m_v, value)[0] + log_density(slab, 0, value)
            log_ratio += sign * (gain - np.log(rho / (1.0 - rho)) - log_proposal(value, x, H))
    if corrected and not np.log(rng.random()) < log_ratio:
        return 0.0, True, False
    w[e] = new
    b[u], b[v] = b_u - new * m_v, b_v - new * m_u
    return new - old, True, True


@jit
def sweep_edges(field, w, b, prior, corrected, machine, rng):
    """Update every edge in turn.

    Parameters
    ----------
    field : ExactField
    w : (r,) array, changed in place
    b : (d,) array, changed in place if m is not zero
    prior : EdgePrior
    corrected : bool
        Whether proposals are accepted by the rule of Metropolis and Hastings; else always.
    machine : Machine
    rng : numpy.random.Generator

    Returns
    -------
    n_proposed, n_accepted : int
        Proposals that would change an edge.
    """
    if machine.enumerates:
        return sweep_windows(field, w, b, prior, corrected, machine, rng)
    return sweep_tree(field, w, b, prior, corrected, machine, rng)


@jit
def sweep_tree(field, w, b, prior, corrected, machine, rng):
    """`sweep_edges` by junction tree."""
    n_proposed, n_accepted = 0, 0
    log_p, total, delta = np.empty(4), np.empty(4), np.empty(4)
    tree, focus = machine.tree, machine.focus
    # anew in every sweep, so that rounding errors do not add up over the chain
    pack(field, w, b, machine.work.tables)
    calibrate(tree, machine.work.tables, focus)
    for e in field.order:
        factor_log_table(tree, focus, e, log_p, total)
        for k in range(4):
            log_p[k] -= w[e] * field.cells[e, k]
        normalise_logs(log_p)
        u, v = field.edges[e, 0], field.edges[e, 1]
        change, proposed, accepted = update_pair(e, u, v, log_p, field, w, b, prior, corrected, rng)
        n_proposed += proposed
        n_accepted += accepted
        if change != 0.0:
            for k in range(4):
                delta[k] = change * field.cells[e, k]
            update_factor(tree, focus, e, delta)
    return n_proposed, n_accepted


@jit
def list_window(field, w, b, machine, i):
    """Probabilities of the states of window i of the enumeration, into `machine.rows.table`."""
    nodes, size = machine.windows.nodes[i], machine.windows.sizes[i]
    fill_window(field.edges, field.y, w, b, nodes, size, machine.rows, machine.W, machine.P, machine.h)


@jit
def sweep_windows(field, w, b, prior, corrected, machine, rng):
    """`sweep_edges` by enumeration: the edges of a window only need the marginal table of its nodes.

    A change of an edge and of the biases of its ends multiplies that table as it does the whole field.
    """
    n_proposed, n_accepted = 0, 0
    log_p, delta = np.empty(4), np.empty(4)
    windows = machine.windows
    for i in range(windows.sizes.shape[0]):
        P = machine.rows.table[: 1 << windows.sizes[i]]
        list_window(field, w, b, machine, i)
        for a in range(windows.starts[i], windows.starts[i + 1]):
            e = windows.order[a]
            u, v = field.edges[e, 0], field.edges[e, 1]
            at_u, at_v = windows.places[i, u], windows.places[i, v]
            spread = field.cells[e].max() - field.cells[e].min()
            strong = abs(w[e]) * spread > STRONG
            if strong:
                old, m_u, m_v = w[e], field.m[u], field.m[v]
                w[e], b[u], b[v] = 0.0, b[u] + old * m_v, b[v] + old * m_u
                list_window(field, w, b, machine, i)
                pair_probabilities(P, at_u, at_v, log_p)
                w[e], b[u], b[v] = old, b[u] - old * m_v, b[v] - old * m_u
            else:
                pair_probabilities(P, at_u, at_v, log_p)
                for k in range(4):
                    log_p[k] -= w[e] * field.cells[e, k]
            normalise_logs(log_p)
            change, proposed, accepted = update_pair(e, u, v, log_p, field, w, b, prior, corrected, rng)
            n_proposed += proposed
            n_accepted += accepted
            if strong or abs(change) * spread > STRONG:
                list_window(field, w, b, machine, i)
            elif change != 0.0:
                for k in range(4):
                    log_p[k] += (w[e] - change) * field.cells[e, k]  # at the old value
                    delta[k] = change * field.cells[e, k]
                multiply_by_pair(P, at_u, at_v, log_p, delta)
    return n_proposed, n_accepted


@jit
def multiply_by_pair(P, u, v, log_p, delta):
    """Multiply P by exp(delta) (4,) and normalise it; `log_p` (4,) are the pair's logs before, in P."""
    top = max(max(log_p[0], log_p[1]), max(log_p[2], log_p[3]))
    new_top = -np.inf
    for k in range(4):
        new_top = max(new_top, log_p[k] + delta[k])
    before, after = 0.0, 0.0
    for k in range(4):
        before += np.exp(log_p[k] - top)
        after += np.exp(log_p[k] + delta[k] - new_top)
    shift = np.log(after / before) + new_top - top
    f00, f01 = np.exp(delta[0] - shift), np.exp(delta[1] - shift)
    f10, f11 = np.exp(delta[2] - shift), np.exp(delta[3] - shift)
    multiply_pair(P, u, v, f00, f01, f10, f11)


@jit
def pack(field, w, b, tables):
    """Log tables of all factors, (4 r + 2 d,), from weights and biases."""
    r = w.shape[0]
    for e in range(r):
        for k in range(4):
            tables[4 * e + k] = w[e] * field.y[k // 2] * field.y[k % 2]
    for i in range(b.shape[0]):
        for k in range(2):
            tables[4 * r + 2 * i + k] = b[i] * field.y[k]


@jit
def log_posterior_and_gradient(field, active, w, b, prior, n_biases, machine, out):
    """Log posterior up to a constant; its approximate gradient by (k weights, centred biases)."""
    r, k = w.shape[0], active.shape[0]
    marginals = machine.marginals
    if machine.enumerates:
        A = log_partition_and_moments(
            field.edges,
            field.y,
            w,
            b,
            machine.rows,
            machine.W,
            machine.P,
            machine.h,
            machine.moments,
        )
        fill_marginals(field.edges, machine.moments, marginals)
    else:
        pack(field, w, b, machine.work.tables)
        A = log_partition_and_marginals(machine.tree, machine.work.tables, machine.work, marginals)
    value = -field.n * A
    for i in range(b.shape[0]):
        value += b[i] * field.t[i]
        if n_biases > 0:
            p = marginals[4 * r + 2 * i : 4 * r + 2 * i + 2]
            mean = p[0] * field.y[0] + p[1] * field.y[1]
            value += log_density(prior.bias, i, b[i])
            out[k + i] = field.t[i] - field.n * mean + slope_and_precision(prior.bias, i, b[i])[0]
    for a in range(k):
        e = active[a]
        u, v = field.edges[e, 0], field.edges[e, 1]
        m_u, m_v = field.m[u], field.m[v]
        # s refers to centred biases; the uncentred sum belongs to the weight alone
        value += w[e] * (field.s[e] + m_v * field.t[u] + m_u * field.t[v])
        value += log_density(prior.slab, 0, w[e])
        mean = 0.0
        for j in range(4):
            mean += marginals[4 * e + j] * field.cells[e, j]
        out[a] = field.s[e] - field.n * mean + slope_and_precision(prior.slab, 0, w[e])[0]
        if n_biases > 0:
            out[a] -= m_v * slope_and_precision(prior.bias, u, b[u])[0]
            out[a] -= m_u * slope_and_precision(prior.bias, v, b[v])[0]
    return value


@jit
def hamiltonian_move(
    field, active, w, b, beta, prior, n_biases, inverse_mass, step, n_steps, machine, rng, room
):
    """One trajectory, as `pseudo_joint.hamiltonian_move`; returns the acceptance probability."""
    k = active.shape[0]
    q, start, momentum, slope = room[0], room[1], room[2], room[3]
    for a in range(k):
        q[a] = w[active[a]]
    q[k:] = beta[:n_biases]
    start[:] = q
    before = log_posterior_and_gradient(field, active, w, b, prior, n_biases, machine, slope)
    after = before
    for a in range(q.shape[0]):
        momentum[a] = rng.standard_normal() / np.sqrt(inverse_mass[a])
        before -= 0.5 * momentum[a] ** 2 * inverse_mass[a]
    for _ in range(n_steps):
        for a in range(q.shape[0]):
            momentum[a] += 0.5 * step * slope[a]
            q[a] += step * inverse_mass[a] * momentum[a]
        set_parameters(field, active, q, n_biases, w, b, beta)
        after = log_posterior_and_gradient(field, active, w, b, prior, n_biases, machine, slope)
        for a in range(q.shape[0]):
            momentum[a] += 0.5 * step * slope[a]
    for a in range(q.shape[0]):
        after -= 0.5 * momentum[a] ** 2 * inverse_mass[a]
    log_ratio = after - before
    accept = np.exp(min(log_ratio, 0.0)) if log_ratio == log_ratio else 0.0
    for a in range(k):
        if q[a] == 0.0:  # would be an absent edge
            accept = 0.0
    if not rng.random() < accept:
        set_parameters(field, active, start, n_biases, w, b, beta)
    return accept


@jit
def set_parameters(field, active, q, n_biases, w, b, beta):
    """Weights and biases from the coordinates q (k + n_biases,)."""
    k = active.shape[0]
    for a in range(k):
        w[active[a]] = q[a]
    if n_biases > 0:
        beta[:] = q[k:]
        b[:] = beta
        for e in active:
            b[field.edges[e, 0]] -= w[e] * field.m[field.edges[e, 1]]
            b[field.edges[e, 1]] -= w[e] * field.m[field.edges[e, 0]]
