"""`PairwiseField`: a pairwise Markov random field with numbers in it."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from pymc_mrf.checks import check_labels, numeric_array
from pymc_mrf.fields import pairwise_methods
from pymc_mrf.fields.belief_propagation import Convergence
from pymc_mrf.fields.evidence import absorb_pairs
from pymc_mrf.fields.exact import check_overflow, checked_table
from pymc_mrf.fields.field import FixedField, Given
from pymc_mrf.graph.junction_tree import JunctionTree, junction_tree
from pymc_mrf.graph.structure import PairwiseGraph, as_graph


@dataclass(frozen=True, eq=False)
class Marginals:
    """Marginal probabilities of a pairwise field.

    Attributes
    ----------
    nodes : (d, K) array
    edges : (r, K, K) array
        First index: state of the first node of the edge.
    standard_error : Marginals or None
        Monte Carlo standard errors of `nodes` and `edges`; None for methods that do not sample.
    convergence : Convergence or None
        How belief propagation ended, which says nothing about whether the field is possible; None for
        other methods.
    """

    nodes: np.ndarray
    edges: np.ndarray
    standard_error: "Marginals | None" = None
    convergence: Convergence | None = None


@dataclass(frozen=True, eq=False, repr=False)
class PairwiseField(FixedField[Marginals]):
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
    >>> field.marginals("bp", evidence={0: 1}).nodes[1].round(4).tolist()
    [0.2689, 0.7311]
    """

    _methods: ClassVar[Any] = pairwise_methods
    _result: ClassVar[type] = Marginals

    graph: PairwiseGraph
    edge_tables: np.ndarray
    node_tables: np.ndarray

    def __post_init__(self) -> None:
        graph = as_graph(self.graph)
        shape = numeric_array(self.node_tables, "node_tables", "iuf").shape
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

    @property
    def _labels(self) -> Sequence[Hashable]:
        return self.graph.nodes

    @property
    def _cards(self) -> Sequence[int]:
        return [self.n_states] * self.graph.n_nodes

    def _given(self, states: np.ndarray) -> "Given[PairwiseField]":
        free = np.flatnonzero(states < 0)
        node_tables, known = absorb_pairs(
            self.graph.edges, self.edge_tables, self.node_tables, states, self.graph.nodes
        )
        if len(free) == self.graph.n_nodes:
            return Given(self, free, [], known)
        if not len(free):
            return Given(None, free, [], known)
        labels = self.graph.nodes
        inside = np.all(states[self.graph.edges] < 0, axis=1)
        graph = PairwiseGraph(
            [labels[i] for i in free], [(labels[u], labels[v]) for u, v in self.graph.edges[inside]]
        )
        field = PairwiseField(graph, self.edge_tables[inside], node_tables[free])
        return Given(field, free, [], known)

    def _nothing_free(self) -> tuple:
        return pairwise_methods.nothing_free(self.n_states)

    def _complete(
        self, states: np.ndarray, kept: list[int], single: Any, joint: Any, known: float = 1.0
    ) -> tuple:
        return pairwise_methods.with_evidence(self.graph, states, single, joint, known)

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
        check_labels(x, self.graph.nodes, "x", "node")
        x = self.check_configurations(x)
        u, v = self.graph.edges.T
        edges = self.edge_tables[np.arange(self.graph.n_edges), x[..., u], x[..., v]]
        nodes = self.node_tables[np.arange(self.graph.n_nodes), x]
        return -(edges.sum(axis=-1) + nodes.sum(axis=-1))
