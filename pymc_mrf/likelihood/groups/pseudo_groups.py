"""Products of full conditionals for group samplers: pseudo-likelihoods (Besag, 1975), and fields in time."""

import numpy as np

from pymc_mrf.fields.distinct_rows import distinct_rows
from pymc_mrf.kernels.groups import pseudo_groups as kernels
from pymc_mrf.likelihood.groups.group_engine import ComputedLikelihood


class PseudoLikelihood(ComputedLikelihood):
    """Engine under which every node is seen given all others, or the rows before; see `GroupEngine`.

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
        columns, K = self.columns, len(self.statistic)
        f = np.empty((rows.shape[1], K, len(rows)))
        for state, statistic in enumerate(self.statistic):
            f[columns.place, state] = statistic[rows.T]
        sources = columns.place[columns.ends[:, ::-1]]
        sources[columns.is_arrow, 1] = -1
        edges = columns.nodes[columns.ends]
        is_target = np.stack([np.ones(len(edges), dtype=bool), ~columns.is_arrow])
        target, source = edges.T[is_target], sources.T[is_target]
        order = np.lexsort((source, target))
        shape = d, _, m = len(columns.present), K, len(rows)
        self._view = kernels.PseudoView(
            edge_of=self.edge_of,
            s=self.s,
            x=np.ascontiguousarray(rows[:, columns.present].T),
            counts=counts,
            edges=edges,
            sources=sources.copy(),
            f=f,
            in_ptr=np.concatenate([[0], np.cumsum(np.bincount(target, minlength=d))]),
            in_source=source[order],
            in_edge=np.nonzero(is_target)[1][order],
            scores=np.empty(shape),
            p=np.empty(shape),
            top=np.empty(m),
            z=np.empty(m),
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
        n_ends = np.where(self.columns.is_arrow, 1.0, 2.0)
        return value, self._to_entries(n_ends * self.s - self._moments)

    def learn(self, eta, rng):
        """Keep the parameters."""
        self.reference = eta[self.entries]

    def information(self, labels, n_groups):
        """Minus the Hessian at the parameters that were kept."""
        kernels.fill_scores(self.reference, self.node_tables, self._view)
        out = np.zeros((n_groups, n_groups))
        kernels.add_group_information(self._view, labels[self.entries], out)
        return out
