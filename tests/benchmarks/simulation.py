"""Measurements of Gibbs simulation: ns per spin update, ours, the obvious loop and named peers."""

import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from pymc_mrf.fields.families import ISING
from pymc_mrf.fields.simulation import GibbsSimulator
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.simulation import gibbs

BURN_IN = 101
"""Sweeps before the moments that are compared; the peers' scripts make as many."""


def seconds(function, repeats: int) -> float:
    """Shortest CPU time of `repeats` calls: little disturbed by other work on the machine."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def moments(x: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Mean of s_u s_v over chains, per edge, from state indices (m, d)."""
    s = 2.0 * x - 1.0
    return (s[:, edges[:, 0]] * s[:, edges[:, 1]]).mean(axis=0)


def largest_z(a: np.ndarray, b: np.ndarray, n_chains: int) -> float:
    """Largest difference of two sets of moments, in standard errors."""
    variance = (2.0 - a**2 - b**2 + 1.0 / n_chains) / n_chains
    return float((np.abs(a - b) / np.sqrt(variance)).max())


def run_peer(script: str, graph: PairwiseGraph, coupling, field, n_chains, repeats, core) -> dict:
    """Run a peer's script in a process of its own: CPU time on one core, wall time on all (None)."""
    with TemporaryDirectory() as folder:
        source, target = Path(folder) / "field.npz", Path(folder) / "answer.npz"
        np.savez(
            source,
            edges=graph.edges,
            coupling=coupling,
            field=field,
            order=graph.arrays.order,
            color_ptr=graph.arrays.color_ptr,
            n_chains=n_chains,
        )
        command = [sys.executable, Path(__file__).with_name(script), source, target, str(repeats)]
        subprocess.run(command + ([] if core is None else [str(core)]), check=True)
        with np.load(target) as answer:
            return {name: answer[name] for name in answer.files}


def gibbs_simulation(
    graph: PairwiseGraph, coupling_sd: float, n_chains: int = 1024, repeats: int = 10
) -> dict:
    """Nanoseconds of CPU time per spin update on an Ising field with random couplings and fields.

    Returns
    -------
    dict
        `ours`: a sweep, states and tables prepared; `ours_one_sweep`, `ours_ten_sweeps`:
        `GibbsSimulator.sweep` from int8 rows to int8 rows, tables included; `loop`: the obvious loop,
        chain by chain; `dwave`, `thrml`: the peers on one core; `thrml_all`: thrml on all cores.
        `z_...`: largest difference of the edge moments from ours in standard errors. `kernel`, `cores`
        and versions.
    """
    rng = np.random.default_rng(1)
    coupling = rng.normal(0, coupling_sd, graph.n_edges)
    field = rng.normal(0, 0.3, graph.n_nodes)
    tables = ISING.edge_tables(coupling), ISING.node_tables(field)
    updates = graph.n_nodes * n_chains

    simulator = GibbsSimulator(graph, 2, n_chains)
    x = rng.integers(0, 2, size=(n_chains, graph.n_nodes)).astype(np.int8)
    start = x.copy()
    simulator.sweep(x, *tables, BURN_IN, rng)
    result: dict = {"kernel": simulator.kernel, "cores": len(os.sched_getaffinity(0))}
    ours = moments(x, graph.edges)

    few = seconds(lambda: simulator.advance(*tables, 5, rng), 3 * repeats)
    many = seconds(lambda: simulator.advance(*tables, 25, rng), 3 * repeats)
    result["ours"] = 1e9 * (many - few) / 20 / updates
    for name, n in (("ours_one_sweep", 1), ("ours_ten_sweeps", 10)):
        result[name] = (
            1e9 * seconds(lambda n=n: simulator.sweep(x, *tables, n, rng), 3 * repeats) / n / updates
        )

    gibbs.gibbs_sweeps(start, *tables, graph.arrays, BURN_IN, rng)
    result["z_loop"] = largest_z(ours, moments(start, graph.edges), n_chains)
    result["loop"] = (
        1e9
        * seconds(lambda: gibbs.gibbs_sweeps(start, *tables, graph.arrays, 2, rng), repeats // 2)
        / 2
        / updates
    )

    core = min(os.sched_getaffinity(0))
    for name, script, on in (
        ("dwave", "dwave_gibbs.py", core),
        ("thrml", "thrml_gibbs.py", core),
        ("thrml_all", "thrml_gibbs.py", None),
    ):
        answer = run_peer(script, graph, coupling, field, n_chains, repeats // 2, on)
        result[name] = 1e9 * float(answer["per_sweep"]) / updates
        result[f"z_{name}"] = largest_z(ours, answer["moments"], n_chains)
        result[f"{name}_version"] = str(answer["version"])
    return result
