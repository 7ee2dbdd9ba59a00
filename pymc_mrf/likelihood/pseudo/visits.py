"""Visits of the edges of fields with many candidates: panels, and rates of edges that are rarely present.

The scores of the edges of a *panel* are made at once, as of `pymc_mrf.kernels.views.pseudo_scores`. Edges
that tuning finds to be rarely present are then visited in some of the draws only: each panel has its turn in
a draw with probability `RATE`, whatever the state of the chain, and a scan whose rates do not change leaves
the posterior invariant. Edges that are not rare are visited in every draw. So it is in tuning, but that the
first sweeps, and others now and then, visit all edges: rates are learnt of these.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels.edges.edge_moves import EdgePrior, learn_presence
from pymc_mrf.kernels.views.pseudo_edges import PseudoView
from pymc_mrf.kernels.views.pseudo_scores import PANEL, Scores, take_moved
from pymc_mrf.kernels.views.questions import Field

FEWEST_EDGES, LEAST_SHARE = 8000, 1 / 3
"""Candidate edges, and their share of the pairs of nodes, from which on scores are made at once. Complete
fields of 96 binary nodes, 4,560 edges, take as long with them as without, 1,000 rows; of 128 nodes 8 % less,
of 1,024 a third."""


class Panel(NamedTuple):
    """Nodes whose edges follow one another in a sweep.

    Attributes
    ----------
    nodes : slice
        First ends of the edges.
    edges : (k,) int64 array
        In the order of visits.
    others : list of two slices
        What holds the sources of these nodes, and the nodes that these are sources of.
    """

    nodes: slice
    edges: np.ndarray
    others: list[slice]

    @property
    def n(self) -> int:
        return self.nodes.stop - self.nodes.start


def panels_of(field: Field, sources: np.ndarray) -> list[Panel]:
    """Divide the edges by their first ends; nothing where scores are not made at once.

    `sources` (r, 2) is that of `PseudoView`.
    """
    d, found = len(field.features), []
    of_edges = field.edges[:, 0] // PANEL
    order = field.order[np.argsort(of_edges[field.order], kind="stable")]
    starts = range(0, d, PANEL)
    cuts = np.searchsorted(of_edges[order], np.arange(1, len(starts)))
    for start, edges in zip(starts, np.split(order, cuts), strict=True):
        seconds = field.edges[edges, 1][sources[edges, 1] >= 0]
        others = [
            slice(int(places.min()), int(places.max()) + 1) if len(places) else slice(0, 0)
            for places in (sources[edges, 0], seconds)
        ]
        found.append(Panel(slice(start, min(start + PANEL, d)), edges, others))
    return found if _pays(found, sources) else []


def _pays(panels: list[Panel], sources: np.ndarray) -> bool:
    """Whether scores of all pairs at once take less time than those of the edges alone."""
    n_pairs = sum(panel.n * sum(s.stop - s.start for s in panel.others) for panel in panels)
    return len(sources) >= FEWEST_EDGES and (sources >= 0).sum() >= LEAST_SHARE * n_pairs


def visited(panels: list[Panel], scores: Scores, R: np.ndarray) -> Iterator[np.ndarray]:
    """Edges of panel by panel, the scores of which are made before; `R` (d, M, N) are the residuals."""
    scores.moved[:] = np.inf
    for panel in panels:
        take_moved(scores, R)
        nodes, (sources, targets) = panel.nodes, panel.others
        own, back = scores.own[: panel.n], scores.back[: panel.n]
        np.matmul(scores.residuals[nodes], scores.columns[sources].T, out=own[:, sources])
        np.matmul(scores.columns[nodes], scores.residuals[targets].T, out=back[:, targets])
        scores.panel[:] = nodes.start, panel.n
        yield panel.edges
    scores.panel[:] = 0


def fill_columns(scores: Scores, S: np.ndarray, n_each: np.ndarray) -> None:
    """Fill in the columns of sources with features `S` (D, M, N) in rows that are there if `n_each` > 0."""
    is_row = n_each > 0.0
    scores.mean[:] = (S * is_row).sum(axis=2) / is_row.sum(axis=2)
    columns = np.where(is_row, S - scores.mean[:, :, None], 0.0).reshape(len(S), -1)
    scores.columns[:] = columns
    scores.norm[:] = np.sqrt((columns**2).sum(axis=1))


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

    def learn(self, view: PseudoView, edges: np.ndarray, prior: EdgePrior) -> None:
        """See `edges` (k,), whose scores are known, in a sweep that has begun."""
        weight = min(RECENT / self.n_sweeps[1], 1.0)
        learn_presence(view, edges, prior, weight, self.probability, self.share)

    def rare(self) -> np.ndarray:
        """Whether each edge (r,) is rare; none is if nothing was learnt, or too many are not."""
        found = (self.probability < RARE) & (self.share < OFTEN)
        return found & bool(self.n_sweeps[1] and found.mean() >= MOST)
