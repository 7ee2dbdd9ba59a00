"""Effective draws per CPU second of `pm.sample()` and of bgms, same data, priors, draws and warm-up.

As a script, it writes docs/_results/bgms_speed.md. Run from the repository root:
python -m tests.benchmarks.bgms
"""

import argparse
import os
import warnings
from pathlib import Path
from typing import NamedTuple

import arviz as az
import numpy as np

from examples._report import machine, table, two_digits, write_fragment
from tests.benchmarks.structure_learning import timed_draws
from tests.reference import bgms


class Speed(NamedTuple):
    """Ours beside bgms.

    Attributes
    ----------
    median, least : float
        Effective draws per CPU second, over the weights that were ever present.
    seconds : float
        CPU time of both chains, warm-up included.
    rhat : float
        The largest over these weights.
    gap : float
        Differences of the inclusion probabilities in their Monte-Carlo errors, root mean square over the
        edges in doubt (between 0.05 and 0.95): 1 if the posteriors are equal.
    largest : float
        The largest of these differences, as it is.
    load : float
        Mean number of processes that wanted to run while ours did, from the load average of a minute.
    """

    median: float
    least: float
    seconds: float
    rhat: float
    gap: float
    largest: float
    load: float


def measured(name: str, draws: int | None = None, tune: int | None = None, seed: int = 1) -> Speed:
    """Sample a data set as often as bgms did, or `draws` after `tune`."""
    found, model = bgms.results(name), bgms.model(bgms.data(name))
    before = os.getloadavg()[0]
    idata, seconds = timed_draws(model, draws or found.draws, tune or found.tune, seed)
    load = (before + os.getloadavg()[0]) / 2
    w = idata.posterior["w"].values  # (chain, draw, r)
    ever = w[:, :, (w != 0).any(axis=(0, 1))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ess, rhat = az.ess(ever, method="bulk"), az.rhat(ever)
        gap, error = bgms.differences(found, w)
    theirs = found.inclusion.mean(axis=0)
    doubtful = bgms.trusted(name) & (np.abs(theirs - 0.5) < 0.45)
    return Speed(
        float(np.nanmedian(ess)) / seconds,
        float(np.nanmin(ess)) / seconds,
        seconds,
        float(np.nanmax(rhat)),
        float(np.sqrt(np.mean((gap / error)[doubtful] ** 2))),
        float(np.abs(gap[doubtful]).max()),
        load,
    )


HEADER = [
    "data",
    "rows, variables",
    "median, minimum",
    "bgms",
    "ratio of medians",
    "of minima",
    "CPU s",
    "bgms",
    "largest R-hat",
    "difference in errors",
    "largest",
]


def row(name: str, speed: Speed) -> list[str]:
    """One line of the table."""
    found, (n, d) = bgms.results(name), bgms.data(name).shape
    median, least = found.ess_per_second
    return [
        name,
        f"{n}, {d}",
        f"{speed.median:.3g}, {speed.least:.3g}",
        f"{median:.3g}, {least:.2g}",
        two_digits(speed.median / median),
        two_digits(speed.least / least),
        f"{speed.seconds:.0f}",
        f"{found.seconds:.0f}",
        f"{speed.rhat:.3f}",
        f"{speed.gap:.2f}",
        f"{speed.largest:.2f}",
    ]


def fragment(speeds: dict[str, Speed]) -> str:
    """Table and notes."""
    loads = [speed.load for speed in speeds.values()]
    notes = (
        "Effective draws (ArviZ, bulk) of the weights per CPU second, warm-up included, compilation not; "
        "median and minimum over the weights that were ever present in a draw. Both packages: "
        "pseudo-likelihood, two chains, 2000 draws after 1000 for anes96 and ordinal10 and 500 after 500 "
        "for lattice100 and senate05, and the priors of bgms: Cauchy of scale 2 on the weight, inclusion "
        "probability 1/2, thresholds logits of Beta(1/2, 1/2). Ours is one process on one core; the "
        "numbers of bgms 0.2.0 (R 4.2.2; NUTS, defaults, OpenBLAS with one thread) were measured earlier, "
        "in CPU seconds of all its processes, and are in `tests/data/bgms` with its results. "
        "The last two columns: differences of the inclusion probabilities of the edges in doubt (between "
        "0.05 and 0.95), in the Monte-Carlo errors of both packages, root mean square, where 1 is what "
        "equal posteriors give; and the largest as it is. They are without the edges of items 2 and 3 of "
        "ordinal10, where the packages disagree: `tests/data/bgms/README.md`.\n"
        f"\nWhile ours ran, {min(loads):.1f} to {max(loads):.1f} processes, ours included, wanted the "
        f"{os.cpu_count()} cores (load average).\n"
    )
    lines = table(HEADER, [row(name, speed) for name, speed in speeds.items()])
    return lines + "\n" + notes + f"\nMachine: {machine()}.\n"


def main() -> None:
    """Measure everything and write the fragment of the documentation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("docs"))
    parser.add_argument("names", nargs="*", default=list(bgms.NAMES), help="data sets; all by default")
    arguments = parser.parse_args()
    speeds = {}
    for name in arguments.names:
        speeds[name] = measured(name)
        print(name, speeds[name], flush=True)
    write_fragment(fragment(speeds), arguments.output, "bgms_speed.md")


if __name__ == "__main__":
    main()
