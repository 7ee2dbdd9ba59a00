"""Exact inference on a junction tree: log-partition, marginals, draws, mode.

`collect` sends messages towards the root, in the log domain, and leaves in every clique table the
conditional probabilities P(frontal variables | separator): the field as a directed model
(Lauritzen & Spiegelhalter, 1988). Everything else multiplies and adds these probabilities, where
an underflow means a probability that really is negligible, so that no parameter is too extreme.
The derivatives are in `junction_tree_derivatives`.

`tree` is a `TreeArrays` namedtuple (its attributes are described there), `tables` (T,) the log
tables of all factors one after the other, and `work` a `Workspace`, which a caller allocates once.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit


class Workspace(NamedTuple):
    """Arrays that the kernels overwrite.

    Attributes
    ----------
    tables : (T,) array
        Room for the log tables of all factors (see `pack_pairwise`).
    conditional : (n_cells,) array
        After `collect`: P(row | column) in every clique table.
    belief : (n_cells,) array
        After `distribute`: marginal probabilities in every clique table.
    message, total : (largest separator,) arrays
    counter : (most nested loops,) int64 array
    """

    tables: np.ndarray
    conditional: np.ndarray
    belief: np.ndarray
    message: np.ndarray
    total: np.ndarray
    counter: np.ndarray


def allocate(tree):
    """Workspace for one junction tree: 16 bytes per table cell and a little more."""
    n_loops = max(np.diff(tree.link_ptr).max(), np.diff(tree.factor_ptr).max())
    largest = tree.n_columns.max()
    return Workspace(
        np.zeros(tree.factor_table_ptr[-1]),
        np.zeros(tree.table_ptr[-1]),
        np.zeros(tree.table_ptr[-1]),
        np.zeros(largest),
        np.zeros(largest),
        np.zeros(n_loops, dtype=np.int64),
    )


@jit
def pack_pairwise(edge_tables, node_tables, tables):
    """Write (r, K, K) edge and (d, K) node tables one after the other into `tables`."""
    n = edge_tables.size
    tables[:n] = edge_tables.ravel()
    tables[n:] = node_tables.ravel()


@jit
def next_run(counter, q, sizes, strides):
    """Advance the loops around the innermost one by a step; the new offset in the small table."""
    k = sizes.shape[0] - 2
    while k >= 0:
        counter[k] += 1
        q += strides[k]
        if counter[k] < sizes[k]:
            break
        q -= sizes[k] * strides[k]
        counter[k] = 0
        k -= 1
    return q


@jit
def add_small_to_big(big, small, sizes, strides, counter):
    """Add a small table to every slice of a big one: nested loops `sizes`, steps `strides`."""
    run, step = sizes[-1], strides[-1]
    counter[:] = 0
    q = 0
    for start in range(0, big.shape[0], run):
        if step == 1:
            for i in range(run):
                big[start + i] += small[q + i]
        elif step == 0:
            for i in range(run):
                big[start + i] += small[q]
        else:
            for i in range(run):
                big[start + i] += small[q + i * step]
        q = next_run(counter, q, sizes, strides)


@jit
def sum_big_to_small(big, small, sizes, strides, counter):
    """Add every slice of a big table to a small one: the transpose of `add_small_to_big`."""
    run, step = sizes[-1], strides[-1]
    counter[:] = 0
    q = 0
    for start in range(0, big.shape[0], run):
        if step == 1:
            for i in range(run):
                small[q + i] += big[start + i]
        elif step == 0:
            total = 0.0
            for i in range(run):
                total += big[start + i]
            small[q] += total
        else:
            for i in range(run):
                small[q + i * step] += big[start + i]
        q = next_run(counter, q, sizes, strides)


@jit
def add_factors(tree, tables, table, counter):
    """Overwrite the clique tables `table` (n_cells,) by the sums of their factors' log tables."""
    table[:] = 0.0
    if tree.factor_cell.shape[0] > 0:
        for f in range(tree.factor_clique.shape[0]):
            shift = tree.table_ptr[tree.factor_clique[f]] - tree.factor_cell_ptr[f]
            for k in range(tree.factor_cell_ptr[f], tree.factor_cell_ptr[f + 1]):
                table[k + shift] += tables[tree.factor_cell[k]]
        return
    for f in range(tree.factor_clique.shape[0]):
        j = tree.factor_clique[f]
        loops = slice(tree.factor_ptr[f], tree.factor_ptr[f + 1])
        add_small_to_big(
            table[tree.table_ptr[j] : tree.table_ptr[j + 1]],
            tables[tree.factor_table_ptr[f] : tree.factor_table_ptr[f + 1]],
            tree.loop_size[loops],
            tree.loop_stride[loops],
            counter,
        )


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
        p = tree.parent[j]
        if p < 0:
            log_partition += work.message[0]
            continue
        loops = slice(tree.link_ptr[j], tree.link_ptr[j + 1])
        add_small_to_big(
            work.conditional[tree.table_ptr[p] : tree.table_ptr[p + 1]],
            work.message[:n],
            tree.loop_size[loops],
            tree.loop_stride[loops],
            work.counter,
        )
    return log_partition


@jit
def distribute(tree, work):
    """After `collect`: marginal probabilities of every clique table into `work.belief`."""
    for j in range(tree.parent.shape[0] - 1, -1, -1):
        n, p = tree.n_columns[j], tree.parent[j]
        message = work.message[:n]
        if p < 0:
            message[0] = 1.0
        else:
            message[:] = 0.0
            loops = slice(tree.link_ptr[j], tree.link_ptr[j + 1])
            sum_big_to_small(
                work.belief[tree.table_ptr[p] : tree.table_ptr[p + 1]],
                message,
                tree.loop_size[loops],
                tree.loop_stride[loops],
                work.counter,
            )
        for start in range(tree.table_ptr[j], tree.table_ptr[j + 1], n):
            for s in range(n):
                work.belief[start + s] = work.conditional[start + s] * message[s]


@jit
def sum_factors(tree, table, out, counter):
    """Sum the clique tables `table` (n_cells,) onto each factor's scope, into `out` (T,)."""
    out[:] = 0.0
    if tree.factor_cell.shape[0] > 0:
        for f in range(tree.factor_clique.shape[0]):
            shift = tree.table_ptr[tree.factor_clique[f]] - tree.factor_cell_ptr[f]
            for k in range(tree.factor_cell_ptr[f], tree.factor_cell_ptr[f + 1]):
                out[tree.factor_cell[k]] += table[k + shift]
        return
    for f in range(tree.factor_clique.shape[0]):
        j = tree.factor_clique[f]
        loops = slice(tree.factor_ptr[f], tree.factor_ptr[f + 1])
        sum_big_to_small(
            table[tree.table_ptr[j] : tree.table_ptr[j + 1]],
            out[tree.factor_table_ptr[f] : tree.factor_table_ptr[f + 1]],
            tree.loop_size[loops],
            tree.loop_stride[loops],
            counter,
        )


@jit
def log_partition_and_marginals(tree, tables, work, marginals):
    """Log-partition function; its gradient, the marginals of all factors, into `marginals` (T,)."""
    log_partition = collect(tree, tables, work)
    distribute(tree, work)
    sum_factors(tree, work.belief, marginals, work.counter)
    return log_partition


@jit
def column_of(tree, j, z):
    """Column of clique j's table that belongs to the states `z` of its separator."""
    column = 0
    for k in range(tree.variable_ptr[j] + tree.n_frontal[j], tree.variable_ptr[j + 1]):
        column += tree.strides[k] * z[tree.variables[k]]
    return column


@jit
def set_row(tree, j, row, z):
    """Write the states of clique j's frontal variables in this row of its table into `z`."""
    cell = row * tree.n_columns[j]
    for k in range(tree.variable_ptr[j], tree.variable_ptr[j] + tree.n_frontal[j]):
        v = tree.variables[k]
        z[v] = (cell // tree.strides[k]) % tree.cards[v]


@jit
def draw(tree, work, x, rng):
    """After `collect`: fill the rows of `x` (n, d) int8 with independent exact draws."""
    for c in range(x.shape[0]):
        z = x[c]
        for j in range(tree.parent.shape[0] - 1, -1, -1):
            n = tree.n_columns[j]
            cell = tree.table_ptr[j] + column_of(tree, j, z)
            u = rng.random()
            row = 0
            # the last row with positive probability also takes what rounding leaves over
            for a in range(tree.n_rows[j]):
                p = work.conditional[cell + a * n]
                if p > 0.0:
                    row = a
                    if u < p:
                        break
                    u -= p
            set_row(tree, j, row, z)


@jit
def mode(tree, tables, work, z):
    """Most probable states into `z` (d,) int8; the largest log potential. Ties: lowest states."""
    add_factors(tree, tables, work.conditional, work.counter)
    value = 0.0
    for j in range(tree.parent.shape[0]):
        n, p = tree.n_columns[j], tree.parent[j]
        table = work.conditional[tree.table_ptr[j] : tree.table_ptr[j + 1]]
        message = work.message[:n]
        message[:] = table[:n]
        for a in range(1, tree.n_rows[j]):
            for s in range(n):
                message[s] = max(message[s], table[a * n + s])
        if p < 0:
            value += message[0]
            continue
        loops = slice(tree.link_ptr[j], tree.link_ptr[j + 1])
        add_small_to_big(
            work.conditional[tree.table_ptr[p] : tree.table_ptr[p + 1]],
            message,
            tree.loop_size[loops],
            tree.loop_stride[loops],
            work.counter,
        )
    for j in range(tree.parent.shape[0] - 1, -1, -1):
        n = tree.n_columns[j]
        cell = tree.table_ptr[j] + column_of(tree, j, z)
        row = 0
        for a in range(1, tree.n_rows[j]):
            if work.conditional[cell + a * n] > work.conditional[cell + row * n]:
                row = a
        set_row(tree, j, row, z)
    return value
