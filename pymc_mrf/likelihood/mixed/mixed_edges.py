"""The likelihood of a mixed field as a sum over listed states of its answers: all of them, or a sample.

Samples for the Monte Carlo likelihood are of states at a reference near the data. The normaliser at any
parameters is that at the reference times the mean, over the sample, of the ratio of the weights of its states
(Geyer & Thompson, 1992). The reference is a penalised estimate with the edges that the data speak for: by
pseudo-likelihood first, then by the Monte Carlo likelihood of samples at earlier estimates.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtri

from pymc_mrf.fields.mixed import layout_of
from pymc_mrf.kernels.gaussian import rank_two
from pymc_mrf.kernels.mixed import (
    Layout,
    Listed,
    all_states,
    allocate_weighted,
    fill_answer_weights,
    fill_covariance,
    list_states,
    sweep_answers,
)
from pymc_mrf.kernels.views import mixed_edges as kernels
from pymc_mrf.kernels.views import questions
from pymc_mrf.kernels.views.mixed_tilts import SMALLEST
from pymc_mrf.kernels.views.mixed_views import MixedData
from pymc_mrf.kernels.views.questions import Field
from pymc_mrf.likelihood.edges.edge_engine import EdgeEngine
from pymc_mrf.likelihood.mixed.mixed_engine import MixedEngine, set_parameters, taken_from_features
from pymc_mrf.likelihood.mixed.mixed_pseudo import MixedPseudoLikelihood
from pymc_mrf.threads import minimise

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
    ) -> kernels.MixedView:
        layout, (a, K) = self._layout, (len(self._layout.cards), self._layout.features.shape[1])
        listed = all_states(layout) if states is None else states
        N = len(listed.base)
        return kernels.MixedView(
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


SCALE_OF_WEIGHTS, SCALE_OF_BIASES = 0.5, 2.0
"""Standard deviations of the penalties, of weights and of biases and logarithms of the diagonal."""

LEAST_POINTS, MOST_POINTS = 20_000, 200_000
POINTS_A_ROW = 20
"""Points of a sample, and as many for each row of the data: log-likelihood ratios between values of a weight
one standard deviation apart then err by sqrt(1 / 20), or less; by more beyond 10,000 rows, where there are
`MOST_POINTS`, and `EdgeGibbs` measures how much."""

NOISE = 0.3
"""Noise of log-likelihood ratios of present edges against their absence that a larger sample goes for."""

N_SWEEPS = 50
N_FITS = 3
"""Fits by the Monte Carlo likelihood, each with a sample at the one before."""

LEVEL = 0.95
"""Level of the test whether the data speak for an edge."""


@dataclass(frozen=True, eq=False)
class MixedReference:
    """A sample of the answers of a mixed field; samples are not compared.

    Attributes
    ----------
    listed : Listed
        Its states, with weights that are those of the reference taken off.
    """

    listed: Listed


def sample_reference(x: np.ndarray, graph: Any, family: Any, rng: np.random.Generator) -> MixedReference:
    """Find a reference for data, and draw a sample of the answers there.

    Parameters
    ----------
    x : (n, d) array
        States of answers, and scaled measurements, in node order.
    graph : PairwiseGraph
    family : MixedFamily
    rng : numpy.random.Generator

    Returns
    -------
    MixedReference
    """
    layout, measured = layout_of(graph, family.columns), family.columns.measurements
    x = x.copy()
    x[:, measured] -= x[:, measured].mean(axis=0)
    pseudo = MixedPseudoLikelihood(x, graph, family, True)
    P = len(layout.pairs)
    place = _fit(pseudo, np.arange(P), pseudo.information)
    active = _spoken_for(pseudo, layout, place)
    place = _fit(pseudo, active, np.concatenate([place[:P][active], place[P:]]))
    n_points = sample_size(len(x))
    for _ in range(N_FITS):
        listed = _draw(pseudo, layout, active, place, x, n_points, rng)
        engine = MixedLikelihood(x, graph, family, True, states=listed)
        place = _fit(engine, active, place)
    noise = engine.measure_noise() or 0.0
    n_points = min(int(n_points * max(1.0, (noise / NOISE) ** 2)), MOST_POINTS)
    return MixedReference(_draw(pseudo, layout, active, place, x, n_points, rng))


def sample_size(n_rows: int) -> int:
    """Points of a sample for so many rows of data, at least."""
    return min(max(LEAST_POINTS, POINTS_A_ROW * n_rows), MOST_POINTS)


def _fit(engine: EdgeEngine, active: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Maximise the penalised likelihood of an engine by weights of `active` (k,) and centred biases."""
    view, k = engine.view, len(active)
    penalty = np.concatenate(
        [np.full(k, SCALE_OF_WEIGHTS**-2), np.full(len(place) - k, SCALE_OF_BIASES**-2)]
    )
    view.w[:] = 0.0

    def loss(y):
        slope = np.zeros(len(y))
        set_parameters(view, active, y)
        value = questions.add_slopes(view, active, slope)
        if not (np.isfinite(value) and questions.is_trusted(view)):
            return 1e12, np.zeros(len(y))
        return 0.5 * (penalty * y**2).sum() - value, penalty * y - slope

    found = minimise(loss, place, options={"maxiter": 300})
    best = found.x if found.fun < loss(place)[0] else place
    loss(best)
    return best


def _spoken_for(engine: MixedPseudoLikelihood, layout: Layout, place: np.ndarray) -> np.ndarray:
    """Parameters of the edges whose estimates differ from zero by more than chance."""
    P = len(layout.pairs)
    H = engine.curvature[:P, :P] + SCALE_OF_WEIGHTS**-2 * np.eye(P)
    found = []
    for e in range(int(layout.edge.max(initial=-1)) + 1):
        own = np.flatnonzero(layout.edge == e)
        w = place[own]
        if w @ H[np.ix_(own, own)] @ w > chdtri(len(own), 1.0 - LEVEL):
            found.append(own)
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)


def _draw(
    engine: MixedEngine,
    layout: Layout,
    active: np.ndarray,
    place: np.ndarray,
    x: np.ndarray,
    n_points: int,
    rng: np.random.Generator,
) -> Listed:
    """Draw states of the answers at parameters of `engine`, by chains that start in rows of the data."""
    view: Any = engine.view
    columns = engine.columns
    view.w[:] = 0.0
    set_parameters(view, active, place)
    a, K, Q, c = len(layout.cards), layout.features.shape[1], len(layout.owner), layout.n_measured
    S, L, A, B, E = *np.zeros((2, c, c)), np.zeros((Q, Q)), np.zeros((c, Q)), np.zeros((Q, Q))
    fill_covariance(layout, view.w, np.exp(view.b[a * K :]), S, L)
    fill_answer_weights(layout, view.w, S, A, B, E)
    rows = rng.integers(len(x), size=n_points)
    states = np.ascontiguousarray(x[rows][:, columns.answers].T.astype(np.int8))
    sweep_answers(layout, E, view.b, states, N_SWEEPS, rng)
    listed = list_states(layout, states, np.zeros(n_points))
    biases = view.b[: a * K].reshape(a, K)
    listed.base[:] = -biases[np.arange(a)[:, None], states].sum(axis=0)
    listed.base[:] -= 0.5 * ((E @ listed.z) * listed.z).sum(axis=0)
    return listed
