"""Counts of node and edge configurations over data rows: the sufficient statistics of all log tables."""

from pymc_mrf.kernels._jit import jit


@jit
def count_configurations(x, edges, edge_count, node_count):
    """Count the states of all rows of `x` (n, d) into (r, K, K) and (d, K) arrays, overwritten."""
    edge_count[:] = 0.0
    node_count[:] = 0.0
    for c in range(x.shape[0]):
        z = x[c]
        for i in range(x.shape[1]):
            node_count[i, z[i]] += 1.0
        for e in range(edges.shape[0]):
            edge_count[e, z[edges[e, 0]], z[edges[e, 1]]] += 1.0
