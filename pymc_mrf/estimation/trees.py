"""Maximum-likelihood tree: Chow & Liu (1968)."""

from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from pymc_mrf.checks import MEASUREMENTS, first_cell, flag, number, whole_number
from pymc_mrf.estimation.columns import graph_of_columns, read_columns

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
    x : (n, d) array_like, or table
        Observations, whole numbers; every distinct value is a state. A table may have texts and categories,
        every one of which is a state of its column.
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

    x, labels = read_columns(x, nodes, 1)
    _check_states(x)
    n, d = x.shape
    forest = flag(forest, "forest")
    pseudo_count = number(pseudo_count, "pseudo_count", 0.0, closed=True)
    values, states = np.unique(x, return_inverse=True)
    k = len(values) if n_states is None else whole_number(n_states, "n_states", 1)
    if k < len(values):
        raise ValueError(f"n_states is {k}, but x has {len(values)} distinct values; raise n_states")
    information = mutual_information(states.reshape(n, d), k, pseudo_count)

    all_pairs = graph_of_columns(list(range(d)), combinations(range(d), 2), information, "weight")
    # Kruskal's algorithm sorts stably: equal weights stay in the order of insertion
    tree = sorted(tuple(sorted(edge)) for edge in nx.maximum_spanning_tree(all_pairs).edges)
    penalty = (k - 1) ** 2 * np.log(n) / (2 * n) if forest else -np.inf
    kept = [pair for pair in tree if information[pair] > penalty]
    return graph_of_columns(labels, kept, information, "mutual_information")


def mutual_information(states: np.ndarray, n_states: int, pseudo_count: float = 0.0) -> np.ndarray:
    """Mutual information of every pair of columns, in nats, (d, d); the diagonal is zero.

    `states` (n, d) int: state indices 0..n_states-1. `pseudo_count`: added to every cell of each pair's
    table.
    """
    n, d = states.shape
    indicator = (states[:, :, None] == np.arange(n_states)).astype(np.float64)  # (n, d, K)
    flat = indicator.reshape(n, d * n_states)
    counts = (flat.T @ flat).reshape(d, n_states, d, n_states) + pseudo_count
    total = n + pseudo_count * n_states**2
    joint = counts.transpose(0, 2, 1, 3) / total  # (d, d, K, K)
    single = (indicator.sum(axis=0) + pseudo_count * n_states) / total  # (d, K)
    independent = single[:, None, :, None] * single[None, :, None, :]
    ratio = np.divide(joint, independent, out=np.ones_like(joint), where=joint > 0)
    information = (joint * np.log(ratio)).sum(axis=(2, 3))
    np.fill_diagonal(information, 0.0)
    # rounding may leave independent columns with -1e-17
    return np.maximum(information, 0.0)


def _check_states(x: np.ndarray) -> None:
    if not np.isfinite(x).all():
        cell = first_cell(~np.isfinite(x))
        raise ValueError(f"x{list(cell)} is {x[cell]}; complete data are needed here: drop those rows")
    if (x != np.round(x)).any():
        cell = first_cell(x != np.round(x))
        raise ValueError(
            f"x{list(cell)} is {x[cell]:g}, but states are whole numbers: put them into classes, as with "
            f"pandas.cut(..., labels=False), or, {MEASUREMENTS}"
        )
