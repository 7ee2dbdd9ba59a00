"""The measurements behind the speed ratios; shared by the benchmarks and the documentation's table."""

import statistics
import subprocess
import sys
import time

import numpy as np
import pymc as pm

import pymc_mrf as pmrf
from pymc_mrf.fields.families import ISING
from pymc_mrf.fields.pairwise import PairwiseField
from pymc_mrf.kernels import junction_tree as kernel

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


def agrum_field(field: PairwiseField):
    """Return the same field as a pyAgrum MRF."""
    import pyagrum as gum

    mrf = gum.MarkovRandomField()
    names = [f"x{i}" for i in range(field.graph.n_nodes)]
    for name in names:
        mrf.add(gum.LabelizedVariable(name, name, field.n_states))
    for name, log_table in zip(names, field.node_tables, strict=True):
        mrf.addFactor([name])[:] = np.exp(log_table)
    for (u, v), log_table in zip(field.graph.edges.tolist(), field.edge_tables, strict=True):
        factor = mrf.addFactor([names[u], names[v]])
        for a in range(field.n_states):
            for b in range(field.n_states):
                factor[{names[u]: a, names[v]: b}] = float(np.exp(log_table[a, b]))
    return mrf


def agrum_inference(mrf, edges: list[tuple[str, str]]):
    """Inference of pyAgrum, with every edge a joint target; not yet run."""
    import pyagrum as gum

    inference = gum.ShaferShenoyMRFInference(mrf)
    for u, v in edges:
        inference.addJointTarget({u, v})
    return inference


def grid_marginals(repeats: int = 20) -> dict:
    """All edge marginals of a 4 x 4 binary grid: seconds of the kernel and of pyAgrum.

    Every evaluation is of a fresh parameter vector, as in a sampler. The kernel keeps its plan, the
    junction tree; pyAgrum has no way to give new tables to an inference, so that its time is that of
    running a new one, prepared outside the measurement (`pyagrum`). `pyagrum_evidence` is the time of a
    prepared inference that has been run before, after one soft evidence changed, where it keeps its
    junction tree and all messages that do not depend on that node. `kernel_planned` includes the
    planning of the junction tree.
    """
    import pyagrum as gum

    field = grid_field()
    tree, tables = field.junction_tree.arrays, field.log_tables()
    work, marginals = kernel.allocate(tree), np.empty_like(field.log_tables())
    kernel.log_partition_and_marginals(tree, tables, work, marginals)
    kernel_time = best(
        lambda: kernel.log_partition_and_marginals(tree, tables, work, marginals), repeats, inner=200
    )
    planned = best(
        lambda: PairwiseField(field.graph, field.edge_tables, field.node_tables).marginals(), repeats
    )

    mrf = agrum_field(field)
    edges = [(f"x{u}", f"x{v}") for u, v in field.graph.edges.tolist()]

    def run(inference):
        inference.makeInference()
        return [inference.jointPosterior({u, v}) for u, v in edges]

    prepared = iter([agrum_inference(mrf, edges) for _ in range(repeats)])
    agrum_time = best(lambda: run(next(prepared)), repeats)

    inference = agrum_inference(mrf, edges)
    inference.addEvidence("x0", [1.0, 0.5])
    run(inference)
    evidence = iter(np.random.default_rng(2).uniform(0.1, 1.0, repeats))

    def change_evidence():
        inference.chgEvidence("x0", [1.0, float(next(evidence))])
        run(inference)

    evidence_time = best(change_evidence, repeats)

    fresh = agrum_inference(mrf, edges)
    answers = run(fresh)
    ours = marginals[: field.edge_tables.size].reshape(field.edge_tables.shape)
    theirs = np.array(
        [
            [[answer[{u: a, v: b}] for b in range(field.n_states)] for a in range(field.n_states)]
            for answer, (u, v) in zip(answers, edges, strict=True)
        ]
    )
    return {
        "kernel": kernel_time,
        "kernel_planned": planned,
        "pyagrum": agrum_time,
        "pyagrum_evidence": evidence_time,
        "difference": float(np.abs(ours - theirs).max()),
        "version": gum.__version__,
    }


def exact_gibbs_sweeps(steps: int = 100, n: int = 1000) -> dict:
    """Seconds of `steps` ExactGibbs steps on a 4 x 4 grid (five groups, n observations)."""
    rng = np.random.default_rng(4)
    graph = pmrf.graphs.grid(4, 4)
    theta = rng.uniform(size=5)[rng.integers(5, size=graph.n_edges)]
    x = pm.draw(
        pmrf.AgreementMRF.dist(theta, graph=graph, likelihood="exact", size=(n,)), random_seed=rng
    )
    with pm.Model(coords=pmrf.coords(graph)) as model:
        process = pmrf.DirichletProcess("theta", 1.0, pm.Uniform.dist(0, 1), dims="edge")
        pmrf.AgreementMRF("x", process, graph=graph, likelihood="exact", observed=x)
        step = pmrf.ExactGibbs([process])
    step.setup_chain(np.random.default_rng(5), 0, steps)
    point = model.initial_point()
    start = time.perf_counter()
    for _ in range(steps):
        point, _ = step.step(point)
    return {"seconds": time.perf_counter() - start, "paper": PAPER_SECONDS, "steps": steps, "n": n}


def import_time(repeats: int = 5) -> dict:
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
