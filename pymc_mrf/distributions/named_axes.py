"""Parameters whose axes have names: those of a model's dimensions, followed through expressions."""

from collections.abc import Sequence
from typing import Any

import pymc as pm
import pytensor.tensor as pt
from pytensor.compile.ops import ViewOp
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import toposort
from pytensor.tensor.basic import Alloc
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.shape import SpecifyShape
from pytensor.xtensor.basic import TensorFromXTensor

from pymc_mrf.checks import Axis
from pymc_mrf.distributions.arguments import value_of


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
