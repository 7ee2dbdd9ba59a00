"""Warnings of columns of the data that leave parameters of a field to the prior."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pymc as pm

from pymc_mrf.checks import few, warn_user
from pymc_mrf.distributions.parents import values_behind
from pymc_mrf.distributions.symbolic_tables import strip_views
from pymc_mrf.fields.table_columns import dependent_columns, told_of
from pymc_mrf.graph.lagged import LaggedGraph

FEWEST_ROWS = 10  # in fewer, a column is constant by chance


def warn_of_columns(node, x: np.ma.MaskedArray, name: str) -> None:
    """Warn of columns of the data `x` (..., d) that leave parameters of their nodes or edges to the prior."""
    warn_of_states(node, x, name)
    if node.op.family.node_parameter is not None:
        if _has_own_parameters(node, node.op.dist_params(node)[:1]):
            _warn_of_twins(node, x.reshape(-1, x.shape[-1]), name)
            _warn_of_sums(node, x.reshape(-1, x.shape[-1]), name)


def warn_of_states(node, x: np.ma.MaskedArray, name: str) -> None:
    """Warn of states and nodes of the data `x` (..., d) that leave node parameters to the prior."""
    family = node.op.family
    if family.node_axes > 0 and _is_free(node.op.dist_params(node)[1]):
        graph = node.op.graph
        rows = x.reshape(-1, graph.n_nodes)
        _warn_of_unseen_states(
            rows, graph.nodes, family.node_states(graph.n_nodes), family.node_parameter, name,
            has_reference=family.has_reference_state,
        )  # fmt: skip
    elif family.node_parameter is not None and _has_own_parameters(node, node.op.dist_params(node)):
        warn_of_constant_columns(x.reshape(-1, x.shape[-1]), node.op.graph.nodes, name)


def warn_of_edges(node, observed: Any, name: str) -> None:
    """Warn of free parameters of edges that do not exist, or both nodes of which no row shows.

    `observed` (..., d) are all cells, masked where they are missing; None of a hidden field.
    """
    graph, model = node.op.graph, pm.modelcontext(None)
    edge = node.op.dist_params(node)[:1]
    free = [rv.name for rv in values_behind(edge, model)]
    if not free:
        return
    if not graph.n_edges:
        warn_user(
            f"{name}: the graph has no edges, so that nothing is learnt here of {few(free)}, whose "
            "posterior is the prior: give the neighbours of nodes, or leave these parameters out"
        )
        return
    if not np.ma.is_masked(observed):
        return
    seen = ~np.ma.getmaskarray(observed).reshape(-1, graph.n_nodes)
    left = _never_seen(seen, node.op)
    is_all = len(left) == graph.n_edges
    if is_all or (len(left) and len(seen) >= FEWEST_ROWS and _has_own_parameters(node, edge)):
        labels = list(graph.edge_labels)
        of = "any edge" if is_all else few([labels[e] for e in left.tolist()])
        warn_user(
            f"{name}: no row shows both nodes of {of}: little but the prior, and what other nodes tell, says "
            f"what {few(free)} is there; leave nodes with hardly any data out"
        )


def _never_seen(seen: np.ndarray, op: Any) -> np.ndarray:
    """Edges, by number, of which no row has both nodes; `seen` (n, d) says which cells are known.

    The source of an arrow is in the row that its lag is earlier.
    """
    graph, left = op.graph, np.arange(op.graph.n_edges)
    is_lagged = isinstance(graph, LaggedGraph)
    windows = op.rows.windows if is_lagged else np.arange(len(seen))[:, None]
    lag_of = graph.lag_of if is_lagged else np.zeros(graph.n_edges, dtype=np.int64)
    for rows in windows:
        u, v = graph.edges[left].T
        left = left[~(seen[rows[lag_of[left]], u] & seen[rows[0], v])]
        if not len(left):
            break
    return left


def warn_of_answers(node, x: np.ma.MaskedArray, name: str) -> None:
    """Warn of answers of a mixed field, of data `x` (..., d), whose biases are left to the prior."""
    kinds = node.op.columns
    rows, nodes = (
        x.reshape(-1, len(kinds.names))[:, kinds.answers],
        [kinds.names[i] for i in kinds.answers],
    )
    warn_of_constant_columns(rows, nodes, name)
    if _is_free(node.op.dist_params(node)[1]):
        states = [tuple(range(kinds.n_states[i])) for i in kinds.answers]
        _warn_of_unseen_states(rows, nodes, states, "bias", name, has_reference=False)


def _is_free(parameter) -> bool:
    return strip_views(parameter) in pm.modelcontext(None).free_RVs


def _has_own_parameters(node, parameters: list) -> bool:
    """Whether free variables behind parameters have an entry for each node or edge at least.

    Those that nodes or edges share are finite whatever a column is.
    """
    graph = node.op.graph
    return has_own_entries(parameters, min(graph.n_nodes, graph.n_edges))


def has_own_entries(parameters: list, fewest: int) -> bool:
    """Whether a free variable behind symbolic parameters has `fewest` entries or more."""
    shapes = [rv.type.shape for rv in values_behind(parameters, pm.modelcontext(None))]
    return any(None in shape or np.prod(shape) >= fewest for shape in shapes)


def warn_of_constant_columns(rows: np.ma.MaskedArray, nodes: Sequence, name: str) -> None:
    """Warn of `nodes` that are in one state in all `rows` (n, d).

    The likelihood grows for ever with the bias of such a node, or with its weights if the bias is a number.
    """
    if len(rows) < FEWEST_ROWS:
        return
    constant = np.flatnonzero(np.ma.filled(rows.max(axis=0) == rows.min(axis=0), False))
    if len(constant):
        warn_user(
            f"{name} never changes at {few([nodes[i] for i in constant.tolist()])}: only the priors keep "
            "the parameters of such nodes and of their edges finite"
        )


def _warn_of_twins(node, rows: np.ma.MaskedArray, name: str) -> None:
    """Warn of edges whose nodes are in the same state in all rows (n, d), or in the other one of two.

    The likelihood grows for ever with the size of their weights.
    """
    family, graph = node.op.family, node.op.graph
    is_missing = np.ma.getmaskarray(rows).T
    z = family.encode(rows.filled(family.states[0]), n_nodes=graph.n_nodes).T  # (d, n)
    for told, at_ends in (("agree", z), ("differ", 1 - z)):
        if told == "differ" and family.n_states > 2:
            continue
        left, n = graph.edges, 64
        while len(left):  # few are left after some rows
            u, v = left.T
            alike = z[u, :n] == at_ends[v, :n]
            seen = ~(is_missing[u, :n] | is_missing[v, :n])
            left = left[(alike | ~seen).all(axis=1)]
            if n >= len(rows):
                break
            n *= 8
        kept = [
            (i, j)
            for i, j in left.tolist()
            if (both := ~(is_missing[i] | is_missing[j])).sum() >= FEWEST_ROWS
            and len(set(z[i][both])) > 1
        ]
        if kept:
            pairs = [f"{graph.nodes[i]}--{graph.nodes[j]}" for i, j in kept]
            warn_user(
                f"{name}: the nodes of {few(pairs)} always {told}: only the prior keeps the "
                f"{family.edge_parameter} of such an edge finite; leave one of the two nodes out, or give "
                "the prior some thought"
            )


def _warn_of_sums(node, rows: np.ma.MaskedArray, name: str) -> None:
    """Warn of nodes whose numbers in `rows` (n, d) are sums of those of others, as a sum score of items.

    The likelihood grows for ever as such a sum becomes certain, which weights of its square make it.
    """
    family, graph = node.op.family, node.op.graph
    if len(rows) < FEWEST_ROWS or family.has_blocks or family.node_parameter is None:
        return
    values = rows.filled(family.states[0]).astype(np.float64)
    found = dependent_columns(values, np.ma.getmaskarray(rows), graph.nodes)
    found = [columns for columns in found if len(columns) > 2]  # others are twins
    if found:
        warn_user(
            f"{name}: {told_of(found)}, in all complete rows: only the priors keep the weights among such "
            "nodes finite, and their edges are there whatever else the data say; leave one node of each such "
            "set out"
        )


def _warn_of_unseen_states(
    rows: np.ma.MaskedArray,
    nodes: Sequence,
    states: Sequence[tuple],
    parameter: str | None,
    name: str,
    *,
    has_reference: bool,
) -> None:
    """Warn of states of nodes that the data `rows` (n, d) do not show, whose parameters are free."""
    most = max(map(len, states))
    seen = np.array(
        [
            [k < len(own) and np.ma.filled(column == own[k], False).any() for k in range(most)]
            for column, own in zip(rows.T, states, strict=True)
        ]
    )
    unseen = ~seen & (np.arange(most) < np.array([len(own) for own in states])[:, None])
    where = np.flatnonzero(unseen.any(axis=1))
    if len(where):
        written = _written_states(states, nodes, name)
        listed = "; ".join(
            f"{', '.join(str(written[i][k]) for k in np.flatnonzero(unseen[i]))} of {nodes[i]}"
            for i in where[:5]
        )
        more = f"; and those of {len(where) - 5} more nodes" if len(where) > 5 else ""
        own = _fewer_states(seen) if has_reference else ""
        zero = ", or if it is the first all those of its node," if has_reference else ""
        warn_user(
            f"{name} shows no observation in some states: {listed}{more}. Only the prior keeps the "
            f"{parameter} of such a state{zero} finite: "
            f"{own}merge states with pymc_mrf.recode_states(x, "
            "new_states), which keeps missing cells, or give the prior some thought"
        )


def _written_states(states: Sequence[tuple], nodes: Sequence, name: str) -> list[tuple]:
    """Return what the table of a field, if it was made of one, writes for the states of its nodes."""
    record = getattr(pm.modelcontext(None)[name].tag, "mrf_table", None)
    labels = {} if record is None else dict(zip(record.names, record.labels, strict=True))
    return [labels.get(node) or own for node, own in zip(nodes, states, strict=True)]


def _fewer_states(seen: np.ndarray) -> str:
    """Name the numbers of states that nodes have in the data, (d, K), if some end before the last state."""
    own = [max(int(np.flatnonzero(row)[-1]) + 1, 2) if row.any() else len(row) for row in seen]
    if not min(own) < len(seen[0]):
        return ""
    listed = ", ".join(map(str, own)) if len(own) <= 20 else f"{own[0]}, {own[1]}, ..."
    return f"if the last ones are no answers of their nodes, give n_states=[{listed}]; else "
