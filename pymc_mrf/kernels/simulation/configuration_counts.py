"""Counts of node and edge configurations over data rows: the sufficient statistics of all log tables."""

from pymc_mrf.kernels._jit import jit


@jit
def count_configurations(x, edges, edge_count, node_count):
    """Count the states of all rows of `x` (n, d), with `edges` (r, 2).

    `edge_count` (r, K, K) and `node_count` (d, K) are overwritten.
    """
    edge_count[:] = 0.0
    node_count[:] = 0.0
    for c in range(x.shape[0]):
        z = x[c]
        for i in range(x.shape[1]):
            node_count[i, z[i]] += 1.0
        for e in range(edges.shape[0]):
            edge_count[e, z[edges[e, 0]], z[edges[e, 1]]] += 1.0


@jit
def count_cells(x, links, count):
    """Count the cells of all log tables of a factor graph over the rows of `x` (n, d) into `count` (T,).

    `count` is overwritten; `links` is a FactorLinks namedtuple.
    """
    count[:] = 0.0
    for c in range(x.shape[0]):
        for f in range(links.table_ptr.shape[0] - 1):
            cell = links.table_ptr[f]
            for k in range(links.factor_ptr[f], links.factor_ptr[f + 1]):
                cell += links.stride[k] * x[c, links.variable[k]]
            count[cell] += 1.0
