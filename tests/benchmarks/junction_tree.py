"""Nanoseconds per table cell of exact inference: ``python -m tests.benchmarks.junction_tree``.

Beside the passes stands the time to read one array of so many cells and write another, ``out = c * a``.
"""

import numpy as np

import pymc_mrf as pmrf
from pymc_mrf.fields.families import ISING
from pymc_mrf.graph.junction_tree import junction_tree
from pymc_mrf.graph.structure import as_graph
from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.junction_trees import junction_tree as kernel
from pymc_mrf.kernels.junction_trees import junction_tree_focus as focus
from tests.benchmarks.measure import best


@jit
def scale(a, c, out):
    """Read `a`, write `out`."""
    for i in range(a.shape[0]):
        out[i] = a[i] * c


@jit
def visit(tree, tables, state, order, log_table, delta):
    """Calibrate, then ask for and change every factor of `order`: the field's share of a label sweep."""
    focus.calibrate(tree, tables, state)
    for f in order:
        focus.factor_log_table(tree, state, f, log_table)
        focus.update_factor(tree, state, f, delta)


def passes(graph, strength: float = 0.3, repeats: int = 7) -> dict[str, float]:
    """Seconds of the passes over a binary graph's junction tree, and its number of cells."""
    rng = np.random.default_rng(1)
    plan = junction_tree(graph, 2)
    tree, work = plan.arrays, kernel.allocate_workspace(plan.arrays)
    eta, b = rng.normal(0, strength, graph.n_edges), rng.normal(0, strength, graph.n_nodes)
    kernel.pack_pairwise(ISING.edge_tables(eta), ISING.node_tables(b), work.tables)
    marginals, a, out = np.empty_like(work.tables), np.ones(plan.n_cells), np.ones(plan.n_cells)
    inner = max(1, 300_000 // plan.n_cells)
    seconds = {
        "copy": lambda: scale(a, 1.1, out),
        "collect": lambda: kernel.collect(tree, work.tables, work),
        "both": lambda: kernel.log_partition_and_marginals(tree, work.tables, work, marginals),
    }
    if plan.n_cells < 10**6:
        state, room = focus.allocate_focus(tree), np.empty(4)
        order = plan.factor_order[plan.factor_order < graph.n_edges]
        delta = np.array([0.01, 0.0, 0.0, 0.01])
        seconds["sweep"] = lambda: visit(tree, work.tables, state, order, room, delta)
        seconds["calibrate"] = lambda: focus.calibrate(tree, work.tables, state)
    result: dict[str, float] = {"cells": plan.n_cells}
    for name, function in seconds.items():
        function()
        result[name] = best(function, repeats, inner)
    return result


def main() -> None:
    """Print one row per graph."""
    graphs = {
        "4 x 4 grid": pmrf.graphs.grid(4, 4),
        "Senate tree": as_graph(pmrf.datasets.load_senate109(session=1).graph),
        "12 x 12 grid": pmrf.graphs.grid(12, 12),
        "16 x 16 grid": pmrf.graphs.grid(16, 16),
    }
    print("ns a cell:      cells   copy  collect   both   ms: calibrate, sweep of all edges")
    for name, graph in graphs.items():
        row = passes(graph)
        cells = row["cells"]
        copy, collect, both = (1e9 * row[key] / cells for key in ("copy", "collect", "both"))
        sweep = f"   {1e3 * row['calibrate']:.3f}, {1e3 * row['sweep']:.3f}" if "sweep" in row else ""
        print(f"{name:12s} {cells:9,.0f} {copy:6.2f} {collect:8.2f} {both:6.2f}{sweep}")


if __name__ == "__main__":
    main()
