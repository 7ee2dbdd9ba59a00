"""Samples for the Monte Carlo likelihood of mixed fields: states of the answers at a reference near the data.

The normaliser at any parameters is that at the reference times the mean, over the sample, of the ratio of the
weights of its states (Geyer & Thompson, 1992). The reference is a penalised estimate with the edges that the
data speak for: by pseudo-likelihood first, then by the Monte Carlo likelihood of samples at earlier
estimates.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtri

from pymc_mrf.estimation.minimise import minimise
from pymc_mrf.fields.mixed import layout_of
from pymc_mrf.kernels import mixed as kernels
from pymc_mrf.kernels.views import questions
from pymc_mrf.likelihood.edges.edge_engine import EdgeEngine
from pymc_mrf.likelihood.mixed.mixed_edges import MixedLikelihood
from pymc_mrf.likelihood.mixed.mixed_engine import MixedEngine
from pymc_mrf.likelihood.mixed.mixed_pseudo import MixedPseudoLikelihood

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

    listed: kernels.Listed


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
        listed = _draw(pseudo, active, place, x, n_points, rng)
        engine = MixedLikelihood(x, graph, family, True, states=listed)
        place = _fit(engine, active, place)
    noise = engine.measure_noise() or 0.0
    n_points = min(int(n_points * max(1.0, (noise / NOISE) ** 2)), MOST_POINTS)
    return MixedReference(_draw(pseudo, active, place, x, n_points, rng))


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
        questions.set_parameters(view, active, y)
        value = questions.add_slopes(view, active, slope)
        if not (np.isfinite(value) and questions.is_trusted(view)):
            return 1e12, np.zeros(len(y))
        return 0.5 * (penalty * y**2).sum() - value, penalty * y - slope

    found = minimise(loss, place, options={"maxiter": 300})
    best = found.x if found.fun < loss(place)[0] else place
    loss(best)
    return best


def _spoken_for(engine: MixedPseudoLikelihood, layout: kernels.Layout, place: np.ndarray) -> np.ndarray:
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
    active: np.ndarray,
    place: np.ndarray,
    x: np.ndarray,
    n_points: int,
    rng: np.random.Generator,
) -> kernels.Listed:
    """Draw states of the answers at parameters of `engine`, by chains that start in rows of the data."""
    view: Any = engine.view
    layout, columns = view.layout, engine.columns
    view.w[:] = 0.0
    questions.set_parameters(view, active, place)
    a, K, Q, c = len(layout.cards), layout.features.shape[1], len(layout.owner), layout.n_measured
    S, L, A, B, E = *np.zeros((2, c, c)), np.zeros((Q, Q)), np.zeros((c, Q)), np.zeros((Q, Q))
    kernels.fill_covariance(layout, view.w, np.exp(view.b[a * K :]), S, L)
    kernels.fill_answer_weights(layout, view.w, S, A, B, E)
    rows = rng.integers(len(x), size=n_points)
    states = np.ascontiguousarray(x[rows][:, columns.answers].T.astype(np.int8))
    kernels.sweep_answers(layout, E, view.b, states, N_SWEEPS, rng)
    listed = kernels.list_states(layout, states, np.zeros(n_points))
    biases = view.b[: a * K].reshape(a, K)
    listed.base[:] = -biases[np.arange(a)[:, None], states].sum(axis=0)
    listed.base[:] -= 0.5 * ((E @ listed.z) * listed.z).sum(axis=0)
    return listed
