"""The exact likelihood of a field for group samplers: by junction tree, or in closed form."""

import numpy as np

from pymc_mrf.kernels.groups.group_labels import FixedView
from pymc_mrf.kernels.junction_trees import junction_tree as kernels
from pymc_mrf.likelihood.exact.exact_edges import ExactEdges
from pymc_mrf.likelihood.groups.edgewise_groups import EdgewiseLikelihood
from pymc_mrf.likelihood.groups.group_engine import N_REFERENCE, ComputedLikelihood, with_fewest_features


class ExactLikelihood(EdgewiseLikelihood):
    """Engine of fields of small treewidth; see `GroupEngine`.

    Raises
    ------
    ValueError
        If the junction tree is too wide.
    """

    def __init__(self, x, graph, family, node_tables, entries, n_entries) -> None:
        super().__init__(x, graph, family, node_tables, entries, n_entries)
        own = with_fewest_features(family)
        engine = ExactEdges(x, graph, own, False, enumerates=False)
        others = np.flatnonzero(self.edge_of < 0)
        self.order = np.concatenate([entries[engine.view.field.order], others])
        self._look_by(engine, own, self.s)

    def learn(self, eta, rng):
        z = self.draw(eta, N_REFERENCE, rng)
        u, v = self.graph.edges.T
        self.reference = self._reference_statistic[z[:, u], z[:, v]].T.copy()

    def draw(self, eta: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        """Independent states (n, d) int8 of the field at `eta` (r,)."""
        # more than draws need, but compiled already, as a pass in one direction is not
        self._of_edges(eta)
        z = np.empty((n, self.graph.n_nodes), dtype=np.int8)
        kernels.draw_rows(self._view.edges.tree, self._view.edges.work, z, rng)
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

    def __init__(self, x, graph, family, node_tables, entries, n_entries) -> None:
        super().__init__(x, graph, family, node_tables, entries, n_entries)
        self.lam = np.full(graph.n_edges, -np.log(family.n_states - 1.0))
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
