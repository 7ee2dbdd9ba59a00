"""Measurements of tree sampling beside site-wise Gibbs sampling: cost of an update, and what it is worth."""

import networkx as nx
import numpy as np

from pymc_mrf.fields.families import ISING, agreement
from pymc_mrf.fields.perfect import perfect_sample
from pymc_mrf.fields.simulation import GibbsSimulator
from pymc_mrf.fields.tree_simulation import TreeSimulator
from pymc_mrf.graph import builders
from pymc_mrf.graph.lattice_partition import comb_partition
from pymc_mrf.graph.structure import PairwiseGraph, as_graph
from pymc_mrf.graph.tree_partition import tree_partition
from pymc_mrf.kernels.simulation import gibbs
from pymc_mrf.kernels.trees.tree_potentials import tree_potentials
from pymc_mrf.kernels.trees.tree_sampling import sweep_potentials
from tests.benchmarks.simulation import seconds

CRITICAL = np.log1p(np.sqrt(2.0)) / 2.0
"""Coupling at which the infinite square lattice orders (Onsager, 1944)."""


def found_trees(graph: PairwiseGraph) -> list:
    """One partition, found with a fixed seed."""
    return tree_partition(graph, rng=np.random.default_rng(1))


LATTICE = builders.grid(64, 64)
REGULAR = as_graph(nx.random_regular_graph(5, 900, seed=1))
GRAPHS = {
    "64 x 64 grid, two combs": (LATTICE, comb_partition(64, 64)),
    "900 nodes, 5 random neighbours each, trees found": (REGULAR, found_trees(REGULAR)),
}
"""Graphs and tree partitions."""


def simulator(graph: PairwiseGraph, trees) -> TreeSimulator:
    """Simulator of one partition given by labels."""
    index = {label: i for i, label in enumerate(graph.nodes)}
    return TreeSimulator(graph, [[[index[label] for label in tree] for tree in trees]])


def movers(graph: PairwiseGraph, trees, tables, n_chains: int, rng: np.random.Generator) -> dict:
    """Functions ``move(x, n_sweeps)`` of the methods, by name, and the kernel of the Gibbs simulator."""
    tree = simulator(graph, trees)
    n_states = tables[1].shape[1]
    site = GibbsSimulator(graph, n_states, n_chains)
    return {
        "tree": lambda x, n: tree.sweep(x, *tables, n, rng),
        "site": lambda x, n: site.sweep(x, *tables, n, rng),
        "plain": lambda x, n: gibbs.gibbs_sweeps(x, *tables, graph.arrays, n, rng),
        "kernel": site.kernel,
    }


def update_costs(
    graph: PairwiseGraph, trees, n_states: int, n_chains: int, n_sweeps: int = 10, repeats: int = 5
) -> dict:
    """Nanoseconds of CPU time per node update on a field with random couplings and fields.

    Returns
    -------
    dict
        `tree`, `logs` (trees in the log domain), `site` (`GibbsSimulator`), `plain` (the obvious loop);
        each from int8 rows to int8 rows, tables included. `kernel` of the simulator; `z`: largest
        difference of the probability that an edge's ends agree between trees and sites, in standard errors.
    """
    rng = np.random.default_rng(1)
    family = ISING if n_states == 2 else agreement(n_states)
    coupling = rng.normal(0, 0.5, graph.n_edges)
    tables = family.edge_tables(coupling), rng.normal(0, 0.3, (graph.n_nodes, n_states))
    start = rng.integers(0, n_states, size=(n_chains, graph.n_nodes)).astype(np.int8)
    move = movers(graph, trees, tables, n_chains, rng)
    result: dict = {"kernel": move.pop("kernel")}
    tree = simulator(graph, trees)

    def logs(x, n):  # what couplings too strong for products of probabilities need
        potentials = tree_potentials(tables[0], tables[1][None], graph.edges, len(x), form="log")
        sweep_potentials(x, potentials, tree.forests[0], n, rng)

    move["logs"] = logs
    agree = {}
    for name, function in move.items():
        x = start.copy()
        function(x, 1)  # compiles
        n = n_sweeps if name in ("tree", "site") else max(n_sweeps // 5, 1)
        time = seconds(lambda function=function, x=x, n=n: function(x, n), repeats)
        result[name] = 1e9 * time / (n * x.size)
        if name in ("tree", "site"):
            function(x, 100)
            u, v = graph.edges.T
            agree[name] = (x[:, u] == x[:, v]).mean(axis=0)
    p, q = agree["tree"], agree["site"]
    error = np.sqrt((p * (1 - p) + q * (1 - q) + 1 / n_chains) / n_chains)
    result["z"] = float((np.abs(p - q) / error).max())
    return result


def autocorrelation(series: np.ndarray) -> np.ndarray:
    """Autocorrelations (n,) of stationary chains (n, m) of mean zero."""
    n = len(series)
    power = np.abs(np.fft.rfft(series, 2 * n, axis=0)) ** 2
    covariance = np.fft.irfft(power.mean(axis=1))[:n] / (n - np.arange(n))
    return covariance / covariance[0]


def autocorrelation_time(magnetisation: np.ndarray) -> float:
    """Integrated autocorrelation time, in sweeps, of stationary chains (n, m) of mean zero.

    The sum ends at the first lag above five times itself (Sokal, 1997).
    """
    tau = 2.0 * np.cumsum(autocorrelation(magnetisation)) - 1.0
    window = np.flatnonzero(np.arange(len(tau)) > 5.0 * tau)
    return float(tau[window[0] if len(window) else -1])


def magnetisation_chains(move, x: np.ndarray, n_sweeps: int) -> np.ndarray:
    """Magnetisation per node after each sweep, (n_sweeps, m)."""
    series = np.empty((n_sweeps, len(x)))
    for t in range(n_sweeps):
        move(x, 1)
        series[t] = 2.0 * x.mean(axis=1) - 1.0
    return series


def magnetisation_draws(
    side: int = 64,
    coupling: float = 0.42,
    n_sweeps: int = 4000,
    series_chains: int = 256,
    n_exact: int = 512,
    sizes: tuple[int, ...] = (1, 64, 512),
) -> dict:
    """Effective draws of the magnetisation per second of CPU time, Ising model without field.

    All chains start at exact draws, so that nothing is left out.

    Returns
    -------
    dict
        "tree", "site": `tau` (sweeps), `square` (mean squared magnetisation per node) and `error`, its
        standard error. "perfect": `square`, `error` and `rate`. "rates": rows of (chains moved together,
        kernel of the Gibbs simulator, effective draws per second by trees, by this simulator, by the
        obvious loop).
    """
    rng = np.random.default_rng(1)
    graph = builders.grid(side, side)
    tables = ISING.edge_tables(np.full(graph.n_edges, coupling)), np.zeros((graph.n_nodes, 2))
    trees = comb_partition(side, side)
    small = builders.grid(4, 4)
    perfect_sample(small, ISING.edge_tables(np.full(small.n_edges, 0.1)), np.zeros((16, 2)), 512, rng)
    draws: dict = {}
    spent = seconds(lambda: draws.update(x=perfect_sample(graph, *tables, n_exact, rng)), 1)
    square, error = mean_square(2.0 * draws["x"].mean(axis=1) - 1.0)
    result: dict = {"perfect": {"square": square, "error": error, "rate": n_exact / spent}, "rates": []}
    move = movers(graph, trees, tables, series_chains, rng)
    for name in ("tree", "site"):
        series = magnetisation_chains(move[name], draws["x"][:series_chains].copy(), n_sweeps)
        square, error = mean_square(series)
        result[name] = {"tau": autocorrelation_time(series), "square": square, "error": error}
    for n in sizes:
        move, x, rates = movers(graph, trees, tables, n, rng), draws["x"][:n].copy(), []
        for name in ("tree", "site", "plain"):
            sweeps = 20 if name != "plain" else 2
            move[name](x, 1)  # compiles
            sweep = seconds(lambda f=move[name], x=x, k=sweeps: f(x, k), 3) / sweeps
            rates.append(n / (result["tree" if name == "tree" else "site"]["tau"] * sweep))
        result["rates"].append((n, move["kernel"], *rates))
    return result


def mean_square(magnetisation: np.ndarray) -> tuple[float, float]:
    """Mean square, and its standard error, of independent chains (..., m)."""
    squares = (np.atleast_2d(magnetisation) ** 2).mean(axis=0)
    return float(squares.mean()), float(squares.std(ddof=1) / np.sqrt(len(squares)))
