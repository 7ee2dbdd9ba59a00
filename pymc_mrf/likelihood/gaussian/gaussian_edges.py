"""The exact likelihood of Gaussian fields as a function of weights and the diagonal of their precision."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels.views import gaussian_edges as kernels
from pymc_mrf.likelihood.data_counts import Data, blocks_of
from pymc_mrf.likelihood.draw_cost import BY_INVERSE, sweeps_in_a_draw
from pymc_mrf.likelihood.edges.edge_engine import (
    LikelihoodExpansion,
    MeasuredEngine,
    posterior_coordinates,
)
from pymc_mrf.likelihood.edges.shared_edges import Share


class BlockScatter(NamedTuple):
    """A block of the first data.

    Attributes
    ----------
    nodes : slice
        Its nodes among those of all blocks.
    n : int
        Number of rows.
    average : (d_b,) array
    scatter : (d_b, d_b) array
        About the average.
    """

    nodes: slice
    n: int
    average: np.ndarray
    scatter: np.ndarray

    @classmethod
    def of_rows(cls, x: np.ndarray, nodes: slice) -> "BlockScatter":
        """Sum rows `x` (n, d_b)."""
        average = x.mean(axis=0)
        return cls(nodes, len(x), average, (x - average).T @ (x - average))


class GaussianLikelihood(MeasuredEngine):
    """Moves of Gaussian fields, given their means.

    The reference of joint moves is the mean of the precisions that tuning has seen.

    Parameters
    ----------
    x : (n, d) array, or list of (n_b, d_b) arrays
        Deviations of the data from their means; of each block if there are several.
    graph : PairwiseGraph
        Of all blocks, one after the other, which no edge joins.
    family : Family
    moves_biases : bool
        Whether the diagonal of the precision is this engine's to move.
    share : Share, optional
        What the vector that is moved is in the weights; by default it is the weights. Edges of one entry are
        in different blocks.

    Attributes
    ----------
    information : (R + D,) array
        Weights of the reference, and its diagonal.
    offset : (R,) array
        What the weights are without the vector: 0 to begin with, to be set before `sweep`.
    """

    view: kernels.GaussianView
    matrix = "the precision of a GaussianMRF"
    takes_share = True
    takes_means = True

    def __init__(self, x, graph, family, moves_biases, share: Share | None = None) -> None:
        R = graph.n_edges
        share = Share(np.arange(R), np.ones(R)) if share is None else share
        used = share.used()
        entries, factors = share.entries[used], share.factors[used]
        r = int(entries.max(initial=-1)) + 1
        first = np.searchsorted(entries, np.arange(r + 1))
        blocks = list(blocks_of(x, graph.edges))
        n_nodes = [block.x.shape[1] for block in blocks]
        starts = np.cumsum([0, *n_nodes])
        cuts = np.cumsum([0, *(len(block.which) for block in blocks)])
        self._blocks = [
            BlockScatter.of_rows(block.x, slice(*nodes))
            for block, nodes in zip(blocks, pairwise(starts.tolist()), strict=True)
        ]
        D, m = starts[-1], max(n_nodes)
        variance = np.concatenate([block.x.var(axis=0) for block in blocks])
        variance[variance == 0.0] = 1.0  # as of one row
        u, v = graph.edges[used].T
        reach = float(np.sqrt(variance[u] * variance[v]).min(initial=np.inf))
        self.view = kernels.GaussianView(
            field=kernels.GaussianField(
                edges=np.concatenate([block.edges for block in blocks]),
                block=np.repeat(np.arange(len(blocks)), np.diff(cuts)),
                first_node=starts,
                first_edge=cuts,
                order=np.arange(r),
                first=first,
                edge=used,
                factor=factors,
                contrast=reach * float(np.abs(factors).max(initial=0.0)),
            ),
            w=np.zeros(r),
            b=np.zeros(D),
            beta=np.zeros(D if moves_biases else 0),
            n_biases=int(D) if moves_biases else 0,
            offset=np.zeros(R),
            weight=np.zeros(R),
            n=np.array([float(len(block.x)) for block in blocks]),
            scatter=np.zeros((D, m)),
            S=np.zeros((D, m)),
            L=np.zeros((max(D, 2), m)),
            look=np.zeros(1, kernels.LOOK).view(np.recarray),
            terms=np.zeros(int(np.diff(first).max(initial=0)), kernels.TERM).view(np.recarray),
        )
        self.offset = np.zeros(R)
        self.set_data(x)
        self.n_repeats = sweeps_in_a_draw(len(used), BY_INVERSE * m**2)
        self.information = np.concatenate([np.zeros(R), 1.0 / variance])

    def set_data(self, x: Data) -> None:
        arrays = x if isinstance(x, list) else [x]
        for own, block in zip(arrays, self._blocks, strict=True):
            self.view.scatter[block.nodes, : own.shape[1]] = own.T @ own

    def set_means(self, shifts):
        """Take the scatter about other means."""
        for shift, block in zip(shifts, self._blocks, strict=True):
            gap = block.average - shift
            self.view.scatter[block.nodes, : len(gap)] = block.scatter + block.n * gap[:, None] * gap

    def go_to(self, w, b) -> None:
        view, field = self.view, self.view.field
        view.w[:], view.b[:], view.offset[:] = w, b, self.offset
        view.weight[:] = self.offset
        view.weight[field.edge] += field.factor * np.repeat(w, np.diff(field.first))
        view.beta[:] = b[: len(view.beta)]

    def edge_parameters(self) -> np.ndarray:
        return self.view.weight.copy()

    def _refresh(self) -> float:
        return kernels.invert(self.view)

    def _parameters(self) -> np.ndarray:
        return np.concatenate([self.view.weight, np.exp(self.view.b)])

    def coordinates(self, active, prior):
        """Centre on the normal approximation at the reference."""
        view, k = self.view, len(active)
        n_moved = k + view.n_biases
        precision, shift = np.zeros((n_moved, n_moved)), np.zeros(n_moved)
        kernels.expand(view, self.information, active, precision, shift)
        log_diagonal = np.log(self.information[len(view.weight) :])
        return posterior_coordinates(LikelihoodExpansion(precision, shift, log_diagonal), prior, k)
