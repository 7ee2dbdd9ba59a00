"""`PairwiseField`: a pairwise Markov random field with numbers in it."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.fields.exact import ExactInference, check_method, check_overflow, checked_table
from pymc_mrf.graph.junction_tree import JunctionTree, junction_tree
from pymc_mrf.graph.structure import PairwiseGraph, as_graph


class Marginals(NamedTuple):
    """Marginal probabilities of a pairwise field.

    Attributes
    ----------
    nodes : (d, K) array
    edges : (r, K, K) array
        First index: state of the first node of the edge.
    """

    nodes: np.ndarray
    edges: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class PairwiseField(ExactInference):
    """Field with log p(x) = sum_e edge_tables[e, x_u, x_v] + sum_i node_tables[i, x_i] - A.

    Parameters
    ----------
    graph : networkx.Graph or PairwiseGraph
    edge_tables : (r, K, K) array_like
        Log potentials, edges in graph order; the first index is the state of the edge's first
        node. -inf marks an impossible pair.
    node_tables : (d, K) array_like
        Log potentials, nodes in graph order.

    Raises
    ------
    ValueError
        If a shape does not fit the graph, an entry is NaN or +inf, or their sum overflows.

    Notes
    -----
    Configurations are state *indices* 0..K-1; `Family.edge_tables` and `Family.node_tables` of
    `pymc_mrf.fields.families` make the tables of the agreement, Ising and Boltzmann families.

    Examples
    --------
    >>> import networkx as nx
    >>> field = PairwiseField(nx.path_graph(2), [[[1.0, 0.0], [0.0, 1.0]]], [[0.0, 0.0]] * 2)
    >>> round(field.log_partition(), 4)  # log(2 e + 2)
    2.0064
    """

    graph: PairwiseGraph
    edge_tables: np.ndarray
    node_tables: np.ndarray

    def __post_init__(self) -> None:
        graph = as_graph(self.graph)
        shape = np.shape(self.node_tables)
        if len(shape) != 2 or not 2 <= shape[1] <= 127:
            raise ValueError(
                f"node_tables must have shape ({graph.n_nodes}, K) with 2 to 127 states K, not {shape}"
            )
        n_states = shape[1]
        nodes = checked_table(self.node_tables, (graph.n_nodes, n_states), "node_tables")
        edges = checked_table(self.edge_tables, (graph.n_edges, n_states, n_states), "edge_tables")
        sizes = [np.abs(t, where=t > -np.inf, out=np.zeros(t.shape)) for t in (edges, nodes)]
        check_overflow(np.concatenate([sizes[0].max(axis=(1, 2)), sizes[1].max(axis=1)]))
        object.__setattr__(self, "graph", graph)
        object.__setattr__(self, "edge_tables", edges)
        object.__setattr__(self, "node_tables", nodes)

    def __repr__(self) -> str:
        return f"PairwiseField({self.graph!r}, {self.n_states} states)"

    @property
    def n_states(self) -> int:
        """Number of states K."""
        return self.node_tables.shape[1]

    @cached_property
    def junction_tree(self) -> JunctionTree:
        """Junction tree; its `width`, `n_cells` and `n_bytes` tell what exact answers cost."""
        return junction_tree(self.graph, self.n_states)

    def log_tables(self) -> np.ndarray:
        """Edge tables, then node tables, as one array."""
        return np.concatenate([self.edge_tables.ravel(), self.node_tables.ravel()])

    def marginals(self, method: str = "exact") -> Marginals:
        """Marginal probabilities of all nodes and edges.

        Parameters
        ----------
        method : "exact"
            Junction tree (Lauritzen & Spiegelhalter, 1988).

        Returns
        -------
        Marginals
            `nodes` (d, K) and `edges` (r, K, K).
        """
        check_method(method)
        flat = self.exact_marginals()
        r = self.edge_tables.size
        return Marginals(
            flat[r:].reshape(self.node_tables.shape), flat[:r].reshape(self.edge_tables.shape)
        )

    def energy(self, x: Any) -> np.ndarray:
        """Energy of configurations: the lower, the more probable, p(x) = exp(-energy(x) - A).

        Parameters
        ----------
        x : (..., d) integer array_like
            State indices 0..K-1.

        Returns
        -------
        (...) array
            Minus the sum of all log potentials; inf for an impossible configuration.
        """
        x = self.check_configurations(x)
        u, v = self.graph.edges.T
        edges = self.edge_tables[np.arange(self.graph.n_edges), x[..., u], x[..., v]]
        nodes = self.node_tables[np.arange(self.graph.n_nodes), x]
        return -(edges.sum(axis=-1) + nodes.sum(axis=-1))
