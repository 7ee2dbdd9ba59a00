"""What `PairwiseField.marginals` and `PairwiseField.sample` do, method by method, without evidence."""

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pymc_mrf.fields import monte_carlo
from pymc_mrf.fields.belief_propagation import Convergence, pairwise_belief_propagation
from pymc_mrf.fields.perfect import perfect_sample
from pymc_mrf.fields.simulation import GibbsSimulator
from pymc_mrf.fields.tree_simulation import TreeSimulator
from pymc_mrf.graph.junction_tree import MAX_CELLS
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.graph.tree_partition import tree_partition

if TYPE_CHECKING:
    from pymc_mrf.fields.pairwise import PairwiseField

CHAINS = ("n_chains", "n_sweeps", "n_burn_in", "rng")
TREES = ("partition", "n_partitions")
MARGINALS = {
    "exact": (),
    "bp": ("damping", "tolerance", "max_iterations"),
    "tree": CHAINS + TREES,
    "gibbs": CHAINS,
}
DRAWS = {
    "exact": (),
    "tree": ("n_sweeps", *TREES),
    "gibbs": ("n_sweeps",),
    "perfect": ("max_sweeps",),
}

Parts = tuple[np.ndarray, np.ndarray]
Partition = Sequence[Collection[int]]
Answer = tuple[np.ndarray, np.ndarray, Parts | None, Convergence | None]
"""Node and edge marginals, their standard errors and the convergence report."""


def start_states(field: "PairwiseField", rng: np.random.Generator) -> Callable[[int], np.ndarray]:
    """Return a function that makes starts of chains, (m, d) int8, of positive probability.

    Uniform among the states that the node tables allow; if pairs of states are impossible, exact
    draws, because a search for possible configurations has no bound.
    """
    if field.edge_tables.min(initial=0.0) == -np.inf:
        if field.junction_tree.n_cells > MAX_CELLS:
            raise ValueError(
                "chains need a configuration of positive probability to start from; with -inf entries "
                "in edge tables this is an exact draw, and the junction tree of this field is too large "
                "for it; use large finite penalties instead of -inf"
            )
        return lambda m: field.exact_draws(m, rng)
    possible = field.node_tables > -np.inf
    order = np.argsort(~possible, axis=1, kind="stable")  # possible states first
    counts = possible.sum(axis=1)

    def uniform(m: int) -> np.ndarray:
        k = (rng.random((m, len(counts))) * counts).astype(np.int64)
        return order[np.arange(len(counts)), k].astype(np.int8)

    return uniform


def tree_simulator(
    field: "PairwiseField",
    partition: Partition | None,
    n_partitions: int,
    rng: np.random.Generator,
) -> TreeSimulator:
    """Make the simulator of a partition by node indices, or of partitions to be found."""
    if partition is not None:
        return TreeSimulator(field.graph, [partition])
    index = {label: i for i, label in enumerate(field.graph.nodes)}
    found = [tree_partition(field.graph, rng=rng) for _ in range(n_partitions)]
    return TreeSimulator(
        field.graph, [[[index[label] for label in block] for block in blocks] for blocks in found]
    )


def marginals(field: "PairwiseField", method: str, rng: np.random.Generator, **options: Any) -> Answer:
    """Node and edge marginals, their standard errors and the convergence report."""
    tables = field.edge_tables, field.node_tables
    if method == "exact":
        flat = field.exact_marginals()
        r = field.edge_tables.size
        nodes, edges = flat[r:].reshape(tables[1].shape), flat[:r].reshape(tables[0].shape)
        return nodes, edges, None, None
    if method == "bp":
        *beliefs, convergence = pairwise_belief_propagation(field.graph, *tables, **options)
        return beliefs[0], beliefs[1], None, convergence
    chains = {name: options[name] for name in ("n_chains", "n_sweeps", "n_burn_in")}
    start = start_states(field, rng)
    if method == "tree":
        simulator = tree_simulator(field, options["partition"], options["n_partitions"], rng)
        means, errors = monte_carlo.tree_estimates(simulator, *tables, start, **chains, rng=rng)
    else:
        means, errors = monte_carlo.gibbs_estimates(field.graph, *tables, start, **chains, rng=rng)
    return *means, errors, None


def draws(
    field: "PairwiseField", n: int, method: str, rng: np.random.Generator, **options: Any
) -> np.ndarray:
    """`n` configurations, (n, d) int8."""
    if method == "exact":
        return field.exact_draws(n, rng)
    tables = field.edge_tables, field.node_tables
    if method == "perfect":
        if field.n_states != 2:
            raise ValueError(
                f'method="perfect" is for binary fields, and this one has {field.n_states} states per node; '
                'use "exact", "tree" or "gibbs"'
            )
        limit = {} if options["max_sweeps"] is None else {"max_sweeps": options["max_sweeps"]}
        return perfect_sample(field.graph, *tables, n, rng, **limit)
    x = start_states(field, rng)(n)
    if method == "tree":
        simulator = tree_simulator(field, options["partition"], options["n_partitions"], rng)
        simulator.sweep(x, *tables, options["n_sweeps"], rng)
    elif n:
        GibbsSimulator(field.graph, field.n_states, n).sweep(x, *tables, options["n_sweeps"], rng)
    return x


def with_evidence(
    graph: PairwiseGraph, states: np.ndarray, nodes: np.ndarray, edges: np.ndarray, known: float = 1.0
) -> Parts:
    """Marginals of all nodes and edges from those of the free ones.

    `known` is the entry of a known state: 1 for probabilities, 0 for their standard errors.
    """
    free = states < 0
    if free.all():
        return nodes, edges
    n_states = nodes.shape[1]
    all_nodes = np.zeros((graph.n_nodes, n_states))
    all_nodes[free] = nodes
    all_nodes[~free, states[~free]] = known
    all_edges = np.zeros((graph.n_edges, n_states, n_states))
    ends = free[graph.edges]
    all_edges[ends.all(axis=1)] = edges
    for e in np.flatnonzero(~ends.all(axis=1)):
        u, v = graph.edges[e]
        if free[u]:
            all_edges[e, :, states[v]] = all_nodes[u]
        elif free[v]:
            all_edges[e, states[u]] = all_nodes[v]
        else:
            all_edges[e, states[u], states[v]] = known
    return all_nodes, all_edges


def nothing_free(n_states: int) -> Answer:
    """Return what `marginals` would if all nodes are known."""
    return np.zeros((0, n_states)), np.zeros((0, n_states, n_states)), None, None
