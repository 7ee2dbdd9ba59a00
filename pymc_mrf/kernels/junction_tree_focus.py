"""One factor's marginal after another, while the parameters change: calibration with a focus.

Hugin propagation (Jensen, Lauritzen & Olesen, 1990) done lazily: only the table of the clique in
*focus* is kept up to date, and moving the focus passes one message along every link of the way.
Changing a factor of the focus clique costs one multiplication of its table. Visited in
`JunctionTree.factor_order`, all factors of a field together cost about as much as one full pass of
messages in both directions; rounding errors grow with the number of moves, so that a sampler
calibrates anew once per sweep, which costs half as much again.

Tables are products of potentials as long as every positive entry is a normal number. A lower bound of
these is kept for each clique; where a message would break it, everything begins anew in logs, which
then serve until the next call of `calibrate`.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels import junction_tree_logs as logs
from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.junction_tree import set_potentials, smallest_positive
from pymc_mrf.kernels.junction_tree_loops import (
    ADD,
    MULTIPLY,
    SET,
    SUM,
    add_rows,
    meet,
    multiply_rows,
)

SAFE = 1e-290
"""Smallest positive entry of a table that is worked with: far enough from 2e-308 for sums and ratios."""


class Focus(NamedTuple):
    """State of an incremental calibration.

    Attributes
    ----------
    tables : (T,) array
        Log tables of all factors at present.
    belief : (n_cells,) array
        Tables of the cliques; that of a focus clique is its unnormalised joint distribution.
    separator : (total separator size,) array
        Message that last crossed each link, in either direction.
    least : (C,) array
        Lower bound of the positive entries of each clique's table.
    in_logs : (1,) bool array
        Whether `belief` and `separator` hold logs.
    focus : (n_components,) int64 array
        Clique in focus in each connected component.
    potentials : (T,) array
    factor_least : (F,) array
    path : (C,) int64 array
    message, total : (largest separator,) arrays
    counter : (most nested loops,) int64 array
        Scratch, like the four before it.
    """

    tables: np.ndarray
    belief: np.ndarray
    separator: np.ndarray
    least: np.ndarray
    in_logs: np.ndarray
    focus: np.ndarray
    potentials: np.ndarray
    factor_least: np.ndarray
    path: np.ndarray
    message: np.ndarray
    total: np.ndarray
    counter: np.ndarray


def allocate_focus(tree):
    """State for one junction tree, to be filled by `calibrate`."""
    largest = tree.n_columns.max()
    return Focus(
        np.zeros(tree.factor_table_ptr[-1]),
        np.zeros(tree.table_ptr[-1]),
        np.zeros(tree.separator_ptr[-1]),
        np.zeros(len(tree.parent)),
        np.zeros(1, dtype=np.bool_),
        np.zeros(tree.component.max() + 1, dtype=np.int64),
        np.zeros(tree.factor_table_ptr[-1]),
        np.zeros(len(tree.factor_clique)),
        np.zeros(len(tree.parent), dtype=np.int64),
        np.zeros(largest),
        np.zeros(largest),
        np.zeros(np.diff(tree.loop_ptr).max(), dtype=np.int64),
    )


@lean
def keep_message(message, separator, first, n):
    """Store a new message at `first`, scaled, and leave its ratio to the old one in `message`.

    Returns the smallest positive ratio, 0 if the message is zero everywhere or not finite.
    """
    high = 0.0
    for s in range(n):
        high = max(high, message[s])
    if not 0.0 < high < np.inf:
        return 0.0
    scale, least = 1.0 / high, np.inf
    for s in range(n):
        new = message[s] * scale
        old = separator[first + s]
        # an impossible state stays impossible, on both sides of the link
        message[s] = new / old if old > 0.0 else 0.0
        separator[first + s] = new
        if message[s] > 0.0:
            least = min(least, message[s])
    return least


@lean
def stays_safe(belief, start, stop, bounds, clique, least):
    """Whether a clique's table can be multiplied by values from `least` on; if so, it gets that bound."""
    if not bounds[clique] * least >= SAFE:
        bounds[clique] = smallest_positive(belief[start:stop], stop - start)
    bounds[clique] *= min(least, 1.0)
    return bounds[clique] >= SAFE


@lean
def pass_up(tree, state, j):
    """Message from clique j to its parent; False if it would lose an entry."""
    n, p, first = tree.n_columns[j], tree.parent[j], tree.table_ptr[j]
    link = tree.factor_clique.shape[0] + j
    loops = (
        tree.loop_ptr, tree.loop_size, tree.loop_stride, tree.cell_start, tree.cell, state.counter
    )  # fmt: skip
    state.message[:n] = 0.0
    add_rows(state.belief, first, tree.n_rows[j], n, n, state.message, 0)
    least = keep_message(state.message, state.separator, tree.separator_ptr[j], n)
    start, stop = tree.table_ptr[p], tree.table_ptr[p + 1]
    if not stays_safe(state.belief, start, stop, state.least, p, least):
        return False
    turn = link + tree.parent.shape[0]
    meet(SET, state.total, 0, 0, n, state.message, 0, turn, *loops)
    meet(MULTIPLY, state.belief, start, 0, stop - start, state.total, 0, link, *loops)
    return True


@lean
def pass_down(tree, state, j):
    """Message to clique j from its parent; False if it would lose an entry."""
    n, p, first = tree.n_columns[j], tree.parent[j], tree.table_ptr[j]
    link = tree.factor_clique.shape[0] + j
    loops = (
        tree.loop_ptr, tree.loop_size, tree.loop_stride, tree.cell_start, tree.cell, state.counter
    )  # fmt: skip
    state.total[:n] = 0.0
    state.message[:n] = 0.0
    start, stop = tree.table_ptr[p], tree.table_ptr[p + 1]
    meet(SUM, state.belief, start, 0, stop - start, state.total, 0, link, *loops)
    meet(SUM, state.total, 0, 0, n, state.message, 0, link + tree.parent.shape[0], *loops)
    least = keep_message(state.message, state.separator, tree.separator_ptr[j], n)
    if not stays_safe(state.belief, first, tree.table_ptr[j + 1], state.least, j, least):
        return False
    multiply_rows(state.belief, first, tree.n_rows[j], n, n, state.message, 0, state.belief)
    return True


@lean
def calibrate(tree, tables, state):
    """Start from the log tables of all factors, `tables` (T,), with the roots in focus."""
    for k in range(tables.shape[0]):
        state.tables[k] = tables[k]
    if not calibrate_products(tree, state):
        calibrate_logs(tree, state)


@lean
def calibrate_products(tree, state):
    """`calibrate` with products; False if one may have lost an entry."""
    state.in_logs[0] = False
    ptr = tree.factor_table_ptr
    if np.isnan(set_potentials(state.tables, ptr, state.potentials, state.factor_least)):
        return False
    loops = (
        tree.loop_ptr, tree.loop_size, tree.loop_stride, tree.cell_start, tree.cell, state.counter
    )  # fmt: skip
    state.belief[:] = 1.0
    state.separator[:] = 1.0
    state.least[:] = 1.0
    for f in range(tree.factor_clique.shape[0]):
        j = tree.factor_clique[f]
        start, stop = tree.table_ptr[j], tree.table_ptr[j + 1]
        meet(MULTIPLY, state.belief, start, 0, stop - start, state.potentials, ptr[f], f, *loops)
        state.least[j] *= state.factor_least[f]
    for j in range(
        tree.parent.shape[0]
    ):  # before messages find new bounds: a bound of 0 is a lost entry
        if not state.least[j] > 0.0:
            return False
    for j in range(tree.parent.shape[0]):
        start, stop = tree.table_ptr[j], tree.table_ptr[j + 1]
        if not stays_safe(
            state.belief, start, stop, state.least, j, 1.0
        ):  # subnormal numbers lack digits
            return False
        if tree.parent[j] < 0:
            state.focus[tree.component[j]] = j
        elif not pass_up(tree, state, j):
            return False
    return True


@lean
def calibrate_logs(tree, state):
    """`calibrate` at the present log tables, with logs."""
    state.in_logs[0] = True
    logs.add_factors(tree, state.tables, state.belief, state.counter)
    state.separator[:] = 0.0
    for j in range(tree.parent.shape[0]):
        if tree.parent[j] >= 0:
            logs.pass_up(tree, state, j)
        else:
            state.focus[tree.component[j]] = j


@lean
def travel(tree, state, clique):
    """Pass the messages on the way from the present focus to `clique`; False if one would lose an entry."""
    a, b = state.focus[tree.component[clique]], clique
    n = 0
    while a != b:
        if tree.depth[a] < tree.depth[b]:
            state.path[n] = b
            n += 1
            b = tree.parent[b]
            continue
        if state.in_logs[0]:
            logs.pass_up(tree, state, a)
        elif not pass_up(tree, state, a):
            return False
        a = tree.parent[a]
    for k in range(n - 1, -1, -1):
        if state.in_logs[0]:
            logs.pass_down(tree, state, state.path[k])
        elif not pass_down(tree, state, state.path[k]):
            return False
    state.focus[tree.component[clique]] = clique
    return True


@lean
def move_focus(tree, state, clique):
    """Move the focus to `clique`."""
    if not travel(tree, state, clique):
        calibrate_logs(tree, state)
        travel(tree, state, clique)


@lean
def update_factor(tree, state, f, delta):
    """Add `delta` (size of the table,) to the log table of factor f; finite values only."""
    j = tree.factor_clique[f]
    if state.focus[tree.component[j]] != j:
        move_focus(tree, state, j)
    at, start, stop = tree.factor_table_ptr[f], tree.table_ptr[j], tree.table_ptr[j + 1]
    loops = (
        tree.loop_ptr, tree.loop_size, tree.loop_stride, tree.cell_start, tree.cell, state.counter
    )  # fmt: skip
    if not state.in_logs[0]:
        least, largest = np.inf, 0.0
        for k in range(delta.shape[0]):
            state.potentials[at + k] = np.exp(delta[k])
            least = min(least, state.potentials[at + k])
            largest = max(largest, state.potentials[at + k])
        if largest < 1.0 / SAFE and stays_safe(state.belief, start, stop, state.least, j, least):
            meet(MULTIPLY, state.belief, start, 0, stop - start, state.potentials, at, f, *loops)
        else:
            calibrate_logs(tree, state)
            travel(tree, state, j)
    if state.in_logs[0]:
        meet(ADD, state.belief, start, 0, stop - start, delta, 0, f, *loops)
    for k in range(delta.shape[0]):
        state.tables[at + k] += delta[k]


@lean
def factor_log_table(tree, state, f, out, total):
    """Log of factor f's marginal table up to a constant, into `out` (table size,); `total` is scratch."""
    j = tree.factor_clique[f]
    if state.focus[tree.component[j]] != j:
        move_focus(tree, state, j)
    start, stop = tree.table_ptr[j], tree.table_ptr[j + 1]
    if not state.in_logs[0]:
        out[:] = 0.0
        meet(
            SUM, state.belief, start, 0, stop - start, out, 0, f,
            tree.loop_ptr, tree.loop_size, tree.loop_stride, tree.cell_start, tree.cell, state.counter,
        )  # fmt: skip
        largest = 0.0
        for k in range(out.shape[0]):
            largest = max(largest, out[k])
        if 0.0 < largest < np.inf:
            for k in range(out.shape[0]):
                out[k] = np.log(out[k])
            return
        calibrate_logs(tree, state)
        travel(tree, state, j)
    logs.log_sum_onto(tree, f, state.belief, start, stop, out, total, state.counter)
