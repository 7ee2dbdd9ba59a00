"""`ParticleRatioGibbs`: grouped parameters of any field, the likelihood from weighted particles."""

from typing import Any, ClassVar

import numpy as np
import pymc as pm
from pymc.step_methods.compound import CompoundStep
from pymc.util import get_value_vars_from_user_vars

from pymc_mrf.checks import number, whole_number
from pymc_mrf.distributions.chain_record import SampleRecord
from pymc_mrf.distributions.dirichlet_process import DirichletProcessRV
from pymc_mrf.distributions.likelihood import APPROXIMATE
from pymc_mrf.distributions.parents import free_parents
from pymc_mrf.estimation.problem import FitProblem
from pymc_mrf.estimation.pseudo_likelihood import maximise
from pymc_mrf.likelihood.exact.likelihood import Exact
from pymc_mrf.likelihood.particles.likelihood import Particles, too_few_particles
from pymc_mrf.likelihood.particles.particle_edges import BURN_IN
from pymc_mrf.likelihood.particles.particle_groups import LEAST_PARTICLES, ParticleGroups
from pymc_mrf.steps.common.expressions import children, fields_fed
from pymc_mrf.steps.common.observed_field import ObservedField
from pymc_mrf.steps.common.statistics import Beside, Healthy, Statistic, Statistics, summaries
from pymc_mrf.steps.groups.group_gibbs import EngineGibbs
from pymc_mrf.steps.groups.group_step import is_dirichlet_process
from pymc_mrf.steps.groups.group_values import NodeVariables

ITERATIONS = 50  # of the optimiser behind the pseudo-likelihood estimate, which is only a start
CHECK_EVERY = 50  # draws between two looks at whether the particles keep up
CHECK_SWEEPS = 10  # times n_sweeps: sweeps that would move particles that lag behind
RIDGE = 0.1  # of the pseudo-likelihood estimate: that of a normal prior with this precision


def node_values(rv, model: pm.Model) -> list:
    """Value variables from which the node parameters of the fields of a Dirichlet process are computed."""
    found = [
        parent
        for node in fields_fed(rv, model)
        for parent in free_parents(node, model)
        if parent is not rv
    ]
    return [model.rvs_to_values[parent] for parent in dict.fromkeys(found)]


def _mean_target(beside: Beside) -> np.ndarray:
    return summaries("mean", beside("target_noise"))


def _largest_drift(beside: Beside) -> np.ndarray:
    # few particles are too noisy to tell a drift from noise
    return np.maximum(_mean_target(beside), summaries("rms", beside("noise")))


class ParticleRatioGibbs(EngineGibbs):
    """Grouped edge parameters of fields of any treewidth.

    Leaves invariant: an approximation of the posterior, whose error vanishes as particles and sweeps
    increase. On five-edge loopy fields it is measured in ``docs/results.md``.

    All labels are redrawn in turn from eq. (4) of Liu & Page (2013) as in `GroupGibbs`, whose terms follow
    from one edge marginal (identity A1), then all group values by Hamiltonian moves, and with them the
    variables behind random node parameters. What the junction tree tells `GroupGibbs` is estimated here from
    particles, as `EdgeGibbs` does: weights follow every change, both ends of the edge are drawn anew, and
    Gibbs sweeps move the particles in every step, and when weights have become uneven. Edge marginals are
    Rao-Blackwellised, and estimated likelihoods are corrected for their own noise
    (`kernels/views/particle_edges.py`). A step costs time in proportion to edges times particles, and to
    nodes times particles for every n edges or so, as often weights have become uneven; random node parameters
    add the cube of their number.

    Parameters
    ----------
    vars : list of variables
        A `DirichletProcess` that is the edge parameter of an observed `AgreementMRF`, `Ising`,
        `BoltzmannMachine`, `OrdinalMRF` or `Potts` (one coupling per edge), or of several of them; entries of
        it may be picked by constant indices. Then, for ``likelihood="particles"``, all free variables from
        which node parameters are computed. Cells of the data may be missing; `TreeGibbs` draws them.
    target_noise : float
        Standard deviation, in (0, 1), of the estimated log-likelihood ratio between two values one posterior
        standard deviation apart. It sets the number of particles, by a pilot run at the
        pseudo-likelihood estimate, but for a minimum of 2,048: so the number grows with the observations,
        not with the edges.
    n_particles : int, optional
        The number of particles itself.
    n_sweeps : int
        Gibbs sweeps of all particles whenever they are renewed.
    model, initial_point, compile_kwargs, rng, blocked
        As for every PyMC step.

    Raises
    ------
    ValueError
        If the variable feeds another kind of field or anything else, node
        parameters differ between rows or are left to another step, or an option is out of range.

    Notes
    -----
    A test of the number of particles is that twice as many change nothing.

    Sampler statistics: ``group_gibbs_n_groups``, ``group_gibbs_n_new`` (groups opened in the step),
    ``group_gibbs_acceptance`` (of the moves of values), ``particle_ratio_noise`` (see `target_noise`;
    measured, root mean square over the labels of the step), ``particle_ratio_ess`` (smallest effective size
    of the particles, relative to their number), ``particle_ratio_renewals`` (times that they were resampled),
    ``particle_ratio_drift`` (how far ten times as many sweeps would move the edge marginals, in standard
    deviations of the data's frequencies, beyond what is noise: negative if less; found anew every 50 draws)
    and ``particle_ratio_target_noise``, the argument. A warning at the end of a chain says if the noise, root
    mean square over its draws, exceeds `target_noise`, or the drift both.

    Copies that resampling makes of a particle count as particles of their own in the noise.

    References
    ----------
    Liu & Page (2013), eq. (4); Neal (2000), Algorithm 8; Geyer (1991); Asuncion et al. (2010),
    particle filtered MCMC-MLE; Ceperley & Dewing (1999), for corrections of random log ratios.
    """

    name = "particle_ratio_gibbs"
    invariant: ClassVar = dict.fromkeys((Particles, Exact), APPROXIMATE)
    default_for = (Particles,)
    takes_along = (DirichletProcessRV,)
    n_label_sweeps = 1
    default_blocked = True  # takes the variables behind the node parameters along
    remembers = ("particles", "drift", "n_unchecked", "record", "node_precision", "node_directions")
    prefix = "particle_ratio"
    approximation = "approximates the posterior: twice as many particles should change nothing"
    statistics: Statistics = (
        Statistic(
            "noise",
            "noise of the log ratio",
            Healthy(
                "use more particles: a smaller target_noise, or n_particles",
                high=_mean_target,
                reduce="rms",
                given=("target_noise",),
            ),
        ),
        Statistic(
            "ess",
            "effective size of particles",
            Healthy("use more particles: a larger n_particles", low=0.05, reduce="min"),
        ),
        Statistic("renewals", "renewals of particles", dtype=np.int64),
        Statistic(
            "drift",
            "drift of the particles",
            Healthy(
                "let the particles move more: a larger n_sweeps",
                high=_largest_drift,
                reduce="rms",
                given=("target_noise", "noise"),
            ),
        ),
        Statistic("target_noise", "target of the noise", shown="never"),
    )

    @classmethod
    def _make_several(cls, values, model: pm.Model, args, kwargs):
        """One step for each Dirichlet process."""
        processes = [v for v in values if is_dirichlet_process(model.values_to_rvs[v])]
        if len(processes) < 2:
            return None
        behind = {v: node_values(model.values_to_rvs[v], model) for v in processes}
        return CompoundStep(
            [cls([v, *(w for w in behind[v] if w in values)], *args, **kwargs) for v in processes]
        )

    def __init__(
        self,
        vars,
        *,
        target_noise: float = 0.5,
        n_particles: int | None = None,
        n_sweeps: int = 2,
        **kwargs,
    ) -> None:
        self._target_noise = number(target_noise, "target_noise", 0.0, 1.0)
        self._n_sweeps = whole_number(n_sweeps, "n_sweeps", 1)
        if n_particles is not None:
            n_particles = whole_number(n_particles, "n_particles", 1)
        self._n_particles = n_particles
        self._estimates: list[np.ndarray] = []
        model = pm.modelcontext(kwargs.get("model"))
        values = get_value_vars_from_user_vars(vars, model)
        self._node_values = [v for v in values if not is_dirichlet_process(model.values_to_rvs[v])]
        super().__init__([v for v in values if v not in self._node_values] or values, **kwargs)
        self.vars += self._node_values

    def _prepare(self) -> None:
        """Take over the variables behind the node parameters, which no other step can move."""
        model = self._model
        [rv] = self._rvs
        behind = node_values(rv, model)
        likelihood = self._fields[0].likelihood
        for value in behind if likelihood.is_intractable else []:
            if value not in self._node_values:
                name = model.values_to_rvs[value].name
                raise ValueError(
                    f'under likelihood="{likelihood.name}" ParticleRatioGibbs moves the variables behind '
                    f"the node parameters itself: pass {name} too, as in "
                    f"pymc_mrf.steps.ParticleRatioGibbs([{rv.name}, {name}])"
                )
        for value in self._node_values:
            if value not in behind:
                raise ValueError(
                    f"ParticleRatioGibbs moves {rv.name} and the variables behind the node parameters of its "
                    f"fields: leave {model.values_to_rvs[value].name} out of `vars`"
                )
            if rv in children(model.values_to_rvs[value], model):
                name = model.values_to_rvs[value].name
                raise ValueError(
                    f"ParticleRatioGibbs moves {name} with base and concentration of {rv.name} held fixed, "
                    f"but they depend on it: give {rv.name} a variable of its own, or let the prior of the "
                    f"node parameters have {name} as its scale, as in pm.Normal(..., sigma={name})"
                )
        if self._node_values:
            self._nodes = NodeVariables(self._node_values, self._fields, model, self._compile_kwargs)

    def _make_engines(self, arguments):
        return [
            self._make_engine(field, *own) for field, own in zip(self._fields, arguments, strict=True)
        ]

    def _make_engine(self, field: ObservedField, *arguments: Any) -> ParticleGroups:
        options = {"n_sweeps": self._n_sweeps}
        edges = np.arange(field.graph.n_edges)
        problem = FitProblem(field.x, field.graph, field.family, edges, edges)
        estimate = maximise(problem, ridge=RIDGE / len(field.x), max_iterations=ITERATIONS)[0]
        eta = np.zeros(len(self._point[self._name]))
        eta[field.entries] = self._link.natural(field.family.parameter(estimate[: len(edges)]))
        self._estimates.append(eta)
        m = self._n_particles
        if m is None:
            # the number belongs to data and model: the same for every chain and run
            pilot = ParticleGroups(*arguments, n_particles=LEAST_PARTICLES, **options)
            pilot.start(eta, BURN_IN, np.random.default_rng(0))
            m = max(
                int(np.ceil(LEAST_PARTICLES * (pilot.edge_noise() / self._target_noise) ** 2)),
                LEAST_PARTICLES,
            )
        return ParticleGroups(*arguments, n_particles=m, **options)

    def _start(self) -> np.ndarray:
        return self._mean_of_engines(self._estimates)

    def _forget(self) -> None:
        super()._forget()
        self.drift, self.n_unchecked = 0.0, 0
        self.record = SampleRecord()

    def stop_tuning(self) -> None:
        """Look at the particles anew in the first draw that counts."""
        super().stop_tuning()
        self.n_unchecked = 0

    @property
    def particles(self) -> tuple:
        """States of the particles and their parameters, of every field: part of the resumable state."""
        return tuple(tuple(a.copy() for a in engine.get_state()) for engine in self._engines)

    @particles.setter
    def particles(self, state: tuple) -> None:
        for engine, own in zip(self._engines, state, strict=True):
            engine.set_state(*own)

    @property
    def node_directions(self) -> tuple:
        """Derivatives of the node parameters of every field at which `information` was learnt."""
        return tuple(engine.node_directions for engine in self._engines)

    @node_directions.setter
    def node_directions(self, directions: tuple) -> None:
        for engine, own in zip(self._engines, directions, strict=True):
            if own is not None:
                engine.move_nodes(self._link.family.node_basis, own)

    def _begin(self, eta, base):
        for engine in self._engines:
            engine.start(eta, BURN_IN, self.rng)
        super()._begin(eta, base)

    def _learn(self, eta) -> None:
        if self._nodes.size:
            v = self._nodes.coordinates(self._at)
            self.node_precision = self._nodes.curvature(v, self._at)
            node_basis = self._link.family.node_basis
            for engine, directions in zip(
                self._engines, self._nodes.jacobians(v, self._at), strict=True
            ):
                engine.move_nodes(node_basis, directions)
        super()._learn(eta)

    def _renew(self) -> None:
        for engine in self._engines:
            engine.renew(self.rng)

    def _sweep_labels(self, groups, base):
        for engine in self._engines:
            engine.reset_statistics()
            engine.change(groups.values[groups.labels], self.rng)
        return super()._sweep_labels(groups, base)

    def _draw_values(self, labels, eta, base):
        for engine in self._engines:
            engine.measure(labels, len(eta), self.rng)
        eta, stats = super()._draw_values(labels, eta, base)
        for engine in self._engines:
            engine.change(eta[labels], self.rng)
        stats |= {
            "particle_ratio_noise": max(engine.noise for engine in self._engines),
            "particle_ratio_ess": min(engine.least_size for engine in self._engines),
            "particle_ratio_renewals": max(engine.n_renewals for engine in self._engines),
            "particle_ratio_target_noise": self._target_noise,
        }
        if self.n_unchecked == 0:
            sweeps = CHECK_SWEEPS * self._n_sweeps
            self.drift = max(engine.drift(sweeps, self.rng) for engine in self._engines)
        self.n_unchecked = (self.n_unchecked + 1) % CHECK_EVERY
        if not self.tune:
            told = stats["particle_ratio_noise"], stats["particle_ratio_ess"]
            self.record.add(*told, self.drift)
        return eta, {**stats, "particle_ratio_drift": self.drift}

    def _warn_at_end(self) -> list[str]:
        messages = super()._warn_at_end()
        if not self.record.squares:
            return messages
        target, m = self._target_noise, max(engine.n_particles for engine in self._engines)
        noise, drift = self.record.noise, self.record.distance
        messages += too_few_particles("ParticleRatioGibbs", self._name, m, noise, target)
        # few particles are too noisy to tell a drift from noise
        if drift > max(target, noise):
            messages.append(
                f"The particles of ParticleRatioGibbs have not kept up with {self._name}: more sweeps would "
                f"move edge probabilities by {drift:.2f} standard errors of the data, above "
                f"{target:g}. Try n_sweeps={4 * self._n_sweeps}"
            )
        return messages
