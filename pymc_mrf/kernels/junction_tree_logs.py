"""Messages of a junction tree in logs: slower than products, and right for all parameters.

Beside the fallback of `junction_tree` there are the sums of log tables that other kernels need.
"""

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.junction_tree_loops import ADD, SET, meet


@jit
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


@jit
def add_message(tree, j, message, turned, table, counter):
    """Add clique j's message to its parent's table in `table` (n_cells,); `turned` is scratch."""
    p, n_cliques = tree.parent[j], tree.parent.shape[0]
    link = tree.factor_clique.shape[0] + j
    loops = (tree.loop_ptr, tree.loop_size, tree.loop_stride, tree.cell_start, tree.cell, counter)
    meet(SET, turned, 0, 0, tree.n_columns[j], message, 0, link + n_cliques, *loops)
    n_cells = tree.table_ptr[p + 1] - tree.table_ptr[p]
    meet(ADD, table, tree.table_ptr[p], 0, n_cells, turned, 0, link, *loops)


@jit
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


@jit
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


@jit
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
