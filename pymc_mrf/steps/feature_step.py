"""What the two steps of Chen & Welling (2012) share: the field they find, its prior, their chains."""

import warnings
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
from pymc.step_methods.compound import BlockedStep, Competence
from pymc.util import get_random_generator, get_value_vars_from_user_vars

from pymc_mrf.distributions.mrf_rv import field_node
from pymc_mrf.likelihood.uncentred_edges import ExactFeatures, PersistentFeatures
from pymc_mrf.steps.edge_gibbs import bias_variable, is_spike_and_slab
from pymc_mrf.steps.edge_prior import EdgePriorReader
from pymc_mrf.steps.observed_field import ObservedField, children

LIKELIHOODS = ("exact", "particles")


class EdgeTarget(NamedTuple):
    """Variables of an edge sampler, and the field whose edges they are."""

    rv: Any
    bias_rv: Any
    field: ObservedField
    likelihood: str


def edge_target(rvs, model: pm.Model, step: str, likelihoods: tuple[str, ...]) -> EdgeTarget:
    """Find the spike-and-slab variable and the biases among `rvs`, and check all that can be.

    Raises
    ------
    TypeError, ValueError
        If there is not one spike-and-slab variable, the edge parameter of one observed field with two
        states and a suitable likelihood, or anything beside it that is not the biases of that field.
    """
    found = [rv for rv in rvs if is_spike_and_slab(rv)]
    if len(found) != 1:
        names = ", ".join(rv.name for rv in rvs)
        raise TypeError(f"{step} samples one pymc_mrf.SpikeAndSlab, but got {names}")
    [rv] = found
    nodes = [field_node(child) for child in children(rv, model)]
    nodes = [node for node in nodes if node is not None]
    if not nodes:
        raise ValueError(
            f"{rv.name} is a SpikeAndSlab that reaches no Markov random field, and {step} samples edges "
            "of a field: pass it as the weight to pymc_mrf.BoltzmannMachine or as the coupling to "
            "pymc_mrf.Ising with `observed` data"
        )
    for given in rvs:
        if model.rvs_to_transforms[given] is not None:
            raise ValueError(
                f"{step} moves values as they are, but {given.name} has a transform: declare it without "
                "`transform`"
            )
    if rv.ndim != 1:
        raise ValueError(
            f"{step} samples one vector of parameters, but {rv.name} has {rv.ndim} dimensions"
        )
    if model.rvs_to_values[rv].dtype != "float64":
        raise ValueError(
            f"{step} needs double precision, but {rv.name} is {rv.dtype}; "
            'set pytensor.config.floatX = "float64"'
        )
    field = ObservedField(rv, model, step, likelihoods)
    if field.family.name not in ("ising", "boltzmann"):
        raise ValueError(
            f"{step} samples couplings of Ising and weights of BoltzmannMachine, but {rv.name} is "
            f"the {field.family.edge_parameter} of {field.name}"
        )
    others = [other for other in rvs if other is not rv]
    biases = bias_variable(rv, model)
    for other in others:
        if other is not biases:
            raise ValueError(
                f"{step} moves the {field.family.node_parameter} of {field.name} if it is a vector of "
                "one free pm.Normal, pm.Cauchy, pm.StudentT or pm.Laplace variable that feeds nothing "
                f"else; {other.name} is not: leave it out of `vars`, as in {step}([{rv.name}])"
            )
    return EdgeTarget(rv, others[0] if others else None, field, nodes[0].op.likelihood)


def warn_of_constant_columns(field: ObservedField, stacklevel: int) -> None:
    """Warn if a variable never changes in the data."""
    constant = np.flatnonzero((field.x == field.x[0]).all(axis=0))
    if len(constant):
        labels = ", ".join(str(field.graph.nodes[i]) for i in constant[:5])
        more = f" and {len(constant) - 5} more" if len(constant) > 5 else ""
        warnings.warn(
            f"{field.name} never changes at {labels}{more}: only the priors keep the "
            "parameters of such nodes and of their edges finite",
            UserWarning,
            stacklevel=stacklevel,
        )


def check_number(name: str, value, low: float, *, below: float = np.inf, closed: bool = False) -> None:
    """Raise unless low < value < below, or low <= value < below if `closed`."""
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not (number and (low < value < below or (closed and value == low))):
        bounds = f"{'at least' if closed else 'greater than'} {low:g}"
        bounds += f" and below {below:g}" if np.isfinite(below) else ""
        raise ValueError(f"{name} must be a finite number {bounds}, not {value!r}")


def check_count(name: str, value, least: int) -> None:
    """Raise unless `value` is an integer of at least `least`."""
    integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not (integer and value >= least):
        raise ValueError(f"{name} must be an integer of at least {least}, not {value!r}")


class FeatureStep(BlockedStep):
    """Base of `ReversibleJump` and `PersistentLangevin`.

    A subclass supplies `_move`, its state class and its statistics, and calls `_warm_up` at the end of
    its `__init__`.
    """

    default_blocked = True

    def __init__(
        self,
        vars,
        n_particles: int,
        n_sweeps: int,
        model: pm.Model | None,
        initial_point: dict[str, np.ndarray] | None,
        compile_kwargs: dict[str, Any] | None,
        rng,
    ) -> None:
        model = pm.modelcontext(model)
        self.vars = get_value_vars_from_user_vars(vars, model)
        self.rng = get_random_generator(rng)
        check_count("n_particles", n_particles, 2)
        check_count("n_sweeps", n_sweeps, 1)
        rvs = [model.values_to_rvs[value] for value in self.vars]
        rv, bias_rv, field, likelihood = edge_target(rvs, model, type(self).__name__, LIKELIHOODS)
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
            self._chains = PersistentFeatures(field.x, field.graph, field.family, n_particles, n_sweeps)
            self._engine = self._chains
        self._point = model.initial_point() if initial_point is None else initial_point

    def _warm_up(self) -> None:
        """Take a step and throw it away: everything compiles before chains fork."""
        self._reset()
        state = self.rng.bit_generator.state
        self.step(self._point)
        self.rng.bit_generator.state = state
        self._reset()

    def _reset(self) -> None:
        """Forget everything learnt."""
        self.tune = True
        self.started = False

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
        """Forget the previous chain."""
        super().setup_chain(rng, tune, draws)
        self._reset()
        self.tune = tune > 0

    def step(self, point):
        """Move the variables of this step."""
        prior, b = self._prior.read(point)
        w = np.array(point[self._name], dtype=np.float64)
        if not self.started:
            if self._chains is not None:
                self._chains.start(w, b, self.rng)
            self.started = True
        stats = self._move(w, b, prior)
        new = {**point, self._name: w}
        if self._bias_name is not None:
            new[self._bias_name] = b
        return new, [stats]

    def _move(self, w, b, prior) -> dict[str, Any]:
        """Change `w` (r,) and `b` (d,) in place; the statistics."""
        raise NotImplementedError
