"""Impossible combinations of states that tie variables of different trees to each other.

Trees are drawn one given the others. If the possible configurations are all combinations of what is
possible in each tree, every one of them is reached from every other; so it is if every binary variable has a
state that is possible whatever the others are, as in the hard-core model, since all of them can go there one
by one. If -inf entries tie two trees otherwise (their variables must agree, say), neither may be able to move
while the other stands still.
"""

from collections.abc import Sequence

import numpy as np

from pymc_mrf.graph.factor_graph import FactorGraph
from pymc_mrf.graph.factor_links import factor_links


def tying_factors(
    graph: FactorGraph, tables: np.ndarray, states: np.ndarray, trees: Sequence[Sequence[int]]
) -> list[int]:
    """Factors whose -inf entries tie variables of different trees.

    Parameters
    ----------
    graph : FactorGraph
    tables : (1 or m, t) array
        All log tables one after the other.
    states : (m, d) array
        States of the variables that are known, -1 of those that are not.
    trees : list of lists of int
        Tree partition of the variables that are unknown in some row.

    Returns
    -------
    list of int
        Empty if, in every row, the possible configurations are all combinations of the possible
        configurations of the trees.
    """
    tree = np.full(graph.n_variables, -1)
    for number, variables in enumerate(trees):
        tree[list(variables)] = number
    pointers, shapes = factor_links(graph).table_ptr, graph.table_shapes
    found = []
    safe = _have_safe_states(graph, tables, pointers)
    for f, scope in enumerate(graph.scopes):
        if len(scope) == 1 or safe[list(scope)].all():
            continue
        possible = tables[:, pointers[f] : pointers[f + 1]] > -np.inf
        if possible.all():
            continue
        known = states[:, scope]
        possible = np.broadcast_to(possible, (len(known), possible.shape[1]))
        different = np.unique(np.hstack([known, possible]), axis=0)
        at, tables_at = different[:, : len(scope)], different[:, len(scope) :].astype(bool)
        for values, table in zip(at.tolist(), tables_at, strict=True):
            free = [v < 0 for v in values]
            if sum(free) < 2:
                continue
            cells = table.reshape(shapes[f])
            cells = cells[tuple(slice(None) if v < 0 else v for v in values)]
            if _ties(cells, tree[np.array(scope)[free]]):
                found.append(f)
                break
    return found


def _have_safe_states(graph: FactorGraph, tables: np.ndarray, pointers: np.ndarray) -> np.ndarray:
    """Which variables (d,) are binary and may always go to one of their states, whatever the others are.

    Evidence that excludes this state leaves a binary variable no other, and so nothing to move.
    """
    safe = np.ones((graph.n_variables, 2), dtype=bool)
    for f, (scope, shape) in enumerate(zip(graph.scopes, graph.table_shapes, strict=True)):
        possible = tables[:, pointers[f] : pointers[f + 1]] > -np.inf
        if possible.all():
            continue
        cells = possible.reshape(-1, *shape)
        for axis, (variable, size) in enumerate(zip(scope, shape, strict=True), start=1):
            for k in range(size if size == 2 else 0):
                safe[variable, k] &= bool((np.take(cells, [k], axis=axis) >= cells).all())
    return safe.any(axis=1) & (np.array(graph.cardinalities) == 2)


def _ties(possible: np.ndarray, tree: np.ndarray) -> bool:
    """Whether `possible` is no product of sets, one for the axes of each tree."""
    product = np.ones_like(possible)
    for number in np.unique(tree):
        product &= possible.any(axis=tuple(np.flatnonzero(tree != number).tolist()), keepdims=True)
    return not np.array_equal(product, possible)
