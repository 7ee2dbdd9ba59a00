"""Effective draws of the group samplers per second: ``python -m tests.benchmarks.group_samplers``.

Seconds are processor time; the warm-up counts, compilation does not, nor the simulation behind a Monte Carlo
likelihood, some seconds when the field is declared. Of the entries of theta the minimum,
the 5 % quantile and the median are given, beside the number of groups; concentration 1, base Uniform(0, 1).
"""

import time

import arviz as az
import numpy as np
import pymc as pm

import pymc_mrf as pmrf
from pymc_mrf.fields.families import agreement
from pymc_mrf.fields.pairwise import PairwiseField


def two_rounds(vars):
    """Make a `GroupGibbs` with a draw every second round: for long chains: nothing is thinned away."""
    step = pmrf.steps.GroupGibbs(vars)
    step.n_rounds = 2
    return step


# field: step, likelihood, tuning steps and draws of each of two chains
RUNS = {
    "Senate, 279 edges, n = 292": [
        (pmrf.steps.GroupGibbs, "exact", 300, 1500),
        (two_rounds, "exact", 300, 5000),
        (pmrf.steps.ParticleRatioGibbs, "particles", 100, 1000),
        (pmrf.steps.GroupGibbs, "pseudo", 100, 500),
        (pmrf.papers.StrippedBetaGibbs, "particles", 100, 1000),
    ],
    "4 x 4 grid, 24 edges, n = 500": [
        (pmrf.steps.GroupGibbs, "exact", 300, 3000),
        (pmrf.steps.ParticleRatioGibbs, "particles", 300, 3000),
        (pmrf.steps.GroupGibbs, "pseudo", 300, 2000),
        (pmrf.papers.StrippedBetaGibbs, "particles", 300, 3000),
    ],
    "20 nodes, all 190 edges, n = 1000": [
        (pmrf.steps.GroupGibbs, "monte-carlo", 100, 400),
        (pmrf.steps.GroupGibbs, "pseudo", 100, 200),
        (pmrf.steps.ParticleRatioGibbs, "particles", 50, 150),
    ],
    "30 x 30 grid, 1740 edges, n = 300": [
        (pmrf.steps.ParticleRatioGibbs, "particles", 50, 200),
        (pmrf.papers.StrippedBetaGibbs, "particles", 50, 200),
    ],
}


def grid(side: int, n: int, n_groups: int) -> tuple:
    """Square grid with grouped parameters, and `n` rows simulated from it."""
    rng = np.random.default_rng(side)
    graph, family = pmrf.graphs.grid(side, side), agreement()
    eta = rng.normal(0.3, 0.5, n_groups)[rng.integers(n_groups, size=graph.n_edges)]
    field = PairwiseField(graph, family.edge_tables(eta), np.zeros((graph.n_nodes, 2)))
    return graph, field.sample(n, method="gibbs", n_sweeps=200, rng=rng)


def complete(d: int, n: int) -> tuple:
    """All edges of `d` nodes, most of which are independent, and `n` rows."""
    rng = np.random.default_rng(d)
    graph, family = pmrf.graphs.complete(d), agreement()
    eta = np.array([-0.2, 0.0, 0.5])[rng.choice(3, p=[0.15, 0.7, 0.15], size=graph.n_edges)]
    field = PairwiseField(graph, family.edge_tables(eta), np.zeros((d, 2)))
    return graph, field.sample(n, method="gibbs", n_sweeps=300, rng=rng)


def data(name: str) -> tuple:
    """Graph and rows of one of the `RUNS`."""
    if name.startswith("Senate"):
        senate = pmrf.datasets.load_senate109(session=1)
        return senate.graph, senate.x
    if name.startswith("20 nodes"):
        return complete(20, 1000)
    return grid(4, 500, 5) if name.startswith("4 x 4") else grid(30, 300, 10)


def efficiency(graph, x, step, likelihood: str, tune: int, draws: int) -> dict[str, float]:
    """Milliseconds per step and effective draws per second of processor time, over two chains."""
    with pm.Model() as model:
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Uniform.dist(0, 1), shape=len(graph.edges))
        pmrf.AgreementMRF("x", theta, graph=graph, observed=x, likelihood=likelihood)
        sampler = step([theta])
    chains, start = [], time.process_time()
    for seed in (1, 2):
        sampler.setup_chain(np.random.default_rng(seed), tune, draws)
        point, kept = model.initial_point(), []
        for t in range(tune + draws):
            if t == tune:
                sampler.stop_tuning()
            point, _ = sampler.step(point)
            if t >= tune:
                kept.append(point["theta"])
        chains.append(kept)
    seconds = time.process_time() - start
    values = np.array(chains)  # (chain, draw, edge)
    groups = np.array([[len(np.unique(row)) for row in chain] for chain in values], dtype=float)
    ess = np.array([float(az.ess(values[..., e])) for e in range(values.shape[2])])
    return {
        "ms": 500.0 * seconds / (tune + draws),
        "minimum": ess.min() / seconds,
        "5 %": float(np.quantile(ess, 0.05)) / seconds,
        "median": float(np.median(ess)) / seconds,
        "groups": float(az.ess(groups)) / seconds,
    }


def report() -> None:
    """Print all rows."""
    for name, runs in RUNS.items():
        print(f"\neffective draws per CPU second, {name}")
        graph, x = data(name)
        for run in runs:
            found = efficiency(graph, x, *run)
            entries = ", ".join(f"{key} {found[key]:.3g}" for key in ("minimum", "5 %", "median"))
            print(
                f"  {run[0].__name__:20s} theta: {entries}; number of groups {found['groups']:.3g}; "
                f"{found['ms']:.3g} ms a step"
            )


if __name__ == "__main__":
    report()
