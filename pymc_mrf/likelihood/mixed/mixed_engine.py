"""What engines of mixed fields share: their data, and joint moves about a normal approximation."""

from abc import abstractmethod
from typing import Any

import numpy as np

from pymc_mrf.fields.column_kinds import ColumnKinds
from pymc_mrf.fields.mixed import features_of_rows, layout_of
from pymc_mrf.kernels.edges.hamiltonian import normal_coordinates, prior_precisions
from pymc_mrf.kernels.mixed import MIXED, OF_ANSWERS, Layout
from pymc_mrf.kernels.views import questions
from pymc_mrf.kernels.views.mixed_views import LOOK, MixedData
from pymc_mrf.kernels.views.questions import Field
from pymc_mrf.likelihood.edges.edge_engine import MeasuredEngine
from pymc_mrf.likelihood.edges.edge_field import HALF_ROW


class MixedEngine(MeasuredEngine):
    """Base of the engines of mixed fields, given the means of their measurements.

    The curvature of the normal approximation is that of the data's own products of scores, which is the
    information where the field is as the data are: about the parameters of a field without edges it is
    computed once. Its centre is a Newton step from the mean of the parameters that tuning has seen.

    Parameters
    ----------
    x : (n, d) array
        States of answers, and scaled deviations of measurements from their means, in node order.
    graph : PairwiseGraph
    family : MixedFamily
    moves_biases : bool
        Whether biases and diagonal are this engine's to move.
    **options
        Of a subclass, which makes its view of them.

    Attributes
    ----------
    information : (P + a K + c,) array
        Parameters of the reference, the last ones logarithms.
    curvature : (P + a K + c, P + a K + c) array
    columns : ColumnKinds
    """

    view: Any
    matrix = "the precision of the measurements of a MixedMRF"

    def __init__(self, x: Any, graph: Any, family: Any, moves_biases: bool, **options: Any) -> None:
        self.columns: ColumnKinds = family.columns
        layout = self._layout = layout_of(graph, family.columns)
        self._moves_biases = moves_biases
        a, K, c, P = len(layout.cards), layout.features.shape[1], layout.n_measured, len(layout.pairs)
        field, data = mixed_field(layout, len(x))
        n_parameters = a * K + c
        room = {
            "w": np.zeros(P),
            "b": np.zeros(n_parameters),
            "beta": np.zeros(n_parameters),
            "n_biases": n_parameters if moves_biases else 0,
            "look": np.zeros(1, LOOK).view(np.recarray),
        }
        self.view = self._make_view(field, data, room, **options)
        self.set_data(x)
        z, states = split_data(layout, self.columns, x)
        Q = len(layout.owner)
        z[:, Q:] -= z[:, Q:].mean(axis=0)  # means may start anywhere
        self.curvature = np.zeros((P + a * K + c,) * 2)
        for where, scores in self._scores(z, states):
            scores = scores - scores.mean(axis=0)
            self.curvature[np.ix_(where, where)] += scores.T @ scores
        self.curvature += HALF_ROW * np.diag(np.diag(self.curvature) / len(x) + 1e-6)
        counts = self.view.data.t.reshape(a, K) + HALF_ROW
        start = np.log(counts / counts.sum(axis=1, keepdims=True))
        start[np.arange(K) >= layout.cards[:, None]] = 0.0
        variance = z[:, Q:].var(axis=0)
        variance[variance == 0.0] = 1.0  # of one row
        self.information = np.concatenate([np.zeros(P), start.ravel(), -np.log(variance)])
        self.correlations = np.zeros((0, 0, 0))

    @abstractmethod
    def _make_view(self, field: Field, data: MixedData, room: dict[str, Any], **options: Any) -> Any:
        """Make the view of a field without data so far; `room` for its parameters and the edge looked at."""

    @abstractmethod
    def _scores(self, z: np.ndarray, states: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Find the scores of each factor of the likelihood in every row, and which parameters they are by.

        Where nodes are independent; `z` (n, Q + c), centred measurements, and `states` (n, a).
        """

    def set_data(self, x) -> None:
        """Take other states and deviations (n, d)."""
        z, states = split_data(self._layout, self.columns, x)
        fill_data(self._layout, z, states, self._moves_biases, self.view.field, self.view.data)
        self._take_rows(z, states)

    def _take_rows(self, z: np.ndarray, states: np.ndarray) -> None:
        """Keep what the view needs of rows with features `z` (n, Q + c) and `states` (n, a)."""

    def _parameters(self) -> np.ndarray:
        return np.concatenate([self.view.w, self.view.beta])

    def coordinates(self, active, prior):
        """Centre on a Newton step from the reference, restricted to what is present."""
        view, k, c, (w, b) = self.view, len(active), self._layout.n_measured, self._split_reference()
        moved = np.concatenate([active, len(w) + np.arange(view.n_biases)])
        told = self.told_of_place()
        now = [array.copy() for array in (view.w, view.b, view.beta, *told)]
        place = np.concatenate([w[active], b[: view.n_biases]])
        view.w[:], view.b[:] = 0.0, b
        set_parameters(view, active, place)
        slope = np.zeros(len(moved))
        value = questions.without_slab(view, active, prior.bias, slope)
        of_prior = np.empty(len(b))
        slab = prior_precisions(prior, of_prior)
        slope[:k] += slab * (prior.slab.location - place[:k])
        curvature = self.curvature[np.ix_(moved, moved)]
        if view.n_biases and c:  # statistics of logarithms of the diagonal are this times half a square
            scale = np.ones(len(moved))
            scale[-c:] = np.exp(b[-c:])
            curvature *= scale[:, None] * scale
        curvature[np.diag_indices(len(moved))] += np.concatenate(
            [np.full(k, slab), of_prior[: view.n_biases]]
        )
        for array, before in zip((view.w, view.b, view.beta, *told), now, strict=True):
            array[:] = before
        shift = curvature @ place
        return normal_coordinates(shift + slope if np.isfinite(value) else shift, curvature)

    def _split_reference(self) -> tuple[np.ndarray, np.ndarray]:
        """Weights (P,) of the reference, and its biases (a K + c,), or the present ones if they stay."""
        w, b = np.split(self.information, [len(self.view.w)])
        return w, b if self.view.n_biases else self.view.b.copy()

    def likelihood_precisions(self) -> tuple[np.ndarray, np.ndarray]:
        of_edges, of_nodes = np.split(np.diag(self.curvature), [len(self.view.w)])
        return of_edges, of_nodes


def set_parameters(view: Any, active: np.ndarray, place: np.ndarray) -> None:
    """Do what `questions.set_parameters` does, for which a kernel of the whole view would be compiled."""
    view.w[active] = place[: len(active)]
    if view.n_biases:
        view.beta[:] = view.b[:] = place[len(active) :]
        questions.add_shifts(view.field, view.w, -1.0, view.b)


def split_data(layout: Layout, columns: ColumnKinds, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Features (n, Q + c) and states (n, a) int64 of data (n, d) of states and deviations."""
    states = x[:, columns.answers].astype(np.int64)
    return features_of_rows(layout, states, x[:, columns.measurements]), states


def places_of_features(layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Node that has each feature or measurement (Q + c,), and which of its features it is."""
    nodes = np.append(layout.owner, len(layout.cards) + np.arange(layout.n_measured))
    first = np.append(layout.first[:-1], len(layout.owner) + np.arange(layout.n_measured))
    return nodes, np.arange(len(nodes)) - first[nodes]


def mixed_field(layout: Layout, n: int) -> tuple[Field, MixedData]:
    """Make room for a field and the sums over its `n` rows."""
    a, K, c, P = len(layout.cards), layout.features.shape[1], layout.n_measured, len(layout.pairs)
    M = int(np.diff(layout.first).max())
    features = np.zeros((a + c, M, K))
    for i in range(a):
        own = layout.features[layout.first[i] : layout.first[i + 1]]
        features[i, : len(own)] = own
    _, own = places_of_features(layout)
    field = Field(
        edges=layout.ends,
        pair=layout.edge,
        products=own[layout.pairs][:, None],
        order=np.arange(P),
        features=features,
        basis=np.eye(K),
        floor=np.where(np.arange(K) < layout.cards[:, None], 0.0, -np.inf),
        centre=np.zeros((P, 2, M)),
        lift=np.ascontiguousarray(features[:a].swapaxes(1, 2)).reshape(a * K, M),
        statistic=np.zeros((P, K * K)),
        cells=np.zeros((P, K * K)),
        contrast=np.inf,  # that of blocks is known
    )
    s, sums = np.zeros((2, P))
    n_rows = np.full(a + c, float(n))
    return field, MixedData(n=n_rows, s=s, sums=sums, t=np.zeros(a * K), squares=np.zeros(c))


def taken_from_features(layout: Layout, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Tell what multiplies the first and the second of each pair in what `centre` (P, 2, M) takes, (P,)."""
    (p, q), (_, local) = layout.pairs.T, places_of_features(layout)
    of_p, of_q = np.zeros((2, len(p)))
    has_answer, both = layout.kind <= MIXED, layout.kind == OF_ANSWERS
    of_p[has_answer] = centre[has_answer, 1, local[p[has_answer]]]
    of_q[both] = centre[both, 0, local[q[both]]]
    return of_p, of_q


def fill_data(
    layout: Layout,
    z: np.ndarray,
    states: np.ndarray,
    is_centred: bool,
    field: Field,
    data: MixedData,
) -> None:
    """Fill in the sums over rows with features `z` (n, Q + c) and `states` (n, a), and what they say."""
    (p, q), Q, K = layout.pairs.T, len(layout.owner), layout.features.shape[1]
    mean, products, (_, local) = z.mean(axis=0), z.T @ z, places_of_features(layout)
    has_answer = np.flatnonzero(layout.kind <= MIXED)
    both = np.flatnonzero(layout.kind == OF_ANSWERS)
    if is_centred:
        field.centre[has_answer, 1, local[p[has_answer]]] = mean[q[has_answer]]
        field.centre[both, 0, local[q[both]]] = mean[p[both]]
    of_p, of_q = taken_from_features(layout, field.centre)
    data.sums[:] = products[p, q]
    data.s[:] = data.sums - len(z) * (of_p * mean[p] + of_q * mean[q])
    F, G = layout.features[p[both], :, None], layout.features[q[both], None]
    cells = F * G - of_p[both, None, None] * F - of_q[both, None, None] * G
    field.statistic[both], field.cells[both] = (F * G).reshape(-1, K * K), cells.reshape(-1, K * K)
    data.t[:] = (states[:, :, None] == np.arange(K)).sum(axis=0).ravel()
    data.squares[:] = np.diag(products)[Q:]
