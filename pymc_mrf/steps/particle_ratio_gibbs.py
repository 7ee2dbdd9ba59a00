"""`ParticleRatioGibbs`: grouped parameters of any field, the likelihood from weighted particles."""

from typing import ClassVar

import numpy as np
from pymc.step_methods.compound import StepMethodState
from pymc.step_methods.state import dataclass_state

from pymc_mrf.checks import number, whole_number
from pymc_mrf.estimation.problem import FitProblem
from pymc_mrf.estimation.pseudo_likelihood import maximise
from pymc_mrf.likelihood.particles import BURN_IN, LEAST_PARTICLES, ParticleLikelihood
from pymc_mrf.steps.base_measure import BaseMeasure
from pymc_mrf.steps.chain_report import ChainCountState
from pymc_mrf.steps.engine_gibbs import EngineGibbs
from pymc_mrf.steps.group_gibbs import k_means_start
from pymc_mrf.steps.group_values import GroupValuesState
from pymc_mrf.steps.observed_field import ObservedField

ITERATIONS = 50  # of the optimiser behind the pseudo-likelihood estimate, which is only a start
CHECK_EVERY = 50  # draws between two looks at whether the particles keep up
CHECK_SWEEPS = 10  # times n_sweeps: sweeps that would move particles that lag behind
RIDGE = 0.1  # of the pseudo-likelihood estimate: that of a normal prior with this precision


@dataclass_state
class ParticleRatioState(StepMethodState):
    """Everything that changes while a chain runs."""

    tune: bool
    started: bool
    count: ChainCountState
    values: GroupValuesState
    particles: tuple
    drift: float
    n_unchecked: int
    squares: dict


class ParticleRatioGibbs(EngineGibbs):
    """Grouped edge parameters of a field of any treewidth.

    Leaves invariant: an approximation of the posterior, whose error vanishes as the particles increase.
    On five-edge loopy fields (n = 60 and 200) the largest error of a probability of a number of groups was
    0.012 with m = n and 0.013 with m = 10 n, where that of the exact sampler, its Monte-Carlo error, was
    0.014 (``docs/results.md``). With m = n the values of strong edges are the first to suffer.

    All labels are redrawn in turn from eq. (4) of Liu & Page (2013), whose terms follow from one edge
    marginal (identity A1), then all group values given the labels. What the junction tree tells
    `ExactGibbs` is estimated here from weighted particles: the weights follow every change of a
    parameter exactly, Gibbs sweeps move the particles, and they are resampled and moved when their
    effective size falls below one half. Edge marginals are Rao-Blackwellised, and estimated likelihoods
    are corrected for their own noise (`pymc_mrf.kernels.particle_groups`).

    Parameters
    ----------
    vars : list of variables
        A `DirichletProcess` that is the edge parameter of an observed `AgreementMRF`, `Ising` or
        `BoltzmannMachine`; node parameters must be constants.
    target_noise : float
        Standard deviation, in (0, 1), that the estimated log-likelihood ratio between two values one
        posterior standard deviation apart would have without Rao-Blackwellisation. It sets the number
        of particles, m = n / target_noise ** 2 and at least 256: 11 n by default.
    n_particles : int, optional
        The number of particles itself. Below about n the noise is too large to be corrected for.
    n_sweeps : int
        Gibbs sweeps of all particles in every step, and after every resampling.
    model, initial_point, compile_kwargs, rng, blocked
        As for every PyMC step.

    Raises
    ------
    ValueError
        If the variable feeds another kind of field or anything else, the data are incomplete, node
        parameters are random, or an option is out of range.

    Notes
    -----
    A test of the number of particles is that twice as many change nothing.

    Sampler statistics: ``group_gibbs_n_groups``, ``group_gibbs_n_new`` (groups opened in the step),
    ``particle_ratio_noise`` (standard deviation of the log-likelihood ratio between two values one
    posterior standard deviation apart, measured; root mean square over the draws of the step),
    ``particle_ratio_ess`` (smallest effective size in the step, relative to the particles),
    ``particle_ratio_renewals`` and ``particle_ratio_drift`` (how far ten times as many sweeps would
    move the edge marginals, in standard deviations of the data's frequencies, beyond what is noise: negative
    if less; found anew every 50 draws), and ``particle_ratio_target_noise``, the argument. A warning at the
    end of a chain says if the noise, root mean square over its draws, exceeds `target_noise`, or the drift
    both.

    Copies that resampling makes of a particle count as particles of their own in the noise. On the field
    of the US Senate (99 nodes, 279 edges) batch means over blocks of particles, which do not, gave
    a noise larger by a tenth.

    References
    ----------
    Liu & Page (2013), eq. (4); Neal (2000), Algorithm 2; Geyer (1991); Asuncion et al. (2010),
    particle filtered MCMC-MLE; Ceperley & Dewing (1999), for corrections of random log ratios.
    """

    name = "particle_ratio_gibbs"
    serves = ("particles", "exact")
    default_for = "particles"
    n_label_sweeps = 1
    _state_class = ParticleRatioState
    stats_dtypes_shapes: ClassVar[dict] = {
        **EngineGibbs.stats_dtypes_shapes,
        "particle_ratio_noise": (np.float64, []),
        "particle_ratio_ess": (np.float64, []),
        "particle_ratio_renewals": (np.int64, []),
        "particle_ratio_drift": (np.float64, []),
        "particle_ratio_target_noise": (np.float64, []),
    }
    _engines: list[ParticleLikelihood]

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
        super().__init__(vars, **kwargs)

    def _make_engine(self, field: ObservedField, *arguments) -> ParticleLikelihood:
        field.constant_node_parameter()  # particles would stand for node parameters of an earlier step
        edges = np.arange(field.graph.n_edges)
        problem = FitProblem(field.x, field.graph, field.family, edges, edges)
        estimate = maximise(problem, ridge=RIDGE / len(field.x), max_iterations=ITERATIONS)[0]
        eta = np.zeros(len(self._point[self._name]))
        eta[field.entries] = self._link.natural(field.family.parameter(estimate[: len(edges)]))
        self._estimates.append(eta)
        m = self._n_particles
        if m is None:
            # the number belongs to data and model: the same for every chain and run
            pilot = ParticleLikelihood(*arguments, LEAST_PARTICLES, self._n_sweeps)
            pilot.start(eta, BURN_IN, np.random.default_rng(0))
            m = max(
                int(np.ceil(LEAST_PARTICLES * (pilot.edge_noise() / self._target_noise) ** 2)),
                LEAST_PARTICLES,
            )
        return ParticleLikelihood(*arguments, m, self._n_sweeps)

    def _start(self) -> np.ndarray:
        covered = sum(engine.edge_of >= 0 for engine in self._engines)
        return np.sum(self._estimates, axis=0) / np.maximum(covered, 1)

    def _count_from(self, tune: int, draws: int) -> None:
        super()._count_from(tune, draws)
        self.drift, self.n_unchecked = 0.0, 0
        self.squares: dict[str, list[float]] = {"noise": [], "drift": []}

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

    def _begin(self, eta, base: BaseMeasure):
        if eta is None:
            eta = k_means_start(self._start(), base, self.rng)
        for engine in self._engines:
            engine.start(eta, BURN_IN, self.rng)
        return super()._begin(eta, base)

    def _renew(self) -> None:
        for engine in self._engines:
            engine.renew(self.rng)

    def _sweep_labels(self, labels, eta, sizes, n_groups, base):
        for engine in self._engines:
            engine.reset_statistics()
            engine.change(eta[labels], self.rng)
        counts = super()._sweep_labels(labels, eta, sizes, n_groups, base)
        self._renew()
        return counts

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
            self.squares["noise"].append(stats["particle_ratio_noise"] ** 2)
            self.squares["drift"].append(self.drift * abs(self.drift))
        return eta, {**stats, "particle_ratio_drift": self.drift}

    def _complaints(self) -> list[str]:
        messages = super()._complaints()
        found = {name: float(np.sqrt(max(np.mean(s), 0.0))) for name, s in self.squares.items() if s}
        target, m = self._target_noise, max(engine.n_particles for engine in self._engines)
        if found.get("noise", 0.0) > target:
            enough = int(np.ceil(1.2 * m * (found["noise"] / target) ** 2))
            messages.append(
                f"The {m} particles of ParticleRatioGibbs are too few for {self._name}: estimated "
                f"log-likelihood ratios have a noise of {found['noise']:.2f}, above {target:g}. Try "
                f"n_particles={enough}"
            )
        # few particles are too noisy to tell a drift from noise
        if found.get("drift", 0.0) > max(target, found.get("noise", 0.0)):
            messages.append(
                f"The particles of ParticleRatioGibbs have not kept up with {self._name}: more sweeps would "
                f"move edge probabilities by {found['drift']:.2f} standard errors of the data, above "
                f"{target:g}. Try n_sweeps={4 * self._n_sweeps}"
            )
        return messages
