"""Intervals of draws, and the table of statistics that has their ends."""

from typing import TYPE_CHECKING

import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS
from pymc_mrf.checks import number

if TYPE_CHECKING:
    import pandas as pd


def interval_probability(ci_prob: float | None) -> float:
    """Give the probability of intervals: ArviZ's default for None."""
    from arviz_base import rcParams

    ci_prob = rcParams["stats.ci_prob"] if ci_prob is None else ci_prob
    return number(ci_prob, "ci_prob", 0.0, 1.0)


def tails(ci_prob: float) -> list[float]:
    """Probabilities below the ends of an equal-tailed interval."""
    return [0.5 - 0.5 * ci_prob, 0.5 + 0.5 * ci_prob]


def summarise[Draws: (xr.DataArray, xr.Dataset)](draws: Draws, ci_prob: float) -> Draws:
    """Mean and ends of the equal-tailed interval over chains and draws: "mean", "low" and "high"."""
    ends = draws.quantile(tails(ci_prob), SAMPLE_DIMS).rename(quantile="quantity")
    mean = draws.mean(SAMPLE_DIMS).expand_dims(quantity=["mean"])
    return xr.concat([mean, ends.assign_coords(quantity=["low", "high"])], "quantity")


def statistics_of(values: xr.DataArray, ci_prob: float | None) -> "pd.DataFrame":
    """Statistics of `arviz.summary`, not rounded, a row for each entry of a variable."""
    import arviz as az

    return az.summary(values.to_dataset(), kind="stats", ci_prob=ci_prob, round_to="none")
