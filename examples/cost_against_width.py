"""What exact inference costs: time of log-partition and all marginals against the treewidth of a grid.

Also measures the package's speed ratios (the functions of ``tests/benchmarks``) and writes both, with a
figure, for the documentation.
"""

import argparse
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import pymc_mrf as pmrf
from examples._report import machine, table
from pymc_mrf.fields.families import ISING
from pymc_mrf.fields.pairwise import PairwiseField
from pymc_mrf.graph.junction_tree import AUTO_CELLS, MAX_CELLS
from tests.benchmarks.measure import exact_gibbs_sweeps, grid_marginals, import_time

BLUE, GREY = "#0072B2", "#666666"


def measure_grid(side: int, repeats: int) -> dict:
    """Costs of one binary grid with random couplings: plan, memory, best time of `repeats` passes."""
    rng = np.random.default_rng(side)
    graph = pmrf.graphs.grid(side, side)
    couplings, fields = rng.normal(0, 0.5, graph.n_edges), rng.normal(0, 0.5, graph.n_nodes)
    start = time.perf_counter()
    field = PairwiseField(graph, ISING.edge_tables(couplings), ISING.node_tables(fields))
    tree = field.junction_tree
    _ = tree.arrays
    plan = time.perf_counter() - start
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        field.exact_marginals()
        times.append(time.perf_counter() - start)
    return {
        "side": side,
        "width": tree.width,
        "cells": tree.n_cells,
        "bytes": tree.n_bytes,
        "plan": plan,
        "seconds": min(times),
        "log_partition": field.log_partition(),
    }


def draw_figure(costs: list[dict], path: Path) -> None:
    """Milliseconds per pass against width, on a logarithmic axis."""
    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    width = [cost["width"] for cost in costs]
    axes.semilogy(width, [1e3 * cost["seconds"] for cost in costs], "o-", color=BLUE)
    cheap = max(cost["width"] for cost in costs if cost["cells"] <= AUTO_CELLS)
    axes.axvline(cheap + 0.5, color=GREY, ls="--", lw=1)
    axes.annotate(
        'left of the line: exact under likelihood="auto"',
        (cheap + 0.35, 0.02),
        xycoords=("data", "axes fraction"),
        ha="right",
        color=GREY,
        fontsize=9,
    )
    axes.set(
        xlabel="width of the junction tree (side of the grid)",
        ylabel="log-partition and all marginals, ms",
        xticks=width,
    )
    axes.grid(alpha=0.25)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def ratios() -> str:
    """Return the benchmarks of ``tests/benchmarks`` as a table."""
    marginals = grid_marginals()
    sweeps = exact_gibbs_sweeps()
    imports = import_time()
    return table(
        ["what", "this package", "compared with", "ratio or difference"],
        [
            [
                "all edge marginals, 4 x 4 binary grid",
                f"{1e6 * marginals['kernel']:.1f} µs",
                f"pyAgrum {marginals['version']}, ShaferShenoyMRFInference: "
                f"{1e3 * marginals['pyagrum']:.2f} ms",
                f"{marginals['pyagrum'] / marginals['kernel']:.0f} times faster",
            ],
            [
                "100 ExactGibbs steps, 4 x 4 grid, n = 1000",
                f"{sweeps['seconds']:.3f} s",
                f"Gibbs_ExactL of Liu & Page (2013, Table 1), their machine: {sweeps['paper']:,.0f} s",
                f"{sweeps['paper'] / sweeps['seconds']:,.0f} times faster",
            ],
            [
                "import",
                f"`import pymc; import pymc_mrf`: {imports['both']:.2f} s",
                f"`import pymc`: {imports['pymc']:.2f} s",
                f"adds {imports['both'] - imports['pymc']:.2f} s",
            ],
        ],
    )


def main(argv: list[str] | None = None) -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sides", type=int, nargs="+", default=list(range(4, 17)))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--output", type=Path, default=Path("docs"), help="folder of _results and figures"
    )
    arguments = parser.parse_args(argv)
    measure_grid(3, 1)  # compiles
    costs = [measure_grid(side, arguments.repeats) for side in arguments.sides]
    grids = table(
        [
            "grid",
            "width",
            "table cells",
            "memory, MB",
            "planning, ms",
            "all marginals, ms",
            "log-partition",
        ],
        [
            [
                f"{cost['side']} x {cost['side']}",
                cost["width"],
                f"{cost['cells']:,}",
                f"{cost['bytes'] / 1e6:.3g}",
                f"{1e3 * cost['plan']:.3g}",
                f"{1e3 * cost['seconds']:.3g}",
                f"{cost['log_partition']:.6f}",
            ]
            for cost in costs
        ],
    )
    text = (
        f"### Speed ratios\n\n{ratios()}\n"
        "Times are the best of several repetitions after compilation; the other program and this one ran "
        "one after the other on the same machine, on the same field.\n\n"
        "### Exact inference against treewidth\n\n"
        f"Binary grids with random couplings and fields; best of {arguments.repeats} passes on one core. "
        f'`likelihood="auto"` is exact up to {AUTO_CELLS:,} table cells; beyond {MAX_CELLS:,} cells the '
        f"exact likelihood is refused.\n\n{grids}\n"
        f"Made by `examples/cost_against_width.py`. Machine: {machine()}.\n"
    )
    print(text)
    for folder in ("_results", "figures"):
        (arguments.output / folder).mkdir(parents=True, exist_ok=True)
    (arguments.output / "_results" / "benchmarks.md").write_text(text)
    picture = arguments.output / "figures" / "cost_against_width.png"
    draw_figure(costs, picture)
    print(f"figure: {picture}")


if __name__ == "__main__":
    plt.switch_backend("Agg")
    main()
