"""What the simulations of Liu & Page (2013, sec. 4) have in common: truth, estimators, measures, report.

Results are kept in one `xarray.Dataset` with dims ("replicate", "n", "estimator"):

| variable              | measure                                                                |
|-----------------------|------------------------------------------------------------------------|
| `error`               | mean over edges of the absolute error of theta                         |
| `test_log_likelihood` | of the test sample at the estimate                                     |
| `test_loss`           | by how much that is below the log-likelihood of the true theta         |
| `vi_difference`       | VI(random grouping, truth) - VI(sampled grouping, truth), over steps   |
| `n_groups`            | mean over steps                                                        |
| `seconds`             | processor time from the model's declaration to the last step, compiled |
"""

import argparse
import time
from dataclasses import dataclass

import numpy as np
import pymc as pm
import xarray as xr
from matplotlib.figure import Figure

import pymc_mrf as pmrf
from examples._report import SILENT, table
from examples._truth import vi_difference
from pymc_mrf.fields.families import agreement
from pymc_mrf.fields.pairwise import PairwiseField

FAMILY = agreement(2)
N_TEST = 1000
ALPHA = 1.0
MEASURES = ("error", "test_log_likelihood", "test_loss", "vi_difference", "n_groups", "seconds")
# Okabe & Ito's colours, distinguishable by the colour-blind; markers and dashes say the same again
LOOKS = {
    "blind": {"color": "#D55E00", "marker": "s", "linestyle": "--"},
    "oracle": {"color": "#009E73", "marker": "^", "linestyle": ":"},
    "bayes": {"color": "#0072B2", "marker": "o", "linestyle": "-"},
    "approximate": {"color": "#CC79A7", "marker": "D", "linestyle": "-."},
    "auxiliary": {"color": "#E69F00", "marker": "v", "linestyle": "-"},
    "exchange": {"color": "#56B4E9", "marker": "x", "linestyle": "--"},
    "pseudo": {"color": "#E69F00", "marker": "v", "linestyle": "-"},
    "simulated": {"color": "#56B4E9", "marker": "x", "linestyle": "--"},
}


@dataclass(frozen=True)
class Truth:
    """A field with grouped parameters: `theta` (r,), labels `groups` (r,)."""

    graph: pmrf.PairwiseGraph
    theta: np.ndarray
    groups: np.ndarray

    @classmethod
    def draw(cls, graph: pmrf.PairwiseGraph, n_groups: int, rng: np.random.Generator) -> "Truth":
        """Values of the groups from Unif(0, 1), a group for every edge at random."""
        values = rng.uniform(size=n_groups)
        groups = rng.integers(n_groups, size=graph.n_edges)
        return cls(graph, values[groups], groups)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """`n` independent exact draws, (n, d)."""
        return field(self.graph, self.theta).sample(n, rng=rng)


def field(graph: pmrf.PairwiseGraph, theta: np.ndarray) -> PairwiseField:
    """Agreement field with parameters theta (r,)."""
    nodes = FAMILY.node_tables(np.zeros(graph.n_nodes))
    return PairwiseField(graph, FAMILY.edge_tables(FAMILY.natural(theta)), nodes)


def agreements(x: np.ndarray, graph: pmrf.PairwiseGraph) -> np.ndarray:
    """Count the rows of x (n, d) in which the ends of each edge agree, (r,): sufficient statistics."""
    u, v = graph.edges.T
    return (x[:, u] == x[:, v]).sum(axis=0)


def sample_posterior(
    graph: pmrf.PairwiseGraph,
    x: np.ndarray,
    step: type,
    n_steps: int,
    rng: np.random.Generator,
    likelihood: str = "exact",
) -> tuple[xr.DataTree, float]:
    """`n_steps` steps from the step's own start, none discarded, as in the paper; and the seconds."""
    start = time.process_time()
    with pm.Model():
        theta = pmrf.DirichletProcess("theta", ALPHA, pm.Uniform.dist(0, 1), shape=graph.n_edges)
        pmrf.AgreementMRF("x", theta, graph=graph, likelihood=likelihood, observed=x)
        idata = pm.sample(
            draws=n_steps,
            tune=0,
            chains=1,
            step=step([theta]),
            random_seed=int(rng.integers(2**31)),
            **SILENT,
        )
    return idata, time.process_time() - start


def empty_results(n_replicates: int, sizes: list[int], estimators: list[str]) -> xr.Dataset:
    """All measures as NaN: what an estimator has no value for stays so."""
    shape = (n_replicates, len(sizes), len(estimators))
    dims = ("replicate", "n", "estimator")
    return xr.Dataset(
        {name: (dims, np.full(shape, np.nan)) for name in MEASURES},
        coords={"n": sizes, "estimator": estimators},
    )


def record_posterior(
    results: xr.Dataset, where: dict, idata: xr.DataTree, truth: Truth, rng: np.random.Generator
) -> np.ndarray:
    """Enter what the groupings say; the posterior mean of theta (r,) is returned."""
    labels = pmrf.group_labels(idata, "theta")
    results["vi_difference"].loc[where] = vi_difference(labels, truth.groups, rng)
    results["n_groups"].loc[where] = float(pmrf.n_groups(idata, "theta").mean())
    return idata.posterior["theta"].mean(("chain", "draw")).values


def standard_error(values: xr.DataArray) -> xr.DataArray:
    """Of the mean over the replicates that have a value; NaN where it is one."""
    m = values.notnull().sum("replicate")
    return (values.std("replicate", ddof=1) / np.sqrt(m)).where(m > 1)


def minus(values: xr.DataArray, a: str, b: str) -> xr.DataArray:
    """Difference between two estimators."""
    return values.sel(estimator=a, drop=True) - values.sel(estimator=b, drop=True)


def plot_curves(ax, results: xr.Dataset, measure: str, looks: dict[str, str], label: str) -> None:
    """Mean over replicates against n, with bars of one standard error."""
    for name, look in looks.items():
        values = results[measure].sel(estimator=name)
        if values.isnull().all():
            continue
        ax.errorbar(
            results["n"],
            values.mean("replicate"),
            yerr=standard_error(values),
            label=name,
            markersize=4,
            linewidth=1.3,
            capsize=2,
            **LOOKS[look],
        )
    ax.set_xlabel("training sample size n")
    ax.set_ylabel(label)
    ax.grid(alpha=0.25)


def plot_three_measures(results: xr.Dataset, looks: dict[str, str]) -> Figure:
    """Plot error, log-likelihood and VI difference against n: the paper's Figures 1 and 4."""
    figure = Figure(figsize=(11, 3.4), layout="constrained")
    axes = figure.subplots(1, 3)
    panels = (
        ("error", "mean |θ - estimate|", results),
        # truths differ by more than estimators: relative to the truth the bars show what matters
        ("test_loss", "test log-lik. minus the truth's", -results),
        ("vi_difference", "VI difference (nats)", results),
    )
    for ax, (measure, label, values), letter in zip(axes, panels, "abc", strict=True):
        plot_curves(ax, values, measure, looks, label)
        ax.set_title(f"({letter})", loc="left", fontsize=10)
        ax.legend(fontsize=8)
    axes[0].set_ylim(bottom=0)
    return figure


def measures_table(results: xr.Dataset, estimators: list[str], columns: list[int]) -> str:
    """Means and standard errors of all measures but run time, at a few sample sizes."""
    rows = []
    for measure, label, digits in (
        ("error", "mean abs. error of θ", 4),
        ("test_log_likelihood", "test log-likelihood", 1),
        ("test_loss", "the same below the truth's", 1),
        ("vi_difference", "VI difference", 3),
        ("n_groups", "number of groups", 2),
    ):
        for name in estimators:
            values = results[measure].sel(estimator=name)
            if not values.isnull().all():
                rows.append([label, name, *(mean_and_error(values.sel(n=n), digits) for n in columns)])
    return table(["measure", "estimator", *(f"n = {n}" for n in columns)], rows)


def mean_and_error(values: xr.DataArray, digits: int) -> str:
    """Mean over replicates ± its standard error."""
    error = float(standard_error(values))
    if values.isnull().all():
        return ""
    mean = f"{float(values.mean('replicate')):.{digits}f}"
    return mean if np.isnan(error) else f"{mean} ± {error:.{digits}f}"


@dataclass(frozen=True)
class Claim:
    """A statement of the paper as a difference that ought to be positive, per replicate and n."""

    text: str
    difference: xr.DataArray
    digits: int


def claims_table(claims: list[Claim], columns: list[int]) -> str:
    """Differences at a few sizes, and at how many of all sizes they have the claimed sign."""
    rows = []
    for claim in claims:
        mean, error = claim.difference.mean("replicate"), standard_error(claim.difference)
        positive, clear = int((mean > 0).sum()), int((mean > 2 * error).sum())
        against = int((mean < -2 * error).sum())
        cells = [mean_and_error(claim.difference.sel(n=n), claim.digits) for n in columns]
        rows.append([claim.text, *cells, f"{positive} of {mean.size}", clear, against])
    header = [
        "the paper says",
        *(f"n = {n}" for n in columns),
        "sign as claimed",
        "clearly",
        "clearly not",
    ]
    return table(header, rows)


CLAIMS_LEGEND = (
    "Each line is a difference between estimators within replicates that is positive where the paper's "
    "statement holds: mean ± standard error over replicates. The last columns count the sample sizes at "
    "which the mean is positive, above two standard errors, and below minus two.\n"
)


def trend(values: xr.DataArray, digits: int) -> str:
    """Change from the smallest n to the largest, and whether it is the increase that the paper sees."""
    change = values.isel(n=-1, drop=True) - values.isel(n=0, drop=True)
    mean, error = float(change.mean("replicate")), float(standard_error(change))
    verdict = "undecided"
    if abs(mean) > 2 * error:
        verdict = "as in the paper" if mean > 0 else "contrary to the paper"
    return f"{mean_and_error(change, digits)} ({verdict})"


def columns_shown(sizes: list[int]) -> list[int]:
    """Sizes of the paper's Table 1 if they were run; else the first and the last."""
    shown = [n for n in (100, 500, 1000) if n in sizes]
    return shown if len(shown) > 1 else sorted({sizes[0], sizes[-1]})


SIZES = list(range(100, 1001, 100))
"""Training sample sizes of the paper."""


def parser(description: str, steps: int) -> argparse.ArgumentParser:
    """Arguments that the scripts share, with defaults for a short run."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--replicates", type=int, default=1)
    parser.add_argument("--steps", type=int, default=steps, help="Gibbs steps")
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[100, 500, 1000], help="training sample sizes"
    )
    parser.add_argument("--seed", type=int, default=2013)
    return parser


def check_arguments(arguments: argparse.Namespace) -> None:
    """Refuse nonsense before any work."""
    for name in ("replicates", "steps"):
        if getattr(arguments, name) < 1:
            raise SystemExit(f"--{name} must be at least 1, not {getattr(arguments, name)}")
    if min(arguments.sizes) < 1 or arguments.sizes != sorted(set(arguments.sizes)):
        raise SystemExit(f"--sizes must be positive and increasing, not {arguments.sizes}")
