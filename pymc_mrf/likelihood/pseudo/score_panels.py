"""Panels of edges whose scores are made at once, as of `pymc_mrf.kernels.views.pseudo_scores`."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

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

    `sources` (r, 2) is that of `PseudoEdges`.
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
