"""What steps find out about an estimated likelihood, and how often they look."""

import numpy as np

from pymc_mrf.likelihood.monte_carlo.checks import COMPARE, EDGE_NOISE, FARTHEST, LEAST_SHARE
from pymc_mrf.steps.common.chain_state import ChainCount, Remembering
from pymc_mrf.steps.common.statistics import Healthy, Statistic

COUPLING_DRAWS = 20
"""Draws, about, at which noise is measured, and couplings are looked at under a pseudo-likelihood."""


def sample_statistics(more: str, nearer: str) -> tuple[Statistic, ...]:
    """Declare what steps tell of an estimated likelihood, with remedies for noise and for few points."""
    return (
        Statistic(
            "noise",
            "noise of the log ratio",
            Healthy(more, high=EDGE_NOISE, reduce="rms"),
            estimated="noise",
        ),
        Statistic(
            "ess",
            "effective share of the sample",
            Healthy(nearer, low=LEAST_SHARE, reduce="min"),
            estimated="noise",
        ),
        Statistic("error", "error of the log-likelihood", estimated="noise"),
        Statistic(
            "distance",
            "distance from the reference",
            Healthy(COMPARE, high=FARTHEST, reduce="rms"),
            estimated="noise",
        ),
    )


class SampleRecord(Remembering):
    """What the draws of a chain have found out about an estimated likelihood.

    Attributes
    ----------
    squares, squared_distances : list of float
        Of the noise, and of the distances from the reference, of all draws.
    measured_noise : float
        That was measured last, of one of `COUPLING_DRAWS`.
    least_share : float
        Smallest effective share of the weights.
    """

    remembers = ("squares", "measured_noise", "least_share", "squared_distances")

    def __init__(self) -> None:
        self.squares: list[float] = []
        self.measured_noise, self.least_share = 0.0, 1.0
        self.squared_distances: list[float] = []

    def add(self, noise: float, share: float, distance: float) -> None:
        """Add a draw."""
        self.squares.append(noise**2)
        self.least_share = min(self.least_share, share)
        self.squared_distances.append(distance**2)

    @property
    def noise(self) -> float:
        """Noise, root mean square over the draws."""
        return float(np.sqrt(np.mean(self.squares)))

    @property
    def distance(self) -> float:
        """Distance from the reference, root mean square over the draws."""
        return float(np.sqrt(np.mean(self.squared_distances)))


def is_kept(count: ChainCount) -> bool:
    """Whether the next draw is one of `COUPLING_DRAWS`."""
    return count.n_draws % max(count.length // COUPLING_DRAWS, 1) == 0
