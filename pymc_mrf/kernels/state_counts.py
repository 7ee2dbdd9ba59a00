"""Counts of states along chains: the plain Monte Carlo estimates of Rivasseau (2005, eq. 4.13)."""

from pymc_mrf.kernels._jit import jit


@jit
def count_states(x, edges, node_count, edge_count):
    """Add the states of every row of `x` (m, d) to (m, d, K) and (m, r, K, K) counts."""
    for c in range(x.shape[0]):
        for i in range(x.shape[1]):
            node_count[c, i, x[c, i]] += 1.0
        for e in range(edges.shape[0]):
            edge_count[c, e, x[c, edges[e, 0]], x[c, edges[e, 1]]] += 1.0
