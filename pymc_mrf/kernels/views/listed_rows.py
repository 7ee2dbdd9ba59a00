"""View of fields in time with links for `edge_moves`: all states of a row are listed.

A row depends on the earlier ones, its *history*. Given a history h the row is in state s with a probability
P_hs, proportional to the product of the factors of its nodes, of its links, and of the arrows to it. Rows
with the same history share them. A change of one edge, with the biases of its ends shifted so that the
centred ones stay, multiplies them by exp(x c), c the centred statistic at a *cell*: the states of both ends.
So the probabilities q_hk of the cells, at x = 0, give the likelihood over the whole range of x: the
normalisers grow by sum_h n_h log sum_k q_hk exp(x c_k).

Fields side by side are blocks, each of which has nodes, histories, and states of a row of its own.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.views import questions
from pymc_mrf.kernels.views.questions import Field, fill_node_tables, set_edge

UNDERFLOW = 300.0  # change of a log potential beyond which listed probabilities would underflow
TINY = 1e-300


class ListedRows(NamedTuple):
    """A field in time whose rows are listed.

    Attributes
    ----------
    field : Field
    w, b, beta : (r,), (d q,), (d q,) arrays
        Present parameters: weights, biases, centred biases.
    n_biases : int
        d q if the biases move, else 0.
    block : (d,) int64 array
        Block of each node.
    nodes, size : (B + 1,), (B,) int64 arrays
        First node of every block, and number of states of its row.
    states : (d, S) int8 array
        State of every node in each state of a row.
    histories : (B, 2) int64 array
        First history of every block, and the first that is not one of it.
    n : (H,) array
        Rows that have each history.
    past : (D, H) int8 array
        State of each column of the data in each history, of the columns of earlier rows.
    source : (r,) int64 array
        Column from which each arrow leads; -1 for links.
    P : (H, S) array
        Probabilities of the states of a row.
    q : (H, K K) array
        Probabilities of the cells of the edge that was looked at, without it; of an arrow those of the states
        of its target, which have the first K places.
    tables : (d, K) array
        Log potentials of the states of nodes.
    base, spread : (S,), (r,) arrays
        Scratch; largest minus smallest centred statistic.
    p : (H, d, K) array
        Probabilities of the states of nodes, where slopes were last asked for.
    growth : (K K,) array
        Scratch.
    """

    field: Field
    w: np.ndarray
    b: np.ndarray
    beta: np.ndarray
    n_biases: int
    block: np.ndarray
    nodes: np.ndarray
    size: np.ndarray
    states: np.ndarray
    histories: np.ndarray
    n: np.ndarray
    past: np.ndarray
    source: np.ndarray
    P: np.ndarray
    q: np.ndarray
    tables: np.ndarray
    base: np.ndarray
    spread: np.ndarray
    p: np.ndarray
    growth: np.ndarray


@lean
def range_of(view, e):
    """Return first and last histories of edge e, and the number of states of a row."""
    block = view.block[view.field.edges[e, 0]]
    return view.histories[block, 0], view.histories[block, 1], view.size[block]


@lean
def fill_probabilities(view):
    """List the probabilities at the view's parameters; return the sum over rows of the log normaliser."""
    field, K, total = view.field, view.field.basis.shape[1], 0.0
    fill_node_tables(field, view.b, view.tables)
    for block in range(view.size.shape[0]):
        S, base = view.size[block], view.base
        for s in range(S):
            base[s] = 0.0
            for i in range(view.nodes[block], view.nodes[block + 1]):
                base[s] += view.tables[i, view.states[i, s]]
        for e in range(view.w.shape[0]):
            u, v, x = field.edges[e, 0], field.edges[e, 1], view.w[e]
            if view.block[u] == block and view.source[e] < 0 and x != 0.0:
                for s in range(S):
                    base[s] += x * field.statistic[e, view.states[u, s] * K + view.states[v, s]]
        for h in range(view.histories[block, 0], view.histories[block, 1]):
            for s in range(S):
                view.P[h, s] = base[s]
        for e in range(view.w.shape[0]):
            u, v, x = field.edges[e, 0], field.edges[e, 1], view.w[e]
            if view.block[u] == block and view.source[e] >= 0 and x != 0.0:
                for h in range(view.histories[block, 0], view.histories[block, 1]):
                    b = view.past[view.source[e], h]
                    for s in range(S):
                        view.P[h, s] += x * field.statistic[e, view.states[u, s] * K + b]
        for h in range(view.histories[block, 0], view.histories[block, 1]):
            top, mass = -np.inf, 0.0
            for s in range(S):
                top = max(top, view.P[h, s])
            for s in range(S):
                view.P[h, s] = np.exp(view.P[h, s] - top)
                mass += view.P[h, s]
            for s in range(S):
                view.P[h, s] /= mass
            total += view.n[h] * (top + np.log(mass))
    return total


@lean
def first_cell(view, e, h):
    """Which of the cells of edge e has the first place in `q` of history h, and the step to the next."""
    K = view.field.basis.shape[1]
    return (0, 1) if view.source[e] < 0 else (int(view.past[view.source[e], h]), K)


@lean
def fill_cells(view, e, x):
    """Probabilities of the cells of edge e, whose value is x in `P`, without it, into `q`."""
    field, K = view.field, view.field.basis.shape[1]
    u, v = field.edges[e, 0], field.edges[e, 1]
    start, end, S = range_of(view, e)
    is_link = view.source[e] < 0
    n_cells = K * K if is_link else K
    for h in range(start, end):
        for k in range(n_cells):
            view.q[h, k] = 0.0
        if is_link:
            for s in range(S):
                view.q[h, view.states[u, s] * K + view.states[v, s]] += view.P[h, s]
        else:
            for s in range(S):
                view.q[h, view.states[u, s]] += view.P[h, s]
        if x != 0.0:
            cell, step = first_cell(view, e, h)
            top, mass = -np.inf, 0.0
            for k in range(n_cells):
                top = max(top, -x * field.cells[e, cell + k * step])
            for k in range(n_cells):
                view.q[h, k] *= np.exp(-x * field.cells[e, cell + k * step] - top)
                mass += view.q[h, k]
            for k in range(n_cells):
                view.q[h, k] /= max(mass, TINY)


@questions.look_at.register(ListedRows)
def look_at_listed_rows(view, e, x):
    """Sum the probabilities of the cells."""
    if abs(x) * view.spread[e] > UNDERFLOW:
        set_edge(view, e, 0.0)
        fill_probabilities(view)
        fill_cells(view, e, 0.0)
        set_edge(view, e, x)
        fill_probabilities(view)
    else:
        fill_cells(view, e, x)
    _, g, h = terms_of_cells(view, e, 0.0)
    return 0.5 * g * g / max(h, TINY), h


@questions.without_edge.register(ListedRows)
def listed_rows_without_edge(view, e):
    """Compute both from the probabilities of the cells."""
    _, g, h = terms_of_cells(view, e, 0.0)
    return g, h


@questions.likelihood_terms.register(ListedRows)
def terms_of_cells(view, e, x):
    """Compute the terms from the probabilities of the cells."""
    field, growth = view.field, view.growth
    start, end, _ = range_of(view, e)
    n_cells = view.field.basis.shape[1] if view.source[e] >= 0 else growth.shape[0]
    c, top = field.cells[e], -np.inf
    for k in range(growth.shape[0]):
        top = max(top, x * c[k])
    for k in range(growth.shape[0]):
        growth[k] = np.exp(x * c[k] - top)
    value, slope, information = x * field.s[e], field.s[e], 0.0
    for h in range(start, end):
        cell, step = first_cell(view, e, h)
        z, first, second = 0.0, 0.0, 0.0
        for k in range(n_cells):
            at = cell + k * step
            p = view.q[h, k] * growth[at]
            z += p
            first += p * c[at]
            second += p * c[at] * c[at]
        z = max(z, TINY)
        first /= z
        value -= view.n[h] * (top + np.log(z))
        slope -= view.n[h] * first
        information += view.n[h] * max(second / z - first * first, 0.0)
    return value, slope, information


@questions.gain.register(ListedRows)
def gain_of_cells(view, e, x):
    """Compute the gain from the probabilities of the cells."""
    return terms_of_cells(view, e, x)[0]


@questions.keep_look.register(ListedRows)
def keep_cells(view, slot):
    """Leave them: edges that are looked at together have histories of their own."""


@questions.recall_look.register(ListedRows)
def recall_cells(view, slot):
    """Find them as they were."""


@questions.follow.register(ListedRows)
def follow_listed_rows(view, e, old, new):
    """Multiply the probabilities by exp((new - old) c), and normalise them."""
    if abs(new - old) * view.spread[e] > UNDERFLOW:
        fill_probabilities(view)
        return
    field, K, growth = view.field, view.field.basis.shape[1], view.growth
    u, v = field.edges[e, 0], field.edges[e, 1]
    start, end, S = range_of(view, e)
    for k in range(growth.shape[0]):
        growth[k] = np.exp((new - old) * field.cells[e, k])
    for h in range(start, end):
        mass = 0.0
        for s in range(S):
            b = view.states[v, s] if view.source[e] < 0 else view.past[view.source[e], h]
            view.P[h, s] *= growth[view.states[u, s] * K + b]
            mass += view.P[h, s]
        for s in range(S):
            view.P[h, s] /= mass


@questions.add_slopes.register(ListedRows)
def add_slopes_of_listed_rows(view, active, slope):
    """Log-likelihood and slopes from a list of all rows."""
    field, (q, K), k = view.field, view.field.basis.shape, active.shape[0]
    value = -fill_probabilities(view)
    for block in range(view.size.shape[0]):
        for h in range(view.histories[block, 0], view.histories[block, 1]):
            for i in range(view.nodes[block], view.nodes[block + 1]):
                for a in range(K):
                    view.p[h, i, a] = 0.0
                for s in range(view.size[block]):
                    view.p[h, i, view.states[i, s]] += view.P[h, s]
    for j in range(k):
        e = active[j]
        u, v = field.edges[e, 0], field.edges[e, 1]
        start, end, S = range_of(view, e)
        value += view.w[e] * field.sums[e]
        slope[j] += field.s[e]
        for h in range(start, end):
            mean = 0.0
            if view.source[e] < 0:
                for s in range(S):
                    mean += view.P[h, s] * field.cells[e, view.states[u, s] * K + view.states[v, s]]
            else:
                for a in range(K):
                    mean += view.p[h, u, a] * field.cells[e, a * K + view.past[view.source[e], h]]
            slope[j] -= view.n[h] * mean
    for a in range(view.b.shape[0]):
        value += view.b[a] * field.t[a]
    for a in range(view.n_biases):
        i, mean = a // q, 0.0
        for h in range(view.histories[view.block[i], 0], view.histories[view.block[i], 1]):
            for c in range(K):
                mean += view.n[h] * view.p[h, i, c] * field.basis[a % q, c]
        slope[k + a] += field.t[a] - mean
    return value


@questions.is_trusted.register(ListedRows)
def listed_rows_are_trusted(view):
    """Nothing is estimated."""
    return True
