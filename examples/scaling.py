"""How a run scales with the workers of a cluster, and the memory that a chain takes.

The CPU time of the same chains on one and on two workers of this machine (strong scaling), and of as many
chains as there are workers (weak scaling); then the schedule of chains that take as long on more workers than
there are here. Wall-clock times would tell of other processes, too.
The tables go into ``docs/_results/scaling.md`` and ``docs/_results/scaling_memory.md``.
"""

import argparse
import heapq
import re
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import numpy as np
import pymc as pm
from distributed import Client, LocalCluster

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pymc_mrf as pmrf
from examples._report import machine, parse_sizes, table, write_fragment
from examples.store_cost import senate, structure

MORE = (1, 2, 4, 8, 16)
SAMPLE = {
    "tune": 0,
    "random_seed": 1,
    "progressbar": False,
    "quiet": True,
    "compute_convergence_checks": False,
}


def picture(side: int) -> pm.Model:
    """Declare a hidden Potts field with one unknown coupling, by exchange."""
    graph = pmrf.graphs.grid(side, side)
    rng = np.random.default_rng(0)
    with pm.Model() as model:
        coupling = pm.HalfNormal("coupling", 1)
        z = pmrf.Potts("z", coupling, graph=graph, n_states=3, likelihood="particles")
        pm.Normal(
            "y", z, 0.8, observed=rng.integers(0, 3, graph.n_nodes) + rng.normal(0, 0.8, graph.n_nodes)
        )
    return model


def cpu_seconds() -> float:
    """CPU time of this process so far."""
    return time.process_time()


def measure(client: Client, model: pm.Model, draws: int, chains: int) -> tuple[float, float]:
    """CPU seconds of a call, here and on all workers."""
    before, began = client.run(cpu_seconds), cpu_seconds()
    with tempfile.TemporaryDirectory() as location:
        pmrf.sample(draws, chains=chains, model=model, client=client, store=location, **SAMPLE)
    here, after = cpu_seconds() - began, client.run(cpu_seconds)
    return here, sum(after[worker] - before[worker] for worker in before)


def schedule(seconds: list[float], workers: int) -> float:
    """Time until the last chain ends, each worker taking the next when it is free."""
    busy = [0.0] * workers
    for time_of_chain in seconds:
        heapq.heappush(busy, heapq.heappop(busy) + time_of_chain)
    return max(busy)


def scaling(draws: int, chains: int) -> str:
    """Tables of the CPU time that chains take on one and two workers, and of their schedule on more."""
    model, measured = structure(), {}
    for workers in (1, 2):
        with (
            LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            client.run(load_packages)
            measure(client, model, 10, 2 * workers)  # what is compiled is on the disk from here on
            for n in sorted({chains, workers}):
                measured[workers, n] = measure(client, model, draws, n)
    rows = [
        [workers, n, f"{on_workers:.1f} s", f"{on_workers / n:.2f} s", f"{here:.1f} s"]
        for (workers, n), (here, on_workers) in sorted(measured.items())
    ]
    header = ["workers", "chains", "CPU time of workers", "of a chain", "of the process that samples"]
    text = table(header, rows)
    here, on_workers = measured[1, chains]
    chain = on_workers / chains
    text += (
        f"\n{draws:,} draws of each chain of a field of 40 nodes and 780 possible edges. If each worker "
    )
    text += (
        f"has a core of its own, as many workers take (schedule of chains of {chain:.1f} s each after "
    )
    text += f"{here:.1f} s in the process that samples):\n\n"
    alone, rows = here + schedule([chain] * MORE[-1], 1), []
    for workers in MORE:
        strong = here + schedule([chain] * MORE[-1], workers)
        weak = here + schedule([chain] * workers, workers)
        rows.append([workers, f"{strong:.1f} s", f"{alone / strong:.1f}", f"{weak:.1f} s"])
    text += table(["workers", f"{MORE[-1]} chains", "times as fast", "one chain per worker"], rows)
    return text + f"\n{machine()}.\n"


def peak() -> float:
    """Memory that this process has had at most, in MB."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024  # getrusage has that of the parent


def load_packages() -> None:
    """Import what a chain needs."""
    import_module("pymc_mrf.runs.sample")


def memory(draws: int, side: int) -> str:
    """Table of the memory of a worker with one chain."""
    models: dict[str, Callable[[], pm.Model]] = {
        "Senate, groups of 279 edges": senate,
        "40 nodes, presence of 780 edges": structure,
        f"hidden picture of {side} x {side}, three classes": lambda: picture(side),
    }
    rows = []
    for name, make in models.items():
        with (
            LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            client.run(load_packages)
            [before] = client.run(peak).values()
            measure(client, make(), draws, 1)
            [after] = client.run(peak).values()
        rows.append([name, f"{before:.0f} MB", f"{after:.0f} MB"])
    text = table(["Model", "worker that has imported all", "at most, with a chain"], rows)
    return text + f"\nOne chain of {draws} draws. {machine()}.\n"


def main(argv: list[str] | None = None) -> None:
    """Measure, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--side", type=int, default=32)
    args = parse_sizes(parser, argv, draws=1000, chains=4, side=128)
    write_fragment(scaling(args.draws, args.chains), args.output, "scaling.md")
    write_fragment(memory(20, args.side), args.output, "scaling_memory.md")


if __name__ == "__main__":
    main()
