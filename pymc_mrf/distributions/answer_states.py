"""Numbers of states that may be counted in the data, and node parameters where they differ by node."""

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Variable

from pymc_mrf.checks import check_axes, check_labels
from pymc_mrf.distributions.mrf import check_numbers, named_parameter
from pymc_mrf.distributions.state_axes import by_node_and_state
from pymc_mrf.fields.family import Family
from pymc_mrf.fields.tables import count_states
from pymc_mrf.graph.structure import PairwiseGraph


def check_is_given(n_states: Any, field: str) -> None:
    """Raise a TypeError if there is no `n_states`; `field` says of what."""
    if n_states is None:
        raise TypeError(
            f"n_states is missing: give the number of states of the {field}, which are counted only in "
            "`observed` that is an array or a table"
        )


def states_in(observed: Any, graph: PairwiseGraph, name: str, columns: Any) -> list[int]:
    """Count the states of each node in the data of the field `name`; none if they are not numbers."""
    if observed is None or isinstance(observed, Variable):
        return []
    return count_states(observed, graph.nodes, f"{name}: observed", columns)


def by_own_states(parameter: Any, family: Family, graph: PairwiseGraph, label: str) -> Any:
    """Symbolic node parameters (..., d, q) from what users give as the argument `label`."""
    check_labels(parameter, graph.nodes, label, "node", axis=-2)
    node, numbers, axes = named_parameter(parameter, 2, label)
    if numbers is not None and np.shape(numbers)[-2:] == family.node_shape(graph.n_nodes):
        # entries of states that a node does not have mean nothing, such as the NaN of `fit`
        numbers = np.where(family.node_entries(graph.n_nodes), numbers, 0.0)
        node = pt.as_tensor(numbers)
    check_numbers(numbers, family, label)
    check_axes(axes, ["node", "state"], family.axis_labels(graph), label)
    return by_node_and_state(node, graph.n_nodes, len(family.node_basis), label, axes)
