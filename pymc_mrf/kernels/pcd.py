"""Persistent contrastive divergence (Tieleman, 2008) with preconditioned steps.

A step moves the natural parameters by (curvature)^-1 (data moment - particle moment), where the
particles follow the current parameters by Gibbs sweeps and are never restarted. The curvature of
the log-likelihood is the covariance of the statistics, which the particles estimate too.
"""

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.gibbs import gibbs_sweeps

# Tied estimates stay in this range: theta within 1e-13 of 0 or 1
ETA_MAX = 30.0
# Step of `tied_pcd`: an average over about 1 / STEP past sweeps
STEP = 0.15
# Largest change of one tied parameter in one step
STEP_MAX = 0.5


@jit
def tied_statistics(x, labels, edges, edge_statistic, out):
    """Sum f over the edges of each group, for every row of `x` (m, d), into `out` (m, G)."""
    out[:] = 0.0
    for c in range(x.shape[0]):
        for e in range(edges.shape[0]):
            out[c, labels[e]] += edge_statistic[x[c, edges[e, 0]], x[c, edges[e, 1]]]


@jit
def regularised_covariance(statistics, spread, covariance):
    """Covariance of `statistics` (m, G), with diagonals raised to `spread`: (G, G), in place.

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


@jit
def tied_pcd(
    eta,
    labels,
    target,
    particles,
    edge_statistic,
    node_tables,
    graph,
    n_iterations,
    rng,
):
    """Follow the tied maximum-likelihood estimate by stochastic Newton steps of constant size.

    Every iteration moves all particles by one sweep and the parameters by STEP times a Newton step.
    The covariance is that of the particles as the call finds them, so that its noise does not
    correlate with that of the step. The result averages the parameters over the call; called again
    and again with its own results it fluctuates around the tied estimate, and its long-run average
    is that estimate up to terms of order STEP / m.

    The estimate is infinite for a group on whose edges the data always agree (or never). A target is
    therefore kept half an observation, counted over all particles and edges of its group, away from
    the bounds of f, which alters no target of data with at most 2 m rows unless it is on the bound;
    parameters stay in [-ETA_MAX, ETA_MAX].

    Parameters
    ----------
    eta : (G,) array
        Starting point, left unchanged.
    labels : (r,) int64 array in 0..G-1
        No group is empty.
    target : (G,) array
        Data mean of f, averaged over the edges of each group.
    particles : (m, d) int8 array
        Moved in place.
    edge_statistic : (K, K) array
    node_tables : (d, K) array
    graph : GraphArrays
    n_iterations : int
        At least 1.
    rng : numpy.random.Generator

    Returns
    -------
    eta : (G,) array
        Average over the iterations.
    gap : float
        Largest difference, over groups, between the target and the particles' mean of f, both per
        edge and the latter averaged over the iterations.
    """
    m = particles.shape[0]
    r = labels.shape[0]
    n_groups = eta.shape[0]
    n_states = edge_statistic.shape[0]
    low, high = edge_statistic.min(), edge_statistic.max()
    size = np.zeros(n_groups)
    for e in range(r):
        size[labels[e]] += 1.0
    goal = np.empty(n_groups)
    spread = np.empty(n_groups)
    for g in range(n_groups):
        margin = (high - low) / (2.0 * m * size[g])
        goal[g] = min(max(target[g], low + margin), high - margin)
        # half the variance if the group's edges were independent with the target as their mean
        spread[g] = 0.5 * size[g] * (goal[g] - low) * (high - goal[g])
    statistics = np.empty((m, n_groups))
    covariance = np.empty((n_groups, n_groups))
    tied_statistics(particles, labels, graph.edges, edge_statistic, statistics)
    regularised_covariance(statistics, spread, covariance)

    current = eta.copy()
    average = np.zeros(n_groups)
    gap = np.zeros(n_groups)
    total_gap = np.zeros(n_groups)
    edge_tables = np.empty((r, n_states, n_states))
    for _ in range(n_iterations):
        for e in range(r):
            for a in range(n_states):
                for b in range(n_states):
                    edge_tables[e, a, b] = current[labels[e]] * edge_statistic[a, b]
        gibbs_sweeps(particles, edge_tables, node_tables, graph, 1, rng)
        tied_statistics(particles, labels, graph.edges, edge_statistic, statistics)
        for g in range(n_groups):
            mean = 0.0
            for c in range(m):
                mean += statistics[c, g]
            gap[g] = size[g] * goal[g] - mean / m
        total_gap += gap
        step = np.linalg.solve(covariance, gap)
        for g in range(n_groups):
            change = min(max(STEP * step[g], -STEP_MAX), STEP_MAX)
            current[g] = min(max(current[g] + change, -ETA_MAX), ETA_MAX)
        average += current
    largest = 0.0
    for g in range(n_groups):
        largest = max(largest, abs(total_gap[g]) / (size[g] * n_iterations))
    return average / n_iterations, largest
