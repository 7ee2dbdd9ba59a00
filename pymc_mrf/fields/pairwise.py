"""`PairwiseField`: a pairwise Markov random field with numbers in it."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from pymc_mrf.checks import check_labels, numeric_array
from pymc_mrf.fields.belief_propagation import Convergence, pairwise_belief_propagation
from pymc_mrf.fields.evidence import Given, absorb_pairs
from pymc_mrf.fields.exact import check_overflow, checked_table
from pymc_mrf.fields.field import FixedField
from pymc_mrf.fields.methods import DRAWS, MARGINALS, ChainMoments, TwoMoments, estimates, moments
from pymc_mrf.fields.modes import Mode, pairwise_mode
from pymc_mrf.fields.pairwise_tables import PairwiseTables
from pymc_mrf.fields.perfect import perfect_sample
from pymc_mrf.fields.simulation import SWEEPS_KEPT, GibbsSimulator
from pymc_mrf.fields.tree_simulation import TreeSimulator
from pymc_mrf.fields.two_starts import pairwise_starts_meet
from pymc_mrf.graph.junction_tree import JunctionTree, junction_tree
from pymc_mrf.graph.structure import PairwiseGraph, as_graph
from pymc_mrf.kernels.simulation.pair_counts import count_moments


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

    _draw_methods: ClassVar[Any] = {**DRAWS, "perfect": ("max_sweeps",)}
    _mode_methods: ClassVar[Any] = {
        "auto": MARGINALS["bp"],
        "exact": (),
        "cut": (),
        "bp": MARGINALS["bp"],
        "icm": (),
    }
    _result: ClassVar[type] = Marginals

    graph: PairwiseGraph
    edge_tables: np.ndarray
    node_tables: np.ndarray

    def __post_init__(self) -> None:
        graph = as_graph(self.graph)
        check_labels(self.node_tables, graph.nodes, "node_tables", "node", axis=-2)
        check_labels(self.edge_tables, graph.edge_labels, "edge_tables", "edge", axis=-3)
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

    @cached_property
    def _tables(self) -> PairwiseTables:
        return PairwiseTables(self.graph, self.edge_tables, self.node_tables)

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

    def _marginals(self, method: str, rng: np.random.Generator, **options: Any) -> tuple:
        _, edge_tables, node_tables = self._tables
        if method == "exact":
            edges, nodes = np.split(self.exact_marginals(), [edge_tables.size])
            return nodes.reshape(node_tables.shape), edges.reshape(edge_tables.shape), None, None
        if method == "bp":
            nodes, edges, convergence = pairwise_belief_propagation(self._tables, **options)
            return nodes, edges, None, convergence
        sweeps = dict(n_burn_in=options["n_burn_in"], n_sweeps=options["n_sweeps"], rng=rng)
        if method == "tree":
            partitions = self._partitions(options["partition"], options["n_partitions"], rng)
            run = partial(self._tree_averaged, trees=TreeSimulator(self.graph, partitions), **sweeps)
            n_bytes = 8 * (edge_tables.size + node_tables.size)
        else:
            run = partial(self._counted, **sweeps)
            k = self.n_states - 1
            n_bytes = (SWEEPS_KEPT + 4 * k) * self.graph.n_nodes + 4 * k * k * self.graph.n_edges
        means, errors = estimates(self._start_states(rng), run, n_bytes, options["n_chains"])
        return *means, errors, None

    def _counted(self, x, *, n_burn_in: int, n_sweeps: int, rng) -> TwoMoments:
        """Shares of sweeps that chains of single sites spend in each state (Rivasseau, 2005, eq. 4.13)."""
        simulator = GibbsSimulator(self.graph, self.n_states, len(x))
        simulator.load(x)
        simulator.advance(self.edge_tables, self.node_tables, n_burn_in, rng)
        counts = simulator.count(self.edge_tables, self.node_tables, n_sweeps, rng)
        nodes, edges = (np.empty((2, *table.shape)) for table in (self.node_tables, self.edge_tables))
        count_moments(*counts, self.graph.edges, n_sweeps, nodes, edges)
        return ChainMoments(len(x), *nodes), ChainMoments(len(x), *edges)

    def _tree_averaged(
        self, x, *, trees: TreeSimulator, n_burn_in: int, n_sweeps: int, rng
    ) -> TwoMoments:
        """Averages along tree-blocked chains, Rao-Blackwellised (Rivasseau, 2005, eq. 4.14)."""
        tables = self.edge_tables, self.node_tables
        trees.sweep(x, *tables, n_burn_in, rng)
        nodes, edges = (np.zeros((*table.shape, len(x))) for table in tables[::-1])
        trees.add_marginals(x, *tables, n_sweeps, rng, nodes, edges)
        return moments(nodes, n_sweeps, -1), moments(edges, n_sweeps, -1)

    def _mode(self, method: str, **options: Any) -> Mode:
        return pairwise_mode(self, self._tables, method, options)

    def _draws(self, n: int, method: str, rng: np.random.Generator, **options: Any) -> np.ndarray:
        if method != "perfect":
            return super()._draws(n, method, rng, **options)
        if self.n_states != 2:
            raise ValueError(
                f'method="perfect" is for binary fields, and this one has {self.n_states} states per node; '
                'use "exact", "tree" or "gibbs"'
            )
        limit = {} if options["max_sweeps"] is None else {"max_sweeps": options["max_sweeps"]}
        return perfect_sample(self.graph, self.edge_tables, self.node_tables, n, rng, **limit)

    def _moved(self, x: np.ndarray, method: str, rng: np.random.Generator, **options: Any) -> np.ndarray:
        tables = self.edge_tables, self.node_tables
        if method == "tree":
            partitions = self._partitions(options["partition"], options["n_partitions"], rng)
            TreeSimulator(self.graph, partitions).sweep(x, *tables, options["n_sweeps"], rng)
        elif len(x):
            GibbsSimulator(self.graph, self.n_states, len(x)).sweep(x, *tables, options["n_sweeps"], rng)
        return x

    def _starts_meet(self, disorder, method, rng, n_sweeps, **options):
        graph = self.graph
        trees = TreeSimulator(graph, self._partitions(**options, rng=rng)) if method == "tree" else None

        def sweep(x, edge_tables, node_tables):
            simulator = trees or GibbsSimulator(graph, self.n_states, len(x))
            simulator.sweep(x, edge_tables, node_tables, 1, rng)

        return pairwise_starts_meet(self._tables, disorder, sweep, n_sweeps)

    def _uniform_states(self, rng: np.random.Generator) -> Callable[[int], np.ndarray] | None:
        if self.edge_tables.min(initial=0.0) == -np.inf:
            return None
        possible = self.node_tables > -np.inf
        order = np.argsort(~possible, axis=1, kind="stable")  # possible states first
        counts = possible.sum(axis=1)

        def uniform(m: int) -> np.ndarray:
            k = (rng.random((m, len(counts))) * counts).astype(np.int64)
            return order[np.arange(len(counts)), k].astype(np.int8)

        return uniform

    def _nothing_free(self) -> tuple:
        K = self.n_states
        return np.zeros((0, K)), np.zeros((0, K, K)), None, None

    def _complete(
        self, states: np.ndarray, kept: list[int], single: Any, joint: Any, known: float = 1.0
    ) -> tuple:
        free = states < 0
        if free.all():
            return single, joint
        nodes = np.zeros(self.node_tables.shape)
        nodes[free] = single
        nodes[~free, states[~free]] = known
        edges = np.zeros(self.edge_tables.shape)
        ends = free[self.graph.edges]
        edges[ends.all(axis=1)] = joint
        for e in np.flatnonzero(~ends.all(axis=1)):
            u, v = self.graph.edges[e]
            if free[u]:
                edges[e, :, states[v]] = nodes[u]
            elif free[v]:
                edges[e, states[u]] = nodes[v]
            else:
                edges[e, states[u], states[v]] = known
        return nodes, edges

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
        return -self._tables.log_potential(x)
