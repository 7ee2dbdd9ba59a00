"""The pseudo-likelihood of a mixed field."""

import numpy as np

from pymc_mrf.kernels.mixed import MIXED, allocate_weighted
from pymc_mrf.kernels.views import mixed_pseudo as kernels
from pymc_mrf.kernels.views.mixed_rows import AnswerTerms, MixedRows
from pymc_mrf.kernels.views.mixed_views import MixedData, MixedField
from pymc_mrf.likelihood.edges.mixed_engine import MixedEngine


class MixedPseudoLikelihood(MixedEngine):
    """Moves of a mixed field under its pseudo-likelihood.

    That of the answers given all else, times the likelihood of the measurements given the answers.

    Parameters
    ----------
    x, graph, family, moves_biases
        As of `MixedEngine`.
    """

    is_pseudo = True

    def _make_view(  # type: ignore[override]
        self, field: MixedField, data: MixedData, w, b, beta
    ) -> kernels.MixedPseudo:
        layout, n = self._layout, int(data.n[0])
        a, K, Q, c = len(layout.cards), layout.features.shape[1], len(layout.owner), layout.n_measured
        M = field.features.shape[1]

        def conditionals() -> AnswerTerms:
            local, residual = np.zeros((2, Q, n))
            return AnswerTerms(local, residual, np.zeros((Q, M)), np.zeros((a, K)), np.zeros(a))

        return kernels.MixedPseudo(
            field=field,
            data=data,
            layout=layout,
            rows=MixedRows(np.zeros((Q + c, n)), np.zeros((Q, Q))),
            now=conditionals(),
            trial=conditionals(),
            at=allocate_weighted(layout, n),
            w=w,
            b=b,
            beta=beta,
            n_biases=len(beta),
            look=np.zeros(9),
            room=kernels.PseudoRoom(
                tilt=np.zeros(n),
                tilted=np.zeros(n),
                p=np.zeros(K),
                mean=np.zeros(M),
                diagonal=np.zeros(c),
                seconds=np.zeros(c),
            ),
        )

    def _take_rows(self, z, states) -> None:
        """Keep the rows; edges of an answer count in two factors."""
        view, Q, twice = self.view, len(self._layout.owner), self._layout.kind <= MIXED
        view.rows.z[:] = z.T
        np.matmul(z[:, :Q].T, z[:, :Q], out=view.rows.products)
        view.data.s[twice] += view.data.sums[twice]
        view.data.sums[twice] *= 2.0

    def _scores(self, z, states):
        """Return the scores of every answer given all else, and of the measurements given the answers."""
        layout, (a, K) = self._layout, self.view.now.shares.shape
        (p, q), Q, P = layout.pairs.T, len(layout.owner), len(layout.pairs)
        deviation = z - z.mean(axis=0)
        both = deviation[:, p] * deviation[:, q]
        in_state = states[:, :, None] == np.arange(K)
        found = []
        for i in range(a):
            touching = np.flatnonzero((layout.ends == i).any(axis=1))
            where = np.concatenate([touching, P + i * K + np.arange(K)])
            found.append((where, np.concatenate([both[:, touching], in_state[:, i]], axis=1)))
        touching = np.flatnonzero(layout.kind >= MIXED)
        where = np.concatenate([touching, P + a * K + np.arange(layout.n_measured)])
        products = z[:, p[touching]] * deviation[:, q[touching]]
        found.append((where, np.concatenate([products, -0.5 * z[:, Q:] ** 2], axis=1)))
        return found

    def _refresh(self) -> float:
        return kernels.refresh(self.view)
