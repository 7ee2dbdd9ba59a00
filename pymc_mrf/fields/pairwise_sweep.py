"""Reversible sweeps over the trees of a pairwise field, given evidence about its nodes."""

from collections.abc import Iterable, Sequence

import numpy as np

from pymc_mrf.graph.forest_arrays import ForestArrays, forest_arrays
from pymc_mrf.graph.read_only import read_only
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.tree_sampling import Potentials, sweep_potentials, tree_potentials


def there_and_back(forest: ForestArrays) -> ForestArrays:
    """Blocks 0, ..., B - 1, ..., 0 of a forest: a sweep over them is reversible."""
    B = len(forest.block_ptr) - 1
    blocks = [*range(B), *range(B - 2, -1, -1)]
    at = [np.arange(*forest.block_ptr[b : b + 2]) for b in blocks]
    positions = np.concatenate(at)
    out = [np.arange(*forest.out_ptr[p : p + 2]) for p in positions]
    outside = np.concatenate(out)
    there = forest._replace(
        block_ptr=np.cumsum([0, *map(len, at)]),
        nodes=forest.nodes[positions],
        parent=forest.parent[positions],
        parent_edge=forest.parent_edge[positions],
        out_ptr=np.cumsum([0, *map(len, out)]),
        out_neighbors=forest.out_neighbors[outside],
        out_edges=forest.out_edges[outside],
    )
    return read_only(ForestArrays, *there)  # or numba compiles all once more for these


class PairwiseSweep:
    """Sweeps over one of several tree partitions, there and back.

    What is computed from the tables alone is kept for the next call with the same arrays, which must
    not be changed in place in between.

    Parameters
    ----------
    graph : PairwiseGraph
    partitions : sequence of partitions
        Each a list of collections of node indices, as `forest_arrays` takes it.
    clamped : collection of int
        Nodes that are in no block and keep their values.
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
        arrays, forests = self._graph.arrays, self._forests
        for k in rng.integers(len(forests), size=n_sweeps) if len(forests) > 1 else [0]:
            n = n_sweeps if len(forests) == 1 else 1
            for rows, potentials in self._potentials:
                sweep_potentials(x[rows], potentials, forests[k], arrays, n, rng)

    def _prepare(self, edges: np.ndarray, nodes: np.ndarray, evidence: np.ndarray) -> None:
        given = (edges, nodes, evidence)
        if self._tables and all(a is b for a, b in zip(given, self._tables, strict=True)):
            return
        nodes = nodes + evidence
        # chains with a table of edges in common are moved together
        m = len(nodes)
        rows = [slice(0, m)] if len(edges) == 1 else [slice(c, c + 1) for c in range(m)]
        self._potentials = [
            (here, tree_potentials(edges[c], nodes[here], self._graph.arrays))
            for c, here in enumerate(rows)
        ]
        self._tables = given
