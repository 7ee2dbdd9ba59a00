"""Where chains of a hidden field start: the parameters of its classes, fitted to the evidence.

Means and scales of classes start at values of their priors, which say nothing of the data and often make
all classes alike; nodes drawn from such evidence are noise, or all in one class, and chains may stay
there. So the classes are first fitted as a mixture, the nodes being independent and the weights of the
classes unknown, from several starts (McLachlan & Peel, 2000, sec. 2.12). Only starts follow from it.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pymc as pm
from pytensor.graph.traversal import ancestors

from pymc_mrf.distributions.parents import field_node, free_parents
from pymc_mrf.steps.intractable_parents import POINT_MASSES
from pymc_mrf.steps.latent_evidence import LatentEvidence
from pymc_mrf.steps.latent_field import LatentField
from pymc_mrf.steps.point_inputs import PointFunction

MAX_COORDINATES = 30
"""Coordinates up to which parameters are fitted: slopes are differences, one for each."""

MAX_READ = 4096
"""Free cells that speak for all, chosen at random: fits are starts, and large fields take long to read."""

N_STARTS = 12
N_FINALISTS = 3
ROUNDS, FINAL_ROUNDS = 4, 12
ITERATIONS = 8
"""Of the optimiser in a round: then neighbours are looked at again."""

CONVERGED = 0.5
"""Difference of the log density from one round to the next that ends them."""

WEIGHT_SD = 2.0
"""Standard deviation of the log weights of classes."""

STEP = 1e-6

IMPOSSIBLE = -1e100


def fitted_classes(
    field: LatentField,
    evidence: LatentEvidence,
    node,
    model: pm.Model,
    point: dict,
    default: dict,
    compile_kwargs,
) -> dict[str, np.ndarray]:
    """Fit the parameters of the evidence that are at PyMC's default.

    Parameters
    ----------
    field : LatentField
    evidence : LatentEvidence
        About `field`.
    node : Apply
        The field.
    model : pymc.Model
    point : dict
        Where the chain starts.
    default : dict
        Where PyMC starts the variables for which the model gives no start.
    compile_kwargs : dict or None

    Returns
    -------
    dict
        New values, by name; empty where there is nothing to fit.
    """
    names = _to_fit(evidence, node, model, point, default)
    size = sum(np.size(point[name]) for name in names)
    if not names or size > MAX_COORDINATES or not evidence.separable:
        return {}
    mixture = _Mixture(field, evidence, model, point, names, compile_kwargs)
    return mixture.values(mixture.fit())


def _to_fit(evidence: LatentEvidence, node, model: pm.Model, point, default) -> list[str]:
    """Continuous variables that the evidence reads, without those of the field itself."""
    of_field = {parent.name for parent in free_parents(node, model)}
    found = []
    for rv in model.free_RVs:
        name = model.rvs_to_values[rv].name
        if (
            name in evidence.parameters
            and rv.name not in of_field
            and rv.dtype.startswith("float")
            and type(rv.owner.op) not in POINT_MASSES
            and name in default
            and np.array_equal(point[name], default[name])
        ):
            found.append(name)
    return found


class _Found(NamedTuple):
    """Log density, where it is, and what neighbours say there (N, K)."""

    value: float
    u: np.ndarray
    around: np.ndarray


class _Mixture:
    """Log density of parameters (k,) and log weights (K,), at first and last of one vector."""

    def __init__(self, field, evidence, model: pm.Model, point, names, compile_kwargs) -> None:
        self._field, self._evidence, self._names = field, evidence, names
        self._rng = np.random.default_rng(0)  # chains shall agree on the names of the classes
        N = len(field.states)
        self._every = np.arange(N)
        self._some = self._every
        if N > MAX_READ:
            self._some = np.sort(self._rng.choice(N, MAX_READ, replace=False))
        self._point = {name: np.asarray(value) for name, value in point.items()}
        self._k = sum(self._point[name].size for name in names)
        self._prior = _prior(model, names, evidence, compile_kwargs)
        self._neighbours = field.neighbours()
        possible = field.evidence(np.zeros(field.states.shape))  # (m, d, K), 0 or -inf
        self._possible, self._observed = possible[field.free], np.exp(possible)
        self._around = np.zeros(field.states.shape)

    def values(self, u: np.ndarray) -> dict[str, np.ndarray]:
        """Parameters by name."""
        shapes = [self._point[name].shape for name in self._names]
        ends = np.cumsum([self._point[name].size for name in self._names])
        parts = np.split(u[: self._k], ends[:-1])
        return {
            name: part.reshape(shape).astype(self._point[name].dtype)
            for name, part, shape in zip(self._names, parts, shapes, strict=True)
        }

    def _read(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Log density of what no node's state changes, and evidence (N, K)."""
        point = {**self._point, **self.values(theta)}
        found = self._evidence.read(point)
        rest = found.cells[0].sum() - found.table[:, 0].sum()
        return float(self._prior(point)) + float(rest), found.table

    def _expand(
        self, theta: np.ndarray, log_weights: np.ndarray, cells: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """Log density, and the shares of states of `cells` (n, K), which speak for all.

        -inf in `log_weights` where there is no state.
        """
        constant, table = self._read(theta)
        joint = (table if len(cells) == len(table) else table[cells]) + log_weights
        best = joint.max(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):
            shares = np.exp(joint - best)
        total = shares.sum(axis=1, keepdims=True)
        stand_for = len(self._every) / len(cells)
        value = constant + stand_for * float(best.sum() + np.log(total).sum())
        if not np.isfinite(value):
            return IMPOSSIBLE, np.full_like(joint, 1.0 / joint.shape[1])
        return value, shares / total

    def _log_weights(self, rest: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """Log weights of states of `cells` (n, K), by their biases and by the neighbours."""
        scores = rest[:-1] + rest[-1] * self._around[cells] + self._possible[cells]
        scores -= scores.max(axis=1, keepdims=True)
        return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))

    def _objective(self, u: np.ndarray) -> tuple[float, np.ndarray]:
        """Minus the log density, and its gradient: by differences for the parameters."""
        theta, rest = u[: self._k], u[self._k :]
        cells, log_weights = self._some, self._log_weights(rest, self._some)
        value, shares = self._expand(theta, log_weights, cells)
        gradient = np.zeros(len(u))
        for i in range(self._k):
            near = theta.copy()
            near[i] += STEP * (1.0 + abs(near[i]))
            moved = self._expand(near, log_weights, cells)[0]
            gradient[i] = (moved - value) / (near[i] - theta[i]) if moved > IMPOSSIBLE < value else 0.0
        gain = (shares - np.exp(log_weights)) * (len(self._every) / len(cells))
        gradient[self._k :] = np.append(gain.sum(axis=0), (gain * self._around[cells]).sum())
        gradient[self._k :] -= rest / WEIGHT_SD**2
        return 0.5 * float(rest @ rest) / WEIGHT_SD**2 - value, -gradient

    def _climb(self, u: np.ndarray, around: np.ndarray, n_rounds: int) -> "_Found":
        """Maximise, and renew what neighbours say, in turns."""
        from scipy.optimize import minimize

        value = -np.inf
        for _ in range(n_rounds):
            self._around, last = around, value
            found = minimize(
                self._objective, u, jac=True, method="L-BFGS-B", options={"maxiter": ITERATIONS}
            )
            u, value = found.x, -float(found.fun)
            log_weights = self._log_weights(u[self._k :], self._every)
            shares = self._expand(u[: self._k], log_weights, self._every)[1]
            around = self._sum_around(shares)
            if abs(value - last) < CONVERGED:
                break
        return _Found(value, u, around)

    def _sum_around(self, shares: np.ndarray) -> np.ndarray:
        """Sum the shares of states (N, K) over the neighbours of each free cell."""
        full = self._observed.copy()
        full[self._field.free] = shares
        return np.stack([self._neighbours @ rows for rows in full])[self._field.free]

    def fit(self) -> np.ndarray:
        """Best of several starts around the fit from PyMC's default, at which classes are alike."""
        start = np.concatenate([self._point[name].ravel() for name in self._names])
        N, K = self._field.states.shape
        alone = np.zeros((N, K))
        first = self._climb(np.concatenate([start, np.zeros(K + 1)]), alone, 2)
        spread = self._spread(first.u)
        climbed = [first]
        for _ in range(N_STARTS):
            u = first.u + spread * self._rng.standard_normal(len(spread))
            climbed.append(self._climb(u, alone, ROUNDS))
        climbed.sort(key=lambda found: found.value, reverse=True)
        finals = [self._climb(f.u, f.around, FINAL_ROUNDS) for f in climbed[:N_FINALISTS]]
        return max(finals, key=lambda found: found.value).u

    def _spread(self, u: np.ndarray) -> np.ndarray:
        """Scale of the parameters that the evidence about one node of one class has; 0 of the rest."""
        theta, cells = u[: self._k], self._some
        log_weights = self._log_weights(u[self._k :], cells)
        spread, value = np.zeros_like(u), self._expand(theta, log_weights, cells)[0]
        n, K = self._field.states.shape
        for i in range(self._k):
            h = np.zeros(self._k)
            h[i] = 1e-3 * (1.0 + abs(theta[i]))
            sides = sum(self._expand(theta + side * h, log_weights, cells)[0] for side in (-1.0, 1.0))
            curvature = (2.0 * value - sides) / (h[i] ** 2 * n)
            spread[i] = 1.0 / (K * np.sqrt(curvature)) if curvature > 1e-6 else 1.0
        return spread


def _prior(model: pm.Model, names, evidence: LatentEvidence, compile_kwargs) -> Callable[[dict], float]:
    """Log density of the terms that contain the parameters, but not the field."""
    values = {value for value in model.value_vars if value.name in names}
    terms = [
        term
        for term in [*model.basic_RVs, *model.potentials]
        if field_node(term) is None
        and term.name not in evidence.terms
        and not values.isdisjoint(ancestors([model.logp(vars=[term])]))
    ]
    return PointFunction(model.logp(vars=terms), model, compile_kwargs)
