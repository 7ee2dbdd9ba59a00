"""The likelihood of a mixed field as a sum over listed states of its answers."""

from typing import Any

import numpy as np

from pymc_mrf.kernels.gaussian import rank_two
from pymc_mrf.kernels.mixed import Listed, all_states, allocate_weighted
from pymc_mrf.kernels.views import mixed_edges as kernels
from pymc_mrf.kernels.views.mixed_tilts import SMALLEST
from pymc_mrf.kernels.views.mixed_views import MixedData
from pymc_mrf.kernels.views.questions import Field
from pymc_mrf.likelihood.mixed.mixed_engine import MixedEngine, taken_from_features

HOPELESS = 12.0
"""Log-likelihood that absence of an edge loses, beyond which its noise does not matter."""

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
        self, field: Field, data: MixedData, room: dict[str, Any], states: Listed | None = None
    ) -> kernels.MixedEdges:
        layout, (a, K) = self._layout, (len(self._layout.cards), self._layout.features.shape[1])
        listed = all_states(layout) if states is None else states
        N = len(listed.base)
        return kernels.MixedEdges(
            field=field,
            data=data,
            layout=layout,
            states=listed,
            at=allocate_weighted(layout, N),
            **room,
            log_p=np.zeros(K * K),
            least_share=0.0 if states is None else LEAST_SHARE,
            room=kernels.ListRoom(
                tilt=np.zeros(N),
                tilted=np.zeros(N),
                moves=np.zeros(K),
                by_state=np.zeros((3, K)),
                shares=np.zeros((a, K)),
                diagonal=np.zeros(layout.n_measured),
                seconds=np.zeros(layout.n_measured),
                products=np.zeros(len(field.edges)),
            ),
        )

    def _scores(self, z, states):
        """Return the centred statistics: there is one factor."""
        layout, (a, K), n = self._layout, self.view.room.shares.shape, len(z)
        p, q = layout.pairs.T
        deviation = z - z.mean(axis=0)
        in_state = (states[:, :, None] == np.arange(K)).reshape(n, a * K)
        squares = -0.5 * z[:, len(layout.owner) :] ** 2
        scores = np.concatenate([deviation[:, p] * deviation[:, q], in_state, squares], axis=1)
        return [(np.arange(scores.shape[1]), scores)]

    def _refresh(self) -> float:
        return kernels.refresh(self.view)

    def measure_noise(self) -> float | None:
        """Measure the noise of log-likelihood ratios of present edges against their absence, of a sample.

        Root mean square over the edges that might be absent, by the delta method, points being independent.
        """
        view, n = self.view, self.view.data.n[0]
        if not view.least_share:
            return None
        p, noise = view.at.p, []
        for e in np.unique(self._layout.edge[view.w != 0.0]):
            own, (ratio, f) = self._layout.edge == e, self._ratios_without(e)
            mass = p @ ratio
            lost = view.w[own] @ view.data.s[own] + n * (np.log(mass) - 0.5 * np.log(max(f, SMALLEST)))
            if lost < HOPELESS:
                noise.append(n**2 * ((p * (ratio / mass - 1.0)) ** 2).sum())
        return float(np.sqrt(np.mean(noise))) if noise else 0.0

    def _ratios_without(self, e: int) -> tuple[np.ndarray, float]:
        """Weights of the states without edge e, relative to those with it, (N,), and the ratio of |K|.

        This is not positive where the edge cannot be absent.
        """
        view, layout, Q = self.view, self._layout, len(self._layout.owner)
        own = np.flatnonzero(layout.edge == e)
        w, (p, q) = view.w[own], layout.pairs[own].T
        z, m, S = view.states.z, view.at.m, view.at.S
        if layout.kind[own[0]] == kernels.OF_ANSWERS:
            of_p, of_q = (part[own] for part in taken_from_features(layout, view.field.centre))
            return np.exp(-w @ (z[p] * z[q] - of_p[:, None] * z[p] - of_q[:, None] * z[q])), 1.0
        if layout.kind[own[0]] == kernels.MIXED:
            g, j = -w @ z[p], q[0] - Q
            return np.exp(g * (m[j] - view.field.centre[own[0], 1, 0] + 0.5 * g * S[j, j])), 1.0
        i, j = p[0] - Q, q[0] - Q
        own_i, both, own_j, f = rank_two(S, i, j, -w[0])
        if f <= 0.0:
            return np.ones(len(m[i])), f
        return np.exp(0.5 * (own_i * m[i] ** 2 + own_j * m[j] ** 2) + both * m[i] * m[j]), f

    def told_of_place(self) -> list[np.ndarray]:
        return [self.view.at.p, self.view.at.m, self.view.at.S] if self.view.least_share else []

    def statistics(self) -> dict[str, float]:
        """Effective share of the states of a sample, beside what all engines say."""
        found = super().statistics()
        if self.view.least_share:
            p = self.view.at.p
            found["ess"] = float(1.0 / (len(p) * (p @ p)))
        return found
