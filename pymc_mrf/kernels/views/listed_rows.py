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
from pymc_mrf.kernels.log_scores import fill_factors, normalise
from pymc_mrf.kernels.views import questions
from pymc_mrf.kernels.views.questions import Field, FieldData, fill_node_tables, set_edge

UNDERFLOW = 300.0  # change of a log potential beyond which listed probabilities would underflow
TINY = 1e-300


class RowStates(NamedTuple):
    """States of a row, and the histories of the data.

    Attributes
    ----------
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
    spread : (r,) array
        Largest minus smallest centred statistic of each edge.
    """

    block: np.ndarray
    nodes: np.ndarray
    size: np.ndarray
    states: np.ndarray
    histories: np.ndarray
    n: np.ndarray
    past: np.ndarray
    source: np.ndarray
    spread: np.ndarray


class ListedRoom(NamedTuple):
    """Scratch.

    Attributes
    ----------
    tables : (d, K) array
        Log potentials of the states of nodes.
    base : (S,) array
    growth : (K K,) array
    p : (H, d, K) array
        Probabilities of the states of nodes.
    """

    tables: np.ndarray
    base: np.ndarray
    growth: np.ndarray
    p: np.ndarray


class ListedRowView(NamedTuple):
    """A field in time whose rows are listed.

    Attributes
    ----------
    field : Field
    data : FieldData
    w, b, beta : (r,), (d q,), (d q,) arrays
        Present parameters: weights, biases, centred biases.
    n_biases : int
        d q if the biases move, else 0.
    rows : RowStates
    P : (H, S) array
        Probabilities of the states of a row.
    q : (H, K K) array
        Probabilities of the cells of the edge that was looked at, without it; of an arrow those of the states
        of its target, which have the first K places.
    room : ListedRoom
    """

    field: Field
    data: FieldData
    w: np.ndarray
    b: np.ndarray
    beta: np.ndarray
    n_biases: int
    rows: RowStates
    P: np.ndarray
    q: np.ndarray
    room: ListedRoom


@lean
def range_of(view, e):
    """Return first and last histories of edge e, and the number of states of a row."""
    rows = view.rows
    block = rows.block[view.field.edges[e, 0]]
    return rows.histories[block, 0], rows.histories[block, 1], rows.size[block]


@lean
def fill_probabilities(view):
    """List the probabilities at the view's parameters; return the sum over rows of the log normaliser."""
    field, rows, tables, K, total = (
        view.field,
        view.rows,
        view.room.tables,
        view.field.basis.shape[1],
        0.0,
    )
    fill_node_tables(field, view.b, tables)
    for block in range(rows.size.shape[0]):
        S, base, states = rows.size[block], view.room.base, rows.states
        start, end = rows.histories[block, 0], rows.histories[block, 1]
        for s in range(S):
            base[s] = 0.0
            for i in range(rows.nodes[block], rows.nodes[block + 1]):
                base[s] += tables[i, states[i, s]]
        for e in range(view.w.shape[0]):
            u, v, x = field.edges[e, 0], field.edges[e, 1], view.w[e]
            if rows.block[u] == block and rows.source[e] < 0 and x != 0.0:
                for s in range(S):
                    base[s] += x * field.statistic[e, states[u, s] * K + states[v, s]]
        for h in range(start, end):
            for s in range(S):
                view.P[h, s] = base[s]
        for e in range(view.w.shape[0]):
            u, x, source = field.edges[e, 0], view.w[e], rows.source[e]
            if rows.block[u] == block and source >= 0 and x != 0.0:
                for h in range(start, end):
                    for s in range(S):
                        view.P[h, s] += x * field.statistic[e, states[u, s] * K + rows.past[source, h]]
        for h in range(start, end):
            total += rows.n[h] * normalise(view.P[h, :S])
    return total


@lean
def second_state(view, e, h, s):
    """State of the second end of edge e in state s of a row, whose history is h."""
    rows, source = view.rows, view.rows.source[e]
    return rows.states[view.field.edges[e, 1], s] if source < 0 else rows.past[source, h]


@lean
def first_cell(view, e, h):
    """Which of the cells of edge e has the first place in `q` of history h, and the step to the next."""
    source, K = view.rows.source[e], view.field.basis.shape[1]
    return (0, 1) if source < 0 else (int(view.rows.past[source, h]), K)


@lean
def fill_cells(view, e, x):
    """Probabilities of the cells of edge e, whose value is x in `P`, without it, into `q`."""
    rows, c, K = view.rows, view.field.cells[e], view.field.basis.shape[1]
    first, second = rows.states[view.field.edges[e, 0]], rows.states[view.field.edges[e, 1]]
    start, end, S = range_of(view, e)
    is_link = rows.source[e] < 0
    n_cells = K * K if is_link else K
    for h in range(start, end):
        p, q = view.P[h], view.q[h]
        for k in range(n_cells):
            q[k] = 0.0
        if is_link:
            for s in range(S):
                q[first[s] * K + second[s]] += p[s]
        else:
            for s in range(S):
                q[first[s]] += p[s]
        if x != 0.0:
            cell, step = first_cell(view, e, h)
            top, mass = -np.inf, 0.0
            for k in range(n_cells):
                top = max(top, -x * c[cell + k * step])
            for k in range(n_cells):
                q[k] *= np.exp(-x * c[cell + k * step] - top)
                mass += q[k]
            for k in range(n_cells):
                q[k] /= max(mass, TINY)


@questions.look_at.register(ListedRowView)
def look_at_listed_rows(view, e, x):
    """Sum the probabilities of the cells."""
    if abs(x) * view.rows.spread[e] > UNDERFLOW:
        set_edge(view, e, 0.0)
        fill_probabilities(view)
        fill_cells(view, e, 0.0)
        set_edge(view, e, x)
        fill_probabilities(view)
    else:
        fill_cells(view, e, x)
    _, g, h = terms_of_cells(view, e, 0.0)
    return 0.5 * g * g / max(h, TINY), h


@questions.likelihood_terms.register(ListedRowView)
def terms_of_cells(view, e, x):
    """Compute the terms from the probabilities of the cells."""
    field, rows, growth = view.field, view.rows, view.room.growth
    start, end, _ = range_of(view, e)
    n_cells = field.basis.shape[1] if rows.source[e] >= 0 else growth.shape[0]
    c, top = field.cells[e], fill_factors(x, field.cells[e], growth)
    value, slope, information = x * view.data.s[e], view.data.s[e], 0.0
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
        value -= rows.n[h] * (top + np.log(z))
        slope -= rows.n[h] * first
        information += rows.n[h] * max(second / z - first * first, 0.0)
    return value, slope, information


@questions.keep_look.register(ListedRowView)
def keep_cells(view, slot):
    """Leave them: edges that are looked at together have histories of their own."""


@questions.recall_look.register(ListedRowView)
def recall_cells(view, slot):
    """Find them as they were."""


@questions.follow.register(ListedRowView)
def follow_listed_rows(view, e, old, new):
    """Multiply the probabilities by exp((new - old) c), and normalise them."""
    if abs(new - old) * view.rows.spread[e] > UNDERFLOW:
        fill_probabilities(view)
        return
    field, K, growth = view.field, view.field.basis.shape[1], view.room.growth
    states, (start, end, S) = view.rows.states[field.edges[e, 0]], range_of(view, e)
    for k in range(growth.shape[0]):
        growth[k] = np.exp((new - old) * field.cells[e, k])
    for h in range(start, end):
        p, mass = view.P[h], 0.0
        for s in range(S):
            p[s] *= growth[states[s] * K + second_state(view, e, h, s)]
            mass += p[s]
        for s in range(S):
            p[s] /= mass


@lean
def fill_node_shares(view):
    """Fill the probabilities of the states of all nodes in every history, `view.room.p`."""
    rows, shares = view.rows, view.room.p
    for block in range(rows.size.shape[0]):
        for h in range(rows.histories[block, 0], rows.histories[block, 1]):
            for i in range(rows.nodes[block], rows.nodes[block + 1]):
                for a in range(shares.shape[2]):
                    shares[h, i, a] = 0.0
                for s in range(rows.size[block]):
                    shares[h, i, rows.states[i, s]] += view.P[h, s]


@questions.add_slopes.register(ListedRowView)
def add_slopes_of_listed_rows(view, active, slope):
    """Log-likelihood and slopes from a list of all rows."""
    field, data, rows, (q, K), k = (
        view.field,
        view.data,
        view.rows,
        view.field.basis.shape,
        active.shape[0],
    )
    value, shares = -fill_probabilities(view), view.room.p
    fill_node_shares(view)
    for j in range(k):
        e = active[j]
        u, c, source = field.edges[e, 0], field.cells[e], rows.source[e]
        start, end, S = range_of(view, e)
        value += view.w[e] * data.sums[e]
        slope[j] += data.s[e]
        for h in range(start, end):
            mean = 0.0
            if source < 0:
                for s in range(S):
                    mean += view.P[h, s] * c[rows.states[u, s] * K + second_state(view, e, h, s)]
            else:
                for a in range(K):
                    mean += shares[h, u, a] * c[a * K + rows.past[source, h]]
            slope[j] -= rows.n[h] * mean
    for a in range(view.b.shape[0]):
        value += view.b[a] * data.t[a]
    for a in range(view.n_biases):
        block, mean = rows.block[a // q], 0.0
        for h in range(rows.histories[block, 0], rows.histories[block, 1]):
            for i in range(K):
                mean += rows.n[h] * shares[h, a // q, i] * field.basis[a % q, i]
        slope[k + a] += data.t[a] - mean
    return value
