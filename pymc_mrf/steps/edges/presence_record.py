"""Probabilities of presence that a chain adds up, and the statistic by which they reach its results.

PyMC keeps a number, or a vector of one length, for every draw and step. Probabilities of all edges in all
draws would take more room than the draws themselves, so that sums over a number of draws, the period, are
kept: edge e tells its own at draws e, e + period, e + 2 period, ..., and of each draw there is a vector of
r / period sums, in single precision: they are logs, whose Monte-Carlo errors are larger by far. Of a
hopeless edge nothing is known but at these draws, which then stand for the others since. It says itself of
which edges they are, and of how many draws, so that draws may be left out or put together.

The parameters of a group may be a sum of several vectors, each moved by a step of its own: an edge is absent
where all are zero. Each step then tells, for each such sum, of its own vector together with the others, whose
entries stand still in its sweeps. With p and q the probabilities of presence and absence of its own entry
given all else, and n others that are not zero, it adds up p / (n + 1) and, where n = 0, q. The mean of q
where n = 0 is the probability of absence of the edge, whichever step tells it; that of presence is the sum
over the steps of the means of p / (n + 1), as each of the n + 1 present entries counts 1 / (n + 1).
"""

import copy
from typing import Any, NamedTuple

import numpy as np
import pymc as pm

from pymc_mrf.distributions.arguments import value_of
from pymc_mrf.distributions.chain_record import Remembering
from pymc_mrf.distributions.group_weights import CONTRASTS, commons_of, sums_of_terms, term_names
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlabRV
from pymc_mrf.kernels.edges.edge_moves import Presence

STATISTIC = "edge_gibbs_presence_{}"
"""Name of the statistic of a variable."""

HOPELESS = 16
"""Absent, hopeless edges that are told of in a sweep, as long as the period is not too long. Telling of one
takes several times as long as finding out that it is hopeless."""

LONGEST_PERIOD = 40
"""In draws: parts of 1,000 draws are to be many enough for a Monte-Carlo error."""

MANY_HOPELESS = 1000
"""Of more than these in a sweep the period is longer, up to `PERIOD_OF_MANY`: 4 parts of 1,000 draws."""

PERIOD_OF_MANY = 250

N_FIRST = 5
"""Entries of the statistic that say of what it is: the period, the first edge, and the numbers of sums, of
draws that are added up, and of all edges."""


ROUNDING = 1e-6
"""By how much probabilities of presence and absence, told in single precision, are off one together if every
visit was told."""


def period_of(n_edges: int, n_sums: int = 0) -> int:
    """Return the number of draws over which probabilities of presence are added up.

    `n_sums` are those that all terms together have: what is told of them has no more room than of edges.
    """
    period = min(-(-n_edges * (1 + n_sums) // HOPELESS), LONGEST_PERIOD)
    return max(period, min(n_edges // MANY_HOPELESS, PERIOD_OF_MANY), 1)


class PresenceRecord(Remembering):
    """Sums, over draws after tuning, of the probability of presence of every edge given all else.

    Parameters
    ----------
    n_edges : int
    n_sums : int
        Sums of which the vector is a term.
    period : int, optional
        Draws over which they are added up, as of `period_of`.

    Attributes
    ----------
    rng : numpy.random.Generator
        Of its own, so that the draws of the chain are those without it.
    sums : (1 + n_sums, 2, r) array
        Logs, of presence and of absence, since they were last told: of the vector, and as a term of sums.
    n_draws : int
        Draws so far.
    """

    remembers = ("rng", "sums", "n_draws")

    def __init__(self, n_edges: int, n_sums: int = 0, period: int | None = None) -> None:
        self.rng = np.random.default_rng(0)
        self.sums = np.full((1 + n_sums, 2, n_edges), -np.inf)
        self._of_draw = np.empty((2, n_edges))
        self.n_draws = 0
        self._period = period_of(n_edges) if period is None else period
        self._untold = np.full(self.size, np.nan, dtype=np.float32)

    @property
    def size(self) -> int:
        n_told, _, n_edges = self.sums.shape
        return N_FIRST + 2 * n_told * -(-n_edges // self._period)

    def view(self, rng: np.random.Generator) -> Presence:
        """Return what a sweep adds to; before the first draw, random numbers follow from those of `rng`."""
        if self.n_draws == 0:
            self.rng = np.random.default_rng(copy.deepcopy(rng).integers(2**63, size=4))
        period = self._period
        turn, weight = self.n_draws % period, min(self.n_draws + 1, period)
        self._of_draw[:] = -np.inf
        # where there is nothing else to add to, the sums themselves
        present, absent = self._of_draw if len(self.sums) > 1 else self.sums[0]
        return Presence(present, absent, period, turn, float(weight), 1.0)

    def untold(self) -> np.ndarray:
        """Return the statistic of a draw that is not told, in tuning; NaN."""
        return self._untold

    def tell(self, n_visits: int, n_others: np.ndarray | None = None) -> np.ndarray:
        """Return the statistic of this draw, in which every edge was visited so often.

        `n_others` (n_sums, r): of the other terms of each sum, how many are not zero.

        Its first entries are those of `N_FIRST`. Then there are the logs of the mean probabilities of
        presence since the last time, of this edge and of every other one that is a multiple of the period
        after it; then those of absence; then both as a term of each sum. NaN where there is no such edge.
        """
        period = self._period
        first = self.n_draws % period
        self.n_draws += 1
        if n_others is not None:
            self._add(n_others)
        told = self.sums[..., first::period]
        found = np.full_like(self._untold, np.nan)
        n_added = min(self.n_draws, period)
        found[:N_FIRST] = period, first, len(self.sums) - 1, n_added, self.sums.shape[-1]
        found[N_FIRST:].reshape(*self.sums.shape[:2], -1)[..., : told.shape[-1]] = told - np.log(
            n_visits * n_added
        )
        told[:] = -np.inf
        return found

    def _add(self, n_others: np.ndarray) -> None:
        """Add what this draw has told to all sums."""
        present, absent = self._of_draw
        np.logaddexp(self.sums[0], self._of_draw, out=self.sums[0])
        for (of_presence, of_absence), n in zip(self.sums[1:], n_others, strict=True):
            np.logaddexp(of_presence, present - np.log(n + 1.0), out=of_presence)
            np.logaddexp(of_absence, absent, out=of_absence, where=n == 0)


class Batches(NamedTuple):
    """Mean probabilities of presence and absence in parts of chains.

    Attributes
    ----------
    log_present, log_absent : (chain, batch, r) arrays
        -inf if no visit was told.
    n_draws : (chain, batch, r) array
        Draws of each part: fewer of the first one of a chain. 0 if an edge has fewer parts than others, whose
        last ones are void then.
    tells_all : (r,) bool array
        Whether all visits to an edge of the vector itself were told. Else it was absent and hopeless in some,
        of which what is told stands for others: they say nearly nothing of presence, and nearly all there is
        of the absence of an edge that is present most of the time, by how many of them happen to be told.
    """

    log_present: np.ndarray
    log_absent: np.ndarray
    n_draws: np.ndarray
    tells_all: np.ndarray


class OtherTerms:
    """Terms of the same sums as a vector, of the parameters that `group_weights` gives groups.

    Parameters
    ----------
    rv : variable
        A `SpikeAndSlab`.
    model : pymc.Model

    Attributes
    ----------
    n_sums : int
        Sums of which the vector is a term, those of `sums_of_terms` in their order; none if it is a term of
        those of several calls.
    """

    def __init__(self, rv: Any, model: pm.Model) -> None:
        self._own, self._heads = rv.name, rv.owner.op.heads
        self._names, self._is_in, self._n_all = _other_terms(rv.name, model)
        self._sparse = {v.name for v in model.free_RVs if isinstance(v.owner.op, SpikeAndSlabRV)}
        self.n_sums = len(self._is_in)

    def record(self, n_edges: int) -> PresenceRecord:
        """Return the empty record of the vector, of which terms of the same sums tell at the same draws."""
        return PresenceRecord(n_edges, self.n_sums, period_of(n_edges, self._n_all))

    def n_present(self, point: dict[str, np.ndarray]) -> np.ndarray | None:
        """Return how many others of each sum are not zero, (n_sums, r); None if there is no sum.

        What is no `SpikeAndSlab` is never zero.
        """
        if not self.n_sums:
            return None
        present = np.ones((len(self._names), len(point[self._own][self._heads])))
        for row, name in zip(present, self._names, strict=True):
            if name in self._sparse:
                row[:] = point[name][self._heads] != 0.0
        return self._is_in @ present


def _other_terms(name: str, model: pm.Model) -> tuple[list[str], np.ndarray, int]:
    """Other terms of the sums of which a vector is one, and which of them are in each, (n_sums, n_terms).

    Also the number of sums of all terms.
    """
    found = []
    for common in commons_of(model.named_vars_to_dims):
        contrasts = value_of(model[f"{common}{CONTRASTS}"])
        names = term_names(common, contrasts)
        if name in names:
            found.append((names, sums_of_terms(contrasts)))
    if len(found) != 1:  # of several: sums of which are terms of further sums
        return [], np.zeros((0, 0)), 0
    [(names, sums)] = found
    own = names.index(name)
    others = [j for j in range(len(names)) if j != own]
    is_in = [[float(j in of_sum) for j in others] for of_sum in sums if own in of_sum]
    return [names[j] for j in others], np.array(is_in), len(sums)


def period_told(told: np.ndarray) -> int:
    """Read the period of draws (chain, draw, k) of the statistic; 0 if none is told."""
    return _first_told(told[..., 0])


def n_sums(told: np.ndarray) -> int:
    """Read of how many sums draws (chain, draw, k) of the statistic tell."""
    return _first_told(told[..., 2])


def _first_told(entries: np.ndarray) -> int:
    return int(next(iter(entries[~np.isnan(entries)]), 0))


def read_batches(told: np.ndarray, n_edges: int, k: int = 0) -> Batches | None:
    """Put what draws (chain, draw, k) of the statistic tell in order; None if an edge is not in every chain.

    Of the vector itself if `k` is 0, else as a term of the k-th of its sums.

    Raises
    ------
    ValueError
        If it is that of other edges.
    """
    period, n_told = period_told(told), 1 + n_sums(told)
    if not period:
        return None
    n_slots, is_told = -(-n_edges // period), ~np.isnan(told[..., 0])
    fits = told.shape[-1] == N_FIRST + 2 * n_slots * n_told
    if not fits or (told[..., [0, 4]][is_told] != (period, n_edges)).any():
        raise ValueError(
            f"{told.shape[-1]} entries of the statistic {STATISTIC.format('...')} are not those of {n_edges} "
            "edges: it is of other edges, or of another version of this package. Without it, as by "
            "idata.sample_stats.drop_vars, probabilities are shares of draws"
        )
    logs = told[..., N_FIRST:].reshape(*told.shape[:2], n_told, 2, n_slots)
    is_whole = np.abs(np.exp(logs[:, :, 0]).sum(axis=2) - 1.0) < ROUNDING
    firsts = range(min(period, n_edges))
    places = [[np.flatnonzero(of_chain[:, 1] == first) for first in firsts] for of_chain in told]
    n_parts = [len(own) for of_chain in places for own in of_chain]
    if not min(n_parts):
        return None
    shape = len(told), max(n_parts), n_edges
    found, n_draws = np.full((2, *shape), -np.inf), np.zeros(shape, dtype=np.float32)
    tells_all = np.ones(n_edges, dtype=bool)
    for chain, of_chain in enumerate(places):
        for first, own in enumerate(of_chain):
            into = found[:, chain, : len(own), first::period]
            n_own = into.shape[-1]
            into[:] = logs[chain, own, k, :, :n_own].transpose(1, 0, 2)
            n_draws[chain, : len(own), first::period] = told[chain, own, 3, None]
            tells_all[first::period] &= is_whole[chain, own, :n_own].all(axis=0)
    return Batches(found[0], found[1], n_draws, tells_all)
