"""Edges with a block of parameters each, present or absent as a whole, as `EdgeGibbs` asks for them."""

from typing import Any

import numpy as np

from pymc_mrf.kernels.edges import block_fits  # noqa: F401  (registers what moves make of vectors)
from pymc_mrf.kernels.views import block_edges as kernels
from pymc_mrf.kernels.views import shared_blocks, table_blocks  # noqa: F401  (register answers of views)
from pymc_mrf.likelihood.edges.edge_engine import EdgeEngine
from pymc_mrf.likelihood.edges.wrapped_engine import WrappedEngine

CONTRAST = 2.0
"""Largest change of the log odds of a pair by a block of length 1, for orthonormal contrasts of both ends."""


class BlockEdges(WrappedEngine):
    """Engine of the edge sampler for edges with blocks of parameters.

    Joint moves are those of the engine of the single parameters.

    Parameters
    ----------
    whole : EdgeEngine
        Of the field, each parameter of a block as an edge of its own.
    """

    def __init__(self, whole: EdgeEngine) -> None:
        super().__init__(whole)
        inner: Any = whole.view
        pair = inner.field.pair
        sizes = np.bincount(pair)
        self._whole = whole
        self.view = kernels.BlockEdges(
            field=kernels.Blocks(
                order=np.array(list(dict.fromkeys(pair[inner.field.order].tolist())), dtype=np.int64),
                first=np.concatenate([[0], np.cumsum(sizes)]),
                contrast=CONTRAST,
            ),
            whole=inner,
            w=inner.w,
            b=inner.b,
            beta=inner.beta,
            n_biases=inner.n_biases,
            room=kernels.allocate_room(int(sizes.max()), inner.field.cells.shape[1]),
        )

    def present(self, w: np.ndarray) -> np.ndarray:
        """Whether each edge (r,) is present at parameters `w` (P,)."""
        return w[self.view.field.first[:-1]] != 0.0

    def go_to(self, w, b) -> None:
        self._whole.go_to(w, b)

    def set_offset(self, offset: np.ndarray) -> None:
        self._whole.set_offset(offset)

    def joint(self, w, b, prior, step, n_steps, rng, enters=False):
        """Move the parameters of all present edges, and the biases, as those of single edges."""
        return self._whole.joint(w, b, prior, step, n_steps, rng, enters)
