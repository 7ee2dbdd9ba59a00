"""What `EdgeGibbs` asks of an engine: the likelihood of one binary field and its data, by edges."""

from typing import ClassVar

import numpy as np

from pymc_mrf.fields.families import Family
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.edge_slab import EdgePrior


class EdgeEngine:
    """Base of the engines of the edge sampler.

    A subclass supplies `__init__`, `sweep`, `joint` and `information`, and what else is not as here: nothing
    estimated, nothing learnt, nothing remembered from step to step.

    Parameters
    ----------
    x : (n, d) int8 array
        Observed state indices, 0 or 1.
    graph : PairwiseGraph
        Candidate edges.
    family : Family
        ``ISING`` or ``BOLTZMANN``.
    moves_biases : bool
        Whether the node parameters are this engine's to move.
    **options : int
        Options of its own.

    Attributes
    ----------
    information : array
        What the lengths of joint moves are scaled by, of a shape that is the engine's own; `learn` may change
        it in place.
    assumes_weak_couplings : bool
        Whether the moves are far from the posterior where couplings are strong
        (`pymc_mrf.fields.coupling_strength`).
    """

    information: np.ndarray
    assumes_weak_couplings: ClassVar[bool] = False

    def __init__(
        self, x: np.ndarray, graph: PairwiseGraph, family: Family, moves_biases: bool, **options: int
    ) -> None:
        raise NotImplementedError

    def sweep(self, w, b, prior: EdgePrior, rng, corrected: bool = True) -> tuple[int, int]:
        """Update every edge in turn; `w` (r,) and `b` (d,) are changed in place.

        Without the Metropolis-Hastings correction if not `corrected`. Returns the numbers of proposals that
        would change an edge, and of those accepted.
        """
        raise NotImplementedError

    def joint(self, w, b, prior: EdgePrior, step: float, n_steps: int, rng) -> float:
        """Move all present edges and the biases jointly, in place, after `sweep`.

        By `n_steps` leapfrog steps of length `step`. Returns the acceptance probability, NaN if there is
        nothing to move.
        """
        raise NotImplementedError

    def learn_sweep(self) -> None:
        """Learn from the last `sweep`; called in tuning only."""

    def learn(self, weight: float) -> None:
        """Learn from the last `joint` with this weight of the present; called in tuning only."""

    @property
    def n_particles(self) -> int:
        """Number of particles, 0 if nothing is simulated."""
        return 0

    def statistics(self) -> dict[str, float]:
        """How the estimates since the beginning of the last `sweep` fared.

        The "noise" of log-likelihood ratios, the smallest effective size ("ess") relative to the particles,
        and the number of "resamplings".
        """
        return {"noise": 0.0, "ess": 1.0, "resamplings": 0}

    def get_state(self) -> tuple[np.ndarray, ...]:
        """Copy all that is remembered from step to step, besides `information`."""
        return ()

    def set_state(self, *state: np.ndarray) -> None:
        """Restore what `get_state` gave."""

    def forget(self) -> None:
        """Unlearn and forget everything, besides `information`."""
