"""The pseudo-likelihood of a mixed field."""

from typing import Any

import numpy as np

from pymc_mrf.kernels.mixed import NodeKinds
from pymc_mrf.kernels.views import mixed_pseudo as kernels
from pymc_mrf.kernels.views.mixed_views import MixedData
from pymc_mrf.kernels.views.pseudo_edges import allocate_view
from pymc_mrf.kernels.views.pseudo_rows import LANES, allocate_rows
from pymc_mrf.kernels.views.questions import Field
from pymc_mrf.likelihood.mixed.mixed_engine import MixedEngine, places_of_features
from pymc_mrf.likelihood.pseudo.conditional_weights import COUNTED_ONCE, node_weights
from pymc_mrf.likelihood.pseudo.pseudo_edges import fill_moments


class MixedPseudoLikelihood(MixedEngine):
    """Moves of a mixed field under its pseudo-likelihood.

    The product of the conditionals of all answers and measurements.

    Parameters
    ----------
    x, graph, family, moves_biases
        As of `MixedEngine`.
    weight : float
        Of the conditionals of nodes with edges.
    """

    def __init__(self, x, graph, family, moves_biases, weight: float = COUNTED_ONCE) -> None:
        super().__init__(x, graph, family, moves_biases, weight=weight)

    def _make_view(  # type: ignore[override]
        self, field: Field, data: MixedData, room: dict[str, Any], weight: float
    ) -> kernels.MixedPseudoView:
        layout, n, (d, M, K) = self._layout, int(data.n[0]), field.features.shape
        a, c = len(layout.cards), layout.n_measured
        self._weights = node_weights(d, layout.ends, False, weight)
        _, block = np.unique(self._weights, return_inverse=True)  # the same rows, counted otherwise
        rows = allocate_rows(d, d, M, -(-n // LANES) * LANES, block)
        rows.size[:], rows.once[:] = rows.n.shape[1], n
        sources = layout.ends[:, ::-1].copy()
        parts: dict[str, Any] = allocate_view(field, data, 0, sources, rows, False)._asdict() | room
        del parts["kept"]
        P, top, z, *_ = parts["room"]
        parts["room"] = kernels.MixedRoom(P, top, z, np.zeros(c), np.zeros(M * M))
        parts["tables"] = np.zeros((a, K))
        own = NodeKinds(layout.cards, c, layout.ends, layout.kind)
        return kernels.MixedPseudoView(**parts, layout=own, at=kernels.Cone(*np.zeros((2, c, c))))

    def _take_rows(self, z, states) -> None:
        """Keep the rows; every edge stands in two conditionals, and everything has their weights."""
        view, (a, K), layout = self.view, self.view.tables.shape, self._layout
        data, rows, weights, n = view.data, view.rows, self._weights, len(z)
        nodes, own = places_of_features(layout)
        rows.S[nodes, own, :n] = z.T
        rows.n[rows.block, :n] = weights[:, None]
        np.divide(1.0, rows.n, out=rows.inverse, where=rows.n > 0.0)
        rows.total[:] = rows.n.sum(axis=1)
        fill_moments(view.sums.moments, rows.S, (rows.n[:1] > 0.0).astype(float)[None])
        of_edges = weights[layout.ends[:, 0]]  # that of both ends
        view.sums.s[:] = of_edges * (data.s + data.sums)
        data.t[:] *= np.repeat(weights[:a], K)
        data.squares[:] *= weights[a:]

    def _scores(self, z, states):
        """Return the scores of every node given all else, times the root of the weight."""
        layout, (a, K) = self._layout, self.view.tables.shape
        (p, q), Q, P = layout.pairs.T, len(layout.owner), len(layout.pairs)
        deviation = z - z.mean(axis=0)
        both = deviation[:, p] * deviation[:, q]
        in_state = states[:, :, None] == np.arange(K)
        found = []
        for i, weight in enumerate(self._weights):
            touching = np.flatnonzero((layout.ends == i).any(axis=1))
            if i < a:
                own, of_node = P + i * K + np.arange(K), in_state[:, i]
            else:
                own, of_node = [P + a * K + i - a], -0.5 * z[:, [Q + i - a]] ** 2
            scores = np.concatenate([both[:, touching], of_node], axis=1)
            found.append((np.concatenate([touching, own]), np.sqrt(weight) * scores))
        return found

    def _refresh(self) -> float:
        return kernels.refresh(self.view)
