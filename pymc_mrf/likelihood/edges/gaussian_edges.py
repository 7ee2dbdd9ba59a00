"""The exact likelihood of Gaussian fields as a function of weights and the diagonal of their precision."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels.edges.hamiltonian import normal_coordinates, prior_precisions
from pymc_mrf.kernels.views import gaussian_edges as kernels
from pymc_mrf.kernels.views.questions import bias_prior
from pymc_mrf.likelihood.data_counts import Data, blocks_of
from pymc_mrf.likelihood.edges.edge_engine import EdgeEngine
from pymc_mrf.likelihood.edges.shared_edges import Share

FREE, MOST_REPEATS = 500_000, 16
"""Operations of all passes over the edges in a step, which then cost about as much as the rest of it, and the
most passes. Edges of scales that measure alike stand in for each other: of 13 scales of 231 people the worst
weight had 155, 424 and 1,110 effective draws of 2,000 by 1, 4 and 16 passes, in 8.7, 8.8 and 11.7 s."""

LOOK = 100  # operations of a pass for each entry, beside the update of an inverse


class Place(NamedTuple):
    """Where the nodes and the edges of a block are among those of all."""

    nodes: slice
    edges: slice


class GaussianLikelihood(EdgeEngine):
    """Moves of Gaussian fields, given their means.

    Joint moves follow the normal approximation of the posterior at a reference, the mean of the precisions
    that tuning has seen. It is no place where chains must stay: it shapes moves, which are corrected.

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

    view: kernels.GaussianEdges
    starts_empty = True
    takes_share = True

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
        self._places = [
            Place(slice(*nodes), slice(*edges))
            for nodes, edges in zip(pairwise(starts.tolist()), pairwise(cuts.tolist()), strict=True)
        ]
        D, m = starts[-1], max(n_nodes)
        variance = np.concatenate([block.x.var(axis=0) for block in blocks])
        variance[variance == 0.0] = 1.0  # as of one row
        u, v = graph.edges[used].T
        reach = float(np.sqrt(variance[u] * variance[v]).min(initial=np.inf))
        self.view = kernels.GaussianEdges(
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
            look=np.zeros(5),
            terms=np.zeros((int(np.diff(first).max(initial=0)), 3)),
        )
        self.offset, self._entry = np.zeros(R), entries
        self._terms = [np.flatnonzero((used >= low) & (used < high)) for low, high in pairwise(cuts)]
        self.set_data(x)
        self.n_repeats = repeats(len(used), m)
        self.information = np.concatenate([np.zeros(R), 1.0 / variance])

    def set_data(self, x: Data) -> None:
        """Take other deviations of the same shapes."""
        arrays = x if isinstance(x, list) else [x]
        for own, place in zip(arrays, self._places, strict=True):
            self.view.scatter[place.nodes, : own.shape[1]] = own.T @ own

    def go_to(self, w, b) -> None:
        """Give the view other parameters."""
        view, field = self.view, self.view.field
        view.w[:], view.b[:], view.offset[:] = w, b, self.offset
        view.weight[:] = self.offset
        view.weight[field.edge] += field.factor * np.repeat(w, np.diff(field.first))
        view.beta[:] = b[: len(view.beta)]

    def edge_parameters(self) -> np.ndarray:
        """Return the weights of all edges."""
        return self.view.weight.copy()

    def refresh(self, rng) -> None:
        """Compute the inverse of the precision anew.

        Raises
        ------
        ValueError
            If the precision is not positive definite, as only that of a start can be.
        """
        if not np.isfinite(kernels.invert(self.view)):
            raise ValueError(
                "the precision of a GaussianMRF is not positive definite at the start of a chain: start from "
                "smaller weights or a larger diagonal, as in pm.sample(initvals={...})"
            )

    def coordinates(self, active, prior):
        """Centre on the normal approximation at the reference."""
        view, k = self.view, len(active)
        log_diagonal = np.log(self.information[len(view.weight) :])
        of_biases, by_bias = np.zeros((2, len(view.b)))
        of_slab = prior_precisions(prior, of_biases)
        precision, shift = np.zeros((k + view.n_biases,) * 2), np.zeros(k + view.n_biases)
        precision[np.arange(k), np.arange(k)] = of_slab
        shift[:k] = of_slab * prior.slab.location
        if view.n_biases:
            bias_prior(prior.bias, log_diagonal, by_bias)
            precision[np.arange(k, len(shift)), np.arange(k, len(shift))] = of_biases
            shift[k:] = of_biases * log_diagonal + by_bias
        for block in range(len(self._places)):
            self._add_block(block, active, precision, shift)
        return normal_coordinates(np.linalg.solve(precision, shift), precision)

    def _add_block(self, k: int, active: np.ndarray, precision: np.ndarray, shift: np.ndarray) -> None:
        """Add the expansion of the log-likelihood of block k at the reference.

        To the `precision` (N, N) and to the `shift` (N,), precision times mean, of the entries `active` and
        of the log of the diagonal, if it is moved.
        """
        view, field, (nodes, edges) = self.view, self.view.field, self._places[k]
        R, (u, v) = len(view.weight), field.edges[edges].T
        r, w, diagonal = len(u), self.information[:R][edges], self.information[R:][nodes]
        K = np.diag(diagonal)
        K[u, v] = K[v, u] = -w
        S, T, n = np.linalg.inv(K), view.scatter[nodes, : len(K)], view.n[k]
        slope = np.concatenate([T[u, v] - n * S[u, v], 0.5 * diagonal * np.diag(n * S - T)])
        column = np.full(len(view.w), -1)
        column[active] = np.arange(len(active))
        terms = self._terms[k][column[self._entry[self._terms[k]]] >= 0]
        moved, columns = field.edge[terms] - edges.start, column[self._entry[terms]]
        factor, held = field.factor[terms], np.zeros(r + len(K))
        held[:r] = view.offset[edges]
        if view.n_biases:
            places = np.arange(nodes.start, nodes.stop) + len(active)
            moved = np.concatenate([moved, np.arange(r, r + len(K))])
            columns, factor = np.concatenate([columns, places]), np.append(factor, np.ones(len(K)))
        else:
            held[r:] = view.b[nodes]
        curvature = np.empty((len(moved), r + len(K)))
        kernels.fill_curvature(field.edges[edges], K, S, moved, curvature)
        curvature *= n
        from_held = np.concatenate([w, np.log(diagonal)]) - held
        shift[columns] += factor * (curvature @ from_held + slope[moved])
        precision[np.ix_(columns, columns)] += factor[:, None] * factor * curvature[:, moved]

    def stretch(self, rng) -> float:
        """Up to twice as far: always twice would be half an oscillation, which leaves distances alone."""
        return rng.uniform(1.0, 2.0)

    def learn(self, weight: float) -> None:
        """Let the reference follow the chain; a mean of positive definite matrices is one."""
        now = np.concatenate([self.view.weight, np.exp(self.view.b)])
        self.information += weight * (now - self.information)


def repeats(n_terms: int, n_nodes: int) -> int:
    """Count the passes over entries of so many terms in a step, of fields of so many nodes at most."""
    return int(np.clip(FREE // max(n_terms * (LOOK + n_nodes**2), 1), 1, MOST_REPEATS))
