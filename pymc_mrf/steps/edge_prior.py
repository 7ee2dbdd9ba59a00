"""Prior of edges and biases at a point of the sampler, in the form in which the kernels take it."""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.random.basic import CauchyRV, LaplaceRV, NormalRV, StudentTRV
from pytensor.tensor.random.op import RandomVariable
from scipy.special import gammaln

from pymc_mrf.kernels.densities import (
    FLAT,
    LAPLACE,
    NORMAL,
    STUDENT,
    Densities,
    Tabulated,
    density_of,
)
from pymc_mrf.kernels.edge_moves import EdgePrior
from pymc_mrf.kernels.series import Series
from pymc_mrf.likelihood.base_density import LOG_ZERO, tabulate
from pymc_mrf.steps.point_inputs import PointFunction
from pymc_mrf.steps.scalar_prior import ScalarPrior

# probabilities of the outer cells, 10^-1, 10^-1.5, ..., as far as they are numbers
TAIL = np.r_[np.arange(1.0, 10.0, 0.5), 11, 13, 16, 20, 26, 34, 45, 60, 80, 110, 150, 200, 300]
KINDS = {NormalRV: NORMAL, CauchyRV: STUDENT, StudentTRV: STUDENT, LaplaceRV: LAPLACE}


def flat(k: int) -> Densities:
    """No density at all, for k parameters."""
    return Densities(FLAT, np.zeros(k), np.ones(k), np.ones(k), np.zeros(k))


def closed_form(op: RandomVariable, parameters: list[np.ndarray], k: int) -> Densities:
    """Densities of k parameters of one of the `KINDS`, from the parameters of the Op."""
    kind = KINDS[type(op)]
    nu = np.ones(k)
    if isinstance(op, StudentTRV):
        nu, *parameters = parameters
    location, scale, nu = (
        np.array(np.broadcast_to(value, k), dtype=np.float64) for value in (*parameters, nu)
    )
    if kind == NORMAL:
        constant = -0.5 * np.log(2 * np.pi) - np.log(scale)
    elif kind == LAPLACE:
        constant = -np.log(2 * scale)
    else:
        constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(nu * np.pi) - np.log(scale)
    return Densities(kind, location, scale, nu, constant)


def has_readable_prior(rv) -> bool:
    """Whether a free variable is a vector whose prior is of one of the `KINDS`."""
    return rv.owner is not None and type(rv.owner.op) in KINDS and rv.type.ndim == 1


def is_movable(rv, n_nodes: int) -> bool:
    """Whether a free variable is a vector of biases whose prior `EdgePriorReader` can read."""
    if not has_readable_prior(rv):
        return False
    [length] = rv.type.shape
    return (int(rv.shape.eval()[0]) if length is None else length) == n_nodes


class EdgePriorReader:
    """Compiled access to the prior of a spike-and-slab variable and of biases.

    Parameters
    ----------
    rv : TensorVariable
        The spike-and-slab variable, free in `model`.
    bias_rv : TensorVariable or None
        Free variable with the biases, `is_movable`; None if they are not to be moved.
    node_parameter : TensorVariable or None
        Node parameters of the field, None if it has none.
    n_nodes : int
    model : pymc.Model
    compile_kwargs : dict, optional
    """

    def __init__(
        self, rv, bias_rv, node_parameter, n_nodes: int, model: pm.Model, compile_kwargs=None
    ) -> None:
        self._op = rv.owner.op
        self._name = rv.name
        self._n_nodes = n_nodes
        self._bias_op = None if bias_rv is None else bias_rv.owner.op
        slab = self._op.scalar
        _, p, *parameters = self._op.shape_and_arguments(rv.owner.inputs)
        node = pt.zeros(n_nodes) if node_parameter is None else node_parameter
        self._closed = type(slab.op) in KINDS
        native = slab.native_parameters(*parameters) if self._closed else parameters
        self._bias_name = "" if bias_rv is None else model.rvs_to_values[bias_rv].name
        groups = [[p], [] if bias_rv is not None else [node.reshape((-1,))], list(native)]
        groups.append([] if self._bias_op is None else list(self._bias_op.dist_params(bias_rv.owner)))
        self._slab: ScalarPrior | None = None
        if not self._closed:
            self._slab = ScalarPrior(slab, parameters, compile_kwargs)
            groups.append(self._slab.range)
        self._sizes = [len(group) for group in groups]
        outputs = [pt.as_tensor(v).astype("float64") for group in groups for v in group]
        self._read = PointFunction(outputs, model, compile_kwargs)
        self._last: tuple[Any, ...] | None = None

    def read(self, point: dict[str, np.ndarray]) -> tuple[EdgePrior, np.ndarray]:
        """Prior and node parameters (d,) at `point`."""
        if self._last is not None and not self._read.names:
            prior, b = self._last[1:]
            return prior, np.array(point[self._bias_name]) if self._bias_name else b.copy()
        values = [np.asarray(v) for v in self._read(point)]
        parts = []
        for size in self._sizes:
            parts.append(values[:size])
            values = values[size:]
        [p], node, native, bias_parameters, *rest = parts
        outside = p[~((p > 0) & (p < 1))]
        if outside.size:
            raise ValueError(
                f"the probability p of {self._name} is {outside[0]:g} for some edge; it must lie strictly "
                "between 0 and 1: give it a prior on that interval, such as pm.Beta"
            )
        if self._closed:
            positive = native[:1] + native[2:] if len(native) == 3 else native[1:]  # nu, location, scale
            fine = all(np.isfinite(v) for v in native) and all(v > 0 for v in positive)
            self._check_slab(fine, native)
            slab = density_of(closed_form(self._op.scalar.op, native, 1), 0)
        else:
            slab = self._tabulated(native, *rest)
        if self._bias_op is None:
            bias = flat(self._n_nodes)
        else:
            bias = closed_form(self._bias_op, bias_parameters, self._n_nodes)
        prior = EdgePrior(np.log(p) - np.log1p(-p), slab, bias)
        b = node[0] if node else point[self._bias_name]
        b = np.array(np.broadcast_to(b, self._n_nodes), dtype=np.float64)
        self._last = (native, prior, b)
        return prior, b.copy()

    def _check_slab(self, fine: bool, parameters) -> None:
        """Refuse parameters outside their domain, such as a negative scale."""
        if not fine:
            values = ", ".join(f"{float(v):g}" for v in parameters)
            raise ValueError(
                f"the slab of {self._name} has no density at its parameters {values}: give random ones a "
                "prior, or a start, inside their domain, such as pm.HalfNormal for a scale"
            )

    def _tabulated(self, parameters, ends) -> Tabulated:
        """Slab as a series, anew only when its parameters change."""
        if self._last is not None and all(
            np.array_equal(a, b) for a, b in zip(parameters, self._last[0], strict=True)
        ):
            return self._last[1].slab
        lower, upper, center = (float(v) for v in ends)
        assert self._slab is not None
        log_density = self._slab.log_density

        def density(x):
            return log_density(x, parameters)

        self._check_slab(bool(np.isfinite(density(np.array([center]))[0])), parameters)
        series = tabulate(density, (lower, upper), center, what=f"the slab of {self._name}")
        x, mass = interval_masses(series)
        q1, median, q3 = np.interp([0.25, 0.5, 0.75], np.r_[0.0, np.cumsum(mass)] / mass.sum(), x)
        scale = max((q3 - q1) / 1.349, 1e-12)
        cells, heights = cells_of(x, mass)
        highest = float(max(series.ceiling.max(), heights.max()))
        return Tabulated(float(median), float(scale), highest, series, cells, heights)


def interval_masses(series: Series) -> tuple[np.ndarray, np.ndarray]:
    """Points x (k + 1,) and the mass between them (k,), of a density given as a series."""
    points: list[np.ndarray] = [series.lower[:1]]
    mass: list[np.ndarray] = []
    t = np.linspace(0.0, 1.0, 257)
    for lower, upper, c, ceiling in zip(*series, strict=True):
        here = lower + (upper - lower) * t
        # the series of a narrow panel may mean nothing between its nodes, but its ceiling does
        f = np.exp(np.minimum(np.polynomial.legendre.legval(2 * t - 1, c), ceiling))
        if here[0] > points[-1][-1]:  # no density in between
            points.append(here[:1])
            mass.append(np.zeros(1))
        points.append(here[1:])
        mass.append(0.5 * (f[1:] + f[:-1]) * np.diff(here))
    return np.concatenate(points), np.concatenate(mass)


def cells_of(x: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cut `interval_masses` into cells: their ends, and the log of the mean density in each.

    The cells hold 5 % of the mass each, but ever less towards both ends, where a density may vanish or be
    infinite, and where the data may be in spite of it.
    """
    below = np.r_[0.0, np.cumsum(mass)]
    above = np.r_[np.cumsum(mass[::-1])[::-1], 0.0]
    total = below[-1]
    tail = np.log(total) - np.log(10.0) * TAIL
    with_mass = np.flatnonzero(mass)
    first, last = with_mass[0], with_mass[-1] + 1
    low = np.interp(tail, np.log(below[first + 1 :]), x[first + 1 :])
    high = np.interp(tail, np.log(above[:last][::-1]), x[:last][::-1])
    middle = np.interp(np.arange(0.15, 0.88, 0.05) * total, below, x)
    ends = np.unique(np.concatenate([x[[first, last]], low, middle, high]))
    # differences of the smaller of the two sums keep their digits
    lower, upper = np.interp(ends, x, below), np.interp(ends, x, above)
    inside = np.where(lower[1:] < 0.5 * total, np.diff(lower), -np.diff(upper))
    heights = np.full(len(inside), LOG_ZERO)
    full = inside > 0
    heights[full] = np.log(inside[full] / np.diff(ends)[full])
    return ends, heights
