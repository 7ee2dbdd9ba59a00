"""What a step declares about its statistics: names, labels, and the range of each in a healthy chain.

PyMC stores them, `pymc_mrf.diagnose` judges them and `pymc_mrf.plot_diagnostics` draws them, by these
declarations alone.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.likelihood.monte_carlo.checks import COMPARE, EDGE_NOISE, FARTHEST, LEAST_SHARE

INF = float("inf")

Beside = Callable[[str], np.ndarray]
"""Draws (chain, draw) of another statistic of the same step."""

Bound = float | Callable[[Beside], np.ndarray]


class Healthy(NamedTuple):
    """Range of a statistic in a healthy chain; where the step warns too, the range of its warning.

    Attributes
    ----------
    remedy : str
        What helps where the statistic is out of its range.
    low, high : float or callable
        The range; a callable gives the ends for every chain (chain,) from other statistics of the step.
    reduce : {"mean", "rms", "min", "max"}
        How the draws of a chain become one number; the worst chain counts. Squares keep their signs.
    given : tuple of str
        Other statistics of the step. Nothing is judged without them, nor in draws where one is NaN.
    least_draws : int
        Number of draws below which nothing is judged.
    no_evidence : float, optional
        Value that says nothing where all draws have it.
    """

    remedy: str
    low: Bound = -INF
    high: Bound = INF
    reduce: str = "mean"
    given: tuple[str, ...] = ()
    least_draws: int = 1
    no_evidence: float | None = None


class Statistic(NamedTuple):
    """A number, or a word, that a step leaves in the results for every draw.

    Attributes
    ----------
    name : str
        Without the prefix of the step.
    label : str
        The name in plain English.
    healthy : Healthy, optional
        None if nothing can be said for or against a chain by this statistic alone.
    dtype : type
    shown : {"always", "if it varies", "never"}
        Whether `plot_diagnostics` draws it.
    should_vary : bool
        Whether `diagnose` names a chain in which it never changes.
    estimated : str
        Another statistic of the step that is 0 throughout if nothing was estimated; this one then means
        nothing and is left out.
    column : str
        Heading of its column in the progress bar, if it has one.
    """

    name: str
    label: str
    healthy: Healthy | None = None
    dtype: Any = np.float64
    shown: str = "if it varies"
    should_vary: bool = False
    estimated: str = ""
    column: str = ""


Statistics = tuple[Statistic, ...]


class Declared(NamedTuple):
    """A statistic and the step that declares it.

    Attributes
    ----------
    title : str
        What users know the step by.
    prefix : str
        Of the names of the step's statistics in the results.
    statistic : Statistic
    """

    title: str
    prefix: str
    statistic: Statistic


def acceptance(remedy: str, low: float, high: float = INF) -> Healthy:
    """Range of an acceptance, which says nothing if it is 1 in all draws: nothing was there to be refused."""
    return Healthy(remedy, low, high, no_evidence=1.0)


def summaries(reduce: str, draws: np.ndarray) -> np.ndarray:
    """One number (chain,) for the draws (chain, draw) of each chain; `reduce` as in `Healthy`."""
    if reduce == "min":
        return np.nanmin(draws, axis=1)
    if reduce == "max":
        return np.nanmax(draws, axis=1)
    if reduce == "rms":
        return np.sqrt(np.maximum(np.nanmean(draws * np.abs(draws), axis=1), 0.0))
    return np.nanmean(draws, axis=1)


def sample_statistics(more: str, nearer: str) -> tuple[Statistic, ...]:
    """Declare what steps tell of an estimated likelihood, with remedies for noise and for few points."""
    return (
        Statistic(
            "noise",
            "noise of the log ratio",
            Healthy(more, high=EDGE_NOISE, reduce="rms"),
            estimated="noise",
        ),
        Statistic(
            "ess",
            "effective share of the sample",
            Healthy(nearer, low=LEAST_SHARE, reduce="min"),
            estimated="noise",
        ),
        Statistic("error", "error of the log-likelihood", estimated="noise"),
        Statistic(
            "distance",
            "distance from the reference",
            Healthy(COMPARE, high=FARTHEST, reduce="rms"),
            estimated="noise",
        ),
    )
