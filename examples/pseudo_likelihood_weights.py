"""How often the pseudo-likelihood should count an edge: weights of its conditionals beside the posterior.

Binary and ordinal fields are drawn from the prior of the model, weak to strong, of few and of many rows, so
small that the posterior under the likelihood is known. Beside it: pseudo-likelihoods whose conditionals have
weight 1, as is usual, 1/2, which counts an edge once, and 1 / (1 + rho), rho the correlation over rows of the
scores of an edge from both of its ends, node parameters projected out, at the maximum of the
pseudo-likelihood. The same of tables of votes and of answers. Writes a table for the documentation.
"""

import argparse
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pymc as pm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pymc_mrf as pmrf
from examples._report import SILENT, machine, outcomes, parse_sizes, table, write_fragment
from pymc_mrf.fields.families import BOLTZMANN, ordinal
from pymc_mrf.fields.pairwise_tables import influence_radius

WEAK, MEDIUM, STRONG = 0.3, 0.8, 1.6  # sd of the weights of two states, and in units of these of more
ROWS = 50, 250, 1000, 5000
FORMS = ("1", "1/2", "1/(1 + rho)")
P, BIAS_SD = 0.4, 1.0
TABLES = "House", "anes96, 4 answers", "anes96, 6 answers"
LEAST = 0.01  # probability from which on an edge is in doubt, up to as much below 1


class Field(NamedTuple):
    """A kind of field: number of nodes and of states, standard deviation of the weights, rows."""

    d: int
    n_states: int
    slab_sd: float
    n: int


class Posterior(NamedTuple):
    """Inclusion probabilities, means and standard deviations of weights (r,), the same of biases (d q,)."""

    inclusion: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    bias_mean: np.ndarray
    bias_sd: np.ndarray


class Outcome(NamedTuple):
    """Posteriors of one field by name, 1 / (1 + rho), and the influence of neighbours, NaN of a table."""

    field: Field
    posteriors: dict[str, Posterior]
    factor: float
    radius: float


def kinds() -> list[Field]:
    """All kinds of fields, in an order in which the first ones differ in everything."""
    found = [
        Field(d, K, sd if K == 2 else 0.4 * sd, n)
        for d, K in ((6, 2), (5, 4), (9, 2), (7, 3))
        for sd in (WEAK, MEDIUM, STRONG)
        for n in ROWS
    ]
    return [found[(7 * k) % len(found)] for k in range(len(found))]


def family_of(n_states: int):
    """Family of two states or of more."""
    return BOLTZMANN if n_states == 2 else ordinal(n_states)


def simulate(field: Field, rng: np.random.Generator):
    """Rows (n, d) of a field from the prior, and the influence of its neighbours."""
    family = family_of(field.n_states)
    graph = pmrf.graphs.complete(field.d)
    present = rng.random(graph.n_edges) < P
    weight = np.where(present, rng.normal(0, field.slab_sd, graph.n_edges), 0.0)
    bias = rng.normal(0, BIAS_SD, family.node_shape(field.d))
    # orders of magnitude of the weights' share are taken from the biases: no state is rare
    centre = 0.5 * (field.n_states - 1)
    for (u, v), w in zip(graph.edges, weight, strict=True):
        for i in (u, v):
            shift = w * centre * np.arange(1, field.n_states)
            bias[i] -= shift if bias.ndim == 2 else shift[0]
    truth = pmrf.PairwiseField(graph, family.edge_tables(weight), family.node_tables(bias))
    radius = influence_radius(graph.edges, family.edge_tables(weight), field.d)
    return truth.sample(field.n, rng=rng), radius


def table_of(name: str) -> tuple[np.ndarray, int]:
    """Rows (n, d) of complete data, and the number of states."""
    if name == "House":
        votes = pmrf.datasets.load_house84().x
        return np.asarray(votes[~np.ma.getmaskarray(votes).any(axis=1)]), 2
    answers = pmrf.datasets.load_anes96().x  # seven each
    return (answers // 2, 4) if name == "anes96, 4 answers" else (np.minimum(answers, 5), 6)


def posterior(field: Field, x: np.ndarray, likelihood, draws: int, seed: int) -> Posterior:
    """Posterior by the step that `pm.sample` chooses, two chains."""
    graph = pmrf.graphs.complete(field.d)
    with pm.Model(coords=pmrf.coords(graph)), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # constant columns of few rows, weights of 1
        w = pmrf.SpikeAndSlab("w", P, pm.Normal.dist(0, field.slab_sd), dims="edge")
        b = pm.Normal("b", 0, 3, shape=family_of(field.n_states).node_shape(field.d))
        options = {"graph": graph, "observed": x, "likelihood": likelihood}
        if field.n_states == 2:
            pmrf.BoltzmannMachine("x", w, b, **options)
        else:
            pmrf.OrdinalMRF("x", w, b, n_states=field.n_states, **options)
        idata = pm.sample(draws, tune=draws // 2, chains=2, random_seed=seed, **SILENT)
    w, b = (idata.posterior[name].values for name in "wb")
    w, b = w.reshape(2 * draws, -1), b.reshape(2 * draws, -1)
    return Posterior((w != 0).mean(axis=0), w.mean(axis=0), w.std(axis=0), b.mean(axis=0), b.std(axis=0))


def correlation(x: np.ndarray, K: int) -> float:
    """Mean over pairs of the correlation of their two scores, those of node parameters projected out."""
    d = x.shape[1]
    family = family_of(K)
    W = np.zeros((d, d))
    estimate = _ridge(x, K)
    graph = pmrf.graphs.complete(d)
    W[tuple(graph.edges.T)] = W.T[tuple(graph.edges.T)] = estimate[0]
    tables = family.node_tables(estimate[1])
    score = np.arange(K)
    log_p = tables + (x @ W)[:, :, None] * score
    p = np.exp(log_p - log_p.max(axis=2, keepdims=True))
    p /= p.sum(axis=2, keepdims=True)
    states = (x[:, :, None] == score) - p  # (n, d, K)
    residual = states @ score
    found = []
    for u, v in graph.edges:
        base = np.concatenate([states[:, u, 1:], states[:, v, 1:]], axis=1)
        both = np.stack([residual[:, u] * x[:, v], residual[:, v] * x[:, u]], axis=1)
        both = both - base @ np.linalg.lstsq(base, both, rcond=None)[0]
        spread = np.sqrt((both**2).sum(axis=0))
        if spread.min() > 1e-9:
            found.append(both[:, 0] @ both[:, 1] / spread.prod())
    return float(np.mean(found)) if found else 1.0


def _ridge(x: np.ndarray, K: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights and biases that maximise the pseudo-likelihood with a little ridge."""
    from pymc_mrf.estimation.problem import FitProblem
    from pymc_mrf.estimation.pseudo_likelihood import maximise

    graph = pmrf.graphs.complete(x.shape[1])
    labels = np.arange(graph.n_edges)
    problem = FitProblem(x.astype(np.int8), graph, family_of(K), labels, labels)
    estimate = maximise(problem, ridge=1.0 / len(x), max_iterations=200)[0]
    w, b = problem.split(estimate)
    return w, np.nan_to_num(b).reshape(family_of(K).node_shape(x.shape[1]))


def outcome(k: int, fields: list[Field], draws: int, seed: int) -> Outcome:
    """Posteriors of field k."""
    field = fields[k % len(fields)]
    x, radius = simulate(field, np.random.default_rng([seed, k]))
    return compared(field, x, draws, k)._replace(radius=radius)


def outcome_of_table(name: str, draws: int) -> Outcome:
    """Posteriors of a table."""
    x, n_states = table_of(name)
    slab_sd = 1.0 if n_states == 2 else 0.5
    return compared(Field(x.shape[1], n_states, slab_sd, len(x)), x, draws, 0)


def compared(field: Field, x: np.ndarray, draws: int, k: int) -> Outcome:
    """Posteriors of rows by all likelihoods."""
    factor = 1.0 / (1.0 + np.clip(correlation(x, field.n_states), 0.0, 1.0))
    likelihoods = {
        "exact": "exact",
        "exact again": "exact",
        "1": pmrf.Pseudo(weight=1),
        "1/2": "pseudo",
        "1/(1 + rho)": pmrf.Pseudo(weight=factor),
    }
    found = {
        name: posterior(
            field, x, one, 4 * draws if name == "exact" else draws, 2 * k + (name == "exact")
        )
        for name, one in likelihoods.items()
    }
    return Outcome(field, found, float(factor), np.nan)


def gaps(outcomes: list[Outcome], name: str) -> list[str]:
    """Cells of a line: inclusion, weights and biases of a form beside the exact posterior."""
    off, ratio, shift, bias_ratio, bias_shift = [], [], [], [], []
    for one in outcomes:
        exact, own = one.posteriors["exact"], one.posteriors[name]
        doubt = (exact.inclusion > LEAST) & (exact.inclusion < 1 - LEAST)
        off += list(own.inclusion[doubt] - exact.inclusion[doubt])
        sure = (exact.inclusion > 0.99) & (own.inclusion > 0.99)
        ratio += list(np.log(own.sd[sure] / exact.sd[sure]))
        shift += list((own.mean[sure] - exact.mean[sure]) / exact.sd[sure])
        bias_ratio += list(np.log(own.bias_sd / exact.bias_sd))
        bias_shift += list((own.bias_mean - exact.bias_mean) / exact.bias_sd)

    def cell(values, f):
        return f"{f(np.array(values)):.3f}" if len(values) > 2 else ""

    def rms(v):
        return np.sqrt(np.mean(v**2))

    return [
        cell(off, rms),
        cell(ratio, lambda v: np.exp(v.mean())),
        cell(shift, rms),
        cell(bias_ratio, lambda v: np.exp(v.mean())),
        cell(bias_shift, rms),
    ]


def lines(label: str, found: list[Outcome]) -> list[list]:
    """One line of the table for each form."""
    factor = np.mean([one.factor for one in found])
    names = {"exact again": "likelihood, another seed"} | {name: f"weight {name}" for name in FORMS}
    names["1/(1 + rho)"] += f", {factor:.2f}"
    return [[label, len(found), shown, *gaps(found, name)] for name, shown in names.items()]


def report(found: list[Outcome], tables: dict[str, Outcome]) -> str:
    """Lines of all fields, by strength, by rows, by number of states, and of the tables."""
    groups = [("all", lambda o: True)]
    groups += [
        (f"influence {label}", lambda o, a=a, b=b: a <= o.radius < b)
        for label, a, b in (("below 0.5", 0, 0.5), ("0.5 to 1", 0.5, 1.0), ("above 1", 1.0, np.inf))
    ]
    groups += [(f"n = {n}", lambda o, n=n: o.field.n == n) for n in ROWS]
    groups += [
        ("2 states", lambda o: o.field.n_states == 2),
        ("3 or 4 states", lambda o: o.field.n_states > 2),
    ]
    rows = []
    for label, belongs in groups:
        own = [one for one in found if belongs(one)]
        rows += lines(label, own) if own else []
    for name, one in tables.items():
        rows += lines(f"{name}, {one.field.n} rows of {one.field.d}", [one])
    header = [
        "fields", "number", "conditionals", "inclusion off (rms)", "sd of sure weights by the exact",
        "their means off, in sd", "sd of biases by the exact", "their means off, in sd",
    ]  # fmt: skip
    return table(header, rows)


def main(argv: list[str] | None = None) -> None:
    """Simulate, sample, compare; write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fields", type=int, default=2, help="number of fields")
    parser.add_argument(
        "--draws", type=int, default=300, help="of two chains, four times as many of the reference"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tables", nargs="*", choices=TABLES, default=[], help="compared as well")
    arguments = parse_sizes(parser, argv, fields=30, draws=400, tables=list(TABLES))
    one = partial(outcome, fields=kinds(), draws=arguments.draws, seed=arguments.seed)
    found = outcomes(one, range(arguments.fields))
    tables = {name: outcome_of_table(name, arguments.draws) for name in arguments.tables}
    text = report(found, tables) + (
        f"\nFields from the prior: {arguments.fields} of 5 to 9 nodes, all pairs as candidates, probability "
        f"of an edge {P}, normal weights (sd {WEAK}, {MEDIUM}, {STRONG} of two states, 0.4 times as much of "
        "more), 50 to 5,000 rows, each kind once at most. Inclusion: root mean square (rms) over edges whose "
        f"exact probability is between {LEAST} and {1 - LEAST:g}. Sure: above 0.99 under both. Influence: "
        f"of neighbours in the truth, as `diagnose` has it. Two chains of {arguments.draws} draws, four "
        "times as long those of the reference. rho: mean over pairs of the correlation of the two scores "
        "of an edge, node parameters projected out, estimated from the rows; the number beside it is the "
        "mean of 1 / (1 + rho). Tables of complete rows, all pairs as candidates: 16 votes of the House of "
        "Representatives (sd 1), and five items of voters in 1996, whose seven answers are put together in "
        "pairs, 4 in all, or whose last two are (sd 0.5).\n\n"
        f"Made by `examples/pseudo_likelihood_weights.py`. Machine: {machine()}.\n"
    )
    write_fragment(text, arguments.output, "pseudo_likelihood_weights.md")


if __name__ == "__main__":
    main()
