"""What a first run costs: CPU seconds from a declared model to the first draw, cold and warm.

    python -m tests.benchmarks.first_run [--kernels N] [case ...]

Each case runs in a process of its own, first with empty caches of numba and PyTensor, then with those
that the first run has filled. ``--kernels`` lists the N functions that took longest to compile, each
without those that it calls.
"""

import argparse
import os
import subprocess
import sys
import time
import warnings
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numba.core.event as numba_event
import numpy as np
import pymc as pm

import pymc_mrf as pmrf

ROOT = Path(__file__).parents[2]


def plain() -> pm.Model:
    """PyMC alone: two variables and NUTS."""
    with pm.Model() as model:
        mean, sd = pm.Normal("mean"), pm.HalfNormal("sd")
        pm.Normal("y", mean, sd, observed=np.random.default_rng(0).normal(size=50))
    return model


def _edges(likelihood: str, graph: pmrf.PairwiseGraph) -> pm.Model:
    x = np.random.default_rng(0).integers(0, 2, (200, graph.n_nodes))
    with pm.Model(coords=pmrf.coords(graph)) as model:
        slab = pm.Normal.dist(0, 1)
        weight = pmrf.SpikeAndSlab("weight", pm.Beta("p", 1, 1), slab, dims="edge")
        bias = pm.Normal("bias", 0, 2, dims="node")
        pmrf.BoltzmannMachine("x", weight, bias, graph=graph, likelihood=likelihood, observed=x)
    return model


def edges_pseudo() -> pm.Model:
    """`SpikeAndSlab` under the pseudo-likelihood."""
    return _edges("pseudo", pmrf.graphs.complete(12))


def edges_exact() -> pm.Model:
    """`SpikeAndSlab` under the exact likelihood, by enumeration."""
    return _edges("exact", pmrf.graphs.complete(8))


def edges_tree() -> pm.Model:
    """`SpikeAndSlab` under the exact likelihood, by junction tree."""
    return _edges("exact", pmrf.graphs.grid(5, 5))


def edges_monte_carlo() -> pm.Model:
    """`SpikeAndSlab` under the Monte Carlo likelihood, whose reference is found when it is declared."""
    return _edges("monte-carlo", pmrf.graphs.complete(12))


def groups_exact() -> pm.Model:
    """`DirichletProcess` under the exact likelihood."""
    graph = pmrf.graphs.grid(4, 4)
    x = np.random.default_rng(0).integers(0, 2, (300, 16))
    with pm.Model(coords=pmrf.coords(graph)) as model:
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Uniform.dist(0, 1), dims="edge")
        pmrf.AgreementMRF("x", theta, graph=graph, likelihood="exact", observed=x)
    return model


def image() -> pm.Model:
    """Hidden `Potts` image with parameters for NUTS."""
    side, rng = 24, np.random.default_rng(0)
    y = rng.integers(0, 3, side**2) + rng.normal(0, 0.5, side**2)
    with pm.Model() as model:
        z = pmrf.Potts("z", 0.8, n_states=3, graph=pmrf.graphs.grid(side, side))
        mean = pm.Normal("mean", np.arange(3.0), 1.0, shape=3)
        pm.Normal("y", mean[z], pm.HalfNormal("sd"), observed=y)
    return model


def nuts() -> pm.Model:
    """NUTS on the parameters of an exact `Ising` field."""
    graph = pmrf.graphs.grid(4, 4)
    x = np.random.default_rng(0).choice([-1, 1], (200, 16))
    with pm.Model() as model:
        coupling = pm.Normal("coupling", shape=graph.n_edges)
        field = pm.Normal("field", shape=graph.n_nodes)
        pmrf.Ising("x", coupling, field, graph=graph, likelihood="exact", observed=x)
    return model


CASES = {
    case.__name__: case
    for case in (
        plain,
        edges_pseudo,
        edges_exact,
        edges_tree,
        edges_monte_carlo,
        groups_exact,
        image,
        nuts,
    )
}


class CompileTimes(numba_event.Listener):
    """CPU seconds and number of specialisations of every function that numba compiles."""

    def __init__(self) -> None:
        self._open: list[list[float]] = []  # begin, and seconds of those that are called
        self.seconds: dict[str, float] = defaultdict(float)
        self.counts: dict[str, int] = defaultdict(int)

    def on_start(self, compilation) -> None:
        """Begin."""
        self._open.append([time.process_time(), 0.0])

    def on_end(self, compilation) -> None:
        """Count what was not spent on other functions."""
        begin, inner = self._open.pop()
        seconds = time.process_time() - begin
        function = compilation.data["dispatcher"].py_func
        name = f"{function.__module__}.{function.__qualname__}"
        self.seconds[name] += seconds - inner
        self.counts[name] += 1
        if self._open:
            self._open[-1][1] += seconds


def run(case: str, n_kernels: int) -> None:
    """Sample `case` in this process until it has draws, and print a line; more if `n_kernels` > 0."""
    times = CompileTimes()
    numba_event.register("numba:compile", times)
    warnings.simplefilter("ignore")
    imported, first = time.process_time(), []
    model = CASES[case]()
    declared = time.process_time()

    def note_first(trace, draw) -> None:
        first.append(time.process_time())

    options = {"tune": 5, "draws": 5, "chains": 1, "cores": 1, "random_seed": 1, "quiet": True}
    with (
        model
    ):  # else NUTS moves p: conjugate hyperparameters are known in the context of the model only
        pm.sample(callback=note_first, compute_convergence_checks=False, **options)
    kernels = "pymc_mrf.kernels.", "pymc_mrf.papers.kernels."
    own = {name: s for name, s in times.seconds.items() if name.startswith(kernels)}
    print(
        f"{case:13s} {declared - imported:8.1f} {first[0] - declared:8.1f} {sum(own.values()):8.1f} "
        f"{sum(times.seconds.values()) - sum(own.values()):8.1f} "
        f"{sum(times.counts[name] for name in own):6d} {sum(times.counts.values()):6d}",
        flush=True,
    )
    slowest = sorted(times.seconds, key=times.seconds.__getitem__, reverse=True)
    for name in slowest[:n_kernels]:
        print(f"    {times.seconds[name]:6.2f}  {times.counts[name]:3d} x  {name}", flush=True)


def report(cases: list[str], n_kernels: int = 0) -> None:
    """Print what every case costs, cold and warm."""
    print(
        "\nCPU seconds    declare to draw compiling: kernels, others; functions: kernels, all",
        flush=True,
    )
    for case in cases:
        with TemporaryDirectory() as folder:
            env = {
                **os.environ,
                "NUMBA_CACHE_DIR": f"{folder}/numba",
                "PYTENSOR_FLAGS": f"base_compiledir={folder}/pytensor",
            }
            command = [sys.executable, "-m", "tests.benchmarks.first_run", "--here", case]
            for n in (n_kernels, 0):
                subprocess.run([*command, "--kernels", str(n)], env=env, cwd=ROOT, check=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=list(CASES), metavar="case")
    parser.add_argument("--kernels", type=int, default=0)
    parser.add_argument(
        "--here", action="store_true", help="in this process, with the caches as they are"
    )
    arguments = parser.parse_args()
    if arguments.here:
        run(arguments.cases[0], arguments.kernels)
    else:
        report(arguments.cases, arguments.kernels)
