"""How wide posteriors under the pseudo-likelihood are, beside those of the likelihood.

Parameters are drawn from the prior of the model, data from the field, so that the central 90 % intervals of
the posterior contain 90 % of the parameters. Under the pseudo-likelihood they need not. The fields are small
enough for the likelihood: one large observation with one coupling, and many rows with a weight for each pair.
Writes a table and a sentence for the documentation.
"""

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
from scipy.optimize import minimize

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pymc_mrf as pmrf
from examples._report import machine, outcomes, parse_sizes, table, write_fragment
from pymc_mrf.fields.families import BOLTZMANN, ISING
from pymc_mrf.graph.structure import as_graph

USUAL = "Pseudo(weight=1)"
LIKELIHOODS = {
    "exact": "exact",
    "pseudo": "pseudo",
    USUAL: pmrf.Pseudo(weight=1),
}
DEGREES = 6  # of freedom of the proposals


class Setting(NamedTuple):
    """A kind of field; `width` is that of the proposals, in posterior standard deviations."""

    label: str
    mean: float
    sd: float
    n: int
    width: float


class Posterior(NamedTuple):
    """Moments and 90 % intervals of all parameters, each (k,)."""

    mean: np.ndarray
    sd: np.ndarray
    low: np.ndarray
    high: np.ndarray


class Outcome(NamedTuple):
    """Posteriors of one data set under the likelihoods, and the truth (k,)."""

    truth: np.ndarray
    posteriors: dict[str, Posterior]


def lattice(setting: Setting, side: int, rng: np.random.Generator):
    """Draw a coupling and observations of a lattice; return them and what makes the model."""
    graph = as_graph(pmrf.graphs.grid(side, side))
    coupling = rng.normal(setting.mean, setting.sd)
    tables = (
        ISING.edge_tables(np.full(graph.n_edges, coupling)),
        ISING.node_tables(np.zeros(graph.n_nodes)),
    )
    x = np.array(ISING.states)[pmrf.PairwiseField(graph, *tables).sample(setting.n, rng=rng)]

    def declare(likelihood):
        J = pm.Normal("J", setting.mean, setting.sd)
        pmrf.Ising("x", J, graph=graph, observed=x, likelihood=likelihood)

    return np.array([coupling]), declare


def pairs(setting: Setting, d: int, rng: np.random.Generator):
    """Draw weights of all pairs, biases and observations; return them and what makes the model."""
    graph = as_graph(pmrf.graphs.complete(d))
    weight, bias = rng.normal(setting.mean, setting.sd, graph.n_edges), rng.normal(0, 0.5, d)
    field = pmrf.PairwiseField(graph, BOLTZMANN.edge_tables(weight), BOLTZMANN.node_tables(bias))
    x = field.sample(setting.n, rng=rng)

    def declare(likelihood):
        w = pm.Normal("w", setting.mean, setting.sd, shape=graph.n_edges)
        b = pm.Normal("b", 0, 0.5, shape=d)
        pmrf.BoltzmannMachine("x", w, b, graph=graph, observed=x, likelihood=likelihood)

    return np.concatenate([weight, bias]), declare


def log_density(declare: Callable, likelihood: Any) -> Callable:
    """Log posterior of a vector of all parameters and, on request, its gradient."""
    with pm.Model() as model:
        declare(likelihood)
    # compiled in Python: the work is in the kernels of the package
    values = [model.compile_logp(mode="FAST_COMPILE"), model.compile_dlogp(mode="FAST_COMPILE")]
    shapes = {name: np.shape(value) for name, value in model.initial_point().items()}
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes.values()])[:-1]

    def evaluate(z, gradient=False):
        parts = np.split(z, ends)
        point = {k: v.reshape(s) for (k, s), v in zip(shapes.items(), parts, strict=True)}
        return values[gradient](point)

    return evaluate


def proposals(exact: Callable, truth: np.ndarray, width: float, m: int, rng: np.random.Generator):
    """Draws (m, k) of a t distribution about the mode, and their log density but for a constant."""
    k, step = len(truth), 1e-4
    mode = minimize(lambda z: -exact(z), truth, jac=lambda z: -exact(z, True), method="BFGS").x
    units = step * np.eye(k)
    H = np.array([exact(mode - unit, True) - exact(mode + unit, True) for unit in units]) / (2 * step)
    L = width * np.linalg.cholesky(np.linalg.inv(0.5 * (H + H.T)))
    t = rng.standard_normal((m, k)) / np.sqrt(rng.chisquare(DEGREES, (m, 1)) / DEGREES)
    return mode + t @ L.T, -0.5 * (DEGREES + k) * np.log1p((t**2).sum(axis=1) / DEGREES)


def summarise(draws: np.ndarray, log_weights: np.ndarray) -> Posterior:
    """Posterior of weighted draws (m, k)."""
    w = np.exp(log_weights - log_weights.max())
    w /= w.sum()
    mean = w @ draws
    ends = []
    for column in draws.T:
        order = np.argsort(column)
        ends.append(np.interp([0.05, 0.95], np.cumsum(w[order]) - 0.5 * w[order], column[order]))
    return Posterior(mean, np.sqrt(w @ (draws - mean) ** 2), *np.array(ends).T)


def outcome(k: int, setting: Setting, simulate: Callable, m: int, seed: int) -> Outcome:
    """Outcome of data set k."""
    rng = np.random.default_rng([seed, k])
    truth, declare = simulate(setting, rng=rng)
    densities = {name: log_density(declare, likelihood) for name, likelihood in LIKELIHOODS.items()}
    draws, proposed = proposals(densities["exact"], truth, setting.width, m, rng)
    found = {
        name: summarise(draws, np.array([f(z) for z in draws]) - proposed)
        for name, f in densities.items()
    }
    return Outcome(truth, found)


def run(setting: Setting, simulate: Callable, n_sets: int, m: int, seed: int) -> list[Outcome]:
    """Make `n_sets` outcomes."""
    one = partial(outcome, setting=setting, simulate=simulate, m=m, seed=seed)
    found: list[Outcome] = outcomes(one, range(n_sets))
    return found


def coverage(outcomes: list[Outcome], likelihood: str) -> tuple[float, float]:
    """Share of parameters within their intervals, and its standard error from data set to data set."""
    inside = [
        ((o.posteriors[likelihood].low < o.truth) & (o.truth < o.posteriors[likelihood].high)).mean()
        for o in outcomes
    ]
    return float(np.mean(inside)), float(np.std(inside) / np.sqrt(len(inside)))


def beside_exact(outcomes: list[Outcome], likelihood: str) -> tuple[float, float]:
    """Geometric mean of the ratios of sd, and the root mean square shift of means in sd."""
    exact, other = ([o.posteriors[name] for o in outcomes] for name in ("exact", likelihood))
    ratios = [np.log(b.sd / a.sd).mean() for a, b in zip(exact, other, strict=True)]
    shifts = [((b.mean - a.mean) ** 2 / a.sd**2).mean() for a, b in zip(exact, other, strict=True)]
    return float(np.exp(np.mean(ratios))), float(np.sqrt(np.mean(shifts)))


def main(argv: list[str] | None = None) -> None:
    """Simulate, integrate, compare; write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--side", type=int, default=6, help="of the lattice")
    parser.add_argument("--nodes", type=int, default=4, help="of the field with all pairs")
    parser.add_argument("--data-sets", type=int, default=5, help="in each setting")
    parser.add_argument("--draws", type=int, default=1000, help="weighted draws from each posterior")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parse_sizes(parser, argv, side=10, nodes=5, data_sets=48, draws=600)
    side, d = arguments.side, arguments.nodes

    def one_lattice(setting, rng):
        return lattice(setting, side, rng)

    def all_pairs(setting, rng):
        return pairs(setting, d, rng)

    lattices, machines = f"one {side} x {side} lattice", f"{d} nodes, all pairs, 500 rows"
    settings = [
        (Setting(f"{lattices}, coupling Normal(0.15, 0.1)", 0.15, 0.1, 1, 2.0), one_lattice),
        (Setting(f"{lattices}, coupling Normal(0.4, 0.15)", 0.4, 0.15, 1, 2.0), one_lattice),
        (Setting(f"{machines}, weights Normal(0, 0.5)", 0.0, 0.5, 500, 1.3), all_pairs),
        (Setting(f"{machines}, weights Normal(0, 1.5)", 0.0, 1.5, 500, 1.3), all_pairs),
    ]
    rows, said = [], []
    for setting, simulate in settings:
        found = run(setting, simulate, arguments.data_sets, arguments.draws, arguments.seed)
        for likelihood in LIKELIHOODS:
            label = f"`{likelihood}`" if likelihood == USUAL else f'`"{likelihood}"`'
            covered, error = coverage(found, likelihood)
            ratio, shift = beside_exact(found, likelihood)
            rows.append([setting.label, label, f"{100 * covered:.0f} ± {100 * error:.0f} %"])
            rows[-1] += [f"{ratio:.2f}", f"{shift:.2f}"]
        once, twice = (beside_exact(found, name)[0] for name in list(LIKELIHOODS)[1:])
        said.append(f"{setting.label}: {once:.2f} ({twice:.2f})")
    header = ["data", "likelihood", "coverage", "ratio of sd", "shift of mean"]
    text = table(header, rows) + (
        f"\n{arguments.data_sets} data sets in each setting, parameters from the prior of the model (biases "
        "Normal(0, 0.5)), data by exact draws. Coverage: share of the parameters within their central 90 % "
        "intervals, ± its standard error from data set to data set. Ratio of sd: posterior standard "
        "deviation (sd) by that under the likelihood, geometric mean. Shift of mean: distance of the "
        "posterior mean from that under the likelihood, in sd of the latter, root mean square. Posteriors by "
        f"{arguments.draws} weighted draws (importance sampling from a t distribution about the mode).\n\n"
        f"Made by `examples/pseudo_likelihood_coverage.py`. Machine: {machine()}.\n"
    )
    write_fragment(text, arguments.output, "pseudo_likelihood_coverage.md")
    summary = (
        'Standard deviations of posteriors under `"pseudo"` (with weight 1), as '
        f"multiples of those under the likelihood: {'; '.join(said)}.\n"
    )
    write_fragment(summary, arguments.output, "pseudo_likelihood_coverage_summary.md")


if __name__ == "__main__":
    main()
