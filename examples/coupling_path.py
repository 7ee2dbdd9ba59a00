"""One coupling of hidden pictures by `likelihood="path"`, beside the exchange step.

Pictures are drawn from a Potts model, noise is added, and the coupling, the grey level of each class and the
noise are sampled together with the classes of all pixels. Writes a table for the documentation.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

import arviz as az
import numpy as np
import pymc as pm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pymc_mrf as pmrf
from examples._report import machine, parse_sizes, table, write_fragment
from pymc_mrf.kernels.swendsen_wang import swendsen_wang_sweeps
from pymc_mrf.likelihood.path_simulation import simulate_path

NOISE = 0.5
SWEEPS = 300  # of a picture, from one class everywhere
LIKELIHOODS = ("path", "particles")


def picture(graph, n_states: int, coupling: float, rng: np.random.Generator) -> np.ndarray:
    """Grey values of all pixels, with noise."""
    x = np.zeros((1, graph.n_nodes), dtype=np.int8)
    couplings, none = np.full(graph.n_edges, coupling), np.zeros((graph.n_nodes, n_states))
    swendsen_wang_sweeps(x, np.ascontiguousarray(graph.edges), couplings, none, SWEEPS, rng)
    return x[0] + rng.normal(0, NOISE, graph.n_nodes)


def hidden_picture(graph, n_states: int, y: np.ndarray, likelihood: str) -> pm.Model:
    """Coupling, levels, noise and classes."""
    with pm.Model() as model:
        coupling = pm.HalfNormal("coupling", 1)
        level = pm.Normal("level", np.arange(n_states), 1, shape=n_states, initval=np.arange(n_states))
        noise = pm.HalfNormal("noise", 1)
        x = pmrf.Potts("x", coupling, graph=graph, n_states=n_states, likelihood=likelihood)
        pm.Normal("y", level[x], noise, observed=y)
    return model


def rows_of(side: int, n_states: int, coupling: float, draws: int, tune: int) -> list[list]:
    """Sample one picture under both likelihoods."""
    graph = pmrf.graphs.grid(side, side)
    y = picture(graph, n_states, coupling, np.random.default_rng(1))
    simulate_path(pmrf.graphs.grid(2, 2), n_states, 1, False)  # compiles
    start = time.process_time()
    simulate_path(graph, n_states, 1, False)
    simulation = time.process_time() - start
    rows = []
    for likelihood in LIKELIHOODS:
        model = hidden_picture(graph, n_states, y, likelihood)
        for n in (5, draws):  # compiles at first
            start = time.process_time()
            with model, warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                idata = pm.sample(
                    n,
                    tune=min(n, tune),
                    chains=2,
                    cores=1,
                    random_seed=2,
                    progressbar=False,
                    quiet=True,
                    compute_convergence_checks=False,
                )
            seconds = time.process_time() - start
        draw = idata.posterior["coupling"].values
        size = float(az.ess(draw))
        set_up = f"{simulation:.1f}" if likelihood == "path" else ""
        moments = f"{draw.mean():.4f} ({float(az.mcse(draw)):.4f})", f"{draw.std():.4f}"
        rows.append([f"{side} x {side}, K = {n_states}", coupling, likelihood, *moments, f"{size:.0f}"])
        rows[-1] += [set_up, f"{seconds:.0f}", f"{size / seconds:.1f}"]
    return rows


def main(argv: list[str] | None = None) -> None:
    """Sample all pictures, write the fragment."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--sides", type=int, nargs="+", default=[16], help="rows and columns of pictures"
    )
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--tune", type=int, default=200)
    arguments = parse_sizes(parser, argv, sides=[32, 48], draws=400, tune=200)
    cases = zip(arguments.sides, (2, 3), (0.8, 0.9), strict=False)
    rows = [row for case in cases for row in rows_of(*case, arguments.draws, arguments.tune)]
    header = ["picture", "coupling", "likelihood", "posterior mean", "sd", "bulk ESS"]
    header += ["s to simulate", "s to sample", "ESS per s"]
    text = table(header, rows) + (
        f"\nMonte Carlo errors in brackets. 2 chains of {arguments.tune} tuning steps and {arguments.draws} "
        "draws; seconds are CPU time, without compilation, and the simulation of a path is needed once per "
        f"graph.\n\nMade by `examples/coupling_path.py`. Machine: {machine()}.\n"
    )
    write_fragment(text, arguments.output, "coupling_path.md")


if __name__ == "__main__":
    main()
