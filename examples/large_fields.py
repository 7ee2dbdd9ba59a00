"""Modes and bounds of large fields: how long they take, and how far local methods stay behind graph cuts.

Pictures of stripes with K grey levels, a unit apart, under Gaussian noise, and the mode of a Potts field on
their pixels, with coupling 1 (1/2 with diagonal neighbours). Upper bounds on the log-partition function are
those of binary fields with coupling 1/2. CPU times go into ``docs/_results/large_fields_modes.md`` and
``docs/_results/large_fields_bounds.md``.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import pymc_mrf as pmrf
from examples._report import machine, parse_sizes, table, write_fragment

PICTURES = {4: [(2, 1.0), (2, 3.0), (3, 1.0), (5, 1.0)], 8: [(2, 1.0), (5, 1.0)]}
"""Grey levels and noise, by the number of neighbours."""


def timed(call: Callable, *args: Any, **kwargs: Any) -> tuple[Any, float]:
    """Return the result and the seconds of CPU time."""
    begin = time.process_time()
    result = call(*args, **kwargs)
    return result, time.process_time() - begin


def picture(graph: pmrf.PairwiseGraph, side: int, levels: int, noise: float, coupling: float):
    """Field of a noisy picture."""
    rows, columns = np.mgrid[:side, :side]
    truth = ((rows + columns) * 10 // side % levels).ravel()
    seen = truth + np.random.default_rng(0).normal(0, noise, truth.size)
    tables = -((seen[:, None] - np.arange(levels)) ** 2) / (2 * noise**2)
    return pmrf.PairwiseField(graph, np.tile(coupling * np.eye(levels), (graph.n_edges, 1, 1)), tables)


def modes(side: int, iterations: int) -> str:
    """Table of the modes of all pictures, by every method."""
    rows = []
    for neighbors, pictures in PICTURES.items():
        graph = pmrf.graphs.grid(side, side, diagonal=neighbors == 8)
        _ = graph.arrays  # that of message passing and of single nodes
        for levels, noise in pictures:
            field = picture(graph, side, levels, noise, 4.0 / neighbors)
            best = None
            for method, options in (("cut", {}), ("bp", {"max_iterations": iterations}), ("icm", {})):
                mode, seconds = timed(field.mode, method, **options)
                best = best or mode
                behind = (best.log_potential - mode.log_potential) / graph.n_nodes
                name = f"{levels} levels, noise {noise:g}, {neighbors} neighbours"
                rows.append([name, f'`"{method}"`', mode.promise, f"{seconds:.1f}", f"{behind:.4f}"])
    header = [
        "Picture",
        "`method`",
        "promise",
        "CPU seconds",
        "log potential below the cut's, per pixel",
    ]
    note = (
        f"{side} x {side} pixels, Potts fields of coupling 1, or 1/2 with 8 neighbours. At most {iterations} "
        f'iterations of `"bp"`. {machine()}.'
    )
    return f"{table(header, rows)}\n{note}\n"


def bounds(sides: list[int]) -> str:
    """Table of the edge probabilities and the upper bounds of square lattices."""
    rows = []
    for side in sides:
        graph = pmrf.graphs.grid(side, side)
        probabilities, planning = timed(pmrf.estimation.edge_appearance_probabilities, graph)
        fields = 0.3 * np.random.default_rng(0).normal(size=(graph.n_nodes, 2))
        ising = 0.5 * np.array([[1.0, -1.0], [-1.0, 1.0]])
        field = pmrf.PairwiseField(graph, np.tile(ising, (graph.n_edges, 1, 1)), fields)
        bound, seconds = timed(
            pmrf.estimation.tree_reweighted_bound,
            field,
            edge_probabilities=probabilities,
            tolerance=1e-6,
        )
        rows.append([f"{side} x {side}", f"{planning:.1f}", f"{seconds:.1f}", bound.n_iterations])
    header = ["Lattice", "edge probabilities, CPU seconds", "messages, CPU seconds", "iterations"]
    return f"{table(header, rows)}\nTo a tolerance of 1e-6. {machine()}.\n"


def main(argv: list[str] | None = None) -> None:
    """Measure, and write the fragments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", type=int, default=60)
    parser.add_argument("--iterations", type=int, default=20)
    args = parse_sizes(parser, argv, side=500)
    modes(8, 1), bounds([8])  # compiles
    write_fragment(modes(args.side, args.iterations), args.output, "large_fields_modes.md")
    write_fragment(bounds([args.side // 5, args.side]), args.output, "large_fields_bounds.md")


if __name__ == "__main__":
    main()
