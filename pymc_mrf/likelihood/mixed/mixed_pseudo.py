"""The pseudo-likelihood of a mixed field."""

import numpy as np

from pymc_mrf.kernels.views import mixed_pseudo as kernels
from pymc_mrf.kernels.views.mixed_rows import NodeConditionals
from pymc_mrf.kernels.views.mixed_views import LOOK, MixedData, MixedField
from pymc_mrf.likelihood.mixed.mixed_engine import MixedEngine
from pymc_mrf.likelihood.pseudo.conditional_weights import COUNTED_ONCE, node_weights


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

    is_pseudo = True

    def __init__(self, x, graph, family, moves_biases, weight: float = COUNTED_ONCE) -> None:
        super().__init__(x, graph, family, moves_biases, weight=weight)

    def _make_view(  # type: ignore[override]
        self, field: MixedField, data: MixedData, w, b, beta, weight: float
    ) -> kernels.MixedPseudo:
        layout, n = self._layout, int(data.n[0])
        a, K, Q, c = len(layout.cards), layout.features.shape[1], len(layout.owner), layout.n_measured
        M = field.features.shape[1]

        def conditionals() -> NodeConditionals:
            local, residual = np.zeros((2, Q + c, n))
            sums = np.zeros((Q + c, M)), np.zeros((a, K)), np.zeros(c), np.zeros(a + c)
            return NodeConditionals(local, residual, *sums)

        return kernels.MixedPseudo(
            field=field,
            data=data,
            layout=layout,
            weights=node_weights(a + c, layout.ends, False, weight),
            z=np.zeros((Q + c, n)),
            now=conditionals(),
            trial=conditionals(),
            at=kernels.Cone(*np.zeros((2, c, c))),
            w=w,
            b=b,
            beta=beta,
            n_biases=len(beta),
            look=np.zeros(1, LOOK).view(np.recarray),
            room=kernels.PseudoRoom(
                p=np.zeros(K),
                mean=np.zeros(M),
                inside=np.zeros(1),
                diagonal=np.zeros(c),
                seconds=np.zeros(c),
            ),
        )

    def _take_rows(self, z, states) -> None:
        """Keep the rows; every edge stands in two conditionals, and everything has their weights."""
        view, (a, K) = self.view, self.view.now.shares.shape
        data, weights = view.data, view.weights
        view.z[:] = z.T
        of_edges = weights[self._layout.ends[:, 0]]  # that of both ends
        data.s[:] = of_edges * (data.s + data.sums)
        data.sums[:] *= 2.0 * of_edges
        data.t[:] *= np.repeat(weights[:a], K)
        data.squares[:] *= weights[a:]

    def _scores(self, z, states):
        """Return the scores of every node given all else, times the root of the weight."""
        layout, (a, K) = self._layout, self.view.now.shares.shape
        (p, q), Q, P = layout.pairs.T, len(layout.owner), len(layout.pairs)
        deviation = z - z.mean(axis=0)
        both = deviation[:, p] * deviation[:, q]
        in_state = states[:, :, None] == np.arange(K)
        found = []
        for i, weight in enumerate(self.view.weights):
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
