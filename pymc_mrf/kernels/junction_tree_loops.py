"""A small table against a large one that contains its variables: copy, multiply, add, sum.

`TreeArrays` lists all such meetings of a tree, as nested loops over the large table in storage order.
"""

from pymc_mrf.kernels._jit import inlined, summing

SET, MULTIPLY, ADD, SUM = range(4)
"""Overwrite the large table by the small one; multiply it; add to it; add the large one to the small one."""


@inlined
def visit_run(kind, x, y, step):
    """One run: cell i of `x` meets cell ``i * step`` of `y`."""
    if kind == SET:
        for i in range(x.shape[0]):
            x[i] = y[i * step]
    elif kind == MULTIPLY:
        for i in range(x.shape[0]):
            x[i] *= y[i * step]
    elif kind == ADD:
        for i in range(x.shape[0]):
            x[i] += y[i * step]
    elif step != 0:
        for i in range(x.shape[0]):
            y[i * step] += x[i]
    else:
        total = 0.0
        for i in range(x.shape[0]):
            total += x[i]
        y[0] += total


@inlined
def visit_cells(kind, x, y, cell):
    """Cell i of `x` meets cell ``cell[i]`` of `y`."""
    if kind == SET:
        for i in range(x.shape[0]):
            x[i] = y[cell[i]]
    elif kind == MULTIPLY:
        for i in range(x.shape[0]):
            x[i] *= y[cell[i]]
    elif kind == ADD:
        for i in range(x.shape[0]):
            x[i] += y[cell[i]]
    else:
        for i in range(x.shape[0]):
            y[cell[i]] += x[i]


@summing
def visit(kind, big, start, stop, small, sizes, strides, low, high, cell, spelt, counter):
    """`meet`, with the loops ``sizes[low:high]``, or with indices from ``cell[spelt]`` on if spelt >= 0."""
    if spelt >= 0:
        visit_cells(kind, big[start:stop], small, cell[spelt + start : spelt + stop])
        return
    run, step = sizes[high - 1], strides[high - 1]
    index, skip = start // run, start % run
    q = 0
    for k in range(high - 2, low - 1, -1):
        counter[k - low] = index % sizes[k]
        index //= sizes[k]
        q += counter[k - low] * strides[k]
    while start < stop:
        x, y = big[start : min(start + run - skip, stop)], small[q + skip * step :]
        # constants, for loops that are vectorised
        if step == 1:
            visit_run(kind, x, y, 1)
        elif step == 0:
            visit_run(kind, x, y, 0)
        else:
            visit_run(kind, x, y, step)
        start += run - skip
        skip = 0
        k = high - 2
        while k >= low:
            counter[k - low] += 1
            q += strides[k]
            if counter[k - low] < sizes[k]:
                break
            q -= sizes[k] * strides[k]
            counter[k - low] = 0
            k -= 1


@inlined
def meet(kind, tree, meeting, big, start, stop, small, counter):
    """Let cells start:stop of a large table meet a small one, as in this meeting of the tree."""
    visit(
        kind,
        big,
        start,
        stop,
        small,
        tree.loop_size,
        tree.loop_stride,
        tree.loop_ptr[meeting],
        tree.loop_ptr[meeting + 1],
        tree.cell,
        tree.cell_start[meeting],
        counter,
    )
