"""Simulation-based calibration of all steps: whether truths lie in their posteriors as draws do.

For each step a small model of its own: parameters are drawn from the prior, data from the model given these,
the posterior is sampled, and the rank of the truth among thinned draws kept. If the posterior is right, ranks
are uniform (Talts et al., 2018). The control is a sampler that is given a wrong prior. The table goes into
``docs/_results/calibration.md``, ECDFs of the ranks with simultaneous bands (Säilynoja et al., 2022) into
``docs/figures/calibration.png``.
"""

import argparse
import math
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pymc as pm
import pytensor
from arviz_stats.ecdf_utils import ecdf_pit
from matplotlib.figure import Figure
from scipy import stats

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pymc_mrf as pmrf
from examples._report import SILENT, machine, parse_sizes, save_figure, table, write_fragment

GRID = pmrf.graphs.grid(2, 3)
PAIRS = pmrf.graphs.complete(4)
PICTURE = pmrf.graphs.grid(6, 6)
ARROWS = pmrf.graphs.lagged(3)
GAPS = np.zeros((60, 3), dtype=bool)  # of a field in time: some cells, and rows
GAPS[4::8, 0] = GAPS[6::8, 2] = GAPS[30:32] = True
TRIANGLE = pmrf.graphs.complete(3)
HOLES = np.zeros((60, 4), dtype=bool)  # of four columns: some cells
HOLES[3::7, 1] = HOLES[5::9, 2] = True
MIXTURE = pmrf.fields.ColumnKinds(
    tuple("abcd"), ("nominal", "ordinal", "continuous", "continuous"), (3, 2, 0, 0)
)
MIXED = pmrf.graphs.complete(MIXTURE.names)
MEANS = np.array([-1.0, 0.0, 1.0])
N_RANKS = 20  # ranks 0 to 19, of the truth among as many draws less one
BAND = 0.95
Values = dict[str, np.ndarray]  # of variables, draws first


def one_coupling(likelihood: str, x: Any = None, n: int = 20) -> pm.Model:
    """Declare an Ising field with one coupling and one field, of n rows by default."""
    with pm.Model() as model:
        J, h = pm.Normal("J", 0, 0.4), pm.Normal("h", 0, 0.4)
        x = np.ones((n, 6), int) if x is None else x
        pmrf.Ising("x", J, h, graph=GRID, observed=x, likelihood=likelihood)
    return model


def coupling_alone(x: Any = None) -> pm.Model:
    """Declare an Ising field with one coupling, whose partition function is integrated along a path."""
    with pm.Model() as model:
        J = pm.Normal("J", 0.3, 0.2)
        x = np.ones((5, 6), int) if x is None else x
        pmrf.Ising("x", J, graph=GRID, observed=x, likelihood="path")
    return model


def grouped(likelihood: str, x: Any = None, learns_alpha: bool = False) -> pm.Model:
    """Declare an agreement field whose edges fall into groups."""
    with pm.Model() as model:
        alpha = pm.Gamma("alpha", 2, 1) if learns_alpha else 1.0
        theta = pmrf.DirichletProcess("theta", alpha, pm.Beta.dist(4, 3), shape=7)
        x = np.zeros((50, 6), int) if x is None else x
        pmrf.AgreementMRF("x", theta, graph=GRID, observed=x, likelihood=likelihood)
    return model


def sparse(likelihood: str, x: Any = None, inclusion: float = 0.5) -> pm.Model:
    """Declare a Boltzmann machine some of whose edges are absent."""
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", inclusion, pm.Normal.dist(0, 1), shape=6)
        b = pm.Normal("b", 0, 0.5, shape=4)
        x = np.zeros((60, 4), int) if x is None else x
        pmrf.BoltzmannMachine("x", w, b, graph=PAIRS, observed=x, likelihood=likelihood)
    return model


def hierarchy(x: Any = None) -> pm.Model:
    """Declare the same with an unknown density and an unknown scale of the weights."""
    with pm.Model() as model:
        p, tau = pm.Beta("p", 2, 3), pm.Gamma("tau", 3, 2)
        w = pmrf.SpikeAndSlab("w", p, pm.Normal.dist(0, tau=tau), shape=6)
        x = np.zeros((60, 4), int) if x is None else x
        pmrf.BoltzmannMachine("x", w, np.zeros(4), graph=PAIRS, observed=x)
    return model


def communities(x: Any = None) -> pm.Model:
    """Declare the same with nodes that fall into communities."""
    with pm.Model(coords=pmrf.coords(PAIRS)) as model:
        z = pmrf.EdgeCommunities("z", 0.8, 1.6, dims="node")
        within, between = pm.Beta("within", 3, 1), pm.Beta("between", 1, 3)
        p = pm.math.switch(pmrf.same_community(z, PAIRS), within, between)
        w = pmrf.SpikeAndSlab("w", p, pm.Normal.dist(0, 1), dims="edge")
        x = np.zeros((60, 4), int) if x is None else x
        pmrf.BoltzmannMachine("x", w, np.zeros(4), graph=PAIRS, observed=x)
    return model


def picture(x: Any = None) -> pm.Model:
    """Declare a hidden Potts field."""
    with pm.Model() as model:
        z = pmrf.Potts("z", np.float64(0.7), graph=PICTURE, n_states=3)
        x = np.zeros(36) if x is None else x
        pm.Normal("x", pm.math.stack(list(MEANS))[z], 0.8, observed=x)
    return model


def in_time(x: Any = None) -> pm.Model:
    """Declare a field in time with missing cells, some of whose arrows are absent."""
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), shape=9)
        b = pm.Normal("b", 0, 0.5, shape=3)
        x = np.ma.masked_array(np.zeros(GAPS.shape) if x is None else x, GAPS)
        pmrf.KineticMRF("x", w, b, graph=ARROWS, observed=x)
    return model


def grouped_in_time(x: Any = None) -> pm.Model:
    """Declare a field in time whose arrows fall into groups."""
    with pm.Model() as model:
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Normal.dist(0, 1), shape=9)
        x = np.zeros(GAPS.shape, int) if x is None else x
        pmrf.KineticMRF("x", theta, np.zeros(3), graph=ARROWS, observed=x)
    return model


def measured(x: Any = None) -> pm.Model:
    """Declare a Gaussian field with missing cells, some of whose edges are absent.

    The prior hardly ever leaves the cone of positive definite precisions.
    """
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 0.3), shape=6)
        b = pm.Normal("b", 0.7, 0.2, shape=4)
        x = np.arange(HOLES.size).reshape(HOLES.shape) % 7.0 if x is None else x
        x = np.ma.masked_array(x, HOLES)
        pmrf.GaussianMRF(
            "x", w, pm.math.exp(b), pm.Normal("mean", 0, 1, shape=4), graph=PAIRS, observed=x
        )
    return model


def tabulated(x: Any = None) -> pm.Model:
    """Declare a nominal field of three states, some of whose tables are absent."""
    with pm.Model() as model:
        blocks = pmrf.fields.table_sizes(TRIANGLE, 3)
        w = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 0.7), blocks=blocks)
        b = pm.Normal("b", 0, 0.5, shape=(3, 3))
        x = np.zeros((60, 3), int) if x is None else x
        pmrf.NominalMRF("x", w, b, graph=TRIANGLE, n_states=3, observed=x)
    return model


def mixture(x: Any = None) -> pm.Model:
    """Declare a field of answers and measurements with missing cells, some of whose edges are absent.

    The prior hardly ever leaves the cone of positive definite precisions.
    """
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 0.4), blocks=MIXTURE.block_sizes(MIXED))
        bias = pm.Normal("bias", 0, 0.5, shape=(2, 3))
        b, mean = pm.Normal("b", 0.7, 0.2, shape=2), pm.Normal("mean", 0, 1, shape=2)
        x = np.arange(HOLES.size).reshape(HOLES.shape) % [3, 2, 7, 5] if x is None else x
        x = np.ma.masked_array(x, HOLES)
        pmrf.MixedMRF(
            "x", w, bias, pm.math.exp(b), mean, graph=MIXED, kinds=MIXTURE, scale=[1, 2], observed=x
        )
    return model


def n_groups(v: Values) -> np.ndarray:
    """Count the different values of edges."""
    return 1 + (np.diff(np.sort(v["theta"], axis=1), axis=1) > 0).sum(axis=1)


def n_communities(v: Values) -> np.ndarray:
    """Count the communities."""
    return 1 + (np.diff(np.sort(v["z"], axis=1), axis=1) > 0).sum(axis=1)


def n_agreeing(v: Values) -> np.ndarray:
    """Count the pairs of neighbours of a picture that are alike."""
    u, v_ = PICTURE.edges.T
    return (v["z"][:, u] == v["z"][:, v_]).sum(axis=1)


IDENTITY = {
    "J": lambda v: v["J"],
    "h": lambda v: v["h"],
}
GROUPS = {"number of groups": n_groups, "mean": lambda v: v["theta"].mean(axis=1)}
EDGES = {
    "number of edges": lambda v: (v["w"] != 0).sum(axis=1),
    "sum of weights": lambda v: v["w"].sum(axis=1),
}
EDGES_AND_BIASES = {**EDGES, "sum of biases": lambda v: v["b"].sum(axis=1)}
TABLES = {
    "number of tables": lambda v: (v["w"].reshape(len(v["w"]), 3, -1) != 0).any(axis=2).sum(axis=1),
    "squares of weights": lambda v: (v["w"] ** 2).sum(axis=1),
    "biases of node 0": lambda v: (v["b"][:, 0] * [-1.0, 0.0, 1.0]).sum(axis=1),
}

HEADS = np.cumsum([0, *MIXTURE.block_sizes(MIXED)[:-1]])  # first parameter of each edge


@dataclass(frozen=True)
class Case:
    """A step on a model.

    Attributes
    ----------
    step, target : str
        As the table shows them; what the step leaves invariant.
    make : callable
        Of the data, None for any.
    quantities : dict of callable
        Whose ranks are looked at, of values of the variables.
    steps : callable
        Of a model: steps that `pm.sample` would not choose.
    thin : int
        Steps for each that is kept.
    fit : callable, optional
        Model that is fitted, if not `make`.
    """

    step: str
    target: str
    make: Callable[..., pm.Model]
    quantities: dict[str, Callable[[Values], np.ndarray]]
    steps: Callable[[pm.Model], Any] = field(default=lambda model: None)
    thin: int = 5
    fit: Callable[..., pm.Model] | None = None


def made(step: type, *names: str, **options) -> Callable[[pm.Model], Any]:
    """Make a step for variables of a model."""
    return lambda model: step([model[name] for name in names], model=model, **options)


def feature_steps(likelihood: str, model: pm.Model) -> list:
    """Jumps and Langevin moves, which go together."""
    rough = likelihood == "particles"
    jump, move = ({"width": 0.5}, {"step_size": 0.1}) if rough else ({}, {})
    return [
        pmrf.papers.ReversibleJump([model["w"]], model=model, **jump),
        pmrf.papers.PersistentLangevin([model["w"], model["b"]], model=model, **move),
    ]


EXACT, GIVEN, NEARLY = "posterior", "posterior, given exact auxiliary draws", "approximation"
RIGHT = (EXACT, GIVEN)
PSEUDO, CONTROL = "another posterior", "posterior of another prior"
CASES = {
    "nuts": Case('NUTS, `"exact"`', EXACT, partial(one_coupling, "exact"), IDENTITY, thin=3),
    "path": Case('NUTS, `"path"`', NEARLY, coupling_alone, {"J": IDENTITY["J"]}, thin=3),
    "exchange": Case("`Exchange`", GIVEN, partial(one_coupling, "particles"), IDENTITY, thin=12),
    "exact groups": Case('`GroupGibbs`, `"exact"`', EXACT, partial(grouped, "exact"), GROUPS),
    "particle groups": Case("`ParticleRatioGibbs`", NEARLY, partial(grouped, "particles"), GROUPS),
    "auxiliary": Case(
        "`AuxiliaryVariableMH`",
        GIVEN,
        partial(grouped, "exact"),
        GROUPS,
        made(pmrf.papers.AuxiliaryVariableMH, "theta", sigma=0.1),
        20,
    ),
    "stripped": Case(
        "`StrippedBetaGibbs`",
        NEARLY,
        partial(grouped, "exact"),
        GROUPS,
        made(pmrf.papers.StrippedBetaGibbs, "theta"),
    ),
    "pseudo groups": Case('`GroupGibbs`, `"pseudo"`', PSEUDO, partial(grouped, "pseudo"), GROUPS),
    "exact edges": Case('`EdgeGibbs`, `"exact"`', EXACT, partial(sparse, "exact"), EDGES_AND_BIASES),
    "particle edges": Case(
        '`EdgeGibbs`, `"particles"`', NEARLY, partial(sparse, "particles"), EDGES_AND_BIASES
    ),
    "pseudo edges": Case('`EdgeGibbs`, `"pseudo"`', PSEUDO, partial(sparse, "pseudo"), EDGES_AND_BIASES),
    "exact jumps": Case(
        '`ReversibleJump`, `PersistentLangevin`, `"exact"`',
        EXACT,
        partial(sparse, "exact"),
        EDGES_AND_BIASES,
        partial(feature_steps, "exact"),
        50,
    ),
    "particle jumps": Case(
        '`ReversibleJump`, `PersistentLangevin`, `"particles"`',
        NEARLY,
        partial(sparse, "particles"),
        EDGES_AND_BIASES,
        partial(feature_steps, "particles"),
        100,
    ),
    "sample nuts": Case(
        'NUTS, `"monte-carlo"`',
        NEARLY,
        partial(one_coupling, "exact", n=100),  # fewer tell too little for a reference
        IDENTITY,
        thin=3,
        fit=partial(one_coupling, "monte-carlo"),
    ),
    "sample groups": Case(
        '`GroupGibbs`, `"monte-carlo"`',
        NEARLY,
        partial(grouped, "exact"),
        GROUPS,
        fit=partial(grouped, "monte-carlo"),
    ),
    "sample edges": Case(
        '`EdgeGibbs`, `"monte-carlo"`',
        NEARLY,
        partial(sparse, "exact"),
        EDGES_AND_BIASES,
        fit=partial(sparse, "monte-carlo"),
    ),
    "arrows": Case(
        "`EdgeGibbs`, `SeriesGibbs`",
        EXACT,
        in_time,
        {**EDGES_AND_BIASES, "missing cells of 1": lambda v: v["x_unobserved"].sum(axis=1)},
    ),
    "grouped arrows": Case("`GroupGibbs` of arrows", EXACT, grouped_in_time, GROUPS),
    "tables": Case('`EdgeGibbs` of tables, `"exact"`', EXACT, tabulated, TABLES),
    "measurements": Case(
        "`EdgeGibbs`, `GaussianGibbs`, `ConjugateMeans`",
        EXACT,
        measured,
        {
            **EDGES,
            "sum of log diagonals": lambda v: v["b"].sum(axis=1),
            "sum of means": lambda v: v["mean"].sum(axis=1),
            "missing cells": lambda v: v["x_unobserved"].sum(axis=1),
        },
    ),
    "mixed": Case(
        "`EdgeGibbs`, `MixedGibbs`, `ConjugateMeans`",
        EXACT,
        mixture,
        {
            "number of edges": lambda v: (v["w"][:, HEADS] != 0).sum(axis=1),
            "squares of weights": lambda v: (v["w"] ** 2).sum(axis=1),
            "weights of measurements": lambda v: v["w"][:, -1],
            "sum of log diagonals": lambda v: v["b"].sum(axis=1),
            "sum of means": lambda v: v["mean"].sum(axis=1),
            "missing cells": lambda v: v["x_unobserved"].sum(axis=1),
        },
    ),
    "hyperparameters": Case(
        "`ConjugateHyperparameters`",
        EXACT,
        hierarchy,
        {"p": lambda v: v["p"], "tau": lambda v: v["tau"]},
    ),
    "concentration": Case(
        "`GroupGibbs`, `ConjugateConcentration`",
        EXACT,
        partial(grouped, "exact", learns_alpha=True),
        {**GROUPS, "alpha": lambda v: v["alpha"]},
    ),
    "communities": Case(
        "`CommunityGibbs`",
        EXACT,
        communities,
        {"number of communities": n_communities, "within": lambda v: v["within"]},
    ),
    "hidden": Case(
        "`TreeGibbs`",
        EXACT,
        picture,
        {"agreeing pairs": n_agreeing, "nodes of class 0": lambda v: (v["z"] == 0).sum(axis=1)},
    ),
    "control": Case(
        "`EdgeGibbs`, wrong inclusion probability",
        CONTROL,
        partial(sparse, "exact"),
        EDGES_AND_BIASES,
        fit=partial(sparse, "exact", inclusion=0.25),
    ),
}


def ranks(seed: int, *, name: str, tune: int) -> tuple[dict[str, int], float]:
    """Draw a truth and its data, sample the posterior, and rank the truth; also the CPU time in seconds."""
    case, began = CASES[name], time.process_time()
    with pytensor.config.change_flags(mode="FAST_COMPILE"), warnings.catch_warnings():
        # a chain is short, and some data tell little
        warnings.simplefilter("ignore", UserWarning)
        model = case.make()
        variables = [*model.free_RVs, *model.observed_RVs]
        values = pm.draw(variables, random_seed=seed)
        truth = {v.name: np.asarray(x)[None] for v, x in zip(variables, values, strict=True)}
        model = (case.fit or case.make)(truth["x"][0])
        n = (N_RANKS - 1) * case.thin
        steps = case.steps(model)
        idata = pm.sample(n, tune=tune, step=steps, model=model, chains=1, random_seed=seed, **SILENT)
    kept = {key: v.values[0, case.thin - 1 :: case.thin] for key, v in idata.posterior.data_vars.items()}
    rng = np.random.default_rng(seed)
    found = {
        label: rank(quantity(kept), quantity(truth)[0], rng)
        for label, quantity in case.quantities.items()
    }
    return found, time.process_time() - began


def rank(draws: np.ndarray, truth: float, rng: np.random.Generator) -> int:
    """Count the draws below the truth; ties are broken at random."""
    return int((draws < truth).sum() + rng.integers((draws == truth).sum() + 1))


@dataclass(frozen=True)
class Ranks:
    """Ranks of one quantity: their p-value, and the ECDF of where truths lie, with its bands."""

    label: str
    p: float
    at: np.ndarray
    ecdf: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @property
    def inside(self) -> bool:
        """Whether the ECDF is within the bands everywhere."""
        return bool(((self.ecdf >= self.low) & (self.ecdf <= self.high)).all())


def judged(label: str, found: np.ndarray) -> Ranks:
    """Compare ranks with the uniform distribution."""
    n_bins = max(2, min(N_RANKS // 2, len(found) // 5))
    counts = np.bincount(found * n_bins // N_RANKS, minlength=n_bins)
    expected = np.bincount(np.arange(N_RANKS) * n_bins // N_RANKS) * len(found) / N_RANKS
    p = float(stats.chisquare(counts, expected).pvalue)
    rng = np.random.default_rng(1)
    within = (found + rng.random(len(found))) / N_RANKS
    return Ranks(label, p, *ecdf_pit(within, BAND, 2000, rng=rng))


def draw_figure(results: dict[str, list[Ranks]]) -> Figure:
    """Draw the ECDFs less their expectation, one panel for each case."""
    n_columns = min(4, len(results))
    n_rows = math.ceil(len(results) / n_columns)
    figure = Figure(figsize=(3 * n_columns, 2.1 * n_rows), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False).ravel()
    for ax, (name, several) in zip(axes, results.items(), strict=False):
        ax.fill_between(
            several[0].at, several[0].low - several[0].at, several[0].high - several[0].at, color="0.9"
        )
        for each in several:
            ax.plot(each.at, each.ecdf - each.at, lw=1, label=each.label)
        ax.set_title(name, fontsize=9)
        ax.legend(fontsize=6, frameon=False)
    for ax in axes[len(results) :]:
        ax.remove()
    figure.supxlabel("quantile of the posterior")
    figure.supylabel("truths below it, less those expected")
    return figure


def summary(results: dict[str, list[Ranks]]) -> str:
    """Say how many samplers of the posterior look wrong, and how many would by chance."""
    found = [
        each for name, several in results.items() if CASES[name].target in RIGHT for each in several
    ]
    if not found:
        return ""
    p = [each.p for each in found]
    small, outside = sum(x < 1 - BAND for x in p), sum(not each.inside for each in found)
    return (
        f"Of {len(p)} quantities of steps that leave the posterior invariant, {small} have "
        f"p < {1 - BAND:.2f} and {outside} leave the band, where {(1 - BAND) * len(p):.1f} each are "
        f"expected; the smallest p is {min(p):.3f}, or {min(1.0, len(p) * min(p)):.2f} for the smallest of "
        "so many (Bonferroni). "
    )


def main(argv: list[str] | None = None) -> None:
    """Run all cases, write the table and draw the ECDFs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicates", type=int, default=20)
    parser.add_argument("--tune", type=int, default=50)
    parser.add_argument(
        "--workers", type=int, default=0, help="processes; by default all runs in this one"
    )
    parser.add_argument(
        "--store", type=Path, help="folder for the ranks, from which an interrupted run goes on"
    )
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES)
    args = parse_sizes(parser, argv, replicates=40, tune=100)
    results, rows, seconds, failed = {}, [], 0.0, []
    with ExitStack() as stack:
        client = workers(args.workers, stack) if args.workers else None
        for name in args.cases:
            case = CASES[name]
            study = pmrf.replicate(
                partial(ranks, name=name, tune=args.tune),
                range(args.replicates),
                client=client,
                store=args.store and args.store / name.replace(" ", "-"),
                progressbar=False,
            )
            failed += [f"{len(study.failures)} of {case.step}"] if study.failures else []
            found, costs = zip(*study.results.values(), strict=True)
            seconds += sum(costs)
            results[name] = [judged(q, np.array([r[q] for r in found])) for q in case.quantities]
            for each in results[name]:
                inside = "yes" if each.inside else "no"
                rows.append([case.step, case.target, each.label, f"{each.p:.3f}", inside])
    header = ["Step", "leaves invariant", "quantity", "p, chi-square", f"inside the {BAND:.0%} band"]
    text = table(header, rows)
    text += f"\n{summary(results)}{args.replicates} replicates of each model, "
    text += (
        f"failed: {', '.join(failed) or 'none'}; {seconds / 60:.0f} minutes of CPU time. {machine()}.\n"
    )
    write_fragment(text, args.output, "calibration.md")
    save_figure(draw_figure(results), args.output, "calibration.png")


def workers(n: int, stack: ExitStack) -> Any:
    """Start processes of this machine."""
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=n, threads_per_worker=1, dashboard_address=None)
    return stack.enter_context(Client(stack.enter_context(cluster)))


if __name__ == "__main__":
    main()
