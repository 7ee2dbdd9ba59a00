"""How well arrows of a field in time are found: series from the prior, and how fast.

Weights, of which about three reach each node, and biases are drawn from the prior, and a series is simulated
from them, so that inclusion probabilities must be calibrated: of the arrows with a probability near 0.5 half
exist, of those near 0.9 nine in ten. Binary series and series of five ordered answers, of several widths and
lengths. ``--large 1000`` runs one series of so many nodes instead, whose arrows need memory and patience.
``--graph-tool /usr/bin/python3`` instead runs graph-tool (Peixoto, 2014), where that Python has it, on binary
series beside `EdgeGibbs`. Writes `_results/kinetic_recovery.md`, with the ending `_large` or `_graph_tool`.
"""

import argparse
import resource
import subprocess
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

import arviz as az
import numpy as np
import pymc as pm

import pymc_mrf as pmrf
from examples._report import SILENT, machine, outcomes, parse_sizes, table, two_digits, write_fragment

ARROWS_PER_NODE = 3.0
NEAR = {0.5: (0.35, 0.65), 0.9: (0.85, 0.95)}  # bins whose arrows tell the calibration


class Kind(NamedTuple):
    """A family, and the standard deviations of its weights and of its biases or thresholds."""

    options: dict
    weight_sd: float
    bias_sd: float


KINDS = {
    "binary": Kind({"family": "ising"}, 0.5, 0.3),
    "5 answers": Kind({"family": "ordinal", "n_states": 5, "scores": np.arange(5) - 2.0}, 0.15, 0.5),
}


def simulate(kind: Kind, d: int, n_rows: int, rng: np.random.Generator):
    """Weights and biases from the prior, and a series of `n_rows` rows after 50 that are thrown away."""
    graph = pmrf.graphs.lagged(d)
    present = rng.random(graph.n_edges) < ARROWS_PER_NODE / d
    weight = np.where(present, rng.normal(0, kind.weight_sd, graph.n_edges), 0.0)
    bias = rng.normal(0, kind.bias_sd, bias_shape(kind, d))
    field = pmrf.KineticMRF.dist(weight, bias, graph=graph, shape=(n_rows + 50, d), **kind.options)
    return graph, weight, bias, pm.draw(field, random_seed=rng)[50:]


def bias_shape(kind: Kind, d: int) -> tuple[int, ...]:
    """Shape of the biases of a binary field, or of the thresholds of an ordinal one."""
    K = kind.options.get("n_states", 2)
    return (d,) if K == 2 else (d, K - 1)


def learn(graph, x, kind: Kind, draws: int, tune: int, seed: int):
    """Sample two chains under the prior of the simulation; also seconds of the processor per draw."""
    d, clock = graph.n_nodes, []
    with pm.Model(coords=pmrf.coords(graph)):
        slab = pm.Normal.dist(0, kind.weight_sd)
        weight = pmrf.SpikeAndSlab("weight", ARROWS_PER_NODE / d, slab, dims="edge")
        bias = pm.Normal("bias", 0, kind.bias_sd, shape=bias_shape(kind, d))
        pmrf.KineticMRF("x", weight, bias, graph=graph, observed=x, **kind.options)
        idata = pm.sample(
            draws=draws,
            tune=tune,
            chains=2,
            random_seed=seed,
            callback=lambda trace, draw: clock.append((draw.chain, time.process_time())),
            **SILENT,
        )
    chain, at = np.array(clock).T
    return idata, float(np.diff(at)[np.diff(chain) == 0].mean())


def experiment(name: str, d: int, n_rows: int, draws: int, tune: int, seed: int) -> dict:
    """Simulate, learn and compare with the truth."""
    kind, rng = KINDS[name], np.random.default_rng([seed, d, n_rows])
    graph, weight, _, x = simulate(kind, d, n_rows, rng)
    idata, seconds = learn(graph, x, kind, draws, tune, seed)
    values = idata.posterior["weight"]
    present = (values != 0).mean(("chain", "draw")).values
    doubtful = values[..., (present > 0.05) & (present < 0.95)] != 0
    ess, r_hat = np.nan, np.nan
    if doubtful.shape[-1]:
        with np.errstate(divide="ignore", invalid="ignore"):  # chains of few draws may stand still
            ess = float(az.ess(doubtful.astype(float), method="mean").median())
            r_hat = float(az.rhat(doubtful.astype(float)).max())
    return {
        "inclusion": present,
        "truth": weight != 0,
        "seconds": seconds,
        "ess": ess / (2 * draws),
        "r_hat": r_hat,
    }


def cells(results: list[dict]) -> list[str]:
    """Cells of a row of the table: all series of one kind and size together."""
    p = np.concatenate([found["inclusion"] for found in results])
    truth = np.concatenate([found["truth"] for found in results])
    chosen = p > 0.5
    near = []
    for low, high in NEAR.values():
        inside = (p > low) & (p < high)
        shares = f"{p[inside].mean():.2f} / {truth[inside].mean():.2f} " if inside.any() else ""
        near.append(f"{shares}({inside.sum()})")
    seconds = np.mean([found["seconds"] for found in results])
    ess = np.mean([found["ess"] for found in results])
    return [
        f"{truth[chosen].mean():.3f}",
        f"{p[chosen].mean():.3f}",
        f"{truth[chosen].sum() / truth.sum():.3f}",
        f"{p[chosen].sum() / p.sum():.3f}",
        *near,
        f"{1000 * seconds:.2g}",
        f"{ess / seconds:.2g}",
        f"{np.median([found['r_hat'] for found in results]):.3f}",
    ]


HEADER = [
    "states",
    "nodes",
    "rows",
    "series",
    "precision",
    "as claimed",
    "recall",
    "as claimed",
    "near 0.5: claimed / true (arrows)",
    "near 0.9",
    "ms per draw",
    "effective draws per second",
    "largest R-hat",
]


def complete_digraph(d: int, n_rows: int, draws: int, seed: int) -> str:
    """One run of a complete digraph of many nodes: time and memory."""
    kind, rng = KINDS["binary"], np.random.default_rng(seed)
    start = time.process_time()
    graph, weight, _, x = simulate(kind, d, n_rows, rng)
    simulated = time.process_time() - start
    start = time.process_time()
    idata, seconds = learn(graph, x, kind, draws, draws, seed)
    total = time.process_time() - start
    p = (idata.posterior["weight"] != 0).mean(("chain", "draw")).values
    chosen, truth = p > 0.5, weight != 0
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return (
        f"Complete digraph of {d:,} nodes ({graph.n_edges:,} arrows), {n_rows:,} binary rows: "
        f"{seconds:.2g} s per draw, {gigabytes:.1f} GB of memory at the most. The series was simulated in "
        f"{simulated:.0f} s, and two chains of {draws} tuning steps and {draws} draws, with all that is "
        f"around them, took {total:.0f} s, in time of the processor. So short a run found arrows with "
        f"precision {truth[chosen].mean():.2f} and recall {truth[chosen].sum() / truth.sum():.2f}.\n\n"
        f"Made by `examples/kinetic_recovery.py`. Machine: {machine()}.\n"
    )


class Found(NamedTuple):
    """Precision and recall of the arrows with a probability above 0.5, and seconds of the processor."""

    sampler: str
    seconds: float
    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 0 where nothing is found."""
        total = self.precision + self.recall
        return 2.0 * self.precision * self.recall / total if total > 0 else 0.0


def found_by(sampler: str, seconds: float, p: np.ndarray, truth: np.ndarray) -> Found:
    """Compare inclusion probabilities `p` (r,) with the arrows that exist, `truth` (r,)."""
    chosen = p > 0.5
    right = (chosen & truth).sum()
    return Found(sampler, seconds, right / max(chosen.sum(), 1), right / truth.sum())


def beside_graph_tool(python: str, d: int, n_rows: int, draws: int, tune: int) -> list[Found]:
    """Compare `EdgeGibbs` with graph-tool in as much time and in ten times as much, on one binary series.

    The last is the shortest run of `EdgeGibbs`, of 2, 4, 8, ... tuning steps and as many draws, whose F1 is
    that of graph-tool in the longest time, or better.
    """
    kind, rng = KINDS["binary"], np.random.default_rng([0, d, n_rows])
    graph, weight, bias, x = simulate(kind, d, n_rows, rng)
    truth = weight != 0

    def ours(draws: int, tune: int) -> Found:
        idata, per_draw = learn(graph, x, kind, draws, tune, 0)
        p = (idata.posterior["weight"] != 0).mean(("chain", "draw")).values
        return found_by("EdgeGibbs", 2 * (draws + tune) * per_draw, p, truth)

    found = [ours(draws, tune)]
    with tempfile.TemporaryDirectory() as folder:
        given, taken = Path(folder) / "given.npz", Path(folder) / "found.npz"
        script = Path(__file__).with_name("kinetic_graph_tool.py")
        for factor in (1, 10):
            seconds = factor * found[0].seconds
            np.savez(given, x=x, bias=bias, seconds=seconds, expected=ARROWS_PER_NODE * d)
            subprocess.run([python, "-W", "ignore", script, given, taken], check=True)
            with np.load(taken) as stored:
                found.append(found_by("graph-tool", seconds, stored["inclusion"].ravel(), truth))
    n = 2
    while (short := ours(n, n)).f1 < found[-1].f1 and n < draws:
        n *= 2
    return [*found, short]


def main(argv: list[str] | None = None) -> None:
    """Run the series of all kinds and sizes, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=[10])
    parser.add_argument("--rows", type=int, nargs="+", default=[200])
    parser.add_argument(
        "--series", type=int, nargs="+", default=[2], help="of each kind, by number of nodes"
    )
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--tune", type=int, default=100)
    parser.add_argument(
        "--large", type=int, default=0, help="nodes of one series, in place of the others"
    )
    full = {"nodes": [10, 30, 100], "rows": [200, 1000], "series": [20] * 3, "draws": 500, "tune": 250}
    parser.add_argument(
        "--graph-tool", help="a Python that has graph-tool, beside which to learn instead"
    )
    arguments = parse_sizes(parser, argv, **full)
    draws, tune = arguments.draws, arguments.tune
    if arguments.large:
        text = complete_digraph(arguments.large, 1000, draws, 1)
        write_fragment(text, arguments.output, "kinetic_recovery_large.md")
        return
    rows: list[list] = []
    faster: list[str] = []
    if arguments.graph_tool:
        experiment("binary", 4, 50, 10, 10, 0)  # compiles
        for d in arguments.nodes:
            for n_rows in arguments.rows:
                *found, last, short = beside_graph_tool(arguments.graph_tool, d, n_rows, draws, tune)
                rows += [
                    [d, f"{n_rows:,}", one.sampler, f"{one.seconds:.2g}"]
                    + [f"{share:.2f}" for share in (one.precision, one.recall, one.f1)]
                    for one in (*found, last, short)
                ]
                faster.append(
                    f"{two_digits(last.seconds / short.seconds)} at {d} nodes and {n_rows:,} rows"
                )
        header = ["nodes", "rows", "sampler", "seconds", "precision", "recall", "F1"]
        text = table(header, rows) + (
            "\nOne binary series of each size, all arrows candidates, in seconds of the processor, tuning "
            "included; arrows with a probability above 0.5. The last row of each size is the shortest run of "
            "`EdgeGibbs` whose F1, the harmonic mean of precision and recall, is at least that of "
            "graph-tool's longer run, which took as many times as long: "
            f"{', '.join(faster)}. `IsingGlauberBlockState` of graph-tool "
            "starts from no arrows and has other priors: a stochastic block model, told the expected "
            "number of arrows, and flat weights. It is given the true biases, as Debian's version 2.45 "
            f"cannot sample them; `EdgeGibbs` learns them.\n\nMade by `examples/kinetic_recovery.py`. "
            f"Machine: {machine()}.\n"
        )
        write_fragment(text, arguments.output, "kinetic_recovery_graph_tool.md")
        return
    for name in KINDS:
        experiment(name, 4, 50, 10, 10, 0)  # compiles
        for d, n_series in zip(arguments.nodes, arguments.series, strict=True):
            for n_rows in arguments.rows:
                run = partial(experiment, name, d, n_rows, draws, tune)
                found = outcomes(run, range(n_series))
                rows.append([name, d, f"{n_rows:,}", n_series, *cells(found)])
                print(*rows[-1], flush=True)
    sds = [kind.weight_sd for kind in KINDS.values()]
    bins = ", ".join(f"{low} to {high}" for low, high in NEAR.values())
    text = table(HEADER, rows) + "\n"
    text += (
        f"Fields in time whose weights and biases are drawn from the prior, with {ARROWS_PER_NODE:.0f} "
        f"arrows to a node in the mean; weights of sd {sds[0]} (states -1 and 1) and {sds[1]} (scores "
        f"-2 to 2). All arrows are candidates, those from a node to itself too; two chains of {tune} "
        f"tuning steps and {draws} draws. Precision and recall are those of arrows with a probability "
        f"above 0.5, and what the posterior claims of them. Near 0.5 and 0.9 ({bins}): their mean "
        "probability, and the share of them that exist. Effective draws are the median of the "
        "presence of arrows with a probability between 0.05 and 0.95, per second of the processor; "
        "R-hat is the largest of them, the median over series.\n\n"
    )
    text += f"Made by `examples/kinetic_recovery.py`. Machine: {machine()}.\n"
    write_fragment(text, arguments.output, "kinetic_recovery.md")


if __name__ == "__main__":
    main()
