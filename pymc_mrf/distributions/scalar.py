"""Priors of n entries that are made from draws of a scalar PyMC distribution, which is taken apart for it.

A prior over many values, such as a Dirichlet process, is built on a distribution of one value, a
template that can be given other parameters. Users pass it as ``pm.X.dist(...)``; what is needed of it is
its density at any value, draws of any number, its support point and its support, as functions of its
parameters. Distributions that PyMC composes of others (half Cauchy, logit-normal, truncated, mixtures,
...) are served like all the rest.
"""

from abc import abstractmethod
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions import transforms
from pymc.distributions.censored import CensoredRV
from pymc.distributions.continuous import FlatRV, HalfFlatRV
from pymc.distributions.distribution import (
    Continuous,
    DiracDeltaRV,
    Distribution,
    SymbolicRandomVariable,
)
from pymc.distributions.distribution import support_point as pm_support_point
from pymc.distributions.mixture import _BaseMixtureRV
from pymc.distributions.shape_utils import change_dist_size, rv_size_is_none
from pymc.logprob.basic import logp as pm_logp
from pymc.logprob.transforms import IntervalTransform
from pymc.logprob.utils import ParameterValueError
from pymc.pytensorf import collect_default_updates
from pymc.pytensorf import compile as compile_pytensor
from pytensor.compile.mode import Mode
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.replace import graph_replace, vectorize_graph
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.random.type import RandomType
from pytensor.tensor.random.utils import normalize_size_param
from pytensor.tensor.type_other import NoneTypeT

from pymc_mrf.checks import axes_of_values, check_labels
from pymc_mrf.distributions.arguments import (
    check_observed_entries,
    entries_of_dims,
    entries_of_shape,
)


def _is_draw(variable) -> bool:
    """Whether a variable is an unregistered random variable, part of a composed distribution."""
    owner = getattr(variable, "owner", None)
    random = owner is not None and isinstance(owner.op, RandomVariable | SymbolicRandomVariable)
    return random and variable.name is None


def _parameters(variable) -> list:
    """Collect what is not constant in a distribution and in those that it is composed of."""
    found: list = []
    op = variable.owner.op
    for position, parameter in enumerate(variable.owner.inputs):
        if isinstance(op, RandomVariable) and position < 2:  # generator and size
            continue
        if isinstance(parameter, Constant) or isinstance(parameter.type, RandomType | NoneTypeT):
            continue
        inner = _parameters(parameter) if _is_draw(parameter) else [parameter]
        found.extend(p for p in inner if p not in found)
    return found


def _has_atoms(variable) -> bool:
    op = variable.owner.op
    if variable.type.dtype not in ("float64", "float32") or isinstance(op, CensoredRV | DiracDeltaRV):
        return True
    mixed = isinstance(op, _BaseMixtureRV)
    return mixed and any(_has_atoms(part) for part in variable.owner.inputs if _is_draw(part))


class ScalarDistribution:
    """A continuous scalar distribution, free of the parameters it came with.

    `variable`: unregistered scalar distribution, ``pm.X.dist(...)``. `role`: what it is to the user
    (``"base"``, ``"slab"``), for messages. Raises a TypeError or ValueError if it is no PyMC
    distribution, not continuous, not scalar, improper, or has constant parameters outside their domain.

    Attributes: `op`: of the distribution. `arguments`: what its parameters are computed from, as given:
    everything in it that is not a constant.
    """

    def __init__(self, variable: Any, role: str) -> None:
        remedy = "pass an unregistered scalar distribution such as pm.Uniform.dist(0, 1)"
        owner = getattr(variable, "owner", None)
        if owner is None:
            raise TypeError(f"{role} must be a PyMC distribution, not {variable!r}; {remedy}")
        if not isinstance(owner.op, RandomVariable | SymbolicRandomVariable):
            raise TypeError(f"{role} {owner.op} is not a distribution of PyMC; {remedy}")
        if owner.op.ndim_supp != 0 or variable.type.ndim != 0:
            dimensions = variable.type.ndim
            if role == "slab" and owner.op.ndim_supp == 0:
                remedy = (
                    "if scales are to differ between edges, declare z = pymc_mrf.SpikeAndSlab(..., "
                    "pm.Normal.dist(0, 1), ...) and pass scale * z, with a vector scale, to the field"
                )
            raise ValueError(f"{role} must be scalar, but it has {dimensions} dimensions; {remedy}")
        if variable.name is not None:
            raise ValueError(f"{role} must not be a variable of the model ({variable.name}); {remedy}")
        if _has_atoms(variable):
            raise TypeError(
                f"{role} must be continuous, not {owner.op.name or owner.op} of dtype "
                f"{variable.type.dtype}: single values must not have positive probability; "
                f"{remedy}"
            )
        if isinstance(owner.op, FlatRV | HalfFlatRV):
            raise ValueError(
                f"{role} must be a probability distribution, not {owner.op.name}, whose density has no "
                "finite integral; give it a finite scale, such as pm.Normal.dist(0, 10)"
            )
        self.op = owner.op
        self.arguments = tuple(_parameters(variable))
        self._slots = [p.type() for p in self.arguments]
        replacement = dict(zip(self.arguments, self._slots, strict=True))
        [self._variable] = graph_replace([variable], replacement, strict=False)
        self._value = variable.type()
        self._logp = pm_logp(self._variable, self._value)
        if not self.arguments:
            self._check_constants(role)

    def _check_constants(self, role: str) -> None:
        """Refuse constant parameters that give no density."""
        log_density = self.log_density(self.support_point())
        try:
            value = float(log_density.eval(mode=Mode(linker="py", optimizer=None)))
        except ParameterValueError as error:
            raise ValueError(f"{role} has parameters outside their domain: {error}") from error
        if not np.isfinite(value):
            raise ValueError(
                f"{role} {self.op.name} has log density {value} where it should be high; check its parameters"
            )

    def has_density(self, *parameters):
        return pt.gt(self.log_density(self.support_point(*parameters), *parameters), -np.inf)

    def __getstate__(self):
        """Leave the user's parameters out: they belong to one model."""
        return self.__dict__ | {"arguments": ()}

    def at(self, *parameters):
        replacement = dict(zip(self._slots, parameters, strict=True))
        return graph_replace([self._variable], replacement, strict=False)[0]

    def native_parameters(self, *parameters) -> tuple:
        node = self.at(*parameters).owner
        return tuple(node.op.dist_params(node))

    def draws(self, shape, *parameters):
        """Independent draws, of this shape (sequence of scalars)."""
        return change_dist_size(self.at(*parameters), tuple(shape))

    def log_density(self, x, *parameters):
        replacement = dict(zip(self._slots, parameters, strict=True)) | {self._value: x}
        return vectorize_graph(self._logp, replacement)

    def support_point(self, *parameters):
        return pm_support_point(self.at(*parameters))

    def support(self, *parameters):
        """Find the ends of the support; None where PyMC does not know them."""
        variable = self.at(*parameters)
        transform = transforms._default_transform(variable.owner.op, variable)
        if transform is None:
            # composed distributions without a transform may live anywhere
            return (-np.inf, np.inf) if isinstance(variable.owner.op, RandomVariable) else None
        if isinstance(transform, IntervalTransform):
            lower, upper = transform.args_fn(*variable.owner.inputs)
            return (-np.inf if lower is None else lower), (np.inf if upper is None else upper)
        zero = pt.constant(0.0)
        ends = {
            transforms.log: (zero, np.inf),
            transforms.logodds: (zero, 1.0),
            transforms.circular: (-np.pi, np.pi),
        }
        return ends.get(transform)


class ScalarPrior:
    """Compiled access to a scalar distribution.

    Parameters
    ----------
    distribution : ScalarDistribution
    parameters : sequence of Variable
        Symbolic.
    compile_kwargs : dict, optional
    transform : pymc Transform, optional
        From the distribution's support onto the whole line: then all is that of the transformed variable.

    Attributes
    ----------
    has_support : bool
        Whether PyMC tells the support.
    range : list of Variable
        Ends of the support, the whole line if it is not known, and the support point.
    """

    def __init__(
        self, distribution: ScalarDistribution, parameters, compile_kwargs=None, transform=None
    ) -> None:
        ends = distribution.support(*parameters) if transform is None else None
        self.has_support = ends is not None
        center = distribution.support_point(*parameters)
        if transform is not None:
            center = transform.forward(center)
        self.range: list[Any] = [
            pt.as_tensor(v).astype("float64") for v in (*(ends or (-np.inf, np.inf)), center)
        ]
        x, inputs = pt.dvector("x"), [parameter.type() for parameter in parameters]
        if transform is None:
            density = distribution.log_density(x, *inputs)
        else:
            density = distribution.log_density(transform.backward(x), *inputs) + transform.log_jac_det(x)
        kwargs = {"trust_input": True, **(compile_kwargs or {})}
        self._log_density = compile_pytensor([x, *inputs], density, **kwargs)

    def log_density(self, x: np.ndarray, parameters: list[np.ndarray]) -> np.ndarray:
        """Log density at values of any shape; -inf off the support."""
        values = self._log_density(x.reshape(-1), *parameters).reshape(x.shape)
        if not self.has_support:  # derived densities are NaN off the support
            values = np.where(np.isnan(values), -np.inf, values)
        return values


def entries_behind(parameter: Variable) -> list[Variable]:
    """Vectors of entries, as of a `SpikeAndSlab`, that a parameter depends on."""
    return [v for v in ancestors([parameter]) if v.owner and isinstance(v.owner.op, EntriesRV)]


class EntriesRV(SymbolicRandomVariable):
    """n values; inputs are a parameter of the prior's own and those of the scalar distribution.

    `blocks` are the sizes of runs of entries with something in common, () if there are none.
    """

    def __init__(
        self, *args, scalar: ScalarDistribution, n: int, blocks: tuple[int, ...] = (), **kwargs
    ) -> None:
        self.scalar = scalar
        self.n = n
        self.blocks = blocks
        super().__init__(*args, **kwargs)

    @staticmethod
    @abstractmethod
    def entries(
        own, parameters: list, scalar: ScalarDistribution, shape: tuple, size, blocks: tuple[int, ...]
    ) -> Any:
        """Draw entries of the `shape` (..., n) symbolically; `size` is that shape without n, or None."""

    @classmethod
    def rv_op(
        cls,
        own,
        *parameters,
        scalar: ScalarDistribution,
        n: int,
        blocks: tuple[int, ...] = (),
        size=None,
        rng=None,
    ):
        """Build the random variable."""
        size = normalize_size_param(size)
        inner_size, inner_own = size.type(), own.type()
        inner_parameters = [p.type() for p in parameters]
        batch = () if rv_size_is_none(size) else tuple(inner_size[i] for i in range(size.type.shape[0]))
        shape = (*batch, n)
        own_size = inner_size if batch else None
        theta = cls.entries(inner_own, inner_parameters, scalar, shape, own_size, blocks)
        inputs = [inner_size, inner_own, *inner_parameters]
        updates = collect_default_updates(inputs=inputs, outputs=(theta,))
        n_rngs = len(updates)
        core = ("m" if blocks else "n") if own.type.ndim else ""
        signature = "".join(
            f",({','.join('p' + str(i) + str(j) for j in range(p.type.ndim))})"
            for i, p in enumerate(parameters)
        )
        rngs = ",".join(["[rng]"] * n_rngs)
        op = cls(
            inputs=[*updates.keys(), *inputs],
            outputs=[*updates.values(), theta],
            scalar=scalar,
            n=n,
            blocks=blocks,
            extended_signature=f"{rngs},[size],({core}){signature}->{rngs},(n)",
        )
        fresh = [rng if rng is not None else pt.random.shared_rng(seed=None)]
        fresh += [pt.random.shared_rng(seed=None) for _ in range(n_rngs - 1)]
        return op(*fresh, size, own, *parameters)

    def rebuild_rv(self, *args, **kwargs):
        return self.rv_op(*args, scalar=self.scalar, n=self.n, blocks=self.blocks, **kwargs)

    def shape_and_arguments(self, inputs) -> tuple:
        """Shape (..., n), the prior's own parameter and those of the scalar among the inputs of a node."""
        (_, size, positions), _ = self.get_input_output_type_idxs(self.extended_signature)
        batch = () if rv_size_is_none(inputs[size]) else tuple(inputs[size])
        return (*batch, self.n), *(inputs[i] for i in positions)


def check_entry_labels(values: Any, name: str, dims: Any) -> None:
    """Refuse a vector with labels that are not the coordinates of the last of `dims`, which are of edges."""
    axes = axes_of_values(values, name)
    if not axes or not axes[-1]:
        return
    *_, dim = (dims,) if isinstance(dims, str | None) else dims
    own, what = pm.modelcontext(None).coords.get(dim), "edge"
    if own is None:
        own, what = range(axes[-1][0].length or 0), "entry"
    check_labels(values, own, name, what)


class KnownLength(Distribution):
    """Registers vectors whose length is known from `shape` or `dims`, before anything is made of them."""

    def __new__(cls, name, *args, dims=None, shape=None, **kwargs):
        if shape is None and dims is not None:
            shape = entries_of_dims(dims, name)
        if shape is not None:
            for given in ("observed", "initval"):
                check_entry_labels(kwargs.get(given), f"{name}: {given}", dims)
            check_observed_entries(kwargs.get("observed"), entries_of_shape(shape)[-1], name)
        return super().__new__(cls, name, *args, dims=dims, shape=shape, **kwargs)


class EntriesPrior(KnownLength, Continuous):
    """Core of such priors; not used directly."""
