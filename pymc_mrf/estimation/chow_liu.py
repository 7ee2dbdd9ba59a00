"""Maximum-likelihood tree: Chow & Liu (1968)."""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pymc_mrf.checks import (
    MEASUREMENTS,
    check_labels,
    flag,
    number,
    numeric_array,
    sequence,
    whole_number,
)

if TYPE_CHECKING:
    import networkx as nx


def chow_liu(
    x: Any,
    *,
    nodes: Sequence[Hashable] | None = None,
    n_states: int | None = None,
    pseudo_count: float = 0.0,
    forest: bool = False,
) -> "nx.Graph":
    """Find the tree of largest likelihood: the maximum spanning tree of mutual informations.

    Parameters
    ----------
    x : (n, d) array_like
        Observations, whole numbers; every distinct value is a state.
    nodes : sequence of d hashables, optional
        Node labels; by default 0..d-1.
    n_states : int, optional
        Number of states K, if some of them do not occur in `x`; by default the number of distinct
        values. It matters only together with `pseudo_count`.
    pseudo_count : float
        Added to each of the K * K cells of every pair's table of counts, >= 0.
    forest : bool
        Leave out the edges that do not pay for their (K - 1) ** 2 parameters by the Bayesian
        information criterion, 2 n I <= (K - 1) ** 2 log n (Edwards, de Abreu & Labouriau, 2010).

    Returns
    -------
    networkx.Graph
        Nodes in column order, edges in lexicographic column order. Edge attribute
        ``mutual_information`` in nats. Ties go to the edge that comes first in column order.

    Raises
    ------
    ValueError
        If `x` is not a complete matrix of whole numbers, `n_states` is less than the number of distinct
        values, `pseudo_count` is negative or the labels do not fit.
    """
    import networkx as nx

    if nodes is not None:
        check_labels(x, column_labels(nodes, None), "x", "node")
    x = _complete_matrix(x)
    n, d = x.shape
    labels = column_labels(nodes, d)
    forest = flag(forest, "forest")
    pseudo_count = number(pseudo_count, "pseudo_count", 0.0, closed=True)
    values, states = np.unique(x, return_inverse=True)
    k = len(values) if n_states is None else whole_number(n_states, "n_states", 1)
    if k < len(values):
        raise ValueError(f"n_states is {k}, but x has {len(values)} distinct values; raise n_states")
    information = mutual_information(states.reshape(n, d), k, pseudo_count)

    graph = nx.Graph()
    graph.add_nodes_from(range(d))
    pairs = zip(*np.triu_indices(d, 1), strict=True)
    graph.add_weighted_edges_from(
        ((int(i), int(j), information[i, j]) for i, j in pairs), weight="mutual_information"
    )
    # Kruskal's algorithm sorts stably: equal weights stay in the order of insertion
    tree = nx.maximum_spanning_tree(graph, weight="mutual_information")
    penalty = (k - 1) ** 2 * np.log(n) / (2 * n) if forest else -np.inf
    result = nx.Graph()
    result.add_nodes_from(labels)
    for i, j in sorted(tuple(sorted(edge)) for edge in tree.edges):
        if information[i, j] > penalty:
            value = float(information[i, j])
            result.add_edge(labels[i], labels[j], mutual_information=value)
    return result


def mutual_information(states: np.ndarray, n_states: int, pseudo_count: float = 0.0) -> np.ndarray:
    """Mutual information of every pair of columns, in nats, (d, d); the diagonal is zero.

    Parameters
    ----------
    states : (n, d) int array
        State indices 0..n_states-1.
    n_states : int
    pseudo_count : float
        Added to every cell of each pair's table.
    """
    n, d = states.shape
    indicator = (states[:, :, None] == np.arange(n_states)).astype(np.float64)  # (n, d, K)
    flat = indicator.reshape(n, d * n_states)
    counts = (flat.T @ flat).reshape(d, n_states, d, n_states) + pseudo_count
    joint = counts.transpose(0, 2, 1, 3) / (n + pseudo_count * n_states**2)  # (d, d, K, K)
    single = (indicator.sum(axis=0) + pseudo_count * n_states) / (
        n + pseudo_count * n_states**2
    )  # (d, K)
    independent = single[:, None, :, None] * single[None, :, None, :]
    ratio = np.divide(joint, independent, out=np.ones_like(joint), where=joint > 0)
    information = (joint * np.log(ratio)).sum(axis=(2, 3))
    np.fill_diagonal(information, 0.0)
    # rounding may leave independent columns with -1e-17
    return np.maximum(information, 0.0)


def column_labels(nodes: Any, d: int | None) -> list:
    """Node labels of d columns, 0..d-1 by default; of any number of columns if d is None.

    Raises
    ------
    TypeError, ValueError
        If `nodes` are no labels, not d, or two of them are equal.
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
    if len(set(labels)) != len(labels):
        repeated = next(label for i, label in enumerate(labels) if label in labels[:i])
        raise ValueError(f"nodes: the label {repeated!r} occurs twice; give every column one of its own")
    return labels


def _complete_matrix(x: Any) -> np.ndarray:
    if np.ma.is_masked(x):
        raise ValueError("x has masked cells; complete data are needed here: drop those rows")
    x = numeric_array(x, "x")
    if x.ndim != 2 or 0 in x.shape:
        raise ValueError(
            "x must be a matrix of at least one observation by at least one node, "
            f"not an array of shape {x.shape}"
        )
    if x.dtype.kind == "f" and not np.isfinite(x).all():
        cell = tuple(int(i) for i in np.argwhere(~np.isfinite(x))[0])
        raise ValueError(f"x{list(cell)} is {x[cell]}; complete data are needed here: drop those rows")
    if (fractions := np.argwhere(x != np.round(x))).size:
        cell = tuple(fractions[0].tolist())
        raise ValueError(
            f"x{list(cell)} is {x[cell]:g}, but states are whole numbers: put them into classes, as with "
            f"pandas.cut(..., labels=False), or, {MEASUREMENTS}"
        )
    return x
