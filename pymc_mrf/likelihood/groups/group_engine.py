"""What a group sampler asks of the likelihood of one field: one edge at a time, and all values jointly."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from pymc_mrf.fields.families import ISING
from pymc_mrf.fields.family import Family
from pymc_mrf.kernels.groups import group_labels
from pymc_mrf.kernels.groups.edgewise_groups import EdgewiseView
from pymc_mrf.kernels.views.questions import add_slopes
from pymc_mrf.likelihood.data_counts import DataCounts, columns_of
from pymc_mrf.likelihood.edges.edge_engine import EdgeEngine

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


class ComputedGroups(GroupEngine):
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


class EdgewiseGroups(ComputedGroups):
    """Base of the engines that ask a view for single edges.

    A subclass calls `_look_by` with the engine of the edge sampler that has the view.
    """

    _view: EdgewiseView
    _node_score: float  # of the data: a constant, which makes logp comparable
    _node_weights: np.ndarray = np.ones(1)  # of their conditional probabilities, (d,)

    def _calibrate(self) -> None:
        """Compute all that the view keeps anew, at its parameters."""
        self._engine.refresh(None)

    def _look_by(self, engine: EdgeEngine, family: Family, s: np.ndarray) -> None:
        """Take over the view of an engine of a field of `family`; `s` (edges,) as of `EdgewiseView`."""
        self._engine, self._view = engine, self._edgewise(engine.view, family, s)
        self._all_edges = np.arange(self.graph.n_edges)
        self._fill_nodes()
        self._node_score = self._score_nodes()

    def set_data(self, x):
        """Hand them on to the engine of edges, and score their nodes."""
        super().set_data(x)
        self._engine.set_data(x)
        self._node_score = self._score_nodes()

    def set_node_tables(self, node_tables):
        """Take them over into the view as well, if they are others."""
        if not np.array_equal(node_tables, self.node_tables):
            super().set_node_tables(node_tables)
            self._fill_nodes()
            self._node_score = self._score_nodes()

    def _fill_nodes(self) -> None:
        """Take the node tables over into the view's field."""
        self._view.edges.field.floor[:] = self.node_tables

    def _score_nodes(self) -> float:
        """Sum the view's node tables over the data."""
        states = self._node_weights[:, None] * self._counts.nodes[self.columns.present]  # (d, K)
        seen = states > 0
        return float(states[seen] @ self._view.edges.field.floor[seen])

    def _go_to(self, eta: np.ndarray) -> None:
        """Give the view the parameters `eta` (r,)."""
        self._view.edges.w[:] = eta[self.entries] / self._view.scale

    def view(self, eta):
        """Calibrated anew, so that rounding errors do not add up over the chain."""
        self._go_to(eta)
        self._calibrate()
        return self._view

    def log_likelihood(self, eta):
        """Compute value and slopes by all edges at once."""
        value, slope = self._of_edges(eta)
        return value + self._node_score, self._to_entries(slope / self._view.scale)

    def _of_edges(self, eta: np.ndarray) -> tuple[float, np.ndarray]:
        """Log-likelihood but for the node tables, and its slopes by weights; a pass stays in the view."""
        slope = np.zeros(self.graph.n_edges)
        self._go_to(eta)
        return add_slopes(self._view.edges, self._all_edges, slope), slope
