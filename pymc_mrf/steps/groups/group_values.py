"""Hamiltonian moves of group values, given the labels (Duane et al., 1987; Neal, 2011).

Given labels the values of some ten groups have a smooth density whose curvature is, next to that of the base,
n times the covariance of the groups' sums of f. That covariance, learnt while tuning, serves all labels by
summation: in its metric two leapfrog steps go far. Free variables behind the node parameters of fields may
be moved along.
"""

from collections.abc import Callable
from math import inf, isfinite

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from scipy.linalg import lapack

from pymc_mrf.distributions.chain_record import Remembering
from pymc_mrf.kernels.metropolis import metropolis
from pymc_mrf.steps.common.expressions import FlatEntries, PointFunction, start_of, terms_with
from pymc_mrf.steps.common.observed_field import ObservedField

N_STEPS = 2
STEP_SIZE = 0.9
JITTER = 0.2  # of the step size, relative, either way
TARGET_ACCEPTANCE = 0.8
LEARN_AT = (5, 20, 60, 150, 350, 750, 1500)  # tuning steps after which the covariance is learnt anew

LEAST_PRECISION = 1e-4


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


class NodeVariables:
    """Value variables v (P,), flat, whatever their priors, and the node parameters that they give.

    Parameters
    ----------
    values : list of TensorVariable
        Continuous value variables of `model`; if there are none, node parameters stay as engines have them.
    fields : list of ObservedField
    model : pymc.Model
    compile_kwargs : dict, optional

    Attributes
    ----------
    coordinates : FlatEntries
        From points to v.
    size : int
        P.
    """

    def __init__(
        self, values: list, fields: list[ObservedField], model: pm.Model, compile_kwargs=None
    ) -> None:
        self.coordinates = FlatEntries([value.name for value in values], start_of(model))
        self.size = self.coordinates.size
        self._nothing = [np.zeros(0)] * len(fields)
        if not values:
            return
        terms, _ = terms_with(values, model, [field.node for field in fields])
        log_density = model.logp(vars=[term for term, _ in terms])
        nodes = model.replace_rvs_by_values([field.node_parameter for field in fields])
        shapes = [field.family.node_shape(field.graph.n_nodes) for field in fields]
        nodes = [
            pt.broadcast_to(node.reshape((-1, *shape[1:])), shape).ravel().astype("float64")
            for node, shape in zip(nodes, shapes, strict=True)
        ]
        cotangents = [pt.dvector(f"cotangent_{j}") for j in range(len(fields))]
        total = log_density + sum(pt.dot(g, node) for g, node in zip(cotangents, nodes, strict=True))
        slope = pt.concatenate([g.reshape((-1,)) for g in pt.grad(total, values)])
        self._evaluate = PointFunction([log_density, *nodes], model, compile_kwargs)
        self._pull_back = PointFunction(slope, model, compile_kwargs, given=cotangents)
        self._widths = [int(np.prod(shape)) for shape in shapes]

    def evaluate(self, v: np.ndarray, point: dict) -> tuple[float, list[np.ndarray]]:
        """Log density of everything but the fields that `v` enters, and the node parameters, (d q,) each."""
        if not self.size:
            return 0.0, self._nothing
        log_density, *nodes = self._evaluate({**point, **self.coordinates.values(v)})
        return float(log_density), nodes

    def slope(self, v: np.ndarray, point: dict, cotangents: list[np.ndarray]) -> np.ndarray:
        """Gradient (P,) of the log density plus the sum of cotangents (d q,) times node parameters."""
        return (
            self._pull_back({**point, **self.coordinates.values(v)}, *cotangents)
            if self.size
            else np.zeros(0)
        )

    def curvature(self, v: np.ndarray, point: dict) -> np.ndarray:
        """Minus the second derivatives (P,) of the log density, bounded below; by differences."""
        zero = [np.zeros(width) for width in self._widths]
        out = np.empty(self.size)
        for i in range(self.size):
            step = np.zeros(self.size)
            step[i] = 1e-4 * (1.0 + abs(v[i]))
            up, down = (self.slope(v + sign * step, point, zero)[i] for sign in (1.0, -1.0))
            out[i] = (down - up) / (2.0 * step[i])
        return np.maximum(np.nan_to_num(out), LEAST_PRECISION)

    def jacobians(self, v: np.ndarray, point: dict) -> list[np.ndarray]:
        """Differentiate the node parameters of every field, (d q, P) each."""
        zero = [np.zeros(width) for width in self._widths]
        still = self.slope(v, point, zero)
        found = []
        for j, width in enumerate(self._widths):
            rows = []
            for i in range(width):
                one = [g.copy() for g in zero]
                one[j][i] = 1.0
                rows.append(self.slope(v, point, one) - still)
            found.append(np.array(rows))
        return found
