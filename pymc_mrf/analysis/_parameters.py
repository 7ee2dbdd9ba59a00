"""Evaluate a score of the data under every draw of a field's parameters, or under one estimate."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import (
    SAMPLE_DIMS,
    check_edge_labels,
    check_model,
    checked_group,
    sampled_variable,
)
from pymc_mrf.analysis.cells import read_cells
from pymc_mrf.checks import (
    axes_of_values,
    check_axes,
    check_entries,
    check_labels,
    few,
    first_cell,
    flag,
    numeric_array,
)
from pymc_mrf.fields.column_kinds import ColumnKinds
from pymc_mrf.fields.families import get_family
from pymc_mrf.fields.family import Family
from pymc_mrf.graph.lagged import as_undirected
from pymc_mrf.graph.structure import PairwiseGraph

IN_TIME = "pm.compute_log_likelihood, for the log probability of every row given the earlier ones"
"""Instead of scores of undirected fields."""


class ScoredField(NamedTuple):
    """The field whose rows are scored: `call` scores them, `record` is what its table was, if it is known."""

    call: str
    graph: PairwiseGraph
    kind: Family
    var_name: str
    node: Any
    record: ColumnKinds | None


def scored_field(
    call: str,
    graph: Any,
    model: Any,
    *,
    family: str | None,
    n_states: Any,
    scores: Any,
    var_name: str | None,
    node: Any,
) -> ScoredField:
    """Find the field that arguments of `pymc_mrf.analysis.log_pseudo_likelihood` are about."""
    if model is None:
        if graph is None:
            raise TypeError(f"{call} needs graph=, or model=, which knows it")
        graph = as_undirected(graph, IN_TIME)
        kind = get_family(
            family or "agreement", 2 if n_states is None else n_states, scores, graph.nodes
        )
        kind.check_nodes(graph.n_nodes)
        return ScoredField(call, graph, kind, var_name or "theta", node, None)
    told = {"graph": graph, "family": family, "n_states": n_states, "scores": scores}
    if given := [name for name, value in told.items() if value is not None]:
        raise ValueError(f"{', '.join(given)}: model= knows them of its field, leave them out of {call}")
    return _field_of(call, model, var_name, node)


def _field_of(call: str, model: Any, var_name: str | None, node: Any) -> ScoredField:
    from pymc_mrf.distributions.field_record import records_of
    from pymc_mrf.distributions.parents import field_node

    check_model(model)
    records = records_of(model).values()
    own = [record for record in records if var_name in (None, record.weight)]
    if len(own) != 1:
        known = few((f"{record.weight!r} of {record.name}" for record in records), None)
        raise ValueError(
            f"{call} needs var_name=, the edges of one field of the model, which has {known}"
        )
    [record] = own
    graph, op = as_undirected(record.graph, IN_TIME), field_node(model[record.name]).op
    kind: Any = getattr(op, "family", None)
    get_family(op.name.removesuffix("MRF").lower() if kind is None else kind.name)  # refuses others
    if node is None:
        node = _of_record(call, record, kind)
    return ScoredField(call, graph, kind, record.weight, node, record.columns)


def _of_record(call: str, record: Any, kind: Family) -> Any:
    """Return the variable or the numbers that node parameters are; None if the field has none."""
    for label, value in list(record.parameters.items())[1:]:
        if value is None:
            raise ValueError(
                f"{call} needs node=: the {label} of {record.name} has no name in the model"
            )
        if isinstance(value, str) or np.ndim(value) <= 1 + kind.node_axes:
            return value
        rows = xr.DataArray(value, dims=("obs", "node", "state")[: 2 + kind.node_axes])
        return rows.isel(obs=0) if rows.sizes["obs"] == 1 else rows
    return None


def score_draws(
    score: Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], None],
    field: ScoredField,
    x: Any,
    parameters: Any,
    group: str,
    per_observation: bool,
) -> xr.DataArray:
    """Call ``score(indices, edge_tables, node_tables, out)`` once per draw; `out` (n,) is overwritten.

    `indices` (n, d) are the states of `x`. The other arguments, the result and the errors are those of
    `pymc_mrf.analysis.log_pseudo_likelihood`. Where parameters have a dimension "obs", each row is scored by
    its own.
    """
    graph, kind, node = field.graph, field.kind, field.node
    per_observation = flag(per_observation, "per_observation")
    indices = (
        kind.encode_table(x, graph.nodes) if field.record is None else _complete_states(field.record, x)
    )
    if node is not None and kind.node_parameter is None:
        raise ValueError(f"node does not apply: the {kind.name} family has no node parameter")
    edge_name = "parameters"
    if isinstance(parameters, xr.DataTree):
        edge_name = field.var_name
        if not isinstance(edge_name, str):
            raise ValueError(
                f"{field.call}: the model has no name for the edges' parameters: give their values, as "
                "parameters"
            )
        if node is None and kind.node_parameter is not None:
            _refuse_node_variables(parameters, kind, edge_name, group, graph)
        if isinstance(node, str):
            node = sampled_variable(parameters, node, group)
        parameters = sampled_variable(parameters, edge_name, group)
    elif isinstance(node, str):
        raise TypeError(f"node={node!r} names a variable, but parameters is not a DataTree; give values")
    edge = _per_item(parameters, graph.edge_labels, "edge", edge_name)
    check_edge_labels(edge, graph, edge_name)
    labels, given = kind.axis_labels(graph), axes_of_values(node, "node")
    check_axes(axes_of_values(parameters, edge_name), ["edge"], labels, edge_name)
    node = _per_node(0.0 if node is None else node, kind, graph)
    check_axes(given, ["node", "state"][: 1 + kind.node_axes], labels, "node")
    _check_range(kind, edge, edge_name)
    _check_finite(node, "node")
    draws, _ = xr.broadcast(edge, node, exclude=("edge", "node", "state"))
    dims = tuple(dim for dim in draws.dims if dim not in ("edge", "obs"))
    differ, n = ("obs",) if "obs" in draws.dims else (), len(indices)
    if differ and draws.sizes["obs"] != n:
        raise ValueError(
            f'parameters have {draws.sizes["obs"]} rows along "obs", but x has {n}: give those of the same '
            "rows"
        )
    shape = tuple(draws.sizes[dim] for dim in dims)
    etas = kind.natural(_rows(edge, (*dims, *differ), draws))
    biases = _rows(node, (*dims, *differ), draws)
    parts = [slice(i, i + 1) for i in range(n)] if differ else [slice(None)]
    n_draws = len(etas) // len(parts)
    out, row = np.empty((n_draws, n if per_observation else 1)), np.empty(n)
    for s in range(n_draws):
        for k, part in enumerate(parts, start=s * len(parts)):
            score(
                indices[part],
                kind.edge_tables(etas[k], graph.edges),
                kind.node_tables(biases[k]),
                row[part],
            )
        out[s] = row if per_observation else row.sum()
    coords = {key: c for key, c in draws.coords.items() if not {"edge", "obs"} & set(c.dims)}
    found = xr.DataArray(out.reshape(*shape, -1), dims=(*dims, "obs"), coords=coords, name=field.call)
    return found if per_observation else found.isel(obs=0)


def _complete_states(record: ColumnKinds, x: Any) -> np.ndarray:
    """Read complete rows as the table of a field was read; indices (n, d) of states."""
    indices = read_cells(record, x).states
    if (indices < 0).any():
        row, i = first_cell(indices < 0)
        raise ValueError(
            f"x: row {row} of {record.names[i]!r} is missing, but complete rows are needed here"
        )
    return indices


def _refuse_node_variables(
    idata: xr.DataTree, kind: Family, var_name: str, group: str, graph: PairwiseGraph
) -> None:
    """Refuse to take zeros for the node parameters of a posterior that seems to hold them."""
    edges = sampled_variable(idata, var_name, group)
    found = []
    for name, values in checked_group(idata, group).data_vars.items():
        last = values.dims[-1 - kind.node_axes] if values.ndim > kind.node_axes else None
        if name == var_name or last in (None, *SAMPLE_DIMS, edges.dims[-1]):
            continue
        labels = values[last].values if last in values.coords else np.arange(0)
        if labels.dtype.kind in "UOT" and set(map(str, labels)).isdisjoint(map(str, graph.nodes)):
            continue  # named after something else
        if values.sizes[last] == graph.n_nodes and values.dtype.kind in "iuf":
            found.append(repr(str(name)))
    if found:
        raise ValueError(
            f"the {group} group has {', '.join(found)} on nodes: pass node={found[0]}, or node=0 for none"
        )


def _per_item(values: Any, labels: Sequence, dim: str, name: str) -> xr.DataArray:
    """Return float values, one per label along the last dimension, which is renamed to `dim`."""
    size = len(labels)
    if dim == "node" or not isinstance(values, xr.DataArray):  # `check_edge_labels` is for the others
        check_labels(values, labels, name, dim, own_names=isinstance(values, xr.DataArray))
    if not isinstance(values, xr.DataArray):
        try:
            values = np.asarray(values)
        except ValueError as error:
            raise ValueError(f"{name} must be a vector of {size} numbers, not {values!r}") from error
        if values.ndim > 1:
            raise ValueError(
                f"{name} has shape {values.shape}; give a vector of {size}, or a DataArray if "
                "there are draws"
            )
        values = xr.DataArray(values, dims=(dim,)[: values.ndim])
    if values.dtype.kind not in "iuf":
        raise TypeError(
            f"{name} must be numeric, not {values.dtype}: give numbers, a DataArray, or the DataTree that "
            "pymc.sample returns"
        )
    values = values.astype(np.float64)
    if not values.dims or values.dims[-1] in SAMPLE_DIMS:
        return values.expand_dims({dim: size}, axis=-1)
    last = values.dims[-1]
    if values.sizes[last] != size:
        raise ValueError(
            f"{name} has {values.sizes[last]} values along {last!r} but the graph has {size} {dim}s"
        )
    return values if last == dim else values.rename({last: dim})


def _per_node(values: Any, kind: Family, graph: PairwiseGraph) -> xr.DataArray:
    """Return float values with last dimensions "node" and, if the family has state axes, "state"."""
    if not kind.node_axes:
        return _per_item(values, graph.nodes, "node", "node")
    own_names = isinstance(values, xr.DataArray)
    check_labels(values, graph.nodes, "node", "node", axis=-2, own_names=own_names)
    shape = kind.node_shape(graph.n_nodes)
    if not isinstance(values, xr.DataArray):
        values = numeric_array(values, "node", "iuf")
        values = xr.DataArray(values, dims=[f"axis {k}" for k in range(values.ndim)])
    if not values.dims or values.dims[-1] in SAMPLE_DIMS:
        values = values.expand_dims(dict(zip(("node", "state"), shape, strict=True)), axis=(-2, -1))
    if values.shape[-2:] != shape or set(values.dims[-2:]) & set(SAMPLE_DIMS):
        raise ValueError(
            f"node has shape {values.shape}; its last axes must be {shape}, nodes in graph order, then the "
            f"states of its {kind.node_parameter}"
        )
    values = values.rename(dict(zip(values.dims[-2:], ("node", "state"), strict=True)))
    meaningful = xr.DataArray(kind.node_entries(graph.n_nodes), dims=("node", "state"))
    return values.drop_vars(["node", "state"], errors="ignore").where(meaningful, 0.0).astype(np.float64)


def _check_range(kind: Family, edge: xr.DataArray, name: str) -> None:
    _check_finite(edge, name)
    if kind.is_log_odds:
        is_inside = (edge.values > 0.0) & (edge.values < 1.0)
        remedy = "agreement parameters lie strictly between 0 and 1"
        check_entries(edge.values, is_inside, name, remedy)


def _check_finite(values: xr.DataArray, name: str) -> None:
    check_entries(values.values, np.isfinite(values.values), name, "give finite numbers")


def _rows(values: xr.DataArray, dims: tuple, draws: xr.DataArray) -> np.ndarray:
    """Parameters of one draw after the other, draws in the order of `dims`."""
    items = [dim for dim in values.dims if dim in ("edge", "node", "state")]
    missing = {d: draws.sizes[d] for d in dims if d not in values.dims}
    ordered = values.expand_dims(missing).transpose(*dims, *items).values
    return ordered.reshape(-1, *[values.sizes[dim] for dim in items])
