"""Rows of data, which may hold earlier ones beside the present one, and counts of them.

The data of a field over d nodes are rows of d states. Those of a `LaggedGraph` are rows of the states of the
present row, then of the row one lag earlier, and so on, as many times d as the graph has lags and one more.
Counts follow missing cells as they are filled anew.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pymc_mrf.graph.lagged import LaggedGraph
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.simulation.pair_counts import Links, change_counts, pair_counts

LEAST_SHARE = 0.1
"""Edges for each pair of nodes from which on all pairs are counted at once, by a product of matrices."""

LARGEST = 2**24  # numbers up to which those in single precision are exact

Data = np.ndarray | list[np.ndarray]  # of a field, or of each block


class Block(NamedTuple):
    """Data of nodes that no edge joins to others.

    Attributes
    ----------
    x : (n, d_b) int8 array
        State indices.
    nodes : slice
        Place of the nodes in the field.
    which : (r_b,) int64 array
        Edges of the field between them.
    edges : (r_b, 2) int64 array
        Their ends within the block.
    """

    x: np.ndarray
    nodes: slice
    which: np.ndarray
    edges: np.ndarray


def blocks_of(x: Data, edges: np.ndarray) -> Iterator[Block]:
    """Blocks of a field with `edges` (r, 2): one for each array of data, whose nodes follow one another."""
    arrays = x if isinstance(x, list) else [x]
    ends = np.cumsum([own.shape[1] for own in arrays])
    block = np.searchsorted(ends, edges[:, 0], side="right")
    order = np.argsort(block, kind="stable")
    cuts = np.searchsorted(block[order], np.arange(1, len(arrays)))
    for own, stop, which in zip(arrays, ends.tolist(), np.split(order, cuts), strict=True):
        start = stop - own.shape[1]
        yield Block(own, slice(start, stop), which, edges[which] - start)


class DataCounts:
    """How often the nodes and the edges of a pairwise field are in each state, over the rows of its data.

    Parameters
    ----------
    edges : (r, 2) int64 array
    n_states : int
        K.

    Attributes
    ----------
    nodes : (d, K) int64 array
    pairs : (r, K, K) int64 array
        Both from the first `count` on.
    """

    nodes: np.ndarray
    pairs: np.ndarray

    def __init__(self, edges: np.ndarray, n_states: int) -> None:
        self._edges, self._n_states = edges, n_states
        self._held: list[tuple[np.ndarray, int]] = []

    def count(self, x: Data) -> None:
        """Count data, (n, d) int8 or (n_b, d_b) of each block, whose nodes follow one another.

        From the second time on, of the same shapes, the time goes with the cells that have changed.
        """
        if not self._held:
            self._begin(x)
        for (held, start), new in zip(self._held, x if isinstance(x, list) else [x], strict=True):
            change_counts(held, new, start, self._links, self.nodes, self.pairs)

    def _begin(self, x: Data) -> None:
        edges, n_states = self._edges, self._n_states
        blocks = list(blocks_of(x, edges))
        d, r = blocks[-1].nodes.stop, len(edges)
        ends = edges.T.ravel()
        by_node = np.argsort(ends, kind="stable")
        ptr = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=d))])
        self._links = Links(ptr, edges[:, ::-1].T.ravel()[by_node], by_node % max(r, 1), by_node < r)
        self._held = [(block.x.copy(), block.nodes.start) for block in blocks]
        self.nodes = np.empty((d, n_states), dtype=np.int64)
        self.pairs = np.empty((r, n_states, n_states), dtype=np.int64)
        for block in blocks:
            for a in range(n_states):
                self.nodes[block.nodes, a] = (block.x == a).sum(axis=0)
            self.pairs[block.which] = counted_pairs(block.x, block.edges, n_states)


def counted_pairs(x: np.ndarray, edges: np.ndarray, n_states: int) -> np.ndarray:
    """Count the pairs of states (r, K, K) that `edges` (r, 2) join in the rows of `x` (n, d)."""
    n, d = x.shape
    if len(edges) < LEAST_SHARE * d * d or n > LARGEST:
        counts = np.empty((len(edges), n_states, n_states), dtype=np.int64)
        pair_counts(x, edges, counts)
        return counts
    is_state = [np.ascontiguousarray((x == a).T, dtype=np.float32) for a in range(n_states)]
    (u, v), counts = edges.T, np.empty((len(edges), n_states, n_states), dtype=np.int64)
    for a in range(n_states):
        for b in range(n_states):
            counts[:, a, b] = (is_state[a] @ is_state[b].T)[u, v]
    return counts


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
