"""The exact likelihood of a field for group samplers: edge by edge, by junction tree, or in closed form."""

from abc import abstractmethod
from typing import Any

import numpy as np

from pymc_mrf.graph.junction_tree import field_tree
from pymc_mrf.kernels.groups.edgewise_groups import EdgewiseView
from pymc_mrf.kernels.groups.independent_edges import FixedView
from pymc_mrf.kernels.junction_trees import junction_tree as kernels
from pymc_mrf.kernels.views.exact_edges import calibrate_tree
from pymc_mrf.kernels.views.questions import Field, add_slopes
from pymc_mrf.likelihood.edges.exact_edges import tree_view
from pymc_mrf.likelihood.groups.group_engine import N_REFERENCE, ComputedLikelihood


class EdgewiseLikelihood(ComputedLikelihood):
    """Base of the engines that ask a view for single edges; see `GroupEngine`.

    A subclass sets `_view`, whose field is that of `_field_of_edges`, and supplies `_calibrate`.
    """

    _view: EdgewiseView

    def __init__(self, x, graph, statistic, node_tables, entries, n_entries) -> None:
        super().__init__(x, graph, statistic, node_tables, entries, n_entries)
        self._all_edges = np.arange(graph.n_edges)
        self._node_score = self._score_nodes()

    @abstractmethod
    def _calibrate(self) -> None:
        """Compute all that the view keeps anew, at its parameters."""

    def _view_of(self, edges: Any) -> EdgewiseView:
        """Wrap a view for single edges."""
        room = np.empty(self.n_levels)
        return EdgewiseView(self.edge_of, edges, self.s, 1.0, self.levels, self.level.ravel(), room)

    def _field_of_edges(self, order: np.ndarray) -> Field:
        """Describe the field to the kernels for single edges, visited in `order`; biases are not theirs."""
        (d, K), nothing = self.node_tables.shape, np.zeros(0)
        cells = np.tile(self.statistic.ravel(), (self.graph.n_edges, 1))
        edges = self.columns.nodes[self.columns.ends]
        edges.setflags(write=False)  # as those of all graphs: another type to numba
        return Field(
            edges=edges,
            pair=np.arange(self.graph.n_edges),
            products=np.zeros((self.graph.n_edges, 0, 2), dtype=np.int64),
            order=order,
            n=np.full(d, float(self.n)),
            features=np.zeros((d, 0, K)),
            basis=np.zeros((0, K)),
            floor=self.node_tables.copy(),
            centre=np.zeros((self.graph.n_edges, 2, 0)),
            lift=np.zeros((0, 0)),
            s=self.s,
            sums=self.s,
            t=nothing,
            statistic=cells,
            cells=cells,
            contrast=np.nan,
        )

    def set_data(self, x):
        """Score the nodes of the new data."""
        super().set_data(x)
        self._node_score = self._score_nodes()

    def set_node_tables(self, node_tables):
        """Take them over into the view as well."""
        super().set_node_tables(node_tables)
        self._view.edges.field.floor[:] = node_tables
        self._node_score = self._score_nodes()

    def view(self, eta):
        """Calibrated anew, so that rounding errors do not add up over the chain."""
        self._view.edges.w[:] = eta[self.entries]
        self._calibrate()
        return self._view

    def log_likelihood(self, eta):
        """Compute value and slopes by all edges at once."""
        value, slope = self._of_edges(eta)
        return value + self._node_score, self._to_entries(slope)

    def _score_nodes(self) -> float:
        """Sum of the node tables over the data: a constant, which makes logp comparable."""
        present = self.x[:, self.columns.present]
        return float(self.node_tables[np.arange(self.graph.n_nodes), present].sum())

    def _of_edges(self, eta: np.ndarray) -> tuple[float, np.ndarray]:
        """Log-likelihood but for the node tables, and its slopes by the edges; a pass stays in the view."""
        edges, slope = self._view.edges, np.zeros(self.graph.n_edges)
        edges.w[:] = eta[self.entries]
        return add_slopes(edges, self._all_edges, slope), slope


class ExactLikelihood(EdgewiseLikelihood):
    """Engine of fields of small treewidth; see `GroupEngine`.

    Raises
    ------
    ValueError
        If the junction tree is too wide.
    """

    def __init__(self, x, graph, statistic, node_tables, entries, n_entries) -> None:
        super().__init__(x, graph, statistic, node_tables, entries, n_entries)
        tree = field_tree(graph, len(statistic))
        edges = tree.factor_order[tree.factor_order < graph.n_edges]  # the others are single nodes
        others = np.flatnonzero(self.edge_of < 0)
        self.order = np.concatenate([entries[edges], others])
        field = self._field_of_edges(edges)
        self._view = self._view_of(tree_view(field, 0, tree, [self.x[0].astype(np.int64)]))

    def _calibrate(self) -> None:
        calibrate_tree(self._view.edges)

    def learn(self, eta, rng):
        """Exact draws at `eta`."""
        z = self.draw(eta, N_REFERENCE, rng)
        u, v = self.graph.edges.T
        self.reference = self._reference_statistic[z[:, u], z[:, v]].T.copy()

    def draw(self, eta: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        """Independent states (n, d) int8 of the field at `eta` (r,)."""
        # more than draws need, but compiled already, as a pass in one direction is not
        self._of_edges(eta)
        z = np.empty((n, self.graph.n_nodes), dtype=np.int8)
        kernels.draw(self._view.edges.tree, self._view.edges.work, z, rng)
        return z


class ForestLikelihood(ComputedLikelihood):
    """Engine of forests without node terms: edges are independent, everything is in closed form.

    On a forest the agreements of the edges are independent, each with probability
    exp(eta) / (exp(eta) + K - 1) (Liu & Page, 2013, sec. 4.1, for K = 2), so that the posterior is that
    of a Dirichlet process mixture of Binomials. Parameters as of `GroupEngine`, f being agreement.

    Attributes
    ----------
    lam : (edges,) array
        Logit of the probability of agreement at eta = 0.
    """

    def __init__(self, x, graph, statistic, node_tables, entries, n_entries) -> None:
        super().__init__(x, graph, statistic, node_tables, entries, n_entries)
        self.lam = np.full(graph.n_edges, -np.log(len(statistic) - 1.0))
        n = self._to_entries(np.full(graph.n_edges, float(self.n)))
        self._view = FixedView(self._to_entries(self.s), n, self._to_entries(self.lam))

    def set_data(self, x):
        """Bring the closed forms up to date as well."""
        super().set_data(x)
        self._view.s[:] = self._to_entries(self.s)

    def view(self, eta):
        """Likelihoods that never change."""
        return self._view

    def log_likelihood(self, eta):
        """Sum of Binomial log-likelihoods."""
        z = eta[self.entries] + self.lam
        value = self.s @ eta[self.entries] - self.n * np.logaddexp(0.0, z).sum()
        p = np.exp(-np.logaddexp(0.0, -z))
        return float(value), self._to_entries(self.s - self.n * p)

    def learn(self, eta, rng):
        """Learn nothing: the information of the data serves."""

    def information(self, labels, n_groups):
        """Diagonal, at the pooled frequencies of the groups."""
        groups = labels[self.entries]
        trials = np.bincount(groups, minlength=n_groups) * float(self.n)
        p = (np.bincount(groups, self.s, minlength=n_groups) + 0.5) / (trials + 1.0)
        return np.diag(trials * p * (1.0 - p))
