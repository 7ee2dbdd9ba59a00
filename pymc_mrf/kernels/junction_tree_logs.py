"""Messages of a junction tree in logs: slower than products, and right for all parameters.

Beside the fallback of `junction_tree` there are the sums of log tables that other kernels need.
"""

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.junction_tree_loops import ADD, SET, SUM, meet


@lean
def add_factors(tree, tables, table, counter):
    """Overwrite the clique tables `table` (n_cells,) by the sums of their factors' `tables` (T,)."""
    table[:] = 0.0
    for f in range(tree.factor_clique.shape[0]):
        j = tree.factor_clique[f]
        meet(
            ADD,
            table,
            tree.table_ptr[j],
            0,
            tree.table_ptr[j + 1] - tree.table_ptr[j],
            tables,
            tree.factor_table_ptr[f],
            f,
            tree.loop_ptr,
            tree.loop_size,
            tree.loop_stride,
            tree.cell_start,
            tree.cell,
            counter,
        )


@lean
def add_message(tree, j, message, turned, table, counter):
    """Add clique j's message to its parent's table in `table` (n_cells,); `turned` is scratch."""
    p, n_cliques = tree.parent[j], tree.parent.shape[0]
    link = tree.factor_clique.shape[0] + j
    loops = (tree.loop_ptr, tree.loop_size, tree.loop_stride, tree.cell_start, tree.cell, counter)
    meet(SET, turned, 0, 0, tree.n_columns[j], message, 0, link + n_cliques, *loops)
    n_cells = tree.table_ptr[p + 1] - tree.table_ptr[p]
    meet(ADD, table, tree.table_ptr[p], 0, n_cells, turned, 0, link, *loops)


@lean
def normalize_pairs(table, message, n):
    """`normalize_columns` for two rows: one exponential per column."""
    for s in range(n):
        a, b = table[s], table[n + s]
        high = max(a, b)
        if high == -np.inf:
            message[s] = -np.inf
            table[s] = 0.0
            table[n + s] = 0.0
            continue
        odds = np.exp(-abs(a - b))
        p = 1.0 / (1.0 + odds)
        message[s] = high + np.log(1.0 + odds)
        table[s] = p if a >= b else odds * p
        table[n + s] = odds * p if a >= b else p


@lean
def normalize_columns(table, message, total, n_rows, n):
    """Log-sum-exp of each column of a log table (n_rows, n) into `message` (n,).

    The table becomes the probabilities of the rows given the column, zero in impossible columns.
    """
    if n_rows == 2:
        normalize_pairs(table, message, n)
        return
    for s in range(n):
        message[s] = table[s]
    for a in range(1, n_rows):
        for s in range(n):
            message[s] = max(message[s], table[a * n + s])
    total[:n] = 0.0
    for a in range(n_rows):
        for s in range(n):
            k = a * n + s
            table[k] = np.exp(table[k] - message[s]) if message[s] > -np.inf else 0.0
            total[s] += table[k]
    for s in range(n):
        if message[s] > -np.inf:
            message[s] += np.log(total[s])
            total[s] = 1.0 / total[s]
    for a in range(n_rows):
        for s in range(n):
            table[a * n + s] *= total[s]


@lean
def collect(tree, tables, work):
    """Log-partition function; `work.conditional` gets P(row | column) of every clique."""
    add_factors(tree, tables, work.conditional, work.counter)
    log_partition = 0.0
    for j in range(tree.parent.shape[0]):
        n = tree.n_columns[j]
        table = work.conditional[tree.table_ptr[j] : tree.table_ptr[j + 1]]
        normalize_columns(table, work.message, work.total, tree.n_rows[j], n)
        if tree.parent[j] < 0:
            log_partition += work.message[0]
        else:
            add_message(tree, j, work.message, work.total, work.conditional, work.counter)
    return log_partition


@lean
def log_sum_columns(table, first, n_rows, n, message, total):
    """Log-sum-exp of every column of a log table (n_rows, n) that begins at `first`, into `message`."""
    for s in range(n):
        message[s] = table[first + s]
        total[s] = 0.0
    for a in range(1, n_rows):
        for s in range(n):
            message[s] = max(message[s], table[first + a * n + s])
    for a in range(n_rows):
        for s in range(n):
            if table[first + a * n + s] > -np.inf:
                total[s] += np.exp(table[first + a * n + s] - message[s])
    for s in range(n):
        if message[s] > -np.inf:
            message[s] += np.log(total[s])


@lean
def log_sum_onto(tree, meeting, big, start, stop, small, total, counter):
    """Log-sum-exp of the large log table in cells start:stop onto a small one, as in this meeting."""
    low, last = tree.loop_ptr[meeting], tree.loop_ptr[meeting + 1] - 1
    run, step = tree.loop_size[last], tree.loop_stride[last]
    n = 1
    for k in range(low, last + 1):
        if tree.loop_stride[k] > 0:
            n *= tree.loop_size[k]
    small[:n] = -np.inf
    total[:n] = 0.0
    for adds in (False, True):
        counter[:] = 0
        q = 0
        for first in range(start, stop, run):
            for i in range(run):
                x, s = big[first + i], q + i * step
                if not adds:
                    small[s] = max(small[s], x)
                elif x > -np.inf:
                    total[s] += np.exp(x - small[s])
            for k in range(last - 1, low - 1, -1):
                counter[k - low] += 1
                q += tree.loop_stride[k]
                if counter[k - low] < tree.loop_size[k]:
                    break
                q -= tree.loop_size[k] * tree.loop_stride[k]
                counter[k - low] = 0
    for s in range(n):
        if small[s] > -np.inf:
            small[s] += np.log(total[s])


@lean
def keep_message(message, separator, first, n):
    """Store a new message at `first`, leaving in `message` its ratio to the old one (in logs)."""
    for s in range(n):
        new = message[s]
        # an impossible state stays impossible, on both sides of the link: no ratio to form
        if new > -np.inf:
            message[s] = new - separator[first + s]
            separator[first + s] = new


@lean
def pass_up(tree, state, j):
    """Message from clique j to its parent; `state` is a `junction_tree_focus.Focus`."""
    n, message = tree.n_columns[j], state.message
    log_sum_columns(state.belief, tree.table_ptr[j], tree.n_rows[j], n, message, state.total)
    keep_message(message, state.separator, tree.separator_ptr[j], n)
    add_message(tree, j, message, state.total, state.belief, state.counter)


@lean
def pass_down(tree, state, j):
    """Message to clique j from its parent."""
    n, p, message = tree.n_columns[j], tree.parent[j], state.message
    link = tree.factor_clique.shape[0] + j
    start, stop = tree.table_ptr[p], tree.table_ptr[p + 1]
    turned = state.total
    log_sum_onto(tree, link, state.belief, start, stop, turned, message, state.counter)
    message[:n] = 0.0
    meet(
        SUM, turned, 0, 0, n, message, 0, link + tree.parent.shape[0],
        tree.loop_ptr, tree.loop_size, tree.loop_stride, tree.cell_start, tree.cell, state.counter,
    )  # fmt: skip
    keep_message(message, state.separator, tree.separator_ptr[j], n)
    for start in range(tree.table_ptr[j], tree.table_ptr[j + 1], n):
        for s in range(n):
            state.belief[start + s] += message[s]
