"""The likelihood of fields in time with links for group samplers: all states of a row are listed."""

import numpy as np

from pymc_mrf.kernels.groups.listed_groups import add_group_information
from pymc_mrf.kernels.views.listed_rows import fill_probabilities
from pymc_mrf.likelihood.edges.listed_rows import fill_histories, listed_row_view
from pymc_mrf.likelihood.groups.exact_groups import EdgewiseLikelihood


class ListedRowLikelihood(EdgewiseLikelihood):
    """Engine of fields in time whose rows have few states; see `GroupEngine`.

    Attributes
    ----------
    reference : (edges,) array
        Parameters at which the curvature is taken.
    """

    def __init__(self, x, graph, statistic, node_tables, entries, n_entries) -> None:
        super().__init__(x, graph, statistic, node_tables, entries, n_entries)
        self.n_terms = self.n  # as many histories as rows at most
        field = self._field_of_edges(self._all_edges)
        cards = np.isfinite(node_tables).sum(axis=1)
        self._view = self._view_of(listed_row_view(x, self.columns, field, cards, 0))
        self.reference = np.zeros(graph.n_edges)

    def _calibrate(self) -> None:
        fill_probabilities(self._view.edges)

    def set_data(self, x):
        """Count the histories as well."""
        super().set_data(x)
        fill_histories(self._view.edges, x, self.columns)

    def learn(self, eta, rng):
        """Keep the parameters."""
        self.reference = eta[self.entries]

    def information(self, labels, n_groups):
        """Minus the Hessian at the parameters that were kept."""
        edges = self._view.edges
        edges.w[:] = self.reference
        self._calibrate()
        out = np.zeros((n_groups, n_groups))
        add_group_information(edges, labels[self.entries], out)
        return out
