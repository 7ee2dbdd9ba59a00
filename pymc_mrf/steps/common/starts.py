"""What many steps of a model would compile in turn, compiled once: its initial point, functions of points."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pymc as pm

from pymc_mrf.steps.common.point_inputs import PointFunction


@dataclass
class _Compiled:
    """What has been compiled; functions by what they compute, and how that is compiled."""

    model: pm.Model
    start: dict[str, np.ndarray] | None = None
    functions: dict[tuple, PointFunction] = field(default_factory=dict)


_CURRENT: ContextVar[_Compiled | None] = ContextVar("compiled", default=None)


@contextmanager
def compiled_once(model: pm.Model) -> Iterator[None]:
    """Let all steps that are made within share what they compile.

    Each of many vectors asks for the initial point, and for the parameters of its fields, with each of these.
    """
    known = _current(model)
    token = _CURRENT.set(known or _Compiled(model))
    try:
        yield
    finally:
        _CURRENT.reset(token)


def start_of(model: pm.Model) -> dict[str, np.ndarray]:
    """Return the initial point of a model."""
    known = _current(model)
    if known is None:
        return model.initial_point()
    if known.start is None:
        known.start = model.initial_point()
    return {name: value.copy() for name, value in known.start.items()}


def function_of_point(output: Any, model: pm.Model, compile_kwargs: dict | None) -> PointFunction:
    """Return the `PointFunction` of a variable."""
    known = _current(model)
    if known is None:
        return PointFunction(output, model, compile_kwargs)
    key = output, repr(compile_kwargs)
    if key not in known.functions:
        known.functions[key] = PointFunction(output, model, compile_kwargs)
    return known.functions[key]


def _current(model: pm.Model) -> _Compiled | None:
    known = _CURRENT.get()
    return known if known is not None and known.model is model else None
