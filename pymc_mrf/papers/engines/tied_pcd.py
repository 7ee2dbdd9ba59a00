"""Following a tied maximum-likelihood estimate by persistent contrastive divergence (Tieleman, 2008).

A step moves the natural parameters by (curvature)^-1 (data moment - particle moment), where the
particles follow the current parameters by Gibbs sweeps and are never restarted. The curvature of
the log-likelihood is the covariance of the statistics, which the particles estimate too.
"""

import numpy as np

from pymc_mrf.fields.simulation import GibbsSimulator
from pymc_mrf.kernels.simulation.pcd import tied_statistics

# Tied estimates stay in this range: theta within 1e-13 of 0 or 1
ETA_MAX = 30.0
# An average over about 1 / STEP past sweeps
STEP = 0.15
# Largest change of one tied parameter in one step
STEP_MAX = 0.5


def regularised_covariance(statistics: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Covariance (G, G) of `statistics` (m, G), with diagonals raised to `spread` (G,).

    That keeps the matrix invertible when all particles agree on a statistic.
    """
    covariance = np.atleast_2d(np.cov(statistics.T, bias=True))
    np.fill_diagonal(covariance, np.maximum(1.05 * np.diagonal(covariance), spread))
    return covariance


def tied_pcd(
    eta: np.ndarray,
    labels: np.ndarray,
    target: np.ndarray,
    particles: np.ndarray,
    edge_statistic: np.ndarray,
    node_tables: np.ndarray,
    simulator: GibbsSimulator,
    n_iterations: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, float]:
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
    simulator : GibbsSimulator
        For m chains of the graph.
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
    m = len(particles)
    low, high = edge_statistic.min(), edge_statistic.max()
    size = np.bincount(labels).astype(np.float64)
    margin = (high - low) / (2.0 * m * size)
    goal = np.clip(target, low + margin, high - margin)
    # half the variance if the group's edges were independent with the target as their mean
    spread = 0.5 * size * (goal - low) * (high - goal)
    statistics = np.empty((m, len(size)))
    tied_statistics(particles, labels, simulator.graph.edges, edge_statistic, statistics)
    inverse = np.linalg.inv(regularised_covariance(statistics, spread))

    current = eta.copy()
    average, total_gap = np.zeros(len(size)), np.zeros(len(size))
    simulator.load(particles)
    for _ in range(n_iterations):
        simulator.advance(current[labels, None, None] * edge_statistic, node_tables, 1, rng)
        per_edge = (simulator.pair_counts() * edge_statistic).sum(axis=(1, 2)) / m
        gap = size * goal - np.bincount(labels, per_edge)
        total_gap += gap
        # einsum, not BLAS: starting threads for so small a product costs more than it saves
        step = STEP * np.einsum("ij,j->i", inverse, gap)
        current = np.clip(current + np.clip(step, -STEP_MAX, STEP_MAX), -ETA_MAX, ETA_MAX)
        average += current
    simulator.store(particles)
    return average / n_iterations, float(np.max(np.abs(total_gap) / size)) / n_iterations
