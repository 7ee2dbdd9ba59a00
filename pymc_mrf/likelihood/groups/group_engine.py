"""What a group sampler asks of the likelihood of one field: one edge at a time, and all values jointly."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from pymc_mrf.fields.families import ISING
from pymc_mrf.fields.family import Family
from pymc_mrf.kernels.groups import group_labels
from pymc_mrf.kernels.groups.edgewise_groups import EdgewiseView
from pymc_mrf.likelihood.data_counts import DataCounts
from pymc_mrf.likelihood.edges.columns import columns_of

N_REFERENCE = 1000  # states from which the covariance of the field's statistics is learnt


def with_fewest_features(family: Family) -> Family:
    """Return the family of the same fields, but for node parameters, with one feature if states are two."""
    return ISING if np.array_equal(family.indicator[0], np.eye(2)) else family


class GroupEngine(ABC):
    """Likelihood of one field as a function of the r natural parameters of a group sampler.

    Parameters
    ----------
    x : (n, D) int8 array
        Observed state indices, as of `Columns`.
    graph : PairwiseGraph or LaggedGraph
    family : Family
        Of which natural parameters multiply the statistic f of `Family.indicator`.
    node_tables : (d, K) array
        Log tables of the nodes; -inf for states that a node does not have.
    entries : (edges,) int64 array
        Which of the r parameters each edge has, all different.
    n_entries : int
        r.

    Attributes
    ----------
    n : int
    statistic : (K, K) array
        Table of f, symmetric.
    columns : Columns
        Where the ends of edges are in the data.
    s : (edges,) array
        Sum of f over the observations.
    levels : (L,) array
        Different values of f, increasing.
    level : (K, K) int64 array
        Which of them each pair of states has.
    is_binary : bool
        Whether the levels are 0 and 1.
    order : (r,) int64 array
        Order of the parameters in which a sweep costs least.
    chunk : int
        Parameters of a sweep after which the views want to be renewed.
    n_terms : int
        Most terms that one edge's likelihood has (`pymc_mrf.kernels.groups.edge_terms`).
    n_levels : int
        Most levels that one term has.
    n_trajectories : int
        Hamiltonian moves that one evaluation of `grouped` should serve.
    n_rounds : tuple of int
        Sweeps of labels and moves of values in one step, and in one while tuning.
    reference, node_reference : array
        What `learn` found; part of a sampler's state.
    """

    n_terms: int = 1
    n_trajectories: int = 1
    n_rounds: tuple[int, int] = 1, 1

    def __init__(
        self,
        x: np.ndarray,
        graph: Any,
        family: Family,
        node_tables: np.ndarray,
        entries: np.ndarray,
        n_entries: int,
    ) -> None:
        self.n = len(x)
        self.s = np.empty(graph.n_edges)
        self.graph, self.family, self.node_tables = graph, family, node_tables
        self.statistic = statistic = family.indicator[0]
        self.columns = columns_of(x, graph)
        self._counts = DataCounts(self.columns.ends, len(statistic))
        GroupEngine.set_data(self, x)
        self.levels, level = np.unique(statistic, return_inverse=True)
        self.level = level.reshape(statistic.shape)
        self.is_binary = np.array_equal(self.levels, [0.0, 1.0])
        self.n_levels = len(self.levels)
        self.entries = entries
        self.edge_of = np.full(n_entries, -1)
        self.edge_of[entries] = np.arange(graph.n_edges)
        self.order = np.arange(n_entries)
        self.chunk = n_entries
        self.reference = np.zeros((graph.n_edges, 0), dtype=self._reference_statistic.dtype)
        self.node_reference = np.zeros((0, 0))

    @property
    def _reference_statistic(self) -> np.ndarray:
        """Statistic (K, K) in the type of `reference`, which is small where that is possible."""
        return self.statistic.astype(np.int8) if self.is_binary else self.statistic

    def _edgewise(self, edges: Any, family: Family, s: np.ndarray) -> EdgewiseView:
        """Wrap a view for single edges of a field of `family`; `s` (edges,) as of `EdgewiseView`."""
        f = family.edge_statistic
        scale = float(np.ptp(f) / np.ptp(self.statistic))
        is_possible = family.possible(len(edges.field.features))[edges.field.edges]  # (edges, 2, K)
        pairs = is_possible[:, 0, :, None] & is_possible[:, 1, None]
        return EdgewiseView(
            edge_of=self.edge_of,
            edges=edges,
            s=s,
            low=float(f.min() - scale * self.statistic.min()),
            scale=scale,
            levels=self.levels,
            level=self.level.ravel(),
            possible=np.stack(
                [(pairs & (self.level == k)).any(axis=(1, 2)) for k in range(self.n_levels)], axis=1
            ),
            log_mass=np.empty(self.n_levels),
        )

    def place(self) -> np.ndarray | None:
        """Parameters (r,) near the data; None if they follow from the shares of the edges that agree.

        Each by a step of Newton's method from independent nodes.
        """
        if self.is_binary:
            return None
        K, (u, v) = len(self.statistic), self.columns.ends.T
        share = np.stack([(self.x == a).mean(axis=0) for a in range(K)], axis=1)  # (d, K)
        p = share[u][:, :, None] * share[v][:, None, :]  # (edges, K, K)
        of_u, of_v = (np.einsum("eb,ab->ea", share[i], self.statistic) for i in (v, u))
        mean = (p * self.statistic).sum(axis=(1, 2))
        # what the nodes do not explain
        rest = self.statistic - of_u[:, :, None] - of_v[:, None, :] + mean[:, None, None]
        spread = (p * rest**2).sum(axis=(1, 2)) + np.ptp(self.levels) ** 2 / self.n
        return self._to_entries((self.s / self.n - mean) / spread)

    def set_data(self, x: np.ndarray) -> None:
        """Take other data (n, D), missing cells being filled anew."""
        self.x = x
        self._counts.count(x)
        self.s[:] = self._counts.pairs.reshape(len(self.s), -1) @ self.statistic.ravel()

    def set_node_tables(self, node_tables: np.ndarray) -> None:
        """Take over other node tables (d, K)."""
        self.node_tables = node_tables

    @abstractmethod
    def view(self, eta: np.ndarray) -> Any:
        """View for `pymc_mrf.kernels.groups.group_labels`, at the parameters `eta` (r,)."""

    @abstractmethod
    def grouped(
        self, labels: np.ndarray, values: np.ndarray
    ) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
        """Log-likelihood and gradient (K,) as a function of the values (K,) of the groups `labels` (r,).

        `values` are the present ones, around which an approximation is the best.
        """

    @abstractmethod
    def learn(self, eta: np.ndarray, rng: np.random.Generator) -> None:
        """Learn at `eta` (r,) what `information` needs."""

    def information(self, labels: np.ndarray, n_groups: int) -> np.ndarray:
        """Curvature (K + P, K + P) of the log-likelihood by the values of groups, at what was learnt.

        n times the covariance of the sums of f over the groups: a function of `labels` (r,) and of what was
        learnt. The P variables behind the node parameters, if they are moved as well, follow the groups.
        """
        N = self.reference.shape[1]
        sums = np.empty((n_groups, N), dtype=np.int32 if self.is_binary else np.float64)
        group_labels.sum_groups(self.reference, labels[self.entries], sums)
        sums = np.concatenate([sums, self.node_reference]) if len(self.node_reference) else sums
        sums = sums - sums.sum(axis=1)[:, None] / N
        information = sums @ sums.T * (self.n / N)
        variances = information.diagonal().copy()
        information *= N / (N + len(sums))  # of as many groups as states nothing would be left but noise
        np.einsum("kk->k", information)[:] = variances
        return information

    def _to_entries(self, values: np.ndarray) -> np.ndarray:
        """Spread values of the edges over the r parameters, zero where there is no edge."""
        out = np.zeros(len(self.edge_of))
        out[self.entries] = values
        return out


class ComputedLikelihood(GroupEngine):
    """Base of the engines whose log-likelihood can be computed anywhere."""

    @abstractmethod
    def log_likelihood(self, eta: np.ndarray) -> tuple[float, np.ndarray]:
        """Log-likelihood at `eta` (r,) and its gradient (r,)."""

    def goodness(self, eta: np.ndarray) -> tuple[float, float, float]:
        """Effective share of a sample's weights at `eta` (r,), error, distance: here there is none."""
        return 1.0, 0.0, 0.0

    def noise(self, labels: np.ndarray, values: np.ndarray) -> float:
        """Noise of an estimated log-likelihood at the `values` (K,) of the groups `labels` (r,)."""
        return 0.0

    def grouped(self, labels, values):
        """Sum the gradient over the members of each group."""

        def log_likelihood(x: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = self.log_likelihood(x[labels])
            return value, np.bincount(labels, gradient, minlength=len(x))

        return log_likelihood
