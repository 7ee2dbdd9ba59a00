"""Shared by the comparisons of Rivasseau (2005), ch. 6: samplers run by the clock, tables, plots."""

import time
from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from examples._report import table

# Okabe & Ito's colours, distinguishable by the colour-blind
LOOKS = {
    "tree": ("tree sampling", "#0072B2"),
    "gibbs": ("Gibbs, counts", "#D55E00"),
    "gibbs_rb": ("Gibbs, Rao-Blackwellised", "#E69F00"),
    "bp": ("loopy BP", "#009E73"),
    "bp_damped": ("loopy BP, damped", "#CC79A7"),
    "bp_parallel": ("loopy BP, all messages at once", "#56B4E9"),
}

CONVERGED = {
    "bp": "BP converged",
    "bp_damped": "damped BP converged",
    "bp_parallel": "BP converged, all messages at once",
}
DAMPING = {"bp": 0.0, "bp_damped": 0.5}
SAMPLERS = ("gibbs", "gibbs_rb", "tree")
N_TIMES = 6
FLOOR = 1e-6
"""Smallest error that is drawn."""

Advance = Callable[[int, np.ndarray], None]
"""Move all chains by a number of sweeps and add the estimates of every chain to the sums given."""


def distance(p: np.ndarray, q: np.ndarray) -> float:
    """Mean over nodes of the total variation distance of two sets of marginals (d, K)."""
    return float(0.5 * np.abs(p - q).sum(axis=1).mean())


def checkpoints(budget: float, n: int) -> np.ndarray:
    """`n` times, each twice the one before, the last is `budget`."""
    return budget * 2.0 ** np.arange(1 - n, 1)


def run(advance: Advance, shape: tuple[int, ...], times: np.ndarray) -> tuple[list[np.ndarray], int]:
    """Run until the given CPU times; averages over sweeps at each, and the number of all sweeps.

    Each average is over the sweeps since the time before only: for times that double, over the second
    half of the run so far, which leaves out the start of the chains.
    """
    means, n_all, elapsed = [], 0, 0.0
    n = 1  # sweeps at once: about a twentieth of the time left, so that reading the estimates costs little
    for moment in times:
        total, n_sweeps = np.zeros(shape), 0
        while elapsed < moment or n_sweeps == 0:
            start = time.process_time()
            advance(n, total)
            spent = time.process_time() - start
            elapsed += spent
            n_sweeps += n
            if spent < (moment - elapsed) / 20:
                n *= 2
            elif n > 1 and spent > (moment - elapsed) / 10:
                n //= 2
        means.append(total / n_sweeps)
        n_all += n_sweeps
    return means, n_all


class Results:
    """Errors of the runs of one experiment, which has a figure of the thesis and a title.

    Parameters
    ----------
    experiment : NamedTuple
    propagation : sequence of str
        Kinds of belief propagation that are compared with the samplers.
    """

    def __init__(self, experiment, propagation) -> None:
        self.experiment = experiment
        self.errors: dict[str, list] = {name: [] for name in (*propagation, *SAMPLERS)}
        self.converged: dict[str, list[bool]] = {name: [] for name in propagation}
        self.seconds: dict[str, list[float]] = {name: [] for name in propagation}
        self.sweeps: dict[str, list[int]] = {name: [] for name in SAMPLERS}

    @property
    def title(self) -> str:
        """What tells the experiment from others."""
        return self.experiment.title

    def final(self, name: str) -> np.ndarray:
        """Errors of a method at its end, one per run."""
        return np.array([np.ravel(error)[-1] for error in self.errors[name]])

    def below(self, name: str, other: str) -> str:
        """In how many runs one method ends with a smaller error than another."""
        return of((self.final(name) < self.final(other)).tolist())

    def others(self) -> dict[str, str]:
        """Further columns of the table of who wins."""
        return {}


def of(outcomes: list[bool]) -> str:
    """Count how many are true."""
    return f"{sum(outcomes)} of {len(outcomes)}"


def tables(all_results: list[Results]) -> str:
    """Errors at the end, and who wins."""
    errors, wins = [], []
    for results in all_results:
        label = f"{results.experiment.figure}, {results.title}"
        errors.append([label, *(median_range(results.final(name)) for name in results.errors)])
        wins.append(
            {
                "figure": label,
                "tree below Gibbs, counts": results.below("tree", "gibbs"),
                "tree below Gibbs, Rao-Bl.": results.below("tree", "gibbs_rb"),
                "tree below BP": results.below("tree", "bp"),
                **{CONVERGED[name]: of(outcomes) for name, outcomes in results.converged.items()},
                "ms of BP": f"{1000 * np.median(results.seconds['bp']):.2g}",
                "sweeps, Gibbs / Rao-Bl. / tree": " / ".join(
                    f"{np.median(results.sweeps[name]):.0f}" for name in SAMPLERS
                ),
                **results.others(),
            }
        )
    header = ["figure", *(LOOKS[name][0] for name in all_results[0].errors)]
    return table(header, errors) + "\n" + table(list(wins[0]), [list(row.values()) for row in wins])


def draw_figure(all_results: list[Results], times: list[np.ndarray], ending: tuple[str, ...]) -> Figure:
    """One row per figure of the thesis: samplers by time, beside them methods that end by themselves."""
    figure = Figure(figsize=(8.5, 3.1 * len(all_results)), layout="constrained")
    axes = figure.subplots(len(all_results), 2, width_ratios=[5, 1], sharey="row", squeeze=False)
    for (left, right), results, at in zip(axes, all_results, times, strict=True):
        box_plots(left, at, {name: np.maximum(results.errors[name], FLOOR) for name in SAMPLERS})
        final_boxes(right, {name: np.maximum(results.final(name), FLOOR) for name in ending})
        left.set_title(f"Figure {results.experiment.figure}: {results.title}", fontsize=10)
        left.set_ylabel("error of the marginals")
        right.set_title("at its end", fontsize=9)
    handles = [h for ax in axes[0] for h in ax.get_legend_handles_labels()[0]]
    labels = [LOOKS[name][0] for name in (*SAMPLERS, *ending)]
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize=8)
    return figure


def box_plots(ax: Axes, times: np.ndarray, errors: dict[str, np.ndarray]) -> None:
    """Errors (runs, times) of several methods side by side at each time, both axes logarithmic."""
    names = list(errors)
    for k, name in enumerate(names):
        label, color = LOOKS[name]
        centre = times * 2.0 ** (0.8 * ((k + 0.5) / len(names) - 0.5))
        widths = centre * 0.5 / len(names)
        boxes = ax.boxplot(errors[name], positions=centre, widths=widths, **_style(color))
        boxes["boxes"][0].set_label(label)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_xticks(times, [f"{1000 * t:.3g}" for t in times])
    ax.set_xlabel("CPU time, ms")
    ax.grid(axis="y", alpha=0.25)


def median_range(values) -> str:
    """Median (least to greatest)."""
    return f"{np.median(values):.2g} ({np.min(values):.2g} to {np.max(values):.2g})"


def final_boxes(ax: Axes, errors: dict[str, np.ndarray]) -> None:
    """Box plots of methods that end by themselves, beside those of `box_plots`."""
    for k, (name, values) in enumerate(errors.items()):
        label, color = LOOKS[name]
        boxes = ax.boxplot(values, positions=[k], widths=0.5, **_style(color))
        boxes["boxes"][0].set_label(label)
    ax.set_xticks([])
    ax.set_xlim(-0.6, len(errors) - 0.4)
    ax.grid(axis="y", alpha=0.25)


def _style(color: str) -> dict:
    return {
        "patch_artist": True,
        "manage_ticks": False,
        "flierprops": {"marker": ".", "markersize": 4, "markeredgecolor": color},
        "medianprops": {"color": "black"},
        "whiskerprops": {"color": color},
        "capprops": {"color": color},
        "boxprops": {"facecolor": color, "edgecolor": color},
    }
