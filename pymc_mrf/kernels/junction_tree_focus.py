"""One factor's marginal after another, while the parameters change: calibration with a focus.

Hugin propagation (Jensen, Lauritzen & Olesen, 1990) done lazily: only the table of the clique in
*focus* is kept up to date, and moving the focus passes one message along every link of the way.
Changing a factor of the focus clique costs one addition to its table. Visited in
`JunctionTree.factor_order`, all factors of a field together cost about as much as one full pass of
messages in both directions; rounding errors grow with the number of moves, so that a sampler
calibrates anew once per sweep, which costs half as much again.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.junction_tree import add_factors, add_small_to_big, next_run


class Focus(NamedTuple):
    """State of an incremental calibration.

    Attributes
    ----------
    belief : (n_cells,) array
        Log tables of the cliques; that of a focus clique is its unnormalised joint distribution.
    separator : (total separator size,) array
        Log message that last crossed each link, in either direction.
    focus : (n_components,) int64 array
        Clique in focus in each connected component.
    path : (C,) int64 array
    message, total : (largest separator,) arrays
    counter : (most nested loops,) int64 array
        Scratch, like `path`, `message` and `total`.
    """

    belief: np.ndarray
    separator: np.ndarray
    focus: np.ndarray
    path: np.ndarray
    message: np.ndarray
    total: np.ndarray
    counter: np.ndarray


def allocate_focus(tree):
    """State for one junction tree, to be filled by `calibrate`."""
    n_loops = max(np.diff(tree.link_ptr).max(), np.diff(tree.factor_ptr).max())
    largest = tree.n_columns.max()
    return Focus(
        np.zeros(tree.table_ptr[-1]),
        np.zeros(tree.separator_ptr[-1]),
        np.zeros(tree.component.max() + 1, dtype=np.int64),
        np.zeros(len(tree.parent), dtype=np.int64),
        np.zeros(largest),
        np.zeros(largest),
        np.zeros(n_loops, dtype=np.int64),
    )


@jit
def log_sum_columns(table, message, total, n):
    """Log-sum-exp of every column of a log table (rows, n) into `message` (n,)."""
    for s in range(n):
        message[s] = table[s]
        total[s] = 0.0
    for start in range(n, table.shape[0], n):
        for s in range(n):
            message[s] = max(message[s], table[start + s])
    for start in range(0, table.shape[0], n):
        for s in range(n):
            if table[start + s] > -np.inf:
                total[s] += np.exp(table[start + s] - message[s])
    for s in range(n):
        if message[s] > -np.inf:
            message[s] += np.log(total[s])


@jit
def log_sum_big_to_small(big, small, total, sizes, strides, counter):
    """Log-sum-exp of a big log table onto a small one: nested loops `sizes`, steps `strides`."""
    run, step = sizes[-1], strides[-1]
    small[:] = -np.inf
    total[:] = 0.0
    counter[:] = 0
    q = 0
    for start in range(0, big.shape[0], run):
        for i in range(run):
            small[q + i * step] = max(small[q + i * step], big[start + i])
        q = next_run(counter, q, sizes, strides)
    counter[:] = 0
    q = 0
    for start in range(0, big.shape[0], run):
        for i in range(run):
            if big[start + i] > -np.inf:
                total[q + i * step] += np.exp(big[start + i] - small[q + i * step])
        q = next_run(counter, q, sizes, strides)
    for s in range(small.shape[0]):
        if small[s] > -np.inf:
            small[s] += np.log(total[s])


@jit
def keep_message(message, separator):
    """Store a new message, leaving in `message` its ratio to the old one (in logs)."""
    for s in range(message.shape[0]):
        new = message[s]
        # an impossible state stays impossible, on both sides of the link: no ratio to form
        if new > -np.inf:
            message[s] = new - separator[s]
            separator[s] = new


@jit
def pass_up(tree, state, j):
    """Message from clique j to its parent."""
    n, p = tree.n_columns[j], tree.parent[j]
    message = state.message[:n]
    log_sum_columns(state.belief[tree.table_ptr[j] : tree.table_ptr[j + 1]], message, state.total, n)
    keep_message(message, state.separator[tree.separator_ptr[j] : tree.separator_ptr[j + 1]])
    loops = slice(tree.link_ptr[j], tree.link_ptr[j + 1])
    add_small_to_big(
        state.belief[tree.table_ptr[p] : tree.table_ptr[p + 1]],
        message,
        tree.loop_size[loops],
        tree.loop_stride[loops],
        state.counter,
    )


@jit
def pass_down(tree, state, j):
    """Message to clique j from its parent."""
    n, p = tree.n_columns[j], tree.parent[j]
    message = state.message[:n]
    loops = slice(tree.link_ptr[j], tree.link_ptr[j + 1])
    log_sum_big_to_small(
        state.belief[tree.table_ptr[p] : tree.table_ptr[p + 1]],
        message,
        state.total[:n],
        tree.loop_size[loops],
        tree.loop_stride[loops],
        state.counter,
    )
    keep_message(message, state.separator[tree.separator_ptr[j] : tree.separator_ptr[j + 1]])
    for start in range(tree.table_ptr[j], tree.table_ptr[j + 1], n):
        for s in range(n):
            state.belief[start + s] += message[s]


@jit
def calibrate(tree, tables, state):
    """Start from the log tables of all factors, `tables` (T,), with the roots in focus."""
    add_factors(tree, tables, state.belief, state.counter)
    state.separator[:] = 0.0
    for j in range(tree.parent.shape[0]):
        if tree.parent[j] >= 0:
            pass_up(tree, state, j)
        else:
            state.focus[tree.component[j]] = j


@jit
def move_focus(tree, state, clique):
    """Pass the messages on the way from the present focus to `clique`."""
    a, b = state.focus[tree.component[clique]], clique
    n = 0
    while a != b:
        if tree.depth[a] >= tree.depth[b]:
            pass_up(tree, state, a)
            a = tree.parent[a]
        else:
            state.path[n] = b
            n += 1
            b = tree.parent[b]
    for k in range(n - 1, -1, -1):
        pass_down(tree, state, state.path[k])
    state.focus[tree.component[clique]] = clique


@jit
def update_factor(tree, state, f, delta):
    """Add `delta` (size of the table,) to the log table of factor f; finite values only."""
    j = tree.factor_clique[f]
    move_focus(tree, state, j)
    loops = slice(tree.factor_ptr[f], tree.factor_ptr[f + 1])
    add_small_to_big(
        state.belief[tree.table_ptr[j] : tree.table_ptr[j + 1]],
        delta,
        tree.loop_size[loops],
        tree.loop_stride[loops],
        state.counter,
    )


@jit
def factor_log_table(tree, state, f, out, total):
    """Log of factor f's marginal table up to a constant, into `out` (table size,); `total` is scratch."""
    j = tree.factor_clique[f]
    move_focus(tree, state, j)
    loops = slice(tree.factor_ptr[f], tree.factor_ptr[f + 1])
    log_sum_big_to_small(
        state.belief[tree.table_ptr[j] : tree.table_ptr[j + 1]],
        out,
        total,
        tree.loop_size[loops],
        tree.loop_stride[loops],
        state.counter,
    )
