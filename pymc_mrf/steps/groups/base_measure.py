"""What a group sampler needs to know of a Dirichlet process prior: alpha and the base density.

The base measure is a density over the parameter that users write; samplers work on the natural
parameter of the edge statistic (such as agreement), so the density is carried over with its Jacobian.
"""

from dataclasses import dataclass

import numpy as np
import pymc as pm
from pytensor.tensor.random.basic import BetaRV, UniformRV

from pymc_mrf.fields.family import Family
from pymc_mrf.kernels.priors.series import N_NODES, BaseDensity
from pymc_mrf.likelihood.groups.base_density import envelope, tabulate
from pymc_mrf.steps.common.point_inputs import PointFunction
from pymc_mrf.steps.common.scalar_prior import ScalarPrior

# sigmoid(36) is the largest value below 1 in double precision; sigmoid(-700) is still positive
LOGIT_BOUNDS = (-700.0, 36.0)
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
