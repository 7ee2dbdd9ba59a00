"""Where the ends of edges are in the rows of data, which may hold earlier rows beside the present one.

The data of a field over d nodes are rows of d states. Those of a `LaggedGraph` are rows of the states of the
present row, then of the row one lag earlier, and so on, as many times d as the graph has lags and one more.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.graph.lagged import LaggedGraph
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.likelihood.data_counts import Data


class Columns(NamedTuple):
    """Columns of the data of a field of d nodes: D of them, those of the present rows first in `sources`.

    Attributes
    ----------
    present : (d,) int64 array
        Column of each node in the present row.
    nodes : (D,) int64 array
        Node of each column.
    place : (D,) int64 array
        Place of each column in an order that has those of `present` first, node by node.
    ends : (r, 2) int64 array
        Columns of both ends of every edge; of an arrow the first is that to which it leads.
    is_arrow : (r,) bool array
    """

    present: np.ndarray
    nodes: np.ndarray
    place: np.ndarray
    ends: np.ndarray
    is_arrow: np.ndarray


def columns_of(x: Data, graph: PairwiseGraph | LaggedGraph) -> Columns:
    """Find the columns of data (n, D), or of each block (n_b, D_b), whose nodes follow one another."""
    if isinstance(graph, PairwiseGraph):
        every = np.arange(graph.n_nodes)
        return Columns(every, every, every, graph.edges, np.zeros(graph.n_edges, dtype=bool))
    n_times = 1 + len(graph.lags)
    widths = np.array([own.shape[1] // n_times for own in (x if isinstance(x, list) else [x])])
    starts = np.cumsum(widths) - widths
    width, start = np.repeat(widths, widths), np.repeat(starts, widths)  # of the block of each node
    first = n_times * start + np.arange(graph.n_nodes) - start
    place = first + np.arange(n_times)[:, None] * width  # (1 + L, d)
    nodes = np.empty(place.size, dtype=np.int64)
    nodes[place] = np.arange(graph.n_nodes)
    order = np.empty(place.size, dtype=np.int64)
    order[place.ravel()] = np.arange(place.size)
    is_arrow = graph.lag_of > 0
    source, target = graph.edges.T
    source, target = place[graph.lag_of, source], place[0, target]
    ends = np.where(is_arrow, [target, source], [source, target]).T.copy()
    return Columns(place[0], nodes, order, ends, is_arrow)


def present_rows(x: Data, graph: PairwiseGraph | LaggedGraph) -> Data:
    """Leave the earlier rows out of data: (n, d), or (n_b, d_b) of each block."""
    if isinstance(graph, PairwiseGraph):
        return x
    n_times = 1 + len(graph.lags)
    rows = [own[:, : own.shape[1] // n_times] for own in (x if isinstance(x, list) else [x])]
    return rows if isinstance(x, list) else rows[0]
