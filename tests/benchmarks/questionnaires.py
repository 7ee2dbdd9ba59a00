"""Edges of a questionnaire and of binary variables: the Monte Carlo likelihood beside the others.

The questionnaire, 25 items of six answers and 2,500 rows, and the binary variables are simulated. CPU time of
one core: of the declaration, in which the reference of ``"monte-carlo"`` is found, and of a chain, tuning
included in the rates; compilation is apart. Chains are short: of a minimum over all weights they say little
more than its order of magnitude.

As a script, it also counts the draws after which chains agree, and writes
docs/_results/questionnaire_speed.md. Run from the repository root: python -m tests.benchmarks.questionnaires
"""

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import arviz as az
import numpy as np
import pymc as pm

import pymc_mrf as pmrf
from examples._report import machine, table, write_fragment
from pymc_mrf.fields.families import BOLTZMANN, Family, ordinal
from pymc_mrf.fields.pairwise import PairwiseField
from tests.benchmarks.structure_learning import QUIET

N_ITEMS, SCORES, N_ROWS = 25, [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5], 2500
CHAINS = {"monte-carlo": (600, 200), "pseudo": (150, 50), "particles": (40, 15)}
"""Draws and tuning, about as many CPU seconds each."""

LENGTHS = (1000, 1500, 2000)
"""Draws of each of four chains at which they are compared."""


class Case(NamedTuple):
    """Simulated data, which edges they have, and their model."""

    name: str
    x: np.ndarray
    has_edge: np.ndarray
    declare: Callable[[np.ndarray, str], pm.Model]


class Outcome(NamedTuple):
    """What a chain says.

    Attributes
    ----------
    setup : float
        CPU seconds of the declaration.
    per_draw : float
        CPU seconds.
    least, median : float
        Effective draws of the weights that were ever present per CPU second, set-up and tuning included.
    n_edges, n_false : int
        Edges of probability above one half; those that the data do not have.
    n_claimed : float
        False ones that the chain expects among them.
    """

    setup: float
    per_draw: float
    least: float
    median: float
    n_edges: int
    n_false: int
    n_claimed: float


def drawn(family: Family, w: np.ndarray, nodes: np.ndarray, n: int, rng) -> np.ndarray:
    """Rows (n, d) of a complete field, by long Gibbs chains."""
    graph = pmrf.graphs.complete(len(nodes))
    field = PairwiseField(graph, family.edge_tables(w), family.node_tables(nodes))
    return np.asarray(field.sample(n, method="gibbs", n_sweeps=1000, rng=rng))


def questionnaire(seed: int = 1) -> Case:
    """Items of six ordered answers; two edges in five are present."""
    rng = np.random.default_rng(seed)
    r = N_ITEMS * (N_ITEMS - 1) // 2
    w = np.where(rng.random(r) < 0.4, rng.normal(0.02, 0.06, r), 0.0)
    thresholds = -(np.linspace(-0.5, 0.5, 5) ** 2) + rng.normal(0, 0.3, (N_ITEMS, 5))
    x = drawn(ordinal(6, SCORES), w, thresholds, N_ROWS, rng)

    def declare(x: np.ndarray, likelihood: str) -> pm.Model:
        with pm.Model() as model:
            w = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 0.5), shape=r)
            b = pm.Normal("b", 0, 3, shape=(N_ITEMS, 5))
            pmrf.OrdinalMRF(
                "x", w, b, graph=pmrf.graphs.complete(N_ITEMS), n_states=6, scores=SCORES, observed=x,
                likelihood=likelihood,
            )  # fmt: skip
        return model

    return Case(f"{N_ITEMS} items of 6 states, n = {N_ROWS}", x, w != 0.0, declare)


def binary(d: int, n: int = 1000, seed: int = 2) -> Case:
    """Variables with three neighbours on average."""
    rng = np.random.default_rng(seed)
    r = d * (d - 1) // 2
    w = np.where(rng.random(r) < 3.0 / (d - 1), rng.normal(0.3, 0.6, r), 0.0)
    x = drawn(BOLTZMANN, w, rng.normal(-0.5, 0.5, d), n, rng)

    def declare(x: np.ndarray, likelihood: str) -> pm.Model:
        with pm.Model() as model:
            p = min(0.5, 6.0 / (d - 1))
            w = pmrf.SpikeAndSlab("w", p, pm.Normal.dist(0, 1), shape=r)
            b = pm.Normal("b", 0, 3, shape=d)
            graph = pmrf.graphs.complete(d)
            pmrf.BoltzmannMachine("x", w, b, graph=graph, observed=x, likelihood=likelihood)
        return model

    return Case(f"{d} binary variables, n = {n}", x, w != 0.0, declare)


def measured(case: Case, likelihood: str, seed: int = 1) -> Outcome:
    """One chain of `CHAINS`."""
    draws, tune = CHAINS[likelihood]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few draws

        def sample(model, draws, tune):
            with model:
                return pm.sample(draws, tune=tune, random_seed=seed, **{**QUIET, "chains": 1})

        sample(case.declare(case.x[:300], likelihood), 1, 1)  # compiles
        start = time.process_time()
        model = case.declare(case.x, likelihood)
        setup = time.process_time() - start
        start = time.process_time()
        w = sample(model, draws, tune).posterior["w"].values  # (1, draw, r)
        seconds = time.process_time() - start
        ess = az.ess(w[:, :, (w != 0.0).any(axis=(0, 1))], method="bulk")
    included = (w != 0.0).mean(axis=(0, 1))
    found = included > 0.5
    return Outcome(
        setup,
        seconds / (draws + tune),
        float(np.nanmin(ess)) / (setup + seconds),
        float(np.nanmedian(ess)) / (setup + seconds),
        int(found.sum()),
        int((found & ~case.has_edge).sum()),
        float((1.0 - included[found]).sum()),
    )


def agreement(case: Case, seed: int = 1) -> list[tuple[int, float, int]]:
    """Compare four chains of `pm.sample` under ``"monte-carlo"`` after each of the `LENGTHS`.

    Returns the length, the largest R-hat of the weights, and how many are above 1.01.
    """
    with warnings.catch_warnings(), case.declare(case.x, "monte-carlo"):
        warnings.simplefilter("ignore")  # of R-hat, which is what is asked
        w = (
            pm.sample(LENGTHS[-1], tune=1000, random_seed=seed, **{**QUIET, "chains": 4})
            .posterior["w"]
            .values
        )
    found = []
    for n in LENGTHS:
        rhat = np.array(az.rhat(w[:, :n]))
        found.append((n, float(np.nanmax(rhat)), int((rhat > 1.01).sum())))
    return found


HEADER = [
    "data", "likelihood", "set-up, CPU s", "CPU ms a draw", "median", "minimum", "edges", "false", "claimed",
]  # fmt: skip


def speeds() -> str:
    """Measure all cases and return their table."""
    rows = []
    for case in (questionnaire(), binary(30), binary(50)):
        for likelihood in CHAINS:
            found = measured(case, likelihood)
            rows.append(
                [
                    case.name,
                    likelihood,
                    f"{found.setup:.1f}",
                    f"{1e3 * found.per_draw:.3g}",
                    f"{found.median:.3g}",
                    f"{found.least:.2g}",
                    str(found.n_edges),
                    str(found.n_false),
                    f"{found.n_claimed:.1f}",
                ]
            )
    return table(HEADER, rows)


def main() -> None:
    """Measure everything and write the fragment of the documentation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("docs"))
    arguments = parser.parse_args()
    rows = speeds()  # first: the reference of a model that is still there would be found at once
    case = questionnaire()
    lengths = "; ".join(
        f"after {n} draws {largest:.3f}, {n_above} of {len(case.has_edge)} above 1.01"
        for n, largest, n_above in agreement(case)
    )
    text = (
        f"{rows}\n"
        "CPU time of one core with one thread of BLAS, beside other work. Median and minimum: effective "
        "draws (ArviZ, bulk) of the weights that were ever present per CPU second, set-up and tuning "
        "included; chains are short, so that a minimum says little more than its order of magnitude. Edges "
        "of probability above one half, how many of them are false, and how many false ones the chain "
        "expects.\n\n"
        f'The {case.name} under "monte-carlo", largest R-hat of a weight, four chains after 1000 tuning '
        f"steps: {lengths}.\n\nMachine: {machine()}.\n"
    )
    write_fragment(text, arguments.output, "questionnaire_speed.md")


if __name__ == "__main__":
    main()
