"""Hidden pictures with unknown coupling, levels and noise: what draws cost, whether the truth is found.

Pictures are drawn from a Potts model on a square lattice, below or above its critical coupling
log(1 + sqrt(K)), and Gaussian noise is added. The coupling, the grey level of each class and the noise are
sampled together with the classes of all pixels, whose draws are counted, not stored. CPU times and effective
draws go into ``hidden_image_scaling.md``, what it costs to keep levels in order into
``hidden_image_ordering.md``, coverage by intervals into ``hidden_image_recovery.md``.

What was measured of each picture is added to a file when it is done, and read from there by the next run: all
of ``--full`` takes about half an hour, and can be had in pieces.
"""

import argparse
import json
import shutil
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import arviz as az
import numpy as np
import pymc as pm
import xarray as xr

import pymc_mrf as pmrf
from examples._report import SILENT, machine, outcomes, parse_sizes, table, two_digits, write_fragment
from examples.coupling_path import Case, picture
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.likelihood.path import path_form as path_module
from pymc_mrf.likelihood.path.coupling_path import CouplingPath
from pymc_mrf.likelihood.path.saved_paths import saved_path

NOISE = 0.5
PHASES = {"below": 0.9, "above": 1.05}
"""Couplings, in units of the critical one."""

LARGEST_PATH = {2: 128, 3: 128, 5: 64}
"""Sides up to which a path is simulated, by the number of states: it takes minutes."""

LARGEST = {
    2: {"below": 500, "above": 256},
    3: {"below": 500, "above": 256},
    5: {"below": 256, "above": 128},
}
"""Sides of the largest pictures that are sampled, to keep the time of all in bounds."""

PARAMETERS = ["coupling", "level", "noise"]


def critical_coupling(n_states: int) -> float:
    """Coupling at which the Potts model on an infinite square lattice orders (Wu, 1982)."""
    return float(np.log1p(np.sqrt(n_states)))


def hidden_picture(
    graph: PairwiseGraph, n_states: int, y: np.ndarray, ordered: bool = False
) -> pm.Model:
    """Coupling, levels, noise and classes, at PyMC's default starts.

    Priors tell the levels apart; `ordered` keeps them in increasing order as well.
    """
    transform = {"transform": pm.distributions.transforms.ordered} if ordered else {}
    with pm.Model() as model:
        coupling = pm.HalfNormal("coupling", 1)
        level = pm.Normal("level", np.arange(n_states), 1, **transform)
        noise = pm.HalfNormal("noise", 1)
        x = pmrf.Potts("x", coupling, graph=graph, n_states=n_states, likelihood="path")
        pm.Normal("y", level[x], noise, observed=y)
    return model


def sample(model: pm.Model, draws: int, tune: int) -> tuple[xr.DataTree, np.ndarray]:
    """One chain of the parameters, and the CPU time at the end of each step; states are counted."""
    counts, seconds = pmrf.LatentMarginals(model["x"], model), []

    def callback(trace: Any, draw: Any) -> None:
        counts(trace, draw)
        seconds.append(time.process_time())

    with model, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that draws are few
        idata = pm.sample(
            draws=draws,
            tune=tune,
            chains=1,
            random_seed=2,
            **SILENT,
            callback=callback,
            var_names=PARAMETERS,
        )
    return idata, np.array(seconds)


def enlarged(path: CouplingPath, graph: PairwiseGraph, n_states: int) -> CouplingPath:
    """Path of a smaller lattice times the ratio of edges: as quick as that of `graph`, but not as right."""
    f = graph.n_edges / len(path.weights)
    return CouplingPath(
        graph.n_nodes * np.log(n_states),
        np.ones(graph.n_edges),
        path.knots,
        path.means * f,
        path.variances * f,
        path.errors * np.sqrt(f),
        path.gaps * np.sqrt(f),
        path.least * f,
    )


def simulate(side: int, n_states: int, folder: Path) -> dict:
    """CPU seconds that the path of a square lattice takes, which goes into `folder`."""
    with TemporaryDirectory() as empty:
        start = time.process_time()
        find_path(side, n_states, Path(empty))
        seconds = time.process_time() - start
        shutil.copytree(empty, folder, dirs_exist_ok=True)
    return {"what": "path", "side": side, "states": n_states, "simulation": seconds}


def find_path(side: int, n_states: int, folder: Path) -> CouplingPath:
    """Path of a square lattice, simulated if it is not in `folder`."""
    graph = pmrf.graphs.grid(side, side)
    return saved_path(graph, np.ones(graph.n_edges), n_states, 1, False, folder, lambda file: None)


def simulated_side(side: int, n_states: int) -> int:
    """Side of the picture whose path is used."""
    return min(side, LARGEST_PATH[n_states])


def measure(
    side: int, n_states: int, phase: str, draws: int, folder: Path, ordered: bool = False
) -> dict:
    """Sample one picture; what the table says of it."""
    graph = pmrf.graphs.grid(side, side)
    path = find_path(simulated_side(side, n_states), n_states, folder)
    if len(path.weights) < graph.n_edges:
        path = enlarged(path, graph, n_states)
    rng = np.random.default_rng(1)
    y = picture(graph, Case(side, n_states, PHASES[phase] * critical_coupling(n_states)), rng)
    begin = time.process_time()
    with patch.object(path_module, "saved_path", lambda *args: path):
        model = hidden_picture(graph, n_states, y, ordered)
    idata, seconds = sample(model, draws, draws // 2)
    total = time.process_time() - begin
    sizes = az.ess(idata)
    return {
        "what": "ordered" if ordered else "free",
        "side": side,
        "states": n_states,
        "phase": phase,
        "draws": draws,
        "set-up": total - (seconds[-1] - seconds[0]),
        "ms": 1e3 * float(np.diff(seconds[-draws:]).mean()),
        "leapfrogs": float(idata.sample_stats["n_steps"].mean()),
        "ess": {name: float(sizes[name].min()) for name in PARAMETERS},
        "total": total,
    }


def recover(side: int, n_states: int, draws: int, seed: int) -> dict:
    """Sample a picture below the critical coupling; which 90 % intervals hold the truth."""
    graph, coupling = pmrf.graphs.grid(side, side), PHASES["below"] * critical_coupling(n_states)
    y = picture(graph, Case(side, n_states, coupling), np.random.default_rng([side, n_states, seed]))
    posterior = sample(hidden_picture(graph, n_states, y), draws, draws // 2)[0].posterior.to_dataset()
    truth = {"coupling": coupling, "level": np.arange(n_states), "noise": NOISE}
    low, high = (posterior.quantile(q, ("chain", "draw")) for q in (0.05, 0.95))
    held = {name: ((low[name] <= truth[name]) & (truth[name] <= high[name])) for name in PARAMETERS}
    off = {name: posterior[name].mean(("chain", "draw")) - truth[name] for name in PARAMETERS}
    return {
        "side": side,
        "states": n_states,
        "draws": draws,
        "held": {name: np.atleast_1d(value).tolist() for name, value in held.items()},
        "off": {name: np.atleast_1d(value).tolist() for name, value in off.items()},
    }


def kept(file: Path, key: dict, make: Callable[[], dict]) -> dict:
    """Row of `file` that agrees with `key`; made and added if there is none."""
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    for row in rows:
        if all(row.get(name) == value for name, value in key.items()):
            return row
    row = make()
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as stream:
        stream.write(json.dumps(row) + "\n")
    return row


def scaling_text(rows: list[dict], simulations: list[dict]) -> str:
    """Table of what draws cost, and how that grows."""
    lines, exponents = [], []
    for row, path in zip(rows, simulations, strict=True):
        simulation = two_digits(path["simulation"])
        if path["side"] < row["side"]:
            simulation = f"that of {path['side']} x {path['side']}"
        sizes = [two_digits(row["ess"][name] / (row["total"] - row["set-up"])) for name in PARAMETERS]
        case = f"{row['side']} x {row['side']}", row["states"], row["phase"]
        lines.append(
            [*case, row["draws"], simulation, f"{row['set-up']:.0f}", two_digits(row["ms"]), *sizes]
        )
    for n_states, phase in sorted({(row["states"], row["phase"]) for row in rows}):
        own = [row for row in rows if (row["states"], row["phase"]) == (n_states, phase)]
        own = sorted(own, key=lambda row: row["side"])[1 if len(own) > 2 else 0 :]
        pixels, ms = ([row["side"] ** 2 for row in own], [row["ms"] for row in own])
        if len(own) > 1:
            slope = np.polyfit(np.log(pixels), np.log(ms), 1)[0]
            exponents.append(f"{slope:.2f} (K = {n_states}, {phase})")
    header = ["picture", "K", "critical", "draws", "s to simulate the path", "s of set-up"]
    header += ["ms per draw", "effective draws per s: coupling", "levels, the least", "noise"]
    below, above = (f"{PHASES[name]:g}" for name in ("below", "above"))
    return table(header, lines) + (
        f"\nCouplings are {below} and {above} of the critical one, levels 0, 1, ..., K - 1, noise "
        f"{NOISE:g}. One chain, after half as many tuning steps as draws, which count in effective draws per "
        "second; set-up, with what PyTensor compiles, and the simulation of the path, needed once per graph, "
        "stand apart. Chains of the largest pictures are short, and their effective draws rough. Seconds are "
        "CPU time. Where the path of a smaller picture is named, times are those of this path, enlarged by "
        "the number of edges: right enough to measure how fast chains are, not to learn a coupling.\n\n"
        "Without the smallest pictures, where other costs prevail, milliseconds per draw grow with the "
        f"number of pixels to the power of {', '.join(exponents)}.\n\n"
    )


def ordering_text(rows: list[dict], ordered: list[dict]) -> str:
    """Table of what it costs to keep levels in increasing order."""
    lines = []
    for row, other in zip(rows, ordered, strict=True):
        line = [f"{row['side']} x {row['side']}", row["states"], row["phase"]]
        line += [f"{r['leapfrogs']:.1f}" for r in (row, other)]
        for name in ("coupling", "level"):
            line += [two_digits(r["ess"][name] / (r["total"] - r["set-up"])) for r in (row, other)]
        lines.append(line)
    header = ["picture", "K", "critical", "leapfrog steps per draw", "the same, ordered"]
    header += [
        "effective draws per s: coupling",
        "coupling, ordered",
        "levels, the least",
        "levels, ordered",
    ]
    return table(header, lines) + (
        "\nPriors tell the levels apart; ordered ones are kept in increasing order by PyMC's `ordered` as "
        "well: NUTS then moves the first level and the logarithms of the differences. One chain of "
        f"{rows[0]['draws']} draws of one picture each.\n\n"
    )


def recovery_text(rows: list[dict]) -> str:
    """Table of the coverage of intervals."""
    lines = []
    for n_states in sorted({row["states"] for row in rows}):
        own = [row for row in rows if row["states"] == n_states]
        for name in PARAMETERS:
            held, off = (
                np.array([row[what][name] for row in own], dtype=float) for what in ("held", "off")
            )
            share = f"{held.mean():.2f} ({np.sqrt(0.09 / held.size):.2f})"
            bias = f"{off.mean():.4f} ({off.std() / np.sqrt(off.size):.4f})"
            lines.append([n_states, name, held.size, share, bias])
    header = ["K", "parameter", "intervals", "share that hold the truth", "mean error"]
    side, draws = rows[0]["side"], rows[0]["draws"]
    return table(header, lines) + (
        f"\nPictures of {side} x {side} pixels, one for each, {PHASES['below']:g} of the critical coupling; "
        f"90 % intervals of {draws} draws of one chain. Standard errors in brackets, of the share if it "
        "were 0.9.\n\n"
    )


def main(argv: list[str] | None = None) -> None:
    """Measure what is not known yet, write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sides", type=int, nargs="+", default=[16, 24])
    parser.add_argument("--draws", type=int, nargs="+", default=[50, 50], help="one number per side")
    parser.add_argument("--states", type=int, nargs="+", default=[2], choices=list(LARGEST_PATH))
    parser.add_argument("--ordering-side", type=int, default=16, help="one of the sides")
    parser.add_argument("--replicates", type=int, default=2)
    parser.add_argument("--recovery-side", type=int, default=16)
    parser.add_argument("--recovery-states", type=int, nargs="+", default=[2])
    parser.add_argument("--recovery-draws", type=int, default=50)
    parser.add_argument("--rows", type=Path, default=Path("output/hidden_image_scaling.jsonl"))
    full = dict(sides=[32, 64, 128, 256, 500], draws=[1000, 1000, 1000, 500, 500], states=[2, 3, 5])
    full |= dict(
        ordering_side=64, replicates=20, recovery_side=64, recovery_states=[3], recovery_draws=400
    )
    arguments = parse_sizes(parser, argv, **full)
    rows, ordered, simulations, found, folder = [], [], [], [], arguments.rows.parent / "paths"
    for side, draws in zip(arguments.sides, arguments.draws, strict=True):
        for n_states in arguments.states:
            simulated = simulated_side(side, n_states)
            key = dict(what="path", side=simulated, states=n_states)
            path = kept(arguments.rows, key, partial(simulate, simulated, n_states, folder))
            for phase in PHASES:
                if side > LARGEST[n_states][phase]:
                    continue
                simulations.append(path)
                key = dict(what="free", side=side, states=n_states, phase=phase, draws=draws)
                make = partial(measure, side, n_states, phase, draws, folder)
                rows.append(kept(arguments.rows, key, make))
                if side == arguments.ordering_side:
                    key["what"], make = "ordered", partial(make, ordered=True)
                    ordered.append(kept(arguments.rows, key, make))
    side, draws = arguments.recovery_side, arguments.recovery_draws
    for n_states in arguments.recovery_states:
        store = arguments.rows.parent / f"recovery-free-{side}-{n_states}-{draws}"
        found += outcomes(partial(recover, side, n_states, draws), range(arguments.replicates), store)
    end = f"Made by `examples/hidden_image_scaling.py`. Machine: {machine()}.\n"
    write_fragment(scaling_text(rows, simulations) + end, arguments.output, "hidden_image_scaling.md")
    compared = [row for row in rows if row["side"] == arguments.ordering_side]
    write_fragment(ordering_text(compared, ordered) + end, arguments.output, "hidden_image_ordering.md")
    write_fragment(recovery_text(found) + end, arguments.output, "hidden_image_recovery.md")


if __name__ == "__main__":
    main()
