"""Probabilities of presence that a chain adds up, and the statistic by which they reach its results.

PyMC keeps a number, or a vector of one length, for every draw and step. Probabilities of all edges in all
draws would take more room than the draws themselves, so that sums over a number of draws, the period, are
kept: edge e tells its own at draws e, e + period, e + 2 period, ..., and of each draw there is a vector of
r / period sums, in single precision: they are logs, whose Monte-Carlo errors are larger by far. Of a
hopeless edge nothing is known but at these draws, which then stand for the others since. It says itself of
which edges they are, so that draws may be left out or put together.
"""

import copy
from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels.edges.edge_moves import Presence
from pymc_mrf.steps.common.chain_state import Remembering

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

N_FIRST = 2  # entries of the statistic that say of which edges it is


def period_of(n_edges: int) -> int:
    """Return the number of draws over which probabilities of presence are added up."""
    period = min(-(-n_edges // HOPELESS), LONGEST_PERIOD)
    return max(period, min(n_edges // MANY_HOPELESS, PERIOD_OF_MANY), 1)


class PresenceRecord(Remembering):
    """Sums, over draws after tuning, of the probability of presence of every edge given all else.

    Parameters
    ----------
    n_edges : int

    Attributes
    ----------
    rng : numpy.random.Generator
        Of its own, so that the draws of the chain are those without it.
    sums : (2, r) array
        Logs, of presence and of absence, since they were last told.
    n_draws : int
        Draws so far.
    """

    remembers = ("rng", "sums", "n_draws")

    def __init__(self, n_edges: int) -> None:
        self.rng = np.random.default_rng(0)
        self.sums = np.full((2, n_edges), -np.inf)
        self.n_draws = 0
        self._period = period_of(n_edges)
        self._untold = np.full(self.size, np.nan, dtype=np.float32)

    @property
    def size(self) -> int:
        return N_FIRST + 2 * -(-self.sums.shape[1] // self._period)

    def view(self, rng: np.random.Generator) -> Presence:
        """Return what a sweep adds to; before the first draw, random numbers follow from those of `rng`."""
        if self.n_draws == 0:
            self.rng = np.random.default_rng(copy.deepcopy(rng).integers(2**63, size=4))
        period = self._period
        turn, weight = self.n_draws % period, min(self.n_draws + 1, period)
        present, absent = self.sums
        return Presence(present, absent, period, turn, float(weight), 1.0)

    def untold(self) -> np.ndarray:
        """Return the statistic of a draw that is not told, in tuning; NaN."""
        return self._untold

    def tell(self, n_visits: int) -> np.ndarray:
        """Return the statistic of this draw, in which every edge was visited so often.

        Its first entries are the period and the first edge. Then there are the logs of the mean
        probabilities of presence since the last time, of this edge and of every other one that is a multiple
        of the period after it; then those of absence. NaN where there is no such edge.
        """
        period = self._period
        first = self.n_draws % period
        self.n_draws += 1
        told = self.sums[:, first::period]
        found = np.full_like(self._untold, np.nan)
        found[:N_FIRST] = period, first
        found[N_FIRST:].reshape(2, -1)[:, : told.shape[1]] = told - np.log(
            n_visits * min(self.n_draws, period)
        )
        told[:] = -np.inf
        return found


class Batches(NamedTuple):
    """Mean probabilities of presence and absence in parts of chains.

    Attributes
    ----------
    log_present, log_absent : (chain, batch, r) arrays
        Of as many parts as there are of every edge; -inf if no visit was told.
    """

    log_present: np.ndarray
    log_absent: np.ndarray


def read_batches(told: np.ndarray, n_edges: int) -> Batches | None:
    """Put what draws (chain, draw, k) of the statistic tell in order; None if an edge is not in every chain.

    Raises
    ------
    ValueError
        If it is that of other edges.
    """
    period = period_of(n_edges)
    n_slots = -(-n_edges // period)
    periods = told[..., 0][~np.isnan(told[..., 0])]
    if told.shape[-1] != N_FIRST + 2 * n_slots or (periods != period).any():
        raise ValueError(f"{told.shape[-1]} entries of a statistic are not those of {n_edges} edges")
    if not periods.size:
        return None
    logs = told[..., N_FIRST:].reshape(*told.shape[:2], 2, n_slots)
    parts = [
        [logs[chain, told[chain, :, 1] == first] for first in range(min(period, n_edges))]
        for chain in range(len(told))
    ]
    n_parts = min(len(part) for of_chain in parts for part in of_chain)
    if not n_parts:
        return None
    found = np.empty((2, len(told), n_parts, n_edges))
    for chain, of_chain in enumerate(parts):
        for first, part in enumerate(of_chain):
            own = found[:, chain, :, first::period]
            own[:] = part[:n_parts, :, : own.shape[-1]].transpose(1, 0, 2)
    return Batches(*found)
