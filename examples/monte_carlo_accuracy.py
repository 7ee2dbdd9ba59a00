"""How near the Monte Carlo likelihood comes to the exact posterior, where both can be had.

Edges of the key votes of the House of 1984 (16 votes, missing cells drawn), of 12 binary variables and of 7
items of three answers, under `SpikeAndSlab` priors. Inclusion probabilities under the Monte Carlo likelihood,
with its default options, with another seed, and with twice the points, are compared with those under the
exact one, as are those of the pseudo-likelihood. The error of the draws, estimated from the effective number
of them, is taken off. The table goes into ``docs/_results/monte_carlo_accuracy.md``.
"""

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import arviz as az
import numpy as np
import pymc as pm

import pymc_mrf as pmrf
from examples._report import SILENT, machine, parse_sizes, table, write_fragment

TOLERANCE = pmrf.MonteCarlo().tolerance
LIKELIHOODS: dict[str, Any] = {
    '`"exact"`, other draws': "exact",
    '`"monte-carlo"`': pmrf.MonteCarlo(),
    "the same, another seed": pmrf.MonteCarlo(seed=1),
    "the same, twice the points": pmrf.MonteCarlo(tolerance=TOLERANCE / 2**0.5),
    '`"pseudo"`': "pseudo",
}
NAMES = {
    "house": "House, 435 members, 16 votes",
    "binary": "12 binary variables, 400 rows",
    "ordinal": "7 items of 3 answers, 300 rows",
}
IN_DOUBT = 0.02, 0.98  # inclusion probabilities


def sparse_field(family: type, x: np.ndarray, likelihood: Any, **options) -> pm.Model:
    """Declare a field some of whose edges are absent."""
    d, q = x.shape[1], options.get("n_states", 2) - 1
    graph = pmrf.graphs.complete(d)
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), shape=graph.n_edges)
        b = pm.Normal("b", 0, 3, shape=(d, q) if q > 1 else d)
        family("x", w, b, graph=graph, observed=x, likelihood=likelihood, **options)
    return model


def simulated(family: type, d: int, n: int, seed: int, **options) -> np.ndarray:
    """Rows (n, d) of a field that has two edges in five."""
    rng, graph, q = np.random.default_rng(seed), pmrf.graphs.complete(d), options.get("n_states", 2) - 1
    w = np.where(rng.random(graph.n_edges) < 0.4, rng.normal(0, 0.5, graph.n_edges), 0.0)
    b = rng.normal(-0.3, 0.4, (d, q) if q > 1 else d)
    return pm.draw(family.dist(w, b, graph=graph, shape=(n, d), **options), random_seed=rng)


def data_sets() -> dict[str, Callable[[Any], pm.Model]]:
    """Models of all data sets, by likelihood."""
    binary = simulated(pmrf.BoltzmannMachine, 12, 400, 1)
    ordinal = simulated(pmrf.OrdinalMRF, 7, 300, 2, n_states=3)
    house = pmrf.datasets.load_house84().x
    return {
        NAMES["house"]: partial(sparse_field, pmrf.BoltzmannMachine, house),
        NAMES["binary"]: partial(sparse_field, pmrf.BoltzmannMachine, binary),
        NAMES["ordinal"]: partial(sparse_field, pmrf.OrdinalMRF, ordinal, n_states=3),
    }


def inclusion(model: pm.Model, draws: int, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Inclusion probabilities (r,), squares of their Monte-Carlo errors (r,), and largest noise in nats."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pm.exceptions.ImputationWarning)
        idata = pm.sample(draws, tune=draws // 4, chains=2, random_seed=seed, model=model, **SILENT)
    present = (idata.posterior["w"].values != 0.0).astype(float)
    p = present.mean(axis=(0, 1))
    ess = np.fmax(az.ess(present, method="mean"), 1.0)  # NaN where an edge is always present or never
    noise = idata.sample_stats.get("edge_gibbs_noise")
    return p, np.nan_to_num(p * (1.0 - p) / ess), 0.0 if noise is None else float(np.nanmax(noise))


def row(name: str, label: str, own: tuple, exact: tuple) -> list[str]:
    """Compare inclusion probabilities with those of the exact posterior."""
    (p, variance, noise), (truth, of_truth, _) = own, exact
    doubtful = (truth > IN_DOUBT[0]) & (truth < IN_DOUBT[1])
    gap, by_chance = (p - truth)[doubtful], (variance + of_truth)[doubtful]
    beyond = max(float((gap**2 - by_chance).mean()), 0.0) ** 0.5
    return [
        name,
        label,
        str(doubtful.sum()),
        f"{(gap**2).mean() ** 0.5:.3f}",
        f"{by_chance.mean() ** 0.5:.3f}",
        f"{beyond:.3f}",
        f"{np.abs(gap).max():.2f}",
        f"{noise:.2f}" if noise else "",
    ]


def main(argv: list[str] | None = None) -> None:
    """Sample all posteriors and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=100, help="in each of two chains")
    parser.add_argument("--data", nargs="+", default=["ordinal"], choices=NAMES)
    args = parse_sizes(parser, argv, draws=1500, data=list(NAMES))
    rows, models = [], data_sets()
    for name, declare in ((NAMES[key], models[NAMES[key]]) for key in args.data):
        exact = inclusion(declare("exact"), args.draws, 0)
        for k, (label, likelihood) in enumerate(LIKELIHOODS.items()):
            rows.append(row(name, label, inclusion(declare(likelihood), args.draws, 1 + k), exact))
    header = [
        "Data", "likelihood", "edges in doubt", "RMS difference", "by chance", "RMS beyond chance", "largest",
        "noise, nats",
    ]  # fmt: skip
    text = table(header, rows)
    text += (
        "\nInclusion probabilities beside those of the exact posterior, for edges whose exact one is between "
        f"{IN_DOUBT[0]} and {IN_DOUBT[1]}; two chains of {args.draws:,} draws each. By chance: the root mean "
        "square error of the draws of both. Noise: the largest of the step's own measurements. "
        f"{machine()}.\n"
    )
    write_fragment(text, args.output, "monte_carlo_accuracy.md")


if __name__ == "__main__":
    main()
