"""Swendsen-Wang sweeps of a pairwise field, given evidence about its nodes."""

import numpy as np

from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.swendsen_wang import read_attraction, swendsen_wang_sweeps


class ClusterSweep:
    """Sweeps over clusters of nodes in the same state (Swendsen & Wang, 1987).

    Parameters
    ----------
    graph : PairwiseGraph
    fixed : (m, d) integer array
        State indices of cells that keep their states, -1 for the others.
    """

    def __init__(self, graph: PairwiseGraph, fixed: np.ndarray) -> None:
        self._graph = graph
        self._is_fixed = (fixed >= 0)[:, :, None]
        self._fixed = fixed[:, :, None]
        self._any_fixed = bool(self._is_fixed.any())
        self._tables: np.ndarray | None = None
        self._coupling: np.ndarray | None = None

    def coupling(self, edge_tables: np.ndarray) -> np.ndarray | None:
        """Couplings (1 or m, r) of agreement, of log tables (1 or m, r, K, K).

        None if a table says more than whether two states agree, or a coupling is negative: there are no
        clusters then. This is kept for the next call with the same array, not to be changed in place.
        """
        if edge_tables is not self._tables:
            coupling = np.empty(edge_tables.shape[:2])
            attract = all(map(read_attraction, edge_tables, coupling))
            self._tables, self._coupling = edge_tables, coupling if attract else None
        return self._coupling

    def __call__(
        self, x: np.ndarray, coupling: np.ndarray, node_tables: np.ndarray, rng: np.random.Generator
    ) -> None:
        """Move `x` (m, d) int8 by one sweep, in place: reversible, leaving field times evidence invariant.

        `coupling` (1 or m, r) as above; `node_tables` (m, d, K), evidence included.
        """
        weights = node_tables
        if self._any_fixed:
            other = np.arange(weights.shape[2]) != self._fixed
            weights = np.where(other & self._is_fixed, -np.inf, weights)
        for c in range(len(x)):
            own = coupling[c if len(coupling) > 1 else 0]
            swendsen_wang_sweeps(x[c : c + 1], self._graph.edges, own, weights[c], 1, rng)
