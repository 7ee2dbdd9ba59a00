"""What the two steps of Chen & Welling (2012) share: their engines, and persistent chains in their state."""

import numpy as np
from pymc.step_methods.state import dataclass_state

from pymc_mrf.likelihood.edges.uncentred_edges import ExactFeatures, PersistentFeatures
from pymc_mrf.steps.common.base import MRFStepState
from pymc_mrf.steps.edges.edge_step import EdgeStep

SIMULATION = {"n_particles": 100, "n_sweeps": 1}  # Chen & Welling (2012), sec. 6.2


@dataclass_state
class FeatureStepState(MRFStepState):
    """Everything that changes while a chain runs."""

    particles: np.ndarray


class FeatureStep(EdgeStep):
    """Base of `ReversibleJump` and `PersistentLangevin`, which supply `_move`."""

    serves = ("exact", "particles")
    least_particles = 2
    _state_class = FeatureStepState

    def __init__(self, vars, n_particles: int | None, n_sweeps: int | None, **kwargs) -> None:
        super().__init__(vars, n_particles, n_sweeps, **kwargs)
        [field] = self._fields
        self._field = field
        self._exact: ExactFeatures | None = None
        self._chains: PersistentFeatures | None = None
        self._engine: ExactFeatures | PersistentFeatures
        if self._target.likelihood == "exact":
            self._exact = ExactFeatures(field.x, field.graph, field.family, bool(self._bias_names))
            self._engine = self._exact
        else:
            options = SIMULATION | self._options
            self._chains = PersistentFeatures(field.x, field.graph, field.family, **options)
            self._engine = self._chains

    @property
    def particles(self) -> np.ndarray:
        """States of the chains (n_particles, d), none under the exact likelihood; part of the state."""
        if self._chains is None:
            return np.empty((0, self._field.graph.n_nodes), dtype=np.int8)
        return self._chains.particles.copy()

    @particles.setter
    def particles(self, states: np.ndarray) -> None:
        if self._chains is not None:
            self._chains.particles[:] = states

    def _begin(self, point, w, b, prior):
        if self._chains is not None:
            self._chains.start(w, b, self.rng)
        return w, b
