"""Prior of edges and biases at a point of the sampler, in the form in which the kernels take it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.continuous import FlatRV, HalfFlatRV
from pymc.distributions.distribution import SymbolicRandomVariable
from pytensor.tensor.random.basic import CauchyRV, LaplaceRV, NormalRV, StudentTRV
from pytensor.tensor.random.op import RandomVariable
from scipy.special import gammaln

from pymc_mrf.distributions.parents import FreeBias, is_same
from pymc_mrf.distributions.scalar import ScalarDistribution, ScalarPrior
from pymc_mrf.kernels.edges.edge_moves import EdgePrior
from pymc_mrf.kernels.priors.densities import (
    FLAT,
    LAPLACE,
    NORMAL,
    STUDENT,
    Alike,
    Combined,
    Densities,
    Joined,
    Tabulated,
    density_of,
)
from pymc_mrf.kernels.priors.series import Series
from pymc_mrf.parts import Parts
from pymc_mrf.steps.common.density_series import LOG_ZERO, tabulate
from pymc_mrf.steps.common.expressions import PointFunction
from pymc_mrf.steps.common.observed_field import ObservedField

# probabilities of the outer cells are 10^-1, 10^-1.5, ..., down to the smallest floating-point numbers
TAIL = np.r_[np.arange(1.0, 10.0, 0.5), 11, 13, 16, 20, 26, 34, 45, 60, 80, 110, 150, 200, 300]
KINDS = {NormalRV: NORMAL, CauchyRV: STUDENT, StudentTRV: STUDENT, LaplaceRV: LAPLACE}


def flat(k: int) -> Densities:
    """No density at all, for k parameters."""
    return Densities(np.full(k, FLAT), np.zeros(k), np.ones(k), np.ones(k), np.zeros(k))


def closed_form(op: RandomVariable, parameters: Sequence[np.ndarray], shape: Any) -> Densities:
    """Densities of as many parameters of one of the `KINDS` as `shape` has, from the parameters of the Op."""
    kind = KINDS[type(op)]
    nu = np.ones(shape)
    if isinstance(op, StudentTRV):
        nu, *parameters = parameters
    location, scale, nu = (
        np.array(np.broadcast_to(value, shape), dtype=np.float64).ravel() for value in (*parameters, nu)
    )
    if kind == NORMAL:
        constant = -0.5 * np.log(2 * np.pi) - np.log(scale)
    elif kind == LAPLACE:
        constant = -np.log(2 * scale)
    else:
        constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(nu * np.pi) - np.log(scale)
    return Densities(np.full(location.shape, kind), location, scale, nu, constant)


def has_readable_prior(rv) -> bool:
    """Whether the entries of a free variable have priors of one of the `KINDS`, or all the same one."""
    op = getattr(rv.owner, "op", None)
    if type(op) in KINDS:
        return True
    if not isinstance(op, RandomVariable | SymbolicRandomVariable) or isinstance(
        op, FlatRV | HalfFlatRV
    ):
        return False
    alike = all(all(p.type.broadcastable) for p in op.dist_params(rv.owner) if hasattr(p.type, "ndim"))
    return op.ndim_supp == 0 and rv.type.dtype == "float64" and alike


def has_closed_form(bias: FreeBias) -> bool:
    """Whether the kernels know the prior of the biases; else it is tabulated."""
    return bias.transform is None and type(bias.rv.owner.op) in KINDS


def have_common_form(biases: list[FreeBias]) -> bool:
    """Whether the priors of several biases are all known to the kernels, or all the same."""
    first, *others = biases
    if has_closed_form(first):
        return all(map(has_closed_form, others))
    return all(
        type(first.transform) is type(other.transform)
        and type(first.rv.owner.op) is type(other.rv.owner.op)
        and all(map(is_same, _parameters_of_entry(first.rv), _parameters_of_entry(other.rv)))
        for other in others
    )


def _parameters_of_entry(rv) -> list:
    return [p.squeeze() if p.type.ndim else p for p in rv.owner.op.dist_params(rv.owner)]


def one_entry(rv):
    """Scalar variable with the prior of each entry of `rv`, which is readable but is none of `KINDS`."""
    op = rv.owner.op
    parameters = _parameters_of_entry(rv)
    if not isinstance(op, RandomVariable):
        return op.rv_op(*parameters, size=())
    rng = op.rng_param(rv.owner)
    return op(*parameters, size=(), rng=rng, return_next_rng=True)[1]


class TabulatedPrior:
    """One density as a series and cells, made anew only when its parameters change.

    Parameters
    ----------
    distribution : ScalarDistribution
    parameters : sequence of Variable
        Symbolic.
    what : str
        Whose density it is, for messages.
    compile_kwargs : dict, optional
    transform : pymc Transform, optional
        As of `ScalarPrior`.

    Attributes
    ----------
    inputs : list of Variable
        What `at` needs the values of.
    """

    def __init__(
        self,
        distribution: ScalarDistribution,
        parameters,
        what: str,
        compile_kwargs=None,
        transform=None,
    ) -> None:
        self._what = what
        self._prior = ScalarPrior(distribution, parameters, compile_kwargs, transform)
        self.inputs = [*parameters, *self._prior.range]
        self._last: tuple[list, Tabulated] | None = None

    def at(self, values: list[np.ndarray]) -> Tabulated:
        """Tabulate the density at these values of the `inputs`."""
        if self._last is not None and all(map(np.array_equal, values, self._last[0])):
            return self._last[1]
        *parameters, lower, upper, center = values

        def density(x):
            return self._prior.log_density(x, parameters)

        fine = bool(np.isfinite(density(np.array([float(center)]))[0]))
        check_parameters(fine, parameters, self._what)
        series = tabulate(density, (float(lower), float(upper)), float(center), what=self._what)
        x, mass = interval_masses(series)
        q1, median, q3 = np.interp([0.25, 0.5, 0.75], np.r_[0.0, np.cumsum(mass)] / mass.sum(), x)
        scale = max((q3 - q1) / 1.349, 1e-12)
        cells, heights = cells_with_heights(x, mass)
        highest = float(max(series.ceiling.max(), heights.max()))
        table = Tabulated(float(median), float(scale), highest, series, cells, heights)
        self._last = values, table
        return table


def check_parameters(fine: bool, parameters, what: str) -> None:
    """Refuse parameters outside their domain, such as a negative scale."""
    if not fine:
        values = ", ".join(f"{float(v):g}" for v in parameters)
        raise ValueError(
            f"{what} has no density at its parameters {values}: give random ones a "
            "prior, or a start, inside their domain, such as pm.HalfNormal for a scale"
        )


class NodeReader:
    """Node parameters of one field, and their prior if they are to be moved.

    Parameters
    ----------
    bias : FreeBias or None
        The biases, whose variable `has_readable_prior`; None if they are not to be moved.
    field : ObservedField
    model : pymc.Model
    compile_kwargs : dict, optional
    part : int
        Which of the parameters of the nodes of the field.

    Attributes
    ----------
    inputs : list of Variable
        What the other methods need the values of.
    name : str
        Entry of the point that has the biases; empty if they are not to be moved.
    shape : tuple of int
        That of the node parameters.
    """

    def __init__(
        self, bias: FreeBias | None, field: ObservedField, model, compile_kwargs, part: int = 0
    ) -> None:
        self.name, self._op = "", None
        self.shape = field.family.node_shapes(field.graph.n_nodes)[part]
        self._field = field
        self._table: TabulatedPrior | None = None
        if bias is None:
            self.inputs: list = field.node_parameters[part : part + 1]
            if not self.inputs:
                self.shape = (0,)
            return
        self.name, self._op = model.rvs_to_values[bias.rv].name, bias.rv.owner.op
        if has_closed_form(bias):
            self.inputs = list(self._op.dist_params(bias.rv.owner))
        else:
            what = f"the prior of {bias.rv.name}"
            one = ScalarDistribution(one_entry(bias.rv), what)
            self._table = TabulatedPrior(one, one.arguments, what, compile_kwargs, bias.transform)
            self.inputs = self._table.inputs

    def prior(self, values: list[np.ndarray]) -> Densities | Alike:
        """Densities of the biases at these values of the `inputs`."""
        if self._table is not None:
            return Alike(self._table.at(values))
        if self._op is not None:
            return closed_form(self._op, values, self.shape)
        return flat(self.size)

    @property
    def size(self) -> int:
        """Number of node parameters of all blocks."""
        return len(self._field.blocks) * int(np.prod(self.shape))

    def fixed(self, values: list[np.ndarray]) -> np.ndarray | None:
        """Node parameters of all blocks at these values of the `inputs`; None if they are to be moved."""
        if self.name:
            return None
        if not values:
            return np.zeros(0)
        rows = np.array(values[0], dtype=np.float64).reshape(-1, *self.shape)
        if len(rows) > 1 and len(self._field.blocks) == 1:
            raise ValueError(
                f"the node parameters of {self._field.name} have shape {values[0].shape}, but must have "
                f"{self.shape}: they must not differ between rows"
            )
        return self._field.of_blocks(rows).ravel()


class EdgePriorReader:
    """Compiled access to the prior of a spike-and-slab variable and of biases.

    Parameters
    ----------
    rv : TensorVariable
        The spike-and-slab variable, free in `model`.
    nodes : list of NodeReader
        One for each field, or for each parameter of its nodes.
    factors : (F, F) array or None
        The biases of field f are sum_g factors[f, g] times what node g reads; None if they are those of f.
    model : pymc.Model
    compile_kwargs : dict, optional
    is_joined : bool
        Whether the nodes are those of two parameters of one field.
    """

    def __init__(
        self,
        rv,
        nodes: list[NodeReader],
        factors: np.ndarray | None,
        model,
        compile_kwargs=None,
        is_joined: bool = False,
    ) -> None:
        self._is_joined = is_joined
        self._op = rv.owner.op
        self._name = rv.name
        self._nodes, self._factors = nodes, factors
        self._parts = Parts((node.size,) for node in nodes)
        slab = self._op.scalar
        _, p, *parameters = self._op.shape_and_arguments(rv.owner.inputs)
        self._slab: TabulatedPrior | None = None
        if type(slab.op) not in KINDS:
            what = f"the slab of {rv.name}"
            self._slab = TabulatedPrior(slab, parameters, what, compile_kwargs)
        native = self._slab.inputs if self._slab else slab.native_parameters(*parameters)
        groups = [[p], list(native), *(node.inputs for node in nodes)]
        self._sizes = [len(group) for group in groups]
        outputs = [pt.as_tensor(v).astype("float64") for group in groups for v in group]
        self._read = PointFunction(outputs, model, compile_kwargs)
        self._last: tuple[EdgePrior, list] | None = None

    def read(self, point: dict[str, np.ndarray]) -> tuple[EdgePrior, np.ndarray]:
        """Prior and node parameters, of all fields one after the other, at `point`."""
        if self._last is None or self._read.names:
            self._last = self._evaluate(point)
        prior, fixed = self._last
        b = [
            np.array(point[node.name], dtype=np.float64).ravel() if known is None else known
            for node, known in zip(self._nodes, fixed, strict=True)
        ]
        return prior, np.concatenate(b) if self._factors is None else (self._factors @ b).ravel()

    def write(self, b: np.ndarray, point: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Entries of the point that node parameters `b`, as of `read`, are read from."""
        if self._factors is not None:
            b = np.linalg.solve(self._factors, b.reshape(len(self._factors), -1)).ravel()
        return {
            node.name: own.reshape(np.shape(point[node.name]))
            for node, own in zip(self._nodes, self._parts.of(b), strict=True)
            if node.name
        }

    def _evaluate(self, point) -> tuple[EdgePrior, list]:
        values = iter([np.asarray(v) for v in self._read(point)])
        [p], native, *of_nodes = ([next(values) for _ in range(size)] for size in self._sizes)
        outside = p[~((p > 0) & (p < 1))]
        if outside.size:
            raise ValueError(
                f"the probability p of {self._name} is {outside[0]:g} for some edge; it must lie strictly "
                "between 0 and 1: give it a prior on that interval, such as pm.Beta"
            )
        if self._slab is not None:
            slab: Any = self._slab.at(native)
        else:
            positive = native[:1] + native[2:] if len(native) == 3 else native[1:]  # nu, location, scale
            fine = all(np.isfinite(v) for v in native) and all(v > 0 for v in positive)
            check_parameters(fine, native, f"the slab of {self._name}")
            slab = density_of(closed_form(self._op.scalar.op, native, 1), 0)
        priors = [node.prior(own) for node, own in zip(self._nodes, of_nodes, strict=True)]
        bias: Any = priors[0]  # of all fields if it is one table
        if all(isinstance(one, Densities) for one in priors):
            bias = Densities._make(map(np.concatenate, zip(*priors, strict=True)))
        elif self._is_joined:
            first, second = priors
            bias = Joined(first, second, self._nodes[0].size)
        if self._factors is not None:
            bias = Combined(bias, np.linalg.inv(self._factors))
        fixed = [node.fixed(own) for node, own in zip(self._nodes, of_nodes, strict=True)]
        return EdgePrior(np.log(p) - np.log1p(-p), slab, bias), fixed


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


def cells_with_heights(x: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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
