"""The measurements behind the speed ratios; shared by the benchmarks and the documentation's table."""

import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import networkx as nx
import numpy as np
import pymc as pm

import pymc_mrf as pmrf
from pymc_mrf.fields.families import ISING
from pymc_mrf.fields.pairwise import PairwiseField
from pymc_mrf.graph.junction_tree import field_tree, junction_tree
from pymc_mrf.graph.structure import as_graph
from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.junction_trees import junction_tree as kernel

# Liu & Page (2013), Table 1: 100 steps of Gibbs_ExactL on the 4 x 4 grid, n = 1000
PAPER_SECONDS = 92_503.4


def best(function, repeats: int, inner: int = 1) -> float:
    """Shortest time of `repeats` measurements, each the mean over `inner` calls."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(inner):
            function()
        times.append((time.perf_counter() - start) / inner)
    return min(times)


def grid_field(side: int = 4) -> PairwiseField:
    """Binary grid with random couplings and fields."""
    rng = np.random.default_rng(1)
    graph = pmrf.graphs.grid(side, side)
    return PairwiseField(
        graph,
        ISING.edge_tables(rng.normal(0, 0.5, graph.n_edges)),
        ISING.node_tables(rng.normal(0, 0.5, graph.n_nodes)),
    )


@jit
def many_fields(tree, tables, work, log_partition, marginals):
    """Log-partition functions (B,) and marginals (B, T) of fields with these log tables (B, T)."""
    for b in range(tables.shape[0]):
        log_partition[b] = kernel.log_partition_and_marginals(tree, tables[b], work, marginals[b])


def grid_marginals(repeats: int = 20) -> dict:
    """All edge marginals of a 4 x 4 binary grid: seconds of the kernel and of pyAgrum.

    Every evaluation is of new parameters, as in a sampler. The kernel keeps its plan, the junction tree
    (`kernel`: per parameter vector, 1000 in one call; `single`: one call from Python each; `field`: from
    the tables, planning included). pyAgrum has no way to give new
    tables to an inference, so its time is that of running a new one, made outside the measurement
    (`pyagrum`) or inside it (`pyagrum_created`). `pyagrum_evidence` is that of an inference run before,
    after one soft evidence changed: the junction tree and the messages that do not depend on that node
    are kept.
    """
    field = grid_field()
    tree, tables = field.junction_tree.arrays, field.log_tables()
    work, marginals = kernel.allocate_workspace(tree), np.empty_like(tables)
    kernel.log_partition_and_marginals(tree, tables, work, marginals)
    single = best(
        lambda: kernel.log_partition_and_marginals(tree, tables, work, marginals), repeats, inner=200
    )
    # one call for many parameter vectors: what a compiled sampler pays for each
    many = tables + np.random.default_rng(2).normal(0, 0.1, (1000, len(tables)))
    batch = (tree, many, work, np.empty(len(many)), np.empty_like(many))
    many_fields(*batch)
    kernel_time = best(lambda: many_fields(*batch), repeats) / len(many)
    field_time = best(
        lambda: PairwiseField(field.graph, field.edge_tables, field.node_tables).marginals(), repeats
    )
    with TemporaryDirectory() as folder:
        source, target = Path(folder) / "field.npz", Path(folder) / "answer.npz"
        np.savez(
            source, edges=field.graph.edges, edge_tables=field.edge_tables, node_tables=field.node_tables
        )
        script = Path(__file__).with_name("agrum.py")
        subprocess.run([sys.executable, script, source, target, str(repeats)], check=True)
        with np.load(target) as answer:
            peer = {name: answer[name] for name in answer.files}
    ours = marginals[: field.edge_tables.size].reshape(field.edge_tables.shape)
    return {
        "kernel": kernel_time,
        "single": single,
        "field": field_time,
        "pyagrum": float(peer["fresh"]),
        "pyagrum_created": float(peer["created"]),
        "pyagrum_evidence": float(peer["changed"]),
        "difference": float(np.abs(ours - peer["marginals"]).max()),
        "version": str(peer["version"]),
    }


def exact_gibbs_sweeps(steps: int = 100, n: int = 1000) -> dict:
    """Seconds of `steps` GroupGibbs steps on a 4 x 4 grid (five groups, n observations)."""
    rng = np.random.default_rng(4)
    graph = pmrf.graphs.grid(4, 4)
    theta = rng.uniform(size=5)[rng.integers(5, size=graph.n_edges)]
    x = pm.draw(
        pmrf.AgreementMRF.dist(theta, graph=graph, likelihood="exact", size=(n,)), random_seed=rng
    )
    with pm.Model(coords=pmrf.coords(graph)) as model:
        process = pmrf.DirichletProcess("theta", 1.0, pm.Uniform.dist(0, 1), dims="edge")
        pmrf.AgreementMRF("x", process, graph=graph, likelihood="exact", observed=x)
        step = pmrf.steps.GroupGibbs([process])
    step.setup_chain(np.random.default_rng(5), 0, steps)
    point = model.initial_point()
    start = time.perf_counter()
    for _ in range(steps):
        point, _ = step.step(point)
    return {"seconds": time.perf_counter() - start, "paper": PAPER_SECONDS, "steps": steps, "n": n}


def import_time(repeats: int = 11) -> dict:
    """Median seconds of a fresh interpreter that imports PyMC alone, and PyMC and this package."""
    times: dict[str, list[float]] = {"pymc": [], "both": []}
    codes = {"pymc": "import pymc", "both": "import pymc; import pymc_mrf"}
    for repeat in range(repeats + 1):
        for name, code in codes.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            if repeat > 0:  # the first round fills the file caches
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def declaration_times(repeats: int = 3) -> dict[str, dict[str, float]]:
    """Shortest seconds to declare observed fields, and the part that plans their junction trees.

    Graphs come from networkx, as users have them, and no plan is kept from one repetition to the next.
    """
    senate = pmrf.datasets.load_senate109(session=1)

    def declare_senate() -> None:
        with pm.Model(coords=pmrf.coords(senate.graph)):
            theta = pm.Uniform("theta", 0, 1, dims="edge")
            pmrf.AgreementMRF("x", theta, graph=senate.graph, observed=senate.x)

    def grid(side: int):
        graph = nx.grid_2d_graph(side, side)
        x = np.random.default_rng(side).choice([-1, 1], size=side**2)

        def declare() -> None:
            with pm.Model():
                pmrf.Ising("x", pm.Normal("J"), graph=graph, observed=x)

        return graph, declare

    cases = {"Senate": (senate.graph, declare_senate), "64 x 64": grid(64), "256 x 256": grid(256)}
    results = {}
    for name, (graph, declare) in cases.items():
        pairwise = as_graph(graph)
        declare()  # kernels are loaded

        def declare_anew(declare=declare) -> None:
            field_tree.cache_clear()
            declare()

        results[name] = {
            "declaration": best(declare_anew, repeats),
            "planning": best(lambda pairwise=pairwise: junction_tree(pairwise, 2), repeats),
        }
    return results
