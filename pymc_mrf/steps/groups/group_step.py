"""Gibbs sampling of grouped edge parameters: eq. (4) of Liu & Page (2013) over a likelihood engine.

The state of the sampler is the parameter vector itself: exact ties are groups. One step redraws every
label in turn, then every group's value. What the step leaves invariant depends on the engine.

The base measure of the process is a density over the parameter that users write; samplers work on the
natural parameter of the edge statistic (such as agreement), so the density is carried over with its Jacobian.

Edge parameters with state axes, statistics that differ between edges, and factor graphs are not implemented.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pymc as pm
from pytensor.tensor.random.basic import BetaRV, UniformRV

from pymc_mrf.distributions.dirichlet_process import DirichletProcessRV
from pymc_mrf.distributions.likelihood import Likelihood
from pymc_mrf.distributions.parents import likelihoods_fed
from pymc_mrf.distributions.scalar import ScalarPrior
from pymc_mrf.fields.family import Family
from pymc_mrf.kernels.groups import group_labels
from pymc_mrf.kernels.groups.crp import Groups, make_groups
from pymc_mrf.kernels.priors.series import N_NODES, BaseDensity
from pymc_mrf.steps.common.base import MRFStep
from pymc_mrf.steps.common.density_series import envelope, tabulate
from pymc_mrf.steps.common.expressions import PointFunction
from pymc_mrf.steps.common.observed_field import ObservedField, check_vector, observed_fields
from pymc_mrf.steps.common.statistics import Statistic, Statistics

# sigmoid(36) is the largest value below 1 in double precision; sigmoid(-700) is still positive
LOGIT_BOUNDS = (-700.0, 36.0)
ROUNDING = 1e-9  # relative changes of parameters that come from theta = sigmoid(eta) and back

# densities with a pole integrate less precisely than smooth ones
MASS_TOLERANCE = 1e-4


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)
_AT_NODES = np.polynomial.legendre.legvander(_NODES, N_NODES - 1).T  # (N_NODES, 64)


@dataclass(frozen=True)
class Link:
    """Parameter of a family <-> natural parameter eta of the statistic of its edges.

    Of a probability, eta is the log odds. A statistic of two values is told to samplers as 0 and 1, so that
    eta is the parameter times the difference of the values: of Ising models, x_u x_v = 2 1[x_u = x_v] - 1 and
    eta = 2 J. Of other families, eta is the parameter itself.
    """

    family: Family

    @property
    def scale(self) -> float:
        """Eta of the parameter 1, if that is no probability; else 1."""
        return self.family.indicator[1]

    @property
    def is_binary(self) -> bool:
        """Whether the statistic that samplers are told is 0 or 1."""
        return len(np.unique(self.family.indicator[0])) == 2

    def natural(self, parameter):
        return self.scale * self.family.natural(parameter)

    def parameter(self, eta):
        if self.family.is_log_odds:
            # accurate in both tails, unlike (1 + tanh) / 2
            e = np.exp(-np.abs(eta))
            return np.where(eta >= 0, 1.0, e) / (1.0 + e)
        return eta / self.scale

    def log_jacobian(self, eta):
        """Log of |d parameter / d eta|."""
        if self.family.is_log_odds:
            return -np.abs(eta) - 2.0 * np.log1p(np.exp(-np.abs(eta)))
        return np.full_like(eta, -np.log(self.scale))

    def rounding(self, eta):
        """Error in eta that comes from rounding the parameter to double precision."""
        if self.family.is_log_odds:  # d eta = d theta / (theta (1 - theta))
            return 2.3e-16 * np.exp(np.maximum(eta, 0.0))
        return np.zeros_like(eta)

    def tables(self, node_parameter: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Node log tables (d, K), and the statistic (K, K) that eta multiplies."""
        return self.family.node_tables(node_parameter), self.family.indicator[0]

    def natural_bounds(self, lower: float, upper: float) -> tuple[float, float]:
        """Support of a base on (lower, upper), on the scale of eta."""
        ends = self.natural(np.array([lower, upper]))
        least, most = LOGIT_BOUNDS if self.family.is_log_odds else (-np.inf, np.inf)
        return max(float(ends[0]), least), min(float(ends[1]), most)


@dataclass(frozen=True)
class BaseMeasure:
    """Alpha and the base measure at one point of the sampler.

    Attributes
    ----------
    alpha : float
    parameters : tuple of bytes
        Parameters of the base, to tell whether they have changed.
    bounds : tuple of float
        Support of the base over eta.
    center : float
        Support point of the base, as eta.
    beta : tuple of float or None
        (a, b) if the base is Beta(a, b) on theta itself (Uniform(0, 1) is Beta(1, 1)).
    """

    alpha: float
    parameters: tuple[bytes, ...]
    bounds: tuple[float, float]
    center: float
    beta: tuple[float, float] | None


def precision_of(density: BaseDensity) -> float:
    """Curvature of the order of the base's: of a Gaussian with the same quartiles."""
    q1, q3 = np.interp([0.25, 0.75], density.cumulative, density.upper)
    return float((1.349 / max(q3 - q1, 1e-12)) ** 2)


class BaseMeasureReader:
    """Compiled access to a Dirichlet process of a model.

    Parameters
    ----------
    rv : TensorVariable
        The Dirichlet process, a free variable of `model`.
    model : pymc.Model
    link : Link
    compile_kwargs : dict, optional
    """

    def __init__(self, rv, model: pm.Model, link: Link, compile_kwargs=None) -> None:
        self._op = rv.owner.op
        self._link = link
        self._name = rv.name
        alpha, *parameters = rv.owner.op.dist_params(rv.owner)
        self._base = ScalarPrior(self._op.scalar, parameters, compile_kwargs)
        outputs = [alpha.astype("float64"), *self._base.range, *parameters]
        # Beta and uniform bases have closed forms
        self._n_parameters = len(parameters)
        if isinstance(self._op.scalar.op, BetaRV):
            outputs += self._op.scalar.native_parameters(*parameters)
        self._read = PointFunction(outputs, model, compile_kwargs)
        self._density: tuple[BaseMeasure, BaseDensity] | None = None
        self._parameters: list[np.ndarray] = []

    def read(self, point: dict[str, np.ndarray]) -> BaseMeasure:
        """Read alpha and the base at `point`, and check them.

        Raises
        ------
        ValueError
            If the base can yield values that are no parameters of the field.
        """
        values = self._read(point)
        alpha, lower, upper, center = (float(v) for v in values[:4])
        parameters = [np.asarray(v) for v in values[4 : 4 + self._n_parameters]]
        is_log_odds = self._link.family.is_log_odds
        if is_log_odds:
            if self._base.has_support and (lower < 0.0 or upper > 1.0):
                raise ValueError(
                    f"the base of {self._name} has support ({lower:g}, {upper:g}), but the parameters "
                    "of an agreement field lie in (0, 1); use for example pm.Beta.dist(1, 1)"
                )
            lower, upper = max(lower, 0.0), min(upper, 1.0)
        beta, base_op = None, self._op.scalar.op
        if is_log_odds and isinstance(base_op, BetaRV):
            beta = (float(values[-2]), float(values[-1]))
        elif is_log_odds and isinstance(base_op, UniformRV) and (lower, upper) == (0.0, 1.0):
            beta = (1.0, 1.0)
        bounds = self._link.natural_bounds(lower, upper)
        center = float(np.clip(self._link.natural(np.clip(center, lower, upper)), *bounds))
        self._parameters = parameters
        base = BaseMeasure(alpha, tuple(p.tobytes() for p in parameters), bounds, center, beta)
        if not self._base.has_support:
            self._check_mass(base)
        return base

    def _check_mass(self, base: BaseMeasure) -> None:
        """Refuse a base with mass outside the domain, where PyMC does not tell its support."""
        if self._density is not None and self._density[0].parameters == base.parameters:
            return
        series = self.density(base).series
        half = 0.5 * (series.upper - series.lower)
        mass = float(half @ np.exp(series.coefficients @ _AT_NODES) @ _WEIGHTS)
        if abs(mass - 1.0) > MASS_TOLERANCE:
            raise ValueError(
                f"the base of {self._name} has mass {mass:.6g} on the domain of the "
                f"{self._link.family.edge_parameter} of a field, not 1; choose a base on that domain, "
                "for example pm.Beta.dist(1, 1) for an agreement field"
            )

    def density(self, base: BaseMeasure) -> BaseDensity:
        """Return the density of the base over eta; it is tabulated anew only when its parameters change."""
        if self._density is None or self._density[0].parameters != base.parameters:
            from scipy.special import betaln, log_expit

            def log_density(eta):
                if base.beta is not None:  # accurate up to both ends, unlike a density of theta
                    a, b = base.beta
                    return a * log_expit(eta) + b * log_expit(-eta) - betaln(a, b)
                values = self._base.log_density(self._link.parameter(eta), self._parameters)
                return values + self._link.log_jacobian(eta)

            exact = base.beta is not None
            rounding = np.zeros_like if exact else self._link.rounding
            what = f"the base of {self._name}"
            series = tabulate(log_density, base.bounds, base.center, rounding, what=what)
            self._density = (base, envelope(series))
        return self._density[1]


def is_dirichlet_process(rv) -> bool:
    """Whether a variable is a Dirichlet process of this package."""
    return rv.owner is not None and isinstance(rv.owner.op, DirichletProcessRV)


class GroupStep(MRFStep):
    """Base of the group samplers.

    A subclass says by `invariant` which kinds of likelihood it can serve, for which it is the default, and
    whether it serves data with missing cells; and supplies `_start` (parameters near the data), `_begin`
    (of a chain), `_sweep_labels` and `_draw_values`.
    """

    default_blocked = False
    default_for: ClassVar[tuple[type[Likelihood], ...]] = ()
    fills_missing_cells: bool = False
    n_rounds: int = 1
    n_tuning_rounds: int = 1
    """Sweeps of labels and moves of values in one step, and in one while tuning."""
    prefix = "group_gibbs"
    kinds = (DirichletProcessRV,)
    title = "group sampler"
    statistics: Statistics = (
        Statistic(
            "n_groups",
            "number of groups",
            dtype=np.int64,
            shown="always",
            should_vary=True,
            column="Groups",
        ),
        Statistic("n_new", "groups opened", dtype=np.int64, shown="always"),
    )

    def __init__(self, vars, **kwargs) -> None:
        super().__init__(vars, **kwargs)
        (rv, value), model, step = self._only_variable(), self._model, type(self).__name__
        if not is_dirichlet_process(rv):
            raise TypeError(f"{step} samples a pymc_mrf.DirichletProcess, but {rv.name} is none")
        remedy = "DirichletProcess for each; they may share alpha and the parameters of the base"
        check_vector(rv, model, step, remedy)
        self._fields = observed_fields(rv, model, step, self.serves, fills=self.fills_missing_cells)
        field = self._fields[0]
        if field.family.has_own_scores:
            raise ValueError(
                f"{step} groups edges of one statistic, but the nodes of {field.name} have scores of their "
                f"own: declare {field.name} with one vector of scores for all nodes, or {rv.name} as a "
                "pymc_mrf.SpikeAndSlab"
            )
        self._link = Link(field.family)
        self._held = [field.held for field in self._fields]
        self._prior = BaseMeasureReader(rv, model, self._link, self._compile_kwargs)
        self._name = value.name
        self._prior.read(self._point)  # refuses a base that does not fit before sampling

    def _the_field(self) -> ObservedField:
        """Return the only field of a step, whose edge parameters are all entries in their order."""
        [field, *others] = self._fields
        r = len(np.atleast_1d(self._point[self._name]))
        if others or not np.array_equal(field.entries, np.arange(r)):
            names = ", ".join(field.name for field in self._fields)
            raise ValueError(
                f"{type(self).__name__} samples the edge parameters of one field, all in its order, but "
                f"{self._name} feeds {names}; use pymc_mrf.steps.GroupGibbs or ParticleRatioGibbs"
            )
        return field

    @classmethod
    def claims(cls, var):
        """Whether it is to be taken along, or feeds a field for which the step is the default."""
        return not is_dirichlet_process(var) or any(map(cls.is_default_for, likelihoods_fed(var)))

    @classmethod
    def is_default_for(cls, likelihood: Likelihood) -> bool:
        """Whether `pm.sample` gives processes that feed a field with this likelihood to the step."""
        return isinstance(likelihood, cls.default_for)

    def _update(self, point):
        """Redraw all labels, then all group values."""
        base = self._prior.read(point)
        self._read_point(point)
        self._read_data(point)
        theta = point[self._name]
        if not self.started:
            self._check_base(base)
            fresh = self._starts_at_default(point, [self._name])  # all entries in one group
            eta = self._default(base) if fresh else self._link.natural(theta)
            self._begin(eta, base)
            theta = np.asarray(self._link.parameter(eta)) if fresh else theta
            self.started = True
        values, labels = np.unique(theta, return_inverse=True)
        labels = labels.reshape(-1).astype(np.int64)
        # parameters next to 1 come back from double precision beyond the end of the base
        values = np.clip(self._link.natural(values), *base.bounds)
        total = 0
        for _ in range(self.n_tuning_rounds if self.tune else self.n_rounds):
            groups = make_groups(labels, values, group_labels.N_AUXILIARY)
            total += self._sweep_labels(groups, base)
            labels = groups.labels
            values, stats = self._draw_values(labels, groups.values[: groups.n_groups[0]].copy(), base)
        theta = np.asarray(self._link.parameter(values), dtype=theta.dtype)[labels]
        stats |= {"group_gibbs_n_groups": len(values), "group_gibbs_n_new": total}
        moved = not np.allclose(theta, point[self._name], rtol=ROUNDING, atol=0.0)
        return self._new_point(point, theta), stats, moved

    def _check_base(self, base: BaseMeasure) -> None:
        """Refuse a base with which the step cannot sample; none by default."""

    def _read_point(self, point) -> None:
        """Take what else the step needs to know from `point`; nothing by default."""

    def _read_data(self, point) -> None:
        """Take the present states of missing cells from `point`; nothing by default."""

    def _new_point(self, point, theta: np.ndarray) -> dict:
        """Return the point with the new parameters."""
        return {**point, self._name: theta}

    def _warn_at_end(self) -> list[str]:
        if not self.count.stood_still:
            return []
        return [
            f"{self._name} never changed in {self.count.n_draws} draws: {type(self).__name__} accepted no "
            "proposal. Shorten its proposals (AuxiliaryVariableMH: a smaller sigma), or let "
            "pymc_mrf.steps.GroupGibbs or ParticleRatioGibbs sample it"
        ]

    @abstractmethod
    def _start(self) -> np.ndarray:
        """Find parameters (r,) near the data, edge by edge."""

    def _default(self, base: BaseMeasure) -> np.ndarray:
        """Tied parameters (r,) near the data, where a chain starts if users do not say where."""
        return k_means_start(self._start(), base, self.rng)

    @abstractmethod
    def _begin(self, eta: np.ndarray, base: BaseMeasure) -> None:
        """Prepare a chain that starts at `eta` (r,)."""

    @abstractmethod
    def _sweep_labels(self, groups: Groups, base: BaseMeasure) -> int:
        """Redraw all labels in place; return the number of groups opened."""

    @abstractmethod
    def _draw_values(self, labels, eta, base: BaseMeasure) -> tuple[np.ndarray, dict]:
        """Redraw group values (K,) given labels; return them and the engine's statistics."""


def k_means_start(eta: np.ndarray, base: BaseMeasure, rng: np.random.Generator) -> np.ndarray:
    """K-means on theta = sigmoid(eta), K = max(1, floor(alpha log r)): tied eta (r,) to start from.

    The start of Liu & Page (2013), Algorithms 1 and 2, with `eta` a free estimate (r,).
    """
    from scipy.cluster.vq import kmeans2

    theta = 0.5 * (1.0 + np.tanh(0.5 * eta))
    k = min(max(1, int(base.alpha * np.log(len(theta)))), len(np.unique(theta)))
    _, labels = kmeans2(theta, k, minit="++", rng=rng)
    _, labels = np.unique(labels, return_inverse=True)  # clusters that ended up empty
    means = np.bincount(labels, theta) / np.bincount(labels)
    inside = np.clip(means, 1e-6, 1.0 - 1e-6)
    low, high = base.bounds
    margin = 1e-3 * min(high - low, 1.0)  # a density may vanish at the ends of its support
    return np.clip(np.log(inside) - np.log1p(-inside), low + margin, high - margin)[labels]
