"""Chen & Welling (2012), sec. 6.5: sparse models of handwritten digits, figures 10 and 11.

108 pixels, 5,778 candidate edges. By default the data are `digit_patch.npz`, a stand-in made by
`make_digits.py`; with `--data` they are patches of MNIST in a file of the same form: `x` (n, 14) packed
bits of 12 x 9 pixels, row by row. Run from the repository root:

    python examples/chen_welling_2012/mnist.py --data mnist_patch.npz

"Bayes" is `EdgeGibbs` under weighted particles; with p0 learnt, it is also run under the pseudo-likelihood.
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import pymc_mrf as pmrf
from examples._report import machine, save_figure, table, write_fragment
from examples.chen_welling_2012 import experiment as ex
from pymc_mrf.fields.families import BOLTZMANN
from pymc_mrf.fields.pairwise import PairwiseField

STAND_IN = Path(__file__).with_name("digit_patch.npz")
SHAPE = (12, 9)
P0 = [0.03, 0.3]
DENSITY = 0.2  # of the models of figure 11
N_SAMPLES = 36
SWEEPS = 500
LEAST_TEST = 100


def load(path: Path) -> np.ndarray:
    """Patches (n, 108), 0 or 1."""
    if not path.exists():
        raise SystemExit(f"--data {path} does not exist; leave it out for the stand-in")
    with np.load(path) as file:
        if "x" not in file or file["x"].ndim != 2 or file["x"].shape[1] != 14:
            raise SystemExit(
                f"--data {path} must hold `x`, rows of 14 bytes: the packed bits of 108 pixels"
            )
        return np.unpackbits(file["x"], axis=1)[:, : SHAPE[0] * SHAPE[1]]


def estimate(
    x: np.ndarray, test: ex.TestSet, graph: pmrf.PairwiseGraph, draws: int, rng
) -> tuple[list[ex.Score], dict]:
    """All scores of one training set; chains by p0 (None: learnt) and L1 paths, by name."""
    n, tune = len(x), max(draws // 2, 10)
    scores, models = [], {}
    for p in (None, *P0):
        where = {"n": n, "replicate": 0, "learnt": p is None, "setting": np.nan if p is None else p}
        models[p] = ex.sample_posterior(x, graph, "particles", draws, tune, rng, p)
        scores += ex.score_draws(models[p], graph, test, None, **where)
        if p is None:
            pseudo = ex.sample_posterior(x, graph, "pseudo", draws, tune, rng)
            scores += ex.score_draws(pseudo, graph, test, None, (ex.PSEUDO,), **where)
    found, paths = ex.score_paths(x, graph, test, None, n=n, replicate=0, learnt=False)
    return scores + found, models | paths


def plot_likelihoods(scores: list[ex.Score], sizes: list[int]) -> Figure:
    """CLL against density: the paper's Figure 10."""
    figure = Figure(figsize=(5.2 * len(sizes), 5), layout="constrained")
    methods = [ex.BAYES, ex.BAYES_PM, ex.PSEUDO, ex.MLE, ex.MAX]
    axes = np.atleast_1d(figure.subplots(1, len(sizes)))
    for ax, n in zip(axes, sizes, strict=True):
        ex.plot_cll(ax, scores, methods, n, "density", "CLL per test case")
        here = sorted(s.cll for s in scores if s.n == n and s.method != ex.MIN)
        # overfitting at small n is off the scale: it would flatten everything else
        ax.set_ylim(max(here[0], here[-1] - 1.5), here[-1] + 0.05)
        ax.set_title(f"n = {n}", fontsize=10)
    ex.shared_legend(figure, axes)
    return figure


def draw_images(weight: np.ndarray, bias: np.ndarray, graph, n: int, rng) -> np.ndarray:
    """`n` states (n, 108) of Gibbs chains under one estimate."""
    present = np.flatnonzero(weight)
    sparse = pmrf.PairwiseGraph(graph.nodes, [tuple(edge) for edge in graph.edges[present].tolist()])
    tables = BOLTZMANN.edge_tables(weight[present]), BOLTZMANN.node_tables(bias)
    return PairwiseField(sparse, *tables).sample(n, method="gibbs", n_sweeps=SWEEPS, rng=rng)


def images(models: dict, x: np.ndarray, graph, rng) -> dict[str, np.ndarray]:
    """Draw (36, 108) from models of about the same density; for "Bayes", one from each of 36 draws."""
    p = min((None, *P0), key=lambda p: abs(models[p].density - DENSITY))
    weight, bias = models[p].thinned(N_SAMPLES)
    mixed = [draw_images(w, b, graph, 1, rng)[0] for w, b in zip(weight, bias, strict=True)]
    shown = {"data": x[:N_SAMPLES], f"{ex.BAYES}, density {models[p].density:.2f}": np.array(mixed)}
    weight, bias = models[p].posterior_mean()
    name = f"{ex.BAYES_PM}, density {np.mean(weight != 0):.2f}"
    shown[name] = draw_images(weight, bias, graph, N_SAMPLES, rng)
    for method in (ex.MLE, ex.MAX):
        path = models[method]
        density = path.n_edges / graph.n_edges
        k = int(np.argmin(np.abs(density - DENSITY)))
        drawn = draw_images(path.parameter[k], path.node_parameter[k], graph, N_SAMPLES, rng)
        shown[f"{method}, density {density[k]:.2f}"] = drawn
    return shown


def plot_images(shown: dict[str, np.ndarray]) -> Figure:
    """6 x 6 samples from every model: the paper's Figure 11."""
    figure = Figure(figsize=(2.6 * len(shown), 3.6), layout="constrained")
    rows, columns = SHAPE
    for ax, (name, x) in zip(figure.subplots(1, len(shown)), shown.items(), strict=True):
        canvas = np.full((6 * (rows + 1) + 1, 6 * (columns + 1) + 1), 0.5)
        for i, image in enumerate(x[:N_SAMPLES]):
            top, left = 1 + (i // 6) * (rows + 1), 1 + (i % 6) * (columns + 1)
            canvas[top : top + rows, left : left + columns] = image.reshape(SHAPE)
        ax.imshow(canvas, cmap="gray", interpolation="nearest")
        ax.set_title(name, fontsize=9)
        ax.set_axis_off()
    return figure


def measures(scores: list[ex.Score], sizes: list[int]) -> str:
    """Density and CLL of every estimator, as Markdown."""
    rows = []
    for n in sizes:
        for method in (ex.BAYES, ex.BAYES_PM, ex.PSEUDO):
            [s] = ex.select(scores, method, n=n, learnt=True)
            rows.append(
                [n, f"{method} (p0 learnt)", f"{s.density:.3f}", f"{s.cll:.3f}", f"{s.seconds:.0f}"]
            )
        for method in (ex.BAYES, ex.BAYES_PM, ex.MLE, ex.MAX, ex.MIN):
            line = ex.select(scores, method, n=n, learnt=False)
            best, sparse = max(line, key=lambda s: s.cll), min(line, key=lambda s: abs(s.density - 0.05))
            name = f"{method} p0" if method.startswith(ex.BAYES) else method
            for label, s in (("best on the test data", best), ("density nearest 0.05", sparse)):
                rows.append(
                    [n, f"{name}, {label}", f"{s.density:.3f}", f"{s.cll:.3f}", f"{s.seconds:.0f}"]
                )
    return table(["n", "estimator", "density", "CLL", "seconds"], rows)


def comparisons(scores: list[ex.Score], sizes: list[int]) -> list[str]:
    """Statements of sec. 6.5 and what came out."""
    lines = []
    for n in sizes:
        (x, _), (y, _) = ex.curve(scores, ex.MLE, n, "density", "cll")
        parts = []
        for method in (ex.BAYES, ex.BAYES_PM):
            for s in ex.select(scores, method, n=n, learnt=False):
                if s.density <= x.max():
                    gain = s.cll - np.interp(s.density, x, y)
                    parts.append(f"{method} {gain:+.2f} at {s.density:.3f}")
        lines.append(f"- n = {n}: CLL minus that of MLE at the same density: {', '.join(parts)}.")
    return lines


def main(argv: list[str] | None = None) -> None:
    """Run the experiment."""
    parser = ex.parser(__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, default=STAND_IN, help="file with `x`, packed 12 x 9 patches"
    )
    parser.add_argument("--sizes", type=int, nargs="+", help="training sample sizes")
    arguments = ex.parse(parser, argv)
    draws = ex.check_draws(arguments.draws or ex.choose(arguments, 20, 120, 1000))
    x = load(arguments.data)
    sizes = arguments.sizes or ex.choose(arguments, [100], [100, 1000], [100, 1000])
    n_test = ex.choose(arguments, 100, 300, 10_000)
    most = max(sizes)
    if min(sizes) < 10 or sizes != sorted(set(sizes)) or most + LEAST_TEST > len(x):
        raise SystemExit(
            f"--sizes must be increasing, at least 10 and leave {LEAST_TEST} of {len(x)} rows for tests, "
            f"not {sizes}"
        )
    start = time.perf_counter()
    rng = np.random.default_rng(arguments.seed)
    graph = pmrf.graphs.complete(x.shape[1])
    test = ex.TestSet.patches(x[most : most + n_test], SHAPE, 24, rng)
    scores, models = [], {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)  # constant pixels: reported in total
        for n in sizes:
            found, models = estimate(x[:n], test, graph, draws, rng)
            scores += found
    other = [w for w in caught if "never changes" not in str(w.message)]
    for warning in other:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    save_figure(plot_likelihoods(scores, sizes), arguments.output, "chen_welling_2012_figure10.png")
    save_figure(
        plot_images(images(models, x, graph, rng)), arguments.output, "chen_welling_2012_figure11.png"
    )
    stand_in = arguments.data == STAND_IN
    constant = [int((x[:n] == x[0]).all(axis=0).sum()) for n in sizes]
    write_fragment(
        "\n".join([
            f"{'Stand-in for MNIST (digits of 8 x 8 pixels, interpolated)' if stand_in else 'MNIST patch'}: "
            f"108 pixels, {graph.n_edges:,} candidate edges; n = {', '.join(map(str, sizes))} training and "
            f"{len(test.x)} test images; pixels that never change in training: "
            f"{', '.join(map(str, constant))}. {draws} draws of one chain after {max(draws // 2, 10)} of "
            f"tuning, seed {arguments.seed}. CLL of 3 x 3 patches given all other pixels, per image. "
            "Seconds are processor time, of a whole path for the L1 methods.\n",
            "![CLL against density](../figures/chen_welling_2012_figure10.png)\n",
            measures(scores, sizes),
            "The paper: Bayes predicts better than the L1 methods where models are sparse or dense; Bayes "
            "PM is robust, but does not reach MLE at medium densities.\n",
            *comparisons(scores, sizes),
            f"\nSamples after {SWEEPS} Gibbs sweeps, n = {most}, beside the first training images:\n",
            "![Samples](../figures/chen_welling_2012_figure11.png)\n",
            f"{machine()}\n",
        ]),
        arguments.output,
        "chen_welling_mnist.md",
    )  # fmt: skip
    print(f"Done in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
