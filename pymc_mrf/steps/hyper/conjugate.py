"""What steps share that draw variables from full conditionals which their model is seen to have."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import pymc as pm

from pymc_mrf.steps.common.base import MRFStep

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
