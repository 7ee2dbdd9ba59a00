"""Networks of many nodes whose pairs are all candidates: time, memory, and calibration of inclusion.

Boltzmann machines of sparse graphs, two neighbours to a node on average, with weights between .5 and 1,
positive or of either sign, and biases that make both states about as frequent; data by Gibbs sweeps. The
pseudo-likelihood, chains by `pymc_mrf.sample`. Writes ``many_nodes.md``, time and memory by the number of
nodes, and ``many_nodes_calibration.md``, the false edges among those found beside the number that their
probabilities claim. With ``--full`` up to 2,048 nodes, with few draws, as they tell of costs only, and
five data sets of 1,024 nodes for either choice of signs: half an hour of processor time.
"""

import argparse
import resource
import sys
import time
import warnings
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pymc as pm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pymc_mrf as pmrf
from examples._report import SILENT, machine, outcomes, parse_sizes, table, write_fragment
from pymc_mrf.runs.present_edges import MANY_EDGES

DEGREE, WEAKEST, STRONGEST = 2.0, 0.5, 1.0
SLAB_SD, BIAS_SD = 1.0, 1.5
THRESHOLDS = (0.5, 0.9)
SWEEPS = 200  # of the simulation of the data
FULL_DRAWS = 4000  # four chains of 1,000 draws


class TimedGibbs(pmrf.steps.EdgeGibbs):
    """Notes the processor time at which its tuning ended."""

    tuned_at = 0.0

    def stop_tuning(self) -> None:
        TimedGibbs.tuned_at = time.process_time()
        super().stop_tuning()


class Study(NamedTuple):
    """One posterior beside the truth: `inclusion` and `present` are (r,); seconds, GB, and KB of a draw.

    Seconds of a step of tuning, `per_step`, and of a draw after it are those of a single chain.
    """

    d: int
    signs: str
    inclusion: np.ndarray
    present: np.ndarray
    set_up: float
    per_step: float
    per_draw: float
    memory: float
    of_draw: float


def simulate(
    d: int, n: int, signs: str, rng: np.random.Generator
) -> tuple[pmrf.PairwiseGraph, np.ndarray, np.ndarray]:
    """Complete graph of d nodes, presence of its edges (r,), and n rows (n, d) of a sparse field."""
    graph = pmrf.graphs.complete(d)
    weight = np.zeros(graph.n_edges)
    edges = rng.choice(graph.n_edges, size=round(0.5 * DEGREE * d), replace=False)
    weight[edges] = rng.uniform(WEAKEST, STRONGEST, len(edges))
    if signs == "mixed":
        weight[edges] *= rng.choice([-1.0, 1.0], len(edges))
    W = np.zeros((d, d))
    W[tuple(graph.edges.T)] = weight
    W += W.T
    neighbours = [np.flatnonzero(row) for row in W]
    bias, x = -0.5 * W.sum(axis=1), (rng.random((d, n)) < 0.5).astype(float)
    for _ in range(SWEEPS):
        for i, near in enumerate(neighbours):
            odds = bias[i] + W[i, near] @ x[near]
            x[i] = rng.random(n) < 1.0 / (1.0 + np.exp(-odds))
    return graph, weight != 0.0, x.T.astype(np.int8)


def study(seed: int, *, d: int, n: int, signs: str, tune: int, draws: int, chains: int) -> Study:
    """Sample one network; what it cost, and the probabilities of its edges."""
    graph, present, x = simulate(d, n, signs, np.random.default_rng(seed))
    begin = time.process_time()
    with pm.Model() as model, warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning)  # pairs of nodes that agree by chance
        p = min(DEGREE / (d - 1), 0.5)
        w = pmrf.SpikeAndSlab("w", p, pm.Normal.dist(0, SLAB_SD), shape=graph.n_edges)
        b = pm.Normal("b", 0, BIAS_SD, shape=d)
        pmrf.BoltzmannMachine("x", w, b, graph=graph, observed=x, likelihood="pseudo")
        step = TimedGibbs([w, b])
        set_up = time.process_time() - begin
        begin = time.process_time()
        idata = pmrf.sample(
            draws, tune=tune, chains=chains, step=step, random_seed=seed, model=model, **SILENT
        )
        per_step = (TimedGibbs.tuned_at - begin) / tune
        per_draw = (time.process_time() - TimedGibbs.tuned_at) / draws
        inclusion = pmrf.analysis.edge_inclusion(idata, "w", prior_inclusion=p).inclusion.values
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    of_draw = kept_bytes(idata) / (1000 * chains * draws)
    return Study(d, signs, inclusion, present, set_up, per_step, per_draw, memory, of_draw)


def kept_bytes(idata) -> float:
    """Bytes of all draws and statistics: of many edges those present only, a value and its place each."""
    found = [idata.posterior["b"], *idata.sample_stats.data_vars.values()]
    n_bytes = sum(values.nbytes for values in found)
    if idata.posterior.sizes[idata.posterior["w"].dims[-1]] < MANY_EDGES:
        return n_bytes + idata.posterior["w"].nbytes
    return n_bytes + 12 * float(idata.sample_stats["edge_gibbs_n_active"].sum())


def row_of_costs(one: Study) -> list:
    """Row of the table of costs."""
    found = one.inclusion > 0.5
    return [
        f"{one.d:,}",
        f"{len(found):,}",
        f"{one.set_up:.1f}",
        f"{one.per_step:.3f}",
        f"{one.per_draw:.3f}",
        f"{one.memory:.1f}",
        f"{one.of_draw:.0f}",
        f"{one.present.sum():,}",
        f"{(found & one.present).sum():,}",
        f"{(found & ~one.present).sum():,}",
    ]


def row_of_calibration(signs: str, threshold: float, studies: list[Study]) -> list:
    """Row of false edges, claimed and true, of all data sets together."""
    found = [one.inclusion > threshold for one in studies]
    claimed = sum((1.0 - one.inclusion[of]).sum() for one, of in zip(studies, found, strict=True))
    false = sum((of & ~one.present).sum() for one, of in zip(studies, found, strict=True))
    n_found = sum(of.sum() for of in found)
    n_present = sum(one.present.sum() for one in studies)
    return [
        signs, f"{threshold:g}", f"{n_present:,}", f"{n_found:,}", f"{claimed:.1f}", f"{false:,}",
        f"{(n_found - claimed) / n_found:.3f}", f"{(n_found - false) / n_found:.3f}",
    ]  # fmt: skip


def main(argv: list[str] | None = None) -> None:
    """Measure, and write the fragments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[32, 128], help="of the table of costs")
    parser.add_argument("--calibration-nodes", type=int, default=64)
    parser.add_argument("--data-sets", type=int, default=1)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=60)
    parser.add_argument("--tune", type=int, default=40)
    parser.add_argument("--chains", type=int, default=1)
    parser.add_argument(
        "--cost-draws", type=int, default=60, help="of the one chain of the table of costs"
    )
    parser.add_argument("--cost-tune", type=int, default=40)
    args = parse_sizes(
        parser,
        argv,
        nodes=[128, 256, 512, 1024, 2048],
        calibration_nodes=1024,
        data_sets=5,
        draws=200,
        tune=120,
        chains=2,
        cost_draws=100,
    )
    options = dict(n=args.rows, tune=args.tune, draws=args.draws, chains=args.chains)
    of_costs = dict(n=args.rows, tune=args.cost_tune, draws=args.cost_draws, chains=1)
    study(0, d=args.nodes[0], signs="mixed", **(of_costs | {"draws": 8, "tune": 8}))  # compiles
    costs = [study(0, d=d, signs="mixed", **of_costs) for d in args.nodes]
    header = [
        "Nodes",
        "candidates",
        "set-up, CPU s",
        "a tuning step, CPU s",
        "a draw, CPU s",
        "memory, GB",
        "a draw, KB",
        "edges",
        "found",
        "false",
    ]
    size = f"{args.rows:,} rows, {args.chains} chains of {args.tune} tuning steps and {args.draws} draws"
    note = (
        f"\n{args.rows:,} rows, a chain of {args.cost_tune} tuning steps and {args.cost_draws} draws. "
        "Set-up: model and step. Steps and draws: all of `pymc_mrf.sample`, writing and reading included; "
        "the first steps of tuning visit all edges, of the later ones every fourth does. GB of memory: at "
        "the most, by then. KB of a draw: what is kept of it, twice while "
        f"results are put together; {FULL_DRAWS:,} draws of the last field are "
        f"{2 * FULL_DRAWS * costs[-1].of_draw / 1e6:.1f} GB then. Found: inclusion above .5. "
        f"Kernels were compiled before.\n\nMade by `examples/many_nodes.py`. {machine()}.\n"
    )
    write_fragment(
        table(header, [row_of_costs(one) for one in costs]) + note, args.output, "many_nodes.md"
    )
    rows = []
    for signs in ("positive", "mixed"):
        run = partial(study, d=args.calibration_nodes, signs=signs, **options)
        studies = outcomes(run, range(args.data_sets))
        rows += [row_of_calibration(signs, threshold, studies) for threshold in THRESHOLDS]
    header = [
        "Signs", "inclusion above", "edges", "found", "false, claimed", "false", "precision, claimed",
        "precision",
    ]  # fmt: skip
    note = (
        f"\n{args.data_sets} data sets of {args.calibration_nodes:,} nodes together, {size}.\n\nMade by "
        f"`examples/many_nodes.py`. {machine()}.\n"
    )
    write_fragment(table(header, rows) + note, args.output, "many_nodes_calibration.md")


if __name__ == "__main__":
    main()
