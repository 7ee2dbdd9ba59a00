"""`PairwiseField`: a pairwise Markov random field with numbers in it."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pymc_mrf.fields import pairwise_methods
from pymc_mrf.fields.belief_propagation import Convergence
from pymc_mrf.fields.evidence import absorb_pairs, evidence_states, free_blocks
from pymc_mrf.fields.exact import ExactInference, check_overflow, checked_table
from pymc_mrf.fields.methods import method_options, whole_number
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
        How belief propagation ended; None for other methods.
    """

    nodes: np.ndarray
    edges: np.ndarray
    standard_error: "Marginals | None" = None
    convergence: Convergence | None = None


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

    def marginals(
        self,
        method: str = "exact",
        *,
        evidence: Mapping[Hashable, int] | None = None,
        rng: np.random.Generator | int | None = None,
        n_chains: int | None = None,
        n_sweeps: int | None = None,
        n_burn_in: int | None = None,
        partition: Sequence[Collection[Hashable]] | None = None,
        n_partitions: int | None = None,
        damping: float | None = None,
        tolerance: float | None = None,
        max_iterations: int | None = None,
    ) -> Marginals:
        """Marginal probabilities of all nodes and edges.

        Parameters
        ----------
        method : {"exact", "bp", "tree", "gibbs"}
            "exact": junction tree (Lauritzen & Spiegelhalter, 1988).
            "bp": belief propagation (Rivasseau, 2005, section 2.3); exact on forests, else loopy:
            approximate, with a warning if it has not converged.
            "tree": tree sampling with Rao-Blackwellised estimates (Rivasseau, 2005, eq. 4.14).
            "gibbs": single-site Gibbs sampling, counts of states (eq. 4.13).
        evidence : dict, optional
            States (indices 0..K-1) of known nodes, by node label; all answers are conditional on it.
        rng : numpy.random.Generator or int, optional
            Generator or seed, for "tree" and "gibbs".
        n_chains : int, optional
            Independent chains, at least 2 (default 64), for "tree" and "gibbs".
        n_sweeps, n_burn_in : int, optional
            Sweeps of each chain that are averaged (default 200) and left out before (default 100).
            Chains start at independent uniform states, where these are possible.
        partition : sequence of collections of node labels, optional
            Tree partition for "tree": every node in exactly one block (those with evidence may be left
            out), the edges inside a block without a cycle. By default `pymc_mrf.tree_partition` finds one.
        n_partitions : int, optional
            Partitions to find for "tree" (default 1); each sweep takes one of them at random.
        damping : float, optional
            Weight of the old message in [0, 1) for "bp" (default 0.5); unused on forests.
        tolerance : float, optional
            Largest change of a probability at which "bp" has converged (default 1e-8).
        max_iterations : int, optional
            Passes of "bp" (default 1000).

        Returns
        -------
        Marginals
            `nodes` (d, K) and `edges` (r, K, K), with `standard_error` from the variation between
            chains for "tree" and "gibbs" (0 for "gibbs" where a state was never counted) and
            `convergence` for "bp".

        Raises
        ------
        ValueError
            If the method is unknown, an option belongs to another method or is out of range, the
            evidence names an unknown node or state or has probability zero, or the partition is none.

        Examples
        --------
        >>> import networkx as nx
        >>> field = PairwiseField(nx.path_graph(2), [[[1.0, 0.0], [0.0, 1.0]]], [[0.0, 0.0]] * 2)
        >>> field.marginals("bp", evidence={0: 1}).nodes[1].round(4).tolist()
        [0.2689, 0.7311]
        """
        options = method_options(
            method,
            pairwise_methods.MARGINALS,
            dict(
                n_chains=n_chains, n_sweeps=n_sweeps, n_burn_in=n_burn_in,
                partition=partition, n_partitions=n_partitions,
                damping=damping, tolerance=tolerance, max_iterations=max_iterations,
            ),
        )  # fmt: skip
        states = self._evidence_states(evidence)
        rest, _ = self._given(states)
        if options.get("partition") is not None:
            options["partition"] = free_blocks(
                self.graph, self.graph.nodes, options["partition"], states
            )
        if rest is None:
            answer = pairwise_methods.nothing_free(self.n_states)
        else:
            answer = pairwise_methods.marginals(rest, method, np.random.default_rng(rng), **options)
        nodes, edges, errors, convergence = answer
        full = pairwise_methods.with_evidence(self.graph, states, nodes, edges)
        if errors is None:
            return Marginals(*full, convergence=convergence)
        full_errors = pairwise_methods.with_evidence(self.graph, states, *errors, known=0.0)
        return Marginals(*full, standard_error=Marginals(*full_errors))

    def sample(
        self,
        n: int,
        method: str = "exact",
        *,
        evidence: Mapping[Hashable, int] | None = None,
        rng: np.random.Generator | int | None = None,
        n_sweeps: int | None = None,
        partition: Sequence[Collection[Hashable]] | None = None,
        n_partitions: int | None = None,
        max_sweeps: int | None = None,
    ) -> np.ndarray:
        """Draw `n` independent configurations.

        Parameters
        ----------
        n : int
            Non-negative.
        method : {"exact", "tree", "gibbs", "perfect"}
            "exact": down the junction tree.
            "tree" and "gibbs": the last states of `n` independent chains of tree sampling or
            single-site Gibbs sampling, started at uniform states; approximate.
            "perfect": exact by coupling from the past, for binary fields that are attractive, or
            become so when the states of some nodes are swapped.
        evidence : dict, optional
            States (indices 0..K-1) of known nodes, by node label; the other nodes are drawn given them.
        rng : numpy.random.Generator or int, optional
            Generator or seed.
        n_sweeps : int, optional
            Sweeps of each chain, for "tree" and "gibbs" (default 200).
        partition, n_partitions : optional
            For "tree", as in `marginals`.
        max_sweeps : int, optional
            Limit of "perfect", as in `pymc_mrf.fields.perfect.perfect_sample`.

        Returns
        -------
        (n, d) int8 array
            State indices.

        Raises
        ------
        ValueError
            As in `marginals`.
        """
        options = method_options(
            method,
            pairwise_methods.DRAWS,
            dict(
                n_sweeps=n_sweeps, partition=partition, n_partitions=n_partitions, max_sweeps=max_sweeps
            ),
        )
        n = whole_number(n, "n", 0)
        states = self._evidence_states(evidence)
        rest, free = self._given(states)
        if options.get("partition") is not None:
            options["partition"] = free_blocks(
                self.graph, self.graph.nodes, options["partition"], states
            )
        x = np.tile(states, (n, 1))
        if rest is not None:
            x[:, free] = pairwise_methods.draws(rest, n, method, np.random.default_rng(rng), **options)
        return x

    def _evidence_states(self, evidence: Mapping[Hashable, int] | None) -> np.ndarray:
        return evidence_states(evidence, self.graph.nodes, [self.n_states] * self.graph.n_nodes)

    def _given(self, states: np.ndarray) -> "tuple[PairwiseField | None, np.ndarray]":
        """Return the field of the nodes that are free, None if there is none, and their indices."""
        free = np.flatnonzero(states < 0)
        node_tables = absorb_pairs(
            self.graph.edges, self.edge_tables, self.node_tables, states, self.graph.nodes
        )
        if len(free) == self.graph.n_nodes:
            return self, free
        if not len(free):
            return None, free
        labels = self.graph.nodes
        inside = np.all(states[self.graph.edges] < 0, axis=1)
        graph = PairwiseGraph(
            [labels[i] for i in free], [(labels[u], labels[v]) for u, v in self.graph.edges[inside]]
        )
        return PairwiseField(graph, self.edge_tables[inside], node_tables[free]), free

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
