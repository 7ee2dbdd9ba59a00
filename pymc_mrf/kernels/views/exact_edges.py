"""Views of the exact likelihood for `edge_moves`: by junction tree, or of binary fields by enumeration.

A change of one edge, with the biases of its ends shifted so that the centred ones stay, multiplies
the probabilities of the states of the pair by exp(x c), `c` (K K,) the table of the centred statistic. So the
pair's marginal p, at x = 0, gives the likelihood over the whole range of x: the log-partition function grows
by log sum_k p_k exp(x c_k), identity (A2) of docs/notation.md.

Where blocks of parameters are asked for, values `x` (W,), `old` and `new` (W,), slopes `g` (W,) and
information `H` (W, W) are as in `block_edges`.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.junction_trees.junction_tree import Workspace, log_partition_and_marginals
from pymc_mrf.kernels.junction_trees.junction_tree_focus import (
    Focus,
    calibrate,
    factor_log_table,
    update_factor,
)
from pymc_mrf.kernels.log_scores import normalise_logs, pair_terms
from pymc_mrf.kernels.vector_sums import copy
from pymc_mrf.kernels.views import block_edges as blocks
from pymc_mrf.kernels.views import questions
from pymc_mrf.kernels.views.enumerated_field import fill_marginals, multiply_pair, pair_probabilities
from pymc_mrf.kernels.views.questions import Field, FieldData, rows_of, set_edge
from pymc_mrf.kernels.views.split_field import (
    WindowRows,
    Windows,
    fill_window,
    log_partition_and_moments,
)
from pymc_mrf.kernels.views.table_blocks import (
    fill_pair_moments,
    fill_table,
    pair_gain,
    take_table_off,
)

UNDERFLOW = 300.0  # change of a log potential beyond which listed probabilities would underflow


class TreeView(NamedTuple):
    """A field by its junction tree.

    Attributes
    ----------
    field : Field
        Pairs of nodes are the first factors of the tree.
    data : FieldData
    w, b, beta : (r,), (d q,), (d q,) arrays
        Present parameters: weights, biases, centred biases.
    n_biases : int
        d q if the biases move, else 0.
    log_p : (K K,) array
        Log probabilities of the states of the edge's pair without it.
    kept : (blocks, K K) array
        The same, kept.
    delta : (K K,) array
        Scratch.
    marginals : (T,) array
        Of all factors, edges first, where the likelihood was last evaluated.
    is_even : bool
        Whether all blocks of the field have the same number of rows.
    reference : (d,) int64 array
        States of a row of the data of each block.
    tree : TreeArrays
    focus : Focus
        Calibrated by `calibrate_tree`.
    work : Workspace
    """

    field: Field
    data: FieldData
    w: np.ndarray
    b: np.ndarray
    beta: np.ndarray
    n_biases: int
    log_p: np.ndarray
    kept: np.ndarray
    delta: np.ndarray
    marginals: np.ndarray
    is_even: bool
    reference: np.ndarray
    tree: NamedTuple
    focus: Focus
    work: Workspace


class ListedView(NamedTuple):
    """A small field by enumeration.

    Attributes
    ----------
    field : Field
        Its order is that of the windows; all nodes have the same features.
    data : FieldData
    w, b, beta, n_biases, log_p, kept, delta, marginals
        As in `TreeView`.
    spreads : (r,) array
        Largest minus smallest of the cells.
    windows : Windows
        Where single edges are moved.
    window : (1,) int64 array
        The one whose probabilities are listed in `rows.table`; -1 for none.
    rows : WindowRows
    moments : (d, d) array
    """

    field: Field
    data: FieldData
    w: np.ndarray
    b: np.ndarray
    beta: np.ndarray
    n_biases: int
    log_p: np.ndarray
    kept: np.ndarray
    delta: np.ndarray
    marginals: np.ndarray
    spreads: np.ndarray
    windows: Windows
    window: np.ndarray
    rows: WindowRows
    moments: np.ndarray


@lean
def explained_at_zero(log_p, c, s, n):
    """Score^2 / (2 information) at 0, and the information; arguments as of `pair_terms`."""
    _, g, h = pair_terms(0.0, log_p, c, s, n)
    return 0.5 * g * g / h, h


@lean
def subtract_edge(x, c, log_p):
    """Normalised logs of the pair without its edge, from logs with it, `log_p` (K K,), in place."""
    for k in range(c.shape[0]):
        log_p[k] -= x * c[k]
    normalise_logs(log_p)


@questions.likelihood_terms.register(TreeView, ListedView)
def table_terms(view, e, x):
    """Compute the terms from the pair's table."""
    field = view.field
    return pair_terms(x, view.log_p, field.cells[e], view.data.s[e], rows_of(view, e))


@questions.keep_look.register(TreeView, ListedView)
def keep_pair(view, slot):
    """Copy the pair's table."""
    for k in range(view.log_p.shape[0]):
        view.kept[slot, k] = view.log_p[k]


@questions.recall_look.register(TreeView, ListedView)
def recall_pair(view, slot):
    copy(view.kept[slot], view.log_p)


@lean
def pack(field, w, b, tables):
    """Log tables of all factors, `tables` (pairs K K + d K,), from weights `w` (r,) and biases `b` (d q,)."""
    size, (d, K), q = field.cells.shape[1], field.floor.shape, field.basis.shape[0]
    r, last = (tables.shape[0] - K * d) // size, -1
    for e in range(w.shape[0]):
        first = size * field.pair[e]
        for k in range(size):
            before = tables[first + k] if field.pair[e] == last else 0.0
            tables[first + k] = before + w[e] * field.statistic[e, k]
        last = field.pair[e]
    for i in range(d):
        for k in range(K):
            value = field.floor[i, k]
            for j in range(q):
                value += b[i * q + j] * field.basis[j, k]
            tables[size * r + K * i + k] = value


@lean
def calibrate_tree(view):
    """Bring the focus up to date with the parameters."""
    pack(view.field, view.w, view.b, view.work.tables)
    calibrate(view.tree, view.work.tables, view.focus)


@questions.look_at.register(TreeView)
def look_at_in_tree(view, e, x):
    """Marginal table of the pair, by moving the focus to its clique."""
    c = view.field.cells[e]
    factor_log_table(view.tree, view.focus, e, view.log_p)
    subtract_edge(x, c, view.log_p)
    return explained_at_zero(view.log_p, c, view.data.s[e], rows_of(view, e))


@questions.follow.register(TreeView)
def follow_in_tree(view, e, old, new):
    """Change the clique in focus."""
    for k in range(view.delta.shape[0]):
        view.delta[k] = (new - old) * view.field.cells[e, k]
    update_factor(view.tree, view.focus, e, view.delta)


@lean
def list_window(view, i):
    """Probabilities of the states of window i of the enumeration, into `view.rows.table`."""
    field, nodes, size = view.field, view.windows.nodes[i], view.windows.sizes[i]
    fill_window(field.edges, field.features[0, 0], view.w, view.b, nodes, size, view.rows)
    view.window[0] = i


@lean
def listed_pair(view, e):
    """Log probabilities of the pair's states in the present window, into `view.log_p`."""
    i, u, v = view.windows.window_of[e], view.field.edges[e, 0], view.field.edges[e, 1]
    P = view.rows.table[: 1 << view.windows.sizes[i]]
    pair_probabilities(P, view.windows.places[i, u], view.windows.places[i, v], view.log_p)


@questions.look_at.register(ListedView)
def look_at_in_list(view, e, x):
    """Marginal table of the pair in its window, which is listed anew if need be."""
    i, c = view.windows.window_of[e], view.field.cells[e]
    if view.window[0] != i:
        list_window(view, i)
    if abs(x) * view.spreads[e] > UNDERFLOW:
        set_edge(view, e, 0.0)
        list_window(view, i)
        listed_pair(view, e)
        set_edge(view, e, x)
        view.window[0] = -1  # the edge is not in the list
        subtract_edge(0.0, c, view.log_p)
    else:
        listed_pair(view, e)
        subtract_edge(x, c, view.log_p)
    return explained_at_zero(view.log_p, c, view.data.s[e], rows_of(view, e))


@questions.follow.register(ListedView)
def follow_in_list(view, e, old, new):
    """Multiply the listed probabilities by exp((new - old) c), and normalise them."""
    if abs(new - old) * view.spreads[e] > UNDERFLOW:
        view.window[0] = -1
    if view.window[0] < 0:
        return
    i, c, log_p, f = view.window[0], view.field.cells[e], view.log_p, view.delta
    log_before = pair_terms(old, log_p, c, 0.0, 1.0)[0]
    log_after = pair_terms(new, log_p, c, 0.0, 1.0)[0]
    for k in range(4):
        f[k] = np.exp((new - old) * c[k] + log_after - log_before)
    u, v = view.field.edges[e, 0], view.field.edges[e, 1]
    P = view.rows.table[: 1 << view.windows.sizes[i]]
    multiply_pair(P, view.windows.places[i, u], view.windows.places[i, v], f[0], f[1], f[2], f[3])


@lean
def add_expectations(view, active, total, slope):
    """Log-likelihood, from the sum over rows of the log-partition function, and its slopes.

    These, from `view.marginals`, are added to `slope` (k + n_biases,), by the edges `active` (k,) first.
    """
    field, data, marginals = view.field, view.data, view.marginals
    size, (d, K), q = field.cells.shape[1], field.floor.shape, field.basis.shape[0]
    k, r, value = active.shape[0], (marginals.shape[0] - K * d) // size, -total
    for a in range(k):
        e, mean = active[a], 0.0
        value += view.w[e] * data.sums[e]
        for j in range(size):
            mean += marginals[size * field.pair[e] + j] * field.cells[e, j]
        slope[a] += data.s[e] - rows_of(view, e) * mean
    for i in range(view.b.shape[0]):
        value += view.b[i] * data.t[i]
    for i in range(view.n_biases):
        mean = 0.0
        for j in range(K):
            mean += marginals[size * r + K * (i // q) + j] * field.basis[i % q, j]
        slope[k + i] += data.t[i] - data.n[i // q] * mean
    return value


@questions.add_slopes.register(TreeView)
def add_slopes_by_tree(view, active, slope):
    """Log-likelihood and slopes from a calibration of the junction tree."""
    pack(view.field, view.w, view.b, view.work.tables)
    A = log_partition_and_marginals(view.tree, view.work.tables, view.work, view.marginals)
    return add_expectations(view, active, log_partition_of_rows(view, A), slope)


@lean
def log_partition_of_rows(view, A):
    """Sum over the rows of the log-partition function A of the whole field, or of that of their block.

    That of a block is what the log potential of its reference states exceeds their log probability by.
    """
    field, tree, n, q, z = view.field, view.tree, view.data.n, view.field.basis.shape[0], view.reference
    if view.is_even:
        return n[0] * A
    total = 0.0
    for e in range(view.w.shape[0]):
        a, b = z[field.edges[e, 0]], z[field.edges[e, 1]]
        total += rows_of(view, e) * view.w[e] * field.statistic[e, a * field.basis.shape[1] + b]
    for i in range(view.b.shape[0]):
        total += n[i // q] * view.b[i] * field.basis[i % q, z[i // q]]
    for j in range(tree.cliques.shape[0]):
        clique = tree.cliques[j]
        if clique.n_frontal > 0:
            cell = clique.first
            for k in range(clique.variables, clique.variables + clique.n_variables):
                variable = tree.variables[k]
                cell += variable.stride * z[variable.index]
            total -= n[tree.variables[clique.variables].index] * np.log(view.work.conditional[cell])
    return total


@questions.add_slopes.register(ListedView)
def add_slopes_by_list(view, active, slope):
    """Log-likelihood and slopes from a sum over all configurations."""
    field = view.field
    y, nodes = field.features[0, 0], view.windows.ascending
    A = log_partition_and_moments(field.edges, y, view.w, view.b, nodes, view.rows, view.moments)
    fill_marginals(field.edges, view.moments, view.marginals)
    view.window[0] = -1  # the table is overwritten
    return add_expectations(view, active, view.data.n[0] * A, slope)


@blocks.take_out.register(TreeView)
def take_block_out_of_tree(whole, view, e, x):
    """Read the marginal table of the pair, and take the block's table off."""
    factor_log_table(whole.tree, whole.focus, e, whole.log_p)
    take_table_off(whole, view, e, x, whole.log_p)


@blocks.block_terms.register(TreeView)
def block_terms_of_table(whole, view, e, x, g, H):
    field, first = whole.field, view.field.first[e]
    s, n = whole.data.s[first : first + x.shape[0]], rows_of(whole, first)
    value = pair_gain(field, first, x, whole.log_p, s, n, view.room)
    fill_pair_moments(field, first, x.shape[0], s, n, view.room, g, H)
    return value


@blocks.block_gain.register(TreeView)
def block_gain_of_table(whole, view, e, x):
    field, first = whole.field, view.field.first[e]
    s = whole.data.s[first : first + x.shape[0]]
    return pair_gain(field, first, x, whole.log_p, s, rows_of(whole, first), view.room)


@blocks.follow_block.register(TreeView)
def follow_block_in_tree(whole, view, e, old, new):
    """Change the clique in focus."""
    room, move = view.room, view.room.move[: new.shape[0]]
    for i in range(new.shape[0]):
        move[i] = new[i] - old[i]
    fill_table(whole.field, view.field.first[e], move, room.table)
    update_factor(whole.tree, whole.focus, e, room.table)
