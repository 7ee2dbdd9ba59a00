"""What the steps for edges share: the variables and the field they find, the prior, the start of a chain."""

from abc import abstractmethod
from typing import Any

import numpy as np

from pymc_mrf.steps.base import MRFStep
from pymc_mrf.steps.edge_prior import EdgePriorReader
from pymc_mrf.steps.edge_target import edge_target, simulation_options, warn_of_constant_columns


class EdgeStep(MRFStep):
    """Base of the steps for `SpikeAndSlab` weights of an observed field, and for its biases.

    A subclass says which kinds of likelihood it `serves` and supplies `_move`.
    """

    serves: tuple[str, ...] = ()
    least_particles: int = 1

    def __init__(self, vars, n_particles: int | None, n_sweeps: int | None, **kwargs) -> None:
        super().__init__(vars, **kwargs)
        model = self._model
        rvs = [model.values_to_rvs[value] for value in self.vars]
        self._target = edge_target(rvs, model, type(self).__name__, self.serves)
        rv, bias_rv, field, likelihood = self._target
        self._options = simulation_options(
            field, likelihood, n_particles, n_sweeps, self.least_particles
        )
        self._field = field
        self._held = [field.held]
        self._name = model.rvs_to_values[rv].name
        self._bias_name = None if bias_rv is None else model.rvs_to_values[bias_rv].name
        self._prior = EdgePriorReader(
            rv, bias_rv, field.node_parameter, field.graph.n_nodes, model, self._compile_kwargs
        )
        warn_of_constant_columns(field)

    def _update(self, point):
        prior, b = self._prior.read(point)
        w = np.array(point[self._name], dtype=np.float64)
        if not self.started:
            w, b = self._begin(point, w, b, prior)
            self.started = True
        stats, moved = self._move(w, b, prior)
        new = {**point, self._name: w}
        if self._bias_name is not None:
            new[self._bias_name] = b
        return new, stats, moved

    @abstractmethod
    def _begin(self, point, w, b, prior) -> tuple[np.ndarray, np.ndarray]:
        """Prepare a chain that starts at weights `w` (r,) and biases `b` (d,); return its start."""

    @abstractmethod
    def _move(self, w, b, prior) -> tuple[dict[str, Any], bool]:
        """Change `w` (r,) and `b` (d,) in place; the statistics, and whether anything moved."""
