"""Statistics tied by groups, for persistent contrastive divergence."""

from pymc_mrf.kernels._jit import jit


@jit
def tied_statistics(x, labels, edges, edge_statistic, out):
    """Sum f over the edges of each group, for every row of `x` (m, d), into `out` (m, G).

    `edges` (r, 2) have `labels` (r,); f is `edge_statistic` (K, K).
    """
    out[:] = 0.0
    for c in range(x.shape[0]):
        for e in range(edges.shape[0]):
            out[c, labels[e]] += edge_statistic[x[c, edges[e, 0]], x[c, edges[e, 1]]]
