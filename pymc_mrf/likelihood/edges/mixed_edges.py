"""The likelihood of a mixed field as a function of its weights, biases and the diagonal of its precision."""

from typing import Any

import numpy as np

from pymc_mrf.fields.column_kinds import ColumnKinds
from pymc_mrf.fields.mixed import features_of_rows, layout_of
from pymc_mrf.kernels.edges.edge_moves import EdgePrior
from pymc_mrf.kernels.edges.hamiltonian import NormalCoordinates, normal_coordinates, prior_precisions
from pymc_mrf.kernels.mixed import MIXED, OF_ANSWERS, Layout, Listed, all_states, allocate_weighted
from pymc_mrf.kernels.views import mixed_edges as kernels
from pymc_mrf.kernels.views import questions
from pymc_mrf.kernels.views.mixed_views import MixedField, add_mixed_shifts
from pymc_mrf.likelihood.edges.edge_engine import HALF_ROW, EdgeEngine

LEAST_SHARE = 0.01
"""Effective share of a sample below which joint moves do not go."""


class MixedLikelihood(EdgeEngine):
    """Moves of a mixed field, given the means of its measurements.

    Joint moves follow a normal approximation of the posterior: its curvature is that of the data's own
    covariances of what the parameters multiply, which is the information of the likelihood where the field
    is as the data are, and its centre the Newton step from the mean of the parameters that tuning has seen.

    Parameters
    ----------
    x : (n, d) array
        States of answers, and deviations of measurements from their means, in node order.
    graph : PairwiseGraph
    family : MixedFamily
    moves_biases : bool
        Whether biases and diagonal are this engine's to move.
    states : Listed, optional
        Sample of the states of the answers; all of them by default.

    Attributes
    ----------
    information : (P + a K + c,) array
        Parameters of the reference, the last ones logarithms.
    """

    view: kernels.MixedEdges
    starts_empty = True

    def __init__(
        self, x: Any, graph: Any, family: Any, moves_biases: bool, states: Listed | None = None
    ) -> None:
        self._columns: Any = family.columns
        layout = layout_of(graph, family.columns)
        listed = all_states(layout) if states is None else states
        self._moves_biases = moves_biases
        a, K, c, P = len(layout.cards), layout.features.shape[1], layout.n_measured, len(layout.pairs)
        n_biases = a * K + c if moves_biases else 0
        self.view = kernels.MixedEdges(
            field=mixed_field(layout, len(x)),
            layout=layout,
            states=listed,
            at=allocate_weighted(layout, len(listed.base)),
            w=np.zeros(P),
            b=np.zeros(a * K + c),
            beta=np.zeros(n_biases),
            n_biases=n_biases,
            log_p=np.zeros(K * K),
            tilt=np.zeros(len(listed.base)),
            tilted=np.zeros(len(listed.base)),
            by_state=np.zeros((3, K)),
            shares=np.zeros((a, K)),
            diagonal=np.zeros(c),
            look=np.zeros(9),
            least_share=0.0 if states is None else LEAST_SHARE,
            least_mass=1e-300 if states is None else 0.5 / len(listed.base),
        )
        self.set_data(x)
        z, in_states = split_data(layout, self._columns, x)
        z[:, len(layout.owner) :] -= z[:, len(layout.owner) :].mean(axis=0)  # means may start anywhere
        spread = np.log(z[:, len(layout.owner) :].var(axis=0))
        self._covariances = self._covariances_of(z, in_states)
        start = np.log((self.view.field.t.reshape(a, K) + HALF_ROW) / (len(x) + K * HALF_ROW))
        start[np.arange(K) >= layout.cards[:, None]] = 0.0
        self.information = np.concatenate([np.zeros(P), start.ravel(), -spread])
        self.correlations = np.zeros((0, 0, 0))

    def set_data(self, x) -> None:
        """Take other states and deviations (n, d)."""
        z, states = split_data(self.view.layout, self._columns, x)
        fill_data(self.view.layout, z, states, self._moves_biases, self.view.field)

    def go_to(self, w, b) -> None:
        """Give the view other parameters."""
        view = self.view
        view.w[:], view.b[:] = w, b
        if view.n_biases:
            view.beta[:] = b
            add_mixed_shifts(view.field, view.layout, view.w, 1.0, view.beta)

    def refresh(self, rng) -> None:
        """List the probabilities of the states anew.

        Raises
        ------
        ValueError
            If the precision is not positive definite, as only that of a start can be.
        """
        if not np.isfinite(kernels.refresh(self.view)):
            raise ValueError(
                "the precision of the measurements of a MixedMRF is not positive definite at the start of a "
                "chain: start from smaller weights or a larger diagonal, as in pm.sample(initvals={...})"
            )

    def coordinates(  # type: ignore[override]
        self, active: np.ndarray, prior: EdgePrior
    ) -> NormalCoordinates:
        """Centre on a Newton step from the reference, restricted to what is present."""
        view, P = self.view, len(self.view.w)
        moved = np.concatenate([active, P + np.arange(view.n_biases)])
        now = view.w.copy(), view.b.copy(), view.beta.copy()
        reference = self.information[P:] if view.n_biases else view.b
        place = np.concatenate([self.information[:P][active], reference[: view.n_biases]])
        view.w[:] = 0.0
        view.b[:] = reference
        questions.set_parameters(view, active, place)
        slope = np.zeros(len(moved))
        value = questions.without_slab(view, active, prior.bias, slope)
        of_prior = np.empty(len(view.b))
        slab = prior_precisions(prior, of_prior)
        slope[: len(active)] += slab * (prior.slab.location - place[: len(active)])
        curvature = self._covariances[np.ix_(moved, moved)]
        if view.n_biases:  # statistics of logarithms of the diagonal are this times half a square
            scale = np.ones(len(moved))
            scale[-view.layout.n_measured :] = np.exp(reference[-view.layout.n_measured :])
            curvature *= scale[:, None] * scale
        curvature[np.diag_indices(len(moved))] += np.concatenate(
            [np.full(len(active), slab), of_prior[: view.n_biases]]
        )
        view.w[:], view.b[:], view.beta[:] = now
        centre = place
        if np.isfinite(value):
            centre = place + np.linalg.solve(curvature, slope)
        return normal_coordinates(centre, curvature)

    def _covariances_of(self, z: np.ndarray, states: np.ndarray) -> np.ndarray:
        """Sum over rows the products of the centred statistics of all parameters, (P + a K + c,) squared.

        Those of the diagonal are minus half the squares. `z` (n, Q + c) and `states` (n, a).
        """
        layout, (a, K) = self.view.layout, self.view.shares.shape
        (p, q), n = layout.pairs.T, len(z)
        of_p, of_q = z.mean(axis=0)[layout.pairs[:, ::-1].T] if self.view.n_biases else np.zeros((2, 1))
        of_p, of_q = of_p * (layout.kind <= MIXED), of_q * (layout.kind == OF_ANSWERS)
        statistics = z[:, p] * z[:, q] - of_p * z[:, p] - of_q * z[:, q]
        in_state = (states[:, :, None] == np.arange(K)).reshape(n, a * K)
        S = np.concatenate([statistics, in_state, -0.5 * z[:, len(layout.owner) :] ** 2], axis=1)
        S = S - S.mean(axis=0)
        return S.T @ S + HALF_ROW * np.diag(S.var(axis=0) + 1e-6)

    def stretch(self, rng) -> float:
        """Up to twice as far: always twice would be half an oscillation, which leaves distances alone."""
        return rng.uniform(1.0, 2.0)

    def learn(self, weight: float) -> None:
        """Let the reference follow the chain."""
        centred = self.view.beta if self.view.n_biases else self.view.b
        self.information += weight * (np.concatenate([self.view.w, centred]) - self.information)

    def statistics(self) -> dict[str, float]:
        """Effective share of the states of a sample, beside what all engines say."""
        found = super().statistics()
        if self.view.least_share:
            p = self.view.at.p
            found["ess"] = float(1.0 / (len(p) * (p @ p)))
        return found


def split_data(layout: Layout, columns: ColumnKinds, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Features (n, Q + c) and states (n, a) int64 of data (n, d) of states and deviations."""
    states = x[:, columns.answers].astype(np.int64)
    return features_of_rows(layout, states, x[:, columns.measurements]), states


def mixed_field(layout: Layout, n: int) -> MixedField:
    """Make room for the sums over the `n` rows of a field."""
    a, K, c, P = len(layout.cards), layout.features.shape[1], layout.n_measured, len(layout.pairs)
    M = int(np.diff(layout.first).max())
    features = np.zeros((a + c, M, K))
    for i in range(a):
        own = layout.features[layout.first[i] : layout.first[i + 1]]
        features[i, : len(own)] = own
    return MixedField(
        edges=layout.ends,
        pair=layout.edge,
        order=np.arange(P),
        n=np.full(a + c, float(n)),
        basis=np.eye(K),
        features=features,
        lift=np.ascontiguousarray(features[:a].swapaxes(1, 2)).reshape(a * K, M),
        centre=np.zeros((P, 2, M)),
        cells=np.zeros((P, K * K)),
        s=np.zeros(P),
        sums=np.zeros(P),
        t=np.zeros(a * K),
        squares=np.zeros(c),
    )


def taken_from_features(layout: Layout, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Tell what multiplies the first and the second of each pair in what `centre` (P, 2, M) takes, (P,)."""
    (p, q), local = layout.pairs.T, np.arange(len(layout.owner)) - layout.first[layout.owner]
    of_p, of_q = np.zeros((2, len(p)))
    has_answer, both = layout.kind <= MIXED, layout.kind == OF_ANSWERS
    of_p[has_answer] = centre[has_answer, 1, local[p[has_answer]]]
    of_q[both] = centre[both, 0, local[q[both]]]
    return of_p, of_q


def fill_data(
    layout: Layout, z: np.ndarray, states: np.ndarray, is_centred: bool, field: MixedField
) -> None:
    """Fill in the sums over rows with features `z` (n, Q + c) and `states` (n, a), and what they say."""
    (p, q), Q, K = layout.pairs.T, len(layout.owner), layout.features.shape[1]
    mean, products, local = z.mean(axis=0), z.T @ z, np.arange(Q) - layout.first[layout.owner]
    has_answer = np.flatnonzero(layout.kind <= MIXED)
    both = np.flatnonzero(layout.kind == OF_ANSWERS)
    if is_centred:
        field.centre[has_answer, 1, local[p[has_answer]]] = mean[q[has_answer]]
        field.centre[both, 0, local[q[both]]] = mean[p[both]]
    of_p, of_q = taken_from_features(layout, field.centre)
    field.sums[:] = products[p, q]
    field.s[:] = field.sums - len(z) * (of_p * mean[p] + of_q * mean[q])
    F, G = layout.features[p[both]], layout.features[q[both]]
    cells = F[:, :, None] * G[:, None] - of_p[both, None, None] * F[:, :, None]
    field.cells[both] = (cells - of_q[both, None, None] * G[:, None]).reshape(-1, K * K)
    field.t[:] = (states[:, :, None] == np.arange(K)).sum(axis=0).ravel()
    field.squares[:] = np.diag(products)[Q:]
