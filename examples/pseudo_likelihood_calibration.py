"""How far inclusion probabilities of edges can be believed: the pseudo-likelihood beside the likelihood.

Boltzmann machines are drawn from the prior of the model, structure and parameters, and data from them. Under
the likelihood the inclusion probabilities must then be calibrated: of the pairs with probability 0.8, 80 %
are edges. Under the pseudo-likelihood they need not be; beside it stands its usual form, whose conditionals
have weight 1 and count an edge twice. Also measured: when `EdgeGibbs` warns of that, and whether the share of
false edges that it then tells is right. Writes tables and a figure for the documentation.
"""

import argparse
import itertools
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pymc as pm
from matplotlib.figure import Figure

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pymc_mrf as pmrf
from examples._report import SILENT, machine, outcomes, parse_sizes, save_figure, table, write_fragment
from pymc_mrf.fields.families import BOLTZMANN
from pymc_mrf.likelihood.pseudo.checks import false_edges, is_overstated

PRIORS = {  # probability of an edge and sd of the slab, by number of nodes
    10: ((0.2, 1.0), (0.2, 2.0), (0.5, 1.0)),
    20: ((0.1, 1.0), (0.1, 2.0), (0.5, 1.0)),
}
BIAS_SD = 2.0
USUAL = "weight 1"
LIKELIHOODS = {"exact": "exact", "pseudo": "pseudo", USUAL: pmrf.Pseudo(weight=1)}
BINS = (0.0, 0.1, 0.5, 0.8, 0.95, 0.99, 1.0)


class Fit(NamedTuple):
    """One posterior beside the truth; `inclusion` and `present` are (r,)."""

    d: int
    p: float
    slab_sd: float
    n: int
    likelihood: str
    inclusion: np.ndarray
    present: np.ndarray


def simulate(d: int, p: float, slab_sd: float, n: int, rng: np.random.Generator):
    """Presence of all pairs (r,), and n exact draws (n, d) of a field from the prior."""
    edges = pmrf.graphs.complete(d).edges
    present = rng.random(len(edges)) < p
    weight, bias = rng.normal(0, slab_sd, present.sum()), rng.normal(0, BIAS_SD, d)
    graph = nx.empty_graph(d)
    graph.add_edges_from(edges[present])
    field = pmrf.PairwiseField(graph, BOLTZMANN.edge_tables(weight), BOLTZMANN.node_tables(bias))
    return present, field.sample(n, rng=rng)


def inclusion(
    x: np.ndarray, p: float, slab_sd: float, likelihood: Any, draws: int, tune: int, seed: int
):
    """Inclusion probabilities (r,) by the step that `pm.sample` chooses, one chain."""
    graph = pmrf.graphs.complete(x.shape[1])
    with pm.Model(coords=pmrf.coords(graph)), warnings.catch_warnings():
        # few rows have constant columns; the prior of the biases provides for them
        warnings.filterwarnings("ignore", "x never changes", UserWarning)
        weight = pmrf.SpikeAndSlab("weight", p, pm.Normal.dist(0, slab_sd), dims="edge")
        bias = pm.Normal("bias", 0, BIAS_SD, dims="node")
        pmrf.BoltzmannMachine("x", weight, bias, graph=graph, observed=x, likelihood=likelihood)
        idata = pm.sample(
            draws,
            tune=tune,
            chains=1,
            random_seed=seed,
            **SILENT,
        )
    # a probability of 0 or 1 is more than draws can tell
    return ((idata.posterior["weight"].values[0] != 0).sum(axis=0) + 0.5) / (draws + 1)


def fits(replicate: int, d: int, sizes: list[int], draws: int, tune: int, seed: int) -> list[Fit]:
    """All fits of one replicate; all likelihoods see the same data."""
    found = []
    for (p, slab_sd), n in itertools.product(PRIORS[d], sizes):
        rng = np.random.default_rng([seed, d, round(100 * p), round(100 * slab_sd), n, replicate])
        present, x = simulate(d, p, slab_sd, n, rng)
        for name, likelihood in LIKELIHOODS.items():
            probability = inclusion(x, p, slab_sd, likelihood, draws, tune, replicate)
            found.append(Fit(d, p, slab_sd, n, name, probability, present))
    return found


def run(replicates: dict[int, int], **options) -> list[Fit]:
    """All fits, given the `replicates` by number of nodes, and the other arguments of `fits`."""
    found = []
    for d in (d for d, n in replicates.items() if n):
        for each in outcomes(partial(fits, d=d, **options), range(replicates[d])):
            found += each
    return found


def ratio(parts: list[float], wholes: list[float]) -> tuple[float, float]:
    """Ratio of two sums over independent fields, and its standard error."""
    a, b = np.array(parts, dtype=float), np.array(wholes, dtype=float)
    if not b.any():
        return np.nan, np.nan
    share = a.sum() / b.sum()
    residuals = a - share * b
    return share, float(np.sqrt(len(a) / max(len(a) - 1, 1) * (residuals**2).sum())) / b.sum()


def log_score(fit: Fit) -> float:
    """Log probability that the posterior gives to presence and absence, pair by pair."""
    return float(np.log(np.where(fit.present, fit.inclusion, 1.0 - fit.inclusion)).sum())


def false_share(fits: list[Fit], claimed: bool = False) -> tuple[float, float]:
    """Share of the pairs with inclusion above one half that are no edges; what the posterior claims it is."""
    found = [fit.inclusion > 0.5 for fit in fits]
    absent = [1.0 - (fit.inclusion if claimed else fit.present) for fit in fits]
    return ratio([(a * f).sum() for a, f in zip(absent, found, strict=True)], [f.sum() for f in found])


def expected(fit: Fit) -> tuple[int, float, float]:
    """Edges found, the false ones claimed, and those expected if Bayes factors are squares."""
    log_odds = np.full(len(fit.inclusion), np.log(fit.p) - np.log1p(-fit.p))
    return false_edges(fit.inclusion, log_odds, 1.0)


def expected_share(fits: list[Fit]) -> float:
    """Share of false edges among those found, as `EdgeGibbs` expects it of weight 1."""
    n_found, _, false = np.array([expected(fit) for fit in fits]).T
    return ratio(false, n_found)[0]


def shares(fits: list[Fit]) -> str:
    """Write the false share of the edges found, and that claimed."""
    share, error = false_share(fits)
    return f"{share:.2f} ± {error:.2f} ({false_share(fits, claimed=True)[0]:.2f})"


def setting_rows(fits: list[Fit]) -> list[list[str]]:
    """One row for each setting, all likelihoods."""
    rows = []
    for setting in sorted({fit[:4] for fit in fits}):
        row = list(map("{:g}".format, setting))
        for likelihood in LIKELIHOODS:
            own = [fit for fit in fits if fit[:5] == (*setting, likelihood)]
            n_found = np.mean([(fit.inclusion > 0.5).sum() for fit in own])
            row += [f"{n_found:.1f}", shares(own), f"{np.mean([log_score(fit) for fit in own]):.1f}"]
        rows.append([*row, f"{expected_share(own):.2f}"])
    return rows


def warning_rows(fits: list[Fit]) -> list[list[str]]:
    """Fits with weight 1, those of which the step warns and the others."""
    rows = []
    own = [fit for fit in fits if fit.likelihood == USUAL]
    for dense, warns in itertools.product((False, True), (True, False)):
        some = [f for f in own if (f.p == 0.5, is_overstated(*expected(f))) == (dense, warns)]
        if some:
            row = ["0.5" if dense else "0.1 or 0.2", "yes" if warns else "no", str(len(some))]
            row += [str(sum(expected(fit)[0] for fit in some)), shares(some)]
            rows.append([*row, f"{expected_share(some):.2f}"])
    return rows


def calibration(fits: list[Fit], low: float, high: float) -> tuple[int, float, float, float]:
    """Pairs with inclusion in (low, high]: number, mean inclusion, share of edges and its error."""
    inside = [(fit.inclusion > low) & (fit.inclusion <= high) for fit in fits]
    sizes = [i.sum() for i in inside]
    share, error = ratio([fit.present[i].sum() for fit, i in zip(fits, inside, strict=True)], sizes)
    claimed, _ = ratio([fit.inclusion[i].sum() for fit, i in zip(fits, inside, strict=True)], sizes)
    return sum(sizes), claimed, share, error


def bin_rows(fits: list[Fit]) -> list[list[str]]:
    """One row for each bin of claimed probabilities, all settings pooled."""
    rows = []
    for low, high in itertools.pairwise(BINS):
        row = [f"{low:g} to {high:g}"]
        for likelihood in LIKELIHOODS:
            own = [fit for fit in fits if fit.likelihood == likelihood]
            n_pairs, claimed, share, error = calibration(own, low, high)
            row += [str(n_pairs), f"{claimed:.3f}", f"{share:.3f} ± {error:.3f}"]
        rows.append(row)
    return rows


def draw_figure(fits: list[Fit]) -> Figure:
    """Share of true edges against what is claimed, a panel for each number of observations."""
    sizes = sorted({fit.n for fit in fits})
    figure = Figure(figsize=(3.2 * len(sizes), 3.3), layout="constrained")
    axes = figure.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
    for ax, n in zip(axes, sizes, strict=True):
        ax.plot([0, 1], [0, 1], color="0.7", lw=1)
        for likelihood, marker in zip(LIKELIHOODS, "os^", strict=True):
            own = [fit for fit in fits if (fit.n, fit.likelihood) == (n, likelihood)]
            _, claimed, share, error = np.array(
                [calibration(own, *ends) for ends in itertools.pairwise(BINS)]
            ).T
            ax.errorbar(claimed, share, error, marker=marker, ms=4, lw=1.2, label=likelihood)
        ax.set(title=f"{n} observations", xlabel="inclusion probability", xlim=(0, 1.02), ylim=(0, 1.02))
    axes[0].set_ylabel("share of true edges")
    axes[0].legend(frameon=False)
    return figure


def summary(fits: list[Fit]) -> str:
    """One sentence for other pages."""
    said = []
    for likelihood in LIKELIHOODS:
        own = [fit for fit in fits if fit.likelihood == likelihood and fit.p < 0.5]
        (share, error), (claimed, _) = false_share(own), false_share(own, claimed=True)
        name = "with weight 1, as is usual" if likelihood == USUAL else f'under `"{likelihood}"`'
        said.append(
            f"{100 * share:.0f} ± {100 * error:.0f} % {name}, where {100 * claimed:.0f} % are claimed"
        )
    nodes = " and ".join(str(d) for d in sorted({fit.d for fit in fits}))
    return (
        f"In simulated sparse fields of {nodes} nodes, with data from the prior, of the edges with "
        f"inclusion probabilities above one half some were false: {said[0]}, {said[1]}, and {said[2]}.\n"
    )


def main(argv: list[str] | None = None) -> None:
    """Simulate, sample, count; write the tables and the figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fields-10", type=int, default=1, help="fields of 10 nodes in each setting")
    parser.add_argument("--fields-20", type=int, default=0, help="fields of 20 nodes in each setting")
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 500, 2000], help="observations")
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--tune", type=int, default=250)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parse_sizes(parser, argv, fields_10=12, fields_20=5)
    replicates = {10: arguments.fields_10, 20: arguments.fields_20}
    draws, tune = arguments.draws, arguments.tune
    options = {"sizes": arguments.sizes, "draws": draws, "tune": tune, "seed": arguments.seed}
    report(run(replicates, **options), arguments)


def report(fits: list[Fit], arguments: argparse.Namespace) -> None:
    """Write what was found."""
    header = ["nodes", "p", "slab sd", "n"]
    for likelihood in LIKELIHOODS:
        header += [f"{what}, {likelihood}" for what in ("edges found", "false (claimed)", "log score")]
    text = table([*header, "expected"], setting_rows(fits))
    header = ["inclusion probability"]
    for likelihood in LIKELIHOODS:
        header += [f"{what}, {likelihood}" for what in ("pairs", "mean", "true edges")]
    text += "\n" + table(header, bin_rows(fits))
    header = ["p", "the step warns", "posteriors", "edges found", "false (claimed)", "expected"]
    text += "\n" + table(header, warning_rows(fits))
    text += (
        "\nBoltzmann machines from the prior: an edge has probability p and a normal weight with standard "
        f"deviation (sd) as given, biases are Normal(0, {BIAS_SD:g}); {arguments.fields_10} fields of 10 "
        f"nodes and {arguments.fields_20} of 20 in each setting, n exact draws of each, and all pairs as "
        f"candidate edges. One chain of {arguments.tune} tuning steps and {arguments.draws} draws of "
        "`EdgeGibbs` with default options. Found are edges with an inclusion probability above one half: "
        "their mean number, the share that is false, ± its standard error from field to field, in brackets "
        "the share that the probabilities claim to be false. Expected, of weight 1, is the "
        "share after the square root of every Bayes factor, which the step compares with that claimed. The "
        "log score is the log probability that the posterior gives to presence and absence, summed over "
        "pairs; mean of the fields. The last two tables pool all settings, the last one is of weight 1.\n\n"
        "![True edges against inclusion probability](../figures/pseudo_likelihood_calibration.png)\n\n"
        f"Made by `examples/pseudo_likelihood_calibration.py`. Machine: {machine()}.\n"
    )
    write_fragment(text, arguments.output, "pseudo_likelihood_calibration.md")
    write_fragment(summary(fits), arguments.output, "pseudo_likelihood_calibration_summary.md")
    save_figure(draw_figure(fits), arguments.output, "pseudo_likelihood_calibration.png")


if __name__ == "__main__":
    main()
