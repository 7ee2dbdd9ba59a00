"""Chen & Welling (2012), sec. 3.3 and 6.3: how good approximate inference is, figures 2, 3 and 4.

On the block model with 100 training cases, posterior draws of every approximate sampler are compared with
those of `EdgeGibbs` under the exact likelihood: `ReversibleJump` with `PersistentLangevin` under the exact
likelihood (the paper's "Bayes Exact") and under particles (its "Bayes"), and `EdgeGibbs` under particles and
under the pseudo-likelihood. Run from the repository root:

    python examples/chen_welling_2012/inference.py

The paper's jumps are 0.01 / sqrt(N Var f) wide and its Langevin steps 0.001 long, for ten million
iterations. Here they are 30 and 100 times longer, with 1,000 particles in place of 100, for some ten
thousand iterations.
"""

import sys
import time
from functools import partial
from pathlib import Path

import arviz as az
import numpy as np
from matplotlib.figure import Figure

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples._report import machine, save_figure, table, write_fragment
from examples.chen_welling_2012 import experiment as ex
from examples.chen_welling_2012 import truths
from pymc_mrf.papers.persistent_langevin import PersistentLangevin
from pymc_mrf.papers.reversible_jump import ReversibleJump
from pymc_mrf.steps.edges.edge_gibbs import EdgeGibbs

N = 100
EXACT, PAPER_EXACT, PAPER = "EdgeGibbs, exact", "Bayes Exact", "Bayes"
PARTICLES, PSEUDO = "EdgeGibbs, particles", "EdgeGibbs, pseudo-likelihood"
COLORS = {
    PAPER_EXACT: "#E69F00",
    PAPER: "#D55E00",
    PARTICLES: "#0072B2",
    PSEUDO: "#009E73",
}
MARKERS = {PAPER_EXACT: "s", PAPER: "v", PARTICLES: "o", PSEUDO: "x"}
WIDTH, STEP, N_PARTICLES = 0.3, 0.1, 1000
P0 = [0.03, 0.3, 0.9]
N_SHOWN = 4
RARE = 0.05  # values of edges present in fewer draws say little
STRONG_N, STRONG_P0 = 300, 0.3
PER_ROW = (5, 10, 20)  # particles for every row; the first is the default


def paper_steps(model, jump: dict, langevin: dict) -> list:
    """Langevin step of weights and biases, then jumps of all edges (Algorithm 1)."""
    weight, bias = model["weight"], model["bias"]
    return [PersistentLangevin([weight, bias], **langevin), ReversibleJump([weight], **jump)]


def samplers(draws: int) -> dict[str, tuple[str, int, object]]:
    """Likelihood, draws and steps by name."""
    particles = {"n_particles": N_PARTICLES}
    approximate = partial(
        paper_steps, jump={"width": WIDTH, **particles}, langevin={"step_size": STEP, **particles}
    )
    return {
        EXACT: ("exact", 2 * draws, None),
        PAPER_EXACT: ("exact", 4 * draws, partial(paper_steps, jump={}, langevin={})),
        PAPER: ("particles", 20 * draws, approximate),
        PARTICLES: ("particles", draws, None),
        PSEUDO: ("pseudo", 2 * draws, None),
    }


def summary(draws: ex.Draws) -> np.ndarray:
    """Inclusion probability, and mean and standard deviation where present, of all edges: (3, r)."""
    present = draws.weight != 0
    counts = np.maximum(present.sum(axis=0), 1)
    mean = draws.weight.sum(axis=0) / counts
    square = (draws.weight**2).sum(axis=0) / counts
    return np.stack([present.mean(axis=0), mean, np.sqrt(np.maximum(square - mean**2, 0.0))])


def halves(draws: ex.Draws) -> float:
    """Mean difference of inclusion between the two halves of a chain: a measure of Monte-Carlo error."""
    present = np.array_split(draws.weight != 0, 2)
    return float(np.abs(present[0].mean(axis=0) - present[1].mean(axis=0)).mean())


def plot_histograms(chains: dict[str, ex.Draws], shown: np.ndarray) -> Figure:
    """Values of four edges in the draws that have them: the paper's Figure 3."""
    figure = Figure(figsize=(9, 6), layout="constrained")
    reference = chains[EXACT].weight
    edges = chains[EXACT].idata.posterior["edge"].values
    for ax, e in zip(figure.subplots(2, 2).ravel(), shown, strict=True):
        values = reference[reference[:, e] != 0, e]
        low, high = np.quantile(values, [0.002, 0.998])
        bins = np.linspace(low - 0.5, high + 0.5, 31)
        ax.hist(values, bins, density=True, color="0.8", label=EXACT)
        for name, color in COLORS.items():
            values = chains[name].weight[:, e]
            values = values[values != 0]
            if len(values):
                ax.hist(
                    values, bins, density=True, histtype="step", color=color, linewidth=1.3, label=name
                )
        probabilities = ", ".join(f"{chains[name].inclusion[e]:.2f}" for name in chains)
        ax.set_title(f"edge {edges[e]}: P(present) = {probabilities}", fontsize=9)
        ax.set_xlabel("weight, where present", fontsize=8)
        ax.tick_params(labelsize=8)
    figure.axes[0].legend(fontsize=7)
    return figure


def plot_agreement(by_p: dict[float, dict[str, ex.Draws]]) -> Figure:
    """Inclusion, mean and standard deviation against the exact ones over p0: the paper's Figure 4."""
    figure = Figure(figsize=(12, 4.2), layout="constrained")
    axes = figure.subplots(1, 3)
    titles = ("P(edge present)", "mean where present", "standard deviation where present")
    names = [PAPER, PARTICLES, PSEUDO]
    for name in names:
        exact = np.concatenate([summary(chains[EXACT]) for chains in by_p.values()], axis=1)
        other = np.concatenate([summary(chains[name]) for chains in by_p.values()], axis=1)
        common = (exact[0] > RARE) & (other[0] > RARE)
        for ax, x, y, keep in zip(axes, exact, other, (slice(None), common, common), strict=True):
            look = {"color": COLORS[name], "marker": MARKERS[name], "markersize": 4, "alpha": 0.6}
            ax.plot(x[keep], y[keep], linestyle="none", label=name, **look)
    for ax, title in zip(axes, titles, strict=True):
        # by the exact values: a few outliers of rare edges would hide all else
        low, high = ax.get_xlim()
        ax.set_ylim(low - 0.1 * (high - low), high + 0.1 * (high - low))
        ax.axline((0.5 * (low + high), 0.5 * (low + high)), slope=1, color="black", linewidth=0.8)
        ax.set(title=title, xlabel=EXACT)
        ax.grid(alpha=0.25)
    axes[0].set_ylabel("approximate")
    axes[0].legend(fontsize=8)
    return figure


def autocorrelation(x: np.ndarray, n_lags: int) -> np.ndarray:
    """Autocorrelations of a series at lags 0..n_lags - 1."""
    centred = x - x.mean()
    size = 2 ** int(np.ceil(np.log2(2 * len(x))))
    transform = np.fft.rfft(centred, size)
    covariance = np.fft.irfft(transform * np.conj(transform), size)[:n_lags]
    return covariance / covariance[0]


def momentum(x: np.ndarray, truth: truths.Truth, draws: int, rng) -> dict[str, ex.Draws]:
    """Chains of Langevin steps alone, the true edges fixed: exact, without and with lasting momentum."""
    chains = {}
    paper = {"step_size": STEP, "n_particles": N_PARTICLES}
    for name, likelihood, n, options in (
        ("exact", "exact", 20 * draws, {}),
        ("alpha = 0", "particles", 60 * draws, {"alpha": 0.0, **paper}),
        ("alpha = 0.9", "particles", 60 * draws, {"alpha": 0.9, **paper}),
    ):
        step = partial(_langevin, options=options)
        start = {"weight": truth.weight, "bias": truth.bias}
        chains[name] = ex.sample_posterior(
            x, truth.candidates, likelihood, n, n // 10, rng, 0.3, step, start
        )
    return chains


def _langevin(model, options: dict) -> list:
    return [PersistentLangevin([model["weight"], model["bias"]], **options)]


def moments(chain: ex.Draws, edges: np.ndarray) -> list[np.ndarray]:
    """Mean and standard deviation of the weights of some edges."""
    return [chain.weight[:, edges].mean(axis=0), chain.weight[:, edges].std(axis=0)]


def plot_momentum(chains: dict[str, ex.Draws], edges: np.ndarray) -> Figure:
    """Autocorrelation, posterior mean and standard deviation by alpha: the paper's Figure 2."""
    figure = Figure(figsize=(9, 6), layout="constrained")
    (top, bottom) = figure.subplots(2, 2)
    colors = {"alpha = 0": "#D55E00", "alpha = 0.9": "#0072B2"}
    markers = {"alpha = 0": "v", "alpha = 0.9": "o"}
    for ax, e in zip(top, edges[[0, -1]], strict=True):
        for name, color in colors.items():
            series = chains[name].weight[:, e]
            n_lags = min(1000, len(series) // 2)
            dashes = "--" if name == "alpha = 0" else "-"
            ax.plot(autocorrelation(series, n_lags), dashes, color=color, label=name)
        ax.axhline(0, color="black", linewidth=0.6)
        label = chains["exact"].idata.posterior["edge"].values[e]
        ax.set(xlabel="lag", ylabel="autocorrelation", title=f"weight of edge {label}")
    top[0].legend()
    exact = moments(chains["exact"], edges)
    for i, (ax, title) in enumerate(zip(bottom, ("mean", "standard deviation"), strict=True)):
        for name, color in colors.items():
            values = moments(chains[name], edges)[i]
            ax.plot(exact[i], values, markers[name], markersize=5, color=color, alpha=0.7, label=name)
        ax.axline((exact[i].mean(),) * 2, slope=1, color="black", linewidth=0.8)
        ax.set(xlabel=f"posterior {title}, exact", ylabel="particles")
        ax.grid(alpha=0.25)
    return figure


def _edge_gibbs(model, n_particles: int) -> list:
    return [EdgeGibbs([model["weight"], model["bias"]], n_particles=n_particles)]


def strong_couplings(draws: int, rng) -> str:
    """How many particles strong couplings need, as Markdown."""
    truth = truths.strong_block_truth(rng)
    x = truth.sample(STRONG_N, rng)
    options = (x, truth.candidates)
    length = (draws, max(draws // 4, 10), rng, STRONG_P0)
    chains = {"exact": ex.sample_posterior(*options, "exact", 5 * draws, *length[1:])}
    for per_row in PER_ROW:
        step = partial(_edge_gibbs, n_particles=per_row * STRONG_N)
        name = f"{per_row * STRONG_N:,} particles"
        chains[name] = ex.sample_posterior(*options, "particles", *length, step)
    rows = []
    for name, chain in chains.items():
        counts = (chain.weight != 0).sum(axis=1).astype(float)
        difference = np.abs(chain.inclusion - chains["exact"].inclusion)
        noise = float(np.sqrt((chain.idata.sample_stats["edge_gibbs_noise"] ** 2).mean()))
        error = float(az.mcse(counts[None, :], method="mean"))
        cells = ["", ""] if name == "exact" else [f"{noise:.2f}", f"{difference.max():.3f}"]
        rows.append([name, *cells, f"{counts.mean():.2f} ± {error:.2f}", f"{chain.seconds:.1f}"])
    header = [
        "EdgeGibbs", "edge_gibbs_noise", "inclusion: largest difference", "edges present", "seconds",
    ]  # fmt: skip
    return (
        f"Strong couplings: three groups of four nodes, all couplings within a group 0.7 in the Ising "
        f"form, n = {STRONG_N}, p0 = {STRONG_P0:g}, {draws:,} draws, five times as many with the exact "
        f"likelihood:\n\n{table(header, rows)}"
    )


def report(
    chains: dict[str, ex.Draws],
    by_p: dict[float, dict[str, ex.Draws]],
    langevin: dict[str, ex.Draws],
    edges: np.ndarray,
    strong: str,
    seed: int,
) -> str:
    """Results as Markdown."""
    rows = []
    for p, named in {"learnt": chains, **by_p}.items():
        exact = summary(named[EXACT])
        for name, draws in named.items():
            found = summary(draws)
            common = (exact[0] > RARE) & (found[0] > RARE)
            difference = np.abs(found - exact)
            cells = [f"{difference[0].mean():.3f}", f"{difference[0].max():.3f}"]
            cells += [f"{difference[1:, common].mean(axis=1)[i]:.3f}" for i in (0, 1)]
            if name == EXACT:
                cells = ["", "", "", ""]
            density = f"{found[0].mean():.3f}"
            cells = [density, *cells, f"{halves(draws):.3f}", f"{len(draws.weight):,}"]
            rows.append([p, name, *cells, f"{draws.seconds:.1f}"])
    header = [
        "p0", "sampler", "density", "inclusion: mean abs. difference", "largest", "mean: difference",
        "sd: difference", "inclusion between halves of the chain", "draws", "seconds",
    ]  # fmt: skip
    exact = moments(langevin["exact"], edges)
    parts = []
    for name in ("alpha = 0", "alpha = 0.9"):
        chain = langevin[name]
        steps = np.median([_time(chain.weight[:, e]) for e in edges])
        mean, sd = (a - b for a, b in zip(moments(chain, edges), exact, strict=True))
        parts.append(
            f"{name}: median integrated autocorrelation time of the weights {steps:.0f} of "
            f"{len(chain.weight):,} steps, means off by {np.abs(mean).mean():.3f}, standard "
            f"deviations {sd.mean():+.3f}"
        )
    return "\n".join([
        f"Block model, n = {N}, one data set, seed {seed}; differences from {EXACT}, over 66 edges; of means "
        f"and standard deviations over the edges present in more than {RARE:.0%} of both samples. The last "
        "columns say how far the chain itself is from convergence, its length and its processor time. "
        f'"{PAPER}" and "{PAPER_EXACT}" are ReversibleJump with PersistentLangevin; "{PAPER}" has jumps of '
        f"width {WIDTH:g} / sqrt(N Var f), Langevin steps of {STEP:g} and {N_PARTICLES:,} particles.\n",
        "![Weights of four edges](../figures/chen_welling_2012_figure3.png)\n",
        f"Titles give P(present) in the order {'; '.join(chains)}.\n",
        "![Approximate against exact](../figures/chen_welling_2012_figure4.png)\n",
        table(header, rows),
        "A largest difference near 1 where the halves of the chain agree means that the chain has stayed "
        "in one of several modes.\n",
        strong,
        "![Partial momentum refreshment](../figures/chen_welling_2012_figure2.png)\n",
        "Langevin steps alone, true edges fixed, momentum drawn anew (alpha = 0) or mostly kept (0.9), "
        f"against exact gradients with acceptance, where standard deviations are "
        f"{exact[1].mean():.2f} on average; Langevin steps of {STEP:g} and {N_PARTICLES:,} particles, which "
        "follow kept momentum less well. "
        f"{'; '.join(parts)}.\n",
        f"{machine()}\n",
    ])  # fmt: skip


def _time(x: np.ndarray) -> float:
    """Integrated autocorrelation time, cut at five times itself (Sokal, 1997)."""
    times = 2.0 * np.cumsum(autocorrelation(x, len(x) // 2)) - 1.0
    cut = np.flatnonzero(np.arange(len(times)) >= 5.0 * times)
    return float(times[cut[0]] if len(cut) else times[-1])


def main(argv: list[str] | None = None) -> None:
    """Run the experiment."""
    parser = ex.parser(__doc__.splitlines()[0])
    arguments = ex.parse(parser, argv)
    draws = ex.check_draws(arguments.draws or ex.choose(arguments, 100, 1000, 10_000))
    start = time.perf_counter()
    rng = np.random.default_rng(arguments.seed)
    truth = truths.block_truth(rng)
    x = truth.sample(N, rng)

    def sample(p, names):
        return {
            name: ex.sample_posterior(x, truth.candidates, likelihood, n, max(n // 4, 10), rng, p, steps)
            for name, (likelihood, n, steps) in samplers(draws).items()
            if name in names
        }

    chains = sample(None, samplers(draws))
    by_p = {p: sample(p, (EXACT, PAPER, PARTICLES, PSEUDO)) for p in P0}
    langevin = momentum(x, truth, draws, rng)
    inclusion = chains[EXACT].inclusion
    # from rare to certain, at equal distances among the edges that are there often enough to be drawn
    order = np.argsort(inclusion)[np.sort(inclusion) > 2 * RARE]
    shown = order[np.linspace(0, len(order) - 1, N_SHOWN).astype(int)]
    true_edges = np.flatnonzero(truth.weight)
    save_figure(plot_momentum(langevin, true_edges), arguments.output, "chen_welling_2012_figure2.png")
    save_figure(plot_histograms(chains, shown), arguments.output, "chen_welling_2012_figure3.png")
    save_figure(plot_agreement(by_p), arguments.output, "chen_welling_2012_figure4.png")
    strong = strong_couplings(2 * draws, rng)
    text = report(chains, by_p, langevin, true_edges, strong, arguments.seed)
    write_fragment(text, arguments.output, "chen_welling_inference.md")
    print(f"Done in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
