"""The likelihood of fields in time with links for group samplers: all states of a row are listed."""

import numpy as np

from pymc_mrf.kernels.groups.listed_groups import add_group_information
from pymc_mrf.kernels.views.listed_rows import fill_probabilities
from pymc_mrf.likelihood.edges.listed_rows import fill_histories, listed_row_view
from pymc_mrf.likelihood.groups.edgewise_groups import EdgewiseLikelihood


class ListedRowLikelihood(EdgewiseLikelihood):
    """Engine of fields in time whose rows have few states; see `GroupEngine`.

    Attributes
    ----------
    reference : (r,) array
        Parameters at which the curvature is taken.
    """

    def __init__(self, x, graph, family, node_tables, entries, n_entries) -> None:
        super().__init__(x, graph, family, node_tables, entries, n_entries)
        self.n_terms = self.n  # as many histories as rows at most
        own, field = self._field(np.arange(graph.n_edges))
        cards = family.possible(graph.n_nodes).sum(axis=1)
        self._look_by(listed_row_view(x, self.columns, field, cards, 0), own, self.s)
        self.reference = np.zeros(len(self.edge_of))

    def _calibrate(self) -> None:
        fill_probabilities(self._view.edges)

    def set_data(self, x):
        """Count the histories as well."""
        super().set_data(x)
        fill_histories(self._view.edges, x, self.columns)

    def learn(self, eta, rng):
        """Keep the parameters."""
        self.reference = eta.copy()

    def information(self, labels, n_groups):
        """Minus the Hessian at the parameters that were kept."""
        out = np.zeros((n_groups, n_groups))
        add_group_information(self.view(self.reference).edges, labels[self.entries], out)
        return out / self._view.scale**2
