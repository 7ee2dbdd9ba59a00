"""Measurements beside those of sparse binary fields: more than two states, perfect draws."""

import numpy as np

from pymc_mrf.fields.families import ISING, agreement
from pymc_mrf.fields.perfect import perfect_sample
from pymc_mrf.fields.simulation import GibbsSimulator
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.simulation import gibbs
from tests.benchmarks.simulation import BURN_IN, seconds


def potts_simulation(
    graph: PairwiseGraph, n_states: int = 3, n_chains: int = 1024, repeats: int = 10
) -> dict:
    """Nanoseconds per update on a Potts field with random couplings and fields, one core.

    Returns
    -------
    dict
        `ours_one_sweep`, `ours_ten_sweeps`: `GibbsSimulator.sweep` from int8 rows to int8 rows, tables
        included; `loop`: the obvious loop, chain by chain; `z_loop`: largest difference of the
        probability that an edge's ends agree, in standard errors; `kernel`.
    """
    rng = np.random.default_rng(1)
    tables = (
        agreement(n_states).edge_tables(rng.normal(0, 0.5, graph.n_edges)),
        rng.normal(0, 0.3, (graph.n_nodes, n_states)),
    )
    updates = graph.n_nodes * n_chains
    simulator = GibbsSimulator(graph, n_states, n_chains)
    x = rng.integers(0, n_states, size=(n_chains, graph.n_nodes)).astype(np.int8)
    y = x.copy()
    u, v = graph.edges.T
    simulator.sweep(x, *tables, BURN_IN, rng)
    gibbs.gibbs_sweeps(y, *tables, graph.arrays, BURN_IN, rng)
    p, q = (x[:, u] == x[:, v]).mean(axis=0), (y[:, u] == y[:, v]).mean(axis=0)
    error = np.sqrt((p * (1 - p) + q * (1 - q) + 1 / n_chains) / n_chains)
    result = {"kernel": simulator.kernel, "z_loop": float((np.abs(p - q) / error).max())}
    for name, n in (("ours_one_sweep", 1), ("ours_ten_sweeps", 10)):
        time = seconds(lambda n=n: simulator.sweep(x, *tables, n, rng), repeats)
        result[name] = 1e9 * time / n / updates
    time = seconds(lambda: gibbs.gibbs_sweeps(y, *tables, graph.arrays, 1, rng), max(repeats // 3, 1))
    result["loop"] = 1e9 * time / updates
    return result


def perfect_draws(graph: PairwiseGraph, coupling: float, n: int = 1024, repeats: int = 5) -> dict:
    """Microseconds per exact draw of a ferromagnet with small random fields, one core."""
    rng = np.random.default_rng(1)
    tables = (
        ISING.edge_tables(np.full(graph.n_edges, coupling)),
        ISING.node_tables(rng.normal(0, 0.1, graph.n_nodes)),
    )
    perfect_sample(graph, *tables, n, rng)
    return {"draw": 1e6 * seconds(lambda: perfect_sample(graph, *tables, n, rng), repeats) / n, "n": n}
