"""The pseudo-likelihood beside particles, where neither the exact nor the Monte Carlo likelihood serves.

Binary fields with sparse edges from the prior: of many nodes with few rows, which particles serve, too, and
of few nodes whose biases follow a covariate of the rows, which they do not. Edges found, false ones beside
those that the probabilities claim, log scores of what is true of each pair, and effective draws per CPU
second. Writes a table for the documentation.
"""

import argparse
import sys
import time
import warnings
from functools import partial
from pathlib import Path
from typing import NamedTuple

import arviz as az
import numpy as np
import pymc as pm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pymc_mrf as pmrf
from examples._report import SILENT, machine, outcomes, parse_sizes, table, two_digits, write_fragment

DEGREE, SLAB_SD, BIAS_SD = 2.0, 1.0, 0.5


class Setting(NamedTuple):
    """Nodes, rows, whether a covariate shifts the biases of each row, and the likelihoods."""

    label: str
    d: int
    n: int
    has_covariate: bool
    likelihoods: tuple[str, ...]


SETTINGS = (
    Setting("60 nodes, 100 rows", 60, 100, False, ("pseudo", "particles")),
    Setting("60 nodes, 400 rows", 60, 400, False, ("pseudo", "particles")),
    Setting("20 nodes, 600 rows with a covariate", 20, 600, True, ("pseudo",)),
)


class Result(NamedTuple):
    """Edges above one half, the false ones, those claimed; mean log score; effective draws a CPU second."""

    found: int
    false: int
    claimed: float
    log_score: float
    effective: float
    least: float


def simulate(setting: Setting, rng: np.random.Generator):
    """Graph of all pairs, presence (r,), rows (n, d) and the covariate (n, 1) of a field from the prior."""
    d, n = setting.d, setting.n
    graph = pmrf.graphs.complete(d)
    present = rng.random(graph.n_edges) < DEGREE / (d - 1)
    weight = np.where(present, rng.normal(0, SLAB_SD, graph.n_edges), 0.0)
    bias = rng.normal(0, BIAS_SD, d)
    np.subtract.at(bias, graph.edges.ravel(), np.repeat(weight / 2, 2))
    z = rng.normal(size=(n, 1)).round(1) if setting.has_covariate else np.zeros((n, 1))
    shift = rng.normal(0, 1.0, d)
    W = np.zeros((d, d))
    W[tuple(graph.edges.T)] = W.T[tuple(graph.edges.T)] = weight
    x = rng.integers(2, size=(n, d))
    for _ in range(500):  # Gibbs sweeps, all rows at once
        for i in range(d):
            log_odds = bias[i] + shift[i] * z[:, 0] + x @ W[:, i]
            x[:, i] = rng.random(n) < 1 / (1 + np.exp(-log_odds))
    return graph, present, x, z


def fit(setting: Setting, data, likelihood: str, draws: int, seed: int) -> Result:
    """Posterior by the step that `pm.sample` chooses, two chains."""
    graph, present, x, z = data
    with pm.Model(coords=pmrf.coords(graph)), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # constant columns of few rows
        p = DEGREE / (setting.d - 1)
        w = pmrf.SpikeAndSlab("w", p, pm.Normal.dist(0, SLAB_SD), dims="edge")
        b = pm.Normal("b", 0, 2, dims="node")
        if setting.has_covariate:
            b = b + z * pm.Normal("slope", 0, 1, dims="node")
        pmrf.BoltzmannMachine("x", w, b, graph=graph, observed=x, likelihood=likelihood)
        pm.sample(1, tune=1, chains=1, random_seed=seed, **SILENT)  # everything compiles
        start = time.process_time()
        idata = pm.sample(draws, tune=draws // 2, chains=2, random_seed=seed, **SILENT)
    seconds = time.process_time() - start
    w = idata.posterior["w"].values
    inclusion = (w != 0).mean(axis=(0, 1))
    found = inclusion > 0.5
    bounded = np.clip(inclusion, 0.5 / w[..., 0].size, 1 - 0.5 / w[..., 0].size)
    ever = np.flatnonzero((inclusion > 0.05) & (w.std(axis=(0, 1)) > 0))
    ess = np.array([float(az.ess(w[..., e])) for e in ever]) / seconds
    return Result(
        int(found.sum()),
        int((found & ~present).sum()),
        float((1 - inclusion[found]).sum()),
        float(np.log(np.where(present, bounded, 1 - bounded)).sum()),
        float(np.median(ess)),
        float(ess.min()),
    )


def outcome(k: int, draws: int, seed: int) -> list[dict[str, Result]]:
    """Results of data set k of each setting, by likelihood."""
    found = []
    for j, setting in enumerate(SETTINGS):
        data = simulate(setting, np.random.default_rng([seed, j, k]))
        found.append({one: fit(setting, data, one, draws, k) for one in setting.likelihoods})
    return found


def main(argv: list[str] | None = None) -> None:
    """Simulate, sample, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-sets", type=int, default=1, help="of each setting")
    parser.add_argument(
        "--draws", type=int, default=50, help="of each of two chains, after half as many"
    )
    parser.add_argument("--seed", type=int, default=1)
    args = parse_sizes(parser, argv, data_sets=3, draws=300)
    results = outcomes(partial(outcome, draws=args.draws, seed=args.seed), range(args.data_sets))
    rows = []
    for j, setting in enumerate(SETTINGS):
        for name in setting.likelihoods:
            own = [result[j][name] for result in results]
            total = [sum(values) for values in zip(*own, strict=True)]
            rows.append([
                setting.label, f'`"{name}"`', total[0], total[1], f"{total[2]:.1f}",
                *(f"{total[3] / len(own):.1f}", *(two_digits(v / len(own)) for v in total[4:])),
            ])  # fmt: skip
    header = [
        "data", "likelihood", "edges found", "false", "claimed", "log score",
        "effective draws per CPU s: median", "least",
    ]  # fmt: skip
    text = table(header, rows) + (
        f"\nBinary fields from the prior, {DEGREE:g} edges to a node, normal weights with standard deviation "
        f"{SLAB_SD:g}, all pairs as candidates, {args.data_sets} data sets of each kind; two chains of "
        f"{args.draws} draws after half as many. Found: probability above one half. Log score: sum over "
        "pairs of the log probability of what is true, mean over data sets. Effective draws (ArviZ, bulk) of "
        "the weights with a probability above 0.05, tuning included, compilation not.\n\n"
        f"Made by `examples/pseudo_or_particles.py`. Machine: {machine()}.\n"
    )
    write_fragment(text, args.output, "pseudo_or_particles.md")


if __name__ == "__main__":
    main()
