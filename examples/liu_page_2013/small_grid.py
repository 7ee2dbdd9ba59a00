"""Liu & Page (2013), sec. 4.2: Figures 3 and 4 and Table 1, on a 4 x 4 grid with five groups.

Compared are blind and oracle maximum likelihood (PCD), `GroupGibbs` (the paper's Gibbs_ExactL),
`StrippedBetaGibbs` (Gibbs_SBA) and `AuxiliaryVariableMH` twice: as in the paper (MH_AuxVar: ratio of Møller
et al., values restarted at the tied estimate in every step) and with the ratio of the exchange algorithm
(MH_Exchange, which leaves the posterior invariant). Both draw their auxiliary data exactly; the run
times with simulated data, as in the paper, are measured on the first replicate. Run from the repository
root:

    python examples/liu_page_2013/small_grid.py

Training samples are nested: that of size n is the first n rows of the largest. The free
maximum-likelihood estimate, on which blind PCD and Gibbs_SBA rest, does not exist if the data lie on
the boundary of what the field can express (an edge whose ends always or never agree, for example). A
truth whose smallest training sample does so is replaced by a new one; the report counts them.
"""

import sys
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import pymc_mrf as pmrf
from examples._report import machine, parse_sizes, save_figure, table, write_fragment
from examples.liu_page_2013 import experiment as ex
from pymc_mrf.likelihood.exact.exact_edges import ExactGroups

N_GROUPS = 5
BLIND, ORACLE, EXACT, SBA = "blind PCD", "oracle PCD", "Gibbs_ExactL", "Gibbs_SBA"
AUXILIARY, EXCHANGE = "MH_AuxVar", "MH_Exchange"
# M = 5, S = 100 and sigma_Q = 0.001 are the paper's and the defaults
METROPOLIS = {
    AUXILIARY: partial(pmrf.papers.AuxiliaryVariableMH, auxiliary="moller", restart=True),
    EXCHANGE: partial(pmrf.papers.AuxiliaryVariableMH, auxiliary="exchange"),
}
SAMPLERS = {EXACT: pmrf.steps.GroupGibbs, SBA: pmrf.papers.StrippedBetaGibbs, **METROPOLIS}
LOOKS = {
    BLIND: "blind",
    ORACLE: "oracle",
    EXACT: "bayes",
    SBA: "approximate",
    AUXILIARY: "auxiliary",
    EXCHANGE: "exchange",
}
N_SWEEPS = 20  # of the simulated auxiliary data
MAX_REDRAWS = 1000
PAPER_SECONDS = {
    EXACT: {100: 88136.3, 500: 91055.0, 1000: 92503.4},
    SBA: {100: 8.1, 500: 10.8, 1000: 14.2},
    AUXILIARY: {100: 540.2, 500: 3342.2, 1000: 4546.7},
}


def blind_estimate_exists(x: np.ndarray, graph: pmrf.PairwiseGraph) -> bool:
    """Whether the free maximum-likelihood estimate is finite."""
    try:
        pmrf.estimation.fit(x, graph, method="exact")
    except ValueError:  # of valid data, the one thing that `fit` refuses
        return False
    return True


def draw_truth(
    graph: pmrf.PairwiseGraph, sizes: list[int], rng: np.random.Generator
) -> tuple[ex.Truth, np.ndarray, int]:
    """Truth, its largest training sample and how many truths were drawn before it."""
    for redraws in range(MAX_REDRAWS):
        truth = ex.Truth.draw(graph, N_GROUPS, rng)
        train = truth.sample(sizes[-1], rng)
        if blind_estimate_exists(train[: sizes[0]], graph):
            return truth, train, redraws
    raise RuntimeError(
        f"no truth with a finite estimate from {sizes[0]} rows in {MAX_REDRAWS}; raise --sizes"
    )


def run(n_replicates: int, n_steps: int, n_metropolis: int, sizes: list[int], seed: int) -> xr.Dataset:
    """All measures, see `experiment`; attributes count redraws and PCD runs without convergence.

    Gibbs samplers make `n_steps` steps, Metropolis samplers `n_metropolis`.
    """
    graph = pmrf.graphs.grid(4, 4)
    results = ex.empty_results(n_replicates, sizes, list(LOOKS))
    results["true_groups"] = ("replicate", np.zeros(n_replicates))
    results["pcd_deviation"] = (("replicate", "n"), np.zeros((n_replicates, len(sizes))))
    results["simulated_seconds"] = (("sampler", "n"), np.full((len(METROPOLIS), len(sizes)), np.nan))
    results.coords["sampler"] = list(METROPOLIS)
    redraws = unconverged = 0
    compile_samplers(graph, seed)
    steps = dict.fromkeys(SAMPLERS, n_steps) | dict.fromkeys(METROPOLIS, n_metropolis)
    for replicate, rng in enumerate(np.random.default_rng(seed).spawn(n_replicates)):
        truth, train, rejected = draw_truth(graph, sizes, rng)
        redraws += rejected
        test = truth.sample(ex.N_TEST, rng)
        best = log_likelihood(test, graph, truth.theta)
        results["true_groups"][replicate] = len(np.unique(truth.groups))
        for n in sizes:
            x = train[:n]
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", UserWarning)  # not converged: reported in total
                estimates = estimate(results, replicate, x, truth, steps, rng)
            unconverged += sum("did not converge" in str(warning.message) for warning in caught)
            exact = pmrf.estimation.fit(x, graph, method="exact").parameter
            where = {"replicate": replicate, "n": n}
            results["pcd_deviation"].loc[where] = np.abs(estimates[BLIND] - exact).mean()
            for name, theta in estimates.items():
                cell = where | {"estimator": name}
                results["error"].loc[cell] = np.abs(theta - truth.theta).mean()
                reached = log_likelihood(test, graph, theta)
                results["test_log_likelihood"].loc[cell] = reached
                results["test_loss"].loc[cell] = best - reached
            if replicate == 0 and n in ex.columns_shown(sizes):
                for name, step in METROPOLIS.items():
                    _, seconds = ex.sample_posterior(graph, x, simulated(step), n_metropolis, rng)
                    results["simulated_seconds"].loc[{"sampler": name, "n": n}] = seconds
    results.attrs = {
        "redraws": redraws,
        "unconverged": unconverged,
        "steps": n_steps,
        "metropolis_steps": n_metropolis,
        "seed": seed,
    }
    return results


def simulated(step: partial) -> partial:
    """Return the step with auxiliary data from Gibbs chains that start at the data."""
    return partial(step, draws="gibbs", n_sweeps=N_SWEEPS)


def log_likelihood(x: np.ndarray, graph: pmrf.PairwiseGraph, theta: np.ndarray) -> float:
    """Log-likelihood of x (n, d), summed over rows."""
    field = ex.field(graph, theta)
    return float(-field.energy(x).sum() - len(x) * field.log_partition())


def compile_samplers(graph: pmrf.PairwiseGraph, seed: int) -> None:
    """Run every sampler once on data without structure, so that run times exclude compilation."""
    rng = np.random.default_rng(seed)
    x = rng.integers(2, size=(200, graph.n_nodes))
    for step in (*SAMPLERS.values(), *map(simulated, METROPOLIS.values())):
        ex.sample_posterior(graph, x, step, 2, rng)


def estimate(
    results: xr.Dataset,
    replicate: int,
    x: np.ndarray,
    truth: ex.Truth,
    steps: dict[str, int],
    rng: np.random.Generator,
) -> dict[str, np.ndarray]:
    """Theta (r,) by every estimator; run times and groupings are entered in `results`.

    `steps` says how many steps each sampler makes.
    """
    estimates = {}
    for name, groups in ((BLIND, None), (ORACLE, truth.groups)):
        start = time.process_time()
        fit = pmrf.estimation.fit(x, truth.graph, method="pcd", groups=groups, random_seed=rng)
        where = {"replicate": replicate, "n": len(x), "estimator": name}
        results["seconds"].loc[where] = time.process_time() - start
        estimates[name] = fit.parameter
    for name, step in SAMPLERS.items():
        idata, seconds = ex.sample_posterior(truth.graph, x, step, steps[name], rng)
        where = {"replicate": replicate, "n": len(x), "estimator": name}
        results["seconds"].loc[where] = seconds
        estimates[name] = ex.record_posterior(results, where, idata, truth, rng)
    return estimates


def plot_number_of_groups(results: xr.Dataset) -> Figure:
    """Boxplots over replicates of the mean number of groups: the paper's Figure 3."""
    figure = Figure(figsize=(3.5 * len(SAMPLERS), 3.2), layout="constrained")
    axes = figure.subplots(1, len(SAMPLERS), sharey=True)
    for ax, name in zip(axes, SAMPLERS, strict=True):
        color = ex.LOOKS[LOOKS[name]]["color"]
        ax.boxplot(
            results["n_groups"].sel(estimator=name).values,
            tick_labels=[str(n) for n in results["n"].values],
            boxprops={"color": color},
            medianprops={"color": color, "linewidth": 2},
            flierprops={"markersize": 3},
        )
        truth = float(results["true_groups"].mean())
        ax.axhline(
            truth, color="black", linestyle=":", linewidth=1, label=f"truth ({truth:.2f} on average)"
        )
        ax.set_title(name, fontsize=10)
        ax.set_xlabel("training sample size n")
        ax.tick_params(axis="x", labelrotation=45)
    axes[0].set_ylabel("number of groups")
    axes[0].legend(fontsize=8)
    return figure


def claims(results: xr.Dataset) -> list[ex.Claim]:
    """Statements of sec. 4.2 as differences."""
    error, likelihood = results["error"], results["test_log_likelihood"]
    made = []
    for name in SAMPLERS:
        made += [
            ex.Claim(f"{name} has a lower error than {BLIND}", ex.minus(error, BLIND, name), 4),
            ex.Claim(f"{name} has a higher error than {ORACLE}", ex.minus(error, name, ORACLE), 4),
            ex.Claim(
                f"{name} predicts test data better than {BLIND}", ex.minus(likelihood, name, BLIND), 1
            ),
            ex.Claim(f"{name} predicts worse than {ORACLE}", ex.minus(likelihood, ORACLE, name), 1),
        ]
    made += [
        ex.Claim(f"{EXACT} has a lower error than {SBA}", ex.minus(error, SBA, EXACT), 4),
        ex.Claim(f"{EXACT} predicts better than {SBA}", ex.minus(likelihood, EXACT, SBA), 1),
        ex.Claim(f"{AUXILIARY} has a higher error than {EXACT}", ex.minus(error, AUXILIARY, EXACT), 4),
        ex.Claim(f"{AUXILIARY} has a higher error than {SBA}", ex.minus(error, AUXILIARY, SBA), 4),
        ex.Claim(
            f"{AUXILIARY} groups better than {SBA} (VI difference; the paper: at large n)",
            ex.minus(results["vi_difference"], AUXILIARY, SBA),
            3,
        ),
    ]
    made += [
        ex.Claim(
            f"{name} finds more groups than there are",
            results["n_groups"].sel(estimator=name, drop=True) - results["true_groups"],
            2,
        )
        for name in SAMPLERS
    ]
    return made


def report(results: xr.Dataset) -> str:
    """Results as Markdown."""
    sizes = [int(n) for n in results["n"].values]
    columns = ex.columns_shown(sizes)
    m, steps = results.sizes["replicate"], results.attrs["steps"]
    error, likelihood = (results[name].mean("replicate") for name in ("error", "test_log_likelihood"))
    gain = (ex.minus(error, BLIND, SBA).sum() / ex.minus(error, BLIND, EXACT).sum()).item()
    gain_likelihood = (
        ex.minus(likelihood, SBA, BLIND).sum() / ex.minus(likelihood, EXACT, BLIND).sum()
    ).item()
    lines = [
        f"Replicates: {m} (the paper: 50), {steps} Gibbs or {results.attrs['metropolis_steps']} Metropolis "
        f"steps of one chain, none discarded, alpha = "
        f"{ex.ALPHA:g}, {N_GROUPS} groups among 24 edges, {ex.N_TEST} test rows, seed "
        f"{results.attrs['seed']}; n = {', '.join(map(str, sizes))}. A step of {EXACT} has "
        f"{ExactGroups.n_rounds[0]} rounds of moves of labels and values.\n",
        f"Truths drawn anew because the free estimate from n = {sizes[0]} does not exist: "
        f"{results.attrs['redraws']}, besides the {m} used. This leaves out truths with parameters near "
        "0 and 1, which the paper may have treated otherwise. PCD runs that did not converge: "
        f"{results.attrs['unconverged']}. {BLIND} differs from exact maximum likelihood by "
        f"{float(results['pcd_deviation'].mean()):.4f} per edge on average.\n",
        "![Error, test log-likelihood, VI difference](../figures/liu_page_2013_figure4.png)\n",
        ex.measures_table(results, list(LOOKS), columns),
        "![Number of groups](../figures/liu_page_2013_figure3.png)\n",
        "Run time (the paper's Table 1), seconds; ours are mean processor times of declaring the model, "
        f"setting up the step (with the free PCD estimate for {SBA} and the Metropolis samplers) and all "
        f"steps, compilation excluded. Simulated auxiliary data: {N_SWEEPS} sweeps from the data, first "
        "replicate only.\n",
        _run_times(results, columns),
        "Against the paper's statements:\n",
        ex.CLAIMS_LEGEND,
        ex.claims_table(claims(results), columns),
        f"- {SBA} beside {EXACT} (the paper: close): of the latter's gain over {BLIND} it keeps "
        f"{100 * gain:.0f} % in error and {100 * gain_likelihood:.0f} % in test log-likelihood, over all n.",
        *(
            f"- {name} finds {_extra_groups(results, name)} groups more than there are, over all n."
            for name in SAMPLERS
        ),
        *(
            f"- VI difference of {name} from n = {sizes[0]} to {sizes[-1]}: "
            f"{ex.trend(results['vi_difference'].sel(estimator=name), 3)}."
            for name in SAMPLERS
        ),
        f"\n{machine()}\n",
    ]
    return "\n".join(lines)


def _extra_groups(results: xr.Dataset, name: str) -> str:
    extra = results["n_groups"].sel(estimator=name) - results["true_groups"]
    return ex.mean_and_error(extra.mean("n"), 2)


def _run_times(results: xr.Dataset, columns: list[int]) -> str:
    rows = []
    for name in SAMPLERS:
        seconds = results["seconds"].sel(estimator=name).mean("replicate")
        rows.append([name, "ours", *(f"{float(seconds.sel(n=n)):.2f}" for n in columns)])
        if name in METROPOLIS:
            rows[-1][1] = "ours, exact auxiliary data"
            seconds = results["simulated_seconds"].sel(sampler=name)
            cells = [f"{float(seconds.sel(n=n)):.2f}" for n in columns]
            rows.append([name, "ours, simulated auxiliary data", *cells])
        if name in PAPER_SECONDS:
            paper = PAPER_SECONDS[name]
            cells = [f"{paper[n]:,.1f}" if n in paper else "" for n in columns]
            rows.append([name, "the paper", *cells])
    return table(["", "", *(f"n = {n}" for n in columns)], rows)


def write(results: xr.Dataset, output: Path) -> None:
    """Figures and report into `output`."""
    save_figure(ex.plot_three_measures(results, LOOKS), output, "liu_page_2013_figure4.png")
    save_figure(plot_number_of_groups(results), output, "liu_page_2013_figure3.png")
    write_fragment(report(results), output, "small_grid.md")


def main(argv: list[str] | None = None) -> None:
    """Run the experiment."""
    parser = ex.parser(__doc__.splitlines()[0], 50)
    parser.add_argument("--metropolis-steps", type=int, default=50, help="Metropolis-Hastings steps")
    full = {"replicates": 20, "steps": 100, "metropolis_steps": 500, "sizes": ex.SIZES}
    arguments = parse_sizes(parser, argv, **full)
    ex.check_arguments(arguments)
    if arguments.metropolis_steps < 1:
        raise SystemExit(f"--metropolis-steps must be at least 1, not {arguments.metropolis_steps}")
    start = time.perf_counter()
    results = run(
        arguments.replicates,
        arguments.steps,
        arguments.metropolis_steps,
        arguments.sizes,
        arguments.seed,
    )
    write(results, arguments.output)
    print(
        f"Done in {time.perf_counter() - start:.0f} s: {arguments.output / '_results' / 'small_grid.md'}"
    )


if __name__ == "__main__":
    main()
