"""Counts of a field's data, which follow missing cells as they are filled anew."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

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
