"""Liu & Page (2013), sec. 4.1: Figures 1 and 2, on a perfect binary tree with 25 groups.

On a tree the agreements of the edges are independent, so that maximum likelihood is the fraction of
rows in which the ends of an edge (oracle: of the edges of a group) agree, and `GroupGibbs` works in
closed form. Run from the repository root:

    python examples/liu_page_2013/tree.py

Training samples are nested: that of size n is the first n rows of the largest. A maximum-likelihood
estimate of exactly 0 or 1 would give some test data the probability 0; it is moved inwards by half an
observation, to 1 / (2 n) or 1 - 1 / (2 n), and the report says how many edges that concerns.
"""

import sys
import time
from pathlib import Path

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import pymc_mrf as pmrf
from examples._report import machine, parse_sizes, save_figure, write_fragment
from examples.liu_page_2013 import experiment as ex

N_GROUPS = 25
HEIGHT = 12  # edges from root to leaf: 8,191 nodes
BLIND, ORACLE, BAYES = "blind MLE", "oracle MLE", "Bayes"
LOOKS = {BLIND: "blind", ORACLE: "oracle", BAYES: "bayes"}


def maximum_likelihood(x: np.ndarray, graph: pmrf.PairwiseGraph, groups: np.ndarray) -> np.ndarray:
    """Theta (r,) of a tree, tied by `groups` (r,), half an observation away from 0 and 1."""
    labels = np.unique(groups, return_inverse=True)[1]
    trials = np.bincount(labels) * len(x)
    theta = np.bincount(labels, ex.agreements(x, graph)) / trials
    return np.clip(theta, 0.5 / trials, 1 - 0.5 / trials)[labels]


def test_log_likelihood(theta: np.ndarray, agreed: np.ndarray, n: int) -> float:
    """Of n rows on a tree of which `agreed` (r,) agree: the root is uniform, edges are independent."""
    return float(agreed @ np.log(theta) + (n - agreed) @ np.log1p(-theta) - n * np.log(2))


def run(n_replicates: int, n_steps: int, sizes: list[int], seed: int, height: int) -> xr.Dataset:
    """All measures, see `experiment`; `stuck` is the fraction of edges that always or never agree."""
    graph = pmrf.graphs.binary_tree(height)
    free = np.arange(graph.n_edges)
    results = ex.empty_results(n_replicates, sizes, list(LOOKS))
    results["true_groups"] = ("replicate", np.zeros(n_replicates))
    results["stuck"] = (("replicate", "n"), np.zeros((n_replicates, len(sizes))))
    compile_sampler(seed)
    for replicate, rng in enumerate(np.random.default_rng(seed).spawn(n_replicates)):
        truth = ex.Truth.draw(graph, N_GROUPS, rng)
        train = truth.sample(sizes[-1], rng)
        agreed = ex.agreements(truth.sample(ex.N_TEST, rng), graph)
        best = test_log_likelihood(truth.theta, agreed, ex.N_TEST)
        results["true_groups"][replicate] = len(np.unique(truth.groups))
        for n in sizes:
            x = train[:n]
            where = {"replicate": replicate, "n": n}
            counts = ex.agreements(x, graph)
            results["stuck"].loc[where] = np.mean((counts == 0) | (counts == n))
            idata, seconds = ex.sample_posterior(graph, x, pmrf.steps.GroupGibbs, n_steps, rng)
            bayes = where | {"estimator": BAYES}
            results["seconds"].loc[bayes] = seconds
            estimates = {
                BLIND: maximum_likelihood(x, graph, free),
                ORACLE: maximum_likelihood(x, graph, truth.groups),
                BAYES: ex.record_posterior(results, bayes, idata, truth, rng),
            }
            for name, theta in estimates.items():
                cell = where | {"estimator": name}
                results["error"].loc[cell] = np.abs(theta - truth.theta).mean()
                reached = test_log_likelihood(theta, agreed, ex.N_TEST)
                results["test_log_likelihood"].loc[cell] = reached
                results["test_loss"].loc[cell] = best - reached
    results.attrs = {"steps": n_steps, "seed": seed, "n_edges": graph.n_edges}
    return results


def compile_sampler(seed: int) -> None:
    """Run the sampler once on a tiny tree, so that run times exclude compilation."""
    graph = pmrf.graphs.binary_tree(2)
    rng = np.random.default_rng(seed)
    x = rng.integers(2, size=(20, graph.n_nodes))
    ex.sample_posterior(graph, x, pmrf.steps.GroupGibbs, 2, rng)


def plot_groups_and_time(results: xr.Dataset) -> Figure:
    """Plot number of groups and run time of the Bayesian estimator: the paper's Figure 2."""
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    ex.plot_curves(left, results, "n_groups", {BAYES: "bayes"}, "number of groups")
    truth = float(results["true_groups"].mean())
    left.axhline(truth, color="black", linestyle=":", linewidth=1, label="truth")
    left.legend(fontsize=8)
    ex.plot_curves(right, results, "seconds", {BAYES: "bayes"}, "run time (s)")
    right.set_ylim(bottom=0)
    return figure


def claims(results: xr.Dataset) -> list[ex.Claim]:
    """Statements of sec. 4.1 as differences."""
    error = {name: results["error"].sel(estimator=name, drop=True) for name in LOOKS}
    likelihood = {name: results["test_log_likelihood"].sel(estimator=name, drop=True) for name in LOOKS}
    return [
        ex.Claim("Bayes has a lower error than blind MLE", error[BLIND] - error[BAYES], 5),
        ex.Claim("Bayes has a higher error than oracle MLE", error[BAYES] - error[ORACLE], 5),
        ex.Claim(
            "Bayes predicts test data better than blind MLE", likelihood[BAYES] - likelihood[BLIND], 0
        ),
        ex.Claim("Bayes predicts worse than oracle MLE", likelihood[ORACLE] - likelihood[BAYES], 0),
    ]


def report(results: xr.Dataset) -> str:
    """Results as Markdown."""
    sizes = [int(n) for n in results["n"].values]
    columns = ex.columns_shown(sizes)
    error = {name: results["error"].sel(estimator=name, drop=True) for name in LOOKS}
    gap = error[BAYES] - error[ORACLE]
    share = 100 * (gap.mean("replicate") / (error[BLIND] - error[ORACLE]).mean("replicate"))
    vi_difference = results["vi_difference"].sel(estimator=BAYES)
    groups = results["n_groups"].sel(estimator=BAYES).mean("replicate")
    seconds = results["seconds"].sel(estimator=BAYES).mean("replicate")
    lines = [
        f"Replicates: {results.sizes['replicate']} (the paper: 500), {results.attrs['steps']} Gibbs steps of "
        f"one chain, each of two sweeps over the labels, none discarded, alpha = {ex.ALPHA:g}, "
        f"{N_GROUPS} groups among {results.attrs['n_edges']} edges, {ex.N_TEST} test rows, "
        f"seed {results.attrs['seed']}; n = {', '.join(map(str, sizes))}.\n",
        "Edges that always or never agree in the sample, whose free estimate is moved inwards by half an "
        f"observation: {100 * float(results['stuck'].isel(n=0).mean()):.1f} % at n = {sizes[0]}, "
        f"{100 * float(results['stuck'].isel(n=-1).mean()):.1f} % at n = {sizes[-1]}.\n",
        "![Error, test log-likelihood, VI difference](../figures/liu_page_2013_figure1.png)\n",
        ex.measures_table(results, list(LOOKS), columns),
        "![Number of groups and run time](../figures/liu_page_2013_figure2.png)\n",
        "Against the paper's statements:\n",
        ex.CLAIMS_LEGEND,
        ex.claims_table(claims(results), columns),
        f"- Approach of Bayes to the oracle: its excess error falls from n = {sizes[0]} to {sizes[-1]} by "
        f"{ex.trend(-gap, 5)}. Relative to the distance from blind to oracle the excess is "
        f"{float(share[0]):.0f} % at n = {sizes[0]} and {float(share[-1]):.0f} % at n = {sizes[-1]}.",
        f"- VI difference from n = {sizes[0]} to {sizes[-1]}: {ex.trend(vi_difference, 3)}.",
        f"- Bayes finds {float(groups[0]):.1f} groups at n = {sizes[0]} and {float(groups[-1]):.1f} at n = "
        f"{sizes[-1]}; there are {float(results['true_groups'].mean()):.1f}.",
        f"- One run takes {float(seconds[0]):.1f} s at n = {sizes[0]} and {float(seconds[-1]):.1f} s at n = "
        f"{sizes[-1]}, compilation excluded.",
        f"\n{machine()}\n",
    ]
    return "\n".join(lines)


def write(results: xr.Dataset, output: Path) -> None:
    """Figures and report into `output`."""
    save_figure(ex.plot_three_measures(results, LOOKS), output, "liu_page_2013_figure1.png")
    save_figure(plot_groups_and_time(results), output, "liu_page_2013_figure2.png")
    write_fragment(report(results), output, "tree.md")


def main(argv: list[str] | None = None) -> None:
    """Run the experiment."""
    parser = ex.parser(__doc__.splitlines()[0], 50)
    parser.add_argument("--height", type=int, default=HEIGHT, help="edges from root to leaf")
    arguments = parse_sizes(parser, argv, replicates=20, steps=63, sizes=[100, 200, 500, 1000])
    ex.check_arguments(arguments)
    start = time.perf_counter()
    options = (arguments.replicates, arguments.steps, arguments.sizes, arguments.seed, arguments.height)
    write(run(*options), arguments.output)
    print(f"Done in {time.perf_counter() - start:.0f} s: {arguments.output / '_results' / 'tree.md'}")


if __name__ == "__main__":
    main()
