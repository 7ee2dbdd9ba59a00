"""Edge moves of a binary field under its exact likelihood, by junction tree or enumeration.

A change of one edge, with the biases of its ends shifted so that they stay centred at the data (see
`edge_slab`), multiplies the probabilities of the four states of the pair by exp(x c), c the table
(y_u - m_u)(y_v - m_v). So the pair's marginal p, at x = 0, gives the likelihood over the whole range of x:
the log-partition function grows by log sum_k p_k exp(x c_k), identity (A2) of docs/notation.md.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.edge_slab import (
    HALF_LOG_2PI,
    MAX_SHIFT,
    SERIES,
    Fit,
    bias_terms,
    expanded_fit,
    inclusion_probability,
    log_density,
    log_fit,
    propose_fit,
)
from pymc_mrf.kernels.enumerated_field import multiply_pair, pair_probabilities
from pymc_mrf.kernels.junction_tree import Workspace
from pymc_mrf.kernels.junction_tree_focus import (
    Focus,
    calibrate,
    factor_log_table,
    update_factor,
)
from pymc_mrf.kernels.slab_shape import scalars, simple_edge_terms, simple_mode
from pymc_mrf.kernels.split_field import Rows, Windows, fill_window

MAX_NEWTON = 20
UNDERFLOW = 300.0  # change of a log potential beyond which listed probabilities would underflow


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
    spreads : (r,) array
        Largest minus smallest of the cells.
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
    spreads: np.ndarray
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
    top = max(max(log_p[0], log_p[1]), max(log_p[2], log_p[3]))
    mass = 0.0
    for k in range(4):
        mass += np.exp(log_p[k] - top)
    top += np.log(mass)
    for k in range(4):
        log_p[k] -= top


@jit
def fit_pair(log_p, c, s, n, slab, bias, u, v, b_u, b_v, m_u, m_v):
    """`Fit` of an edge's value under a tabulated slab, and the log odds of presence without the prior's.

    The log-likelihood is expanded at the mean of the last fit.
    """
    x, fit, odds = 0.0, Fit(0.0, 1.0, 0.0, 1.0, 0.0), 0.0
    for _ in range(MAX_NEWTON):
        gain, g, h = pair_terms(x, log_p, c, s, n)
        value, slope, precision = bias_terms(bias, u, v, b_u, b_v, m_u, m_v, x)
        fit, odds = expanded_fit(x, gain + value, g + slope, h + precision, slab)
        shift = fit.mode - x
        x += min(max(shift, -MAX_SHIFT), MAX_SHIFT)
        if shift * shift * fit.precision < 0.01:
            break
    return fit, odds


@jit
def update_pair(e, u, v, log_p, field, w, b, prior, corrected, rng):
    """Update edge e given the pair's log probabilities `log_p` (4,) without it.

    Changes `w` and `b` in place; returns the change of w and whether a change was proposed and made.
    """
    slab, bias = prior.slab, prior.bias
    simple = slab.kind != SERIES
    shape, at_u, at_v = scalars(slab, 0), scalars(bias, u), scalars(bias, v)
    old, c, s, n = w[e], field.cells[e], field.s[e], field.n
    m_u, m_v = field.m[u], field.m[v]
    b_u, b_v = b[u] + old * m_v, b[v] + old * m_u  # without the edge
    prior_0, slope, precision = bias_terms(bias, u, v, b_u, b_v, m_u, m_v, 0.0)
    present = prior.log_odds[e] - prior_0
    if simple:
        _, g, h = pair_terms(0.0, log_p, c, s, n)
        x, H, odds = simple_mode(g + slope, h + precision, shape)
        for _ in range(MAX_NEWTON):
            gain, g, h = pair_terms(x, log_p, c, s, n)
            value, slope, precision = simple_edge_terms(shape, at_u, at_v, b_u, b_v, m_u, m_v, x)
            H = h + precision
            shift = (g + slope) / H
            odds = gain + value + 0.5 * shift * shift * H
            x += min(max(shift, -MAX_SHIFT), MAX_SHIFT)
            if shift * shift * H < 0.01:
                break
        odds += HALF_LOG_2PI - 0.5 * np.log(H)
        fit = Fit(x, H, 0.0, 1.0, 0.0)
    else:
        fit, odds = fit_pair(log_p, c, s, n, slab, bias, u, v, b_u, b_v, m_u, m_v)
    rho = inclusion_probability(present + odds)
    new = propose_fit(fit, slab.cells, slab.heights, rng) if rng.random() < rho else 0.0
    if new == 0.0 and old == 0.0:
        return 0.0, False, False
    log_ratio = 0.0
    for y, sign in ((new, 1.0), (old, -1.0)):
        if y != 0.0:
            gain = pair_terms(y, log_p, c, s, n)[0] + present
            if simple:
                gain += simple_edge_terms(shape, at_u, at_v, b_u, b_v, m_u, m_v, y)[0]
            else:
                gain += bias_terms(bias, u, v, b_u, b_v, m_u, m_v, y)[0] + log_density(slab, 0, y)
            gain -= log_fit(fit, slab.cells, slab.heights, y)
            log_ratio += sign * (gain - np.log(rho / (1.0 - rho)))
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
    log_p, delta = np.empty(4), np.empty(4)
    tree, focus = machine.tree, machine.focus
    # anew in every sweep, so that rounding errors do not add up over the chain
    pack(field, w, b, machine.work.tables)
    calibrate(tree, machine.work.tables, focus)
    for e in field.order:
        factor_log_table(tree, focus, e, log_p)
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
            spread = field.spreads[e]
            strong = abs(w[e]) * spread > UNDERFLOW
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
            if strong or abs(change) * spread > UNDERFLOW:
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
