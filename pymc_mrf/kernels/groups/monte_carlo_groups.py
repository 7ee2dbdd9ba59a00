"""View of a Monte Carlo likelihood for `group_labels`."""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels.groups.edge_terms import add_levels, add_tilt
from pymc_mrf.kernels.groups.exact_groups import log_masses
from pymc_mrf.kernels.groups.group_labels import describe, follow
from pymc_mrf.kernels.views import questions
from pymc_mrf.kernels.views.exact_edges import rows_of
from pymc_mrf.kernels.views.monte_carlo_edges import MonteCarloEdges, tabulate_pair
from pymc_mrf.kernels.views.sample_sums import add_row


class SampledView(NamedTuple):
    """A field by a sample of it, of which some entries of a vector are the edges.

    Attributes
    ----------
    edge_of, levels, level, log_mass : arrays
        As of `ExactView`.
    s : (edges,) array
        Sums of the statistic that an entry multiplies.
    scale : float
        An entry over the weight of its edge.
    edges : MonteCarloEdges
        Its edges one by one, without walls but with limits; node parameters do not move with them.
    """

    edge_of: np.ndarray
    levels: np.ndarray
    level: np.ndarray
    log_mass: np.ndarray
    s: np.ndarray
    scale: float
    edges: MonteCarloEdges


@describe.register(SampledView)
def describe_sampled(view, e, x, terms):
    """Describe the pair's table without the edge, and the cumulants as a tilt."""
    edge = view.edge_of[e]
    if edge < 0:
        return
    edges, scale, curvature = view.edges, view.scale, 0.0
    sample, n = edges.sample, rows_of(edges.field, edge)
    edges.looked[0] = edge
    tabulate_pair(edges, x / scale)
    log_masses(edges.log_p, view.level, view.log_mass)
    terms.total[0] += view.s[edge]
    add_levels(terms, n, view.log_mass, view.levels, 0.0, 0.0)
    if sample.excess.shape[0] > 0:
        curvature = np.float64(sample.excess[edge, edge])
    slope = edges.slope[edge] - curvature * edges.bounded[edge]
    add_tilt(
        terms,
        n * slope / scale,
        n * curvature / scale**2,
        scale * sample.place[edge],
        scale * sample.limit[edge],
    )


@follow.register(SampledView)
def follow_sampled(view, e, x, value):
    """As of a single edge; cumulants follow within the limits."""
    edge = view.edge_of[e]
    if edge >= 0:
        edges, old, new = view.edges, x / view.scale, value / view.scale
        sample, place, limit = edges.sample, edges.sample.place[edge], edges.sample.limit[edge]
        edges.w[edge] = new
        questions.follow(edges, edge, old, new)
        b = min(max(new - place, -limit), limit)
        if sample.excess.shape[0] > 0:
            add_row(sample.excess[edge], (b - edges.bounded[edge]) - (new - old), edges.slope)
        edges.delta[edge], edges.bounded[edge] = new - place, b
    return False
