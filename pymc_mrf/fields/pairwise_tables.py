"""Log tables of a pairwise field, as functions of the field take them."""

from typing import NamedTuple

import numpy as np

from pymc_mrf.graph.structure import GraphArrays, PairwiseGraph


class PairwiseTables(NamedTuple):
    """Graph and log tables: log p(x) = sum_e edges[e, x_u, x_v] + sum_i nodes[i, x_i] - A.

    Attributes
    ----------
    graph : PairwiseGraph
    edges : (r, K, K) array
    nodes : (d, K) array
    """

    graph: PairwiseGraph
    edges: np.ndarray
    nodes: np.ndarray

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, GraphArrays]:
        """Tables and graph in the order in which kernels take them."""
        return self.edges, self.nodes, self.graph.arrays

    def log_potential(self, x: np.ndarray) -> np.ndarray:
        """Sum of the log potentials (...) of configurations `x` (..., d)."""
        u, v = self.graph.edges.T
        pairs = self.edges[np.arange(len(self.edges)), x[..., u], x[..., v]]
        return pairs.sum(axis=-1) + self.nodes[np.arange(x.shape[-1]), x].sum(axis=-1)

    def largest(self) -> float:
        """Log potential that no configuration exceeds: that of the best cell of every table."""
        return float(self.edges.max(axis=(1, 2)).sum() + self.nodes.max(axis=1).sum())
