"""What all fields share as PyMC distributions: options, checks of observed data, registration.

Fields of measurements, `ContinuousField`, further check their data, what they are divided by, and the
diagonal of the precision.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.distribution import Continuous, Discrete, _support_point
from pymc.distributions.shape_utils import convert_dims
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Variable

from pymc_mrf.checks import axes_of_values, check_labels, numeric_array, warn_user
from pymc_mrf.distributions._numba import variable_of
from pymc_mrf.distributions.arguments import value_of
from pymc_mrf.distributions.column_warnings import has_own_entries, warn_of_edges
from pymc_mrf.distributions.field_parameters import check_dims, check_rows
from pymc_mrf.distributions.field_rv import DiscreteFieldRV, mark_observed, register_partly
from pymc_mrf.distributions.parents import field_node, tag_parents
from pymc_mrf.fields.family import Family
from pymc_mrf.fields.table_columns import Answers, as_table, check_row_labels, told_of
from pymc_mrf.graph.lagged import LaggedGraph
from pymc_mrf.graph.structure import PairwiseGraph, as_graph

OPTION_REMEDIES = {
    "columns": "choose the columns before, with pymc_mrf.fields.prepare(table, graph, columns=columns)",
    "weights": "repeat the rows before, with numpy.repeat(x, weights, axis=0)",
}
"""What does the same as an option of `observed` does, where the data are ``pm.Data``."""


def read_observed(
    observed: Any,
    read: Callable[..., Answers | None],
    name: str,
    *,
    columns: Any,
    weights: Any,
) -> Any:
    """Make arrays of tables, masked if cells are missing, with the columns of the nodes in their order.

    `read` reads tables, as `read_answers` with nodes and states does. Rows are repeated by their `weights`.
    """
    if observed is None or isinstance(observed, Variable):
        for option, given in (("columns", columns), ("weights", weights)):
            if given is not None:
                what = "there is no `observed`" if observed is None else "`observed` is symbolic"
                raise ValueError(
                    f"{name}: {option}={given!r} has no meaning because {what}: leave it out; for pm.Data "
                    f"{OPTION_REMEDIES[option]}"
                )
        return observed
    answers = read(observed, name=f"{name}: observed", columns=columns)
    if answers is not None:
        is_row = getattr(observed, "ndim", 2) == 1
        observed = answers.values
        if answers.is_missing.any():
            observed = np.ma.masked_array(answers.values, answers.is_missing)
        observed = observed[0] if is_row else observed
    check_row_labels(weights, answers, f"{name}: weights")
    return observed if weights is None else repeat_rows(observed, weights, name)


def check_parameter_rows(parameters: Sequence, observed: Any, nodes: Sequence, name: str) -> None:
    """Refuse tables of parameters with rows that are labelled otherwise than those of the table `observed`.

    A table of which the rows are nodes, or are only numbered, has other rows.
    """
    table = as_table(observed)
    if table is None:
        return
    for values in parameters:
        axes = axes_of_values(values, name)
        labels = axes[-2][0].labels if len(axes) > 1 and axes[-2] else None
        if labels is None or len(labels) != len(table.rows) or labels == list(range(len(labels))):
            continue
        if labels != table.rows and set(map(str, labels)) != set(map(str, nodes)):
            raise ValueError(
                f"{name}: the rows of a parameter are labelled otherwise than those of `observed`, beginning "
                f"{labels[0]!r} instead of {table.rows[0]!r}: use its .loc[table.index], or .to_numpy(), "
                "which goes by position"
            )


def repeat_rows(x: Any, weights: Any, name: str) -> np.ndarray:
    """Repeat each row of data `x` (n, d), maybe masked, as often as its weight says."""
    x = np.asanyarray(x)
    return x.repeat(row_counts(weights, x.shape, name), axis=0)


def row_counts(weights: Any, shape: tuple[int, ...], name: str) -> np.ndarray:
    """Weights of the rows of data of a shape (n, d) as whole numbers, (n,) int64.

    Raises a ValueError if they are not a whole number for each row, or all of them are 0.
    """
    counts = numeric_array(weights, f"{name}: weights", "iuf")
    if counts.shape != shape[:-1] or counts.ndim != 1:
        raise ValueError(
            f"{name}: weights has shape {counts.shape}, but `observed` has shape {shape}: give one number "
            "for each row of a matrix"
        )
    wrong = ~((counts >= 0) & (counts < np.inf) & (counts == np.floor(counts)))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"{name}: weights[{row}] is {counts[row]}, but a weight is how many observations a row stands "
            "for: 0, 1, 2, ... Weights of a survey are no such numbers, and a likelihood to fractional "
            "powers is none: leave them out, and let parameters depend on what they were made from"
        )
    if not counts.any():
        raise ValueError(f"{name}: all weights are 0; at least one observation is needed")
    return counts.astype(np.int64)


def given_graph(graph: Any, what: str) -> PairwiseGraph:
    """Return the graph of a field, refused where there is none; `what` is the field."""
    if graph is None:
        raise TypeError(f"{what} needs graph=, a networkx.Graph or one of pymc_mrf.graphs")
    return as_graph(graph)


def observed_values(
    observed: Any, n_variables: int, what: str, first_state: int, name: str, kinds: str = "biuf"
) -> np.ndarray:
    """Return observed values as an array, with `first_state` where they are masked.

    `what` tells what the last dimension must be, for the message; `kinds` as for `numeric_array`.
    """
    if isinstance(observed, SharedVariable):
        observed = observed.get_value()
    elif isinstance(observed, pt.TensorVariable):
        observed = value_of(observed)
    mask = np.ma.getmaskarray(observed) if isinstance(observed, np.ma.MaskedArray) else None
    data = np.ma.getdata(observed) if mask is not None else observed
    values = numeric_array(data, f"{name}: observed", kinds)
    if values.ndim == 0 or values.shape[-1] != n_variables:
        raise ValueError(
            f"{name}: `observed` has shape {values.shape}, but its last dimension must be {what}"
        )
    if values.size == 0:
        raise ValueError(f"{name}: `observed` has no rows; at least one observation is needed")
    return values if mask is None else np.where(mask, first_state, values)


def check_states(
    observed: Any, family: Family, graph: PairwiseGraph | LaggedGraph, name: str
) -> np.ma.MaskedArray:
    """Refuse observed values that are not states, and shapes that do not fit the graph; return the values."""
    what = f"the {graph.n_nodes} nodes of the graph, in node order"
    values = observed_values(observed, graph.n_nodes, what, family.states[0], name)
    missing = "declare missing cells with numpy.ma.masked_invalid(x)"
    family.check_states(values, name=f"{name}: observed", missing=missing, nodes=graph.nodes)
    return np.ma.masked_array(values, mask=np.ma.getmask(observed))


def without_nan(observed: Any, first_state: int):
    """Make integers of floats with masked NaN, which PyMC would cast with a warning, and of objects."""
    if type(observed) is np.ndarray and observed.dtype == object:
        return numeric_array(observed, "observed")
    if not isinstance(observed, np.ma.MaskedArray) or observed.dtype.kind != "f":
        return observed
    mask = np.ma.getmaskarray(observed)
    return np.ma.masked_array(np.where(mask, first_state, observed.data).astype(np.int64), mask=mask)


def latent_if_all_missing(observed: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return `observed` and further arguments; None and its shape if every cell of it is masked.

    Nothing is observed then: the variable is a latent one. (PyMC cannot split a single row of masked
    cells only.)
    """
    if not isinstance(observed, np.ma.MaskedArray) or not np.ma.getmaskarray(observed).all():
        return observed, options
    return None, {"shape": observed.shape, **options}


def check_lengths(dims: Sequence, shape: tuple[int, ...], name: str, what: str) -> None:
    """Refuse dimensions of the model of other lengths than a shape; `what` says whose that is."""
    model = pm.modelcontext(None)
    for dim, n in zip(dims, shape, strict=False):
        length = model.dim_lengths.get(dim)
        if length is not None and value_of(length) != n:
            raise ValueError(f"{name}: dimension {dim!r} has length {value_of(length)}, but {what}")


def check_shape(shape: Any, n_variables: int, what: str) -> None:
    """Refuse a shape without entries, or whose last one is a number other than that of the variables."""
    lengths = list(shape) if isinstance(shape, tuple | list) else [shape]
    if not lengths or (isinstance(lengths[-1], int | np.integer) and lengths[-1] != n_variables):
        raise ValueError(
            f"shape={shape!r} does not fit: its last entry must be {n_variables}, the number of {what}"
        )


def state_dtype(dtype: Any, states: Sequence[int]) -> str:
    """Name of an integer type, refused where it does not hold all states."""
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = np.dtype(object)
    low, high = min(states), max(states)
    if found.kind not in "iu" or not np.iinfo(found).min <= low <= high <= np.iinfo(found).max:
        raise ValueError(
            f"dtype={dtype!r} must be an integer type with room for the states {low} to {high}, such as "
            '"int64" or "int8"'
        )
    return found.name


def registered_node(rv):
    """Find the apply node of a field that is registered, maybe as an observed and a free part."""
    return field_node(pm.modelcontext(None)[rv.name])


FIELDS: dict[str, Any] = {}
"""All classes of fields that have been defined, by their names, which their Ops have as well."""


def field_class(name: str) -> Any:
    """Return the class of fields that has a name, or refuse a name that none has."""
    if name not in FIELDS:
        raise ValueError(
            f"no class of fields is called {name}: import the module that defines it, and let the title of "
            "its Family be its name"
        )
    return FIELDS[name]


class RegisteredField:
    """How fields of all kinds are registered: beside PyMC's class of their kind of values."""

    dist: Any
    rv_op: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Make variables by their Op; PyMC takes no `rv_op` that a class inherits."""
        super().__init_subclass__(**kwargs)
        cls.rv_op = staticmethod(variable_of)
        FIELDS[cls.__name__] = cls

    def __new__(cls, name, *args, total_size=None, record=None, **kwargs):
        """Register the field with the model on the context stack, and tag its parents and its data.

        `record` is the `ColumnKinds` of the table that is observed, which the variable keeps.
        """
        if total_size is not None:
            raise ValueError(
                f"{name}: total_size={total_size!r} is for minibatches, which steps and estimates of fields "
                "do not take: give all rows as `observed`; equal rows cost little under the exact likelihood"
            )
        observed = kwargs.get("observed")
        if (graph := kwargs.get("graph")) is not None:
            check_labels(kwargs.get("initval"), graph.nodes, f"{name}: initval", "node")
        if isinstance(observed, np.ma.MaskedArray) and np.ma.getmaskarray(observed).any():
            rv = cls._partly(name, *args, **kwargs)
        else:
            rv = super().__new__(cls, name, *args, **kwargs)  # type: ignore[call-arg]
        model = pm.modelcontext(None)
        tag_parents(registered_node(rv), model)
        mark_observed(model[rv.name], model)
        if record is not None:
            model[rv.name].tag.mrf_table = record if observed is None else record.with_ends(observed)
        if graph is not None:
            warn_of_edges(registered_node(rv), observed, name)
        return rv

    @classmethod
    def _partly(cls, name, *args, observed, dims=None, initval=None, **kwargs):
        dims = convert_dims(dims)
        check_lengths(dims or (), observed.shape, name, f"`observed` has shape {observed.shape}")
        if kwargs.get("size") is None and kwargs.get("shape") is None:
            kwargs["shape"] = observed.shape
        return register_partly(cls.dist(*args, **kwargs), observed, name, dims, initval)


class DiscreteField(RegisteredField, Discrete):
    """Core of the fields whose variables have states; not used directly."""

    def __new__(cls, name, *args, **kwargs):
        """Register the field, as `RegisteredField` does."""
        if "dtype" in kwargs and kwargs.get("observed") is not None:
            raise ValueError(
                f"{name}: dtype={kwargs['dtype']!r} is for hidden fields, whose draws take memory, but "
                "`observed` is given, and later data that are no states would wrap around: leave dtype out"
            )
        return super().__new__(cls, name, *args, **kwargs)


@_support_point.register(DiscreteFieldRV)
def _field_support_point(op, rv, rng, size, *parameters):
    """All variables in their first state, in as many rows as the size or the parameters ask for."""
    first = op.decode(np.zeros(op.n_variables, dtype=np.int64))
    return pt.broadcast_to(pt.constant(first), op._infer_shape(size, parameters))


Check = Callable[..., list[list[Any]]]
"""Refuses values (n, d) and missing cells that a field cannot have; sets of nodes that are dependent."""


class ContinuousField(RegisteredField, Continuous):
    """Core of the fields of measurements; not used directly."""

    def __new__(cls, name, *args, graph, observed, x, **kwargs):
        """Register the field, as `RegisteredField` does; `x` are the `measured_values` of `observed`."""
        if x is not None:
            observed = observed if isinstance(observed, Variable) else x
            observed, kwargs = latent_if_all_missing(observed, kwargs)
        rv = super().__new__(cls, name, *args, graph=graph, observed=observed, **kwargs)
        check_dims(name, observed, graph)
        if x is not None and observed is not None:
            check_rows(registered_node(rv), x, name)
        return rv


def measured_values(observed: Any, n_nodes: int, check: Check, name: str) -> np.ndarray:
    """Refuse what are no measurements of the nodes; return them as floats, masked where cells are missing."""
    what = f"the {n_nodes} nodes of the graph, in node order"
    values = observed_values(observed, n_nodes, what, 0, name, "iuf").astype(np.float64)
    is_missing = np.isnan(values) | np.ma.getmask(observed)
    values = np.where(is_missing, 0.0, values)
    rows, gaps = values.reshape(-1, n_nodes), is_missing.reshape(-1, n_nodes)
    if dependent := check(rows, gaps, name=f"{name}: observed"):
        warn_user(
            f"{name}: {told_of(dependent)}, in all complete rows: only the priors keep the precision of such "
            "nodes finite, and edges among them are there whatever else the data say; leave one node of each "
            "such set out"
        )
    return np.ma.masked_array(values, is_missing) if is_missing.any() else values


def positive_scale(scale: Any, labels: Sequence) -> tuple[float, ...]:
    """Return what the measurements of these names are divided by, positive numbers."""
    check_labels(scale, labels, "scale", "node")
    values = numeric_array(scale, "scale", "iuf").astype(np.float64)
    if values.shape not in ((), (1,), (len(labels),)):
        raise ValueError(
            f"scale has shape {values.shape}, but there are {len(labels)} measurements: give one number for "
            "each, in node order, or one for all"
        )
    values = np.broadcast_to(values, (len(labels),))
    wrong = ~(np.isfinite(values) & (values > 0))
    if wrong.any():
        raise ValueError(
            f"scale must be positive numbers, but that of {labels[int(np.flatnonzero(wrong)[0])]!r} is "
            f"{values[wrong][0]:g}"
        )
    return tuple(values.tolist())


def check_diagonal(diagonal: Any) -> None:
    """Refuse a diagonal of a precision with numbers that are not positive."""
    numbers = np.ones(0) if isinstance(diagonal, Variable) else np.asarray(diagonal)
    if (numbers <= 0).any():
        raise ValueError(
            f"diagonal must be positive, one over a variance, but has the value "
            f"{numbers[numbers <= 0].flat[0]:g}: give positive numbers, or a positive prior such as pm.Gamma"
        )


def needs_spread(diagonal: Any, n_measured: int) -> bool:
    """Whether the data of each measurement have to tell its entry of the diagonal of the precision."""
    return isinstance(diagonal, Variable) and has_own_entries([diagonal], max(n_measured, 1))
