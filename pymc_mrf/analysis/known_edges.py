"""What a model knows of edges: their variable, their graph, and the kinds of nodes if they have tables."""

from typing import Any

from pymc_mrf.analysis._posterior import check_model
from pymc_mrf.checks import quoted


def known_edges(call: str, model: Any, var_name: Any, graph: Any, n_states: Any) -> tuple[Any, Any, Any]:
    """Fill in of `var_name`, `graph` and `n_states` what is not given, as the model has it.

    Parameters
    ----------
    call : str
        Function that asks, for messages.
    model : pymc.Model or None
    var_name : str, sequence of str, or None
        Variables of the edges of one graph, or what the edges of several groups have in common.
    graph, n_states
        As of `summarize_edges`; where a graph is given `n_states` is what is given as well.

    Raises
    ------
    TypeError
        If there is neither a model nor what it would tell.
    ValueError
        If the model has no such field, or several with different graphs.
    """
    if var_name is not None and graph is not None:
        return var_name, graph, n_states
    from pytensor.graph.traversal import ancestors

    from pymc_mrf.distributions.field_record import records_of
    from pymc_mrf.distributions.group_weights import commons_of
    from pymc_mrf.distributions.parents import field_node

    if model is None:
        missing = "the name of the edges' variable" if var_name is None else "graph="
        raise TypeError(f"{call} needs {missing}, or model=, which knows it")
    check_model(model)
    records = records_of(model)
    if var_name is None:
        names = set(commons_of(model.named_vars_to_dims)) or {
            record.weight for record in records.values()
        }
        if len(names) != 1 or not isinstance(next(iter(names)), str):
            raise ValueError(
                f"{call} needs the name of the edges' variable, as the model has the fields "
                f"{quoted(records)} and no single vector of edges"
            )
        var_name = names.pop()
    wanted = {model[name] for name in ([var_name] if isinstance(var_name, str) else var_name)}
    weights = {
        name: set(ancestors(field_node(model[name]).op.dist_params(field_node(model[name]))[:1]))
        for name in records
    }
    own = [
        record
        for name, record in records.items()
        if wanted & weights[name] or {record.weight} & {rv.name for rv in wanted}
    ]
    if len({(record.graph, record.columns.of_states(), record.has_tables) for record in own}) != 1:
        raise ValueError(
            f"{call}: {var_name!r} is of {len(own)} fields of the model with different graphs, or of none: "
            "give graph="
        )
    tables = own[0].columns if own[0].has_tables else None
    return var_name, graph or own[0].graph, tables if n_states is None else n_states


def known_diagonal(call: str, model: Any, var_name: str) -> Any:
    """Return what the model has for the diagonal of the field with these weights: a variable, or numbers."""
    from pymc_mrf.distributions.field_record import records_of

    if model is None:
        raise TypeError(f"{call} needs diagonal=, or model=, which knows it")
    records = [record for record in records_of(model).values() if record.weight == var_name]
    found = [record.diagonal for record in records]
    if len(found) != 1 or found[0] is None:
        raise ValueError(
            f"{call}: {var_name!r} are not the weights of one field of measurements whose diagonal has a "
            "name: give diagonal="
        )
    return found[0]


def known_field(call: str, model: Any, field: str, graph: Any, kinds: Any) -> tuple[Any, Any]:
    """Return the graph of a field, and the kinds of its nodes if it is mixed: from the model if not given."""
    if graph is not None:
        return graph, kinds
    from pymc_mrf.distributions.field_record import records_of

    if model is None:
        raise TypeError(f"{call} needs graph=, or model=, which knows it")
    check_model(model)
    records = records_of(model)
    if field not in records:
        raise ValueError(f"{field!r} is no field with a graph; the model has {quoted(records)}")
    record = records[field]
    return record.graph, record.columns if kinds is None and record.is_mixed else kinds
