"""How far a chain is, and what steps tell of an estimated likelihood."""

from pymc_mrf.distributions.chain_record import Remembering
from pymc_mrf.likelihood.monte_carlo.checks import COMPARE, EDGE_NOISE, FARTHEST, LEAST_SHARE
from pymc_mrf.steps.common.statistics import LEAST_DRAWS, Healthy, Statistic

COUPLING_DRAWS = 20
"""Draws, about, at which noise is measured, and couplings are looked at under a pseudo-likelihood."""


class ChainCount(Remembering):
    """The draws of a chain, and whether any of them moved the variable of a step.

    Parameters
    ----------
    tune, draws : int
        Steps of the chain before and after the end of tuning.

    Attributes
    ----------
    n_tuning, length : int
        These two numbers.
    n_left, n_draws : int
        Steps that are left; draws so far.
    """

    remembers = ("n_tuning", "length", "n_left", "n_draws", "moved")

    def __init__(self, tune: int = 0, draws: int = 0) -> None:
        self.n_tuning, self.length, self.n_left = tune, draws, tune + draws
        self.n_draws, self.moved = 0, False

    def add(self, tune: bool, moved: bool) -> bool:
        """Count a step; whether the chain ends with it."""
        self.n_left -= 1
        if not tune:
            self.n_draws += 1
            self.moved = self.moved or moved
        return self.n_left == 0

    @property
    def is_first(self) -> bool:
        """Whether the next step is the first of a chain."""
        return self.n_left == self.n_tuning + self.length > 0

    @property
    def has_just_tuned(self) -> bool:
        """Whether the next draw is the first after tuning."""
        return self.n_tuning > 0 and self.n_draws == 0

    @property
    def stood_still(self) -> bool:
        """Whether no draw moved the variable, although there were enough of them."""
        return not self.moved and self.n_draws >= LEAST_DRAWS


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


def is_kept(count: ChainCount) -> bool:
    """Whether the next draw is one of `COUPLING_DRAWS`."""
    return count.n_draws % max(count.length // COUPLING_DRAWS, 1) == 0
