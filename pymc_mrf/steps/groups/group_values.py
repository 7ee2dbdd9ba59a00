"""Hamiltonian moves of group values, given the labels (Duane et al., 1987; Neal, 2011).

Given labels the values of some ten groups have a smooth density whose curvature is, next to that of the base,
n times the covariance of the groups' sums of f. That covariance, learnt while tuning, serves all labels by
summation: in its metric two leapfrog steps go far.
"""

from collections.abc import Callable
from math import inf, isfinite

import numpy as np
from scipy.linalg import lapack

from pymc_mrf.kernels.metropolis import metropolis
from pymc_mrf.steps.common.chain_state import Remembering

N_STEPS = 2
STEP_SIZE = 0.9
JITTER = 0.2  # of the step size, relative, either way
TARGET_ACCEPTANCE = 0.8
LEARN_AT = (5, 20, 60, 150, 350, 750, 1500)  # tuning steps after which the covariance is learnt anew


class GroupValues(Remembering):
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

    remembers = ("n_tuned", "log_step", "references")

    def __init__(self, engines: list) -> None:
        self._engines = engines
        self.begin()

    def begin(self) -> None:
        """Forget what was learnt of the step size."""
        self.n_tuned, self.log_step = 0, float(np.log(STEP_SIZE))

    @property
    def references(self) -> tuple:
        """References of the engines."""
        return tuple((engine.reference, engine.node_reference) for engine in self._engines)

    @references.setter
    def references(self, references: tuple) -> None:
        for engine, reference in zip(self._engines, references, strict=True):
            engine.reference, engine.node_reference = reference

    def move(
        self,
        density: Callable[[np.ndarray], tuple[float, np.ndarray]],
        x: np.ndarray,
        metric: np.ndarray,
        tune: bool,
        rng: np.random.Generator,
    ) -> tuple[np.ndarray, float]:
        """Move all values once, or several times where `density` has to be made anew for every move.

        Parameters
        ----------
        density : callable
            Log density and its gradient (K,).
        x : (K,) array
        metric : (K, K) array
            Positive definite; a function of the labels and of what was learnt, not of `x`.
        tune : bool
            Whether to learn from the move.
        rng : numpy.random.Generator

        Returns
        -------
        x : (K,) array
        acceptance : float
            Mean probability with which proposals were accepted.
        """
        inverse = inverse_root(metric)
        probabilities = []
        for _ in range(max(engine.n_trajectories for engine in self._engines)):
            step = np.exp(self.log_step) * (1.0 + JITTER * (2.0 * rng.random() - 1.0))
            proposal, gain = leapfrog(density, x, inverse, step, rng)
            accepted, probability = metropolis(gain, rng)
            probabilities.append(probability)
            if accepted:
                x = proposal
        acceptance = float(np.mean(probabilities))
        if tune:
            self.n_tuned += 1
            self.log_step += (acceptance - TARGET_ACCEPTANCE) / (self.n_tuned + 5.0) ** 0.6
            self.log_step = min(self.log_step, float(np.log(1.5)))
        return x, acceptance

    def learns(self, tune: bool) -> bool:
        """Whether the covariance should be learnt anew before the next move."""
        return tune and self.n_tuned in LEARN_AT


def inverse_root(metric: np.ndarray) -> np.ndarray:
    """Inverse of the lower Cholesky factor of a positive definite matrix (K, K).

    By LAPACK without what numpy does around it, which takes ten times as long for a few groups.
    """
    root, failed = lapack.dpotrf(metric, lower=1, clean=1)
    if failed:
        raise np.linalg.LinAlgError("the metric of the group values is not positive definite")
    return lapack.dtrtri(root, lower=1)[0]


def leapfrog(
    density: Callable[[np.ndarray], tuple[float, np.ndarray]],
    x: np.ndarray,
    inverse: np.ndarray,
    step: float,
    rng: np.random.Generator,
) -> tuple[np.ndarray, float]:
    """Trajectory of `N_STEPS` from `x` (K,) with a fresh momentum.

    Parameters
    ----------
    density : callable
        Log density and its gradient (K,).
    x : (K,) array
    inverse : (K, K) array
        Inverse of the lower Cholesky factor L of the metric M = L L'.
    step : float
    rng : numpy.random.Generator

    Returns
    -------
    x : (K,) array
    gain : float
        Log of the acceptance ratio.
    """
    here, slope = density(x)
    up, down = 0.5 * step * inverse, step * inverse.T
    velocity = rng.standard_normal(len(x))  # in the coordinates L' x, whose metric is the identity
    energy = here - 0.5 * velocity @ velocity
    for _ in range(N_STEPS):
        velocity = velocity + up @ slope
        x = x + down @ velocity
        here, slope = density(x)
        if not isfinite(here):
            return x, -inf
        velocity = velocity + up @ slope
    return x, float(here - 0.5 * velocity @ velocity - energy)
