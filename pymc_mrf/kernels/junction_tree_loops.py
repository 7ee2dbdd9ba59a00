"""A small table against a large one that contains its variables: copy, multiply, add, sum.

`TreeArrays` lists all such meetings of a tree, as nested loops over the large table in storage order.
Tables are given as an array and a first cell, and indices are unsigned, so that loops are vectorised.
"""

import numpy as np

from pymc_mrf.kernels._jit import lean_summing

SET, MULTIPLY, ADD, SUM = range(4)
"""Overwrite the large table by the small one; multiply it; add to it; add the large one to the small one."""


@lean_summing
def meet(kind, big, first, start, stop, small, at, meeting, ptr, sizes, strides, spelt, cell, counter):
    """Let cells start:stop of the large table that begins at `first` meet the small one at `at`.

    `meeting` is its number; `ptr`, `sizes`, `strides`, `spelt` and `cell` are `loop_ptr`, `loop_size`,
    `loop_stride`, `cell_start` and `cell` of `TreeArrays`; `counter` is scratch.
    """
    if spelt[meeting] >= 0:
        meet_cells(kind, big, first + start, stop - start, small, at, cell, spelt[meeting] + start)
    else:
        low, high = ptr[meeting], ptr[meeting + 1]
        meet_loops(kind, big, first, start, stop, small, at, sizes, strides, low, high - 1, counter)


@lean_summing
def meet_loops(kind, big, first, start, stop, small, at, sizes, strides, low, last, counter):
    """`meet`, by the loops low..last."""
    run, step = sizes[last], strides[last]
    q, skip = at, 0
    for k in range(low, last):
        counter[k - low] = 0
    if start > 0:
        index, skip = start // run, start % run
        for k in range(last - 1, low - 1, -1):
            counter[k - low] = index % sizes[k]
            index //= sizes[k]
            q += counter[k - low] * strides[k]
    while start < stop:
        n = min(run - skip, stop - start)
        meet_run(kind, big, first + start, n, small, q + skip * step, step)
        start += n
        skip = 0
        for k in range(last - 1, low - 1, -1):
            counter[k - low] += 1
            q += strides[k]
            if counter[k - low] < sizes[k]:
                break
            q -= sizes[k] * strides[k]
            counter[k - low] = 0


@lean_summing
def meet_run(kind, big, first, n, small, at, step):
    """Cell first + i meets cell at + i * step, for i < n."""
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
    elif step == 1:
        for i in range(n):
            big[b + i] += small[s + i]
    else:
        for i in range(n):
            big[b + i] += small[s + i * step]


@lean_summing
def meet_cells(kind, big, first, n, small, at, cell, spelt):
    """Cell first + i meets cell at + cell[spelt + i], for i < n."""
    b, s, c, n = np.uint64(first), np.uint64(at), np.uint64(spelt), np.uint64(n)
    if kind == MULTIPLY:
        for i in range(n):
            big[b + i] *= small[s + cell[c + i]]
    elif kind == SUM:
        for i in range(n):
            small[s + cell[c + i]] += big[b + i]
    elif kind == SET:
        for i in range(n):
            big[b + i] = small[s + cell[c + i]]
    else:
        for i in range(n):
            big[b + i] += small[s + cell[c + i]]


@lean_summing
def add_rows(table, first, n_rows, n, width, message, left):
    """Add `n_rows` rows of a table with n columns, from cell `first` on, to part of a message."""
    rows, columns, m = np.uint64(n), np.uint64(width), np.uint64(left)
    if width == 1 and n == 1:
        start, total = np.uint64(first), 0.0
        for i in range(np.uint64(n_rows)):
            total += table[start + i]
        message[m] += total
        return
    start = np.uint64(first)
    for _ in range(n_rows):
        for s in range(columns):
            message[m + s] += table[start + s]
        start += rows


@lean_summing
def multiply_rows(table, first, n_rows, n, width, message, left, out):
    """Multiply `n_rows` rows of a table with n columns by part of a message, into `out`."""
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
