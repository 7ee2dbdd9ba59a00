"""The Monte Carlo likelihood of a field (Geyer & Thompson, 1992) for group samplers."""

import numpy as np

from pymc_mrf.kernels.groups.monte_carlo_groups import SampledView
from pymc_mrf.kernels.views.monte_carlo_edges import locate
from pymc_mrf.kernels.views.questions import add_slopes
from pymc_mrf.likelihood.data_counts import blocks_of
from pymc_mrf.likelihood.edges.edge_engine import edge_field, fill_sums
from pymc_mrf.likelihood.edges.monte_carlo_edges import places_of, sample_view
from pymc_mrf.likelihood.groups.group_engine import N_REFERENCE, ComputedLikelihood


class MonteCarloLikelihood(ComputedLikelihood):
    """Engine by a sample of the field at its reference; see `GroupEngine`.

    The same function as the model's log probability, which moves node parameters by NUTS: statistics are not
    centred, and cumulants of edges have limits in place of walls.
    """

    def __init__(self, x, graph, statistic, node_tables, entries, n_entries, family, reference) -> None:
        super().__init__(x, graph, statistic, node_tables, entries, n_entries)
        self._field = edge_field(x, graph, family, False, np.arange(graph.n_edges))
        field, [block] = self._field, list(blocks_of(x, graph.edges))
        plain = reference.recentred(field.centre, field.lift, graph.edges)
        places = places_of(block, graph.n_edges, len(field.basis))
        edges = sample_view(field, 0, [plain], [places], [block])
        edges.sample.limit[: graph.n_edges] = plain.reach
        edges.sample.reach[:] = np.inf
        scale = np.ptp(family.edge_statistic) / np.ptp(statistic)  # two for products of -1 and 1
        self._view = SampledView(
            self.edge_of,
            self.levels,
            self.level.ravel(),
            np.empty(self.n_levels),
            self.s,
            scale,
            edges,
        )
        self.set_node_tables(node_tables)

    def set_data(self, x):
        """Sum the statistics of the nodes as well."""
        super().set_data(x)
        fill_sums(self._counts, self._field)

    def set_node_tables(self, node_tables):
        """Find the node parameters."""
        super().set_node_tables(node_tables)
        G, tables = self._field.basis, np.where(np.isfinite(node_tables), node_tables, 0.0)
        b = np.linalg.lstsq((G - G[:, :1]).T, (tables - tables[:, :1]).T, rcond=None)[0]  # (q, d)
        self._view.edges.beta[:] = b.T.ravel()

    def view(self, eta):
        """Weights computed anew, so that rounding errors do not add up over the chain."""
        self._view.edges.w[:] = eta[self.entries] / self._view.scale
        locate(self._view.edges)
        return self._view

    def log_likelihood(self, eta):
        """One pass over the sample."""
        edges, slope = self._view.edges, np.zeros(self.graph.n_edges)
        edges.w[:] = eta[self.entries] / self._view.scale
        value = add_slopes(edges, np.arange(len(slope)), slope)
        return value, self._to_entries(slope / self._view.scale)

    def learn(self, eta, rng):
        """Points of the sample by their weights at `eta`."""
        weight = self.view(eta).edges.weight[0].astype(np.float64)
        which = rng.choice(len(weight), N_REFERENCE, p=weight / weight.sum())
        z, (u, v) = self._view.edges.sample.states[:, which], self.graph.edges.T
        self.reference = self._reference_statistic[z[u], z[v]].copy()
