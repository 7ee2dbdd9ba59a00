"""Chen & Welling (2012), sec. 6.4: structure and prediction on simulated data, figures 5 to 9.

Two models: 12 nodes in blocks (66 candidate edges, 20 true ones) and a 10 x 10 lattice (4,950 and 180).
"Bayes" is `EdgeGibbs`, with the exact likelihood in the first and weighted particles in the second model, and
beside it the same with the pseudo-likelihood; "MLE" is L1-penalised pseudo-likelihood, "Wain Max" and "Wain
Min" are node-wise L1 logistic regressions. Run from the repository root:

    python examples/chen_welling_2012/simulated.py
    python examples/chen_welling_2012/simulated.py --model lattice

Training samples are nested: that of size n is the first n rows of the largest. CLLs are relative to that of
the truth on the same test rows, so that 0 is the best that can be expected.
"""

import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples._report import machine, save_figure, table, write_fragment
from examples._truth import precision_recall
from examples.chen_welling_2012 import experiment as ex
from examples.chen_welling_2012 import truths
from pymc_mrf.estimation.l1 import SparsePath

SIZES = [50, 100, 200, 500, 1000]  # training cases
N_CURVES = 100  # training cases behind figures 5 to 9
BAYESIAN = {"block": "exact", "lattice": "particles"}
P0 = {
    "block": [0.003, 0.03, 0.1, 0.3, 0.6, 0.95],
    "lattice": [0.003, 0.03, 0.15, 0.5],
}


@dataclass
class Results:
    """Scores of all estimators, and what the figures of single edges need, from the first replicate."""

    model: str
    sizes: list[int]
    replicates: int
    draws: int
    seed: int
    truth_cll: list[float] = field(default_factory=list)
    scores: list[ex.Score] = field(default_factory=list)
    truth: truths.Truth | None = None
    inclusion: np.ndarray | None = None  # (r,) with p0 learnt
    means: dict[float, np.ndarray] = field(default_factory=dict)  # "Bayes PM p0" by p0, (r,)
    largest: SparsePath | None = None  # "Wain Max"


def run(model: str, sizes: list[int], replicates: int, draws: int, n_test: int, side: int, seed: int):
    """All scores."""
    results = Results(model, sizes, replicates, draws, seed)
    tune = max(draws // 2, 10)
    for replicate, rng in enumerate(np.random.default_rng(seed).spawn(replicates)):
        if model == "block":
            truth = truths.block_truth(rng)
            test = ex.TestSet.whole(truth.sample(n_test, rng))
        else:
            truth = truths.lattice_truth(side, rng)
            test = ex.TestSet.patches(truth.sample(n_test, rng), (side, side), 24, rng)
        train = truth.sample(max(*sizes, N_CURVES), rng)
        test = test.relative_to(truth)
        results.truth_cll.append(test.reference)
        graph = truth.candidates
        for n in sorted({*sizes, N_CURVES}):
            x, where = train[:n], {"n": n, "replicate": replicate}
            learning = where | {"learnt": True, "setting": np.nan}
            chain = ex.sample_posterior(x, graph, BAYESIAN[model], draws, tune, rng)
            results.scores += ex.score_draws(chain, graph, test, truth, **learning)
            pseudo = ex.sample_posterior(x, graph, "pseudo", draws, tune, rng)
            results.scores += ex.score_draws(pseudo, graph, test, truth, (ex.PSEUDO,), **learning)
            scores, paths = ex.score_paths(x, graph, test, truth, learnt=False, **where)
            results.scores += scores
            if n != N_CURVES:
                continue
            if replicate == 0:
                results.truth, results.inclusion = truth, chain.inclusion
                results.largest = paths[ex.MAX]
            for p in P0[model]:
                fixed = where | {"learnt": False, "setting": p}
                chain = ex.sample_posterior(x, graph, BAYESIAN[model], draws, tune, rng, p)
                results.scores += ex.score_draws(chain, graph, test, truth, **fixed)
                if replicate == 0:
                    results.means[p] = chain.posterior_mean()[0]
                if model == "block":
                    chain = ex.sample_posterior(x, graph, "particles", draws, tune, rng, p)
                    names = (ex.PARTICLES,)
                    results.scores += ex.score_draws(chain, graph, test, truth, names, **fixed)
    return results


def plot_precision_recall(results: Results) -> Figure:
    """Plot precision against recall at n = 100: the paper's Figure 5."""
    figure = Figure(figsize=(5.2, 4), layout="constrained")
    ax = figure.subplots()
    for method in (ex.MLE, ex.MAX, ex.MIN, ex.BAYES):
        points = ex.select(results.scores, method, n=N_CURVES, learnt=False, replicate=0)
        points = [s for s in points if not np.isnan(s.precision)]
        label = method + (" p0, inclusion > 1/2" if method == ex.BAYES else "")
        x, y = [s.recall for s in points], [s.precision for s in points]
        ax.plot(x, y, label=label, markersize=4, linewidth=1.1, **ex.LOOKS[method])
    found = precision_recall(results.inclusion, results.truth.weight).dropna("threshold")
    label = f"{ex.BAYES} (p0 learnt), all thresholds"
    ax.plot(found["recall"], found["precision"], color="black", linewidth=1, label=label)
    half = found.sel(threshold=0.5)
    ax.plot(
        half["recall"], half["precision"], "o", color="black", markersize=9, label="its threshold 1/2"
    )
    ax.set(xlabel="recall", ylabel="precision", xlim=(0, 1.02), ylim=(0, 1.05))
    ax.grid(alpha=0.25)
    ax.legend(fontsize=7, loc="lower left")
    return figure


def plot_likelihoods(results: Results) -> Figure:
    """CLL against density and against F1: the paper's Figures 6 and 9; 7 for the block model."""
    block = results.model == "block"
    figure = Figure(figsize=(13.5 if block else 9.5, 4.6), layout="constrained")
    axes = figure.subplots(1, 3 if block else 2)
    label = "CLL per test case, minus the truth's"
    best = max(s.cll for s in results.scores if s.n == N_CURVES)
    lowest = best - LOWEST_SHOWN[results.model]
    methods = [ex.BAYES, ex.BAYES_PM, ex.MLE, ex.MAX]
    if ex.learnt(results.scores, ex.PSEUDO, N_CURVES, "cll").mean() > lowest:
        methods.append(ex.PSEUDO)
    ex.plot_cll(axes[0], results.scores, methods, N_CURVES, "density", label)
    ex.plot_cll(axes[1], results.scores, [*methods, ex.MIN], N_CURVES, "f1", label)
    if block:
        ex.plot_cll(axes[2], results.scores, [ex.BAYES, ex.PARTICLES], N_CURVES, "density", label)
        axes[2].set_title("exact likelihood and particles (fig. 7)", fontsize=10)
    axes[0].set_title(f"{results.model}, n = {N_CURVES} (fig. 6)", fontsize=10)
    axes[1].set_title("the same against F1 (fig. 9): best at the upper right", fontsize=10)
    density = np.mean(results.truth.weight != 0)
    for ax in (axes[0], *axes[2:]):
        ax.axvline(density, color="black", linewidth=0.8, linestyle="--")
    for ax in axes[:2]:
        # the worst overfitting is off the scale: it would flatten everything else
        ax.set_ylim(lowest, max(0.0, best) + 0.03)
    if not block:
        axes[0].set_xscale("symlog", linthresh=0.02)
        axes[0].set_xticks(
            [0, 0.01, 0.02, 0.05, 0.1, 0.3, 0.6], ["0", ".01", ".02", ".05", ".1", ".3", ".6"]
        )
        axes[0].set_xlim(0, 1)
    axes[1].set_xlim(0.3 if block else 0.1, None)
    ex.shared_legend(figure, axes)
    return figure


def nearest(scores: list[ex.Score], density: float) -> ex.Score:
    """Score of the density nearest to one asked for."""
    return min(scores, key=lambda s: abs(s.density - density))


def plot_magnitudes(results: Results) -> Figure:
    """Absolute weights of the truth, "Wain Max" and "Bayes PM": the paper's Figure 8."""
    figure = Figure(figsize=(9, 6), layout="constrained")
    axes = figure.subplots(2, 1)
    truth, path = np.abs(results.truth.weight), results.largest
    p_dense = max(results.means)
    sparse = np.mean(truth != 0)
    p_sparse = min(results.means, key=lambda p: abs(np.mean(results.means[p] != 0) - sparse))
    target = max(s.density for s in ex.select(results.scores, ex.MAX, n=N_CURVES, replicate=0))
    for ax, p, density in ((axes[0], p_sparse, sparse), (axes[1], p_dense, target)):
        k = int(np.argmin(np.abs((path.parameter != 0).mean(axis=1) - density)))
        bayes, largest = np.abs(results.means[p]), np.abs(path.parameter[k])
        shown = np.flatnonzero((truth + bayes + largest) > 0)
        shown = shown[np.argsort(truth[shown], kind="stable")]
        x = np.arange(len(shown))
        look = {"linestyle": "none", "markersize": 3}
        looks = {name: {"color": ex.LOOKS[name]["color"]} for name in (ex.MAX, ex.BAYES_PM)}
        share = (path.parameter[k] != 0).mean()
        ax.plot(x, largest[shown], "s", label=f"{ex.MAX}, density {share:.1%}", **look, **looks[ex.MAX])
        share = (results.means[p] != 0).mean()
        label = f"{ex.BAYES_PM} p0 = {p:g}, density {share:.1%}"
        ax.plot(x, bayes[shown], "^", label=label, **look, **looks[ex.BAYES_PM])
        ax.plot(x, truth[shown], color="black", linewidth=1.2, label="truth")
        ax.set_ylabel("absolute weight")
        ax.set_ylim(0, 1.3 * truth.max())
        ax.legend(fontsize=8, loc="upper left")
    axes[0].set_title(f"Weights at n = {N_CURVES}: about the true density, and dense", fontsize=10)
    axes[1].set_xlabel("edges that some model has, by their true absolute weight")
    return figure


def measures(results: Results) -> str:
    """Density, CLL and structure of every estimator at every size, as Markdown."""
    density = np.mean(results.truth.weight != 0)
    rows = []
    for n in results.sizes:
        chosen = {
            f"{name} (p0 learnt)": ex.select(results.scores, name, n=n, learnt=True)
            for name in (ex.BAYES, ex.BAYES_PM, ex.PSEUDO)
        }
        for name in (ex.MLE, ex.MAX, ex.MIN):
            lines = [
                ex.select(results.scores, name, n=n, learnt=False, replicate=r)
                for r in range(results.replicates)
            ]
            chosen[f"{name} at the true density"] = [nearest(line, density) for line in lines]
            chosen[f"{name}, penalty of best test CLL"] = [
                max(line, key=lambda s: s.cll) for line in lines
            ]
        for name, scores in chosen.items():
            cells = [
                ex.mean_and_sd(np.array([getattr(s, key) for s in scores]), digits)
                for key, digits in COLUMNS.items()
            ]
            rows.append([n, name, *cells])
    return table(
        [
            "n",
            "estimator",
            *COLUMNS,
        ],
        rows,
    )


COLUMNS = {"density": 3, "cll": 3, "precision": 2, "recall": 2, "f1": 2, "seconds": 1}
LOWEST_SHOWN = {"block": 1.5, "lattice": 1.2}


def claims(results: Results) -> str:
    """Statements of sec. 6.4 and what came out, as Markdown."""
    scores, truth = results.scores, results.truth
    density = float(np.mean(truth.weight != 0))
    (bayes_density, _), (bayes_cll, _) = ex.curve(scores, ex.BAYES, N_CURVES, "density", "cll")
    at, mle = {}, {}
    for name in (ex.MLE, ex.MAX):
        (x, _), (y, _) = ex.curve(scores, name, N_CURVES, "density", "cll")
        inside = bayes_density <= x.max()
        at[name] = (bayes_cll[inside] - np.interp(bayes_density[inside], x, y), bayes_density[inside])
        mle[name] = (x, y)
    common = np.linspace(0, min(mle[ex.MLE][0].max(), mle[ex.MAX][0].max()), 41)[1:]
    gain = np.interp(common, *mle[ex.MLE]) - np.interp(common, *mle[ex.MAX])
    best = {name: y.max() for name, (_, y) in mle.items()}
    drop = {name: y.max() - y[x > 0].min() for name, (x, y) in mle.items()}
    learnt = {name: ex.learnt(scores, name, N_CURVES, "cll") for name in (ex.BAYES, ex.BAYES_PM)}
    precision = ex.learnt(scores, ex.BAYES, N_CURVES, "precision")
    edges = np.array([s.density for s in ex.select(scores, ex.BAYES_PM, n=N_CURVES, learnt=True)])
    same = {
        name: np.mean([
            nearest(ex.select(scores, name, n=N_CURVES, learnt=False, replicate=r), edges[r]).precision
            for r in range(results.replicates)
        ])
        for name in (ex.MLE, ex.MAX)
    }  # fmt: skip
    p = min(results.means, key=lambda p: abs(np.mean(results.means[p] != 0) - density))
    k = int(np.argmin(np.abs((results.largest.parameter != 0).mean(axis=1) - density)))
    ratios = [
        f"{np.abs(weight[both]).sum() / np.abs(truth.weight[both]).sum():.2f}"
        for weight in (results.largest.parameter[k], results.means[p])
        for both in [(truth.weight != 0) & (weight != 0)]
    ]
    rows = [
        [
            "Bayes p0 predicts better than the L1 methods at almost every density",
            "; ".join(
                f"above {name} at {int((d > 0).sum())} of {len(d)} settings "
                f"(by {d.min():+.3f} to {d.max():+.3f})"
                for name, (d, _) in at.items()
            ),
        ],
        [
            "Bayes p0 is best at the true density",
            f"best at density {bayes_density[np.argmax(bayes_cll)]:.3f}, the true one is {density:.3f}",
        ],
        [
            "Bayes p0 is robust, L1 methods under- and overfit",
            f"from best to worst Bayes p0 loses {bayes_cll.max() - bayes_cll.min():.3f}, "
            + ", ".join(f"{name} {value:.3f}" for name, value in drop.items()),
        ],
        [
            "with p0 learnt, no tuning is needed",
            f"Bayes {ex.mean_and_sd(learnt[ex.BAYES], 3)}, "
            f"Bayes PM {ex.mean_and_sd(learnt[ex.BAYES_PM], 3)}; "
            + ", ".join(f"{name} at its best penalty {value:.3f}" for name, value in best.items()),
        ],
        [
            "the learnt sparsity is close to the true one",
            f"density {ex.mean_and_sd(ex.learnt(scores, ex.BAYES, N_CURVES, 'density'), 3)} (edges with "
            f"inclusion above 1/2: {edges.mean():.3f}), the true one is {density:.3f}",
        ],
        [
            "Bayes finds edges with high precision",
            f"precision {ex.mean_and_sd(precision, 2)}; with as many edges "
            + ", ".join(f"{name} {value:.2f}" for name, value in same.items()),
        ],
        [
            "MLE predicts better than Wain Max",
            f"at {100 * np.mean(gain > 0):.0f} % of densities, by {gain.mean():+.3f} on average",
        ],
        [
            "at the true density L1 shrinks the weights, Bayes PM does not",
            "mean absolute weight of the true edges that are found, over that of the truth: "
            f"Wain Max {ratios[0]}, Bayes PM {ratios[1]}",
        ],
    ]
    if results.model == "block":
        (_, _), (particles, _) = ex.curve(scores, ex.PARTICLES, N_CURVES, "density", "cll")
        (x, _), _ = ex.curve(scores, ex.PARTICLES, N_CURVES, "density", "cll")
        rows.append([
            "the approximate posterior predicts as the exact one (fig. 7)",
            f"CLL differs by at most {np.abs(particles - bayes_cll).max():.3f}, density by "
            f"{np.abs(x - bayes_density).max():.3f}, over p0",
        ])  # fmt: skip
    return table(["the paper says", f"here, n = {N_CURVES}, CLL minus the truth's"], rows)


def report(results: Results) -> str:
    """Results as Markdown."""
    r, model = results.truth.candidates.n_edges, results.model
    lines = [
        f"{model.capitalize()} model: {results.truth.candidates.n_nodes} nodes, {r:,} candidate edges, "
        f"{results.truth.graph.n_edges} true ones. Replicates: {results.replicates}; "
        f"{results.draws} draws of one chain after {max(results.draws // 2, 10)} of tuning; seed "
        f"{results.seed}. CLL of the truth per test case: "
        f"{ex.mean_and_sd(np.array(results.truth_cll), 3)}; all others are relative to it. "
        f'"Bayes" has the {BAYESIAN[model]} likelihood. Seconds are processor time, of a whole path for '
        "the L1 methods.\n",
        f"![CLL against density and F1](../figures/chen_welling_2012_{model}.png)\n",
        claims(results),
        measures(results),
        f"![Precision and recall](../figures/chen_welling_2012_{model}_precision_recall.png)\n",
        f"![Magnitudes of the weights](../figures/chen_welling_2012_{model}_weights.png)\n",
        f"{machine()}\n",
    ]
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> None:
    """Run the experiment."""
    parser = ex.parser(__doc__.splitlines()[0])
    parser.add_argument("--model", choices=list(BAYESIAN), default="block")
    parser.add_argument("--sizes", type=int, nargs="+", help="training sample sizes")
    parser.add_argument("--replicates", type=int)
    parser.add_argument("--side", type=int, default=10, help="of the lattice")
    arguments = ex.parse(parser, argv)
    block = arguments.model == "block"
    sizes = arguments.sizes or ex.choose(arguments, [100], SIZES, SIZES)
    replicates = arguments.replicates or ex.choose(arguments, 1, 5 if block else 2, 10)
    draws = ex.check_draws(
        arguments.draws or ex.choose(arguments, 150 if block else 40, 1000 if block else 160, 2000)
    )
    if min(sizes) < 10 or sizes != sorted(set(sizes)):
        raise SystemExit(f"--sizes must be increasing and at least 10, not {sizes}")
    if replicates < 1 or arguments.side < 3:
        raise SystemExit("--replicates must be at least 1 and --side at least 3")
    start = time.perf_counter()
    n_test = ex.choose(arguments, 300, 300, 2000)
    results = run(arguments.model, sizes, replicates, draws, n_test, arguments.side, arguments.seed)
    for suffix, plot in (
        ("", plot_likelihoods),
        ("_precision_recall", plot_precision_recall),
        ("_weights", plot_magnitudes),
    ):
        name = f"chen_welling_2012_{arguments.model}{suffix}.png"
        save_figure(plot(results), arguments.output, name)
    write_fragment(report(results), arguments.output, f"chen_welling_{arguments.model}.md")
    print(f"Done in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
