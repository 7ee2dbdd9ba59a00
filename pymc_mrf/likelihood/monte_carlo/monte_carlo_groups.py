"""The Monte Carlo likelihood of a field (Geyer & Thompson, 1992) for group samplers."""

from math import inf

import numpy as np

from pymc_mrf.likelihood.edges.edge_field import HALF_ROW, node_parameters
from pymc_mrf.likelihood.groups.edgewise_groups import EdgewiseLikelihood
from pymc_mrf.likelihood.groups.group_engine import N_REFERENCE
from pymc_mrf.likelihood.monte_carlo.monte_carlo_edges import MonteCarloEdges
from pymc_mrf.likelihood.monte_carlo.reference import Reference


class MonteCarloLikelihood(EdgewiseLikelihood):
    """Engine by a sample of the field at its reference; see `GroupEngine`.

    The same function as the model's log probability, which moves node parameters by NUTS: statistics are not
    centred, and cumulants of edges have limits in place of walls.
    """

    def __init__(
        self, x, graph, family, node_tables, entries, n_entries, *, reference: Reference
    ) -> None:
        super().__init__(x, graph, family, node_tables, entries, n_entries)
        r = graph.n_edges
        engine = MonteCarloEdges(x, graph, family, False, [reference])
        [[self._reference, _, _]] = engine.parts
        engine.view.sample.limit[:r] = self._reference.reach
        engine.view.walls.reach[:] = inf
        self._look_by(engine, family, self.s)

    def place(self) -> np.ndarray:
        """Parameters (r,) of the reference, near which the sample tells of the likelihood."""
        return self._to_entries(self._view.scale * self._reference.place[: self.graph.n_edges])

    def _fill_nodes(self):
        edges = self._view.edges
        edges.beta[:] = node_parameters(edges.field.basis, self.node_tables)

    def learn(self, eta, rng):
        """Points of the sample by their weights at `eta`."""
        weight = self.view(eta).edges.at.weight[0].astype(np.float64)
        which = rng.choice(len(weight), N_REFERENCE, p=weight / weight.sum())
        z, (u, v) = self._view.edges.sample.states[:, which], self.graph.edges.T
        self.reference = self._reference_statistic[z[u], z[v]].copy()

    def goodness(self, eta: np.ndarray) -> tuple[float, float, float]:
        """Effective share of the weights at `eta` (r,), error of the likelihood, distance of the reference.

        The error is half the difference by both halves of the sample, relative to the reference. The distance
        is root mean square over all directions, in standard deviations that the rows leave of parameters.
        """
        edges, at = self._view.edges, self._view.edges.at
        if not np.array_equal(edges.w, eta[self.entries] / self._view.scale):
            self.view(eta)
        distance = np.sqrt(self.n * at.spread[0] / len(at.delta))
        return float(at.share[0]), self.n * float(at.apart[0]), float(distance)

    def noise(self, labels: np.ndarray, values: np.ndarray) -> float:
        """Noise of the likelihood at the `values` (K,) of the groups `labels` (r,).

        Root mean square error of the log-likelihood ratio of two values of an edge, or of a group, one
        standard deviation apart by the likelihood with all others fixed: the larger of both.
        """
        edges, reference, r = self.view(values[labels]).edges, self._reference, self.graph.n_edges
        n, y, beyond = self.n, edges.at.y, (edges.at.delta - edges.at.bounded)[None]
        by_sample, by_mean = reference.halves_apart(edges.field, y, beyond)[0, :r], reference.apart[:r]
        by_covariance = n * float(y.var() / reference.n_squared) * (reference.excess.size > 0)
        groups, of_groups = labels[self.entries], self.information(labels, len(values)).diagonal()
        squares = []
        for own, precision in (
            (np.arange(r), n * reference.variances[:r]),
            (groups, self._view.scale**2 * of_groups),
        ):
            slopes = [np.bincount(own, apart, len(precision)) for apart in (by_sample, by_mean)]
            square = n**2 * np.square(slopes).sum(axis=0) / np.maximum(precision, HALF_ROW)
            squares.append(square[np.unique(own)].mean() + by_covariance)
        return float(np.sqrt(max(squares)))
