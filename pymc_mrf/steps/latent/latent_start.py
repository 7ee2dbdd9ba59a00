"""Where chains of a hidden field start: the parameters of its classes, fitted to the evidence.

Means and scales of classes start at values of their priors, which say nothing of the data and often make
all classes alike; nodes drawn from such evidence are noise, or all in one class, and chains may stay
there. So they are first fitted by variational EM: nodes are independent given the mean field of their
neighbours, and the lower bound of the log density of the data chooses among several starts (Celeux, Forbes &
Peyrard, 2003). Steps of the parameters learn the curvature of the bound, so that few are needed. Only starts
follow from it.
"""

from collections.abc import Callable
from functools import reduce
from typing import NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.distribution import PartialObservedRV
from pytensor.compile.mode import Mode
from pytensor.gradient import NullTypeGradError
from pytensor.graph.traversal import ancestors
from pytensor.scan.op import Scan
from pytensor.tensor.blockwise import Blockwise
from scipy import sparse

from pymc_mrf.distributions.parents import field_node, free_parents
from pymc_mrf.steps.auxiliary.intractable_fields import POINT_MASSES
from pymc_mrf.steps.common.expressions import FlatEntries, PointFunction
from pymc_mrf.steps.latent.latent_evidence import LatentEvidence
from pymc_mrf.steps.latent.latent_field import LatentField, PairwiseLatentField
from pymc_mrf.steps.latent.latent_warnings import warn_of_no_fit

MAX_COORDINATES, MAX_DIFFERENCES = 300, 60
"""Coordinates up to which parameters are fitted; if slopes are differences, one for each."""

MOST_STARTS, FEWEST_STARTS = 24, 12
STARTED_NODES = 500_000
"""Nodes of all starts together, between the two: fewer starts in large fields."""

ROUND, MOST_STEPS = 2, 40
"""Steps of the optimiser after which the better half of the starts goes on, and of the last ones at most."""

SHORTENINGS = 12
"""How often a step that does not raise the bound is shortened before the parameters stay."""

MEAN_FIELDS = 10
"""Updates of the mean field after each step."""

CONVERGED = 0.1
"""Rise of the bound by one step that ends them."""

SMOOTH = 1.7
"""Neighbours that a node is joined to, on average, by the attraction that is assumed where the coupling is
zero at the start; fields order at 2 or more."""

STEP, SINGLE_STEP = 1e-6, 1e-3
"""Relative, of differences; of numbers in single precision."""

FILLS = (0.0, -1.0, -2.0, -4.0, 2.0)
"""What is tried in place of starts that are not finite."""

LEFT_OUT = -2
"""Owner of a cell that plays no part in the fit, as it depends on data that are hidden as well."""

IMPOSSIBLE = -1e100

TINY = 1e-12
"""Probability that a state has at least, where it is possible."""

QUICK = Mode(linker="py", optimizer="fast_compile")
"""For slopes: numba takes many seconds to compile a gradient that is needed some hundred times."""

Slopes = Callable[[dict, np.ndarray, np.ndarray], np.ndarray]


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

    `evidence`: about `field`. `node`: the field. `point`: where the chain starts. `default`: where PyMC
    starts the variables for which the model gives no start. `compile_kwargs` (dict or None). Returns
    dict: new values, by name; empty where there is nothing to fit, or no fit is better than the start.
    """
    names, hidden = _to_fit(evidence, node, model, point, default)
    if not names:
        return {}
    owner = evidence.owner
    if hidden:
        owner = np.where(evidence.cells_that_read(hidden, point), LEFT_OUT, owner)
    slopes = slopes_of(evidence, model, names)
    why = _why_not(
        field, evidence, owner, slopes is not None, sum(np.size(point[name]) for name in names)
    )
    if why:
        if not np.ptp(evidence.read(point).table, axis=1).any():
            warn_of_no_fit(field.name, names, why.format(hidden=", ".join(hidden)))
        return {}
    em = VariationalEM(field, evidence, owner, model, point, names, slopes, compile_kwargs)
    with np.errstate(all="ignore"):  # on its way it looks at parameters that are impossible
        found = em.fit()
    return {} if found is None else {name: em.at(found)[name] for name in names}


def _why_not(field: LatentField, evidence: LatentEvidence, owner, has_slopes: bool, size: int) -> str:
    most = MAX_COORDINATES if has_slopes else MAX_DIFFERENCES
    if not isinstance(field, PairwiseLatentField):
        return "the field is a FactorGraphMRF"
    if not evidence.separable:
        return "a term depends on several nodes at once"
    if (owner == LEFT_OUT).all():
        return (
            "the data reach the field only through {hidden}, which is unknown as well (integrate it out of "
            "the model if that is possible)"
        )
    return f"they are {size} numbers, and at most {most} are fitted" if size > most else ""


def finite_starts(model: pm.Model, point: dict, default: dict) -> dict[str, np.ndarray]:
    """Find starts, by the name of the value, for variables that PyMC starts where a transform is not finite.

    As those of equal numbers under the transform `ordered`; of several the one with the greatest density.
    """
    found: dict[str, np.ndarray] = {}
    for rv in model.free_RVs:
        name = model.rvs_to_values[rv].name
        start = np.asarray(point[name])
        if start.dtype.kind != "f" or np.isfinite(start).all() or name not in default:
            continue
        f = PointFunction(model.logp(vars=[rv]), model, {"mode": QUICK})
        tried = [np.where(np.isfinite(start), start, fill).astype(start.dtype) for fill in FILLS]
        values = [np.nan_to_num(f({**point, **found, name: v}), nan=-np.inf) for v in tried]
        found[name] = tried[int(np.argmax(values))]
    return found


def _to_fit(
    evidence: LatentEvidence, node, model: pm.Model, point, default
) -> tuple[list[str], list[str]]:
    """Continuous variables that the evidence reads, without those of the field itself.

    Second, those whose own law depends on the field, and missing parts of vectors: they are no parameters of
    its classes, but data that are hidden as well.
    """
    of_field = {parent.name for parent in free_parents(node, model)}
    found, hidden = [], []
    for rv in model.free_RVs:
        name = model.rvs_to_values[rv].name
        if name not in evidence.parameters or not rv.dtype.startswith("float"):
            continue
        if rv.name in evidence.terms or isinstance(rv.owner.op, PartialObservedRV):
            hidden.append(name)
        elif (
            rv.name not in of_field
            and type(rv.owner.op) not in POINT_MASSES
            and name in default
            and np.array_equal(point[name], default[name])
        ):
            found.append(name)
    return found, hidden


class _Found(NamedTuple):
    """Parameters (k,), probabilities of states (N, K), inverse curvature (k, k), and lower bound."""

    theta: np.ndarray
    q: np.ndarray
    inverse: np.ndarray
    bound: float = -np.inf


def interaction_matrix(field: PairwiseLatentField, edge_tables: np.ndarray) -> sparse.csr_array:
    """Interaction (d K, d K) of the states of neighbours, from log tables (r, K, K).

    Agreement is attractive where the tables say nothing of it, as do those of a coupling that starts at zero.
    """
    edges, d = field.edges, field.free.shape[1]
    tables = edge_tables - edge_tables.min(axis=(1, 2), keepdims=True)
    K = tables.shape[1]
    if not tables.any():
        joined = min(SMOOTH * d / (2 * max(len(edges), 1)), 0.8)
        tables = tables - np.log1p(-joined) * np.eye(K)
    e, a, b = np.nonzero(tables)
    i, j, values = edges[e, 0] * K + a, edges[e, 1] * K + b, tables[e, a, b]
    both = np.r_[i, j], np.r_[j, i]
    return sparse.csr_array((np.r_[values, values], both), shape=(d * K, d * K))


class VariationalEM:
    """Parameters, improved step by step, and a mean field that follows each step."""

    def __init__(
        self, field, evidence, owner, model: pm.Model, point, names, slopes, compile_kwargs
    ) -> None:
        self._field, self._evidence = field, evidence
        self._owner, self._slopes = owner, slopes
        self._point = {name: np.asarray(value) for name, value in point.items()}
        self._coordinates = FlatEntries(names, self._point)
        self._prior = PointFunction(log_prior(model, names, evidence), model, compile_kwargs)
        edges, nodes = field.tables(point)
        self._interaction = interaction_matrix(field, edges.mean(axis=0))
        possible = field.evidence(np.zeros(field.states.shape))  # (m, d, K), 0 or -inf where free
        self._nodes = np.broadcast_to(nodes, possible.shape)[field.free] + possible[field.free]
        self._free = np.flatnonzero(field.free)
        self._observed = (field.fixed[..., None] == np.arange(possible.shape[2])) * 1.0
        self._said_by_observed = self._sum_around(self._observed)
        dtypes = [self._point[name].dtype for name in names]
        self._step = STEP if min(dtype.itemsize for dtype in dtypes) >= 8 else SINGLE_STEP

    def at(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        """Point with these parameters."""
        return {**self._point, **self._coordinates.values(theta)}

    def _read(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Log density of what no node's state changes, and evidence (N, K)."""
        point = self.at(theta)
        found = self._evidence.read(point)
        table = found.table
        if self._owner is not self._evidence.owner:
            table = self._evidence.table(found.cells, self._owner)
        return float(self._prior(point)) + found.cells[0, self._owner == -1].sum(), table

    def _sum_around(self, full: np.ndarray) -> np.ndarray:
        """Sum what the neighbours of each free node say of its states, (N, K)."""
        said = (self._interaction @ full.reshape(len(full), -1).T).T
        return said.reshape(-1, full.shape[2]).take(self._free, axis=0)

    def _said(self, q: np.ndarray) -> np.ndarray:
        """Sum what neighbours say, free ones by their probabilities of states (N, K)."""
        full = self._observed.copy()
        full.reshape(-1, q.shape[1])[self._free] = q
        return self._sum_around(full)

    def _average(self, theta: np.ndarray, q: np.ndarray) -> float:
        """Mean over `q` of the log density of data and parameters given the states."""
        constant, table = self._read(theta)
        value = constant + _dot(q, table)
        return value if np.isfinite(value) else IMPOSSIBLE

    def objective(self, theta: np.ndarray, q: np.ndarray) -> tuple[float, np.ndarray]:
        """Minus the mean log density, and its slopes; by differences where there is no gradient."""
        value, slopes = self._average(theta, q), np.full(len(theta), np.nan)
        if self._slopes is not None and value > IMPOSSIBLE:
            slopes = self._slopes(self.at(theta), self._owner, q)
        for i in np.flatnonzero(~np.isfinite(slopes)):
            near = theta.copy()
            near[i] += self._step * (1.0 + abs(near[i]))
            moved = self._average(near, q)
            slopes[i] = (moved - value) / (near[i] - theta[i]) if moved > IMPOSSIBLE < value else 0.0
        return -value, -slopes

    def maximise(self, theta: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Parameters for these probabilities of states."""
        return self._climb(_Found(theta, q, self._scales(theta, q)[1]), MOST_STEPS, follow=False).theta

    def mean_field(self, theta: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Probabilities of states for these parameters, from `q` on; half-way, lest they oscillate."""
        alone = self._read(theta)[1] + self._nodes
        if not (reduce(np.maximum, alone.T) > -np.inf).all():  # nor is NaN
            return q  # some node has no state: these parameters are impossible
        q = np.where(alone > -np.inf, q + TINY, 0.0)
        q /= q.sum(axis=1, keepdims=True)
        for _ in range(MEAN_FIELDS):
            scores = alone + self._said(q)
            # state by state: along rows as short as these numpy takes several times as long
            new = np.exp(scores - reduce(np.maximum, scores.T)[:, None])
            q = 0.5 * (q + new / reduce(np.add, new.T)[:, None])
        return q

    def bound(self, theta: np.ndarray, q: np.ndarray) -> float:
        """Lower bound of the log density of data and parameters, up to the log-partition function."""
        return self._average(theta, q) + self._of_states(q)

    def _of_states(self, q: np.ndarray) -> float:
        """Part of the bound that no parameter changes."""
        # free neighbours say it of each other, observed ones only of the free one
        pairs = 0.5 * (self._said(q) + self._said_by_observed)
        entropy = -_dot(q, np.log(np.where(q > 0.0, q, 1.0)))
        value = _dot(q, pairs + self._nodes) + entropy
        return value if np.isfinite(value) else -np.inf

    def _climb(self, start: _Found, n_steps: int, follow: bool = True) -> _Found:
        """Quasi-Newton steps of the parameters, which the mean field may `follow`.

        Slopes of the bound are those at a fixed mean field, which is best for the parameters.
        """
        theta, q, inverse, _ = start
        value, slopes = self.objective(theta, q)
        bound = self._of_states(q) - value
        for _ in range(n_steps):
            step, last = -inverse @ slopes, bound
            for _ in range(SHORTENINGS):
                near = self.mean_field(theta + step, q) if follow else q
                value, new_slopes = self.objective(theta + step, near)
                bound = self._of_states(near) - value
                if bound > last:
                    break
                step = step / 4.0
            else:
                return _Found(theta, q, inverse, last)
            inverse = _learned(inverse, step, new_slopes - slopes)
            theta, q, slopes = theta + step, near, new_slopes
            if bound - last < CONVERGED:
                break
        return _Found(theta, q, inverse, bound)

    def fit(self) -> np.ndarray | None:
        """Best of several starts around the fit at which classes are alike; None if the default is better."""
        default = self._coordinates(self._point)
        alike = self.mean_field(default, np.ones_like(self._nodes))
        least = self.bound(default, alike)
        alike = np.where(alike > 0.0, 1.0, 0.0)
        alike /= alike.sum(axis=1, keepdims=True)
        theta = self.maximise(default, alike)
        spread, inverse = self._scales(theta, alike)
        rng = np.random.default_rng(0)  # chains shall agree on the names of the classes
        n_starts = min(max(STARTED_NODES // len(alike), FEWEST_STARTS), MOST_STARTS)
        starts = theta + spread * rng.standard_normal((n_starts, len(theta)))
        climbed = [
            _Found(start, self.mean_field(start, alike), inverse) for start in (default, theta, *starts)
        ]
        while len(climbed) > 3:
            climbed = [self._climb(found, ROUND) for found in climbed]
            climbed.sort(key=lambda found: found.bound, reverse=True)
            climbed = climbed[: len(climbed) // 2]
        finals = [self._climb(found, MOST_STEPS) for found in climbed]
        best = max(finals, key=lambda found: found.bound)
        return best.theta if best.bound > max(least, 0.5 * IMPOSSIBLE) else None

    def _scales(self, theta: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Scale of the parameters that the evidence about one node has, or else their prior; or else 1.

        And the inverse (k, k) of what these say of the curvature, parameter by parameter.
        """
        n, K = self._field.states.shape
        nodes, curvature = np.ones_like(theta), np.ones_like(theta)
        for i in range(len(theta)):
            h = np.zeros_like(theta)
            h[i] = 1e-3 * (1.0 + abs(theta[i]))
            sides = [theta - h, theta, theta + h]
            prior = np.array([float(self._prior(self.at(t))) for t in sides])
            average = np.array([self._average(t, q) for t in sides])
            evidence = np.where(average > IMPOSSIBLE, average, np.nan) - prior
            of_prior, of_evidence = (-np.diff(v, 2)[0] / h[i] ** 2 for v in (prior, evidence))
            if np.isfinite(of_evidence) and of_evidence > 1e-6 * n:
                nodes[i], curvature[i] = n / K, of_evidence
            elif np.isfinite(of_prior) and of_prior > 1e-6:
                curvature[i] = of_prior
        return np.sqrt(nodes / curvature), np.diag(1.0 / curvature)


def _learned(inverse: np.ndarray, step: np.ndarray, change: np.ndarray) -> np.ndarray:
    """Inverse curvature after a step that changed the slopes (Broyden, Fletcher, Goldfarb & Shanno)."""
    curvature = step @ change
    if not curvature > 1e-8 * np.sqrt((step @ step) * (change @ change)):
        return inverse
    keep = np.eye(len(step)) - np.outer(step, change) / curvature
    return keep @ inverse @ keep.T + np.outer(step, step) / curvature


def _dot(q: np.ndarray, values: np.ndarray) -> float:
    """Sum of q times values, 0 times -inf being 0."""
    return float((q * np.where(q > 0.0, values, 0.0)).sum())


def log_prior(model: pm.Model, names: list[str], evidence: LatentEvidence):
    """Symbolic log density of the terms that contain these parameters, but not the field."""
    values = {value for value in model.value_vars if value.name in names}
    terms = [
        term.sum()
        for rv, term in evidence.rest
        if field_node(rv) is None and not values.isdisjoint(ancestors([term]))
    ]
    return pt.sum(terms)


def slopes_of(evidence: LatentEvidence, model: pm.Model, names: list[str]) -> Slopes | None:
    """Make a function that gives the slopes by these parameters, one after the other.

    `names`: names of values. Returns callable or None: of a point, the owner (C,) of each cell of the
    evidence, -1 where none, and probabilities (N, K) of the states. None where there is no gradient, or
    Python is slow, as it is with many small matrices and with loops.
    """
    by_name = {value.name: value for value in model.value_vars}
    values = [by_name[name] for name in names]
    weights, with_prior = pt.dvector("weights"), pt.dscalar("with_prior")
    total = (weights * evidence.density).sum() + with_prior * log_prior(model, names, evidence)
    if any(v.owner and isinstance(v.owner.op, Blockwise | Scan) for v in ancestors([total])):
        return None
    try:
        gradient = pt.grad(total, values, disconnected_inputs="ignore")
    except (NotImplementedError, NullTypeGradError):
        return None
    gradient = pt.concatenate([slope.ravel() for slope in gradient])
    f = PointFunction(gradient, model, {"mode": QUICK}, given=[weights, with_prior])

    def slopes(point: dict, owner: np.ndarray, q: np.ndarray) -> np.ndarray:
        found = 0.0
        for k, here in enumerate(evidence.at_states(point)):
            cells = np.where(owner >= 0, q[np.maximum(owner, 0), k], float(k == 0) * (owner == -1))
            found = found + f(here, cells, np.array(float(k == 0)))
        return np.asarray(found, dtype=np.float64)

    return slopes
