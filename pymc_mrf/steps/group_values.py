"""Hamiltonian moves of group values, given the labels (Duane et al., 1987; Neal, 2011).

Given labels the values of some ten groups have a smooth density whose curvature is, next to that of the base,
n times the covariance of the groups' sums of f. That covariance, learnt while tuning, serves all labels by
summation: in its metric two leapfrog steps go far.
"""

from collections.abc import Callable

import numpy as np
from pymc.step_methods.state import DataClassState, WithSamplingState, dataclass_state

N_STEPS = 2
STEP_SIZE = 0.9
JITTER = 0.2  # of the step size, relative, either way
TARGET_ACCEPTANCE = 0.8
LEARN_AT = (5, 20, 60, 150, 350, 750, 1500)  # tuning steps after which the covariance is learnt anew


@dataclass_state
class GroupValuesState(DataClassState):
    """Everything that changes while a chain runs."""

    n_tuned: int
    log_step: float
    references: tuple


class GroupValues(WithSamplingState):
    """Hamiltonian moves of group values, and what they learn.

    Leaves invariant: the density of the values given the labels, exactly.

    Parameters
    ----------
    engines : list of GroupEngine
        Their log-likelihoods are added.

    Attributes
    ----------
    n_tuned : int
        Tuning moves so far.
    log_step : float
        Log of the step size.
    references : tuple of arrays
        What the engines have learnt.
    """

    _state_class = GroupValuesState

    def __init__(self, engines: list) -> None:
        self._engines = engines
        self.begin()

    def begin(self) -> None:
        """Forget what was learnt of the step size."""
        self.n_tuned, self.log_step = 0, float(np.log(STEP_SIZE))

    @property
    def references(self) -> tuple:
        """References of the engines."""
        return tuple(engine.reference for engine in self._engines)

    @references.setter
    def references(self, references: tuple) -> None:
        for engine, reference in zip(self._engines, references, strict=True):
            engine.reference = reference

    def learn(self, eta: np.ndarray, rng: np.random.Generator) -> None:
        """Learn the covariance at the parameters `eta` (r,)."""
        for engine in self._engines:
            engine.learn(eta, rng)

    def move(
        self,
        labels: np.ndarray,
        values: np.ndarray,
        log_base: Callable[[np.ndarray, np.ndarray], float],
        precision: float,
        tune: bool,
        rng: np.random.Generator,
    ) -> tuple[np.ndarray, float]:
        """Move all values once.

        Parameters
        ----------
        labels : (r,) int64 array
        values : (K,) array
        log_base : callable
            ``log_base(values, slope)``: sum of the base's log density over `values`, its derivatives being
            added to `slope`.
        precision : float
            Curvature to add to that of the likelihood: of the order of the base's, positive.
        tune : bool
            Whether to learn from the move.
        rng : numpy.random.Generator

        Returns
        -------
        values : (K,) array
        acceptance : float
            Probability with which the proposal was accepted.
        """
        K = len(values)
        if tune and self.n_tuned in LEARN_AT:
            self.learn(values[labels], rng)
        likelihoods = [engine.grouped(labels, values) for engine in self._engines]
        metric = precision * np.eye(K)
        for engine in self._engines:
            metric += engine.information(labels, K)
        factor = np.linalg.cholesky(metric)  # M = L L'

        def density(x: np.ndarray) -> tuple[float, np.ndarray]:
            slope = np.zeros(K)
            value = log_base(x, slope)
            if value == -np.inf:
                return value, slope
            for likelihood in likelihoods:
                log_likelihood, gradient = likelihood(x)
                value += log_likelihood
                slope += gradient
            return value, slope

        accepted = []
        for _ in range(max(engine.n_trajectories for engine in self._engines)):
            step = np.exp(self.log_step) * (1.0 + JITTER * (2.0 * rng.random() - 1.0))
            proposal, gain = leapfrog(density, values, factor, step, rng)
            acceptance = float(np.exp(min(gain, 0.0))) if np.isfinite(gain) else 0.0
            accepted.append(acceptance)
            if rng.random() < acceptance:
                values = proposal
        acceptance = float(np.mean(accepted))
        if tune:
            self.n_tuned += 1
            self.log_step += (acceptance - TARGET_ACCEPTANCE) / (self.n_tuned + 5.0) ** 0.6
            self.log_step = min(self.log_step, float(np.log(1.5)))
        return values, acceptance


def leapfrog(
    density: Callable[[np.ndarray], tuple[float, np.ndarray]],
    x: np.ndarray,
    factor: np.ndarray,
    step: float,
    rng: np.random.Generator,
) -> tuple[np.ndarray, float]:
    """Trajectory of `N_STEPS` from `x` (K,) with a fresh momentum.

    Parameters
    ----------
    density : callable
        Log density and its gradient (K,).
    x : (K,) array
    factor : (K, K) array
        Lower Cholesky factor L of the metric M = L L'.
    step : float
    rng : numpy.random.Generator

    Returns
    -------
    x : (K,) array
    gain : float
        Log of the acceptance ratio.
    """
    here, slope = density(x)
    velocity = rng.standard_normal(len(x))  # in the coordinates L' x, whose metric is the identity
    energy = here - 0.5 * velocity @ velocity
    for _ in range(N_STEPS):
        velocity = velocity + 0.5 * step * np.linalg.solve(factor, slope)
        x = x + step * np.linalg.solve(factor.T, velocity)
        here, slope = density(x)
        if not np.isfinite(here):
            return x, -np.inf
        velocity = velocity + 0.5 * step * np.linalg.solve(factor, slope)
    return x, here - 0.5 * velocity @ velocity - energy
