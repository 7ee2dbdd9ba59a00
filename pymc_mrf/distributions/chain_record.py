"""What changes while a chain runs, told by the names of attributes, so that a chain can be resumed.

How far it is, too, and what it finds out about a likelihood.
"""

from dataclasses import make_dataclass
from typing import Any, ClassVar

import numpy as np
from pymc.step_methods.state import WithSamplingState

COUPLING_DRAWS = 20
"""Draws, about, at which noise is measured, and couplings are looked at under a pseudo-likelihood."""

LEAST_DRAWS = 50
"""Draws below which a variable may stand still by chance."""


class Remembering(WithSamplingState):
    """Base of all that has a state in a chain, which PyMC saves and restores.

    Attributes
    ----------
    remembers : tuple of str
        Attributes that change while a chain runs, beside those of the base classes.
    """

    remembers: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **kwargs) -> None:
        """Make the dataclass of the state that PyMC asks for."""
        super().__init_subclass__(**kwargs)
        own = [(name, Any) for name in cls.__dict__.get("remembers", ())]
        state = make_dataclass("State", own, bases=(cls._state_class,), kw_only=True)
        # where pickle finds it
        state.__module__, state.__qualname__ = cls.__module__, f"{cls.__qualname__}._state_class"
        cls._state_class = state


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


def is_kept(count: ChainCount) -> bool:
    """Whether the next draw is one of `COUPLING_DRAWS`."""
    return count.n_draws % max(count.length // COUPLING_DRAWS, 1) == 0


class SampleRecord(Remembering):
    """What the draws of a chain have found out about a likelihood: the base is that of estimated ones.

    Attributes
    ----------
    squares, squared_distances : list of float
        Of the noise, and of the distances of the sample from where it should be, of all draws; those have the
        signs of the distances, which are negative where noise alone would be farther.
    measured_noise : float
        That was measured last, now and then.
    least_share : float
        Smallest effective share of the weights.
    """

    remembers: ClassVar[tuple[str, ...]] = (
        "squares",
        "measured_noise",
        "least_share",
        "squared_distances",
    )

    def __init__(self) -> None:
        self.squares: list[float] = []
        self.measured_noise, self.least_share = 0.0, 1.0
        self.squared_distances: list[float] = []

    def add(self, noise: float, share: float, distance: float) -> None:
        """Add a draw."""
        self.squares.append(noise**2)
        self.least_share = min(self.least_share, share)
        self.squared_distances.append(distance * abs(distance))

    def add_edges(
        self, present: np.ndarray, log_odds: np.ndarray, parameters: np.ndarray | None
    ) -> None:
        """Add the edges (r,) of a draw, and the log odds of each a priori; nothing by default.

        `parameters`: of all edges of all fields, at some of the draws.
        """

    @property
    def noise(self) -> float:
        """Noise, root mean square over the draws."""
        return float(np.sqrt(np.mean(self.squares)))

    @property
    def distance(self) -> float:
        """Distance from where the sample should be, root mean square over the draws."""
        return float(np.sqrt(max(np.mean(self.squared_distances), 0.0)))
