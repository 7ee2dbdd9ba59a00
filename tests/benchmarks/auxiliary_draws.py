"""What auxiliary data of `Exchange` cost by trees, clusters and single nodes, to the same error.

Chains behind auxiliary data start at the observations, which follow the field at other parameters. To
first order in the difference of the parameters, the share of the error of a mean statistic that is left
after k sweeps is the autocorrelation of the statistic at lag k in stationary chains, whatever the kernel.
So the sweeps to a given error are read off stationary chains, and their CPU time, arrays and tables made
from row states included, is measured for different numbers of rows.
"""

from collections.abc import Callable
from typing import NamedTuple

import networkx as nx
import numpy as np

from pymc_mrf.fields.families import ISING, potts
from pymc_mrf.fields.simulation import GibbsSimulator
from pymc_mrf.fields.tree_simulation import sweep_trees_and_clusters
from pymc_mrf.graph import builders
from pymc_mrf.graph.structure import PairwiseGraph, as_graph
from pymc_mrf.kernels.simulation.swendsen_wang import read_attraction
from tests.benchmarks.simulation import seconds
from tests.benchmarks.tree_sampling import autocorrelation, found_trees, simulator

LEFT = 0.05
"""Share of the error that may be left."""

ROWS = (1, 8, 16, 64, 256)

GRID = builders.grid(32, 32)
REGULAR = as_graph(nx.random_regular_graph(4, 1024, seed=1))
DENSE = as_graph(nx.gnp_random_graph(100, 0.2, seed=1))
COMPLETE = as_graph(nx.complete_graph(60))

FIELDS: dict[str, tuple[PairwiseGraph, int, tuple[float, ...]]] = {
    "32 x 32 grid": (GRID, 2, (0.2, 0.42)),
    "32 x 32 grid, 3 states": (GRID, 3, (0.4, 0.95)),
    "4 random neighbours, 1024 nodes": (REGULAR, 2, (0.2, 0.33)),
    "20 neighbours on average, 100 nodes": (DENSE, 2, (0.045,)),
    "complete graph, 60 nodes": (COMPLETE, 2, (0.015,)),
}
"""Graph, states and couplings: weak, and near that at which the infinite graph orders (0.4407 and 1.005
on the grid, 0.3466 with 4 neighbours)."""


class Auxiliary(NamedTuple):
    """Trees against single nodes in one field.

    Attributes
    ----------
    sweeps : dict
        By "tree" and "site": sweeps until `LEFT` of the error is left, of the share of edges whose ends
        agree and of the share of nodes in the first state.
    ratios : dict
        By number of rows: CPU time of sites over that of trees to that error, of both statistics.
    clusters : tuple
        CPU time of trees over that of trees and clusters in turns to that error, of one row.
    kernels : dict
        By number of rows: kernel of the Gibbs simulator.
    z : float
        Largest difference of the means of both statistics between trees and sites, in standard errors. (Both
        start from the same states, which makes it smaller rather than larger.)
    """

    sweeps: dict[str, tuple[float, float]]
    ratios: dict[int, tuple[float, float]]
    clusters: tuple[float, float]
    kernels: dict[int, str]
    z: float


def trees_and_clusters(graph: PairwiseGraph, trees: list) -> Callable[..., None]:
    """Sweeps over trees and clusters in turns, as `AuxiliarySampler` makes them; a step is one of each."""
    tree, coupling = simulator(graph, trees), np.empty(graph.n_edges)

    def move(x, edge_tables, node_tables, n_steps, rng) -> None:
        weights, tables = np.empty(node_tables.shape), (edge_tables, node_tables)
        read_attraction(edge_tables, graph.edges, coupling, weights)
        sweep_trees_and_clusters(x, tree, coupling, weights + node_tables, tables, 2 * n_steps, rng)

    return move


def sweeps_needed(rho: np.ndarray) -> float:
    """Sweeps until the autocorrelation is `LEFT`, between lags as if it decayed exponentially."""
    k = int(np.flatnonzero(rho < LEFT)[0])
    above, below = np.log(rho[k - 1]), np.log(max(rho[k], 1e-9))
    return float(k - 1 + (above - np.log(LEFT)) / (above - below))


def compare(
    graph: PairwiseGraph,
    n_states: int,
    coupling: float,
    n_sweeps: int = 3000,
    n_chains: int = 128,
    rows: tuple[int, ...] = ROWS,
) -> Auxiliary:
    """Measure one field without external field."""
    rng = np.random.default_rng(1)
    family = ISING if n_states == 2 else potts(n_states)
    tables = family.edge_tables(np.full(graph.n_edges, coupling)), np.zeros((graph.n_nodes, n_states))
    trees = found_trees(graph)
    tree = simulator(graph, trees)
    start = rng.integers(n_states, size=(n_chains, graph.n_nodes)).astype(np.int8)
    tree.sweep(start, *tables, 600, rng)
    u, v = graph.edges.T
    sweeps, by_chain = {}, {}
    movers = {"tree": tree.sweep, "site": GibbsSimulator(graph, n_states, n_chains).sweep}
    movers["both"] = trees_and_clusters(graph, trees)
    for name, move in movers.items():
        x, series = start.copy(), np.empty((2, n_sweeps, n_chains))
        for t in range(n_sweeps):
            move(x, *tables, 1, rng)
            series[0, t], series[1, t] = (x[:, u] == x[:, v]).mean(axis=1), (x == 0).mean(axis=1)
        edges, nodes = (autocorrelation(values - values.mean()) for values in series)
        sweeps[name] = sweeps_needed(edges), sweeps_needed(nodes)
        by_chain[name] = series.mean(axis=1)  # (2, n_chains), independent
    del by_chain["both"]
    gap = by_chain["tree"].mean(axis=1) - by_chain["site"].mean(axis=1)
    error = np.sqrt(sum(means.var(axis=1, ddof=1) for means in by_chain.values()) / n_chains)
    ratios, kernels = {}, {}
    for n in rows:
        site = GibbsSimulator(graph, n_states, n)
        x, kernels[n], cost = np.resize(start, (n, graph.n_nodes)), site.kernel, {}
        movers = {"tree": tree.sweep, "site": site.sweep}
        if n == 1:
            movers["both"] = trees_and_clusters(graph, trees)
        for name, move in movers.items():
            move(x, *tables, 1, rng)  # compiles
            one, many = (
                seconds(lambda k=k, move=move, x=x: move(x, *tables, k, rng), 7) for k in (1, 21)
            )
            sweep = (many - one) / 20
            cost[name] = [max(one - sweep, 0.0) + k * sweep for k in sweeps[name]]
        ratios[n] = (cost["site"][0] / cost["tree"][0], cost["site"][1] / cost["tree"][1])
        if n == 1:
            clusters = (cost["tree"][0] / cost["both"][0], cost["tree"][1] / cost["both"][1])
    return Auxiliary(sweeps, ratios, clusters, kernels, float(np.max(np.abs(gap) / error)))
