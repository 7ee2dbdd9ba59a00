"""Products of full conditionals as `EdgeGibbs` asks for them, so that an edge touches two variables only.

The pseudo-likelihood of a field (Besag, 1975): every variable given all others. The likelihood of a field in
time: every variable given the rows before.
"""

from typing import ClassVar

import numpy as np

from pymc_mrf.fields.family import Family
from pymc_mrf.graph.lagged import LaggedGraph
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.edges.edge_moves import EdgePrior
from pymc_mrf.kernels.edges.hamiltonian import Coordinates, fill_relative_curvatures
from pymc_mrf.kernels.views import pseudo_edges
from pymc_mrf.likelihood.data_counts import Data, blocks_of
from pymc_mrf.likelihood.edges.columns import Columns, columns_of, present_rows
from pymc_mrf.likelihood.edges.edge_engine import (
    EdgeEngine,
    edge_field,
    features_at,
    node_correlations,
)
from pymc_mrf.parts import Parts

RECENT = 5.0  # draw k of the tuning has a weight proportional to k^4
WIDEST = 0.9  # quantile over the nodes
MAX_STRETCH = 8.0


class PseudoEdges(EdgeEngine):
    """Engine of the edge sampler: exact moves for prior times pseudo-likelihood.

    Parameters
    ----------
    x : (n, D) int8 array, or list of (n_b, D_b) int8 arrays
        Observed state indices, as of `Columns`; of each block if there are several.
    graph : PairwiseGraph or LaggedGraph
        Candidate edges.
    family : Family
        With one parameter for each edge.
    moves_biases : bool
        Whether the node parameters are this engine's to move.

    Attributes
    ----------
    information : (d M M + d K + r + 2 d,) array
        Learnt in tuning. Sums over rows of the conditional covariances of every node's features and of the
        variances of its states, and curvature of the slab at the weight of every edge relative to its
        centre, which scale joint moves; mean and mean square of the norm of each node's weights, so scaled,
        which tell how far to move.
    """

    is_pseudo: ClassVar[bool] = True

    _columns: Columns

    def __init__(
        self,
        x: Data,
        graph: PairwiseGraph | LaggedGraph,
        family: Family,
        moves_biases: bool,
    ) -> None:
        d = graph.n_nodes
        field = edge_field(x, graph, family, moves_biases, np.arange(graph.n_edges))
        r = len(field.s)
        _, M, K = field.features.shape
        N = -(-int(field.n.max()) // pseudo_edges.LANES) * pseudo_edges.LANES
        rows = present_rows(x, graph)
        self.correlations = node_correlations(rows, field)
        # not 0 for constant columns, and in the units of the features
        C, v = 0.5 * np.ptp(field.features, axis=2)[:, :, None] ** 2 * np.eye(M), np.zeros((d, K))
        for block in blocks_of(rows, field.edges):
            values = features_at(field.features[block.nodes], block.x.T)  # (d_b, M, n_b)
            values = values - values.mean(axis=-1, keepdims=True)
            C[block.nodes] += values @ values.transpose(0, 2, 1)
            p = np.stack([(block.x == a).mean(axis=0) for a in range(K)], axis=1)
            v[block.nodes] = len(block.x) * p * (1 - p) + 0.5
        n_blocks = len(x) if isinstance(x, list) else 1
        self._columns = columns = columns_of(x, graph)
        sources = columns.place[columns.ends[:, ::-1]].copy()
        sources[columns.is_arrow, 1] = -1
        sources = sources[field.pair]
        S = np.zeros((len(columns.nodes), M, N))
        n_biases = len(field.t) if moves_biases else 0
        self.view = pseudo_edges.allocate_view(field, n_biases, sources, S, n_blocks)
        self._fill_rows(x)
        self._norms = np.zeros(d)
        self._seen_C, self._seen_variance = np.zeros((d, M, M)), np.zeros((d, K))
        self._curvature = np.ones(r)
        self.information = np.concatenate([C.ravel(), v.ravel(), np.ones(r), np.zeros(2 * d)])
        self._places = Parts([C.shape, v.shape, (r,), (d,), (d,)])

    def _fill_rows(self, x: Data) -> None:
        """Fill in what the view holds of every row."""
        field, S, columns = self.view.field, self.view.S, self._columns
        for block in blocks_of(x, columns.ends):
            n, nodes = len(block.x), columns.nodes[block.nodes]
            S[columns.place[block.nodes], :, :n] = features_at(field.features[nodes], block.x.T)
        is_arrow = columns.is_arrow[field.pair]
        self.view.s[:] = np.where(is_arrow, field.s, field.sums + field.s)
        n_rows = np.empty(len(S))
        n_rows[columns.place] = field.n[columns.nodes]
        mean = S.sum(axis=2) / n_rows[:, None]
        C = np.einsum("ilc,ikc->ilk", S, S) / n_rows[:, None, None] - mean[:, :, None] * mean[:, None]
        ends, each = columns.place[columns.ends][field.pair], np.arange(len(field.pair))[:, None, None]
        for end in range(2):  # the source; features of the target are those that its own multiply
            of_target, of_source = field.products[:, :, 1 - end], field.products[:, :, end]  # (r, L)
            source = ends[:, end, None]
            gap = mean[source, of_source] - field.centre[each[:, 0], end, of_target]
            spread = C[source[:, None], of_source[:, :, None], of_source[:, None]]
            spread += gap[:, :, None] * gap[:, None]
            self.view.Z2[each, end, of_target[:, :, None], of_target[:, None]] = spread
        self.view.Z2[is_arrow, 0] = 0.0

    def set_data(self, x: Data) -> None:
        """Rows of the view as well."""
        super().set_data(x)
        self._fill_rows(x)

    def refresh(self, rng) -> None:
        """Recompute all local fields."""
        # one kernel for both: another takes half a second to compile
        self.view.now.w[:], self.view.now.beta[:] = np.nan, np.nan
        pseudo_edges.catch_up(self.view)

    def learn(self, weight: float) -> None:
        """Move `information` towards its value before the last `joint`."""
        C, variance, curvature, mean, square = self._places.of(self.information)
        C += weight * (self._seen_C - C)
        variance += weight * (self._seen_variance - variance)
        # recent draws count for more: norms grow much after the start
        recent = min(RECENT * weight, 1.0)
        weight = recent if square.any() else 1.0
        mean += weight * (self._norms - mean)
        square += weight * (self._norms**2 - square)
        curvature += recent * (self._curvature - curvature)

    def stretch(self, rng) -> float:
        """Tell from the norms of the nodes' weights how far to go.

        If parameters are many for the rows, local fields of a node may all grow together, held back only by
        the prior: the norm of its weights varies far more than one weight given the others.
        """
        *_, mean, square = self._places.of(self.information)
        spread = np.sort(square - mean**2)
        widest = np.interp(WIDEST * (len(spread) - 1), np.arange(len(spread)), spread)
        return min(max(float(np.sqrt(max(widest, 0.0))), 1.0), MAX_STRETCH)

    def coordinates(self, active: np.ndarray, prior: EdgePrior) -> Coordinates:
        """Make them as the base does, and remember the norms of the weights."""
        x = super().coordinates(active, prior)
        (u, v), d = self.view.field.edges[active].T, len(self._norms)
        squares = self.view.w[active] ** 2 / x.inverse_mass[: len(active)]
        of_second = np.where(self._columns.is_arrow[self.view.field.pair[active]], 0.0, squares)
        self._norms = np.sqrt(np.bincount(u, squares, d) + np.bincount(v, of_second, d))
        return x

    def slab_curvatures(self) -> np.ndarray:
        """Return what was learnt."""
        return self._places.of(self.information)[2]

    def likelihood_precisions(self) -> tuple[np.ndarray, np.ndarray]:
        """Compute them from the learnt covariances and variances."""
        view, G = self.view, self.view.field.basis
        C, variance, *_ = self._places.of(self.information)
        u, v = view.field.edges.T
        by_bias = variance @ (G - G[:, :1]).T ** 2
        return (C[u] * view.Z2[:, 1] + C[v] * view.Z2[:, 0]).sum(axis=(1, 2)), by_bias.ravel()

    def remember(self) -> None:
        """Keep the covariances and variances at the present parameters."""
        pseudo_edges.catch_up(self.view)  # after a rejection
        self._seen_C[:], self._seen_variance[:] = self.view.now.C, self.view.now.v

    def trajectory(
        self, active: np.ndarray, prior: EdgePrior, step: float, n_steps: int, rng, enters: bool
    ) -> float:
        """Move as the base does, and remember what `learn` needs."""
        accept = super().trajectory(active, prior, step, n_steps, rng, enters)
        self._curvature[:] = self.slab_curvatures()
        fill_relative_curvatures(active, self.view.w, prior.slab, self._curvature)
        return accept


class ConditionalEdges(PseudoEdges):
    """Serves fields of arrows alone: their product of full conditionals is the likelihood itself."""

    is_pseudo: ClassVar[bool] = False
