"""Engines of the samplers of Liu & Page (2013).

Statistics of auxiliary data sets, for the moves of `papers/kernels/auxiliary_groups.py`, are drawn
exactly down a junction tree, or summed over the rows that an `AuxiliarySampler` simulates.

A tied maximum-likelihood estimate is followed by persistent contrastive divergence (Tieleman, 2008). A
step moves the natural parameters by (curvature)^-1 (data moment - particle moment), where the particles
follow the current parameters by Gibbs sweeps and are never restarted. The curvature of the
log-likelihood is the covariance of the statistics, which the particles estimate too.

The stripped Beta approximation of an agreement field's likelihood (sec. 3.2): as a function of one
edge's parameter, all others fixed, the likelihood is replaced by that of floor(n p) agreements in n
independent trials, p being the edge's agreement probability *if it stood alone* at the estimate
theta_hat: the influence of the rest of the field is "stripped" off. For two states p = theta_hat, which
is the paper's Beta(floor(n theta_hat) + 1, n - floor(n theta_hat) + 1); for K states p = theta / (theta
+ (K - 1) (1 - theta)), an extension of ours that keeps the approximation exact on trees. The
approximation is exact on trees only.
"""

import numpy as np

from pymc_mrf.fields.family import Family
from pymc_mrf.fields.simulation import GibbsSimulator
from pymc_mrf.graph.junction_tree import field_tree
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.groups.group_labels import FixedView
from pymc_mrf.kernels.junction_trees.junction_tree_focus import allocate_focus
from pymc_mrf.kernels.simulation import gibbs
from pymc_mrf.kernels.simulation.pair_counts import tied_statistics
from pymc_mrf.likelihood.particles.auxiliary import AuxiliarySampler
from pymc_mrf.papers.kernels.auxiliary_draws import ExactDraws

# Tied estimates stay in this range: theta within 1e-13 of 0 or 1
ETA_MAX = 30.0
# An average over about 1 / STEP past sweeps
STEP = 0.15
# Largest change of one tied parameter in one step
STEP_MAX = 0.5


def exact_draws(sampler: AuxiliarySampler, statistic: np.ndarray, node_tables: np.ndarray) -> ExactDraws:
    """Prepare exact draws of as many rows as an exact `sampler` draws, in its room for work.

    `statistic` (K, K) with values in {0, 1} and `node_tables` (d, K).
    """
    K, r = len(statistic), sampler.graph.n_edges
    tree = field_tree(sampler.graph, K)
    symmetric = K == 2 and np.array_equal(statistic, statistic[::-1, ::-1])
    return ExactDraws(
        statistic=statistic,
        tables=np.concatenate([np.zeros(r * K * K), node_tables.ravel()]),
        order=tree.factor_order[tree.factor_order < r],  # the other factors are single nodes
        n=float(sampler.n),
        mirrored=bool(symmetric and not np.any(np.diff(node_tables))),
        tree=tree.arrays,
        work=sampler.work,
        focus=allocate_focus(tree.arrays),
        counts=np.zeros(tree.arrays.n_factor_cells),
        log_table=np.zeros(K * K),
        delta=np.zeros(K * K),
    )


class SimulatedDraws:
    """Sums over rows that are simulated, Gibbs chains starting at the data.

    `statistic` (K, K) with values in {0, 1} and `node_tables` (d, K). `x` (n, d) int8: the data.
    """

    by_edge = False

    def __init__(
        self, sampler: AuxiliarySampler, statistic: np.ndarray, node_tables: np.ndarray, x: np.ndarray
    ) -> None:
        self._sampler, self._statistic, self._node_tables, self._x = sampler, statistic, node_tables, x
        self.order = np.arange(sampler.graph.n_edges)

    def draw_statistics(self, eta: np.ndarray, out: np.ndarray, rng: np.random.Generator) -> None:
        """Sum f over a data set drawn at `eta` (r,), into `out` (r,)."""
        edge_tables = eta[:, None, None] * self._statistic
        rows = self._sampler.draw(edge_tables, self._node_tables, rng, self._x)
        gibbs.edge_statistics(rows, self._sampler.graph.edges, self._statistic, out)


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

    `eta` (G,): starting point, left unchanged. `labels` (r,) int64 in 0..G-1: no group is empty.
    `target` (G,): data mean of f, averaged over the edges of each group. `particles` (m, d) int8: moved
    in place. `edge_statistic` (K, K) and `node_tables` (d, K). `simulator`: for m chains of the graph.
    `n_iterations`: at least 1. Returns `eta` (G,): average over the iterations; `gap`: largest
    difference, over groups, between the target and the particles' mean of f, both per edge and the
    latter averaged over the iterations.
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


def floor_count(n, probability):
    """floor(n p), not one less when n p is an integer but for rounding; float array."""
    return np.floor(n * np.asarray(probability) * (1.0 + 1e-12) + 1e-9)


class StrippedBeta:
    """Engine: fixed edge likelihoods, tied estimates by persistent contrastive divergence.

    `x` (n, d) int8: observed state indices. `family`: an agreement family. `eta` (r,): free
    maximum-likelihood estimate of the natural parameters. `n_iterations`: iterations of tied PCD, each
    with one sweep of all particles, behind every tied estimate.

    Attributes: `s` (r,): floor(n p_e). `lam` (r,): logit of an isolated edge's probability of agreement
    at eta = 0, -log(K - 1). `view`: these likelihoods, for label sweeps.
    """

    def __init__(
        self,
        x: np.ndarray,
        graph: PairwiseGraph,
        family: Family,
        eta: np.ndarray,
        n_iterations: int,
        n_particles: int,
    ) -> None:
        self.n = len(x)
        self._shift = -np.log(family.n_states - 1.0)
        self.lam = np.full(graph.n_edges, self._shift)
        self.s = floor_count(self.n, self._alone(eta))
        self.view = FixedView(self.s, np.full(graph.n_edges, float(self.n)), self.lam)
        u, v = graph.edges.T
        self._mean_agreement = (x[:, u] == x[:, v]).mean(axis=0)  # (r,)
        self._simulator = GibbsSimulator(graph, family.n_states, n_particles)
        self._edge_statistic = family.edge_statistic
        self._node_tables = np.zeros((graph.n_nodes, family.n_states))
        self._n_iterations = n_iterations

    def _alone(self, eta: np.ndarray) -> np.ndarray:
        return 0.5 * (1.0 + np.tanh(0.5 * (eta + self._shift)))

    def tied_estimate(
        self, labels: np.ndarray, eta: np.ndarray, particles: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, float]:
        """Improve the estimate of natural parameters tied by `labels`, starting from `eta`.

        `labels` (r,) int64: groups 0..K-1, none empty. `eta` (K,). `particles` (m, d) int8: moved in
        place. Returns `eta` (K,); `gap`: largest difference between a group's mean agreement in the data
        and in the particles.
        """
        sizes = np.bincount(labels)
        target = np.bincount(labels, self._mean_agreement) / sizes
        return tied_pcd(
            eta,
            labels,
            target,
            particles,
            self._edge_statistic,
            self._node_tables,
            self._simulator,
            self._n_iterations,
            rng,
        )

    def group_statistics(
        self, labels: np.ndarray, eta: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Statistics s, n and lam, each (K,), of the stripped likelihood of tied values.

        Beta(floor(m_k n phi_hat) + 1, m_k n - floor(m_k n phi_hat) + 1) of sec. 3.2.2.
        """
        trials = np.bincount(labels) * float(self.n)
        return floor_count(trials, self._alone(eta)), trials, np.full(len(eta), self._shift)
