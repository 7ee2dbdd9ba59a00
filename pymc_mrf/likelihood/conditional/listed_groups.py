"""The likelihood of fields in time with links for group samplers: all states of a row are listed."""

import numpy as np

from pymc_mrf.kernels.groups.listed_groups import add_group_information
from pymc_mrf.likelihood.conditional.listed_rows import ListedRowEdges
from pymc_mrf.likelihood.groups.edgewise_groups import EdgewiseLikelihood
from pymc_mrf.likelihood.groups.group_engine import with_fewest_features


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
        own = with_fewest_features(family)
        self._look_by(ListedRowEdges(x, graph, own, False), own, self.s)
        self.reference = np.zeros(n_entries)

    def learn(self, eta, rng):
        """Keep the parameters."""
        self.reference = eta.copy()

    def information(self, labels, n_groups):
        """Minus the Hessian at the parameters that were kept."""
        out = np.zeros((n_groups, n_groups))
        add_group_information(self.view(self.reference).edges, labels[self.entries], out)
        return out / self._view.scale**2
