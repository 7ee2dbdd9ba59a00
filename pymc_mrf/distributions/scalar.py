"""A scalar PyMC distribution taken apart: a template that can be given other parameters.

A prior over many values, such as a Dirichlet process, is built on a distribution of one value. Users
pass it as ``pm.X.dist(...)``; what is needed of it is its density at any value, draws of any number, its
support point and its support, as functions of its parameters. Distributions that PyMC composes of others
(half Cauchy, logit-normal, truncated, mixtures, ...) are served like all the rest.
"""

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pymc.distributions import transforms
from pymc.distributions.censored import CensoredRV
from pymc.distributions.continuous import FlatRV, HalfFlatRV
from pymc.distributions.distribution import DiracDeltaRV, SymbolicRandomVariable
from pymc.distributions.distribution import support_point as pm_support_point
from pymc.distributions.mixture import _BaseMixtureRV
from pymc.distributions.shape_utils import change_dist_size
from pymc.logprob.basic import logp as pm_logp
from pymc.logprob.transforms import IntervalTransform
from pymc.logprob.utils import ParameterValueError
from pytensor.compile.mode import Mode
from pytensor.graph.basic import Constant
from pytensor.graph.replace import graph_replace, vectorize_graph
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.random.type import RandomType
from pytensor.tensor.type_other import NoneTypeT


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
    """Whether single values have positive probability."""
    op = variable.owner.op
    if variable.type.dtype not in ("float64", "float32") or isinstance(op, CensoredRV | DiracDeltaRV):
        return True
    mixed = isinstance(op, _BaseMixtureRV)
    return mixed and any(_has_atoms(part) for part in variable.owner.inputs if _is_draw(part))


class ScalarDistribution:
    """A continuous scalar distribution, free of the parameters it came with.

    Parameters
    ----------
    variable : TensorVariable
        Unregistered scalar distribution, ``pm.X.dist(...)``.
    role : str
        What it is to the user (``"base"``, ``"slab"``), for messages.

    Raises
    ------
    TypeError, ValueError
        If it is no PyMC distribution, not continuous, not scalar, improper, or has constant parameters
        outside their domain.

    Attributes
    ----------
    op : Op
        Of the distribution.
    arguments : tuple of TensorVariable
        What its parameters are computed from, as given: everything in it that is not a constant.
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
        """Whether the parameters are inside their domain: a symbolic truth value."""
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
        """Return a point inside the support, scalar."""
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
