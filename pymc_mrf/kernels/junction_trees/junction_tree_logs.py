"""Messages of a junction tree in logs: slower than products, and right for all parameters.

Beside the fallback of `junction_tree` there are the sums of log tables that other kernels need.
"""

import numpy as np

from pymc_mrf.kernels._jit import part
from pymc_mrf.kernels.junction_trees.junction_tree_loops import ADD, meet_factors, send_up


@part
def add_factors(tree, tables, table, counter):
    """Overwrite the clique tables `table` (n_cells,) by the sums of their factors' `tables` (T,)."""
    table[:] = 0.0
    meet_factors(ADD, tree, table, tables, counter)


@part
def normalize_columns(table, first, n_rows, n, message, total):
    """Log-sum-exp of each column of a log table (n_rows, n) that begins at `first` into `message`.

    It is a part of `table` (n_cells,) and becomes the probabilities of the rows given the column, zero in
    impossible columns. Of `message` and `total` (largest separator,), which is scratch, n entries are used.
    """
    for s in range(n):
        message[s] = table[first + s]
        total[s] = 0.0
    for a in range(1, n_rows):
        for s in range(n):
            message[s] = max(message[s], table[first + a * n + s])
    for a in range(n_rows):
        for s in range(n):
            k = first + a * n + s
            table[k] = np.exp(table[k] - message[s]) if message[s] > -np.inf else 0.0
            total[s] += table[k]
    for s in range(n):
        if message[s] > -np.inf:
            message[s] += np.log(total[s])
            total[s] = 1.0 / total[s]
    for a in range(n_rows):
        for s in range(n):
            table[first + a * n + s] *= total[s]


@part
def collect(tree, tables, work):
    """Log-partition function; `work.conditional` gets P(row | column) of every clique."""
    add_factors(tree, tables, work.conditional, work.counter)
    log_partition = 0.0
    for j in range(tree.cliques.shape[0]):
        clique = tree.cliques[j]
        normalize_columns(
            work.conditional, clique.first, clique.n_rows, clique.n_columns, work.message, work.total
        )
        if clique.parent < 0:
            log_partition += work.message[0]
        else:
            send_up(ADD, tree, j, work.message, work.total, work.conditional, work.counter)
    return log_partition
