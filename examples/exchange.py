"""The exchange step on fields of intractable partition function: three short models, a table of errors.

A shared coupling and a regression of the couplings on a covariate, on a grid too wide for a junction tree; a
hierarchical Ising model over groups of subjects, compared with the exact likelihood; and how far a posterior
is off when auxiliary data come from a few Gibbs sweeps instead of exact draws.
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
from pymc_mrf.fields.families import ISING

SAMPLE = {"chains": 2, "cores": 1, "progressbar": False, "quiet": True}
CRITICAL = 0.4407  # coupling at which the infinite square lattice orders


def simulate(graph, coupling, n: int, seed: int) -> np.ndarray:
    """Draw n rows of an Ising model."""
    return pm.draw(pmrf.Ising.dist(coupling, graph=graph, size=(n,), n_sweeps=300), random_seed=seed)


def shared_coupling(graph, x) -> pm.Model:
    """One coupling for all edges."""
    with pm.Model() as model:
        coupling = pm.Normal("coupling", 0, 1)
        pmrf.Ising("x", coupling, graph=graph, observed=x)
    return model


def regression(graph, x, covariate) -> pm.Model:
    """Couplings that depend on a covariate of the edge."""
    with pm.Model() as model:
        b0, b1 = pm.Normal("b0", 0, 1), pm.Normal("b1", 0, 1)
        pmrf.Ising("x", b0 + b1 * covariate, graph=graph, observed=x)
    return model


def hierarchy(graph, groups, likelihood: str) -> pm.Model:
    """Build one coupling per group of subjects, all from one normal distribution."""
    with pm.Model() as model:
        mean = pm.Normal("mean", 0, 0.5)
        spread = pm.HalfNormal("spread", 0.3)
        coupling = pm.Normal("coupling", mean, spread, shape=len(groups))
        for g, x in enumerate(groups):
            pmrf.Ising(f"x{g}", coupling[g], graph=graph, observed=x, likelihood=likelihood)
    return model


def fit(model: pm.Model, draws: int, tune: int, seed: int):
    """Sample, by whatever steps PyMC chooses; return draws and seconds."""
    start = time.perf_counter()
    with model:
        idata = pm.sample(draws, tune=tune, random_seed=seed, **SAMPLE)
    return idata, time.perf_counter() - start


def wide_grids(side: int, n: int, draws: int, tune: int) -> str:
    """Table of the two models that no junction tree serves."""
    graph = pmrf.graphs.grid(side, side)
    covariate = np.random.default_rng(2).standard_normal(graph.n_edges)
    cases = [
        (shared_coupling(graph, simulate(graph, 0.3, n, 3)), "one shared coupling", {"coupling": 0.3}),
        (
            regression(graph, simulate(graph, 0.2 + 0.15 * covariate, n, 4), covariate),
            "b0 + b1 covariate",
            {"b0": 0.2, "b1": 0.15},
        ),
    ]
    rows = []
    for model, label, truth in cases:
        idata, seconds = fit(model, draws, tune, 5)
        for name, value in truth.items():
            draw = idata.posterior[name].values
            mean, sd = f"{draw.mean():.4f}", f"{draw.std():.4f}"
            rows.append([label, name, value, mean, sd, f"{az.ess(draw):.0f}", f"{seconds:.0f}"])
    header = ["couplings", "parameter", "truth", "posterior mean", "sd", "bulk ESS", "seconds"]
    return table(header, rows) + (
        f"\nIsing models on a {side} x {side} grid ({graph.n_edges} edges), {n} observations each; 2 chains "
        f"of {tune} tuning steps and {draws} draws; auxiliary data by 20 Gibbs sweeps; compilation "
        "included.\n"
    )


def hierarchical(n_groups: int, n: int, draws: int, tune: int) -> str:
    """Table of the hierarchical model, by exchange beside NUTS and by the exact likelihood."""
    graph = pmrf.graphs.grid(4, 4)
    truth = np.random.default_rng(6).normal(0.25, 0.1, n_groups)
    groups = [simulate(graph, J, n, 10 + g) for g, J in enumerate(truth)]
    exact, exact_seconds = fit(hierarchy(graph, groups, "exact"), draws, tune, 7)
    idata, seconds = fit(hierarchy(graph, groups, "particles"), 2 * draws, tune, 7)
    rows = []
    for name in ("mean", "spread", *(f"coupling[{g}]" for g in range(n_groups))):
        row = [name]
        for result in (exact, idata):
            draw = result.posterior[name.split("[")[0]].values
            draw = draw[..., int(name[-2])] if name.endswith("]") else draw
            row += [f"{draw.mean():.3f} ({draw.std():.3f})", f"{az.ess(draw):.0f}"]
        rows.append(row)
    header = ["parameter", "exact likelihood, NUTS", "bulk ESS", "Exchange and NUTS", "bulk ESS"]
    return table(header, rows) + (
        f"\nPosterior mean (sd). {n_groups} groups of {n} subjects on a 4 x 4 grid; hyperparameters by NUTS "
        "in both columns, couplings by `Exchange` with exact auxiliary draws in the second. "
        f"{exact_seconds:.0f} s and {seconds:.0f} s, compilation included.\n"
    )


def bias(side: int, n: int, n_steps: int, tune: int) -> str:
    """Table of the error of the posterior against the number of auxiliary sweeps."""
    graph = pmrf.graphs.grid(side, side)
    x = simulate(graph, CRITICAL, n, 1)
    u, v = graph.edges.T
    agreement = float((x[:, u] * x[:, v]).sum())
    grid = np.linspace(0.2, 0.7, 161)
    fields = [ISING.edge_tables(np.full(graph.n_edges, J)) for J in grid]
    log_z = [pmrf.PairwiseField(graph, t, np.zeros((side**2, 2))).log_partition() for t in fields]
    log_p = grid * agreement - n * np.array(log_z) - 0.5 * grid**2
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    mean = p @ grid
    sd = np.sqrt(p @ (grid - mean) ** 2)
    with pm.Model() as model:
        coupling = pm.Normal("coupling", 0, 1)
        pmrf.Ising("x", coupling, graph=graph, observed=x, likelihood="particles")
    rows = []
    for n_sweeps in (1, 2, 5, 10, 20, 50, None):
        method = {"draws": "exact"} if n_sweeps is None else {"draws": "gibbs", "n_sweeps": n_sweeps}
        step = pmrf.steps.Exchange([coupling], model=model, **method)
        start = time.perf_counter()
        with model, warnings.catch_warnings():
            # too few sweeps are the point of this table
            warnings.filterwarnings("ignore", "Exchange: n_sweeps=", UserWarning)
            idata = pm.sample(n_steps, tune=tune, step=step, random_seed=8, **SAMPLE)
        seconds = time.perf_counter() - start
        draw = idata.posterior["coupling"].values
        error = float(az.mcse(draw)) / sd
        error_sd = float(az.mcse(draw, method="sd")) / sd
        rows.append(
            [
                "exact draws" if n_sweeps is None else n_sweeps,
                f"{(draw.mean() - mean) / sd:+.3f} ({error:.3f})",
                f"{draw.std() / sd - 1:+.3f} ({error_sd:.3f})",
                f"{az.ess(draw):.0f}",
                f"{seconds:.1f}",
            ]
        )
    header = ["Gibbs sweeps", "error of the mean", "relative error of the sd", "bulk ESS", "seconds"]
    return table(header, rows) + (
        f"\nOne coupling of an Ising model on a {side} x {side} grid at the critical coupling of the "
        f"infinite lattice, {n} observations; exact posterior by quadrature: mean {mean:.4f}, sd {sd:.4f}. "
        "Errors of the mean in posterior standard deviations; Monte-Carlo errors in brackets. "
        f"Gibbs chains start at the observations. 2 chains of {n_steps} steps of 5 updates.\n"
    )


def main(argv: list[str] | None = None) -> None:
    """Sample the models, measure the errors, write the fragment."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--side", type=int, default=20, help="rows and columns of the wide grid")
    parser.add_argument("--n", type=int, default=50, help="observations on the wide grid")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--steps", type=int, default=200, help="steps behind each row of errors")
    parser.add_argument("--tune", type=int, default=200)
    arguments = parse_sizes(parser, argv, draws=500, steps=2000, tune=500)
    draws, tune = arguments.draws, arguments.tune
    parts = [
        "### Error against auxiliary sweeps\n\n" + bias(6, 20, arguments.steps, tune),
        "### Couplings on a wide grid\n\n" + wide_grids(arguments.side, arguments.n, draws, tune),
        "### Groups of subjects\n\n" + hierarchical(5, 40, draws, tune),
        f"Made by `examples/exchange.py`. Machine: {machine()}.\n",
    ]
    text = "\n".join(parts)
    write_fragment(text, arguments.output, "exchange.md")


if __name__ == "__main__":
    main()
