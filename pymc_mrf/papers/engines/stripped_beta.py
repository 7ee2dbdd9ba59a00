"""The stripped Beta approximation of an agreement field's likelihood (Liu & Page, 2013, sec. 3.2).

As a function of one edge's parameter, all others fixed, the likelihood is replaced by that of
floor(n p) agreements in n independent trials, p being the edge's agreement probability *if it stood
alone* at the estimate theta_hat: the influence of the rest of the field is "stripped" off. For two
states p = theta_hat, which is the paper's Beta(floor(n theta_hat) + 1, n - floor(n theta_hat) + 1);
for K states p = theta / (theta + (K - 1) (1 - theta)), an extension of ours that keeps the
approximation exact on trees. The approximation is exact on trees only.
"""

import numpy as np

from pymc_mrf.fields.family import Family
from pymc_mrf.fields.simulation import GibbsSimulator
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.groups.independent_edges import FixedView
from pymc_mrf.papers.engines.tied_pcd import tied_pcd


def floor_count(n, probability):
    """floor(n p), not one less when n p is an integer but for rounding; float array."""
    return np.floor(n * np.asarray(probability) * (1.0 + 1e-12) + 1e-9)


class StrippedBeta:
    """Engine: fixed edge likelihoods, tied estimates by persistent contrastive divergence.

    Parameters
    ----------
    x : (n, d) int8 array
        Observed state indices.
    graph : PairwiseGraph
    family : Family
        An agreement family.
    eta : (r,) array
        Free maximum-likelihood estimate of the natural parameters.
    n_iterations : int
        Iterations of tied PCD, each with one sweep of all particles, behind every tied estimate.
    n_particles : int

    Attributes
    ----------
    n : int
    s : (r,) array
        floor(n p_e).
    lam : (r,) array
        Logit of an isolated edge's probability of agreement at eta = 0, -log(K - 1).
    view : FixedView
        These likelihoods, for label sweeps.
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

        Parameters
        ----------
        labels : (r,) int64 array
            Groups 0..K-1, none empty.
        eta : (K,) array
        particles : (m, d) int8 array
            Moved in place.
        rng : numpy.random.Generator

        Returns
        -------
        eta : (K,) array
        gap : float
            Largest difference between a group's mean agreement in the data and in the particles.
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
