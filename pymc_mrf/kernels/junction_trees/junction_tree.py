"""Exact inference on a junction tree: log-partition, marginals, draws, mode.

`collect` sends messages towards the root and leaves in every clique table the conditional
probabilities P(frontal variables | separator): the field as a directed model (Lauritzen &
Spiegelhalter, 1988). Everything else multiplies and adds these probabilities, where an underflow
means a probability that really is negligible. The derivatives are in `junction_tree_derivatives`.

Messages are products and sums of potentials, scaled to a maximum of one. They are right to rounding
unless one is so small that terms of it may have been lost; `collect` then begins anew in logs
(`collect_in_logs`), so that no parameter is too extreme.

`tree` is a `TreeArrays` namedtuple (its attributes are described there), `tables` (T,) the log
tables of all factors one after the other, and `work` a `Workspace`, which a caller allocates once.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import finite, jit, lean, part
from pymc_mrf.kernels.junction_trees.junction_tree_loops import (
    ADD,
    MULTIPLY,
    SET,
    SUM,
    ZERO,
    add_factors,
    add_rows,
    collect_in_logs,
    meet,
    meet_factors,
    multiply_rows,
    send_up,
    turn_message,
)

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


def allocate_workspace(tree):
    """Workspace for one junction tree: 16 bytes per table cell and a little more."""
    columns, places = tree.cliques["n_columns"], tree.meetings.places
    return Workspace(
        np.zeros(tree.n_factor_cells),
        np.zeros(tree.n_cells),
        np.zeros(tree.n_cells),
        np.zeros((places["part"][-len(columns) :] + columns).max()),
        np.zeros(len(tree.factors) + len(columns)),
        np.zeros(columns.max()),
        np.zeros(columns.max()),
        np.zeros(places["n_loops"].max(), dtype=np.int64),
    )


@jit
def pack_pairwise(edge_tables, node_tables, tables):
    """Write (r, K, K) edge and (d, K) node tables one after the other into `tables`."""
    k = 0
    for table in edge_tables.flat:
        tables[k] = table
        k += 1
    for table in node_tables.flat:
        tables[k] = table
        k += 1


@lean
def set_potential(tables, first, n, potentials):
    """Exponentials of a factor's log table, scaled to a maximum of one, into `potentials` (T or more,).

    Returns the log of the scale, NaN if no state is possible or the table holds a NaN, and the smallest
    positive value, which is 0 if it underflows.
    """
    top, lowest, sound = -np.inf, 1.0, True
    for k in range(first, first + n):
        top = max(top, tables[k])
    for k in range(first, first + n):
        sound = sound and tables[k] <= top
        log_p = tables[k] - top
        p = np.exp(log_p) if log_p != 0.0 else 1.0
        potentials[k] = p
        if not p >= lowest and log_p > -np.inf:
            lowest = p
    return top if sound and abs(top) < np.inf else np.nan, lowest


@finite
def extremes(values, n):
    """Smallest and largest of the first n `values` (largest separator,), all positive or zero."""
    low, high = values[0], values[0]
    for s in range(n):
        low = min(low, values[s])
        high = max(high, values[s])
    return low, high


@lean
def smallest_positive(values, first, stop):
    """Smallest positive one of `values` (stop or more,) from `first` to before `stop`."""
    low = np.inf
    for s in range(first, stop):
        if values[s] > 0.0:
            low = min(low, values[s])
    return low


@part
def reciprocals(values, out, left, right):
    """Write 1 / values into `out`, 0 for 0, from one index to another.

    `values` and `out` are (largest separator,).
    """
    for s in range(left, right):
        out[s] = 1.0 / values[s] if values[s] > 0.0 else 0.0


@part
def scale(values, n, c):
    """Multiply the first n `values` (largest separator,) by c, in place."""
    for s in range(n):
        values[s] *= c


@lean
def collect(tree, tables, work):
    """Log-partition function; `work.conditional` gets P(row | column) of every clique."""
    return collect_messages(tree, tables, work)


@part
def collect_messages(tree, tables, work):
    """`collect` as a part of other kernels, which would compile it once more beside themselves."""
    log_partition = collect_products(tree, tables, work)
    if np.isnan(log_partition):
        log_partition = collect_in_logs(tree, tables, work)
    return log_partition


@part
def collect_products(tree, tables, work):
    """`collect`, but NaN if an underflow may have made a difference, or if no state is possible."""
    log_partition, n_factors = 0.0, tree.factors.shape[0]
    for f in range(n_factors):
        factor = tree.factors[f]
        top, work.least[f] = set_potential(tables, factor.first, factor.n_cells, work.parts)
        log_partition += top
    if np.isnan(log_partition):
        return log_partition
    table, message, inverse = work.conditional, work.message, work.total
    for j in range(tree.cliques.shape[0]):
        clique = tree.cliques[j]
        n, n_rows, first = clique.n_columns, clique.n_rows, clique.first
        height = min(max(CHUNK // n, 1), n_rows)  # rows of a narrow table that are worked on at a time
        message[:n] = 0.0
        for left in range(0, n, CHUNK):
            width = min(CHUNK, n - left)
            for row in range(0, n_rows, height):
                rows = min(height, n_rows - row)
                start = row * n + left
                set_cells(tree, j, start, start + (rows - 1) * n + width, table, work)
                add_rows(table, first + start, rows, n, width, message, left)
            reciprocals(message, inverse, left, left + width)
            for row in range(0, n_rows, height):
                rows = min(height, n_rows - row)
                multiply_rows(table, first + row * n + left, rows, n, width, inverse, left, table)
        low, high = extremes(message, n)
        if not low >= TINY:
            # zeros are right if no product of positive values can have been lost
            bound = 1.0
            for k in range(clique.sources, clique.sources + clique.n_sources):
                bound *= work.least[tree.sources[k]]
            if not (bound >= TINY and high > 0.0):
                return np.nan
            low = smallest_positive(message, ZERO, n)
        log_partition += np.log(high)
        if clique.parent >= 0:
            link = n_factors + j
            work.least[link] = low / high
            scale(message, n, 1.0 / high)
            part = tree.meetings.places[link].part
            turn_message(SET, tree, j, work.parts, part, message, work.counter)
    return log_partition


@part
def set_cells(tree, j, start, stop, table, work):
    """Cells start:stop of clique j in `table` (n_cells,): the product of factors and messages."""
    clique = tree.cliques[j]
    if clique.n_sources == 0:
        table[clique.first + start : clique.first + stop] = 1.0
    kind = SET
    for k in range(clique.sources, clique.sources + clique.n_sources):
        m = tree.sources[k]
        part = tree.meetings.places[m].part
        meet(
            kind, table, clique.first, start, stop, work.parts, part, m, tree.meetings, work.counter
        )  # fmt: skip
        kind = MULTIPLY


@part
def distribute(tree, work, marginals):
    """Fill `work.belief` with marginals of cliques, and `marginals` (T,) of all factors, after `collect`."""
    n_factors, n_cliques = tree.factors.shape[0], tree.cliques.shape[0]
    table, message, places = work.belief, work.message, tree.meetings.places
    work.parts[: marginals.shape[0]] = 0.0
    for j in range(n_cliques - 1, -1, -1):
        clique = tree.cliques[j]
        n, n_rows, first = clique.n_columns, clique.n_rows, clique.first
        sources = range(clique.sources, clique.sources + clique.n_sources)
        message[:n] = 0.0
        if clique.parent < 0:
            message[0] = 1.0
        else:
            part = places[n_factors + j].part
            turn_message(SUM, tree, j, work.parts, part, message, work.counter)
        for k in sources:
            child = tree.sources[k] - n_factors
            if child >= 0:
                part = places[n_factors + child].part
                work.parts[part : part + tree.cliques[child].n_columns] = 0.0
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
                    part = places[m].part
                    meet(
                        SUM, table, first, start, stop, work.parts, part, m, tree.meetings, work.counter
                    )  # fmt: skip
    for k in range(marginals.shape[0]):
        marginals[k] = work.parts[k]


@part
def sum_factors(tree, table, out, counter):
    """Sum the clique tables `table` (n_cells,) onto each factor's scope, into `out` (T,)."""
    out[:] = 0.0
    meet_factors(SUM, tree, table, out, counter)


@lean
def log_partition_and_marginals(tree, tables, work, marginals):
    """Log-partition function; its gradient, the marginals of all factors, into `marginals` (T,)."""
    log_partition = collect_messages(tree, tables, work)
    distribute(tree, work, marginals)
    return log_partition


@lean
def column_of(tree, j, z):
    """Column of clique j's table that belongs to the states `z` (d,) of its separator."""
    column, clique = 0, tree.cliques[j]
    for k in range(clique.variables + clique.n_frontal, clique.variables + clique.n_variables):
        variable = tree.variables[k]
        column += variable.stride * z[variable.index]
    return column


@lean
def set_row(tree, j, row, z):
    """Write the states of clique j's frontal variables in this row of its table into `z` (d,)."""
    clique = tree.cliques[j]
    cell = row * clique.n_columns
    for k in range(clique.variables, clique.variables + clique.n_frontal):
        variable = tree.variables[k]
        z[variable.index] = (cell // variable.stride) % tree.cards[variable.index]


@jit
def draw_rows(tree, work, x, rng):
    """Fill the rows of `x` (n, d) int8 with independent exact draws, after `collect`."""
    for c in range(x.shape[0]):
        z = x[c]
        for j in range(tree.cliques.shape[0] - 1, -1, -1):
            clique = tree.cliques[j]
            if clique.n_rows == 1:  # a subclique
                continue
            cell = clique.first + column_of(tree, j, z)
            u = rng.random()
            row = 0
            # the last row with positive probability also takes what rounding leaves over
            for a in range(clique.n_rows):
                p = work.conditional[cell + a * clique.n_columns]
                if p > 0.0:
                    row = a
                    if u < p:
                        break
                    u -= p
            set_row(tree, j, row, z)


@lean
def mode(tree, tables, work, z):
    """Most probable states into `z` (d,) int8; the largest log potential. Ties: lowest states."""
    add_factors(tree, tables, work.conditional, work.counter)
    value, message, table = 0.0, work.message, work.conditional
    for j in range(tree.cliques.shape[0]):
        clique = tree.cliques[j]
        n = clique.n_columns
        message[:n] = -np.inf
        for a in range(clique.n_rows):
            for s in range(n):
                message[s] = max(message[s], table[clique.first + a * n + s])
        if clique.parent < 0:
            value += message[0]
        else:
            send_up(ADD, tree, j, message, work.total, table, work.counter)
    for j in range(tree.cliques.shape[0] - 1, -1, -1):
        clique = tree.cliques[j]
        cell, row = clique.first + column_of(tree, j, z), 0
        for a in range(1, clique.n_rows):
            if table[cell + a * clique.n_columns] > table[cell + row * clique.n_columns]:
                row = a
        set_row(tree, j, row, z)
    return value
