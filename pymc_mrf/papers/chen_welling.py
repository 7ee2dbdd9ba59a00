"""What the two steps of Chen & Welling (2012) share: their engine, and persistent chains in their state."""

from typing import ClassVar

import numpy as np

from pymc_mrf.distributions.likelihood import APPROXIMATE, EXACT
from pymc_mrf.likelihood.exact.likelihood import Exact
from pymc_mrf.likelihood.particles.likelihood import Particles
from pymc_mrf.papers.engines.chen_welling import (
    ChenWellingEngine,
    ExactChenWelling,
    PersistentChenWelling,
)
from pymc_mrf.steps.edges.edge_step import EdgeStep

SIMULATION = {"n_particles": 100, "n_sweeps": 1}  # Chen & Welling (2012), sec. 6.2


class ChenWellingStep(EdgeStep):
    """Base of `ReversibleJump` and `PersistentLangevin`, which supply `_move`."""

    invariant: ClassVar = {Exact: EXACT, Particles: APPROXIMATE}
    least_particles = 2
    remembers: ClassVar[tuple[str, ...]] = ("particles",)

    def __init__(self, vars, n_particles: int | None, n_sweeps: int | None, **kwargs) -> None:
        super().__init__(vars, n_particles, n_sweeps, **kwargs)
        [field] = self._fields
        self._field = field
        moves_biases = bool(self._bias_names)
        self._engine: ChenWellingEngine
        if not self._target.likelihood.is_intractable:
            self._engine = ExactChenWelling(field.x, field.graph, field.family, moves_biases)
        else:
            options = SIMULATION | self._options
            self._engine = PersistentChenWelling(
                field.x, field.graph, field.family, moves_biases, **options
            )

    @property
    def particles(self) -> np.ndarray:
        """States of the chains (n_particles, d), none under the exact likelihood; part of the state."""
        return self._engine.particles.copy()

    @particles.setter
    def particles(self, states: np.ndarray) -> None:
        self._engine.particles[:] = states

    def _begin(self, point, w, b, prior):
        self._engine.start(w, b, self.rng)
        return w, b
