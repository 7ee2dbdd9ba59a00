"""Compiled functions of a point of the sampler, and whether what they read has changed since.

What many steps of a model would compile in turn is compiled once.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pymc as pm
from pytensor.graph.traversal import ancestors

from pymc_mrf.distributions.symbolic_tables import filling_number


class PointFunction:
    """Compiled function of a point of the sampler.

    Arrays of which all entries are one number are filled outside the compiled function: numba takes three
    seconds for that. Functions that read no entry of the point are seldom evaluated, and run in Python.

    Parameters
    ----------
    outputs : list of Variable, or Variable
        In terms of the random variables of `model`, or of its value variables.
    model : pymc.Model
    compile_kwargs : dict, optional

    Attributes
    ----------
    names : list of str
        Entries of the point that it reads.
    variables : set of Variable
        All on which it depends.
    """

    def __init__(self, outputs: Any, model: pm.Model, compile_kwargs: dict | None = None) -> None:
        self._is_list = isinstance(outputs, list)
        replaced = model.replace_rvs_by_values(outputs if self._is_list else [outputs])
        numbers = [filling_number(v) if None not in v.type.shape else None for v in replaced]
        compiled = [v if one is None else one for v, one in zip(replaced, numbers, strict=True)]
        self._shapes = [
            None if one is None else v.type.shape for v, one in zip(replaced, numbers, strict=True)
        ]
        self.variables = set(ancestors(compiled))
        inputs = [v for v in model.value_vars if v in self.variables]
        self.names = [v.name for v in inputs]
        options = {"trust_input": True, **(compile_kwargs or {})}
        if not inputs:
            options.setdefault("mode", "FAST_COMPILE")
        self._f = model.compile_fn(compiled, inputs=inputs, point_fn=False, **options)

    def __call__(self, point: Mapping[str, np.ndarray]) -> Any:
        """Evaluate at `point`."""
        # of one type always: numba compiles a number, a column of a matrix and a vector apart
        found = self._f(*(np.asarray(point[name], order="C") for name in self.names))
        values = [
            value if shape is None else np.full(shape, value)
            for value, shape in zip(found, self._shapes, strict=True)
        ]
        return values if self._is_list else values[0]


class PointInputs:
    """Entries of a point that a compiled function reads.

    Parameters
    ----------
    names : iterable of str
        Entries of the point, compared by value.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = list(names)
        self._values: list[np.ndarray] | None = None

    def changed(self, point: Mapping[str, np.ndarray]) -> bool:
        """Whether anything differs from the call before; the first time, True."""
        if self._values is not None and all(
            np.array_equal(v, point[k]) for v, k in zip(self._values, self._names, strict=True)
        ):
            return False
        self._values = [np.array(point[name]) for name in self._names]
        return True


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
