"""What the two steps of Chen & Welling (2012) share: the field they find, its prior, their chains."""

from typing import Any

import numpy as np
import pymc as pm
from pymc.step_methods.compound import BlockedStep, Competence
from pymc.util import get_random_generator, get_value_vars_from_user_vars

from pymc_mrf.likelihood.uncentred_edges import ExactFeatures, PersistentFeatures
from pymc_mrf.steps.chain_report import ChainCount, chain_warning
from pymc_mrf.steps.edge_prior import EdgePriorReader
from pymc_mrf.steps.edge_target import edge_target, simulation_options, warn_of_constant_columns
from pymc_mrf.steps.pymc_steps import check_step_arguments, warm_up

LIKELIHOODS = ("exact", "particles")
SIMULATION = {"n_particles": 100, "n_sweeps": 1}  # Chen & Welling (2012), sec. 6.2


class FeatureStep(BlockedStep):
    """Base of `ReversibleJump` and `PersistentLangevin`.

    A subclass supplies `_move`, `_complaints`, its state class and its statistics, among them "warning", and
    calls `_warm_up` at the end of its `__init__`.
    """

    default_blocked = True

    def __new__(cls, vars, *args, **kwargs):
        """Refuse variables and models that PyMC would refuse with fewer words."""
        check_step_arguments(cls.__name__, vars, kwargs.get("model"))
        return super().__new__(cls, vars, *args, **kwargs)

    def __init__(
        self,
        vars,
        n_particles: int | None,
        n_sweeps: int | None,
        model: pm.Model | None,
        initial_point: dict[str, np.ndarray] | None,
        compile_kwargs: dict[str, Any] | None,
        rng,
    ) -> None:
        model = pm.modelcontext(model)
        self.vars = get_value_vars_from_user_vars(vars, model)
        self.rng = get_random_generator(rng)
        rvs = [model.values_to_rvs[value] for value in self.vars]
        rv, bias_rv, field, likelihood = edge_target(rvs, model, type(self).__name__, LIKELIHOODS)
        options = SIMULATION | simulation_options(field, likelihood, n_particles, n_sweeps, 2)
        self._field = field
        self._name = model.rvs_to_values[rv].name
        self._bias_name = None if bias_rv is None else model.rvs_to_values[bias_rv].name
        self._prior = EdgePriorReader(
            rv, bias_rv, field.node_parameter, field.graph.n_nodes, model, compile_kwargs
        )
        self._slab = rv.owner.op.slab
        warn_of_constant_columns(field, stacklevel=4)
        self._exact: ExactFeatures | None = None
        self._chains: PersistentFeatures | None = None
        self._engine: ExactFeatures | PersistentFeatures
        if likelihood == "exact":
            self._exact = ExactFeatures(field.x, field.graph, field.family, bias_rv is not None)
            self._engine = self._exact
        else:
            self._chains = PersistentFeatures(field.x, field.graph, field.family, **options)
            self._engine = self._chains
        self._point = model.initial_point() if initial_point is None else initial_point

    def _warm_up(self) -> None:
        """Take a step and forget it."""
        self._reset()
        warm_up(self, self._point)
        self._reset()

    def _reset(self) -> None:
        """Forget everything learnt."""
        self.tune = True
        self.started = False
        self.count = ChainCount()

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

    @staticmethod
    def competence(var, has_grad):
        """Only on request."""
        return Competence.INCOMPATIBLE

    def setup_chain(self, rng, tune: int, draws: int) -> None:
        """Forget the previous chain; refuse data set since the step was made."""
        self._field.held.check_unchanged()
        super().setup_chain(rng, tune, draws)
        self._reset()
        self.count = ChainCount(tune, draws)
        self.tune = tune > 0

    def step(self, point):
        """Move the variables of this step."""
        prior, b = self._prior.read(point)
        w = np.array(point[self._name], dtype=np.float64)
        if not self.started:
            if self._chains is not None:
                self._chains.start(w, b, self.rng)
            self.started = True
        stats, moved = self._move(w, b, prior)
        ends = self.count.add(self.tune, moved)
        stats["warning"] = chain_warning(self._complaints()) if ends else None
        new = {**point, self._name: w}
        if self._bias_name is not None:
            new[self._bias_name] = b
        return new, [stats]

    def _move(self, w, b, prior) -> tuple[dict[str, Any], bool]:
        """Change `w` (r,) and `b` (d,) in place; the statistics, and whether anything moved."""
        raise NotImplementedError

    def _complaints(self) -> list[str]:
        """Say what speaks against the chain that ends here, each with its remedy."""
        raise NotImplementedError
