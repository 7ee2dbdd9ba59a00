"""The likelihood of a mixed field as a sum over listed states of its answers."""

import numpy as np

from pymc_mrf.kernels.mixed import Listed, all_states, allocate_weighted
from pymc_mrf.kernels.views import mixed_edges as kernels
from pymc_mrf.kernels.views.mixed_views import MixedField
from pymc_mrf.likelihood.edges.mixed_engine import MixedEngine

LEAST_SHARE = 0.01
"""Effective share of a sample below which joint moves do not go."""


class MixedLikelihood(MixedEngine):
    """Moves of a mixed field under its exact or its Monte Carlo likelihood.

    Parameters
    ----------
    x, graph, family, moves_biases
        As of `MixedEngine`.
    states : Listed, optional
        Sample of the states of the answers; all of them by default.
    """

    def _make_view(  # type: ignore[override]
        self, field: MixedField, w, b, beta, states: Listed | None = None
    ) -> kernels.MixedEdges:
        layout, (a, K) = self._layout, (len(self._layout.cards), self._layout.features.shape[1])
        listed = all_states(layout) if states is None else states
        N = len(listed.base)
        return kernels.MixedEdges(
            field=field,
            layout=layout,
            states=listed,
            at=allocate_weighted(layout, N),
            w=w,
            b=b,
            beta=beta,
            n_biases=len(beta),
            log_p=np.zeros(K * K),
            tilt=np.zeros(N),
            tilted=np.zeros(N),
            by_state=np.zeros((3, K)),
            shares=np.zeros((a, K)),
            diagonal=np.zeros(layout.n_measured),
            look=np.zeros(9),
            least_share=0.0 if states is None else LEAST_SHARE,
            least_mass=1e-300 if states is None else 0.5 / N,
        )

    def _scores(self, z, states):
        """Return the centred statistics: there is one factor."""
        layout, (a, K), n = self._layout, self.view.shares.shape, len(z)
        p, q = layout.pairs.T
        deviation = z - z.mean(axis=0)
        in_state = (states[:, :, None] == np.arange(K)).reshape(n, a * K)
        squares = -0.5 * z[:, len(layout.owner) :] ** 2
        scores = np.concatenate([deviation[:, p] * deviation[:, q], in_state, squares], axis=1)
        return [(np.arange(scores.shape[1]), scores)]

    def _refresh(self) -> float:
        return kernels.refresh(self.view)

    def statistics(self) -> dict[str, float]:
        """Effective share of the states of a sample, beside what all engines say."""
        found = super().statistics()
        if self.view.least_share:
            p = self.view.at.p
            found["ess"] = float(1.0 / (len(p) * (p @ p)))
        return found
