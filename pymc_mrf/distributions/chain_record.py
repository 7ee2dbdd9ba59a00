"""What changes while a chain runs, told by the names of attributes, so that a chain can be resumed.

And what chains find out about a likelihood.
"""

from dataclasses import make_dataclass
from typing import Any, ClassVar

import numpy as np
from pymc.step_methods.state import WithSamplingState


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
