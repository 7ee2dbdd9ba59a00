"""Products of full conditionals as `EdgeGibbs` asks for them, so that an edge touches two variables only.

The pseudo-likelihood of a field (Besag, 1975): every variable given all others, to the power of a weight
(`pymc_mrf.likelihood.pseudo.conditional_weights`). The likelihood of a field in time: every variable given
the rows before. With links within rows and arrows into their ends there are second conditionals, of expected
neighbours (`pymc_mrf.likelihood.pseudo.expected_neighbours`): rows of their own to the view.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from pymc_mrf.fields.tables import distinct_rows
from pymc_mrf.kernels.edges.edge_moves import EdgePrior, Presence
from pymc_mrf.kernels.edges.hamiltonian import Coordinates, fill_relative_curvatures
from pymc_mrf.kernels.views import pseudo_edges
from pymc_mrf.kernels.views.pseudo_rows import LANES, Rows, allocate_rows
from pymc_mrf.kernels.views.pseudo_scores import Scores
from pymc_mrf.kernels.views.pseudo_terms import refresh
from pymc_mrf.kernels.views.questions import Field, FieldData
from pymc_mrf.likelihood.data_counts import Columns, Data, blocks_of, present_rows
from pymc_mrf.likelihood.draw_cost import row_operations, sweeps_in_a_draw
from pymc_mrf.likelihood.edges.edge_engine import EdgeEngine
from pymc_mrf.likelihood.edges.edge_field import features_at
from pymc_mrf.likelihood.pseudo.conditional_weights import COUNTED_ONCE, node_weights, rest_weights
from pymc_mrf.likelihood.pseudo.expected_neighbours import ExpectedNeighbours
from pymc_mrf.likelihood.pseudo.visits import RATE, Panel, VisitRates, fill_columns, panels_of, visited
from pymc_mrf.parts import Parts

Expected = Sequence[ExpectedNeighbours | None]  # of each block, or empty

RECENT = 5.0  # draw k of the tuning has a weight proportional to k^4
WIDEST = 0.9  # quantile over the nodes
LASTING = 0.5  # share of the sweeps of tuning
MAX_STRETCH = 8.0


class PseudoEdges(EdgeEngine):
    """Engine of the edge sampler: exact moves for prior times pseudo-likelihood.

    Parameters
    ----------
    x, graph, family, moves_biases
        As of `EdgeEngine`.
    weight : float
        Of the conditionals of nodes with edges that are no arrows: all that the view has of the rows is
        multiplied by the weight of the node that it is about.
    expected : list of ExpectedNeighbours or None
        Of each block of a field in time; empty where none has them.

    Attributes
    ----------
    node_weights, rest_weights : (d,) arrays
        Of the conditionals given neighbours, and given what these are expected to be.
    information : (d M M + d K + r + 2 d,) array
        Learnt in tuning. Sums over rows of the conditional covariances of every node's features and of the
        variances of its states, and curvature of the slab at the weight of every edge relative to its
        centre, which scale joint moves; mean and mean square of the norm of each node's weights, so scaled,
        which tell how far to move.
    """

    def __init__(
        self, x, graph, family, moves_biases, weight=COUNTED_ONCE, expected: Expected = ()
    ) -> None:
        d = graph.n_nodes
        field, data = self.take_data(x, graph, family, moves_biases)
        is_arrow = self._columns.is_arrow[field.pair]
        self.node_weights = node_weights(d, field.edges, is_arrow, weight)
        self.rest_weights = rest_weights(graph, weight) if expected else np.zeros(d)
        self._expected, of_nodes = expected, self.node_weights + self.rest_weights
        data.n[:] *= of_nodes
        self._weigh(field, data)
        r = len(data.s)
        _, M, K = field.features.shape
        rows = present_rows(x, graph)
        # not 0 for constant columns, and in the units of the features
        C, v = 0.5 * np.ptp(field.features, axis=2)[:, :, None] ** 2 * np.eye(M), np.zeros((d, K))
        for block in blocks_of(rows, field.edges):
            values = features_at(field.features[block.nodes], block.x.T)  # (d_b, M, n_b)
            values = values - values.mean(axis=-1, keepdims=True)
            C[block.nodes] += values @ values.transpose(0, 2, 1)
            p = np.stack([(block.x == a).mean(axis=0) for a in range(K)], axis=1)
            v[block.nodes] = len(block.x) * p * (1 - p) + 0.5
        C *= of_nodes[:, None, None]
        v *= of_nodes[:, None]
        n_biases = len(data.t) if moves_biases else 0
        sources = sources_of(self._columns, field)
        # rows of expected neighbours have features of their own for each block
        self._panels: list[Panel] = [] if expected else panels_of(field, sources)
        has_scores = bool(self._panels)
        self.view = pseudo_view(
            x, self._columns, field, data, n_biases, self._weights, expected, has_scores
        )
        self._spreads = source_spreads(self.view)
        n_rows = max(len(block.x) for block in blocks_of(rows, field.edges))
        self.n_repeats = sweeps_in_a_draw(r, row_operations(n_rows, K))
        self._has_moved = True
        self._rates = VisitRates.of_edges(r if has_scores else 0)
        self._rare: np.ndarray | None = None  # not known
        self._norms = np.zeros(d)
        self._seen_C, self._seen_variance = np.zeros((d, M, M)), np.zeros((d, K))
        self._curvature = np.ones(r)
        self.information = np.concatenate([C.ravel(), v.ravel(), np.ones(r), np.zeros(2 * d)])
        self._places = Parts([C.shape, v.shape, (r,), (d,), (d,)])

    def set_data(self, x: Data) -> None:
        super().set_data(x)
        self._weigh(self.view.field, self.view.data)
        fill_rows(self.view, x, self._columns, self._weights, self._expected)
        self._spreads = source_spreads(self.view)

    @property
    def _weights(self) -> np.ndarray:
        """Both weights of every node (2, d)."""
        return np.stack([self.node_weights, self.rest_weights])

    def _weigh(self, field: Field, data: FieldData) -> None:
        """Multiply the sums over rows by the weights of the conditionals that have them."""
        weights = self.node_weights
        for sums in (data.s, data.sums):
            sums *= weights[field.edges[:, 0]]  # of a target; if there are two, they have the same
        data.t[:] *= np.repeat(weights + self.rest_weights, len(field.basis))

    def refresh(self, rng) -> None:
        refresh(self.view)
        self._has_moved = False

    def visits(self) -> Iterable[np.ndarray]:
        """Panel by panel, where their scores are made at once."""
        if not self._panels:
            yield from super().visits()
            return
        scores = self.view.scores
        assert isinstance(scores, Scores)
        yield from visited(self._panels, scores, self.view.now.R)

    def scan(
        self, prior: EdgePrior, presence: Presence, rng, tuned: bool
    ) -> Iterable[tuple[np.ndarray, Presence]]:
        """Learn in tuning which edges are rare, and visit these in some draws only."""
        if self._panels and not tuned and self._rates.begin_sweep():
            self._rare = None
            for order in self.visits():
                self._rates.learn(self.view, order, prior)
                yield order, presence
            return
        if self._panels and self._rare is None:
            self._rare = self._rates.rare()
        if self._rare is None or not self._rare.any():
            yield from super().scan(prior, presence, rng, tuned)
        else:
            yield from self._scan_by_rates(self._rare.copy(), presence, rng)

    def _scan_by_rates(
        self, is_left: np.ndarray, presence: Presence, rng
    ) -> Iterable[tuple[np.ndarray, Presence]]:
        """Visit edges that are not `is_left` (r,) or are told of in this draw; some panels of others then."""
        order, scores = self.view.field.order, self.view.scores
        assert isinstance(scores, Scores)
        if presence.period:
            is_left[presence.turn :: presence.period] = False
        yield order[~is_left[order]], presence
        chosen = [
            panel._replace(edges=panel.edges[is_left[panel.edges]])
            for panel in self._panels
            if rng.random() < RATE
        ]
        rarely = presence._replace(each=presence.each / RATE)
        for edges in visited(chosen, scores, self.view.now.R):
            yield edges, rarely

    def get_state(self) -> tuple[np.ndarray, ...]:
        """Copy what tuning has seen of the presence of edges, where that is kept."""
        return tuple(array.copy() for array in self._rates) if self._panels else ()

    def set_state(self, *state: np.ndarray) -> None:
        """Restore what `get_state` gave."""
        if self._panels:
            self._rates, self._rare = VisitRates(*(array.copy() for array in state)), None

    def forget(self) -> None:
        """Forget which edges were present in tuning."""
        self._rates, self._rare = VisitRates.of_edges(len(self._rates.share)), None

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
        # of many edges those that come and go say nothing of how far weights go; of blocks nothing is learnt
        if self._rates.n_sweeps[1]:
            squares *= self._rates.share[active] > LASTING
        of_second = np.where(self._columns.is_arrow[self.view.field.pair[active]], 0.0, squares)
        self._norms = np.sqrt(np.bincount(u, squares, d) + np.bincount(v, of_second, d))
        return x

    def slab_curvatures(self) -> np.ndarray:
        return self._places.of(self.information)[2]

    def likelihood_precisions(self) -> tuple[np.ndarray, np.ndarray]:
        G = self.view.field.basis
        C, variance, *_ = self._places.of(self.information)
        by_bias = variance @ (G - G[:, :1]).T ** 2
        return (C[self.view.field.edges] * self._spreads).sum(axis=(1, 2, 3)), by_bias.ravel()

    def remember(self) -> None:
        if self._has_moved:  # by another joint move
            self.refresh(None)
        self._seen_C[:], self._seen_variance[:] = self.view.now.C, self.view.now.v

    def trajectory(self, active, prior, step, n_steps, rng, enters):
        """Move as the base does, and remember what `learn` needs."""
        accept = super().trajectory(active, prior, step, n_steps, rng, enters)
        self._has_moved = True  # the terms are those of the place before
        self._curvature[:] = self.slab_curvatures()
        fill_relative_curvatures(active, self.view.w, prior.slab, self._curvature)
        return accept


class ConditionalEdges(PseudoEdges):
    """Serves fields of arrows alone: their product of full conditionals is the likelihood itself."""

    def __init__(self, x, graph, family, moves_biases) -> None:
        super().__init__(x, graph, family, moves_biases, weight=1.0)


def pseudo_view(
    x: Data,
    columns: Columns,
    field: Field,
    data: FieldData,
    n_biases: int,
    weights: np.ndarray,
    expected: Expected = (),
    has_scores: bool = False,
) -> pseudo_edges.PseudoView:
    """Make the view of products of full conditionals; its terms are still to be computed.

    Parameters
    ----------
    x : (n, D) int8 array, or list of (n_b, D_b) int8 arrays
        As of `columns`.
    columns : Columns
    field : Field
    data : FieldData
    n_biases : int
        d q if the biases move, else 0.
    weights : (2, d) array
        Of the conditionals, by which the sums of `data` are multiplied, and of those of expected neighbours.
    expected : list of ExpectedNeighbours or None
        Of each block, or empty.
    has_scores : bool
        Whether scores of many edges are made at once.
    """
    d, M, _ = field.features.shape
    block, n_rows = np.zeros(len(columns.nodes), dtype=np.int64), 0
    for k, own in enumerate(blocks_of(x, columns.ends)):
        block[own.nodes] = k
        n_rows = max(n_rows, len(own.x))
    n_rows *= 2 if expected else 1
    N = -(-n_rows // LANES) * LANES
    # the same rows are counted otherwise for nodes of another weight
    different, which = np.unique(weights, axis=1, return_inverse=True)
    block = different.shape[1] * block[columns.present] + which
    rows = allocate_rows(d, len(columns.nodes), M, N, block, bool(expected))
    sources = sources_of(columns, field)
    view = pseudo_edges.allocate_view(field, data, n_biases, sources, rows, has_scores)
    fill_rows(view, x, columns, weights, expected)
    return view


def sources_of(columns: Columns, field: Field) -> np.ndarray:
    """Find the sources (r, 2) of both ends of all edges, as of `PseudoView`."""
    sources = columns.place[columns.ends[:, ::-1]].copy()
    sources[columns.is_arrow, 1] = -1
    return sources[field.pair]


def fill_rows(
    view: pseudo_edges.PseudoView,
    x: Data,
    columns: Columns,
    weights: np.ndarray,
    expected: Expected = (),
) -> None:
    """Fill in what the view holds of every row of the data `x`, as of `pseudo_view`.

    With expected neighbours every row is there twice, the second time with these for sources; either time
    rows that occur once come first.
    """
    field, rows, S = view.field, view.rows, view.rows.S
    # residuals too: other data may have fewer different rows, and scores are summed over all
    for array in (S, rows.given, rows.n, rows.inverse, view.now.R):
        array[:] = 0.0
    n_each = np.zeros((len(S), 1, S.shape[2]))  # how often each row occurs, column by column
    each_weight = np.unique(weights, axis=1)  # (2, different)
    for k, block in enumerate(blocks_of(x, columns.ends)):
        different, counts, _ = distinct_rows(block.x)
        order = np.argsort(counts > 1.0, kind="stable")
        different, counts, nodes = different[order], counts[order], columns.nodes[block.nodes]
        m, once = len(counts), int((counts == 1.0).sum())
        n_times = 2 if expected else 1
        of_once = np.arange(n_times * once).reshape(n_times, once)
        of_others = n_times * once + np.arange(n_times * (m - once)).reshape(n_times, m - once)
        times = np.concatenate([of_once, of_others], axis=1)
        own = range(k * each_weight.shape[1], (k + 1) * each_weight.shape[1])
        place, values = columns.place[block.nodes], features_at(field.features[nodes], different.T)
        for t, here in enumerate(times):
            S[place[:, None], :, here] = values.transpose(0, 2, 1)
            n_each[place[:, None], 0, here] = counts * each_weight[t].max()
            for i, weight in zip(own, each_weight[t], strict=True):
                rows.n[i, here] = weight * counts
        for i in own:
            total = rows.n[i, : n_times * m]
            rows.size[i] = -(-len(total) // LANES) * LANES
            ones = total[: n_times * once]
            rows.once[i] = np.argmin(np.append(ones == total[:1].sum(), False))
            np.divide(1.0, total, out=rows.inverse[i, : len(total)], where=total > 0.0)
        if expected:
            fill_expected(rows, expected[k], values[:, 0], place, times)
    of_nodes = rows.n[rows.block]  # (d, N)
    rows.total[:], rows.seen[:] = rows.n.sum(axis=1), (rows.T @ of_nodes[:, :, None])[:, :, 0]
    is_arrow = columns.is_arrow[field.pair]
    if expected:
        view.sums.s[:] = slopes_at_zero(view)
    else:
        view.sums.s[:] = np.where(is_arrow, view.data.s, view.data.sums + view.data.s)
    fill_moments(view.sums.moments, S, n_each)
    if isinstance(view.scores, Scores):
        fill_columns(view.scores, S, n_each)


def fill_moments(moments: np.ndarray, S: np.ndarray, n_each: np.ndarray) -> None:
    """Fill in covariances and means of the features `S` (D, M, N), `moments` as of `EdgeSums`.

    Each row counts `n_each` (D or 1, 1, N) times.
    """
    weighted, n_rows = S * n_each, n_each.sum(axis=2)
    mean = moments[:, -1] = weighted.sum(axis=2) / n_rows
    moments[:, :-1] = weighted @ S.swapaxes(1, 2) / n_rows[:, None] - mean[:, :, None] * mean[:, None]


def source_spreads(view: pseudo_edges.PseudoView) -> np.ndarray:
    """Means over rows of products of the centred features of the source of either end, (r, 2, M, M).

    By the features of the end that they multiply; 0 where an end has no source.
    """
    field, r, M = view.field, len(view.w), view.field.features.shape[1]
    Z2, each = np.zeros((r, 2, M, M)), np.arange(r)[:, None]
    for end in range(2):
        own, of_source = field.products[:, :, end], field.products[:, :, 1 - end]  # (r, L)
        source = view.sources[:, end, None]
        beyond = view.sums.moments[source, -1, of_source] - field.centre[each, 1 - end, own]
        spread = view.sums.moments[source[:, None], of_source[:, :, None], of_source[:, None]]
        spread += beyond[:, :, None] * beyond[:, None]
        Z2[each[:, None], end, own[:, :, None], own[:, None]] = spread
    Z2[view.sources < 0] = 0.0
    return Z2


def fill_expected(
    rows: Rows,
    expected: ExpectedNeighbours | None,
    scores: np.ndarray,
    place: np.ndarray,
    times: np.ndarray,
) -> None:
    """Give the rows of a block at the second of two `times` (2, m) what neighbours are `expected` to be.

    `scores` (D_b, m) of its columns, which are at `place` (D_b,) of the view.
    """
    nodes = place[place < len(rows.T)]
    own, past, second = scores[: len(nodes)].T, scores[len(nodes) :].T, times[1]
    for here in times:
        rows.T[nodes[:, None], 0, here] = own.T
    if expected is not None:
        found = expected.expected(past)
        rows.S[nodes[:, None], 0, second] = found.T
        rows.given[nodes[:, None], 0, second] = expected.given(own, found).T


def slopes_at_zero(view: pseudo_edges.PseudoView) -> np.ndarray:
    """Sum over rows what each edge (r,) multiplies in the log potentials, of fields with one feature."""
    field, rows = view.field, view.rows
    nT = rows.n[rows.block] * rows.T[:, 0]  # (d, N)
    products, total = nT @ rows.S[:, 0].T, nT.sum(axis=1)
    of_end = [
        np.where(
            view.sources[:, end] >= 0,
            products[field.edges[:, end], view.sources[:, end]]
            - field.centre[:, 1 - end, 0] * total[field.edges[:, end]],
            0.0,
        )
        for end in range(2)
    ]
    return of_end[0] + of_end[1]
