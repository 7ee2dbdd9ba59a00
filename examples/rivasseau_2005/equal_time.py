"""Shared by the comparisons of Rivasseau (2005), ch. 6: samplers run by the clock, plots of errors."""

import time
from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes

# Okabe & Ito's colours, distinguishable by the colour-blind
LOOKS = {
    "tree": ("tree sampling", "#0072B2"),
    "gibbs": ("Gibbs, counts", "#D55E00"),
    "gibbs_rb": ("Gibbs, Rao-Blackwellised", "#E69F00"),
    "bp": ("loopy BP", "#009E73"),
    "bp_damped": ("loopy BP, damped", "#CC79A7"),
    "bp_parallel": ("loopy BP, all messages at once", "#56B4E9"),
}

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
