"""Reversible sweeps of pairwise fields, given evidence about their nodes.

Over the trees of a partition, over blocks of the missing cells of many rows, which are drawn jointly,
and over clusters.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from pymc_mrf.fields.pairwise_tables import attractive_flips
from pymc_mrf.fields.tree_simulation import in_turn
from pymc_mrf.graph.forest_arrays import ForestArrays, forest_arrays
from pymc_mrf.graph.frozen import read_only
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.simulation.cell_blocks import MOST_STATES, CellBlocks, cell_block_sweeps
from pymc_mrf.kernels.simulation.swendsen_wang import read_attraction, swendsen_wang_sweeps
from pymc_mrf.kernels.trees.tree_potentials import Potentials, tree_potentials
from pymc_mrf.kernels.trees.tree_sampling import sweep_potentials

CELLS_AT_ONCE = 10**7
"""How many cells, of rows by edges, are looked at together for those that are connected."""


def there_and_back(forest: ForestArrays) -> ForestArrays:
    """Blocks 0, ..., B - 1, ..., 0 of a forest: a sweep over them is reversible."""
    there = forest.visits
    visits = np.concatenate([there, there[-2::-1]])
    return read_only(ForestArrays, *forest._replace(visits=visits))  # or numba compiles all once more


class PairwiseSweep:
    """Sweeps over one of several tree partitions, there and back.

    What is computed from the tables alone is kept for the next call with the same arrays, which must
    not be changed in place in between.

    `partitions`: each a list of collections of node indices, as `forest_arrays` takes it. `clamped`:
    nodes that are in no block and keep their values.
    """

    def __init__(
        self,
        graph: PairwiseGraph,
        partitions: Sequence[Sequence[Iterable[int]]],
        clamped: Iterable[int],
    ) -> None:
        self._graph = graph
        clamped = list(clamped)
        self._forests = [there_and_back(forest_arrays(graph, trees, clamped)) for trees in partitions]
        self._tables: tuple[np.ndarray, ...] = ()
        self._potentials: list[tuple[slice, Potentials]] = []

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
        self._prepare(edges, nodes, evidence)
        for forest, n in in_turn(self._forests, n_sweeps, rng):
            for rows, potentials in self._potentials:
                sweep_potentials(x[rows], potentials, forest, n, rng)

    def _prepare(self, edges: np.ndarray, nodes: np.ndarray, evidence: np.ndarray) -> None:
        given = (edges, nodes, evidence)
        if self._tables and all(a is b for a, b in zip(given, self._tables, strict=True)):
            return
        nodes = nodes + evidence
        # chains with a table of edges in common are moved together
        m = len(nodes)
        rows = [slice(0, m)] if len(edges) == 1 else [slice(c, c + 1) for c in range(m)]
        self._potentials = []
        for c, here in enumerate(rows):
            own = nodes[here]
            self._potentials.append((here, tree_potentials(edges[c], own, self._graph.edges, len(own))))
        self._tables = given


def cell_blocks(graph: PairwiseGraph, free: np.ndarray, n_states: int) -> CellBlocks:
    """Cut the free cells into blocks: those of a row that are connected, in pieces of `MOST_STATES`.

    `free` (m, d) bool. Returns CellBlocks: its chains are the connected parts of the free cells of each
    row: given the others they are independent.
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
    """Sweeps over blocks of free cells; arguments and result of a call as of a `PairwiseSweep`."""

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
        edges, nodes = tables
        cell_block_sweeps(x, self._blocks, edges, nodes + evidence, self._graph.arrays, n_sweeps, rng)


class Attraction(NamedTuple):
    """What log tables say of agreement: see `pymc_mrf.kernels.simulation.swendsen_wang.read_attraction`."""

    coupling: np.ndarray
    """(1 or m, r)."""
    alone: np.ndarray
    """Log weights (1 or m, d, K) of the states of each node."""
    flips: np.ndarray
    """Nodes (1 or m, d) whose two states must be exchanged for all couplings to attract."""


class ClusterSweep:
    """Sweeps over clusters of nodes in the same state (Swendsen & Wang, 1987).

    `fixed` (m, d) integer: state indices of cells that keep their states, -1 for the others.
    """

    def __init__(self, graph: PairwiseGraph, fixed: np.ndarray) -> None:
        self._graph = graph
        self._is_fixed = (fixed >= 0)[:, :, None]
        self._fixed = fixed[:, :, None]
        self._any_fixed = bool(self._is_fixed.any())
        self._tables: np.ndarray | None = None
        self._attraction: Attraction | None = None

    def attraction(self, edge_tables: np.ndarray) -> Attraction | None:
        """Agreement that log tables (1 or m, r, K, K) ask for; None if there are no clusters.

        This is kept for the next call with the same array, not to be changed in place.
        """
        if edge_tables is not self._tables:
            self._tables, old = edge_tables, self._attraction
            m, r, K = edge_tables.shape[:3]
            d, edges = self._graph.n_nodes, self._graph.edges
            found = Attraction(np.empty((m, r)), np.empty((m, d, K)), np.zeros((m, d), dtype=bool))
            attracts = all(
                read_attraction(edge_tables[c], edges, found.coupling[c], found.alone[c])
                for c in range(m)
            )
            self._attraction = found if attracts else None
            if attracts:
                if old is not None and np.array_equal(np.sign(old.coupling), np.sign(found.coupling)):
                    found.flips[:] = old.flips
                else:
                    found.flips[:] = [attractive_flips(self._graph, row) for row in found.coupling]
        return self._attraction

    def __call__(
        self, x: np.ndarray, attraction: Attraction, node_tables: np.ndarray, rng: np.random.Generator
    ) -> None:
        """Move `x` (m, d) int8 by one sweep, in place: reversible, leaving field times evidence invariant.

        `attraction` as above; `node_tables` (m, d, K), evidence included.
        """
        weights = node_tables + attraction.alone
        if self._any_fixed:
            other = np.arange(weights.shape[2]) != self._fixed
            weights = np.where(other & self._is_fixed, -np.inf, weights)
        for c in range(len(x)):
            own = attraction.coupling[c if len(attraction.coupling) > 1 else 0]
            swendsen_wang_sweeps(x[c : c + 1], self._graph.edges, own, weights[c], 1, rng)
