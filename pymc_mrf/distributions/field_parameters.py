"""Parameters of fields from what users write: symbolic, of one shape, numbers and names of axes checked.

They have axes of edges, nodes and states; axes of length 1 stand for all. Names of axes are those of a
model's dimensions, followed through expressions.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.compile.ops import ViewOp
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.traversal import toposort
from pytensor.tensor.basic import Alloc
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.shape import SpecifyShape
from pytensor.xtensor.basic import TensorFromXTensor

from pymc_mrf.checks import Axis, axes_of_values, check_axes, check_labels, first_cell
from pymc_mrf.distributions.arguments import parameter, value_of
from pymc_mrf.fields.family import Family
from pymc_mrf.graph.lagged import LaggedGraph
from pymc_mrf.graph.structure import PairwiseGraph

LARGEST = 1e100  # of a parameter: sums of larger ones may overflow

COORDS = "pymc_mrf.coords(graph)"


def check_numbers(numbers: np.ndarray | None, family: Family, label: str) -> None:
    """Refuse numbers outside the domain of a parameter; None stands for random ones."""
    if numbers is None:
        return
    wrong, domain = ~(np.abs(numbers) <= LARGEST), f"finite, at most {LARGEST:g} in size"
    if family.is_log_odds:
        wrong, domain = ~((numbers > 0) & (numbers < 1)), "in the open interval (0, 1)"
    if wrong.any():
        cell = first_cell(wrong)
        where = f" at {list(cell)}" if cell else ""
        raise ValueError(f"{label} must be {domain}; it has the value {numbers[cell]}{where}")


def named_parameter(value: Any, n_core: int, name: str) -> tuple[Any, np.ndarray | None, list]:
    """Return a symbolic parameter, its numbers if it has some, and the names of its axes.

    Lengths of dimensions are known for the last `n_core` axes.
    """
    symbolic, numbers = parameter(value, name)
    if not isinstance(value, Variable):
        return symbolic, numbers, axes_of_values(value, name)
    axes = axes_of_variable(symbolic)
    return with_lengths(symbolic, axes, n_core), numbers, axes


def edge_parameter(value: Any, family: Family, graph: PairwiseGraph | LaggedGraph):
    """Symbolic edge parameters (..., r), numbers checked."""
    name = family.edge_parameter
    labels, role = family.axis_labels(graph), "entry" if family.has_blocks else "edge"
    check_labels(value, labels[role], name, role, own_names=True)  # others may be those of another axis
    symbolic, numbers, axes = named_parameter(value, 1, name)
    check_numbers(numbers, family, name)
    is_matrix = family.has_blocks and symbolic.type.ndim == 2
    check_axes(axes[:1] if is_matrix else axes, ["edge" if is_matrix else role], labels, name)
    check_labels(value, labels[role], name, role)
    if family.has_blocks:
        return by_blocks(symbolic, family.block_sizes(graph.edges), name)
    return by_unit(symbolic, graph.n_edges, name, "edge")


def node_parameter(value: Any, family: Family, graph: PairwiseGraph | LaggedGraph, name: str):
    """Symbolic node parameters (..., d), or (..., d, q) with a state axis, called `name`, numbers checked."""
    d, n_axes = graph.n_nodes, 1 + family.node_axes
    check_labels(value, graph.nodes, name, "node", axis=-n_axes, own_names=True)
    symbolic, numbers, axes = named_parameter(value, n_axes, name)
    if family.node_axes and numbers is not None and np.shape(numbers)[-2:] == family.node_shape(d):
        # entries of states that a node does not have mean nothing, such as the NaN of `fit`
        numbers = np.where(family.node_entries(d), numbers, 0.0)
        symbolic = pt.as_tensor(numbers)
    check_numbers(numbers, family, name)
    check_axes(axes, ["node", "state"][:n_axes], family.axis_labels(graph), name)
    check_labels(value, graph.nodes, name, "node", axis=-n_axes)
    if family.node_axes:
        return by_node_and_state(symbolic, d, len(family.node_basis), name, axes)
    return by_unit(symbolic, d, name, "node")


def check_states_given(n_states: Any, field: str) -> None:
    """Raise a TypeError if there is no `n_states`; `field` says of what."""
    if n_states is None:
        raise TypeError(
            f"n_states is missing: give the number of states of the {field}, which are counted only in "
            "`observed` that is an array or a table"
        )


def check_dims(name: str, observed: Any, graph: PairwiseGraph) -> None:
    """Refuse dimensions of a field or of its ``pm.Data`` whose last one is not that of the nodes."""
    for variable in [name, *([str(observed.name)] if isinstance(observed, SharedVariable) else [])]:
        _check_dims_of(variable, name, graph)


def _check_dims_of(variable: str, name: str, graph: PairwiseGraph) -> None:
    model = pm.modelcontext(None)
    axes = dimensions(model.named_vars_to_dims.get(variable) or (), variable, model)
    check_axes(axes, ["node"], {"node": graph.nodes, "edge": graph.edge_labels}, name)
    for axis in axes[-1:]:
        if axis and axis[0].length not in (None, graph.n_nodes):
            raise ValueError(
                f"{name}: dimension {axis[0].dim!r} has {axis[0].length} entries, but the graph has "
                f"{graph.n_nodes} nodes; use pm.Model(coords=pymc_mrf.coords(graph))"
            )


def check_rows(node, x: np.ndarray, name: str) -> None:
    """Refuse parameters that differ between rows of another number than those of the data `x` (..., d)."""
    op = node.op
    for label, n_axes, given in zip(op.labels, op.ndims_params, op.dist_params(node), strict=False):
        batch = given.type.shape[: given.type.ndim - n_axes]
        for n, m in zip(batch[::-1], x.shape[-2::-1], strict=False):
            if n not in (None, 1, m):
                raise ValueError(
                    f"{name}: {label} has {n} rows, but `observed` has {m}: a {label} that depends on "
                    "covariates needs those of the same rows"
                )


def by_node_and_state(parameter, d: int, q: int, label: str, axes: list):
    """Symbolic node parameters (..., d, q) from that, (..., 1, q), (q,) or a scalar.

    `axes` are the names of its axes, if it has some.
    """
    if parameter.type.ndim == 0:
        return pt.full((d, q), parameter)
    check_form(parameter.type.shape[-2:], [(d, q), (1, q), (q,)], label)
    if parameter.type.ndim == 1:
        if d == q and not any(axes):
            raise ValueError(
                f"{label} of shape ({q},) is ambiguous, because there are as many nodes as entries for each: "
                f"give {label}[None] for the same at all nodes, or shape ({d}, {q})"
            )
        parameter = parameter[None]
    return with_units(with_states(parameter, 1, q), 2, d)


def by_unit(parameter, length: int, label: str, unit: str, remedy: str = "", *, coords: str = COORDS):
    """Symbolic parameter (..., length) of the edges or nodes from that, (..., 1) or a scalar.

    Errors name the coordinates by `coords`, and may have a further `remedy`.
    """
    if parameter.type.ndim == 0:
        return pt.full((length,), parameter)
    known = parameter.type.shape[-1]
    if known not in (None, 1, length):
        raise ValueError(
            f"{label} has length {known}, but there are {length}: give one value per {unit} in graph order "
            f'(dims="{unit}" with coords={coords}), or a scalar{remedy}'
        )
    return with_units(parameter, 1, length)


def by_blocks(parameter, sizes, label: str):
    """Symbolic parameters (..., P) of edges that have blocks of these `sizes` (r,), one after the other.

    From parameters of that shape, or (r, W) if all blocks have W parameters.
    """
    P, shape = int(sizes.sum()), parameter.type.shape
    is_even = len(set(sizes.tolist())) == 1
    if len(shape) == 2 and is_even and shape == (len(sizes), sizes[0]):
        return parameter.reshape((P,))
    if len(shape) == 0 or shape[-1] not in (None, P):
        rows = f", or ({len(sizes)}, {sizes[0]})" if is_even else ""
        raise ValueError(
            f"{label} has shape {shape} but edges have {P} parameters, (K_u - 1) (K_v - 1) each, one edge "
            f"after the other: give shape ({P},){rows}"
        )
    return with_units(parameter, 1, P)


def check_form(shape, forms: list, label: str) -> None:
    """Refuse a static shape, None where unknown, that fits none of `forms`."""
    for form in forms:
        if len(form) == len(shape) and all(n in (None, m) for n, m in zip(shape, form, strict=True)):
            return
    options = " or ".join(str(form) for form in forms)
    raise ValueError(
        f"{label} has shape {tuple(shape)}, but must have shape {options} here: edges or nodes in graph "
        "order, then states"
    )


def with_states(parameter, n_axes: int, K: int):
    """Make sure, at run time where needed, that the last axes have length K."""
    if all(n == K for n in parameter.type.shape[-n_axes:]):
        return parameter
    return pt.specify_shape(parameter, (*[None] * (parameter.type.ndim - n_axes), *[K] * n_axes))


def with_units(parameter, n_core: int, n_units: int):
    """Repeat a parameter along its axis of edges or nodes, the first of the core, if it has length 1."""
    axis = parameter.type.ndim - n_core
    known = parameter.type.shape[axis]
    if known == n_units:
        return parameter
    if known == 1:
        shape = parameter.shape
        return pt.alloc(parameter, *shape[:axis], n_units, *shape[axis + 1 :])
    return pt.specify_shape(parameter, [n_units if k == axis else None for k in range(axis + n_core)])


def axes_of_variable(variable: Any) -> list[list[Axis]]:
    """Find the dimensions of the model along each axis of a symbolic variable, several where they are mixed.

    They are those of the registered variables from which it is computed elementwise. Nothing is known of what
    comes out of other operations, such as indexing.
    """
    model = pm.Model.get_context(error_if_none=False)
    nothing: list[list[Axis]] = [[] for _ in range(variable.type.ndim)]
    if model is None:
        return nothing
    known: dict[Any, list[list[Axis]]] = {
        model.named_vars[name]: dimensions(dims, name, model)
        for name, dims in model.named_vars_to_dims.items()
    }
    given = [v for v in model.named_vars.values() if v not in model.deterministics]
    for node in toposort([variable], blockers=given):
        for out in node.outputs:
            found, own = _through(node, known), known.get(out)
            known[out] = [a + b for a, b in zip(own, found, strict=True)] if own else found
    return known.get(variable, nothing)


def dimensions(dims: Sequence, owner: str, model: pm.Model) -> list[list[Axis]]:
    """Axes of a variable with these dimensions of the model."""
    axes: list[list[Axis]] = []
    for dim in dims:
        labels, length = model.coords.get(dim), model.dim_lengths.get(dim)
        n = None if labels is None else len(labels)
        if labels is None and isinstance(length, Constant | SharedVariable):
            n = int(value_of(length))
        axes.append([] if dim is None else [Axis(dim, labels and list(labels), n, owner)])
    return axes


def _through(node: Any, known: dict) -> list[list[Axis]]:
    """Dimensions along the axes of what a node makes, from those of its inputs."""
    op, ndim = node.op, getattr(node.outputs[0].type, "ndim", 0)
    inputs = [known.get(v) or [[] for _ in range(getattr(v.type, "ndim", 0))] for v in node.inputs]
    if isinstance(op, DimShuffle):
        return [[] if k == "x" else inputs[0][k] for k in op.new_order]
    if isinstance(op, TensorFromXTensor):
        (given,) = node.inputs
        return dimensions(given.type.dims, given.name or "an expression", pm.modelcontext(None))
    if isinstance(op, SpecifyShape | ViewOp):
        return inputs[0]
    if isinstance(op, Alloc):
        return [[] for _ in range(ndim - len(inputs[0]))] + inputs[0]
    if isinstance(op, Elemwise):
        return [[axis for axes in inputs for axis in axes[k]] for k in range(ndim)]
    return [[] for _ in range(ndim)]


def with_lengths(variable: Any, axes: Sequence[Sequence[Axis]], n_core: int) -> Any:
    """Give the last axes of a variable the lengths of their dimensions, which PyTensor does not know."""
    known = variable.type.shape
    lengths = [
        next((a.length for a in axis if n is None and k >= len(known) - n_core and a.length), n)
        for k, (axis, n) in enumerate(zip(axes, known, strict=True))
    ]
    return variable if tuple(lengths) == known else pt.specify_shape(variable, lengths)
