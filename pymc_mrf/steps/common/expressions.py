"""Expressions of a model: compiled at points of the sampler, what they depend on, how a vector enters them.

What many steps of a model would compile in turn is compiled once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.pytensorf import constant_fold
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.gradient import DisconnectedInputError, pushforward
from pytensor.graph.basic import Variable
from pytensor.graph.replace import graph_replace
from pytensor.graph.traversal import ancestors
from pytensor.tensor.subtensor import AdvancedSubtensor, Subtensor
from pytensor.tensor.type import TensorType

from pymc_mrf.distributions.dirichlet_process import DirichletProcessRV
from pymc_mrf.distributions.parents import field_node, strip_views
from pymc_mrf.distributions.symbolic_tables import filling_number
from pymc_mrf.fields.family import Family
from pymc_mrf.likelihood.edges.shared_edges import Share
from pymc_mrf.parts import Parts

# values up to which parameters have to be linear: beyond, probabilities are 0 or 1 to 5 digits
FAR = 12.0
INDEXING = (Subtensor, AdvancedSubtensor)


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
    given : sequence of Variable
        Further inputs, of which it need not depend on all.

    Attributes
    ----------
    names : list of str
        Entries of the point that it reads.
    """

    def __init__(
        self,
        outputs: Any,
        model: pm.Model,
        compile_kwargs: dict | None = None,
        given: Sequence[Variable] = (),
    ) -> None:
        self._is_list = isinstance(outputs, list)
        replaced = model.replace_rvs_by_values(outputs if self._is_list else [outputs])
        numbers = [filling_number(v) if None not in v.type.shape else None for v in replaced]
        compiled = [v if one is None else one for v, one in zip(replaced, numbers, strict=True)]
        self._shapes = [
            None if one is None else v.type.shape for v, one in zip(replaced, numbers, strict=True)
        ]
        needed = set(ancestors(compiled))
        inputs = [v for v in model.value_vars if v in needed]
        self.names = [v.name for v in inputs]
        options = {"trust_input": True, **(compile_kwargs or {})}
        if given:
            options["on_unused_input"] = "ignore"
        elif not inputs:
            options.setdefault("mode", "FAST_COMPILE")
        self._f = model.compile_fn(compiled, inputs=[*inputs, *given], point_fn=False, **options)

    def __call__(self, point: Mapping[str, np.ndarray], *given: np.ndarray) -> Any:
        """Evaluate at `point`, and at arrays of the types of the further inputs."""
        # of one type always: numba compiles a number, a column of a matrix and a vector apart
        found = self._f(*(np.asarray(point[name], order="C") for name in self.names), *given)
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


class FlatEntries(Parts):
    """Entries of a point, flat, one after the other in one vector.

    Parameters
    ----------
    names : iterable of str
    point : dict
        Any, for their shapes and types.
    """

    def __init__(self, names: Iterable[str], point: Mapping[str, np.ndarray]) -> None:
        self._types = {name: np.asarray(point[name]).dtype for name in names}
        super().__init__([np.shape(point[name]) for name in self._types])

    def __call__(self, point: Mapping[str, np.ndarray]) -> np.ndarray:
        """Entries at `point`, (k,) of double precision."""
        return np.concatenate([np.zeros(0), *(np.ravel(point[name]) for name in self._types)])

    def values(self, v: np.ndarray) -> dict[str, np.ndarray]:
        """Entries from the vector `v` (k,), by name: views where types allow."""
        parts = zip(self._types.items(), self.of(v), strict=True)
        return {name: part.astype(dtype, copy=False) for (name, dtype), part in parts}


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


class HeldData:
    """What ``pm.Data`` held when a step was made.

    Parameters
    ----------
    name, step : str
        Names of the field and of the step, for messages.
    variables : iterable of Variable
        What the step reads of the model: data and parameters of the field.
    """

    def __init__(self, name: str, step: str, variables: Iterable[Any]) -> None:
        self._name, self._step = name, step
        self._shared = [
            v
            for v in ancestors(variables)
            if isinstance(v, SharedVariable) and isinstance(v.type, TensorType)
        ]
        self._values = [v.get_value(borrow=True) for v in self._shared]

    def check_unchanged(self) -> None:
        """Refuse to sample with data other than those that the step has read.

        Raises
        ------
        ValueError
            If ``pm.Data`` were set to other values since.
        """
        for variable, old in zip(self._shared, self._values, strict=True):
            new = variable.get_value(borrow=True)
            # a variable that is set gets a new array; another process has copies of the old
            if new is not old and not np.array_equal(new, old, equal_nan=True):
                raise ValueError(
                    f"{variable.name}, the data of {self._name}, changed after {self._step} was made: make "
                    "the step after pm.set_data"
                )


def children(rv, model: pm.Model) -> list:
    """Random variables and potentials of `model` that depend on `rv` directly."""
    found = []
    for child in [*model.basic_RVs, *model.potentials]:
        blockers = [other for other in model.basic_RVs if other is not child]
        if child is not rv and rv in set(ancestors([child], blockers=blockers)):
            found.append(child)
    return found


def fields_fed(rv, model: pm.Model) -> list:
    """Apply nodes of the fields that depend on `rv` directly."""
    nodes = (field_node(child) for child in children(rv, model))
    return [node for node in nodes if node is not None]


def terms_with(
    values: Iterable[Any], model: pm.Model, without: Iterable[Any] = ()
) -> tuple[list[tuple], list[tuple]]:
    """Random variables and potentials, each with its log density, that depend on some values, and the others.

    By values, not by variables: a transform may carry the dependence further, as bounds of an interval do.

    Parameters
    ----------
    values : iterable of TensorVariable
        Value variables.
    model : pymc.Model
    without : iterable of Apply
        Fields that are left out.
    """
    terms = [v for v in [*model.basic_RVs, *model.potentials] if field_node(v) not in without]
    own, found, rest = set(values), list[tuple](), list[tuple]()
    for pair in zip(terms, model.logp(vars=terms, sum=False) if terms else [], strict=True):
        (rest if own.isdisjoint(ancestors(pair[1:])) else found).append(pair)
    return found, rest


def constant_value(parameter) -> np.ndarray | None:
    """Value of a symbolic parameter that is a constant, else None."""
    [value] = constant_fold([parameter], raise_not_constant=False)
    return np.asarray(value) if isinstance(value, np.ndarray | float | int) else None


def entries_of(parameter, rv) -> np.ndarray | None:
    """Which entry of the vector `rv` each entry of `parameter` is; None if it is anything else."""
    is_process = isinstance(rv.owner.op, DirichletProcessRV)
    n_entries = rv.owner.op.n if is_process else parameter.type.shape[-1]
    node = strip_views(parameter)
    if node is not rv and not is_process:
        return None
    while node is not rv:
        if node.owner is None or not isinstance(node.owner.op, INDEXING):
            return None
        node = strip_views(node.owner.inputs[0])
    positions = pt.constant(np.arange(n_entries, dtype=rv.dtype))
    values = graph_replace([parameter], {rv: positions}, strict=False)
    [value] = constant_fold(values, raise_not_constant=False)
    return np.asarray(value).reshape(-1).astype(np.int64) if isinstance(value, np.ndarray) else None


def natural_parameter(parameter, family: Family):
    """Eta as an expression, from that of the parameters of edges; what is inside of a logistic function."""
    inner = strip_views(parameter)
    if not family.is_log_odds or inner.owner is None or inner.owner.op != pt.sigmoid:
        return family.natural(parameter, pt)
    return inner.owner.inputs[0]


def constant_share(parameter, rv, model: pm.Model) -> Share | None:
    """Find the entries and the constant factors, (..., r), with which a vector enters a parameter.

    None if it enters in any other way. Derivatives tell, which are the same at any point; a parameter whose
    derivatives are so although it is not linear, as one that is rounded, is to be found out by its values.
    """
    n = rv.owner.op.n
    try:
        directions = [pt.constant(v) for v in (np.ones(n), np.arange(n, dtype=float))]
        derivatives = [pushforward(parameter, rv, direction) for direction in directions]
    except DisconnectedInputError:
        return None
    near = ancestors(derivatives, blockers=model.free_RVs)
    if any(v in model.free_RVs and v.dtype.startswith(("int", "bool")) for v in near):
        return None
    read, rng = PointFunction(derivatives, model), np.random.default_rng(0)
    found = [[np.array(v, dtype=np.float64) for v in read(random_point(model, rng))] for _ in range(2)]
    (factors, by_entry), second = found
    if not (np.allclose(factors, second[0]) and np.allclose(by_entry, second[1])):
        return None
    entries = np.zeros(factors.shape, dtype=np.int64)
    entries[factors != 0.0] = np.rint(by_entry[factors != 0.0] / factors[factors != 0.0])
    entries = entries.reshape(-1, entries.shape[-1]).max(axis=0)  # 0 where the factor is
    if not np.allclose(factors * entries, by_entry) or not factors.any():
        return None
    return Share(entries, factors)


def varies_by_row(node) -> bool:
    """Whether the parameters of a field may differ between its rows, as far as their types tell."""
    edge, *others = node.op.edge_and_node_parameters(node)
    family, n_nodes = node.op.family, node.op.graph.n_nodes
    batches = [edge.type.shape[: edge.type.ndim - 1 - family.edge_axes]]
    if others:
        shapes = family.node_shapes(n_nodes)
        batches += [
            p.type.shape[: p.type.ndim - len(shape)] for p, shape in zip(others, shapes, strict=True)
        ]
    return any(length != 1 for lengths in batches for length in lengths)


def random_point(model: pm.Model, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Values of all free variables, as samplers move them, of which no two are equal."""
    start = start_of(model)
    return {
        name: value + rng.uniform(0.1, 0.2, value.shape) if value.dtype.kind == "f" else value
        for name, value in start.items()
    }
