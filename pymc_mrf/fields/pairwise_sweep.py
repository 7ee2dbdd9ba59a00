"""Reversible sweeps over the trees of a pairwise field, given evidence about its nodes."""

from collections.abc import Iterable, Sequence

import numpy as np

from pymc_mrf.fields.tree_simulation import in_turn
from pymc_mrf.graph.forest_arrays import ForestArrays, forest_arrays
from pymc_mrf.graph.read_only import read_only
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.trees.tree_potentials import Potentials, tree_potentials
from pymc_mrf.kernels.trees.tree_sampling import sweep_potentials


def there_and_back(forest: ForestArrays) -> ForestArrays:
    """Blocks 0, ..., B - 1, ..., 0 of a forest: a sweep over them is reversible."""
    there = forest.visits
    visits = np.concatenate([there, there[-2::-1]])
    return read_only(ForestArrays, *forest._replace(visits=visits))  # or numba compiles all once more


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
