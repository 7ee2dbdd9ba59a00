"""Edges that tuning finds to be rarely present, which are then visited in some of the draws only.

After tuning each panel of `score_panels` has its turn in a draw with probability `RATE`, whatever the state
of the chain: a scan whose rates do not change leaves the posterior invariant. Edges that are not rare are
visited in every draw. So it is in tuning, but that the first sweeps, and others now and then, visit all
edges: rates are learnt of these.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels.edges.edge_moves import EdgePrior
from pymc_mrf.kernels.edges.rare_edges import learn_presence
from pymc_mrf.kernels.views.pseudo_edges import PseudoEdges

RATE = 0.25
"""Share of the draws in which rare edges are visited."""

RARE = 0.02
"""Mean probability of presence, by the score where it is absent, from which on an edge is not rare,"""
OFTEN = 0.1
"""or share of the sweeps of tuning that it was present."""

MOST = 0.95
"""Share of the edges that must be rare, or none is: those that are not cost a pass over the rows each, twenty
times as much as scores that are made at once."""

FIRST, PERIOD = 20, 4
"""Sweeps of tuning in which all edges are visited: the first ones, and then one in so many."""

RECENT = 5.0  # the k-th of these has a weight proportional to k^4


class VisitRates(NamedTuple):
    """What tuning has seen of every edge.

    Attributes
    ----------
    n_sweeps : (2,) int64 array
        Sweeps of tuning, and those of them that visited all edges.
    probability, share : (r,) float32 arrays
        Mean probability of presence where it was absent, and share of the latter sweeps in which it was
        present.
    """

    n_sweeps: np.ndarray
    probability: np.ndarray
    share: np.ndarray

    @classmethod
    def of_edges(cls, r: int) -> "VisitRates":
        """Know nothing of r edges."""
        return cls(np.zeros(2, dtype=np.int64), *np.zeros((2, r), dtype=np.float32))

    def begin_sweep(self) -> bool:
        """Count a sweep of tuning; whether it is to visit all edges, and be learnt from."""
        is_whole = self.n_sweeps[0] < FIRST or self.n_sweeps[0] % PERIOD == 0
        self.n_sweeps[:] += 1, is_whole
        return bool(is_whole)

    def learn(self, view: PseudoEdges, edges: np.ndarray, prior: EdgePrior) -> None:
        """See `edges` (k,), whose scores are known, in a sweep that has begun."""
        weight = min(RECENT / self.n_sweeps[1], 1.0)
        learn_presence(view, edges, prior, weight, self.probability, self.share)

    def rare(self) -> np.ndarray:
        """Whether each edge (r,) is rare; none is if nothing was learnt, or too many are not."""
        found = (self.probability < RARE) & (self.share < OFTEN)
        return found & bool(self.n_sweeps[1] and found.mean() >= MOST)
