"""The record that a field of a model keeps of the table that it was given."""

from typing import Any

import numpy as np
import pymc as pm
from pytensor.graph.traversal import ancestors

from pymc_mrf.distributions.field_rv import DiscreteFieldRV
from pymc_mrf.distributions.gaussian_rv import GaussianFieldRV
from pymc_mrf.distributions.parents import field_node, fields_of
from pymc_mrf.fields.column_kinds import ColumnKinds, kinds_of_states


def record_of(model: pm.Model, name: str) -> ColumnKinds:
    """Return the record of the table of a field; of states and measurements as they are if it had none.

    Parameters
    ----------
    model : pymc.Model
    name : str
        Of the field, whose variables are nodes of a graph.
    """
    kept: Any = getattr(model[name].tag, "mrf_table", None)
    return record_of_states(field_node(model[name]).op) if kept is None else kept


def labels_of_states(model: pm.Model, name: str) -> dict[int, Any]:
    """Return what the table of a field writes for each state, by the numbers of states in draws.

    Where nodes differ in that, these are the numbers themselves.
    """
    record, family = record_of(model, name), getattr(field_node(model[name]).op, "family", None)
    labels = record.state_labels
    numbers = range(len(labels)) if family is None else family.states
    own = [record.labels[i] or tuple(range(record.n_states[i])) for i in record.answers]
    if any(list(known) != labels[: len(known)] for known in own):
        labels = list(numbers)
    return dict(zip(numbers, labels, strict=True))


def record_with(model: pm.Model, name: str) -> ColumnKinds:
    """Return the record of the fields of which a variable is a parameter, or of the only field there is.

    Raises
    ------
    ValueError
        If there are none, or their tables were different.
    """
    fields = [
        rv
        for rv in model.observed_RVs
        if (node := field_node(rv)) is not None and hasattr(node.op, "graph")
    ]
    known = model.named_vars.get(name)
    own = [rv for rv in fields if known in set(ancestors(field_node(rv).inputs))]
    records = {record_of(model, rv.name) for rv in own or fields}
    if len(records) != 1:
        raise ValueError(
            f"{name} is no parameter of one field of the model, whose table could tell how rows are read: "
            "give rows of states, and no model"
        )
    return records.pop()


def record_of_states(op: Any) -> ColumnKinds:
    """Return the record of tables that hold the states of a field, or its measurements, as they are."""
    if isinstance(op, DiscreteFieldRV):
        return kinds_of_states(op.graph.nodes, op.family)
    return op.columns.of_states()


def scale_of(model: pm.Model, name: str) -> np.ndarray:
    """Return what measurements are divided by (d,) in the Gaussian fields of which a variable is a parameter.

    Raises
    ------
    ValueError
        If there are none, or they divide by different numbers.
    """
    nodes = [node for _, node in fields_of(model) if isinstance(node.op, GaussianFieldRV)]
    own = [node for node in nodes if model[name] in set(ancestors(node.inputs))]
    scales = {node.op.scale for node in own or nodes}
    if len(scales) != 1:
        told = (
            "is no parameter of a GaussianMRF" if not scales else "is one of fields of different scales"
        )
        raise ValueError(f"{name} {told}, whose scale could tell the units")
    return np.array(scales.pop())
