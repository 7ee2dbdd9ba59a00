"""Cells of the log tables of a factor graph that hold the states of its variables.

The tables of all factors lie one after the other in one array; `links` is a FactorLinks namedtuple.
"""

from pymc_mrf.kernels._jit import jit, part


@part
def present_cell(f, z, links):
    """Cell in `tables` that holds the states `z` (d,) of factor f."""
    cell = links.table_ptr[f]
    for k in range(links.factor_ptr[f], links.factor_ptr[f + 1]):
        cell += links.stride[k] * z[links.variable[k]]
    return cell


@jit
def present_cells(cells, z, links):
    """Cells in `tables` that hold the states `z` (d,), of all factors: `cells` (F,)."""
    for f in range(cells.shape[0]):
        cells[f] = present_cell(f, z, links)


@jit
def count_cells(x, links, count):
    """Count the cells of all log tables of a factor graph over the rows of `x` (n, d) into `count` (T,).

    `count` is overwritten; `links` is a FactorLinks namedtuple.
    """
    count[:] = 0.0
    for c in range(x.shape[0]):
        for f in range(links.table_ptr.shape[0] - 1):
            count[present_cell(f, x[c], links)] += 1.0
