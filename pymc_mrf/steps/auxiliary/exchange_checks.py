"""What steps with auxiliary data find out about themselves: chains too short, variables that stand still.

Are the Gibbs chains behind auxiliary data long enough? Two lengths of them are compared. With auxiliary
data Z after k sweeps from the observations X, the gradient of the log posterior that `Exchange` samples
is that of the prior plus J' (s(X) - E_k[s(Z)]), J the derivative of the natural parameters and s the
statistics. E_k lags behind the parameters towards s(X): mostly its slope is off, and posteriors are too
wide. So both are estimated, offset and slope of J' (E_k[s] - E_3k[s]) as a function of the parameters, in
coordinates in which the posterior has unit covariance.

The states X of a latent field belong to the parameters: E_k lags towards s(X), and seems wrong wherever
parameters and states do not fit each other. `Exchange` therefore compares lengths at draws of its chain.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pymc_mrf.distributions.chain_record import LEAST_DRAWS
from pymc_mrf.steps.auxiliary.exchange_proposals import difference
from pymc_mrf.steps.auxiliary.intractable_fields import IntractableField
from pymc_mrf.steps.common.statistics import Statistic

N_SETS = 100
"""Auxiliary data sets that are drawn and prolonged: they cost as much as 300 proposals."""

LEAST_SETS = 20
"""Sets from which something can be told."""

SHARE = 0.2
"""Cost of the sets along a chain, at most, in that of its proposals."""

LONGER = 3
"""Sweeps of the longer chains, in those of the shorter ones."""

SPREAD = 1.5
"""Distance of parameters that are chosen from their mean, in posterior standard deviations."""

TOLERANCE = 0.25
"""Largest difference, in posterior standard deviations, that is no reason to warn."""

FALSE_ALARMS = 1e-3
"""Probability of a warning where there is no difference, by a z-test with Bonferroni's correction."""

Evaluate = Callable[[np.ndarray], tuple[float, list[np.ndarray]]]

AUXILIARY_DRAWS = (
    Statistic("draws", "auxiliary draws", dtype=np.dtype("U16"), shown="never"),
    Statistic("n_sweeps", "sweeps of auxiliary chains", dtype=np.int64, shown="never"),
)
"""How a step draws auxiliary data, and by how many sweeps: "gibbs" makes the posterior approximate."""

EXACT = 'draws="exact" or likelihood="exact"'


class Wording(NamedTuple):
    """Name of a step, and how its users get longer chains, {n} the sweeps."""

    step: str
    longer: str


EXCHANGE = Wording("Exchange", 'Exchange(n_sweeps={n}), that is pm.sample(exchange={{"n_sweeps": {n}}})')


def spacing(n_draws: int, n_proposals: int) -> int:
    """Draws of a chain from one set to the next; a draw makes `n_proposals`, each with auxiliary data."""
    return max(math.ceil(n_draws / N_SETS), math.ceil(LONGER / (SHARE * n_proposals)))


def sets_around(
    evaluate: Evaluate,
    fields: list[IntractableField],
    center: np.ndarray,
    factor: np.ndarray,
    left: list[np.ndarray],
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Compare lengths at parameters around the posterior mean, all fields being observed.

    `evaluate`: log density of everything but the fields, and rows of natural parameters of every field,
    as functions of the coordinates (k,). `center` (k,): posterior mean, about. `factor` (k, k): times
    its transpose, the posterior covariance, about. `left`: see `compare_lengths`. Returns `points, gaps`
    (m, k): as `short_chains` takes them.
    """
    slopes = natural_slopes(evaluate, fields, center, factor)
    points = SPREAD * rng.choice([-1.0, 1.0], size=(N_SETS, len(center)))
    gaps = [
        compare_lengths(fields, evaluate(center + factor @ point)[1], slopes, left, rng)
        for point in points
    ]
    kept = [k for k, gap in enumerate(gaps) if gap is not None]
    return points[kept], np.reshape([gaps[k] for k in kept], (len(kept), len(center)))


def short_chains(
    fields: list[IntractableField],
    points: np.ndarray,
    gaps: np.ndarray,
    left: list[np.ndarray],
    words: Wording = EXCHANGE,
) -> list[str]:
    """Warn if three times as many Gibbs sweeps make a difference to the posterior.

    `points` (m, k): parameters at which lengths were compared, in posterior standard deviations. `gaps`
    (m, k): what `compare_lengths` found there, in the same coordinates. `left`: which nodes it marked.
    `words`: of complaints. Returns list of str: one complaint if the largest difference that is
    significant exceeds `TOLERANCE`; else one if chains never change a node that varies in the data: then
    lengths of chains say nothing.
    """
    drawn = [field for field in fields if field.sampler.draws == "gibbs"]
    if not drawn or len(points) < LEAST_SETS:
        return []
    gap, n_sweeps = largest_gap(points, gaps), drawn[0].sampler.n_sweeps
    if gap <= TOLERANCE:
        frozen = [
            f"{np.count_nonzero(stuck)} nodes of {field.name}"
            for field, moves in zip(fields, left, strict=True)
            if field in drawn and np.any(stuck := ~moves & (field.x != field.x[0]).any(axis=0))
        ]
        if not frozen:
            return []
        return [
            f"{words.step}: the Gibbs chains behind auxiliary data never changed {', '.join(frozen)} in "
            f"{LONGER * n_sweeps} sweeps, so that what is sampled is close to the prior. Use {EXACT} "
            "if the junction tree is small, or a prior that keeps couplings weaker"
        ]
    return [
        f"{words.step}: n_sweeps={n_sweeps} is too small: {LONGER} times as many Gibbs sweeps behind the "
        f"auxiliary data of {', '.join(field.name for field in drawn)} change the posterior by about "
        f"{gap:.1f} of its standard deviations, and still longer chains may change it more. Use "
        f"{words.longer.format(n=10 * n_sweeps)}, or {EXACT} if the junction tree is small"
    ]


def largest_gap(points: np.ndarray, gaps: np.ndarray) -> float:
    """Largest significant offset or slope, 0 if there is none: see `short_chains`."""
    from scipy.special import ndtri

    around = points - points.mean(axis=0)
    spread = np.mean(around**2, axis=0)
    around = np.divide(around, spread, out=np.zeros_like(around), where=spread > 0.0)
    estimates = np.concatenate([gaps, gaps * around], axis=1)
    size = np.abs(estimates.mean(axis=0))
    error = estimates.std(axis=0, ddof=1) / np.sqrt(len(points))
    quantile = -float(ndtri(FALSE_ALARMS / 2 / len(size)))
    return float(size.max(initial=0.0, where=size > quantile * error))


def natural_slopes(
    evaluate: Evaluate, fields: list[IntractableField], center: np.ndarray, factor: np.ndarray
) -> list[list[np.ndarray]]:
    """Differentiate the natural parameters, (k, t), along the columns of `factor`, by field and unit."""
    step = 0.1
    slopes: list[list] = [[[] for _ in field.units] for field in fields]
    for column in factor.T:
        ups, downs = (evaluate(center + h * column)[1] for h in (step, -step))
        for f, (field, up, down) in enumerate(zip(fields, ups, downs, strict=True)):
            for u, unit in enumerate(field.units):
                c = 0 if len(up) == 1 else unit[0]
                slope = difference(up[c], down[c]) / (2 * step)
                slopes[f][u].append(np.where(np.isfinite(slope), slope, 0.0))
    return [[np.array(rows) for rows in units] for units in slopes]


def compare_lengths(
    fields: list[IntractableField],
    natural: list[np.ndarray],
    slopes: list[list[np.ndarray]],
    left: list[np.ndarray],
    rng: np.random.Generator,
) -> np.ndarray | None:
    """Difference (k,) of the gradients of one auxiliary data set and its prolongation.

    `natural`: rows of natural parameters of every field. `slopes`: what `natural_slopes` returned.
    `left` list of (d,) bool: by field: the nodes at which chains leave the observations are marked.
    Returns (k,) or None: None if the parameters, or the observations under them, are impossible.
    """
    total = np.zeros(len(slopes[0][0]))
    for field, rows, by_unit, moves in zip(fields, natural, slopes, left, strict=True):
        if not field.is_valid(rows):
            return None
        if field.sampler.draws != "gibbs":
            continue
        for u, unit in enumerate(field.units):
            counts = field.prolonged_statistics(u, rows[0 if len(rows) == 1 else unit[0]], LONGER, rng)
            if counts is None:
                return None
            short, long, differs = counts
            total += by_unit[u] @ (short - long)
            moves |= differs
    return total


def standstill(names: list[str], moved: np.ndarray, ends: np.ndarray, n_draws: int) -> list[str]:
    """Warn of variables with entries that kept their value through a chain of 50 draws or more.

    `moved` (k,) bool: which coordinates moved. `ends`: coordinates of variable i are ``ends[i] : ends[i
    + 1]``. `n_draws`: length of the chain, after tuning.
    """
    parts = np.split(moved, ends[1:-1])
    still = [name for name, part in zip(names, parts, strict=True) if not part.all()]
    if not still or n_draws < LEAST_DRAWS:
        return []
    return [
        f"Exchange accepted no proposal for {', '.join(still)}, or for entries of it, in a chain of "
        f"{n_draws} draws: these draws are no sample. Tune longer (pm.sample(tune=...)), start "
        'elsewhere (initvals={...}), or propose fewer coordinates together (exchange={"block_size": ...})'
    ]
