"""What other packages found on the tables, which tests/data/peers keeps, and our models with their priors.

As a script, it turns the draws that bgms.R wrote into the files that are kept. Run from the root of the
repository: python -m examples.peers.kept FOLDER
"""

import argparse
import json
import warnings
from pathlib import Path
from typing import NamedTuple

import arviz as az
import numpy as np
import pandas as pd
import pymc as pm

import pymc_mrf as pmrf
from examples.peers.tables import ANSWERS, SIMULATED, load

KEPT = SIMULATED
WIDE = 10.0  # standard deviation of the priors of biases and means


class Found(NamedTuple):
    """What a package found on a table, edges (0, 1), (0, 2), ... of the complete graph.

    Attributes
    ----------
    program : str
    inclusion, error : (r,) arrays
        Inclusion probabilities, and their Monte-Carlo errors, from the spread between chains or runs.
    weights, presence : (float, float)
        Effective draws per CPU second, median and minimum: of the weights that were ever present (NaN if
        not known), and of the presence of edges in doubt, `IN_DOUBT`.
    seconds : float
        CPU time, warm-up included.
    draws, warmup, chains : int
        Of each chain, and their number.
    """

    program: str
    inclusion: np.ndarray
    error: np.ndarray
    weights: tuple[float, float]
    presence: tuple[float, float]
    seconds: float
    draws: int
    warmup: int
    chains: int


IN_DOUBT = 0.05, 0.95
"""Inclusion probabilities of edges whose presence is compared."""


def in_doubt(inclusion: np.ndarray) -> np.ndarray:
    """Tell which edges are neither sure nor refuted."""
    return (inclusion > IN_DOUBT[0]) & (inclusion < IN_DOUBT[1])


def summary(w: np.ndarray, seconds: float, program: str, draws: int, warmup: int) -> Found:
    """Summarise weights w (chain, draw, r).

    The variance of an inclusion probability is the larger of that between chains, pooled over edges as a
    multiple of m (1 - m) (of one edge two chains tell little), and that which ArviZ finds within them.
    """
    chains, n = w.shape[:2]
    present = (w != 0).astype(float)
    m, by_chain = present.mean(axis=(0, 1)), present.mean(axis=1)
    bernoulli, between = m * (1 - m), by_chain.var(axis=0, ddof=1) / chains
    ratio = between.sum() / bernoulli.sum() if bernoulli.any() else 0.0
    within = np.zeros(len(m))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # chains that do not differ
        moved = bernoulli > 0
        if moved.any():
            within[moved] = np.nan_to_num(az.mcse(present[..., moved], method="mean"))
        ever = az.ess(w[..., m > 0], method="bulk")
        doubtful = in_doubt(m)
        presence = (
            az.ess(present[..., doubtful], method="mean") if doubtful.any() else np.array([np.nan])
        )
    error = np.sqrt(np.maximum(within**2, np.maximum(ratio * bernoulli, (chains * n) ** -2.0)))
    return Found(
        program, m, error, _median_and_least(ever / seconds), _median_and_least(presence / seconds),
        seconds, draws, warmup, chains,
    )  # fmt: skip


def _median_and_least(rates) -> tuple[float, float]:
    return float(np.nanmedian(rates)), float(np.nanmin(rates))


def bgms(name: str) -> Found:
    """Read what bgms found."""
    kept = json.loads((KEPT / f"{name}_bgms.json").read_text())
    return Found(**{k: np.array(v) if k in ("inclusion", "error") else v for k, v in kept.items()})


def bdgraph(name: str, algorithm: str) -> Found:
    """Read what BDgraph found in several runs.

    Its draws are weighted by waiting times, so that effective draws are m (1 - m) over the variance between
    the runs.
    """
    kept = json.loads((KEPT / f"{name}_{algorithm}.json").read_text())
    m, variance = np.array(kept["inclusion"]), np.array(kept["variance"])
    doubtful = in_doubt(m)
    effective = (m * (1 - m))[doubtful] / variance[doubtful]
    return Found(
        f"{kept['program']}, `{algorithm}`",
        m,
        np.sqrt(variance / kept["runs"]),
        (np.nan, np.nan),
        _median_and_least(effective * kept["runs"] / kept["seconds"]),
        kept["seconds"],
        kept["draws"],
        kept["warmup"],
        kept["runs"],
    )


def gaussian_model(table: pd.DataFrame, p: float = 0.5) -> pm.Model:
    """Declare the Gaussian field with the priors of bgms, `delta = 0`: docs/coming_from.md."""
    graph = pmrf.graphs.complete(list(table))
    with pm.Model(coords=pmrf.coords(graph)) as model:
        w = pmrf.SpikeAndSlab("w", p, pm.Cauchy.dist(0, 2), dims="edge")
        diagonal = pm.Exponential("diagonal", 0.5, dims="node")
        mean = pm.Flat("mean", dims="node")
        pmrf.GaussianMRF("x", w, diagonal, mean, graph=graph, observed=table)
    return model


def mixed_model(table: pd.DataFrame, a: int, likelihood: str = "exact", p: float = 0.5) -> pm.Model:
    """Declare the mixed field with the priors of bgms for edges and precision, and wide ones for the rest."""
    names = list(table)
    kinds = pmrf.column_kinds(
        table, dict.fromkeys(names[:a], "ordinal") | dict.fromkeys(names[a:], "continuous")
    )
    graph = pmrf.graphs.complete(names)
    with pm.Model(coords=kinds.coords(graph)) as model:
        w = pmrf.SpikeAndSlab("w", p, pm.Cauchy.dist(0, 2), shape=graph.n_edges)
        bias = pm.Normal("bias", 0, WIDE, dims=("answer", "state"))
        diagonal = pm.Exponential("diagonal", 0.5, dims="measurement")
        mean = pm.Normal("mean", 0, WIDE, dims="measurement")
        pmrf.MixedMRF(
            "x", w, bias, diagonal, mean, graph=graph, kinds=kinds, observed=table, likelihood=likelihood
        )
    return model


def condensed(name: str, folder: Path) -> Found | None:
    """Summarise the draws of bgms on a table, if they are there."""
    path = folder / f"{name}_settings.json"
    if not path.exists():
        return None
    settings = json.loads(path.read_text())
    names = list(load(name))
    order = [f"{u}-{v}" for i, u in enumerate(names) for v in names[i + 1 :]]
    chains = [pd.read_csv(file)[order].to_numpy() for file in sorted(folder.glob(f"{name}_*_*.csv"))]
    seconds = float(np.sum(settings["seconds"]))
    return summary(np.array(chains), seconds, settings["program"], settings["draws"], settings["warmup"])


def main(argv: list[str] | None = None) -> None:
    """Condense the draws of all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where bgms.R wrote its draws")
    folder = parser.parse_args(argv).folder
    for name in ANSWERS:
        found = condensed(name, folder)
        if found is not None:
            kept = found._asdict() | {
                "inclusion": [float(f"{v:.5g}") for v in found.inclusion],
                "error": [float(f"{v:.3g}") for v in found.error],
            }
            (KEPT / f"{name}_bgms.json").write_text(json.dumps(kept, indent=1) + "\n")
            print(name, found.weights, found.presence, found.seconds)


if __name__ == "__main__":
    main()
