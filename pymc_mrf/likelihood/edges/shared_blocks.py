"""Blocks of parameters that are a part of those of several fields, as `EdgeGibbs` asks for them."""

from collections.abc import Sequence

import numpy as np

from pymc_mrf.kernels.views import shared_blocks as kernels
from pymc_mrf.likelihood.edges.block_edges import BlockEdges
from pymc_mrf.likelihood.edges.edge_engine import EdgeEngine


class SharedBlocks(EdgeEngine):
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

    starts_empty = True

    def __init__(self, fields: Sequence[EdgeEngine], factors: np.ndarray) -> None:
        self._fields, self.offset = fields, np.zeros(factors.size)
        self.is_pseudo = fields[0].is_pseudo  # type: ignore[misc]
        parts = [BlockEdges(field) for field in fields]
        P, width = factors.shape[1], int(np.diff(parts[0].view.field.first).max())
        self._sizes = [len(field.view.b) for field in fields]
        self.view = kernels.SharedBlocks(
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

    def set_data(self, x) -> None:
        for field, own in zip(self._fields, x if isinstance(x, list) else [x], strict=True):
            field.set_data(own)

    def go_to(self, w, b) -> None:
        """Give the view, and the fields, other parameters."""
        view = self.view
        view.w[:], view.b[:] = w, b
        view.offset[:] = self.offset.reshape(view.offset.shape)
        own = np.split(b, np.cumsum(self._sizes)[:-1])
        for field, offset, factors, biases in zip(
            self._fields, view.offset, view.factors, own, strict=True
        ):
            field.go_to(offset + factors * w, biases)

    def refresh(self, rng) -> None:
        for field in self._fields:
            field.refresh(rng)

    def likelihood_precisions(self) -> tuple[np.ndarray, np.ndarray]:
        """Information about every entry (P,); none about biases."""
        return self.information, np.zeros(0)

    def remember(self) -> None:
        for field in self._fields:
            field.remember()

    def told_of_place(self) -> list[np.ndarray]:
        return [array for field in self._fields for array in field.told_of_place()]

    def statistics(self) -> dict[str, float]:
        found = [field.statistics() for field in self._fields]
        worst = {name: max(one[name] for one in found) for name in found[0]}
        return {**worst, "ess": min(one["ess"] for one in found)}

    def measure_noise(self) -> float | None:
        found = [field.measure_noise() for field in self._fields]
        known = [noise for noise in found if noise is not None]
        return float(np.sqrt(np.sum(np.square(known)))) if known else None

    def edge_parameters(self) -> np.ndarray:
        return np.concatenate([field.edge_parameters() for field in self._fields])
