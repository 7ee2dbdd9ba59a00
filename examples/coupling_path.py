"""One coupling of hidden pictures by `likelihood="path"`, beside the exchange step; also with a field.

Pictures are drawn from a Potts model, noise is added, and the coupling, the grey level of each class and
the noise are sampled together with the classes of all pixels; in one of them the log weight of the second
class as well. Writes a table for the documentation.
"""

import argparse
import sys
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import arviz as az
import numpy as np
import pymc as pm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pymc_mrf as pmrf
from examples._report import SILENT, machine, parse_sizes, table, write_fragment
from pymc_mrf.kernels.simulation.swendsen_wang import swendsen_wang_sweeps
from pymc_mrf.likelihood.path.coupling_path import simulate_path
from pymc_mrf.likelihood.path.field_grid import simulate_grid

NOISE = 0.5
SWEEPS = 300  # of a picture, from one class everywhere
LIKELIHOODS = ("path", "particles")


@dataclass(frozen=True)
class Case:
    """A picture to be drawn; `field` is the log weight of class 1, None if there is none."""

    side: int
    n_states: int
    coupling: float
    field: float | None = None


CASES = (Case(32, 2, 0.8), Case(48, 3, 0.9), Case(32, 2, 0.7, 0.05), Case(64, 2, 0.8))


def picture(graph, case: Case, rng: np.random.Generator) -> np.ndarray:
    """Grey values of all pixels, with noise."""
    x = np.zeros((1, graph.n_nodes), dtype=np.int8)
    couplings, evidence = np.full(graph.n_edges, case.coupling), np.zeros((graph.n_nodes, case.n_states))
    evidence[:, 1] = case.field or 0.0
    swendsen_wang_sweeps(x, np.ascontiguousarray(graph.edges), couplings, evidence, SWEEPS, rng)
    return x[0] + rng.normal(0, NOISE, graph.n_nodes)


def hidden_picture(graph, case: Case, y: np.ndarray, likelihood: str) -> pm.Model:
    """Coupling, field, levels, noise and classes."""
    K = case.n_states
    with pm.Model() as model:
        coupling, field = pm.HalfNormal("coupling", 1), 0.0
        if case.field is not None:
            field = pm.math.stack([0.0, pm.Normal("field", 0, 1)])
        level = pm.Normal("level", np.arange(K), 1, shape=K, initval=np.arange(K))
        noise = pm.HalfNormal("noise", 1)
        x = pmrf.Potts("x", coupling, field, graph=graph, n_states=K, likelihood=likelihood)
        pm.Normal("y", level[x], noise, observed=y)
    return model


def simulated(graph, case: Case) -> None:
    """Simulate what the path needs."""
    weights = np.ones(graph.n_edges)
    if case.field is None:
        simulate_path(graph, weights, case.n_states, 1, False)
    else:
        simulate_grid(graph, weights, case.n_states, 1)


def rows_of(case: Case, draws: int, tune: int) -> list[list]:
    """Sample one picture under both likelihoods."""
    graph = pmrf.graphs.grid(case.side, case.side)
    y = picture(graph, case, np.random.default_rng(1))
    simulated(pmrf.graphs.grid(2, 2), case)  # compiles
    start = time.process_time()
    simulated(graph, case)
    simulation = time.process_time() - start
    rows = []
    for likelihood in LIKELIHOODS:
        model = hidden_picture(graph, case, y, likelihood)
        for n in (5, draws):  # compiles at first
            start = time.process_time()
            with model, warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                idata = pm.sample(
                    n,
                    tune=min(n, tune),
                    chains=2,
                    random_seed=2,
                    **SILENT,
                )
            seconds = time.process_time() - start
        set_up = f"{simulation:.1f}" if likelihood == "path" else ""
        for name in ["coupling"] if case.field is None else ["coupling", "field"]:
            draw = idata.posterior[name].values
            size = float(az.ess(draw))
            label = f"{case.side} x {case.side}, K = {case.n_states}"
            moments = f"{draw.mean():.4f} ({float(az.mcse(draw)):.4f})", f"{draw.std():.4f}"
            rows.append([label, name, getattr(case, name), likelihood, *moments, f"{size:.0f}"])
            rows[-1] += [set_up, f"{seconds:.0f}", f"{size / seconds:.1f}"]
    return rows


def main(argv: list[str] | None = None) -> None:
    """Sample all pictures, write the fragment."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--sides", type=int, nargs="+", default=[16, 16, 16], help="rows and columns of pictures"
    )
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--tune", type=int, default=200)
    sides = [case.side for case in CASES]
    arguments = parse_sizes(parser, argv, sides=sides, draws=400, tune=200)
    cases = [replace(case, side=side) for case, side in zip(CASES, arguments.sides, strict=False)]
    rows = [row for case in cases for row in rows_of(case, arguments.draws, arguments.tune)]
    header = ["picture", "parameter", "value", "likelihood", "posterior mean", "sd", "bulk ESS"]
    header += ["s to simulate", "s to sample", "ESS per s"]
    text = table(header, rows) + (
        f"\nMonte Carlo errors in brackets. 2 chains of {arguments.tune} tuning steps and {arguments.draws} "
        "draws; seconds are CPU time, without compilation, and the simulation of a path is needed once per "
        f"graph.\n\nMade by `examples/coupling_path.py`. Machine: {machine()}.\n"
    )
    write_fragment(text, arguments.output, "coupling_path.md")


if __name__ == "__main__":
    main()
