"""`PersistentLangevin`: weights of present edges and biases, by Chen & Welling (2012), sec. 3."""

from typing import Any

import numpy as np

from pymc_mrf.checks import number
from pymc_mrf.distributions.chain_record import LEAST_DRAWS
from pymc_mrf.kernels.priors.densities import Tabulated
from pymc_mrf.papers.chen_welling import ChenWellingStep
from pymc_mrf.papers.kernels.persistent_langevin import Langevin
from pymc_mrf.steps.common.statistics import (
    Beside,
    Healthy,
    Statistic,
    Statistics,
    acceptance,
)

STEP_SIZE = 1e-3  # Chen & Welling (2012), sec. 6.2
EXACT_STEP_SIZE = 0.3  # where tuning starts from
TARGET_ACCEPT = 0.9  # a rejection turns the momentum around, so that it must be rare
MAX_STEP_SIZE = 1.5  # leapfrog steps are unstable beyond 2
DATA_WEIGHT = 10.0  # steps of tuning that the curvature at the data counts for

MOMENTUM_TOLERANCE = 0.2
"""Distance of the mean square of the momenta from 1 that does no harm, beyond its error."""

MOMENTUM_ERRORS = 3.0
"""Standard errors that count as the error of that mean square."""

LEAST_RANGE = 0.5
"""Posterior standard deviations that the value which moves most must range over."""


def _momentum_gap(beside: Beside) -> np.ndarray:
    error = beside("momentum_error")
    n = np.count_nonzero(~np.isnan(error), axis=1)
    return MOMENTUM_TOLERANCE + MOMENTUM_ERRORS * np.sqrt(np.nansum(error**2, axis=1)) / n


class PersistentLangevin(ChenWellingStep):
    """Values of the present edges of a `SpikeAndSlab`, and the biases, by Langevin dynamics.

    Leaves invariant: the posterior given the structure, exactly, under ``likelihood="exact"`` once tuning
    has ended (up to 1e-11 in the log density of a slab that is tabulated, see `EdgeGibbs`); an approximation
    of it under ``likelihood="particles"``, which has no accept step: its error vanishes with `step_size`.
    With `ReversibleJump`, on a four-node complete field, 100 chains and a step of 0.1 (100 times the
    paper's), posterior means of weights were within 0.012 of exact integration for 80 observations and
    within 0.003 for 600, probabilities of inclusion within 0.015 and 0.01.

    One leapfrog step of eq. (4) in a step, with a diagonal preconditioner C and partial refreshment of
    the momentum, p <- alpha p + sqrt(1 - alpha^2) noise (eq. 7).

    - ``likelihood="particles"`` is the algorithm of the paper: the expectations of eq. (5) come from
      persistent Gibbs chains, one estimate for each value of the parameters, and every step is accepted.
    - ``likelihood="exact"`` is "Bayes Exact" (sec. 6.2): exact gradients, and an acceptance step that
      turns the momentum around where it rejects (Horowitz, 1991).

    Parameters
    ----------
    vars : list of variables
        A `SpikeAndSlab` that is the weight of an observed `BoltzmannMachine` or the coupling of an
        `Ising` field; optionally the free variable that is the bias (field) of the same field, if its
        prior is a vector of pm.Normal, pm.Cauchy, pm.StudentT or pm.Laplace. Other biases are read, and
        left to other steps.
    step_size : float, optional
        epsilon. By default 1e-3 under particles (sec. 6.2); tuned to an acceptance of 0.9 under the
        exact likelihood.
    alpha : float
        Share of the momentum that is kept, in [0, 1): 0.9 in sec. 6.2.
    n_particles : int, optional
        Gibbs chains, n in the paper, under ``likelihood="particles"`` only: 100 by default, as in sec. 6.2.
    n_sweeps : int, optional
        Sweeps of all chains in a step, N_Gibbs, under ``likelihood="particles"`` only: 1 by default, as in
        sec. 6.2.
    model, initial_point, compile_kwargs, rng, blocked
        As for every PyMC step.

    Raises
    ------
    ValueError, TypeError
        If the variable feeds no field, anything else or a field through a transformation, the data are
        incomplete, the likelihood is "pseudo", the slab does not cover the line and nothing would keep
        the values in it (``likelihood="particles"``), an option is out of range, or the dynamics diverge.

    Notes
    -----
    Edges are neither added nor deleted: combine with `ReversibleJump`. A new edge has a new momentum.

    The preconditioner: eq. (6) is printed as C C' = H with H = Cov f + prior precision. That would give
    the longest steps to the narrowest directions, and the data count once whatever their number N. Here
    H = N Var f + prior precision is the curvature of the log posterior, averaged over tuning as in the
    paper, and C C' = H^-1, so that epsilon is in posterior standard deviations and "suitable for
    different training sets" (sec. 3.2).

    Sampler statistics: ``persistent_langevin_n_active`` (present edges), ``_accept`` (acceptance
    probability; 1 under particles), ``_step_size``, ``_range`` (how far the value that moved most has ranged
    since tuning, in standard deviations C of the preconditioner; NaN in tuning and before there was anything
    to move), ``_momentum`` and ``_momentum_error``. The momentum is the mean square of the momenta after a
    step, whose average over a run is 1 where discretisation and noise of the gradient do no harm; its error
    (NaN under the exact likelihood, and where nothing moves) is the standard error that the average of s such
    steps has, times sqrt(s). With N observations and n chains noise adds some
    step_size^2 N / (n (1 - alpha^2)) to the average, and more where the chains move slowly: in the last
    example it was 1.35. On the block model of sec. 6.1 (n = 100), whose chains do move slowly, it was 1.0003
    at the paper's step, 1.007 at 10 times and 24 at 100 times that. Warnings at the end of a chain say if,
    under particles, the average was further than 0.2 plus three standard errors from 1, and if in 50 draws
    or more the range was below 0.5 or there was never an edge. (Whether more sweeps would move the chains,
    as in `ParticleRatioGibbs`, is no test here: the noise of 100 chains hides it.)

    References
    ----------
    Chen & Welling (2012), sec. 3; Murray & Ghahramani (2004); Horowitz (1991); Tieleman (2008).
    """

    name = "persistent_langevin"
    remembers = ("n_tuned", "log_step", "curvature", "momentum", "moved", "path", "heat")
    prefix = "persistent_langevin"
    changes_edges = False
    statistics: Statistics = (
        Statistic("n_active", "present edges", dtype=np.int64, shown="always", should_vary=True),
        Statistic("accept", "acceptance", acceptance("use a smaller step size", 0.4)),
        Statistic("step_size", "step size"),
        Statistic(
            "range",
            "range of the value that moved most",
            Healthy(
                "use a larger step size, or sample longer: the values hardly move",
                low=LEAST_RANGE,
                reduce="max",
                least_draws=LEAST_DRAWS,
            ),
        ),
        Statistic(
            "momentum",
            "momentum",
            Healthy(
                "use a smaller step size, or more particles",
                low=lambda beside: 1.0 - _momentum_gap(beside),
                high=lambda beside: 1.0 + _momentum_gap(beside),
                given=("momentum_error",),
            ),
        ),
        Statistic("momentum_error", "error of the momentum", shown="never"),
    )

    def __init__(
        self,
        vars,
        *,
        step_size: float | None = None,
        alpha: float = 0.9,
        n_particles: int | None = None,
        n_sweeps: int | None = None,
        **kwargs,
    ) -> None:
        if step_size is not None:
            step_size = number(step_size, "step_size", 0.0)
        self._alpha = number(alpha, "alpha", 0.0, 1.0, closed=True)
        super().__init__(vars, n_particles, n_sweeps, **kwargs)
        self._adapts = step_size is None and self._engine.corrects
        if step_size is None:
            step_size = EXACT_STEP_SIZE if self._engine.corrects else STEP_SIZE
        self._log_step = float(np.log(step_size))
        prior, _ = self._prior.read(self._point)
        if not self._engine.corrects and isinstance(prior.slab, Tabulated):
            self._check_slab()
        self._warm_up()

    def _check_slab(self) -> None:
        """Refuse a slab that ends: without an accept step nothing keeps values inside."""
        slab = self._target.rv.owner.op.scalar
        support = slab.support(*slab.arguments)
        if support is None or not all(isinstance(end, float) and np.isinf(end) for end in support):
            raise ValueError(
                f'PersistentLangevin has no accept step under likelihood="particles", and the slab of '
                f"{self._name} is not known to be positive on the whole line; use a slab such as pm.Normal "
                'or pm.Cauchy, likelihood="exact", or pymc_mrf.steps.EdgeGibbs'
            )

    def _forget(self) -> None:
        super()._forget()
        self.n_tuned = 0
        self.log_step = self._log_step
        self.curvature = self._engine.data_curvature.copy()
        size = len(self.curvature)
        self.momentum = np.zeros(size)
        self.moved = np.zeros(size, dtype=bool)
        self.path = np.full((3, size), np.nan)
        self.heat = np.zeros(3)

    def _move(self, w, b, prior) -> tuple[dict[str, Any], bool]:
        old = np.concatenate([w, b])
        step = float(np.exp(self.log_step))
        dynamics = Langevin(self.curvature, self.momentum, self.moved, step, self._alpha)
        accept, square = self._engine.langevin(w, b, prior, dynamics, self.rng)
        if not (np.isfinite(w).all() and np.isfinite(b).all()):  # without an accept step
            raise ValueError(
                f"the Langevin dynamics of {self._name} have diverged; take a step_size below "
                f"{step:g} or more particles"
            )
        if np.isnan(accept):  # nothing to move, nothing learnt
            accept = 1.0
        elif self.tune:
            self.n_tuned += 1
            if self._adapts:
                self.log_step += (self.n_tuned + 4.0) ** -0.6 * (accept - TARGET_ACCEPT)
                self.log_step = min(self.log_step, float(np.log(MAX_STEP_SIZE)))
            new = self._engine.curvature(prior)
            self.curvature = self.curvature + (new - self.curvature) / (self.n_tuned + DATA_WEIGHT)
        error = self._momentum_error()
        if not (self.tune or np.isnan(error)):
            self.heat += square, error**2, 1.0
        distance = self._range(np.concatenate([w, b]) - old)
        stats = {
            "persistent_langevin_n_active": int(np.count_nonzero(w)),
            "persistent_langevin_accept": accept,
            "persistent_langevin_step_size": step,
            "persistent_langevin_range": distance,
            "persistent_langevin_momentum": square,
            "persistent_langevin_momentum_error": error,
        }
        return stats, distance >= LEAST_RANGE

    def _momentum_error(self) -> float:
        """Error of the average of their mean square over s such steps, times sqrt(s); NaN if it says nothing.

        Exact gradients and an accept step leave the momenta nothing to tell.
        """
        n = np.count_nonzero(self.moved)
        if self._engine.corrects or n == 0:
            return np.nan
        # p^2 of a stationary p <- alpha p + ... has the autocorrelations alpha^(2 k)
        kept = self._alpha**2
        return float(np.sqrt(2.0 / n * (1.0 + kept) / (1.0 - kept)))

    def _range(self, change: np.ndarray) -> float:
        """Follow the moves of this step alone, `change` (r + d,); the longest range so far.

        NaN if nothing was to move.
        """
        if self.tune:
            return np.nan
        there = self.moved
        place, lowest, highest = self.path  # views, NaN where nothing has been yet
        place[there] = np.where(np.isnan(place[there]), 0.0, place[there] + change[there])
        lowest[there] = np.fmin(lowest[there], place[there])
        highest[there] = np.fmax(highest[there], place[there])
        ranges = (highest - lowest) * np.sqrt(self.curvature)
        return float(np.fmax.reduce(ranges, initial=np.nan))

    def _warn_at_end(self) -> list[str]:
        distance, step = self._range(np.zeros_like(self.momentum)), float(np.exp(self.log_step))
        messages = self._without_edges()
        messages += [] if self._engine.corrects else self._lagging(step)
        if not self.count.stood_still or np.isnan(distance):
            return messages
        return [
            *messages,
            f"PersistentLangevin moved no value of {self._name} further than {distance:.2g} posterior "
            f"standard deviations in {self.count.n_draws} draws; below {LEAST_RANGE:g} they are no sample. "
            f"Take a larger step_size than {step:.2g}, or sample longer",
        ]

    def _without_edges(self) -> list[str]:
        """Warn if there was never an edge whose value could be moved."""
        places = self.path[0, : self._field.graph.n_edges]  # NaN where no edge has been
        if self.count.n_draws < LEAST_DRAWS or not np.isnan(places).all():
            return []
        return [
            f"{self._name} had no edges in {self.count.n_draws} draws: PersistentLangevin neither adds nor "
            f"removes any. Combine it with pymc_mrf.papers.ReversibleJump([{self._name}]) if it is alone, or "
            "start from the edges that there are (initvals={...})"
        ]

    def _lagging(self, step: float) -> list[str]:
        """Warn if noise or lag of the particles heats the momenta."""
        total, variance, n = self.heat
        if n == 0:
            return []
        mean, error = total / n, np.sqrt(variance) / n
        if abs(mean - 1.0) <= MOMENTUM_TOLERANCE + MOMENTUM_ERRORS * error:
            return []
        m = len(self.particles)
        return [
            f"The {m} particles of PersistentLangevin have not kept up with {self._name}, or are too few: "
            f"the mean square of the momenta is {mean:.2g} instead of 1. Take a smaller step_size than "
            f"{step:.2g}, or n_particles={4 * m}"
        ]
