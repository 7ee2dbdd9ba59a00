"""Probabilities of edges from what their step told of every visit, in place of counts of draws.

At each visit `EdgeGibbs` knows the probability that an edge is present given all else, whose mean over the
chain is the probability of the edge (Rao & Blackwell; Gelfand & Smith, 1990). It is less variable than a
count, and tells of what no draw shows. Where the parameters of a group are a sum of several vectors, what
their steps tell of each together with the others is put together, by
`pymc_mrf.steps.edges.presence_record`.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import errors_of_means
from pymc_mrf.checks import warn_user

if TYPE_CHECKING:
    from pymc_mrf.steps.edges.presence_record import Batches

MANY_EDGES = 10_000
"""Edges from which on errors of those that are hardly ever or nearly always present are those of parts of
chains as if they were independent, each being of 40 draws or more: what ArviZ does for each takes minutes."""

DOUBTFUL = 0.01, 0.99  # probabilities of presence of other edges

FEWEST_TOLD = 30
"""Parts of chains that tell of a sum, below which how much they vary says nothing."""

LEAST_REST = 1e-3
"""Probability below which it is not read from that of the other state."""

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

ONE_SD = 0.841  # quantile of a normal variable, one standard deviation above its median
LEAST = 1e-300
LN10 = np.log(10.0)


class TermTold(NamedTuple):
    """What the step of a vector told of the edges of a sum, of which it is a term.

    Attributes
    ----------
    statistic : DataArray
        Of `sample_stats`.
    k : int
        Place of the sum among those of the vector, from 1; 0 if the vector is the whole sum.
    """

    statistic: xr.DataArray
    k: int


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


def terms_told(idata: xr.DataTree, var_name: str, group: str) -> list[TermTold]:
    """Find what steps told of the edges of a variable or, if it is the parameter of a group, of its terms.

    Nothing if they did not, or in another group of the results.
    """
    from pymc_mrf.distributions.group_weights import group_names, kept_contrasts
    from pymc_mrf.steps.edges.presence_record import STATISTIC

    own = _statistics(idata, group).get(STATISTIC.format(var_name))
    if own is not None:
        return [TermTold(own, 0)]
    for common, contrasts in kept_contrasts(idata).items():
        names = [f"{common}_{ending}" for ending in group_names(contrasts["group"].values.tolist())]
        if var_name in names:
            of_group = contrasts.values[names.index(var_name)]
            terms = (0, *(np.flatnonzero(of_group) + 1).tolist())
            return told_of_sum(idata, common, contrasts.values, terms, group)
    return []


def told_of_sum(
    idata: xr.DataTree, common: str, contrasts: np.ndarray, terms: tuple[int, ...], group: str
) -> list[TermTold]:
    """Find what the steps of some terms of `group_weights`, as of `sums_of_terms`, told of their sum."""
    from pymc_mrf.distributions.group_weights import sums_of_terms, term_names
    from pymc_mrf.steps.edges.presence_record import STATISTIC, n_sums

    sums, names = sums_of_terms(contrasts), term_names(common, contrasts)
    known = _statistics(idata, group)
    told = [STATISTIC.format(names[t]) for t in terms]
    if (len(terms) > 1 and terms not in sums) or not all(name in known for name in told):
        return []
    if len(terms) == 1:
        return [TermTold(known[told[0]], 0)]
    found = []
    for t, name in zip(terms, told, strict=True):
        of_term = [of_sum for of_sum in sums if t in of_sum]
        if n_sums(known[name].values) != len(of_term):  # it is a term of other sums as well
            return []
        found.append(TermTold(known[name], 1 + of_term.index(terms)))
    return found


def _statistics(idata: xr.DataTree, group: str) -> Mapping:
    """Give the statistics of steps, if they belong to a group of the results."""
    return idata["sample_stats"].data_vars if group == "posterior" and "sample_stats" in idata else {}


def told_presence(terms: Sequence[TermTold], values: xr.DataArray, n_present: np.ndarray) -> Told | None:
    """Read what `terms` tell of edges of which there are draws (chain, draw, r).

    `n_present` (r,): in how many of them each edge is.

    None if there is none, chains or draws are others, or too few draws are left to tell of every edge; a
    warning says so where draws were left out of one of the two, or as many would have been enough.
    """
    batches = _batches_of(terms, values)
    if not batches:
        return None
    n_of_parts = batches[0].n_draws
    present, absent = (_estimated(logs, n_of_parts) for logs in _of_sum(batches))
    if (present.log_mean == -np.inf).any():  # no visit to a hopeless edge was told
        return None
    r, n_draws = values.shape[-1], values.sizes["chain"] * values.sizes["draw"]
    of_presence = np.array([np.ones(r, bool), np.zeros(r, bool), n_present < n_draws / 2])
    tells_all = np.logical_and.reduce([of_term.tells_all for of_term in batches])
    # a visit that is hopeless leaves a draw without the edge
    is_whole = tells_all | (n_present == n_draws)
    # those of sums are told at different draws; what is told of rare edges is always better than a count
    counts = np.full(r, len(terms) > 1) | (~is_whole & (present.log_mean > np.log(0.5)))
    estimates = [present, absent, _counted(values, n_present, counts)]
    chosen = _surest(estimates, is_whole, counts), np.arange(r)
    log_mean, error, varies_little = (np.array(of)[chosen] for of in zip(*estimates, strict=True))
    is_rest = log_mean > np.log(0.5)
    rest = np.maximum(-np.expm1(log_mean), LEAST)
    log_smaller = np.where(is_rest, np.log(rest), log_mean)
    error = np.where(is_rest, error * np.exp(log_mean) / rest, error)
    is_likely = of_presence[chosen] == is_rest
    seen = np.where(is_likely, n_draws - n_present, n_present)
    is_known = (error <= MAX_ERROR) & ((seen >= SEEN) | (varies_little & ~is_rest))
    return Told(is_likely, log_smaller, error, is_known)


def _batches_of(terms: Sequence[TermTold], values: xr.DataArray) -> "list[Batches]":
    """Read what each of the terms tells in parts of the draws (chain, draw, r); nothing if one does not."""
    from pymc_mrf.steps.edges.presence_record import period_told, read_batches

    statistics = [term.statistic for term in terms]
    if any(not values[dim].equals(told[dim]) for dim in ("chain", "draw") for told in statistics):
        warn_user(
            f"{values.name}: what its step told of edges, in sample_stats, is of other draws: probabilities "
            "are shares of draws. Leave the same draws out of all groups, as idata.sel(draw=...) does"
        )
        return []
    r = values.shape[-1]
    read = [
        read_batches(term.statistic.transpose("chain", "draw", ...).values, r, term.k) for term in terms
    ]
    found = [of_term for of_term in read if of_term is not None]
    if len(found) == len(read):
        return found
    told = statistics[0]
    period = period_told(told.values)
    if int(told.notnull().any(told.dims[-1:]).sum("draw").min()) >= period > 1:
        warn_user(
            f"{values.name}: its step told of each edge in one draw of {period}, and of some edges no "
            "such draw is left: probabilities are shares of draws, as if nothing had been told. "
            f"Keep all draws, or every k-th, k and {period} having no common factor"
        )
    return []


class _Estimate(NamedTuple):
    """Logs (r,) of probabilities, their relative Monte-Carlo errors, and whether what tells varies little."""

    log_mean: np.ndarray
    error: np.ndarray
    varies_little: np.ndarray


def _surest(estimates: "Sequence[_Estimate]", is_whole: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Choose one of the estimates for each of r edges: of presence, of absence, and by draws.

    The smaller one of presence and absence, unless draws count as well, `counts` (r,): then that of the
    smallest error. Absence is not among them if not all visits that say much of it were told, `is_whole`
    (r,), but for want of another.
    """
    log_mean, error = (np.array(of) for of in list(zip(*estimates, strict=True))[:2])
    is_rated = (error > 0.0) & (log_mean < np.log1p(-LEAST_REST))
    is_rated[1] &= is_whole
    is_rated &= counts
    log_error = np.where(is_rated, log_mean + np.log(np.where(is_rated, error, 1.0)), np.inf)
    smaller = np.where(is_whole | (log_mean[0] >= 0.0), np.argmin(log_mean[:2], axis=0), 0)
    return np.where(is_rated.any(axis=0), np.argmin(log_error, axis=0), smaller)


def _estimated(logs: np.ndarray, n_draws: np.ndarray) -> _Estimate:
    """Average what parts of chains tell, which are of so many draws each, both (chain, part, r)."""
    n_chains, n_parts, r = logs.shape
    log_mean = _log_mean(logs, n_draws)
    is_told = log_mean > -np.inf
    relative = logs - np.where(is_told, log_mean, 0.0)
    error = np.full(r, np.nan)
    if np.count_nonzero(n_draws, axis=1).min() >= FEWEST_PARTS:
        # of a mean with weights, to first order
        parts = 1.0 + (np.exp(relative) - 1.0) * (n_draws / n_draws.mean(axis=(0, 1)))
        error = parts.std(axis=(0, 1), ddof=1) / np.sqrt(n_chains * n_parts)
        least, most = np.log(DOUBTFUL)
        is_rated = (r < MANY_EDGES) | ((least < log_mean) & (log_mean < most))
        error[is_rated] = errors_of_means(parts[..., is_rated])
    error[~is_told] = np.nan  # as of terms that are never zero together
    n_told = np.count_nonzero(logs > -np.inf, axis=(0, 1))[is_told]
    n_all = np.count_nonzero(n_draws, axis=(0, 1))[is_told]
    of_told = np.where(relative == -np.inf, np.nan, relative)[..., is_told]
    typical = np.nanmedian(of_told, axis=(0, 1))
    # of a lognormal variable the log of the mean is above the median by half the variance of the logs
    variance = -2.0 * (typical + np.log(n_told / n_all))
    in_part = n_told < n_all  # of whose mean less is known
    high = np.nanquantile(of_told[..., in_part], ONE_SD, axis=(0, 1))
    variance[in_part] = np.maximum(variance[in_part], (high - typical[in_part]) ** 2)
    varies_little = np.zeros(r, dtype=bool)
    varies_little[is_told] = (variance < np.log(n_told)) & (~in_part | (n_told >= FEWEST_TOLD))
    return _Estimate(log_mean, error, varies_little)


def _counted(values: xr.DataArray, n_present: np.ndarray, counts: np.ndarray) -> _Estimate:
    """Count the draws (chain, draw, r) of the rarer state of each edge; errors are those of `counts` (r,)."""
    n_draws = values.sizes["chain"] * values.sizes["draw"]
    rarer = np.minimum(n_present, n_draws - n_present) / n_draws
    error = np.full(len(rarer), np.nan)
    if values.sizes["draw"] >= FEWEST_PARTS and counts.any():
        own = values.isel({values.dims[-1]: np.flatnonzero(counts)}).values
        error[counts] = errors_of_means((own != 0.0).astype(np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        return _Estimate(np.log(rarer), np.where(rarer > 0.0, error / rarer, np.nan), rarer < 0.0)


def _log_mean(logs: np.ndarray, n_draws: np.ndarray) -> np.ndarray:
    """Average what logs of parts, of so many draws each, both (chain, part, r), stand for; the logs (r,)."""
    most = logs.max(axis=(0, 1))
    least = np.where(most == -np.inf, 0.0, most)
    with np.errstate(divide="ignore"):
        total = (n_draws * np.exp(logs - least)).sum(axis=(0, 1))
        return least + np.log(total / n_draws.sum(axis=(0, 1)))


def _of_sum(batches: Sequence["Batches"]) -> tuple[np.ndarray, np.ndarray]:
    """Put together what the steps of all terms tell of presence and absence, (chain, part, r).

    Each step tells of absence where the others are zero: the more of its parts do, the more it counts.
    """
    present = [of_term.log_present for of_term in batches]
    absent = np.array([of_term.log_absent for of_term in batches])
    if len(batches) == 1:
        return present[0], absent[0]
    n_told = np.count_nonzero(absent > -np.inf, axis=(1, 2))
    with np.errstate(divide="ignore"):
        log_weights = np.log(n_told / np.maximum(n_told.sum(axis=0), 1))
    return np.logaddexp.reduce(present), np.logaddexp.reduce(absent + log_weights[:, None, None, :])


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
