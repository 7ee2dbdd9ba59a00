"""Edges whose parameters have a common vector as a part, as `EdgeGibbs` asks for them."""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels.views import shared_edges as kernels
from pymc_mrf.kernels.views.questions import centred
from pymc_mrf.likelihood.edges.edge_engine import EdgeEngine, posterior_coordinates
from pymc_mrf.likelihood.edges.wrapped_engine import WrappedEngine


class Share(NamedTuple):
    """What a vector is in the parameters of edges.

    The parameter of edge e is factors[e] times entry entries[e], plus an offset that does not depend on the
    vector.

    Attributes
    ----------
    entries : (r,) int64 array
    factors : (r,) array
    """

    entries: np.ndarray
    factors: np.ndarray

    def used(self) -> np.ndarray:
        """Edges whose factors are not 0, those of an entry after one another."""
        used = np.flatnonzero(self.factors)
        return used[np.argsort(self.entries[used], kind="stable")]


class SharedEdges(WrappedEngine):
    """Engine of the edge sampler for a vector that is a part of the parameters of edges.

    Parameters
    ----------
    whole : EdgeEngine
        Of the field, exact or of the pseudo-likelihood; of several fields as blocks of one.
    share : Share
        Edges of one entry are in different blocks.
    n_entries : int
        Length of the vector.

    Attributes
    ----------
    offset : (r,) array
        What the edge parameters are without the vector: 0 to begin with, to be set before `sweep`.
    """

    def __init__(self, whole: EdgeEngine, share: Share, n_entries: int) -> None:
        super().__init__(whole)
        self._whole = whole
        self.offset = np.zeros(len(share.factors))
        inner = whole.view
        used = share.used()
        self._edge, self._entry, self._factor = used, share.entries[used], share.factors[used]
        visited = inner.field.order[share.factors[inner.field.order] != 0.0]
        self.view = kernels.SharedView(
            field=kernels.SharedTerms(
                order=np.array(list(dict.fromkeys(share.entries[visited].tolist())), dtype=np.int64),
                contrast=float(np.abs(self._factor).max() * inner.field.contrast),
                first=np.searchsorted(self._entry, np.arange(n_entries + 1)),
                edge=self._edge,
                factor=self._factor,
            ),
            whole=inner,
            w=np.zeros(n_entries),
            b=inner.b,
            beta=inner.beta,
            n_biases=inner.n_biases,
            offset=np.zeros(len(used)),
            base=np.zeros(len(used)),
            score=np.zeros(n_entries),
            information=np.zeros(n_entries),
            edges=np.zeros(len(used), dtype=np.int64),
            slope=np.zeros(len(used) + inner.n_biases),
            tilt=np.zeros(inner.n_biases),
        )

    def go_to(self, w, b) -> None:
        """Give the view other parameters."""
        view, inner = self.view, self.view.whole
        view.w[:], view.b[:] = w, b
        view.offset[:] = self.offset[self._edge]
        inner.w[:] = self.offset
        inner.w[self._edge] = view.offset + self._factor * w[self._entry]
        centred(inner.field, inner.w, inner.b, inner.beta)

    def coordinates(self, active, prior):
        """Centre on a normal approximation, if the engine of the field has one."""
        view, R, k = self.view, len(self.offset), len(active)
        column = np.full(len(view.w), -1)
        column[active] = np.arange(k)
        terms = np.flatnonzero(column[self._entry] >= 0)
        at = np.concatenate([self.offset, np.zeros(len(view.beta)) if view.n_biases else view.beta])
        n, moved = len(terms), np.concatenate([self._edge[terms], R + np.arange(view.n_biases)])
        expansion = self._whole.expansion(at, moved)
        if expansion is None:
            return super().coordinates(active, prior)
        by_entry = np.zeros((len(moved), k + view.n_biases))  # slopes of what is moved
        by_entry[np.arange(n), column[self._entry[terms]]] = self._factor[terms]
        by_entry[n + np.arange(view.n_biases), k + np.arange(view.n_biases)] = 1.0
        own = expansion._replace(
            precision=by_entry.T @ expansion.precision @ by_entry, slope=by_entry.T @ expansion.slope
        )
        return posterior_coordinates(own, prior, k)

    def likelihood_precisions(self) -> tuple[np.ndarray, np.ndarray]:
        """Information about every entry (r,), and about the biases."""
        of_edges, of_biases = self._whole.likelihood_precisions()
        information = self._factor**2 * of_edges[self._edge]
        return np.bincount(self._entry, information, len(self.view.w)), of_biases
