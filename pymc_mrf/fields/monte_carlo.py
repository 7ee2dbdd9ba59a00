"""Marginals of fixed fields from independent chains, with their Monte Carlo errors."""

from collections.abc import Callable
from typing import Any

import numpy as np

from pymc_mrf.fields.simulation import GibbsSimulator
from pymc_mrf.fields.tree_simulation import FactorTreeSimulator, TreeSimulator
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.state_counts import count_states

MOST_NUMBERS = 2**22
"""Numbers that the sums of the chains moved together may take."""

Start = Callable[[int], np.ndarray]
Estimates = tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Two arrays of means, and their standard errors."""


class ChainMoments:
    """Mean over chains, and its standard error, of arrays that come in batches of chains."""

    def __init__(self) -> None:
        self.n = 0
        self.origin: Any = 0.0
        self.total: Any = 0.0
        self.squares: Any = 0.0

    def add(self, values: np.ndarray) -> None:
        """Take in one array per chain, the chains along the first axis."""
        if self.n == 0:
            # sums of squares about a nearby point: no cancellation
            self.origin = values.mean(axis=0)
        shifted = values - self.origin
        self.n += len(values)
        self.total = self.total + shifted.sum(axis=0)
        self.squares = self.squares + (shifted**2).sum(axis=0)

    def result(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean, and standard error of the mean."""
        shift = self.total / self.n
        variance = np.maximum(self.squares / self.n - shift**2, 0.0) * self.n / (self.n - 1)
        return self.origin + shift, np.sqrt(variance / self.n)


def _batches(n_chains: int, n_numbers: int) -> list[int]:
    """Chains moved together so that their sums fit into memory."""
    size = min(64, max(1, MOST_NUMBERS // max(1, n_numbers)), n_chains)
    return [min(size, n_chains - start) for start in range(0, n_chains, size)]


def _estimates(first: ChainMoments, second: ChainMoments) -> Estimates:
    (mean, error), (other_mean, other_error) = first.result(), second.result()
    return (mean, other_mean), (error, other_error)


def tree_estimates(
    simulator: TreeSimulator,
    edge_tables: np.ndarray,
    node_tables: np.ndarray,
    start: Start,
    n_chains: int,
    n_sweeps: int,
    n_burn_in: int,
    rng: np.random.Generator,
) -> Estimates:
    """Node and edge marginals and their standard errors, by tree sampling (eq. 4.14)."""
    nodes, edges = ChainMoments(), ChainMoments()
    for m in _batches(n_chains, edge_tables.size + node_tables.size):
        x = start(m)
        simulator.sweep(x, edge_tables, node_tables, n_burn_in, rng)
        node_sum, edge_sum = np.zeros((*node_tables.shape, m)), np.zeros((*edge_tables.shape, m))
        simulator.add_marginals(x, edge_tables, node_tables, n_sweeps, rng, node_sum, edge_sum)
        nodes.add(np.moveaxis(node_sum, -1, 0) / n_sweeps)
        edges.add(np.moveaxis(edge_sum, -1, 0) / n_sweeps)
    return _estimates(nodes, edges)


def gibbs_estimates(
    graph: PairwiseGraph,
    edge_tables: np.ndarray,
    node_tables: np.ndarray,
    start: Start,
    n_chains: int,
    n_sweeps: int,
    n_burn_in: int,
    rng: np.random.Generator,
) -> Estimates:
    """Node and edge marginals and their standard errors, from counts of states (eq. 4.13)."""
    nodes, edges = ChainMoments(), ChainMoments()
    for m in _batches(n_chains, edge_tables.size + node_tables.size):
        simulator = GibbsSimulator(graph, node_tables.shape[1], m)
        x = start(m)
        simulator.sweep(x, edge_tables, node_tables, n_burn_in, rng)
        node_count, edge_count = np.zeros((m, *node_tables.shape)), np.zeros((m, *edge_tables.shape))
        for _ in range(n_sweeps):
            simulator.sweep(x, edge_tables, node_tables, 1, rng)
            count_states(x, graph.edges, node_count, edge_count)
        nodes.add(node_count / n_sweeps)
        edges.add(edge_count / n_sweeps)
    return _estimates(nodes, edges)


def factor_estimates(
    simulator: FactorTreeSimulator,
    tables: np.ndarray,
    start: Start,
    n_chains: int,
    n_sweeps: int,
    n_burn_in: int,
    rng: np.random.Generator,
) -> Estimates:
    """Variable (d, largest cardinality) and factor (T,) marginals and their standard errors (eq. 4.14)."""
    variables, factors = ChainMoments(), ChainMoments()
    shape = simulator.graph.n_variables, max(simulator.graph.cardinalities)
    for m in _batches(n_chains, tables.size + shape[0] * shape[1]):
        x = start(m)
        simulator.sweep(x, tables, n_burn_in, rng)
        variable_sum, factor_sum = np.zeros((m, *shape)), np.zeros((m, tables.size))
        simulator.add_marginals(x, tables, n_sweeps, rng, variable_sum, factor_sum)
        variables.add(variable_sum / n_sweeps)
        factors.add(factor_sum / n_sweeps)
    return _estimates(variables, factors)
