"""The exact likelihood of a field for group samplers: by junction tree, in closed form on forests."""

import numpy as np

from pymc_mrf.graph.junction_tree import field_tree
from pymc_mrf.kernels import junction_tree as kernels
from pymc_mrf.kernels.exact_groups import ExactView, FixedView, group_log_likelihood
from pymc_mrf.kernels.junction_tree_focus import allocate_focus, start
from pymc_mrf.likelihood.group_engine import N_REFERENCE, ComputedLikelihood


class ExactLikelihood(ComputedLikelihood):
    """Engine of fields of small treewidth; see `GroupEngine`.

    Raises
    ------
    ValueError
        If the junction tree is too wide.
    """

    def __init__(self, x, graph, statistic, node_tables, entries, n_entries) -> None:
        super().__init__(x, graph, statistic, node_tables, entries, n_entries)
        tree = field_tree(graph, len(statistic))
        self._tree = tree.arrays
        edges = tree.factor_order[tree.factor_order < graph.n_edges]  # the others are single nodes
        others = np.flatnonzero(self.edge_of < 0)
        self.order = np.concatenate([entries[edges], others])
        self._work = kernels.allocate(self._tree)
        self._marginals = np.empty_like(self._work.tables)
        size = statistic.size
        self._view = ExactView(
            self.edge_of,
            self.s,
            float(self.n),
            statistic.ravel().copy(),
            self.levels,
            self.level.ravel(),
            self._tree,
            allocate_focus(self._tree),
            np.empty(size),
            np.empty(size),
            np.empty(self.n_levels),
        )

    def view(self, eta):
        """Calibrated anew, so that rounding errors do not add up over the chain."""
        self._pack(eta)
        start(self._tree, self._work.tables, self._view.focus)
        return self._view

    def log_likelihood(self, eta):
        """One pass over the junction tree in both directions."""
        return self._of_groups(self.entries, eta, self._node_score())

    def grouped(self, labels, values):
        """As `log_likelihood`, in terms of the groups."""
        groups, constant = labels[self.entries], self._node_score()
        return lambda x: self._of_groups(groups, x, constant)

    def _of_groups(self, groups: np.ndarray, x: np.ndarray, constant: float) -> tuple[float, np.ndarray]:
        gradient = np.empty(len(x))
        value = group_log_likelihood(
            self._tree,
            self._work,
            self._marginals,
            self.node_tables,
            self._view.statistic,
            self.s,
            self._view.n,
            groups,
            x,
            gradient,
        )
        return value + constant, gradient

    def _node_score(self) -> float:
        """Sum of the node tables over the data: a constant, which makes logp comparable."""
        if not self.node_tables.any():
            return 0.0
        return float(self.node_tables[np.arange(self.graph.n_nodes), self.x].sum())

    def learn(self, eta, rng):
        """Exact draws at `eta`."""
        z = self.draw(eta, N_REFERENCE, rng)
        u, v = self.graph.edges.T
        self.reference = self._reference_statistic[z[:, u], z[:, v]].T.copy()

    def draw(self, eta: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        """Independent states (n, d) int8 of the field at `eta` (r,)."""
        self._pack(eta)
        # more than draws need, but compiled for `log_likelihood` already, as `collect` is not
        kernels.log_partition_and_marginals(self._tree, self._work.tables, self._work, self._marginals)
        z = np.empty((n, self.graph.n_nodes), dtype=np.int8)
        kernels.draw(self._tree, self._work, z, rng)
        return z

    def _pack(self, eta: np.ndarray) -> None:
        tables = eta[self.entries][:, None, None] * self.statistic
        kernels.pack_pairwise(tables, self.node_tables, self._work.tables)


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
        """Nothing: the information of the data serves."""

    def information(self, labels, n_groups):
        """Diagonal, at the pooled frequencies of the groups."""
        groups = labels[self.entries]
        trials = np.bincount(groups, minlength=n_groups) * float(self.n)
        p = (np.bincount(groups, self.s, minlength=n_groups) + 0.5) / (trials + 1.0)
        return np.diag(trials * p * (1.0 - p))
