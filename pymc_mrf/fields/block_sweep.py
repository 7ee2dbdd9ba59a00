"""Reversible sweeps over the missing cells of many rows, in blocks that are drawn jointly."""

import numpy as np
from scipy import sparse

from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.simulation.cell_blocks import MOST_STATES, CellBlocks, cell_block_sweeps

CELLS_AT_ONCE = 10**7
"""How many cells, of rows by edges, are looked at together for those that are connected."""


def cell_blocks(graph: PairwiseGraph, free: np.ndarray, n_states: int) -> CellBlocks:
    """Cut the free cells into blocks: those of a row that are connected, in pieces of `MOST_STATES`.

    Parameters
    ----------
    graph : PairwiseGraph
    free : (m, d) bool array
    n_states : int

    Returns
    -------
    CellBlocks
        Its chains are the connected parts of the free cells of each row: given the others they are
        independent.
    """
    number = np.full(free.shape, -1)
    rows, nodes = np.nonzero(free)
    n_cells = len(nodes)
    number[rows, nodes] = np.arange(n_cells)
    first, second = graph.edges.T
    parts = []
    for own in np.array_split(np.arange(len(free)), -(-len(free) * graph.n_edges // CELLS_AT_ONCE) or 1):
        c, e = np.nonzero(free[own][:, first] & free[own][:, second])
        parts.append(np.stack([number[own[c], first[e]], number[own[c], second[e]]]))
    i, j = np.concatenate(parts, axis=1)
    links = sparse.csr_array((np.ones(len(i), dtype=np.int8), (i, j)), shape=(n_cells, n_cells))
    n_chains, part = sparse.csgraph.connected_components(links, directed=False)
    size = max(int(np.log(MOST_STATES) / np.log(n_states) + 1e-9), 1)
    order = np.argsort(part, kind="stable")
    lengths = np.bincount(part, minlength=n_chains)
    n_blocks = -(-lengths // size)
    starts = np.cumsum(lengths) - lengths
    pieces = [
        start + length * np.arange(n) // n  # of about the same size
        for start, length, n in zip(starts, lengths, n_blocks, strict=True)
    ]
    return CellBlocks(
        nodes[order].astype(np.int64),
        np.append(np.concatenate(pieces), n_cells).astype(np.int64),
        np.append(0, np.cumsum(n_blocks)).astype(np.int64),
        rows[order][starts].astype(np.int64),
    )


class BlockSweep:
    """Sweeps over blocks of free cells; arguments and result of a call as of a `PairwiseSweep`.

    Parameters
    ----------
    graph : PairwiseGraph
    blocks : CellBlocks
    """

    def __init__(self, graph: PairwiseGraph, blocks: CellBlocks) -> None:
        self._graph, self._blocks = graph, blocks

    def __call__(
        self,
        x: np.ndarray,
        tables: list[np.ndarray],
        evidence: np.ndarray,
        n_sweeps: int,
        rng: np.random.Generator,
    ) -> None:
        """Move `x` (m, d) int8 in place, given edge tables (1 or m, r, K, K), node tables and evidence."""
        edges, nodes = tables
        cell_block_sweeps(x, self._blocks, edges, nodes + evidence, self._graph.arrays, n_sweeps, rng)
