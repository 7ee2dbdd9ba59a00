"""Simulation of a pairwise field by many Gibbs chains at once, by the fastest kernel for its shape."""

import numpy as np

from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels import gibbs


class GibbsSimulator:
    """Single-site Gibbs sweeps of many chains of one field.

    Parameters
    ----------
    graph : PairwiseGraph
    n_states : int
        States per node, K.
    n_chains : int
        Chains moved together, m.

    Attributes
    ----------
    kernel : str
        Which kernel serves this shape.
    """

    def __init__(self, graph: PairwiseGraph, n_states: int, n_chains: int) -> None:
        self.graph = graph
        self.n_states = n_states
        self.n_chains = n_chains
        self.kernel = "plain"

    def sweep(
        self,
        x: np.ndarray,
        edge_tables: np.ndarray,
        node_tables: np.ndarray,
        n_sweeps: int,
        rng: np.random.Generator,
    ) -> None:
        """Move every row of `x` (m, d) int8 state indices by `n_sweeps` chromatic sweeps, in place.

        `edge_tables` (r, K, K) and `node_tables` (d, K) are log tables.
        """
        gibbs.gibbs_sweeps(x, edge_tables, node_tables, self.graph.arrays, n_sweeps, rng)
