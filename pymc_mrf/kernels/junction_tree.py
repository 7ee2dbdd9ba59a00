"""Exact inference on a junction tree: log-partition, marginals, draws, mode.

`collect` sends messages towards the root and leaves in every clique table the conditional
probabilities P(frontal variables | separator): the field as a directed model (Lauritzen &
Spiegelhalter, 1988). Everything else multiplies and adds these probabilities, where an underflow
means a probability that really is negligible. The derivatives are in `junction_tree_derivatives`.

Messages are products and sums of potentials, scaled to a maximum of one. They are right to rounding
unless one is so small that terms of it may have been lost; `collect` then begins anew in logs
(`junction_tree_logs`), so that no parameter is too extreme.

`tree` is a `TreeArrays` namedtuple (its attributes are described there), `tables` (T,) the log
tables of all factors one after the other, and `work` a `Workspace`, which a caller allocates once.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels import junction_tree_logs as logs
from pymc_mrf.kernels._jit import finite, jit, lean
from pymc_mrf.kernels.junction_tree_loops import MULTIPLY, SET, SUM, add_rows, meet, multiply_rows

CHUNK = 2048
"""Cells of a table that are worked on at a time: they and what they meet stay in the fastest cache."""

TINY = 1e-200
"""Products below 2e-308 are lost; from here on, a sum of at most 2^25 products lacks no more than 1e-100 of
itself."""


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
    parts : (T + cells of messages in use at one time,) array
        What clique tables are made of: factors and messages, scaled to a maximum of one; after
        `distribute`, their marginals.
    least : (F + C,) array
        Smallest positive value of each factor and of each message, or less.
    message, total : (largest separator,) arrays
    counter : (most nested loops,) int64 array
    """

    tables: np.ndarray
    conditional: np.ndarray
    belief: np.ndarray
    parts: np.ndarray
    least: np.ndarray
    message: np.ndarray
    total: np.ndarray
    counter: np.ndarray


def allocate(tree):
    """Workspace for one junction tree: 16 bytes per table cell and a little more."""
    largest = tree.n_columns.max()
    return Workspace(
        np.zeros(tree.factor_table_ptr[-1]),
        np.zeros(tree.table_ptr[-1]),
        np.zeros(tree.table_ptr[-1]),
        np.zeros((tree.part_start[-len(tree.parent) :] + tree.n_columns).max()),
        np.zeros(len(tree.part_start)),
        np.zeros(largest),
        np.zeros(largest),
        np.zeros(np.diff(tree.loop_ptr).max(), dtype=np.int64),
    )


@jit
def pack_pairwise(edge_tables, node_tables, tables):
    """Write (r, K, K) edge and (d, K) node tables one after the other into `tables`."""
    n = edge_tables.size
    tables[:n] = edge_tables.ravel()
    tables[n:] = node_tables.ravel()


@lean
def set_potentials(tables, ptr, potentials, least):
    """Exponentials of all log tables, scaled to a maximum of one; the sum of the logs of the scales.

    NaN if a table has no possible state or holds a NaN.
    """
    log_scale, sound = 0.0, True
    for f in range(ptr.shape[0] - 1):
        top, lowest = -np.inf, 1.0
        for k in range(ptr[f], ptr[f + 1]):
            top = max(top, tables[k])
        for k in range(ptr[f], ptr[f + 1]):
            sound = sound and tables[k] <= top
            log_p = tables[k] - top
            p = np.exp(log_p) if log_p != 0.0 else 1.0
            potentials[k] = p
            if not p >= lowest and log_p > -np.inf:
                lowest = p
        least[f] = lowest
        log_scale += top
    return log_scale if sound and abs(log_scale) < np.inf else np.nan


@finite
def extremes(values, n):
    """Smallest and largest of the first n values, all positive or zero."""
    low, high = values[0], values[0]
    for s in range(n):
        low = min(low, values[s])
        high = max(high, values[s])
    return low, high


@lean
def smallest_positive(values, n):
    """Smallest positive one of the first n values."""
    low = np.inf
    for s in range(n):
        if values[s] > 0.0:
            low = min(low, values[s])
    return low


@lean
def reciprocals(values, out, left, right):
    """Write 1 / values into `out`, 0 for 0, from one index to another."""
    for s in range(left, right):
        out[s] = 1.0 / values[s] if values[s] > 0.0 else 0.0


@lean
def scale(values, n, c):
    """Multiply the first n values by c, in place."""
    for s in range(n):
        values[s] *= c


@lean
def collect(tree, tables, work):
    """Log-partition function; `work.conditional` gets P(row | column) of every clique."""
    log_partition = collect_products(tree, tables, work)
    if np.isnan(log_partition):
        log_partition = logs.collect(tree, tables, work)
    return log_partition


@lean
def collect_products(tree, tables, work):
    """`collect`, but NaN if an underflow may have made a difference, or if no state is possible."""
    log_partition = set_potentials(tables, tree.factor_table_ptr, work.parts, work.least)
    if np.isnan(log_partition):
        return log_partition
    n_factors, n_cliques = tree.factor_clique.shape[0], tree.parent.shape[0]
    table, message, inverse = work.conditional, work.message, work.total
    ptr, sizes, strides = tree.loop_ptr, tree.loop_size, tree.loop_stride
    spelt, cell, counter = tree.cell_start, tree.cell, work.counter
    for j in range(n_cliques):
        n, n_rows, first = tree.n_columns[j], tree.n_rows[j], tree.table_ptr[j]
        sources = range(tree.source_ptr[j], tree.source_ptr[j + 1])
        height = min(max(CHUNK // n, 1), n_rows)  # rows of a narrow table that are worked on at a time
        message[:n] = 0.0
        for left in range(0, n, CHUNK):
            width = min(CHUNK, n - left)
            for row in range(0, n_rows, height):
                rows = min(height, n_rows - row)
                start = row * n + left
                stop = start + (rows - 1) * n + width
                if tree.source_ptr[j] == tree.source_ptr[j + 1]:
                    table[first + start : first + stop] = 1.0
                kind = SET
                for k in sources:
                    m = tree.sources[k]
                    meet(
                        kind, table, first, start, stop, work.parts, tree.part_start[m], m,
                        ptr, sizes, strides, spelt, cell, counter,
                    )  # fmt: skip
                    kind = MULTIPLY
                add_rows(table, first + start, rows, n, width, message, left)
            reciprocals(message, inverse, left, left + width)
            for row in range(0, n_rows, height):
                rows = min(height, n_rows - row)
                multiply_rows(table, first + row * n + left, rows, n, width, inverse, left, table)
        low, high = extremes(message, n)
        if not low >= TINY:
            # zeros are right if no product of positive values can have been lost
            bound = 1.0
            for k in sources:
                bound *= work.least[tree.sources[k]]
            if not (bound >= TINY and high > 0.0):
                return np.nan
            low = smallest_positive(message, n)
        log_partition += np.log(high)
        if tree.parent[j] >= 0:
            link = n_factors + j
            work.least[link] = low / high
            scale(message, n, 1.0 / high)
            meet(
                SET, work.parts, tree.part_start[link], 0, n, message, 0, link + n_cliques,
                ptr, sizes, strides, spelt, cell, counter,
            )  # fmt: skip
    return log_partition


@lean
def distribute(tree, work, marginals):
    """After `collect`: marginals of all cliques into `work.belief`, of all factors into `marginals` (T,)."""
    n_factors, n_cliques = tree.factor_clique.shape[0], tree.parent.shape[0]
    table, message = work.belief, work.message
    ptr, sizes, strides = tree.loop_ptr, tree.loop_size, tree.loop_stride
    spelt, cell, counter = tree.cell_start, tree.cell, work.counter
    work.parts[: marginals.shape[0]] = 0.0
    for j in range(n_cliques - 1, -1, -1):
        n, n_rows, first = tree.n_columns[j], tree.n_rows[j], tree.table_ptr[j]
        sources = range(tree.source_ptr[j], tree.source_ptr[j + 1])
        message[:n] = 0.0
        if tree.parent[j] < 0:
            message[0] = 1.0
        else:
            link = n_factors + j
            meet(
                SUM, work.parts, tree.part_start[link], 0, n, message, 0, link + n_cliques,
                ptr, sizes, strides, spelt, cell, counter,
            )  # fmt: skip
        for k in sources:
            child = tree.sources[k] - n_factors
            if child >= 0:
                at = tree.part_start[n_factors + child]
                work.parts[at : at + tree.n_columns[child]] = 0.0
        height = min(max(CHUNK // n, 1), n_rows)
        for left in range(0, n, CHUNK):
            width = min(CHUNK, n - left)
            for row in range(0, n_rows, height):
                rows = min(height, n_rows - row)
                start = row * n + left
                stop = start + (rows - 1) * n + width
                multiply_rows(work.conditional, first + start, rows, n, width, message, left, table)
                for k in sources:
                    m = tree.sources[k]
                    meet(
                        SUM, table, first, start, stop, work.parts, tree.part_start[m], m,
                        ptr, sizes, strides, spelt, cell, counter,
                    )  # fmt: skip
    for k in range(marginals.shape[0]):
        marginals[k] = work.parts[k]


@lean
def message_from_parent(tree, j, table, work):
    """Sum the parent's table, in `table` (n_cells,), onto the columns of clique j, into `work.message`."""
    n, p, link = tree.n_columns[j], tree.parent[j], tree.factor_clique.shape[0] + j
    loops = (tree.loop_ptr, tree.loop_size, tree.loop_stride, tree.cell_start, tree.cell, work.counter)
    work.total[:n] = 0.0
    work.message[:n] = 0.0
    n_cells = tree.table_ptr[p + 1] - tree.table_ptr[p]
    meet(SUM, table, tree.table_ptr[p], 0, n_cells, work.total, 0, link, *loops)
    meet(SUM, work.total, 0, 0, n, work.message, 0, link + tree.parent.shape[0], *loops)


@lean
def sum_factors(tree, table, out, counter):
    """Sum the clique tables `table` (n_cells,) onto each factor's scope, into `out` (T,)."""
    loops = (tree.loop_ptr, tree.loop_size, tree.loop_stride, tree.cell_start, tree.cell, counter)
    out[:] = 0.0
    for f in range(tree.factor_clique.shape[0]):
        j = tree.factor_clique[f]
        n_cells = tree.table_ptr[j + 1] - tree.table_ptr[j]
        meet(SUM, table, tree.table_ptr[j], 0, n_cells, out, tree.factor_table_ptr[f], f, *loops)


@lean
def log_partition_and_marginals(tree, tables, work, marginals):
    """Log-partition function; its gradient, the marginals of all factors, into `marginals` (T,)."""
    log_partition = collect(tree, tables, work)
    distribute(tree, work, marginals)
    return log_partition


@lean
def column_of(tree, j, z):
    """Column of clique j's table that belongs to the states `z` of its separator."""
    column = 0
    for k in range(tree.variable_ptr[j] + tree.n_frontal[j], tree.variable_ptr[j + 1]):
        column += tree.strides[k] * z[tree.variables[k]]
    return column


@lean
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
            if tree.n_rows[j] == 1:  # a subclique
                continue
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


@lean
def mode(tree, tables, work, z):
    """Most probable states into `z` (d,) int8; the largest log potential. Ties: lowest states."""
    logs.add_factors(tree, tables, work.conditional, work.counter)
    value = 0.0
    for j in range(tree.parent.shape[0]):
        n, p = tree.n_columns[j], tree.parent[j]
        table = work.conditional[tree.table_ptr[j] : tree.table_ptr[j + 1]]
        message = work.message[:n]
        for s in range(n):
            message[s] = table[s]
        for a in range(1, tree.n_rows[j]):
            for s in range(n):
                message[s] = max(message[s], table[a * n + s])
        if p < 0:
            value += message[0]
            continue
        logs.add_message(tree, j, message, work.total, work.conditional, work.counter)
    for j in range(tree.parent.shape[0] - 1, -1, -1):
        n = tree.n_columns[j]
        cell = tree.table_ptr[j] + column_of(tree, j, z)
        row = 0
        for a in range(1, tree.n_rows[j]):
            if work.conditional[cell + a * n] > work.conditional[cell + row * n]:
                row = a
        set_row(tree, j, row, z)
    return value
