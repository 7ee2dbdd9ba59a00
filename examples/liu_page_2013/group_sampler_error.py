"""How far group samplers are from the exact posterior on a five-edge loopy field.

The exact posterior comes from listing all 52 partitions of the edges and integrating each by quadrature
(tests/reference/grouped_posterior.py). Writes docs/_results/group_sampler_error.md. Run from the
repository root:

    python examples/liu_page_2013/group_sampler_error.py
"""

import argparse
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pymc as pm

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import pymc_mrf as pmrf
from examples._report import SILENT, machine, parse_sizes, table, write_fragment
from tests.reference.grouped_posterior import grouped_posterior

EDGES = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]  # a square with one diagonal
THETA = np.array([0.8, 0.8, 0.35, 0.35, 0.6])


def samplers(n: int) -> dict:
    """Name the steps that are compared, for `n` rows of data."""
    # about one posterior standard deviation, where the paper has 0.001
    metropolis = partial(pmrf.papers.AuxiliaryVariableMH, n_value_steps=20, sigma=0.8 / np.sqrt(n))
    exchange = partial(metropolis, auxiliary="exchange")
    return {
        "GroupGibbs": pmrf.steps.GroupGibbs,
        "StrippedBetaGibbs": pmrf.papers.StrippedBetaGibbs,
        "ParticleRatioGibbs": pmrf.steps.ParticleRatioGibbs,
        "ParticleRatioGibbs, m = n": partial(pmrf.steps.ParticleRatioGibbs, n_particles=n),
        "ParticleRatioGibbs, m = 10 n": partial(pmrf.steps.ParticleRatioGibbs, n_particles=10 * n),
        "AuxiliaryVariableMH, exchange, exact draws": partial(exchange, draws="exact"),
        "AuxiliaryVariableMH, Møller, exact draws": partial(
            metropolis, auxiliary="moller", draws="exact"
        ),
        "AuxiliaryVariableMH as in the paper, exact draws": partial(
            pmrf.papers.AuxiliaryVariableMH, auxiliary="moller", draws="exact", restart=True
        ),
        **{
            f"AuxiliaryVariableMH, exchange, sweeps: {k}": partial(exchange, draws="gibbs", n_sweeps=k)
            for k in (1, 5, 20)
        },
    }


def errors(x, graph, exact, step, draws, tune, seed):
    """Largest error of P(number of groups), of E[theta], of co-clustering; error of E[groups]."""
    with pm.Model(coords=pmrf.coords(graph)):
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Uniform.dist(0, 1), dims="edge")
        pmrf.AgreementMRF("x", theta, graph=graph, observed=x)
        idata = pm.sample(
            draws,
            tune=tune,
            chains=2,
            step=step([theta]),
            random_seed=seed,
            **SILENT,
        )
    groups = pmrf.n_groups(idata, "theta").values.ravel()
    share = np.bincount(groups, minlength=len(exact.n_groups)) / groups.size
    mean = idata.posterior["theta"].mean(("chain", "draw")).values
    ties = pmrf.co_clustering(idata, "theta").values
    return (
        np.abs(share - exact.n_groups).max(),
        np.abs(mean - exact.mean).max(),
        np.abs(ties - exact.co_clustering).max(),
        groups.mean() - exact.n_groups @ np.arange(len(exact.n_groups)),
    )


def main(arguments=None):
    """Compare the samplers with the exact posterior and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--tune", type=int, default=200)
    parser.add_argument("--replicates", type=int, default=1)
    parser.add_argument("--sizes", type=int, nargs="+", default=[60, 200])
    parser.add_argument("--seed", type=int, default=2013)
    options = parse_sizes(parser, arguments, draws=2500, replicates=3)

    graph = pmrf.PairwiseGraph(range(4), EDGES)
    rows = []
    for n in options.sizes:
        steps = samplers(n)
        found = {name: [] for name in steps}
        for replicate in range(options.replicates):
            seed = options.seed + 1000 * n + replicate
            truth = pmrf.AgreementMRF.dist(THETA, graph=graph, size=(n,))
            x = pm.draw(truth, random_seed=seed)
            exact = grouped_posterior(x, EDGES, 1.0)
            for name, step in steps.items():
                length = options.draws, options.tune
                found[name].append(errors(x, graph, exact, step, *length, seed))
        for name in steps:
            mean = np.mean(found[name], axis=0)
            worst = np.max(np.abs(found[name]), axis=0)
            cells = [f"{m:.3f}" for m in mean[:3]] + [f"{mean[3]:+.3f}"]
            if options.replicates > 1:
                cells = [f"{cell} ({w:.3f})" for cell, w in zip(cells, worst, strict=True)]
            rows.append([n, name, *cells])
    data = "one data set of each size"
    if options.replicates > 1:
        data = f"{options.replicates} data sets of each size: the mean and, in brackets, the worst"
    header = ["n", "sampler", "P(groups)", "E[theta]", "P(tie)", "E[groups]"]
    lines = [
        "Largest absolute error over the entries of each quantity (for E[groups] the signed error), of "
        f"{data}. {2 * options.draws} draws each; the errors of GroupGibbs are its Monte-Carlo error, a "
        f"floor for the other rows. Square with a diagonal, theta = {', '.join(map(str, THETA))}; "
        "concentration 1, base Uniform(0, 1).",
        "",
        table(header, rows),
        "",
        machine(),
        "",
    ]
    write_fragment("\n".join(lines), options.output, "group_sampler_error.md")
    return rows


if __name__ == "__main__":
    main()
