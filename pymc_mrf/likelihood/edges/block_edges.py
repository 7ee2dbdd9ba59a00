"""Edges with a block of parameters each, present or absent as a whole, as `EdgeGibbs` asks for them."""

import numpy as np

from pymc_mrf.kernels.views.block_fits import allocate_view
from pymc_mrf.likelihood.edges.edge_engine import EdgeEngine
from pymc_mrf.likelihood.edges.wrapped_engine import WrappedEngine


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
        self._whole = whole
        self.view = allocate_view(whole.view)

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
