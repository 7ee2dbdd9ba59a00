"""Parameters of fields from what users write: symbolic, of one shape, numbers and names of axes checked."""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Variable

from pymc_mrf.checks import axes_of_values, check_axes, check_labels, first_cell
from pymc_mrf.distributions.arguments import parameter
from pymc_mrf.distributions.named_axes import axes_of_variable, dimensions, with_lengths
from pymc_mrf.distributions.state_axes import by_blocks, by_node_and_state, by_unit
from pymc_mrf.fields.family import Family
from pymc_mrf.graph.lagged import LaggedGraph
from pymc_mrf.graph.structure import PairwiseGraph

LARGEST = 1e100  # of a parameter: sums of larger ones may overflow


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
