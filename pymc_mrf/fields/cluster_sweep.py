"""Swendsen-Wang sweeps of a pairwise field, given evidence about its nodes."""

from typing import NamedTuple

import numpy as np

from pymc_mrf.fields.attraction import attractive_flips
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.simulation.swendsen_wang import read_attraction, swendsen_wang_sweeps


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
