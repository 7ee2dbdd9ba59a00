"""Proposals of `Exchange`: where chains start, how far they first move, which coordinates move together.

Chains start near the maximum of prior times pseudo-likelihood. The pseudo-likelihood of Besag (1975)
stands in for the intractable likelihood. Only starts and proposal scales follow from it, never what a
step leaves invariant.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pymc as pm
from pymc.util import get_value_vars_from_user_vars

from pymc_mrf.steps.auxiliary.intractable_fields import IntractableField

STEP = 1e-4  # of the central differences, relative beyond 1
WEAK = 1e-2  # precision below which a coordinate is taken for undetermined
MAX_ITERATIONS = 25
MAX_SHIFT = 2.0  # largest change of a coordinate in one iteration


class PseudoPosterior(NamedTuple):
    """Gaussian approximation over the k coordinates of the value variables.

    `mode` (k,). `precision` (k, k): positive definite. `touched` (u, k) bool: which coordinates change
    the parameters of which unit of observations.
    """

    mode: np.ndarray
    precision: np.ndarray
    touched: np.ndarray


def pseudo_posterior(
    evaluate: Callable[[np.ndarray], tuple[float, list[np.ndarray]]],
    fields: list[IntractableField],
    start: np.ndarray,
) -> PseudoPosterior:
    """Maximise by damped Newton steps, with differences for the prior and the chain rule.

    `evaluate`: log density of everything but the fields, and rows of natural parameters of every field,
    as functions of the coordinates (k,). `start` (k,).
    """
    v = start
    value = _objective(*evaluate(v), fields)
    for _ in range(MAX_ITERATIONS):
        gradient, precision, touched = _expand(evaluate, fields, v)
        shift = np.linalg.solve(precision, gradient)
        shift *= min(1.0, MAX_SHIFT / np.abs(shift).max(initial=1e-300))
        for _ in range(10):
            better = _objective(*evaluate(v + shift), fields)
            if better > value:
                break
            shift = 0.25 * shift
        if not better > value + 1e-6:
            break
        v, value = v + shift, better
    return PseudoPosterior(v, precision, touched)


def pseudo_precision(
    evaluate: Callable[[np.ndarray], tuple[float, list[np.ndarray]]],
    fields: list[IntractableField],
    v: np.ndarray,
) -> np.ndarray:
    """Precision (k, k) of prior times pseudo-likelihood at `v` (k,); see `pseudo_posterior`."""
    return _expand(evaluate, fields, v)[1]


def _units(fields: list[IntractableField]) -> list[tuple[IntractableField, np.ndarray]]:
    return [(field, unit) for field in fields for unit in field.units]


def _unit_rows(fields, natural: list[np.ndarray]) -> list[np.ndarray]:
    return [
        rows[0 if len(rows) == 1 else unit[0]]
        for field, rows in zip(fields, natural, strict=True)
        for unit in field.units
    ]


def _objective(log_density: float, natural: list[np.ndarray], fields) -> float:
    """Log density plus log pseudo-likelihood; -inf outside the domain."""
    valid = (field.is_valid(rows) for field, rows in zip(fields, natural, strict=True))
    if not (np.isfinite(log_density) and all(valid)):
        return -np.inf
    total = log_density
    for (field, unit), row in zip(_units(fields), _unit_rows(fields, natural), strict=True):
        total += field.log_pseudo_likelihood(unit, row)
    return total


def difference(up: np.ndarray, down: np.ndarray) -> np.ndarray:
    """`up` - `down`, 0 where both are -inf."""
    with np.errstate(invalid="ignore"):
        return np.where(up == down, 0.0, up - down)


def _expand(evaluate, fields, v):
    """Gradient (k,), positive definite negative Hessian (k, k) and `touched` (u, k) at `v`."""
    k, here = len(v), evaluate(v)
    rows = _unit_rows(fields, here[1])
    jacobians = [np.zeros((len(row), k)) for row in rows]
    touched = np.zeros((len(rows), k), dtype=bool)
    gradient, curvature = np.zeros(k), np.zeros(k)
    for i in range(k):
        h = np.zeros(k)
        h[i] = STEP * (1.0 + abs(v[i]))
        (up, natural_up), (down, natural_down) = evaluate(v + h), evaluate(v - h)
        gradient[i] = (up - down) / (2 * h[i])
        curvature[i] = -(up - 2 * here[0] + down) / h[i] ** 2
        ups, downs = _unit_rows(fields, natural_up), _unit_rows(fields, natural_down)
        for u, row in enumerate(rows):
            jacobians[u][:, i] = difference(ups[u], downs[u]) / (2 * h[i])
            touched[u, i] = np.any(ups[u] != row) or np.any(downs[u] != row)
    # priors of bounded support have no derivative at their ends
    gradient, curvature = (np.nan_to_num(a, posinf=0.0, neginf=0.0) for a in (gradient, curvature))
    precision = np.diag(np.maximum(curvature, 0.0))
    for (field, unit), row, jacobian, reached in zip(
        _units(fields), rows, jacobians, touched, strict=True
    ):
        columns = np.flatnonzero(reached & np.isfinite(jacobian).all(axis=0))
        J = jacobian[:, columns]  # (t, c)
        score = field.pseudo_gradient(unit, row)
        bent = [field.pseudo_gradient(unit, row + STEP * j) - score for j in J.T]
        information = -np.reshape(bent, (len(columns), len(row))) @ J / STEP  # (c, c)
        if not (np.isfinite(score).all() and np.isfinite(information).all()):
            continue  # parameters beyond all bounds
        gradient[columns] += score @ J
        precision[np.ix_(columns, columns)] += 0.5 * (information + information.T)
    # directions without information, under improper priors: as if of unit scale
    weak = np.diag(precision) < WEAK
    precision[weak, weak] = 1.0
    return gradient, _definite(precision), touched


def _definite(precision: np.ndarray) -> np.ndarray:
    """Enlarge the diagonal of a symmetric matrix until it is positive definite."""
    scale, ridge = np.diag(np.diag(precision)), 1e-8
    while True:
        try:
            np.linalg.cholesky(precision + ridge * scale)
        except np.linalg.LinAlgError:
            ridge *= 100.0
        else:
            return precision + ridge * scale


def connected(touched: np.ndarray) -> list[np.ndarray]:
    """Coordinates (columns) joined by common rows of a (u, k) bool array, as index arrays."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    links = csr_array(touched.T.astype(np.int64) @ touched.astype(np.int64))
    n, labels = connected_components(links, directed=False)
    return [np.flatnonzero(labels == k) for k in range(n)]


def named_blocks(
    blocks: Sequence[Sequence], values: list, ends: np.ndarray, model: pm.Model
) -> list[np.ndarray]:
    """Coordinates of blocks of variables, given by themselves or by name.

    Coordinates of ``values[i]`` are ``ends[i] : ends[i + 1]``.

    Raises a ValueError if the blocks do not hold each variable exactly once.
    """
    chosen = [[model[v] if isinstance(v, str) else v for v in block] for block in blocks]
    named = [get_value_vars_from_user_vars(block, model) for block in chosen]
    flat = [value for block in named for value in block]
    if len(flat) != len(set(flat)) or set(flat) != set(values):
        names = ", ".join(model.values_to_rvs[value].name for value in values)
        raise ValueError(f"blocks must hold each of {names} exactly once")
    where = {v: np.arange(*ends[i : i + 2]) for i, v in enumerate(values)}
    return [np.concatenate([where[value] for value in block]) for block in named]


def random_parts(
    block: np.ndarray, size: int, precision: np.ndarray, rng: np.random.Generator
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield parts of a large block, of at most `size`, each with the factor of its conditional covariance."""
    for part in np.array_split(rng.permutation(block), -(-len(block) // size)):
        root = np.linalg.cholesky(precision[np.ix_(part, part)])
        yield part, np.linalg.inv(root).T


def target_acceptance(k: int) -> float:
    """Give the acceptance rate at which a k-dimensional exchange random walk mixes best.

    On Gaussian posteriors, whose ratio carries the noise of the auxiliary data as well, simulation gave
    0.42, 0.33, 0.26 and 0.23 for k = 1, 2, 5, 10, at a step of 1.8 / sqrt(k) standard deviations.
    """
    return 0.23 + 0.19 / k
