"""What it costs to write a chain down while it runs: share of its CPU time, and bytes.

One chain of each model, with the settings of `pymc_mrf.sample`, for some time. The table goes into
``docs/_results/store_cost.md``.
"""

import argparse
import os
import tempfile
import time
import unittest.mock
from collections.abc import Callable

import numpy as np
import pymc as pm

import pymc_mrf as pmrf
from examples._report import machine, parse_sizes, table, write_fragment
from pymc_mrf.runs.chain import ChainWriter, Plan, run_chain
from pymc_mrf.runs.prepare import prepare
from pymc_mrf.runs.store import Run, Store

DRAWS = 100_000  # more than there is time for
NODES, ROWS = 40, 400


def senate() -> pm.Model:
    """Declare a model of the groups of 279 edges."""
    data = pmrf.datasets.load_senate109(session=1)
    with pm.Model(coords=pmrf.coords(data.graph)) as model:
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Uniform.dist(0, 1), dims="edge")
        pmrf.AgreementMRF("x", theta, graph=data.graph, observed=data.x)
    return model


def structure() -> pm.Model:
    """Declare a model of the presence of 780 edges, under the pseudo-likelihood."""
    rng = np.random.default_rng(0)
    graph = pmrf.graphs.complete(NODES)
    with pm.Model(coords=pmrf.coords(graph)) as model:
        weight = pmrf.SpikeAndSlab("weight", 0.1, pm.Normal.dist(0, 1), dims="edge")
        bias = pm.Normal("bias", 0, 1, dims="node")
        data = rng.integers(0, 2, (ROWS, NODES))
        pmrf.BoltzmannMachine("x", weight, bias, graph=graph, observed=data, likelihood="pseudo")
    return model


MODELS: dict[str, Callable[[], pm.Model]] = {
    "Senate, groups of 279 edges": senate,
    "40 nodes, presence of 780 edges": structure,
}


def measure(make: Callable[[], pm.Model], seconds: float) -> list[str]:
    """Run a chain for some time: draws, writings, share of the CPU time, bytes of draws and state."""
    prepared = prepare(make(), seed=1, chains=1, tune=0, quiet=True)
    costs: list[float] = []
    write = ChainWriter.write

    def timed(self, point, step):
        began = time.process_time()
        write(self, point, step)
        costs.append(time.process_time() - began)

    with tempfile.TemporaryDirectory() as location:
        store = Store(location)
        store.begin(Run(1, 0, DRAWS, 1, 1, {}, {}), {})
        start, rng = prepared.starts[0], prepared.rngs[0]
        state = prepared.step.sampling_state
        plan = Plan(location, 0, 0, DRAWS, prepared.step, state, start, rng, prepared.trace)
        # the first time PyMC, xarray and zarr are slow
        run_chain(plan, lambda news: True)
        first, began = store.head(0).n, time.process_time()
        end = time.monotonic() + seconds
        with unittest.mock.patch.object(ChainWriter, "write", timed):
            run_chain(plan, lambda news: time.monotonic() > end)
        total, n = time.process_time() - began, store.head(0).n
        folder = os.path.join(location, "chain-0")
        sizes = {name: os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder)}
    of_draws = sum(size for name, size in sizes.items() if name.startswith("draws")) / n
    [of_state] = [size for name, size in sizes.items() if name.startswith("state")]
    return [
        f"{n - first:,}",
        f"{len(costs)}",
        f"{np.mean(costs):.2f} s",
        f"{sum(costs) / total:.1%}",
        f"{of_draws:,.0f}",
        f"{of_state:,}",
    ]


def main(argv: list[str] | None = None) -> None:
    """Measure all models and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=12.0)
    args = parse_sizes(parser, argv, seconds=100.0)
    header = ["Model", "draws", "writings", "CPU time of one", "share of CPU time"]
    header += ["bytes per draw", "bytes of the state"]
    rows = [[name, *measure(make, args.seconds)] for name, make in MODELS.items()]
    text = table(header, rows)
    text += f"\nOne chain of each model for {args.seconds:.0f} seconds. {machine()}.\n"
    write_fragment(text, args.output, "store_cost.md")


if __name__ == "__main__":
    main()
