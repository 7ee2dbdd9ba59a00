"""Structure from columns of data: complete matrices, labels of their columns, graphs of these."""

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pymc_mrf.checks import check_complete, check_labels, numeric_array, repeated, sequence, warn_user
from pymc_mrf.fields.family import Family
from pymc_mrf.fields.table_columns import Table, as_table, missing_code, number_of
from pymc_mrf.fields.tables import positions, read_answers

if TYPE_CHECKING:
    import networkx as nx


def read_columns(x: Any, nodes: Any, fewest: int) -> tuple[np.ndarray, list]:
    """Return observations (n, d) without masked cells, and the labels of their columns.

    Columns of a table that hold texts, or categories that are no numbers, are 0, 1, ... in the order of the
    alphabet, and so are all others of the table then.
    """
    check_complete(np.ma.getmask(x), "x")
    table, otherwise = as_table(x), "if it does not, recode it, as with pymc_mrf.recode_states"
    if table is not None:
        for k, name in enumerate(table.names):
            check_complete(
                table.column(k).is_missing, f"x: column {name!r}", "drop those rows, or the column"
            )
            if reason := missing_code(table.column(k), otherwise):
                raise ValueError(f"x: column {name!r} {reason}")
    if nodes is not None:
        check_labels(x, column_labels(nodes, None), "x", "node")
    named = None if table is None else _numbers_of_texts(table)
    x = numeric_array(x, "x") if named is None else named
    if x.ndim != 2 or len(x) < 2 or x.shape[1] < fewest:
        raise ValueError(
            f"x must be a matrix of at least two observations by at least {fewest} nodes, "
            f"not an array of shape {x.shape}: give more, as these say nothing of how columns go together"
        )
    return x, column_labels(nodes, x.shape[1])


def check_varies(x: np.ndarray, nodes: Sequence, so: str, remedy: str) -> None:
    """Refuse columns of x (n, d) that are constant; `so` says what cannot be had of them."""
    constant = np.flatnonzero((x == x[0]).all(axis=0))
    if len(constant):
        raise ValueError(
            f"x: the column of node {nodes[constant[0]]!r} is constant, so {so} ({len(constant)} such "
            f"columns); {remedy}"
        )


def _numbers_of_texts(table: Table) -> np.ndarray | None:
    """Numbers (n, d) of the answers of each column in their order; None if all answers are numbers."""
    cells = [table.column(k).present() for k in range(len(table.names))]
    if not any(isinstance(v, str) and number_of(v) is None for column in cells for v in column):
        return None
    keys = [[str(v) if (found := number_of(v)) is None else found for v in column] for column in cells]
    orders = [
        {key: k for k, key in enumerate(sorted(set(own), key=lambda key: (isinstance(key, str), key)))}
        for own in keys
    ]
    return np.array(
        [[order[key] for key in own] for own, order in zip(keys, orders, strict=True)], dtype=np.int64
    ).T


def read_states(x: Any, nodes: Any, family: Family) -> np.ndarray:
    """State indices (n, d) of complete observations; codes from 1 in a table are counted from 0.

    Raises a ValueError if cells are missing, or are no states of the family. Warns if codes from 1 are
    counted from 0.
    """
    answers, table = read_answers(x, nodes, family.node_states(len(nodes)), "x"), as_table(x)
    if answers is None or table is None or answers.is_missing.any() or family.states[0] != 0:
        return family.encode_table(x, nodes)
    last = np.array(family.cards or [family.n_states] * len(nodes))  # codes of the last answers from 1
    codes = answers.values
    is_named = any(table.column(k).categories for k in positions(table, list(nodes), None, "x"))
    is_of_codes = codes.size and codes.min() == 1 and (codes <= last).all() and (codes == last).any()
    if is_named or not is_of_codes:
        return family.encode_table(x, nodes)
    warn_user("x: codes that start at 1 are counted from 0")
    return family.encode(codes - 1, n_nodes=len(nodes))


def column_labels(nodes: Any, d: int | None) -> list:
    """Node labels of d columns, 0..d-1 by default; of any number of columns if d is None.

    Raises a TypeError or ValueError if `nodes` are no labels, not d, or two of them are equal.
    """
    if nodes is None:
        return list(range(d or 0))
    labels = list(nodes) if isinstance(nodes, str) else sequence(nodes, "nodes", "labels")
    for label in labels:
        if not isinstance(label, Hashable):
            raise TypeError(f"nodes holds {label!r}, which cannot be a label; use strings or numbers")
    if d is not None and len(labels) != d:
        raise ValueError(
            f"nodes has {len(labels)} labels but x has {d} columns; give one for each column"
        )
    if twice := repeated(labels):
        raise ValueError(f"nodes: the label {twice[0]!r} occurs twice; give every column one of its own")
    return labels


def graph_of_columns(
    labels: list, pairs: Iterable[tuple[int, int]], values: np.ndarray, attribute: str
) -> "nx.Graph":
    """Graph of the columns in which `pairs` are edges, with an attribute whose `values` are (d, d)."""
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(labels)
    edges = ((labels[i], labels[j], float(values[i, j])) for i, j in pairs)
    graph.add_weighted_edges_from(edges, weight=attribute)
    return graph
