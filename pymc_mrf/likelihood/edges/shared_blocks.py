"""Blocks of parameters that are a part of those of several fields, as `EdgeGibbs` asks for them."""

from collections.abc import Sequence

import numpy as np

from pymc_mrf.kernels.views import shared_blocks as kernels
from pymc_mrf.likelihood.edges.block_edges import BlockEdges
from pymc_mrf.likelihood.edges.edge_engine import EdgeEngine
from pymc_mrf.likelihood.edges.wrapped_engine import WrappedEngine


class SharedBlocks(WrappedEngine):
    """Engine for a vector with blocks that is a part of the parameters of fields with the same edges.

    Node parameters are not moved.

    Parameters
    ----------
    fields : list of F EdgeEngine
        Of each field, none of which moves its biases.
    factors : (F, P) array
        By which the vector is multiplied.

    Attributes
    ----------
    offset : (F P,) array
        What the parameters of all fields are without the vector: 0 to begin with, to be set before `sweep`.
    """

    def __init__(self, fields: Sequence[EdgeEngine], factors: np.ndarray) -> None:
        super().__init__(*fields)
        self.starts_at_default, self.offset = True, np.zeros(factors.size)  # type: ignore[misc]
        parts = [BlockEdges(field) for field in fields]
        P, width = factors.shape[1], int(np.diff(parts[0].view.field.first).max())
        self._sizes = [len(field.view.b) for field in fields]
        self.view = kernels.SharedBlockView(
            field=fields[0].view.field,
            parts=tuple(part.view for part in parts),
            factors=factors,
            offset=np.zeros(factors.shape),
            w=np.zeros(P),
            b=np.zeros(sum(self._sizes)),
            beta=np.zeros(0),
            n_biases=0,
            at=np.zeros((2, width)),
            g=np.zeros(width),
            H=np.zeros((width, width)),
            slope=np.zeros(P),
            without=np.zeros(1),
        )
        of_fields = np.array([field.likelihood_precisions()[0] for field in fields])
        self.information = (factors**2 * of_fields).sum(axis=0)
        self.correlations = np.zeros((0, 0, 0))

    def go_to(self, w, b) -> None:
        """Give the view, and the fields, other parameters."""
        view = self.view
        view.w[:], view.b[:] = w, b
        view.offset[:] = self.offset.reshape(view.offset.shape)
        own = np.split(b, np.cumsum(self._sizes)[:-1])
        for field, offset, factors, biases in zip(
            self._parts, view.offset, view.factors, own, strict=True
        ):
            field.go_to(offset + factors * w, biases)

    def likelihood_precisions(self) -> tuple[np.ndarray, np.ndarray]:
        """Information about every entry (P,); none about biases."""
        return self.information, np.zeros(0)

    def stretch(self, rng) -> float:
        return 1.0

    def learn(self, weight: float) -> None:
        """Nothing: a joint move asks for `information` alone."""
