"""Products of full conditionals for group samplers: pseudo-likelihoods (Besag, 1975), and fields in time."""

import numpy as np

from pymc_mrf.kernels.groups.pseudo_groups import add_group_information
from pymc_mrf.kernels.views.pseudo_terms import fill_fields
from pymc_mrf.likelihood.groups.group_engine import EdgewiseGroups, with_fewest_features
from pymc_mrf.likelihood.pseudo.conditional_weights import COUNTED_ONCE
from pymc_mrf.likelihood.pseudo.pseudo_edges import PseudoEdges


class PseudoGroups(EdgewiseGroups):
    """Engine under which every node is seen given all others, or the rows before; see `GroupEngine`.

    Parameters
    ----------
    x, graph, family, node_tables, entries, n_entries
        As of `GroupEngine`.
    weight, expected
        As of `PseudoEdges`.

    Attributes
    ----------
    reference : (r,) array
        Parameters at which the curvature is taken.
    """

    def __init__(
        self, x, graph, family, node_tables, entries, n_entries, *, weight=COUNTED_ONCE, expected=()
    ) -> None:
        super().__init__(x, graph, family, node_tables, entries, n_entries)
        own = with_fewest_features(family)
        engine = PseudoEdges(x, graph, own, False, weight, expected)
        # expected scores are none of the states: statistics have any values
        self.is_binary = self.is_binary and not expected
        self._expects, self._node_weights = bool(expected), engine.node_weights + engine.rest_weights
        self._scale = float(np.ptp(own.edge_statistic) / np.ptp(self.statistic))
        edges = engine.view
        self.n_terms = 2 * edges.rows.n.shape[1]  # with padding, for which there has to be room
        self._engine = engine
        self._look_by(engine, own, self._sums_of_targets())
        self.n_levels = family.n_states  # of a term; the view knows those of the statistic
        is_target = edges.sources >= 0
        target, source = edges.field.edges[is_target], edges.sources[is_target]
        order = np.lexsort((source, target))
        first = np.cumsum([0, *np.bincount(target, minlength=graph.n_nodes)])
        self._arrivals = first, source[order], np.nonzero(is_target)[0][order]
        self.reference = np.zeros(n_entries)

    def _sums_of_targets(self) -> np.ndarray:
        """Sum f (edges,) as often as the edge has targets, times the weight of their conditionals."""
        if self._expects:
            return self._engine.view.sums.s / self._scale
        of_targets = self._node_weights[self._engine.view.field.edges[:, 0]]
        return of_targets * np.where(self.columns.is_arrow, 1.0, 2.0) * self.s

    def _calibrate(self) -> None:
        fill_fields(self._view.edges)

    def set_data(self, x):
        super().set_data(x)
        self._view.s[:] = self._sums_of_targets()

    def learn(self, eta, rng):
        self.reference = eta.copy()

    def information(self, labels, n_groups):
        out = np.zeros((n_groups, n_groups))
        edges = self.view(self.reference).edges
        add_group_information(edges, self._arrivals, labels[self.entries], out)
        return out / self._view.scale**2
