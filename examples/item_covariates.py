"""Items whose thresholds depend on age: edges found with age as a column of a mixed table, and without it.

Items of five ordered answers on a sparse graph, in rows whose log odds between neighbouring answers move with
age by a slope of each item's own. The standard model of the items alone, which takes what age does for edges,
is compared with that of the items and age, `network_model` of a mixed table, whose edges between items are
adjusted for age. Edges claimed and true, the largest R-hat of the weights and CPU time go into
``docs/_results/item_covariates.md``.
"""

import argparse
import time
import warnings
from functools import partial

import arviz as az
import numpy as np
import pandas as pd
import pymc as pm

import pymc_mrf as pmrf
from examples._report import SILENT, machine, outcomes, parse_sizes, table, write_fragment

N_ROWS, STATES, SLOPE = 600, 5, 0.3
WITHOUT, WITH = "items alone", "items and age"
CUTS = 0.5, 0.9


def simulate(rng: np.random.Generator, n_items: int) -> tuple[np.ndarray, pd.DataFrame, np.ndarray]:
    """Which edges there are (r,), the answers, and the age of each row."""
    graph = pmrf.graphs.complete([f"item {k}" for k in range(n_items)])
    present = rng.random(graph.n_edges) < 4.0 / (n_items - 1)
    sign = np.where(rng.random(graph.n_edges) < 0.8, 1.0, -1.0)
    weight = np.where(present, sign * rng.uniform(0.1, 0.2, graph.n_edges), 0.0)
    age = np.clip(rng.normal(45, 15, N_ROWS), 18, 85).round()
    slope, level = rng.normal(0, SLOPE, n_items), rng.normal(0, 0.3, n_items)
    for i, w in zip(graph.edges.T, [weight, weight], strict=True):
        np.subtract.at(level, i, w * (STATES - 1) / 2)  # edges about the middle of the scales
    score, scaled = np.arange(1, STATES), (age - age.mean()) / age.std()
    middle = -0.15 * ((score - (STATES - 1) / 2) ** 2 - ((STATES - 1) / 2) ** 2)
    threshold = middle + (level + scaled[:, None] * slope)[..., None] * score
    field = pmrf.OrdinalMRF.dist(
        weight, threshold, graph=graph, n_states=STATES, likelihood="particles", shape=(N_ROWS, n_items)
    )
    return present, pd.DataFrame(pm.draw(field, random_seed=rng), columns=graph.nodes), age


def analyse(model: pm.Model, draws: int, seed: int) -> tuple[np.ndarray, float, float]:
    """Inclusion probabilities of the edges between items, the largest R-hat, CPU time of the draws."""
    begin = time.process_time()
    with model:
        idata = pm.sample(draws=draws, tune=draws, chains=2, random_seed=seed, **SILENT)
    cpu = time.process_time() - begin
    weight = idata["posterior"]["weight"]
    inclusion = (weight != 0).mean(("chain", "draw")).values
    labels = list(map(str, weight[weight.dims[-1]].values))
    between = ["age" not in label.partition("[")[0].split("--") for label in labels]
    with np.errstate(invalid="ignore"):  # of edges that are absent in all draws there is none
        r_hat = az.rhat(idata, var_names=["weight"])["weight"]
    return inclusion[between], float(r_hat.max()), cpu


def compare(seed: int, n_items: int, draws: int) -> dict[str, tuple]:
    """For each model edges found, claimed false and false beyond each of `CUTS`; R-hat and CPU time."""
    present, items, age = simulate(np.random.default_rng(seed), n_items)
    mixed = items.assign(age=age)
    kinds = pmrf.column_kinds(mixed, dict.fromkeys(items, "ordinal") | {"age": "continuous"})
    models = {WITHOUT: pmrf.network_model(items), WITH: pmrf.network_model(mixed, kind=kinds)}
    found = {}
    for name, model in models.items():
        p, r_hat, cpu = analyse(model, draws, seed)
        counts = [(p > c, float((1.0 - p[p > c]).sum())) for c in CUTS]
        of_cuts = [
            (int((above & present).sum()), claimed, int((above & ~present).sum()))
            for above, claimed in counts
        ]
        found[name] = of_cuts, int(present.sum()), r_hat, cpu
    return found


def main(argv: list[str] | None = None) -> None:
    """Simulate, analyse, and write the fragment."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-sets", type=int, default=1)
    parser.add_argument("--items", type=int, default=3)
    parser.add_argument("--draws", type=int, default=20)
    args = parse_sizes(parser, argv, data_sets=3, items=25, draws=500)
    warnings.filterwarnings("ignore", category=UserWarning)  # of short runs, and of the noise of samples
    study = partial(compare, n_items=args.items, draws=args.draws)
    found = outcomes(study, range(args.data_sets))
    rows = []
    for name in (WITHOUT, WITH):
        of_cuts, n_true, r_hat, cpu = zip(*[one[name] for one in found], strict=True)
        for k, cut in enumerate(CUTS):
            right, claimed, wrong = np.sum([one[k] for one in of_cuts], axis=0)
            row = [name, f"{cut:g}", f"{right:.0f} of {sum(n_true)}", f"{claimed:.1f}", f"{wrong:.0f}"]
            seconds = np.sum(cpu) / (len(found) * 4 * args.draws)
            rows.append([*row, f"{max(r_hat):.2f}", f"{1000 * seconds:.0f}"])
    header = [
        "Model",
        "probability above",
        "edges found",
        "false, as claimed",
        "false",
        "largest R-hat",
        "CPU ms a draw",
    ]
    text = table(header, rows)
    text += (
        f"\n{args.data_sets} data sets of {N_ROWS} rows and {args.items} items of {STATES} answers, whose "
        f"log odds between neighbours change by a slope of standard deviation {SLOPE} to a standard "
        f"deviation of age; two chains of {args.draws} draws after {args.draws} of tuning. {machine()}.\n"
    )
    write_fragment(text, args.output, "item_covariates.md")


if __name__ == "__main__":
    main()
