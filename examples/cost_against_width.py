"""What exact inference costs: time of log-partition and all marginals against the treewidth of a grid.

Also measures the package's speed ratios (the functions of ``tests/benchmarks``) and writes both, with a
figure, for the documentation.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import pymc_mrf as pmrf
from examples._report import machine, save_figure, table, two_digits, write_fragment
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
    }


def draw_figure(costs: list[dict]) -> Figure:
    """Milliseconds per pass against treewidth and against table cells."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    milliseconds = [1e3 * cost["seconds"] for cost in costs]
    sides = [cost["side"] for cost in costs]
    left.semilogy(sides, milliseconds, "o-", color=BLUE)
    left.set(
        xlabel="treewidth of the grid (its side)",
        ylabel="log-partition and all marginals, ms",
        xticks=sides,
    )
    right.loglog([cost["cells"] for cost in costs], milliseconds, "o-", color=BLUE)
    right.axvline(AUTO_CELLS, color=GREY, ls="--", lw=1)
    right.annotate(
        'likelihood="auto"\nis exact left of here',
        (AUTO_CELLS * 0.8, 0.03),
        xycoords=("data", "axes fraction"),
        ha="right",
        color=GREY,
        fontsize=9,
    )
    right.set(xlabel="cells of the junction tree's tables")
    for axes in (left, right):
        axes.grid(alpha=0.25)
    return figure


def ratios() -> str:
    """Return the benchmarks of ``tests/benchmarks`` as a table."""
    marginals = grid_marginals()
    sweeps = exact_gibbs_sweeps()
    imports = import_time()
    return table(
        ["what", "this package", "compared with", "ratio or difference"],
        [
            *[
                [
                    "all edge marginals, 4 x 4 binary grid, per field of a batch of 1000",
                    f"{1e6 * marginals['kernel']:.1f} µs",
                    f"pyAgrum {marginals['version']}, ShaferShenoyMRFInference, {label}: "
                    f"{1e3 * marginals[key]:.2f} ms",
                    f"{marginals[key] / marginals['kernel']:.0f} times faster",
                ]
                for label, key in (
                    ("made beforehand, run once", "pyagrum"),
                    ("made and run", "pyagrum_created"),
                    ("run again after a change of evidence", "pyagrum_evidence"),
                )
            ],
            [
                "the same, called from Python for each field",
                f"{1e6 * marginals['single']:.1f} µs",
                f"pyAgrum, made and run: {1e3 * marginals['pyagrum_created']:.2f} ms",
                f"{marginals['pyagrum_created'] / marginals['single']:.0f} times faster",
            ],
            [
                "the same from the tables, planning included",
                f"{1e3 * marginals['field']:.2f} ms",
                f"pyAgrum, made and run: {1e3 * marginals['pyagrum_created']:.2f} ms",
                f"ratio {marginals['pyagrum_created'] / marginals['field']:.1f}",
            ],
            [
                "100 GroupGibbs steps, 4 x 4 grid, n = 1000",
                f"{sweeps['seconds']:.3f} s",
                f"Gibbs_ExactL of Liu & Page (2013, Table 1), their machine: {sweeps['paper']:,.0f} s",
                f"about {two_digits(sweeps['paper'] / sweeps['seconds'])} times faster",
            ],
            [
                "import",
                f"`import pymc; import pymc_mrf`: {imports['both']:.2f} s",
                f"`import pymc`: {imports['pymc']:.2f} s",
                f"adds {imports['both'] - imports['pymc']:.2f} s "
                f"({imports['both'] / imports['pymc'] - 1:.0%})",
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
    load = os.getloadavg()[0]  # other programs slow all of this down
    measure_grid(3, 1)  # compiles
    costs = [measure_grid(side, arguments.repeats) for side in arguments.sides]
    header = ["grid", "treewidth", "width of the tree used", "table cells", "memory, MB", "planning, ms"]
    grids = table(
        [*header, "all marginals, ms"],
        [
            [
                f"{cost['side']} x {cost['side']}",
                cost["side"],
                cost["width"],
                f"{cost['cells']:,}",
                f"{cost['bytes'] / 1e6:.3g}",
                f"{1e3 * cost['plan']:.3g}",
                f"{1e3 * cost['seconds']:.3g}",
            ]
            for cost in costs
        ],
    )
    text = (
        f"### Speed ratios\n\n{ratios()}\n"
        "Marginals: the best of 20 repetitions after compilation, both programs on the same field and "
        "machine, one after the other. The kernel keeps its junction tree between parameter vectors. "
        "GroupGibbs: one run; the paper's time is of its authors' machine. Imports: medians of 11 fresh "
        "interpreters.\n\n"
        "### Exact inference against treewidth\n\n"
        f"Binary grids with random couplings and fields; best of {arguments.repeats} passes on one core, the "
        "allocation of the tables included. The elimination order is chosen for the fewest table cells, "
        "which may make the tree wider than the treewidth. "
        f'`likelihood="auto"` is exact up to {AUTO_CELLS:,} table cells; beyond {MAX_CELLS:,} cells the '
        f"exact likelihood is refused.\n\n{grids}\n"
        f"Made by `examples/cost_against_width.py`. Machine: {machine()}; load average at the start "
        f"{load:.1f}.\n"
    )
    write_fragment(text, arguments.output, "benchmarks.md")
    save_figure(draw_figure(costs), arguments.output, "cost_against_width.png")


if __name__ == "__main__":
    main()
