"""The pseudo-likelihood of a field (Besag, 1975) for group samplers."""

import numpy as np

from pymc_mrf.fields.distinct_rows import distinct_rows
from pymc_mrf.kernels.groups import pseudo_groups as kernels
from pymc_mrf.likelihood.groups.group_engine import ComputedLikelihood


class PseudoLikelihood(ComputedLikelihood):
    """Engine under which every node is seen given all others; see `GroupEngine`.

    Equal rows of the data are counted, not repeated.

    Attributes
    ----------
    reference : (edges,) array
        Parameters at which the curvature is taken.
    """

    def __init__(self, x, graph, statistic, node_tables, entries, n_entries) -> None:
        super().__init__(x, graph, statistic, node_tables, entries, n_entries)
        self.n_terms, self.n_levels = 2 * self.n, len(statistic)
        self._count_rows()
        self._moments = np.empty(graph.n_edges)
        self.reference = np.zeros(graph.n_edges)

    def _count_rows(self) -> None:
        """Make a view of the different rows of the data."""
        rows, counts, _ = distinct_rows(self.x)
        x = np.ascontiguousarray(rows.T)
        f = np.empty((len(x), self.n_levels, len(rows)))
        for state, statistic in enumerate(self.statistic):
            f[:, state] = statistic[x]
        self._view = kernels.PseudoView(
            self.edge_of,
            self.s,
            x,
            counts,
            self.graph.edges,
            f,
            np.empty(f.shape),
            np.empty(f.shape),
            *np.empty((2, len(rows))),
        )

    def set_data(self, x):
        """Count the rows as well."""
        super().set_data(x)
        self._count_rows()

    def view(self, eta):
        """Scores computed anew, so that rounding errors do not add up over the chain."""
        kernels.fill_scores(eta[self.entries], self.node_tables, self._view)
        return self._view

    def log_likelihood(self, eta):
        """Pass once over all rows."""
        value = kernels.log_pseudo_likelihood(self.view(eta), self._moments)
        return value, self._to_entries(2.0 * self.s - self._moments)

    def learn(self, eta, rng):
        """Keep the parameters."""
        self.reference = eta[self.entries]

    def information(self, labels, n_groups):
        """Minus the Hessian at the parameters that were kept."""
        kernels.fill_scores(self.reference, self.node_tables, self._view)
        out = np.zeros((n_groups, n_groups))
        kernels.add_group_information(self._view, self.graph.arrays, labels[self.entries], out)
        return out
