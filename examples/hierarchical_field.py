"""A hierarchical field of one's own: couplings that depend on a covariate, sampled exactly by NUTS.

An Ising model on a grid whose couplings are b0 + b1 * covariate[edge] + sigma * z[edge]. Data are drawn
exactly from known parameters, which the posterior is then compared with. Writes a table and a figure for
the documentation.
"""

import argparse
import time
from pathlib import Path

import arviz as az
import numpy as np
import pymc as pm
from matplotlib.figure import Figure

import pymc_mrf as pmrf
from examples._report import machine, save_figure, table, write_fragment

TRUTH = {"b0": 0.15, "b1": 0.25, "sigma": 0.15, "field": 0.05}
BLUE, ORANGE = "#0072B2", "#D55E00"


def simulate(side: int, n: int, rng: np.random.Generator):
    """Graph, covariate (r,), true couplings (r,) and n exact draws (n, d) of the field."""
    graph = pmrf.graphs.grid(side, side)
    covariate = rng.standard_normal(graph.n_edges)
    z = rng.standard_normal(graph.n_edges)
    coupling = TRUTH["b0"] + TRUTH["b1"] * covariate + TRUTH["sigma"] * z
    field = pmrf.Ising.dist(coupling, TRUTH["field"], graph=graph, likelihood="exact", size=(n,))
    return graph, covariate, coupling, pm.draw(field, random_seed=rng)


def build(graph, covariate, x) -> pm.Model:
    """Return the hierarchical model."""
    with pm.Model(coords=pmrf.coords(graph)) as model:
        b0 = pm.Normal("b0", 0, 1)
        b1 = pm.Normal("b1", 0, 1)
        sigma = pm.HalfNormal("sigma", 0.5)
        z = pm.Normal("z", dims="edge")
        field = pm.Normal("field", 0, 1)
        coupling = pm.Deterministic("coupling", b0 + b1 * covariate + sigma * z, dims="edge")
        pmrf.Ising("x", coupling, field, graph=graph, likelihood="exact", observed=x)
    return model


def draw_figure(idata, covariate, coupling) -> Figure:
    """Couplings against the covariate: truth, posterior intervals, the regression line."""
    posterior = idata.posterior
    draws = posterior["coupling"].stack(sample=("chain", "draw")).values  # (r, draws)
    low, mean, high = (
        np.quantile(draws, 0.05, axis=1),
        draws.mean(axis=1),
        np.quantile(draws, 0.95, axis=1),
    )
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    grid = np.linspace(covariate.min(), covariate.max(), 50)
    b0, b1 = (posterior[name].values.ravel()[:, None] for name in ("b0", "b1"))
    band = np.quantile(b0 + b1 * grid, [0.05, 0.95], axis=0)
    axes.fill_between(grid, *band, color=BLUE, alpha=0.15, lw=0, label="b0 + b1 covariate, 90 %")
    axes.errorbar(
        covariate,
        mean,
        [mean - low, high - mean],
        fmt="o",
        ms=4,
        color=BLUE,
        lw=1,
        label="posterior, 90 %",
    )
    axes.plot(covariate, coupling, "x", ms=6, color=ORANGE, label="truth")
    axes.set(xlabel="covariate of the edge", ylabel="coupling")
    axes.legend(frameon=False)
    return figure


def main(argv: list[str] | None = None) -> None:
    """Simulate, sample, compare with the truth."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--side", type=int, default=5, help="rows and columns of the grid")
    parser.add_argument("--n", type=int, default=400, help="number of observations")
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--tune", type=int, default=1000)
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument(
        "--output", type=Path, default=Path("docs"), help="folder of _results and figures"
    )
    arguments = parser.parse_args(argv)

    rng = np.random.default_rng(arguments.seed)
    graph, covariate, coupling, x = simulate(arguments.side, arguments.n, rng)
    start = time.perf_counter()
    with build(graph, covariate, x):
        idata = pm.sample(
            draws=arguments.draws,
            tune=arguments.tune,
            chains=arguments.chains,
            nuts_sampler="pymc",
            random_seed=arguments.seed,
        )
    seconds = time.perf_counter() - start

    summary = az.summary(idata, var_names=list(TRUTH), round_to="none")
    quantiles = idata.posterior.to_dataset()[list(TRUTH)].quantile([0.05, 0.95], dim=("chain", "draw"))
    rows = []
    for name, truth in TRUTH.items():
        low, high = quantiles[name].values
        line = summary.loc[name]
        rows.append(
            [
                name,
                f"{truth:.3f}",
                f"{line['mean']:.3f}",
                f"{line['sd']:.3f}",
                f"({low:.3f}, {high:.3f})",
                f"{line['r_hat']:.3f}",
                f"{line['ess_bulk']:.0f}",
            ]
        )
    interval = idata.posterior["coupling"].quantile([0.05, 0.95], dim=("chain", "draw")).values
    inside = int(np.sum((interval[0] <= coupling) & (coupling <= interval[1])))
    divergences = int(idata.sample_stats["diverging"].sum())
    text = table(
        ["parameter", "truth", "posterior mean", "sd", "90 % interval", "R-hat", "bulk ESS"], rows
    )
    text += (
        f"\nIsing model on a {arguments.side} x {arguments.side} grid ({graph.n_edges} couplings), "
        f"{arguments.n} observations; {arguments.chains} chains of {arguments.tune} tuning steps and "
        f"{arguments.draws} draws took {seconds:.0f} s, compilation included, with {divergences} "
        f"divergences. {inside} of the {graph.n_edges} true couplings lie inside their 90 % intervals.\n\n"
        "![Couplings, true and estimated](../figures/hierarchical_field.png)\n\n"
        f"Made by `examples/hierarchical_field.py`. Machine: {machine()}.\n"
    )
    write_fragment(text, arguments.output, "hierarchical_field.md")
    save_figure(draw_figure(idata, covariate, coupling), arguments.output, "hierarchical_field.png")


if __name__ == "__main__":
    main()
