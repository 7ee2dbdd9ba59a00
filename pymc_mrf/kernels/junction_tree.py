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
from pymc_mrf.kernels._jit import finite, inlined, jit, summing
from pymc_mrf.kernels.junction_tree_loops import MULTIPLY, SET, SUM, meet

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


@jit
def set_potentials(tables, ptr, potentials, least):
    """Exponentials of all log tables, scaled to a maximum of one; the sum of the logs of the scales.

    NaN if a table has no possible state or holds a NaN.
    """
    log_scale = 0.0
    for f in range(ptr.shape[0] - 1):
        table, out = tables[ptr[f] : ptr[f + 1]], potentials[ptr[f] : ptr[f + 1]]
        top = -np.inf
        for k in range(table.shape[0]):
            top = max(top, table[k])
        lowest = 1.0
        for k in range(table.shape[0]):
            p = np.exp(table[k] - top) if table[k] != top else table[k] - top + 1.0
            if not p <= 1.0:
                return np.nan
            out[k] = p
            if table[k] > -np.inf:
                lowest = min(lowest, p)
        least[f] = lowest
        log_scale += top
    return log_scale


@finite
def extremes(values):
    """Smallest and largest of positive values or zeros."""
    low, high = values[0], values[0]
    for s in range(values.shape[0]):
        low = min(low, values[s])
        high = max(high, values[s])
    return low, high


@jit
def smallest_positive(values):
    """Smallest positive value."""
    low = np.inf
    for s in range(values.shape[0]):
        if values[s] > 0.0:
            low = min(low, values[s])
    return low


@summing
def add_rows(table, message):
    """Add all rows of a table to a message."""
    n = message.shape[0]
    if n == 1:
        total = 0.0
        for i in range(table.shape[0]):
            total += table[i]
        message[0] += total
        return
    for start in range(0, table.shape[0], n):
        row = table[start : start + n]
        for s in range(n):
            message[s] += row[s]


@jit
def reciprocals(values, out):
    """Write 1 / values into `out`, 0 for 0."""
    for s in range(values.shape[0]):
        out[s] = 1.0 / values[s] if values[s] > 0.0 else 0.0


@jit
def multiply_rows(table, factor, out):
    """Multiply all rows of a table by `factor`, into `out`."""
    n = factor.shape[0]
    if n == 1:
        for i in range(table.shape[0]):
            out[i] = table[i] * factor[0]
        return
    for start in range(0, table.shape[0], n):
        row, target = table[start : start + n], out[start : start + n]
        for s in range(n):
            target[s] = row[s] * factor[s]


@jit
def multiply_by(values, c):
    """Multiply all values by c, in place."""
    for s in range(values.shape[0]):
        values[s] *= c


@jit
def collect(tree, tables, work):
    """Log-partition function; `work.conditional` gets P(row | column) of every clique."""
    log_partition = collect_products(tree, tables, work)
    if np.isnan(log_partition):
        log_partition = logs.collect(tree, tables, work)
    return log_partition


@inlined
def piece(n_rows, n, left, top):
    """Cells of a table (n_rows, n) to be worked on at a time, from this corner on: start, stop, rows.

    They are some columns of one row of a wide table, or some rows of a narrow one.
    """
    if n > CHUNK:
        return top * n + left, top * n + min(left + CHUNK, n), 1
    bottom = min(top + max(CHUNK // n, 1), n_rows)
    return top * n, bottom * n, bottom - top


@jit
def collect_products(tree, tables, work):
    """`collect`, but NaN if an underflow may have made a difference, or if no state is possible."""
    log_partition = set_potentials(tables, tree.factor_table_ptr, work.parts, work.least)
    if np.isnan(log_partition):
        return log_partition
    n_factors, n_cliques = tree.factor_clique.shape[0], tree.parent.shape[0]
    for j in range(n_cliques):
        n, n_rows = tree.n_columns[j], tree.n_rows[j]
        table = work.conditional[tree.table_ptr[j] : tree.table_ptr[j + 1]]
        sources = tree.sources[tree.source_ptr[j] : tree.source_ptr[j + 1]]
        message = work.message[:n]
        for left in range(0, n, CHUNK):
            here = message[left : left + CHUNK]
            total = work.total[: here.shape[0]]
            here[:] = 0.0
            top = 0
            while top < n_rows:
                start, stop, height = piece(n_rows, n, left, top)
                if sources.shape[0] == 0:
                    table[start:stop] = 1.0
                for k in range(sources.shape[0]):
                    kind = SET if k == 0 else MULTIPLY
                    small = work.parts[tree.part_start[sources[k]] :]
                    meet(kind, tree, sources[k], table, start, stop, small, work.counter)
                add_rows(table[start:stop], here)
                top += height
            reciprocals(here, total)
            top = 0
            while top < n_rows:
                start, stop, height = piece(n_rows, n, left, top)
                multiply_rows(table[start:stop], total, table[start:stop])
                top += height
        low, high = extremes(message)
        if not low >= TINY:
            # zeros are right if no product of positive values can have been lost
            bound = 1.0
            for k in range(sources.shape[0]):
                bound *= work.least[sources[k]]
            if not (bound >= TINY and high > 0.0):
                return np.nan
            low = smallest_positive(message)
        log_partition += np.log(high)
        if tree.parent[j] >= 0:
            work.least[n_factors + j] = low / high
            first = tree.part_start[n_factors + j]
            scaled = work.parts[first : first + n]
            meet(SET, tree, n_factors + n_cliques + j, scaled, 0, n, message, work.counter)
            multiply_by(scaled, 1.0 / high)
    return log_partition


@jit
def distribute(tree, work, marginals):
    """After `collect`: marginals of all cliques into `work.belief`, of all factors into `marginals` (T,)."""
    n_factors, n_cliques = tree.factor_clique.shape[0], tree.parent.shape[0]
    work.parts[: marginals.shape[0]] = 0.0
    for j in range(n_cliques - 1, -1, -1):
        n, n_rows = tree.n_columns[j], tree.n_rows[j]
        conditional = work.conditional[tree.table_ptr[j] : tree.table_ptr[j + 1]]
        table = work.belief[tree.table_ptr[j] : tree.table_ptr[j + 1]]
        sources = tree.sources[tree.source_ptr[j] : tree.source_ptr[j + 1]]
        message = work.message[:n]
        if tree.parent[j] < 0:
            message[0] = 1.0
        else:
            message[:] = 0.0
            turned = work.parts[tree.part_start[n_factors + j] :]
            meet(SUM, tree, n_factors + n_cliques + j, turned, 0, n, message, work.counter)
        for k in range(sources.shape[0]):
            child = sources[k] - n_factors
            if child >= 0:
                first = tree.part_start[sources[k]]
                work.parts[first : first + tree.n_columns[child]] = 0.0
        for left in range(0, n, CHUNK):
            here = message[left : left + CHUNK]
            top = 0
            while top < n_rows:
                start, stop, height = piece(n_rows, n, left, top)
                multiply_rows(conditional[start:stop], here, table[start:stop])
                for k in range(sources.shape[0]):
                    small = work.parts[tree.part_start[sources[k]] :]
                    meet(SUM, tree, sources[k], table, start, stop, small, work.counter)
                top += height
    marginals[:] = work.parts[: marginals.shape[0]]


@jit
def log_partition_and_marginals(tree, tables, work, marginals):
    """Log-partition function; its gradient, the marginals of all factors, into `marginals` (T,)."""
    log_partition = collect(tree, tables, work)
    distribute(tree, work, marginals)
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


@jit
def mode(tree, tables, work, z):
    """Most probable states into `z` (d,) int8; the largest log potential. Ties: lowest states."""
    logs.add_factors(tree, tables, work.conditional, work.counter)
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
