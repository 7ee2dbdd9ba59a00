"""Steps that draw variables from full conditionals which their model is seen to have.

What they share, and `ConjugateConcentration`: draws of the concentration of Dirichlet processes given
their groups.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pymc as pm
from pymc.logprob.transforms import LogTransform
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.basic import GammaRV

from pymc_mrf.distributions.dirichlet_process import DirichletProcessRV
from pymc_mrf.distributions.likelihood import EXACT, Likelihood
from pymc_mrf.distributions.parents import strip_views
from pymc_mrf.steps.common.base import MRFStep
from pymc_mrf.steps.common.expressions import children
from pymc_mrf.steps.common.point_inputs import PointFunction

MAX_DRAWS = 100  # until a value that double precision can hold


class ConjugateStep(MRFStep):
    """Base of these steps.

    A subclass says which variables it draws (`is_served`, `refusal`), and how (`_draw_of`).
    """

    refusal: ClassVar[str]
    """Why a variable, named in the place of {name}, is not drawn, and the remedy."""

    @staticmethod
    @abstractmethod
    def is_served(rv: Any, model: pm.Model) -> bool:
        """Whether a variable of a model is of this kind."""

    @abstractmethod
    def _draw_of(self, rv: Any) -> Any:
        """Compile what puts a draw of a variable into a point, by its method ``draw(point, rng)``."""

    def __init__(self, vars, **kwargs) -> None:
        super().__init__(vars, **kwargs)
        for rv in self._rvs:
            if not self.is_served(rv, self._model):
                raise ValueError(self.refusal.format(name=rv.name))
        self._draws = [self._draw_of(rv) for rv in self._rvs]
        self._prepare()
        self._warm_up()

    def _prepare(self) -> None:
        """Make ready what a subclass needs beside its draws."""

    @classmethod
    def claims(cls, var, has_grad):
        """Whether it is one in the model of the context; without one that cannot be known."""
        model = pm.Model.get_context(error_if_none=False)
        return model is not None and var in model.free_RVs and cls.is_served(var, model)

    def _update(self, point):
        point = dict(point)
        for one in self._draws:
            one.draw(point, self.rng)
        return point, {}, True


def draw_inside(name: str, draw: Callable[[], float], end: float) -> float:
    """Draw until the value is none that double precision rounds to 0 or to the `end` of the support.

    Raises a ValueError if it never is; `name` is the variable.
    """
    for _ in range(MAX_DRAWS):
        value = draw()
        if 0.0 < value < end:
            return value
    raise ValueError(
        f"the prior of {name} leaves it at the end of its support to double precision, where no "
        "density is finite; give it larger parameters"
    )


def is_concentration(rv, model: pm.Model) -> bool:
    """Whether a free scalar has a Gamma prior and is the concentration of processes, and nothing else."""
    if rv.owner is None or not isinstance(rv.owner.op, GammaRV) or rv.ndim:
        return False
    if type(model.rvs_to_transforms[rv]) not in (LogTransform, type(None)):
        return False  # another transform may cut the prior off
    found = children(rv, model)
    return bool(found) and all(_is_its_process(rv, child, model) for child in found)


def _is_its_process(rv, child, model: pm.Model) -> bool:
    if (
        child in model.potentials
        or child.ndim != 1
        or not isinstance(child.owner.op, DirichletProcessRV)
    ):
        return False
    _, alpha, *base = child.owner.op.shape_and_arguments(child.owner.inputs)
    others = [other for other in model.basic_RVs if other is not rv]
    return strip_views(alpha) is rv and rv not in set(ancestors(base, blockers=others))


class Concentration(NamedTuple):
    """Update of one concentration.

    `rv` and `name`: of the variable and of its value. `read`: shape and scale of its prior, then the
    vectors of its processes. `is_log`: whether the value is its logarithm.
    """

    rv: str
    name: str
    read: PointFunction
    is_log: bool

    def draw(self, point: dict[str, np.ndarray], rng: np.random.Generator) -> None:
        shape, scale, *vectors = self.read(point)
        value = float(point[self.name])
        alpha, rate = np.exp(value) if self.is_log else value, 1.0 / scale
        for theta in vectors:
            n = len(theta)
            rate -= np.log(rng.beta(alpha + 1.0, n))
            shape = shape + len(np.unique(theta)) - (rng.random() < n / (n + alpha))
        new = draw_inside(self.rv, lambda: rng.gamma(shape) / rate, np.inf)
        point[self.name] = np.asarray(np.log(new) if self.is_log else new, dtype=point[self.name].dtype)


class ConjugateConcentration(ConjugateStep):
    r"""Draws of the concentration of `DirichletProcess` vectors given the groups.

    Leaves invariant: the posterior, exactly. The concentration alpha has a prior Gamma(a, b); processes of
    n_j entries have K_j groups. Given the last value, draw eta_j from Beta(alpha + 1, n_j) and s_j, which is
    1 with probability n_j / (n_j + alpha), else 0; then alpha from Gamma(a + sum (K_j - s_j), b - sum log
    eta_j).

    ``pm.sample()`` chooses this step within the context of the model (``with model:``); where the base has no
    random parameters, nothing is left for NUTS then.

    Parameters
    ----------
    vars : list of variables
        Free scalars with a prior pm.Gamma, each the `alpha` of `DirichletProcess` vectors and nothing else.
    model, initial_point, compile_kwargs, rng, blocked
        As for every PyMC step.

    Raises
    ------
    ValueError
        If a variable is not of that kind.

    References
    ----------
    Escobar & West (1995, sec. 6), for one process; Teh et al. (2006, appendix A), for several.
    """

    name = "conjugate_concentration"
    invariant: ClassVar = {Likelihood: EXACT}
    prefix = "conjugate_concentration"

    refusal: ClassVar = (
        "ConjugateConcentration draws a scalar pm.Gamma that is the alpha of DirichletProcess vectors and "
        "feeds nothing else, and {name} is no such variable: leave it to NUTS"
    )
    is_served = staticmethod(is_concentration)

    def _draw_of(self, rv):
        model = self._model
        outputs = [
            *(v.astype("float64") for v in rv.owner.op.dist_params(rv.owner)),
            *(model.rvs_to_values[child] for child in children(rv, model)),
        ]
        read = PointFunction(outputs, model, self._compile_kwargs)
        is_log = model.rvs_to_transforms[rv] is not None
        return Concentration(rv.name, model.rvs_to_values[rv].name, read, is_log)
