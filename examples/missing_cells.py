"""What missing cells cost: weights from all data, from drawn cells, from complete rows and from modes.

Boltzmann machines of 16 variables with a quarter of all edges, 400 rows, a tenth of the cells missing at
random; a `SpikeAndSlab` prior under the exact likelihood. The error of the posterior means of the weights and
the CPU time of the draws, each relative to those of the data without gaps, go into
``docs/_results/missing_cells.md``.
"""

import argparse
import time
import warnings
from functools import partial

import numpy as np
import pymc as pm

import pymc_mrf as pmrf
from examples._report import machine, outcomes, parse_sizes, table, write_fragment

D, N_ROWS, SHARE = 16, 400, 0.1
GRAPH = pmrf.graphs.complete(D)


def simulate(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights (r,), rows (n, d), and which cells (n, d) will be missing."""
    r = GRAPH.n_edges
    weight = np.where(rng.random(r) < 0.25, rng.choice([-1, 1], r) * rng.uniform(0.5, 1.2, r), 0.0)
    field = pmrf.BoltzmannMachine.dist(weight, rng.normal(0, 0.5, D), graph=GRAPH, shape=(N_ROWS, D))
    x = pm.draw(field, random_seed=rng)
    return weight, x, rng.random(x.shape) < SHARE


def treatments(x: np.ndarray, missing: np.ndarray) -> dict[str, np.ndarray]:
    """Name the data that each analysis sees."""
    gaps = np.ma.masked_array(x, missing)
    return {
        "all data": x,
        "missing cells drawn": gaps,
        "complete rows": x[~missing.any(axis=1)],
        "most frequent state": np.where(missing, np.rint(gaps.mean(axis=0)).astype(int), x),
    }


def analyse(data: np.ndarray, draws: int, seed: int) -> tuple[np.ndarray, float]:
    """Posterior means of the weights, and seconds of CPU time for the draws alone."""
    with pm.Model() as model:
        weight = pmrf.SpikeAndSlab("weight", 0.5, pm.Normal.dist(0, 1), shape=GRAPH.n_edges)
        bias = pm.Normal("bias", 0, 1, shape=D)
        pmrf.BoltzmannMachine("x", weight, bias, graph=GRAPH, observed=data, likelihood="exact")
        steps = [pmrf.steps.EdgeGibbs([weight, bias])]
        steps += [pmrf.steps.TreeGibbs([rv]) for rv in model.free_RVs if rv.name == "x_unobserved"]
    point, total, tune = model.initial_point(), np.zeros(GRAPH.n_edges), draws // 2
    for k, step in enumerate(steps):
        step.setup_chain(np.random.default_rng([seed, k]), tune, draws)
    begin = time.process_time()
    for t in range(tune + draws):
        for step in steps:
            if t == tune:
                step.stop_tuning()
            point, _ = step.step(point)
        if t >= tune:
            total += point["weight"]
    return total / draws, time.process_time() - begin


def compare(seed: int, draws: int) -> tuple[int, dict[str, tuple[float, float]]]:
    """Complete rows of a data set, and by analysis the mean squared error and the CPU time."""
    truth, x, missing = simulate(np.random.default_rng(seed))
    found = {}
    for name, data in treatments(x, missing).items():
        mean, cpu = analyse(data, draws, seed)
        found[name] = float(np.mean((mean - truth) ** 2)), cpu
    return int((~missing.any(axis=1)).sum()), found


def main(argv: list[str] | None = None) -> None:
    """Simulate, analyse, and write the fragment."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-sets", type=int, default=1)
    parser.add_argument("--draws", type=int, default=20)
    args = parse_sizes(parser, argv, data_sets=10, draws=200)
    warnings.filterwarnings("ignore", category=pm.exceptions.ImputationWarning)
    n_complete, found = zip(
        *outcomes(partial(compare, draws=args.draws), range(args.data_sets)), strict=True
    )
    error = {name: float(np.sqrt(np.mean([f[name][0] for f in found]))) for name in found[0]}
    cost = {name: float(np.sum([f[name][1] for f in found])) for name in found[0]}
    rows = [
        [name, f"{e:.3f}", f"{e / error['all data']:.2f}", f"{cost[name] / cost['all data']:.2f}"]
        for name, e in error.items()
    ]
    text = table(["Data", "RMSE of the weights", "relative to all data", "CPU time, relative"], rows)
    text += (
        f"\n{args.data_sets} data sets of {N_ROWS} rows and {D} variables, {SHARE:.0%} of the cells missing "
        f"at random, which leaves {np.mean(n_complete):.0f} complete rows; {args.draws} draws each, after "
        f"{args.draws // 2} of tuning. {machine()}.\n"
    )
    write_fragment(text, args.output, "missing_cells.md")


if __name__ == "__main__":
    main()
