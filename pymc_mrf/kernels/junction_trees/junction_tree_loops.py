"""A small table against a large one that contains its variables: copy, multiply, add, sum.

`Meetings` lists all such meetings of a tree, as nested loops over the large table in storage order.
Tables are given as an array and a first cell, and indices are unsigned, so that loops are vectorised.
These arrays, `big`, `small`, `table` and `out` (cells,), are flat and may have any number of cells.

Messages in logs are slower than products, and right for all parameters.
"""

import numpy as np

from pymc_mrf.kernels._jit import lean_summing, part, part_summing
from pymc_mrf.kernels.log_scores import log_add

SET, MULTIPLY, ADD, SUM, LOG_SUM = np.arange(5)
"""Overwrite the large table by the small one; multiply it; add to it; add the large one to the small one;
the same with tables of logs."""

ZERO = np.int64(0)
"""Numba would compile kernels anew for a literal 0, and for each of the kinds if they were literals."""


@part_summing
def meet(kind, big, first, start, stop, small, at, meeting, meetings, counter):
    """Let cells start:stop of the large table that begins at `first` meet the small one at `at`.

    In place, so that the kind is known where it is compiled: as a call, a pass over the tree of a binary
    10 x 10 grid took a fifth longer.

    `kind`: `SET`, `MULTIPLY`, `ADD`, `SUM` or `LOG_SUM`. `big` (cells,), `small` (cells,) and `meetings`
    (Meetings). `counter` (most nested loops,) int64: scratch.
    """
    place = meetings.places[meeting]
    if place.cells >= 0:
        meet_cells(
            kind, big, first + start, stop - start, small, at, meetings.cells, place.cells + start
        )
        return
    loops = meetings.loops
    low, last = place.loops, place.loops + place.n_loops - 1
    run, step = loops[last].size, loops[last].step
    # the two innermost loops go together, unless the cells begin or end in the middle of them
    block, stride = run, 0
    if last > low:
        block = run * loops[last - 1].size
        if stop % block == 0 and start % block == 0:
            last -= 1
            stride = loops[last].step
        else:
            block = run
    q, skip = at, 0
    for k in range(low, last):
        counter[k - low] = 0
    if start > 0:
        index, skip = start // block, start % block
        for k in range(last - 1, low - 1, -1):
            counter[k - low] = index % loops[k].size
            index //= loops[k].size
            q += counter[k - low] * loops[k].step
    while start < stop:
        end = min(start + block - skip, stop)
        r = q + skip * step
        skip = 0
        while start < end:
            n = min(run, end - start)
            meet_run(kind, big, first + start, n, small, r, step)
            start += n
            r += stride
        for k in range(last - 1, low - 1, -1):
            counter[k - low] += 1
            q += loops[k].step
            if counter[k - low] < loops[k].size:
                break
            q -= loops[k].size * loops[k].step
            counter[k - low] = 0


@part
def meet_clique(kind, tree, j, table, small, at, meeting, counter):
    """Let all cells of clique j in `table` (n_cells,) meet those of the small table at `at`."""
    clique = tree.cliques[j]
    meet(kind, table, clique.first, ZERO, clique.n_cells, small, at, meeting, tree.meetings, counter)


@part
def meet_factors(kind, tree, table, tables, counter):
    """Let the clique tables `table` (n_cells,) meet the tables of all their factors, `tables` (T,)."""
    for f in range(tree.factors.shape[0]):
        factor = tree.factors[f]
        meet_clique(kind, tree, factor.clique, table, tables, factor.first, f, counter)


@part
def turn_message(kind, tree, j, turned, at, message, counter):
    """Let the message of clique j in the order of its parent's variables, `turned`, meet that in its own.

    It begins at `at` of `turned` (cells,), and `message` is (largest separator,).
    """
    turn = tree.factors.shape[0] + tree.cliques.shape[0] + j
    n = tree.cliques[j].n_columns
    meet(kind, turned, at, ZERO, n, message, ZERO, turn, tree.meetings, counter)


@part
def send_up(kind, tree, j, message, turned, table, counter):
    """Let the parent's table in `table` (n_cells,) meet clique j's `message`; `turned` is scratch.

    `message` and `turned` (largest separator,).
    """
    turn_message(SET, tree, j, turned, ZERO, message, counter)
    link = tree.factors.shape[0] + j
    meet_clique(kind, tree, tree.cliques[j].parent, table, turned, ZERO, link, counter)


@part
def sum_parent(kind, tree, j, table, turned, message, counter):
    """Sum the parent's table in `table` (n_cells,) onto the columns of clique j, into `message`.

    `kind` is `SUM` or `LOG_SUM`; `turned` is scratch. `message` and `turned` (largest separator,).
    """
    n, link = tree.cliques[j].n_columns, tree.factors.shape[0] + j
    turned[:n] = message[:n] = -np.inf if kind == LOG_SUM else 0.0
    meet_clique(kind, tree, tree.cliques[j].parent, table, turned, ZERO, link, counter)
    turn_message(kind, tree, j, turned, ZERO, message, counter)


@part
def meet_run(kind, big, first, n, small, at, step):
    """Cell first + i meets cell at + i * step, for i < n.

    Each kind has loops of its own: with the choice inside, kernels take up to a third longer to compile.
    """
    b, s, n, step = np.uint64(first), np.uint64(at), np.uint64(n), np.uint64(step)
    if kind == MULTIPLY:
        if step == 1:
            for i in range(n):
                big[b + i] *= small[s + i]
        elif step == 0:
            for i in range(n):
                big[b + i] *= small[s]
        else:
            for i in range(n):
                big[b + i] *= small[s + i * step]
    elif kind == SUM:
        if step == 1:
            for i in range(n):
                small[s + i] += big[b + i]
        elif step == 0:
            total = 0.0
            for i in range(n):
                total += big[b + i]
            small[s] += total
        else:
            for i in range(n):
                small[s + i * step] += big[b + i]
    elif kind == SET:
        if step == 1:
            for i in range(n):
                big[b + i] = small[s + i]
        else:
            for i in range(n):
                big[b + i] = small[s + i * step]
    elif kind == ADD:
        for i in range(n):
            big[b + i] += small[s + i * step]
    else:
        for i in range(n):
            small[s + i * step] = log_add(small[s + i * step], big[b + i])


@part
def meet_cells(kind, big, first, n, small, at, cells, spelt):
    """Cell first + i meets cell at + cells[spelt + i], for i < n; `cells` (all that are spelt out,)."""
    b, s, c, n = np.uint64(first), np.uint64(at), np.uint64(spelt), np.uint64(n)
    if kind == MULTIPLY:
        for i in range(n):
            big[b + i] *= small[s + cells[c + i]]
    elif kind == SUM:
        for i in range(n):
            small[s + cells[c + i]] += big[b + i]
    elif kind == SET:
        for i in range(n):
            big[b + i] = small[s + cells[c + i]]
    elif kind == ADD:
        for i in range(n):
            big[b + i] += small[s + cells[c + i]]
    else:
        for i in range(n):
            small[s + cells[c + i]] = log_add(small[s + cells[c + i]], big[b + i])


@lean_summing
def add_rows(table, first, n_rows, n, width, message, left):
    """Add `n_rows` rows of a table with n columns, from cell `first` on, to part of a message.

    Columns left : left + `width`, `message` (n or more,).
    """
    rows, columns, m = np.uint64(n), np.uint64(width), np.uint64(left)
    start = np.uint64(first)
    if width == 1 and n == 1:
        total = 0.0
        for i in range(np.uint64(n_rows)):
            total += table[start + i]
        message[m] += total
        return
    for _ in range(n_rows):
        for s in range(columns):
            message[m + s] += table[start + s]
        start += rows


@lean_summing
def multiply_rows(table, first, n_rows, n, width, message, left, out):
    """Multiply `n_rows` rows of a table with n columns by part of a message, into `out`, as in `add_rows`.

    `message` (n or more,).
    """
    rows, columns, m = np.uint64(n), np.uint64(width), np.uint64(left)
    start = np.uint64(first)
    if width == 1 and n == 1:
        for i in range(np.uint64(n_rows)):
            out[start + i] = table[start + i] * message[m]
        return
    for _ in range(n_rows):
        for s in range(columns):
            out[start + s] = table[start + s] * message[m + s]
        start += rows


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
def collect_in_logs(tree, tables, work):
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
