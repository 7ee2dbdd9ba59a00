"""Kernels of persistent contrastive divergence: statistics tied by groups, their covariance."""

import numpy as np

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


@jit
def regularised_covariance(statistics, spread, covariance):
    """Covariance of `statistics` (m, G), with diagonals raised to `spread`: `covariance` (G, G), in place.

    `spread` (G,) keeps the matrix invertible when all particles agree on a statistic.
    """
    m, n_groups = statistics.shape
    mean = np.zeros(n_groups)
    for c in range(m):
        mean += statistics[c] / m
    covariance[:] = 0.0
    for c in range(m):
        for g in range(n_groups):
            for h in range(g + 1):
                covariance[g, h] += (statistics[c, g] - mean[g]) * (statistics[c, h] - mean[h])
    for g in range(n_groups):
        for h in range(g + 1):
            covariance[g, h] /= m
            covariance[h, g] = covariance[g, h]
        covariance[g, g] = max(1.05 * covariance[g, g], spread[g])
