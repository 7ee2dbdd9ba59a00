"""Probabilities of edges from what their step told of every visit, in place of counts of draws.

At each visit `EdgeGibbs` knows the probability that an edge is present given all else, whose mean over the
chain is the probability of the edge (Rao & Blackwell; Gelfand & Smith, 1990). It is less variable than a
count, and tells of what no draw shows.
"""

from typing import NamedTuple

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import errors_of_means
from pymc_mrf.checks import warn_user

MANY_EDGES = 10_000
"""Edges from which on errors are those of parts of chains as if they were independent, each being of 40 draws
or more: what ArviZ does for each edge takes minutes."""

FEWEST_PARTS = 4  # of each chain, below which there is no Monte-Carlo error
MAX_ERROR = 0.5
"""Largest standard error of the smaller of both probabilities, relative to it, with which it is taken for
known."""

SEEN = 10
"""Draws of the less probable state that make its probability known; of fewer it has to vary little, too. The
logs of the probabilities in the draws are about normal, and if their variance is above the log of the number
of draws, their mean is carried by values that no draw has. On four binary nodes with known biases (200 to 600
rows, log odds of 3 to 59, 4,000 draws) it was off by .15 at most below that, and by up to 12, mostly too
large, above; the errors from the draws were below 1 in both cases."""

UNLIKELY = 1e-3  # probability, over all edges, with which chains that have mixed are warned of
DISAGREEMENT = 0.02  # of both estimates, below which nobody is warned

LN10 = np.log(10.0)


class Told(NamedTuple):
    """Probability that each of r edges is present, by what its step told.

    Attributes
    ----------
    is_likely : (r,) bool array
        Whether it is above one half; then the other figures are those of its absence.
    log_smaller, error : (r,) arrays
        Log of the smaller one of the probabilities of presence and absence; its Monte-Carlo error, relative
        to it.
    is_known : (r,) bool array
        Whether its order of magnitude is.
    """

    is_likely: np.ndarray
    log_smaller: np.ndarray
    error: np.ndarray
    is_known: np.ndarray

    @property
    def inclusion(self) -> np.ndarray:
        smaller = np.exp(self.log_smaller)
        return np.where(self.is_likely, 1.0 - smaller, smaller)

    @property
    def inclusion_mcse(self) -> np.ndarray:
        """Their Monte-Carlo errors."""
        return self.error * np.exp(self.log_smaller)

    @property
    def log_odds(self) -> np.ndarray:
        odds = self.log_smaller - np.log(-np.expm1(self.log_smaller))
        return np.where(self.is_likely, -odds, odds)

    @property
    def log_odds_error(self) -> np.ndarray:
        """Monte-Carlo errors of `log_odds`, to first order; NaN where these are not known."""
        return np.where(self.is_known, self.error / -np.expm1(self.log_smaller), np.nan)


def told_presence(told: xr.DataArray | None, values: xr.DataArray, n_present: np.ndarray) -> Told | None:
    """Read the statistic `told` of `sample_stats` that belongs to draws (chain, draw, r) of edges.

    `n_present` (r,): in how many of them each edge is.

    None if there is none, chains or draws are others, or too few draws are left to tell of every edge; a
    warning says so where draws were left out of one of the two, or as many would have been enough.
    """
    from pymc_mrf.steps.edges.presence_record import period_of, read_batches

    if told is None:
        return None
    if any(not values[dim].equals(told[dim]) for dim in ("chain", "draw")):
        warn_user(
            f"{values.name}: what its step told of edges, in sample_stats, is of other draws: probabilities "
            "are shares of draws. Leave the same draws out of all groups, as idata.sel(draw=...) does"
        )
        return None
    batches = read_batches(told.transpose("chain", "draw", ...).values, values.shape[-1])
    if batches is None:
        period = period_of(values.shape[-1])
        if int(told.notnull().any(told.dims[-1:]).sum("draw").min()) >= period > 1:
            warn_user(
                f"{values.name}: its step told of each edge in one draw of {period}, and of some edges no "
                "such draw is left: probabilities are shares of draws, as if nothing had been told. "
                f"Keep all draws, or every k-th, k and {period} having no common factor"
            )
        return None
    n_chains, n_parts, r = batches.log_present.shape
    top = [logs.max(axis=(0, 1)) for logs in batches]
    if any((of_edges == -np.inf).any() for of_edges in top):  # no visit to a hopeless edge was told
        return None
    present, absent = (
        most + np.log(np.exp(logs - most).mean(axis=(0, 1)))
        for logs, most in zip(batches, top, strict=True)
    )
    is_likely = present > absent
    log_smaller = np.where(is_likely, absent, present)
    logs = np.where(is_likely, batches.log_absent, batches.log_present)
    logs -= log_smaller
    error = np.full(r, np.nan)
    if n_parts >= FEWEST_PARTS:
        parts = np.exp(logs)
        if r < MANY_EDGES:
            error = errors_of_means(parts)
        else:
            error = parts.std(axis=(0, 1), ddof=1) / np.sqrt(n_chains * n_parts)
    typical = np.nanmedian(np.where(logs == -np.inf, np.nan, logs), axis=(0, 1))  # of those told
    n_draws = values.sizes["chain"] * values.sizes["draw"]
    seen = np.where(is_likely, n_draws - n_present, n_present)
    # of a lognormal variable the log of the mean is above the median by half the variance of the logs
    varies_little = -2.0 * typical < np.log(n_chains * n_parts)
    is_known = (error <= MAX_ERROR) & ((seen >= SEEN) | varies_little)
    return Told(is_likely, log_smaller, error, is_known)


def warn_of_disagreement(
    told: Told, values: xr.DataArray, of_chains: np.ndarray, n_effective: float
) -> None:
    """Say that chains have not mixed where draws are at odds with what their steps told of them.

    `values` (chain, draw, r); `of_chains` (chain, r) are shares of draws with each edge; `n_effective` is the
    number of independent draws that they are worth, about.
    """
    from scipy.stats import norm

    counted, p = of_chains.mean(axis=0), told.inclusion
    # of a probability that no draw shows the draws have no error of their own
    expected = np.sqrt(p * (1.0 - p) / n_effective)
    gap = np.abs(counted - p)
    limit = norm.isf(0.5 * UNLIKELY / len(p))
    at_odds = (gap > DISAGREEMENT) & (gap > limit * np.hypot(expected, told.inclusion_mcse))
    apart = np.flatnonzero(at_odds)
    included = (values.isel({values.dims[-1]: apart}).values != 0.0).astype(np.float64)
    at_odds[apart] = gap[apart] > limit * np.hypot(errors_of_means(included), told.inclusion_mcse[apart])
    stuck = (of_chains == 1.0).any(axis=0) & (of_chains == 0.0).any(axis=0)
    names, name = values[values.dims[-1]].values, values.name
    if at_odds.any():
        e = int(np.argmax(np.where(at_odds, gap, 0.0)))
        warn_user(
            f"{name}: the share of draws with an edge and the mean probability of the edge given all else "
            f"differ by more than their errors for {int(at_odds.sum())} of {len(p)} edges, most of all for "
            f"{names[e]}, {counted[e]:.3g} and {p[e]:.3g}: the chains have not mixed. Sample longer"
        )
    if stuck.any():
        e = int(np.argmax(stuck))
        warn_user(
            f"{name}: {int(stuck.sum())} of {len(p)} edges, such as {names[e]}, are in all draws of one "
            "chain and in none of another, which never switched: neither probabilities nor Bayes factors of "
            "these edges are known. Sample longer"
        )
