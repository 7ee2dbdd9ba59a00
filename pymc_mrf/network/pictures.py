"""The pictures of a network: which function draws each, and what it is asked with."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from pymc_mrf.checks import check_option


def draw(net: Any, kind: str, options: dict[str, Any]) -> Any:
    """Draw a picture, as `Network.plot`."""
    check_option(kind, "kind", tuple(PICTURES))
    function, given = PICTURES[kind]
    module = import_module(f"pymc_mrf.plots.{MODULES.get(function, kind)}")
    arguments = given(net) | options
    if kind == "table" and "edge" not in options:
        u, v = (net.graph.nodes[i] for i in net.graph.edges[0])
        raise TypeError(
            f'plot("table") shows one edge: name its nodes, as plot("table", edge=({u!r}, {v!r}))'
        )
    made = getattr(module, function)(**arguments)
    if kind == "edges" and net.field is None:
        _title_groups(net, made)
    return made


def _title_groups(net: Any, made: Any) -> None:
    """Title networks by the labels of groups, of which names of variables are made."""
    from pymc_mrf.plots._collection import literal

    for label, name in zip(net.groups, net.weights_of_groups, strict=True):
        title = made.get_target(name, {}).title if name in made.data else None
        if title is not None and title.get_text():
            title.set_text(literal(label))


def _edges(net: Any) -> dict[str, Any]:
    names = net.weights_of_groups
    shown = {"var_name": names[0] if len(names) == 1 else names, "node_kind": _shapes(net)}
    return _of_edges(net) | shown | {"node_category": net.record.communities}


def _of_edges(net: Any) -> dict[str, Any]:
    return {"dt": net.by_edge, "var_name": net.weight, "graph": net.graph}


def _shapes(net: Any) -> tuple[str, ...] | None:
    """Kinds of nodes, if they differ."""
    return net.kinds.kinds if len(set(net.kinds.kinds)) > 1 else None


def _evidence(net: Any) -> dict[str, Any]:
    prior = net.needed_prior('plot("evidence")')
    return _of_edges(net) | {"prior_inclusion": prior, "node_kind": _shapes(net)}


def _complexity(net: Any) -> dict[str, Any]:
    return {"dt": net.by_edge, "var_name": net.weight, "model": net.prior_of_edges}


def _sensitivity(net: Any) -> dict[str, Any]:
    return {"dt": net.idata, "var_name": net.weight, "model": net.needed_model('plot("sensitivity")')}


def _check(net: Any) -> dict[str, Any]:
    given = {
        "graph": net.graph,
        "model": net.reader("check") if net.is_in_time else None,
        "kinds": net.tables,
    }
    return {"dt": net.replicated(), "var_name": net.field} | given


def _runs(net: Any) -> dict[str, Any]:
    if not net.is_in_time:
        raise ValueError(
            f"runs are those of a KineticMRF, a field in time, and not of the {net.record.kind}"
        )
    model = net.needed_model('plot("runs")')
    return {"dt": net.replicated(), "var_name": net.field, "model": model}


def _table(net: Any) -> dict[str, Any]:
    if net.tables is None:
        raise ValueError(f"an edge of the {net.record.kind} has one number, and no table")
    return {"dt": net.idata, "var_name": net.weight, "graph": net.graph, "n_states": net.tables}


def _groups(net: Any) -> dict[str, Any]:
    if not net.is_grouped:
        raise ValueError(f"groups of edges are those of a DirichletProcess, which {net.weight} has not")
    return {"dt": net.idata, "var_name": net.weight}


PICTURES: dict[str, tuple[str, Callable[[Any], dict[str, Any]]]] = {
    "edges": ("plot_edges", _edges),
    "evidence": ("plot_evidence", _evidence),
    "inclusion": ("plot_inclusion", _of_edges),
    "nodes": ("plot_nodes", lambda net: _of_edges(net) | net.node_options()),
    "complexity": ("plot_complexity", _complexity),
    "sensitivity": ("plot_prior_sensitivity", _sensitivity),
    "diagnostics": ("plot_diagnostics", lambda net: {"dt": net.idata}),
    "check": ("plot_ppc_edges", _check),
    "runs": ("plot_ppc_runs", _runs),
    "table": ("plot_edge_table", _table),
    "groups": ("plot_groups", lambda net: _groups(net) | {"graph": net.graph}),
    "n_groups": ("plot_n_groups", _groups),
    "co_clustering": ("plot_co_clustering", _groups),
}
MODULES = {
    "plot_complexity": "evidence",
    "plot_prior_sensitivity": "evidence",
    "plot_ppc_edges": "ppc",
    "plot_ppc_runs": "ppc_runs",
    "plot_edge_table": "edge_table",
    "plot_n_groups": "groups",
    "plot_co_clustering": "groups",
}
