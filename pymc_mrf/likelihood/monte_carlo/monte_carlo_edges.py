"""The Monte Carlo likelihood of a field (Geyer & Thompson, 1992; Geyer, 1994), for edges and groups.

See `pymc_mrf.kernels.views.monte_carlo_edges` for what it is, and
`pymc_mrf.likelihood.monte_carlo.reference` for its sample.
"""

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels.views import monte_carlo_edges as kernels
from pymc_mrf.kernels.views.questions import Field, FieldData, add_shifts
from pymc_mrf.kernels.views.weighted_sample import Sample, allocate_sample, fill_shares
from pymc_mrf.likelihood.data_counts import Block, blocks_of
from pymc_mrf.likelihood.edges.edge_engine import EdgeEngine, LikelihoodExpansion, posterior_coordinates
from pymc_mrf.likelihood.edges.edge_field import (
    HALF_ROW,
    correlations,
    features_at,
    node_parameters,
    room_for,
)
from pymc_mrf.likelihood.groups.group_engine import N_REFERENCE, EdgewiseGroups
from pymc_mrf.likelihood.monte_carlo.reference import Reference

FAR = 3.0
"""Standard deviations of a weight from 0 beyond which its edge is in no doubt."""

MOST_JOINED = 1000
"""Parameters of a joint move beyond which it does not use their covariance, which has to be factored."""


class MonteCarloEdges(EdgeEngine):
    """Engine of the edge sampler: exact moves for prior times Monte Carlo likelihood.

    Parameters
    ----------
    x, graph, family, moves_biases
        As of `EdgeEngine`.
    references : sequence of Reference
        Of each block.

    Attributes
    ----------
    parts : list of BlockSample
    information : (r + d q,) array
        Rows times the variances of the statistics at the reference.
    """

    def __init__(self, x, graph, family, moves_biases, references: Sequence[Reference]) -> None:
        field, data = self.take_data(x, graph, family, moves_biases)
        self.parts = parts = parts_of(field, references, list(blocks_of(x, field.edges)))
        q = len(field.basis)
        self.correlations = np.concatenate([correlations_of(part, q) for part in parts])
        self.view = sample_view(field, data, len(data.t) if moves_biases else 0, parts)
        rows = np.concatenate([data.n[field.edges[:, 0]], np.repeat(data.n, q)])
        self.information = rows * self.view.walls.variances
        self._means = np.empty(len(rows))
        for reference, block, place in parts:
            own = field._replace(edges=block.edges, cells=field.cells[block.which])
            self._means[place] = reference.gap + reference.sample_means(own)
        self._biases = self.view.sample.place[len(data.s) :].copy()
        add_shifts(field, self.view.sample.place[: len(data.s)], -1.0, self._biases)
        self._least_share = 1.0

    def refresh(self, rng) -> None:
        kernels.locate(self.view)
        self._least_share = float(self.view.at.share.min())

    def coordinates(self, active, prior):
        """Centre on the normal approximation at the reference, if its covariance is known and small."""
        view, r = self.view, len(self.view.w)
        at = np.zeros(len(view.at.delta))
        if not view.n_biases:
            at[r:] = view.beta
        expansion = self.expansion(at, np.concatenate([active, np.arange(r, r + view.n_biases)]))
        if expansion is None:
            return super().coordinates(active, prior)
        return posterior_coordinates(expansion, prior, len(active))

    def expansion(self, at, moved):
        """Expand the log-likelihood about the reference, if its covariance is known and small."""
        view = self.view
        if not view.sample.excess.size or len(moved) > MOST_JOINED:
            return None
        slope = np.concatenate([view.data.s, view.data.t]) + HALF_ROW * (view.sample.place - at)
        precision, slope = np.diag(np.full(len(moved), HALF_ROW)), slope[moved]
        for reference, block, place in self.parts:
            own = np.isin(moved, place)
            local = np.searchsorted(place, moved[own])
            rows = len(block.x) * reference.covariance[local]
            precision[np.ix_(own, own)] += rows[:, local]
            slope[own] += rows @ (reference.place - at[place]) - len(block.x) * self._means[place][local]
        return LikelihoodExpansion(precision, slope, self._biases)

    def statistics(self) -> dict[str, float]:
        """Smallest effective share of the weights; error by halves of the sample; distance of the reference.

        The distance is that of the parameters that there are, root mean square over all directions, in
        standard deviations that the rows leave of them.
        """
        view = self.view
        share = min(self._least_share, float(view.at.share.min()))
        rows = view.data.n[view.sample.nodes[:-1]]
        n_parameters = np.count_nonzero(view.w) + len(view.beta)
        error = float(rows @ view.at.apart)
        distance = float(np.sqrt(rows @ view.at.spread / max(n_parameters, 1)))
        return super().statistics() | {"ess": share, "error": error, "distance": distance}

    def shares_at(self, w: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Estimate the shares (d, K) of the states of every node at weights (r,) and biases (d q,)."""
        self.go_to(w, b)
        kernels.locate(self.view)
        for k in range(len(self.parts)):
            fill_shares(self.view.sample, self.view.at, self.view.room.counts, k)
        return self.view.at.shares.copy()

    def told_of_place(self) -> list[np.ndarray]:
        """Shares, spreads and differences of the halves, of the parameters at which they were found last."""
        return [self.view.at.share, self.view.at.spread, self.view.at.apart]

    def measure_noise(self) -> float:
        """Noise of the likelihood at the place where the last move ended.

        Root mean square error of the log-likelihood ratio of each present edge against its absence, at most
        `FAR` standard deviations away, and of two values of a bias one standard deviation apart.
        """
        view = self.view
        kernels.locate(view)
        squares = []
        for k, (reference, block, place) in enumerate(self.parts):
            r, n = len(block.which), len(block.x)
            field = view.field._replace(edges=block.edges, cells=view.field.cells[block.which])
            y = view.at.y[k : k + 1, : view.sample.size[k]]
            beyond = (view.at.delta - view.at.bounded)[None, place]
            by_sample, by_mean = reference.halves_apart(field, y, beyond)[0], reference.apart
            # that of the covariance, times the displacement, whose variance is that of y
            by_covariance = reference.variances * (y.var() / reference.n_squared)
            far = n**2 * (by_sample**2 + by_mean**2 + by_covariance * (reference.excess.size > 0))
            w, variance = view.w[block.which], 1.0 / self.information[place]
            moves = np.concatenate(
                [np.minimum(w**2, FAR**2 * variance[:r]), variance[r:] * bool(view.n_biases)]
            )
            squares.append((far * moves)[moves > 0.0])
        every = np.concatenate(squares)
        return float(np.sqrt(every.mean())) if len(every) else 0.0


class BlockSample(NamedTuple):
    """The sample of a block, its data, and which of all parameters are its own, in its order."""

    reference: Reference
    block: Block
    place: np.ndarray


def parts_of(field: Field, references: Sequence[Reference], blocks: list[Block]) -> list[BlockSample]:
    """Centre the references of some blocks as their `field` is."""
    q, r = len(field.basis), len(field.edges)
    parts = []
    for reference, block in zip(references, blocks, strict=True):
        nodes = np.arange(block.nodes.start * q, block.nodes.stop * q)
        own = reference.recentred(field.centre[block.which], field.lift[nodes], block.edges)
        parts.append(BlockSample(own, block, np.concatenate([block.which, r + nodes])))
    return parts


def correlations_of(part: BlockSample, q: int) -> np.ndarray:
    """Correlations (d, q, q) of the statistics of each node, kept away from singular."""
    (reference, block, _), r = part, len(part.block.which)
    C = np.tile(np.eye(q), (block.x.shape[1], 1, 1))
    if reference.covariance.ndim == 2:
        for i, own in enumerate(C):
            here = slice(r + i * q, r + (i + 1) * q)
            own[:] = reference.covariance[here, here]
    return correlations(C + 0.5 / len(block.x) * np.eye(q))


def node_limits(basis: np.ndarray, d: int) -> np.ndarray:
    """How far biases (d q,) count in the cumulants: of a rare state these say nothing of large changes."""
    return np.tile(kernels.REACH / np.ptp(basis, axis=1), d)


def beyond_node_limits(delta: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """Return how far displacements (T, d q) of biases are beyond `node_limits`, as the kernels count them."""
    q, K = basis.shape
    if q == 0:  # a family without node parameters
        return np.zeros_like(delta)
    own = delta.reshape(len(delta), -1, q)
    if q == K:  # what all states of a node have in common changes nothing
        own = own - own.mean(axis=2, keepdims=True)
    limit = node_limits(basis, own.shape[1]).reshape(-1, q)
    return (own - np.clip(own, -limit, limit)).reshape(delta.shape)


def sample_view(
    field: Field, data: FieldData, n_biases: int, parts: list[BlockSample]
) -> kernels.MonteCarloView:
    """View of a field by the samples of its blocks."""
    (r, n_cells), (d, K) = field.cells.shape, field.floor.shape
    p, B, blocks = r + len(data.t), len(parts), [part.block for part in parts]
    sizes = np.array([part.reference.states.shape[1] for part in parts])
    m, M = int(sizes.max()), field.features.shape[1]
    is_wide = any(not part.reference.excess.size for part in parts)
    sample = Sample(
        size=sizes,
        nodes=np.array([0, *(block.nodes.stop for block in blocks)]),
        edges=np.cumsum([0, *(len(block.which) for block in blocks)]),
        block=np.repeat(np.arange(B), [block.x.shape[1] for block in blocks]),
        states=np.zeros((d, m), dtype=np.int8),
        features=np.zeros((M, d, m), dtype=np.float32),
        place=np.empty(p),
        gap=np.empty(p),
        excess=np.zeros((0, 0) if is_wide else (p, p), dtype=np.float32),
        apart=np.empty(p),
        limit=np.full(p, np.inf),
    )
    walls = kernels.Walls(reach=np.empty(r), variances=np.empty(p))
    for reference, block, place in parts:
        size = reference.states.shape[1]
        sample.states[block.nodes, :size] = reference.states
        values = features_at(field.features[block.nodes], reference.states)
        sample.features[:, block.nodes, :size] = values.swapaxes(0, 1)
        sample.place[place], sample.gap[place] = reference.place, reference.gap
        sample.apart[place] = reference.apart
        walls.variances[place] = np.maximum(reference.variances, 0.5 / len(block.x))
        walls.reach[block.which] = reference.reach
        sample.limit[place[len(block.which) :]] = node_limits(field.basis, block.x.shape[1])
        if not is_wide:
            sample.excess[np.ix_(place, place)] = reference.excess
    at, room = allocate_sample.py_func(sizes, d, p, K)
    looked = np.zeros(2, dtype=np.int64)
    return kernels.MonteCarloView(
        **room_for(field, data, n_biases),
        sample=sample,
        walls=walls,
        at=at,
        pair=kernels.SampledPair(np.zeros(n_cells), np.zeros(2), looked, np.zeros((B, n_cells + 2))),
        room=room,
    )


class MonteCarloGroups(EdgewiseGroups):
    """Engine by a sample of the field at its reference; see `GroupEngine`.

    The same function as the model's log probability, which moves node parameters by NUTS: statistics are not
    centred, and cumulants of edges have limits in place of walls.
    """

    def __init__(
        self, x, graph, family, node_tables, entries, n_entries, *, reference: Reference
    ) -> None:
        super().__init__(x, graph, family, node_tables, entries, n_entries)
        r = graph.n_edges
        engine = MonteCarloEdges(x, graph, family, False, [reference])
        [[self._reference, _, _]] = engine.parts
        engine.view.sample.limit[:r] = self._reference.reach
        engine.view.walls.reach[:] = inf
        self._look_by(engine, family, self.s)

    def place(self) -> np.ndarray:
        """Parameters (r,) of the reference, near which the sample tells of the likelihood."""
        return self._to_entries(self._view.scale * self._reference.place[: self.graph.n_edges])

    def _fill_nodes(self):
        edges = self._view.edges
        edges.beta[:] = node_parameters(edges.field.basis, self.node_tables)

    def learn(self, eta, rng):
        """Points of the sample by their weights at `eta`."""
        weight = self.view(eta).edges.at.weight[0].astype(np.float64)
        which = rng.choice(len(weight), N_REFERENCE, p=weight / weight.sum())
        z, (u, v) = self._view.edges.sample.states[:, which], self.graph.edges.T
        self.reference = self._reference_statistic[z[u], z[v]].copy()

    def goodness(self, eta: np.ndarray) -> tuple[float, float, float]:
        """Effective share of the weights at `eta` (r,), error of the likelihood, distance of the reference.

        The error is half the difference by both halves of the sample, relative to the reference. The distance
        is root mean square over all directions, in standard deviations that the rows leave of parameters.
        """
        edges, at = self._view.edges, self._view.edges.at
        if not np.array_equal(edges.w, eta[self.entries] / self._view.scale):
            self.view(eta)
        distance = np.sqrt(self.n * at.spread[0] / len(at.delta))
        return float(at.share[0]), self.n * float(at.apart[0]), float(distance)

    def noise(self, labels: np.ndarray, values: np.ndarray) -> float:
        """Noise of the likelihood at the `values` (K,) of the groups `labels` (r,).

        Root mean square error of the log-likelihood ratio of two values of an edge, or of a group, one
        standard deviation apart by the likelihood with all others fixed: the larger of both.
        """
        edges, reference, r = self.view(values[labels]).edges, self._reference, self.graph.n_edges
        n, y, beyond = self.n, edges.at.y, (edges.at.delta - edges.at.bounded)[None]
        by_sample, by_mean = reference.halves_apart(edges.field, y, beyond)[0, :r], reference.apart[:r]
        by_covariance = n * float(y.var() / reference.n_squared) * (reference.excess.size > 0)
        groups, of_groups = labels[self.entries], self.information(labels, len(values)).diagonal()
        squares = []
        for own, precision in (
            (np.arange(r), n * reference.variances[:r]),
            (groups, self._view.scale**2 * of_groups),
        ):
            slopes = [np.bincount(own, apart, len(precision)) for apart in (by_sample, by_mean)]
            square = n**2 * np.square(slopes).sum(axis=0) / np.maximum(precision, HALF_ROW)
            squares.append(square[np.unique(own)].mean() + by_covariance)
        return float(np.sqrt(max(squares)))
