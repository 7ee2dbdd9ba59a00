"""What the experiments of Chen & Welling (2012, sec. 6) have in common: estimators, scores, plots.

An estimator is scored by edge density, by the conditional log-likelihood (CLL) of held-out groups of
variables given all others, per test case, and, where the truth is known, by precision, recall and F1.
"""

import argparse
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from matplotlib.figure import Figure

import pymc_mrf as pmrf
from examples._report import SILENT
from examples._truth import precision_recall
from examples.chen_welling_2012.truths import Truth
from pymc_mrf.estimation.l1 import l1_pseudo_likelihood

BETA, GAMMA, BIAS_SD = (5, 5), (5, 5), 10.0  # a = b = c = d = 5, sigma_b = 10, sec. 6.2
N_MIXED = 100  # draws in the predictor "Bayes"
BAYES, BAYES_PM, MLE, MAX, MIN = "Bayes", "Bayes PM", "MLE", "Wain Max", "Wain Min"
PARTICLES, PSEUDO = "Bayes, particles", "Bayes, pseudo-likelihood"
# Okabe & Ito's colours, distinguishable by the colour-blind; markers and dashes say the same again
LOOKS = {
    BAYES: {"color": "#0072B2", "marker": "o", "linestyle": "-"},
    BAYES_PM: {"color": "#009E73", "marker": "^", "linestyle": "--"},
    MLE: {"color": "#CC79A7", "marker": "D", "linestyle": "-."},
    MAX: {"color": "#D55E00", "marker": "s", "linestyle": ":"},
    MIN: {"color": "#E69F00", "marker": "v", "linestyle": ":"},
    PARTICLES: {"color": "#000000", "marker": "+", "linestyle": ":"},
    PSEUDO: {"color": "#56B4E9", "marker": "x", "linestyle": "--"},
}


@dataclass(frozen=True)
class Draws:
    """Posterior draws of one chain, and what they cost."""

    weight: np.ndarray  # (s, r)
    bias: np.ndarray  # (s, d)
    p: np.ndarray  # (s,) or the fixed value
    idata: xr.DataTree
    graph: pmrf.PairwiseGraph
    means: np.ndarray  # (d,) of the data
    seconds: float  # processor time, compiled

    @property
    def inclusion(self) -> np.ndarray:
        """Posterior probability of every edge, (r,)."""
        return pmrf.analysis.edge_inclusion(self.idata, "weight")["inclusion"].values

    @property
    def density(self) -> float:
        """Mean share of the candidates that exist."""
        return float((self.idata.posterior["weight"] != 0.0).mean())

    def thinned(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """`n` draws of weights and biases at equal distances, or all."""
        chosen = np.unique(np.linspace(0, len(self.weight) - 1, n).astype(int))
        return self.weight[chosen], self.bias[chosen]

    def posterior_mean(self) -> tuple[np.ndarray, np.ndarray]:
        """Weights and biases of "Bayes PM": mean where present of the edges with inclusion above 1/2.

        Biases make up for the weights of all edges in a draw, also of those that are left out here. So
        means are taken of the biases centred at the data, b_i + sum_j w_ij mean(x_j).
        """
        found = pmrf.analysis.edge_inclusion(self.idata, "weight")
        weight = np.where(found["inclusion"] > 0.5, found["mean_included"], 0.0)
        centred = (self.bias + self._shift(self.weight)).mean(axis=0)
        return weight, centred - self._shift(weight[None])[0]

    def _shift(self, weight: np.ndarray) -> np.ndarray:
        """Sum over the neighbours of every node of weight times mean, (s, d), from weights (s, r)."""
        shift = np.zeros((len(weight), self.graph.n_nodes))
        u, v = self.graph.edges.T
        for row, w in zip(shift, weight, strict=True):
            row += np.bincount(u, w * self.means[v], minlength=len(row))
            row += np.bincount(v, w * self.means[u], minlength=len(row))
        return shift


def declare(
    x: np.ndarray, graph: pmrf.PairwiseGraph, likelihood: str, p: float | None = None
) -> pm.Model:
    """Model of sec. 2 (eq. 3) with the hyperparameters of sec. 6.2; `p` fixed or random."""
    with pm.Model(coords=pmrf.coords(graph)) as model:
        probability = pm.Beta("p", *BETA) if p is None else p
        precision = pm.Gamma("precision", *GAMMA)
        slab = pm.Normal.dist(0.0, precision**-0.5)
        weight = pmrf.SpikeAndSlab("weight", probability, slab, dims="edge")
        bias = pm.Normal("bias", 0.0, BIAS_SD, dims="node")
        pmrf.BoltzmannMachine("x", weight, bias, graph=graph, likelihood=likelihood, observed=x)
    return model


def sample_posterior(
    x: np.ndarray,
    graph: pmrf.PairwiseGraph,
    likelihood: str,
    draws: int,
    tune: int,
    rng: np.random.Generator,
    p: float | None = None,
    step=None,
    initvals: dict[str, np.ndarray] | None = None,
    callback=None,
) -> Draws:
    """Draws of one chain; `step` makes the steps from the model's variables, by default PyMC chooses.

    `callback`: that of `pm.sample`, called after each draw.
    """
    start = time.process_time()
    with declare(x, graph, likelihood, p) as model:
        idata = pm.sample(
            draws=draws,
            tune=tune,
            chains=1,
            step=None if step is None else step(model),
            initvals=initvals,
            callback=callback,
            random_seed=int(rng.integers(2**31)),
            **SILENT,
        )
    seconds = time.process_time() - start
    posterior = idata.posterior.isel(chain=0)
    chosen = np.full(draws, p) if p is not None else posterior["p"].values
    weight, bias = posterior["weight"].values, posterior["bias"].values
    return Draws(weight, bias, chosen, idata, graph, x.mean(axis=0), seconds)


@dataclass(frozen=True)
class TestSet:
    """Held-out data: for each group of nodes, the rows of which it is to be predicted.

    Scores are relative to `reference`, the mean CLL under the truth if there is one.
    """

    __test__ = False  # not a test case

    x: np.ndarray
    groups: list[tuple[list[int], np.ndarray]]
    reference: float = 0.0

    @classmethod
    def whole(cls, x: np.ndarray) -> "TestSet":
        """All nodes at once: the log-likelihood."""
        return cls(x, [(list(range(x.shape[1])), np.arange(len(x)))])

    @classmethod
    def patches(
        cls, x: np.ndarray, shape: tuple[int, int], n: int, rng: np.random.Generator
    ) -> "TestSet":
        """3 x 3 patches of a lattice with node numbers row by row; `n` patches share the rows."""
        rows, columns = shape
        groups = []
        for mine in np.array_split(np.arange(len(x)), min(n, len(x))):
            top, left = rng.integers(rows - 2), rng.integers(columns - 2)
            nodes = [(top + i) * columns + left + j for i in range(3) for j in range(3)]
            groups.append(([int(node) for node in nodes], mine))
        return cls(x, groups)

    def relative_to(self, truth: Truth) -> "TestSet":
        """Take the truth as reference."""
        return replace(self, reference=self.score(truth.candidates, truth.weight, truth.bias))

    def log_likelihoods(
        self, graph: pmrf.PairwiseGraph, weight: np.ndarray, bias: np.ndarray
    ) -> xr.DataArray:
        """CLL of every test case under every one of s estimates (s, r), (s, d)."""
        labels = graph.nodes
        out = np.empty((1, len(weight), len(self.x)))
        for nodes, rows in self.groups:
            values = pmrf.analysis.conditional_log_likelihood(
                self.x[rows],
                graph,
                xr.DataArray(weight[None], dims=("chain", "draw", "edge")),
                [labels[i] for i in nodes],
                family="boltzmann",
                node=xr.DataArray(bias[None], dims=("chain", "draw", "node")),
                per_observation=True,
            )
            out[:, :, rows] = values
        return xr.DataArray(out, dims=("chain", "draw", "obs"))

    def score(self, graph: pmrf.PairwiseGraph, weight: np.ndarray, bias: np.ndarray) -> float:
        """Mean CLL under the mean probability of the draws (s, r), (s, d), or under one estimate."""
        found = self.log_likelihoods(graph, np.atleast_2d(weight), np.atleast_2d(bias))
        return float(pmrf.analysis.log_predictive(found).mean()) - self.reference


@dataclass(frozen=True)
class Score:
    """One point of a curve; `learnt` if the method chose its sparsity itself."""

    method: str
    n: int
    replicate: int
    setting: float  # penalty or p0
    learnt: bool
    density: float
    cll: float  # per test case
    precision: float
    recall: float
    f1: float
    seconds: float


def structure(weight: np.ndarray, truth: Truth | None) -> tuple[float, float, float]:
    """Precision, recall and F1 of the non-zero weights (r,); NaN without a truth."""
    if truth is None:
        return np.nan, np.nan, np.nan
    found = precision_recall((weight != 0).astype(float), truth.weight != 0).sel(threshold=0.5)
    return tuple(float(found[name]) for name in ("precision", "recall", "f1"))


def score_draws(
    draws: Draws, graph, test: TestSet, truth: Truth | None, names=(BAYES, BAYES_PM), **where
) -> list[Score]:
    """Score one chain as "Bayes" and, if there are two names, as "Bayes PM"."""
    weight, bias = draws.posterior_mean()
    mixture = test.score(graph, *draws.thinned(N_MIXED))
    found = structure(weight, truth)
    scores = [
        Score(names[0], density=draws.density, cll=mixture, **_parts(found, draws.seconds), **where)
    ]
    if len(names) > 1:
        cll = test.score(graph, weight, bias)
        density = float(np.mean(weight != 0))
        scores.append(Score(names[1], density=density, cll=cll, **_parts(found, draws.seconds), **where))
    return scores


def _parts(found: tuple[float, float, float], seconds: float) -> dict:
    return dict(zip(("precision", "recall", "f1"), found, strict=True)) | {"seconds": seconds}


def score_paths(
    x: np.ndarray, graph, test: TestSet, truth: Truth | None, **where
) -> tuple[list[Score], dict]:
    """All L1 estimators along their paths; and the paths.

    The prior of the biases is that of the Bayesian models: a column may be constant in small samples.
    """
    paths, scores = {}, []
    for combine in ("joint", "max"):
        start = time.process_time()
        path = l1_pseudo_likelihood(x, graph, combine=combine, bias_sd=BIAS_SD)
        seconds = time.process_time() - start
        named = {MLE: path} if combine == "joint" else {MAX: path, MIN: path.combined("min")}
        for name, one in named.items():
            paths[name] = one
            cll = test.log_likelihoods(graph, one.parameter, one.node_parameter).mean(("chain", "obs"))
            for k in range(len(one.penalties)):
                weight = one.parameter[k]
                scores.append(
                    Score(
                        name,
                        setting=float(one.penalties[k]),
                        density=float(np.mean(weight != 0)),
                        cll=float(cll[k]) - test.reference,
                        **_parts(structure(weight, truth), seconds),
                        **where,
                    )
                )
    return scores, paths


def select(scores: Iterable[Score], method: str, **where) -> list[Score]:
    """Scores of a method, with these values of other attributes."""
    return [
        s for s in scores if s.method == method and all(getattr(s, k) == v for k, v in where.items())
    ]


def curve(scores: list[Score], method: str, n: int, *names: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """Mean and standard deviation over replicates of attributes, along the settings of a method.

    Penalties differ between replicates; those at the same place of their paths belong together.
    """
    replicates = sorted({s.replicate for s in scores})
    lines = [select(scores, method, n=n, replicate=r, learnt=False) for r in replicates]
    out = []
    for name in names:
        values = np.array([[getattr(s, name) for s in line] for line in lines])
        out.append((values.mean(axis=0), values.std(axis=0)))
    return out


def learnt(scores: list[Score], method: str, n: int, name: str) -> np.ndarray:
    """One attribute of a method that chose its sparsity itself, per replicate."""
    return np.array([getattr(s, name) for s in select(scores, method, n=n, learnt=True)])


def plot_cll(ax, scores: list[Score], methods: Iterable[str], n: int, x: str, label: str) -> None:
    """CLL against density or F1: lines along penalties or p0, large markers where p0 is learnt."""
    for method in methods:
        look = LOOKS[method]
        if select(scores, method, n=n, learnt=False):
            (density, _), (cll, sd) = curve(scores, method, n, x, "cll")
            suffix = " p0" if method.startswith(BAYES) else ""
            ax.plot(density, cll, label=method + suffix, markersize=3.5, linewidth=1.2, **look)
            ax.fill_between(density, cll - sd, cll + sd, color=look["color"], alpha=0.12, linewidth=0)
        if select(scores, method, n=n, learnt=True):
            ax.plot(
                learnt(scores, method, n, x).mean(),
                learnt(scores, method, n, "cll").mean(),
                color=look["color"],
                marker=look["marker"],
                markersize=12,
                markeredgecolor="black",
                linestyle="none",
                zorder=5,
                label=f"{method} (p0 learnt)",
            )
    ax.set_xlabel({"density": "edge density", "f1": "F1 of the edges"}[x])
    ax.set_ylabel(label)
    ax.grid(alpha=0.25)


def shared_legend(figure: Figure, axes) -> None:
    """One legend below all panels, with every label once."""
    handles = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=4, fontsize=8, frameon=False
    )


def mean_and_sd(values: np.ndarray, digits: int) -> str:
    """Mean over replicates, ± their standard deviation if there are several."""
    mean = f"{values.mean():.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ± {values.std(ddof=1):.{digits}f}"


def parser(description: str) -> argparse.ArgumentParser:
    """Arguments of all scripts."""
    parser = argparse.ArgumentParser(description=description)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--full", action="store_true", help="the size behind the documentation")
    size.add_argument("--paper", action="store_true", help="the sizes of the paper: hours")
    parser.add_argument("--draws", type=int, help="kept draws of every chain; half as many are tuning")
    parser.add_argument("--seed", type=int, default=2012)
    parser.add_argument(
        "--output",
        type=Path,
        help="gets figures/ and _results/: by default output, and docs with --full or --paper",
    )
    return parser


def parse(parser: argparse.ArgumentParser, argv: list[str] | None) -> argparse.Namespace:
    """Parse, and choose where results go."""
    arguments = parser.parse_args(argv)
    if arguments.output is None:
        arguments.output = Path("docs" if arguments.full or arguments.paper else "output")
    return arguments


def choose(arguments: argparse.Namespace, short: Any, full: Any, paper: Any) -> Any:
    """Value of an option for the size of the run."""
    return paper if arguments.paper else full if arguments.full else short


def check_draws(draws: int) -> int:
    """Refuse nonsense before any work."""
    if draws < 20:
        raise SystemExit(f"--draws must be at least 20, not {draws}")
    return draws
