"""Warnings of columns of the data that leave parameters of a field to the prior."""

from collections.abc import Sequence

import numpy as np
import pymc as pm
from pytensor.graph.traversal import ancestors

from pymc_mrf.checks import warn_user
from pymc_mrf.distributions.symbolic_tables import strip_views
from pymc_mrf.fields.dependence import dependent_columns, told_of

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
    has_thresholds = family.node_axes > 0
    if has_thresholds and strip_views(node.op.dist_params(node)[1]) in pm.modelcontext(None).free_RVs:
        _warn_of_unseen_states(node, x, name)
    elif family.node_parameter is not None and _has_own_parameters(node, node.op.dist_params(node)):
        warn_of_constant_columns(x.reshape(-1, x.shape[-1]), node.op.graph.nodes, name)


def _has_own_parameters(node, parameters: list) -> bool:
    """Whether free variables behind parameters have an entry for each node or edge at least.

    Those that nodes or edges share are finite whatever a column is.
    """
    model, graph = pm.modelcontext(None), node.op.graph
    fewest = min(graph.n_nodes, graph.n_edges)
    reached = set(ancestors(model.replace_rvs_by_values(parameters)))
    shapes = [rv.type.shape for rv in model.free_RVs if model.rvs_to_values[rv] in reached]
    return any(None in shape or np.prod(shape) >= fewest for shape in shapes)


def _listed(labels: list) -> str:
    """Name up to five of some."""
    more = f" and {len(labels) - 5} more" if len(labels) > 5 else ""
    return ", ".join(map(str, labels[:5])) + more


def warn_of_constant_columns(rows: np.ma.MaskedArray, nodes: Sequence, name: str) -> None:
    """Warn of `nodes` that are in one state in all `rows` (n, d).

    The likelihood grows for ever with the bias of such a node, or with its weights if the bias is a number.
    """
    if len(rows) < FEWEST_ROWS:
        return
    constant = np.flatnonzero(np.ma.filled(rows.max(axis=0) == rows.min(axis=0), False))
    if len(constant):
        warn_user(
            f"{name} never changes at {_listed([nodes[i] for i in constant.tolist()])}: only the priors keep "
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
                f"{name}: the nodes of {_listed(pairs)} always {told}: only the prior keeps the "
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


def _warn_of_unseen_states(node, x: np.ma.MaskedArray, name: str) -> None:
    """Warn of states that the data `x` (..., d) do not show, whose node parameters are free."""
    family, graph = node.op.family, node.op.graph
    rows = x.reshape(-1, graph.n_nodes)
    seen = np.array([(rows == state).filled(False).any(axis=0) for state in family.states]).T
    unseen = ~seen & family.possible(graph.n_nodes)
    nodes = np.flatnonzero(unseen.any(axis=1))
    if len(nodes):
        listed = "; ".join(
            f"{', '.join(str(family.states[k]) for k in np.flatnonzero(unseen[i]))} of {graph.nodes[i]}"
            for i in nodes[:5]
        )
        more = f"; and those of {len(nodes) - 5} more nodes" if len(nodes) > 5 else ""
        own = _fewer_states(seen) if family.has_reference_state else ""
        zero = ", or if it is state 0 all those of its node," if family.has_reference_state else ""
        warn_user(
            f"{name} shows no observation in some states: {listed}{more}. Only the prior keeps the "
            f"{family.node_parameter} of such a state{zero} finite: "
            f"{own}merge states with pymc_mrf.recode_states(x, "
            "new_states), which keeps missing cells, or give the prior some thought"
        )


def _fewer_states(seen: np.ndarray) -> str:
    """Name the numbers of states that nodes have in the data, (d, K), if some end before the last state."""
    own = [max(int(np.flatnonzero(row)[-1]) + 1, 2) if row.any() else len(row) for row in seen]
    if not min(own) < len(seen[0]):
        return ""
    listed = ", ".join(map(str, own)) if len(own) <= 20 else f"{own[0]}, {own[1]}, ..."
    return f"if the last ones are no answers of their nodes, give n_states=[{listed}]; else "
