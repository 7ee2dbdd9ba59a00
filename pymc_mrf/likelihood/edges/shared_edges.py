"""Edges whose parameters have a common vector as a part, as `EdgeGibbs` asks for them."""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels.views import shared_edges as kernels
from pymc_mrf.kernels.views.questions import centred
from pymc_mrf.likelihood.data_counts import Data
from pymc_mrf.likelihood.edges.edge_engine import EdgeEngine


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


class SharedEdges(EdgeEngine):
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
        self._whole, self.offset = whole, np.zeros(len(share.factors))
        self.is_pseudo = whole.is_pseudo  # type: ignore[misc]
        self.information, self.correlations = whole.information, whole.correlations
        inner = whole.view
        used = np.flatnonzero(share.factors)
        used = used[np.argsort(share.entries[used], kind="stable")]
        self._edge, self._entry, self._factor = used, share.entries[used], share.factors[used]
        visited = inner.field.order[share.factors[inner.field.order] != 0.0]
        self.view = kernels.SharedEdges(
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

    def set_data(self, x: Data) -> None:
        """Bring those of the field up to date."""
        self._whole.set_data(x)

    def refresh(self, rng) -> None:
        """Bring the field up to date."""
        self._whole.refresh(rng)

    def likelihood_precisions(self) -> tuple[np.ndarray, np.ndarray]:
        """Information about every entry (r,), and about the biases."""
        of_edges, of_biases = self._whole.likelihood_precisions()
        information = self._factor**2 * of_edges[self._edge]
        return np.bincount(self._entry, information, len(self.view.w)), of_biases

    def stretch(self, rng) -> float:
        """Ask the engine of the field."""
        return self._whole.stretch(rng)

    def remember(self) -> None:
        """Let the engine of the field remember."""
        self._whole.remember()

    def told_of_place(self) -> list[np.ndarray]:
        """Return those of the field."""
        return self._whole.told_of_place()

    def statistics(self) -> dict[str, float]:
        """Return those of the field."""
        return self._whole.statistics()

    def measure_noise(self) -> float | None:
        """Measure the noise of the field."""
        return self._whole.measure_noise()

    def edge_parameters(self) -> np.ndarray:
        """Return those of the field's edges."""
        return self.view.whole.w.copy()

    def learn(self, weight: float) -> None:
        """Let the engine of the field learn."""
        self._whole.learn(weight)
