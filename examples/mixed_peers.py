"""Inclusion probabilities and effective draws of mixed and Gaussian fields beside bgms and BDgraph.

The packages in R ran before, by the scripts in `examples/peers`, and tests/data/peers has what they found.
Ours runs here, under the same priors. Writes `_results/peers_gaussian.md` and `_results/peers_mixed.md`.
"""

import argparse
import os

import numpy as np

from examples._report import machine, parse_sizes, table, two_digits, write_fragment
from examples.peers.gwishart import reweighted
from examples.peers.kept import (
    KEPT,
    Found,
    bdgraph,
    bgms,
    gaussian_model,
    in_doubt,
    mixed_model,
    summary,
)
from examples.peers.tables import ANSWERS, load
from tests.benchmarks.structure_learning import timed_draws

SPEED = ["CPU s", "weights: median, minimum", "presence: median, minimum"]
GAUSSIAN = ["gaussian6", "gaussian15"]
MIXED = ["one_answer", "three_answers", "anes96"]
NOTE = (
    "Effective draws (ArviZ; bulk of weights that were ever present, mean of the presence of edges between "
    "0.05 and 0.95) per CPU second of one thread, warm-up included, compilation not."
)


def ours(name: str, draws: int, likelihood: str = "exact") -> Found:
    """Sample two chains of a table."""
    rows, a = load(name), ANSWERS[name]
    model = mixed_model(rows, a, likelihood) if a else gaussian_model(rows)
    idata, seconds = timed_draws(model, draws, draws // 2)
    return summary(idata.posterior["w"].values, seconds, "ours", draws, draws // 2)


def rates(values: tuple[float, float]) -> str:
    """Median and minimum in one cell."""
    return "" if np.isnan(values[0]) else ", ".join(two_digits(v) for v in values)


def cells(name: str, label: str, found: Found, reference: Found | None) -> list[str]:
    """One line of a table: speed, and differences from the reference over all edges."""
    line = [name, label, f"{found.seconds:.2g}", rates(found.weights), rates(found.presence)]
    if reference is None:
        return [*line, "", ""]
    gap = found.inclusion - reference.inclusion
    z = gap / np.hypot(found.error, reference.error)
    doubtful = in_doubt(reference.inclusion) | in_doubt(found.inclusion)
    return [*line, f"{np.sqrt(np.mean(z[doubtful] ** 2)):.2f}", f"{np.abs(gap).max():.3f}"]


def side_by_side(name: str, columns: dict[str, np.ndarray], most: int = 15) -> str:
    """Inclusion probabilities of the edges of a table that differ most, in its order."""
    names = list(load(name))
    edges = [f"{u} - {v}" for i, u in enumerate(names) for v in names[i + 1 :]]
    values = np.array(list(columns.values()))
    chosen = np.sort(np.argsort(-np.ptp(values, axis=0), kind="stable")[:most])
    return table(["edge", *columns], [[edges[k], *(f"{v:.3f}" for v in values[:, k])] for k in chosen])


def gaussian(draws: int) -> str:
    """Table of Gaussian fields."""
    lines, busy = [], os.getloadavg()[0]
    for name in GAUSSIAN:
        mine, theirs = ours(name, draws), bgms(name)
        lines += [cells(name, "ours", mine, None), cells(name, theirs.program, theirs, mine)]
        for algorithm in ("bdmcmc", "rj-dmh"):
            found = bdgraph(name, algorithm)
            lines.append(cells(name, found.program, found, None))
        if name == "gaussian6":
            columns = {"ours": mine.inclusion, "bgms": theirs.inclusion}
    p, error, n = reweighted(load("gaussian6"), draws)
    busy = 0.5 * (busy + os.getloadavg()[0])
    columns["ours, G-Wishart prior"] = p
    for algorithm in ("bdmcmc", "rj-dmh"):
        columns[f"BDgraph `{algorithm}`"] = bdgraph("gaussian6", algorithm).inclusion
    header = ["table", "package", *SPEED, "difference from ours in errors", "largest"]
    return (
        table(header, lines)
        + f"\n{NOTE} BDgraph's draws are weighted by waiting times and keep no weights: effective draws are "
        "from the variance between runs, CPU seconds those of all runs. "
        "Differences of inclusion probabilities: of edges in doubt in the "
        "Monte-Carlo errors of both, root mean square, where 1 is what equal posteriors give, and the "
        "largest as it is.\n\n"
        + side_by_side("gaussian6", columns)
        + "\nInclusion probabilities of `gaussian6`. The first two columns have the priors of bgms with "
        "`delta = 0`; the others the G-Wishart prior with 3 degrees of freedom and the unit matrix. Ours are "
        "draws under another prior, reweighted by the ratio of both densities with the normalising "
        f"constants of Atay-Kayis & Massam (2005), as good as {two_digits(n)} independent ones; errors are "
        f"up to {error.max():.3f}. {machine()}.\n\n"
        f"While ours ran, {busy:.1f} processes, ours included, wanted the {os.cpu_count()} cores (load "
        "average), which makes CPU seconds longer; the packages in R ran earlier.\n"
    )


def mixed(draws: int, names: list[str]) -> str:
    """Table of mixed fields."""
    lines, pictures = [], []
    for name in names:
        a = ANSWERS[name]
        exact, theirs = ours(name, draws), bgms(name)
        lines += [
            cells(name, "ours, exact", exact, None),
            cells(name, theirs.program, theirs, exact),
        ]
        columns = {"ours, exact": exact.inclusion, "bgms": theirs.inclusion}
        if name == "three_answers":
            pseudo = ours(name, draws, "pseudo")
            lines.append(cells(name, "ours, pseudo", pseudo, exact))
            columns["ours, pseudo"] = pseudo.inclusion
        rows, d = load(name).shape
        pictures.append(
            f"\n`{name}`: {rows} rows, {a} answers, {d - a} measurements; the edges that differ most.\n\n"
            + side_by_side(name, columns)
        )
    header = ["table", "package", *SPEED, "difference from ours, exact, in errors", "largest"]
    return (
        table(header, lines)
        + f"\n{NOTE} Differences of inclusion probabilities: of edges in doubt in either, in the Monte-Carlo "
        "errors of both, root mean square, where 1 is what equal posteriors give, and the largest as it is.\n"
        + "".join(pictures)
        + f"\n{machine()}.\n"
    )


def main(argv: list[str] | None = None) -> None:
    """Sample, compare, and write both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--draws", type=int, default=300, help="of each of two chains, after half as many"
    )
    args = parse_sizes(parser, argv, draws=1000)
    names = [name for name in MIXED if (KEPT / f"{name}_bgms.json").exists()]
    write_fragment(gaussian(args.draws), args.output, "peers_gaussian.md")
    write_fragment(mixed(args.draws, names), args.output, "peers_mixed.md")


if __name__ == "__main__":
    main()
