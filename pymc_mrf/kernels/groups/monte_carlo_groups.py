"""View of a Monte Carlo likelihood for `group_labels`."""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels.by_type import by_type
from pymc_mrf.kernels.groups.edge_terms import LevelTerms, Terms, add_levels, add_term, add_tilt
from pymc_mrf.kernels.groups.exact_groups import log_masses
from pymc_mrf.kernels.groups.group_labels import describe, follow
from pymc_mrf.kernels.views import questions
from pymc_mrf.kernels.views.exact_edges import rows_of
from pymc_mrf.kernels.views.monte_carlo_edges import MonteCarloEdges, mean_of_edge, tabulate_pair
from pymc_mrf.kernels.views.sample_sums import add_row

LEAST = 1e-7
"""Probability of a possible level that no point of the sample has; sums in single precision tell no less."""


class SampledView(NamedTuple):
    """A field by a sample of it, of which some entries of a vector are the edges.

    Attributes
    ----------
    edge_of, levels, level, log_mass : arrays
        As of `ExactView`.
    possible : (edges, L) bool array
        Levels that the states of the ends allow.
    s : (edges,) array
        Sums of the statistic that an entry multiplies.
    low, scale : float
        The statistic of the field's weights is low + scale times that of the entries: an entry is `scale`
        times the weight of its edge.
    edges : MonteCarloEdges
        Its edges one by one, without walls but with limits; node parameters do not move with them.
    """

    edge_of: np.ndarray
    levels: np.ndarray
    level: np.ndarray
    log_mass: np.ndarray
    possible: np.ndarray
    s: np.ndarray
    low: float
    scale: float
    edges: MonteCarloEdges


@by_type
def add_sampled(terms, view, edge, x, n):
    """Append the term of `n` rows of an edge, whose value is x, from the weights of the sample."""


@add_sampled.register(Terms)
def add_two_sampled_levels(terms, view, edge, x, n):
    """Append the logit of the mean, which is a sum without a table."""
    p = (mean_of_edge(view.edges, edge, 0) - view.low) / view.scale
    p = min(max(p, LEAST), 1.0 - LEAST)
    add_term(terms, n, np.log(p) - np.log1p(-p) - x, 0.0)


@add_sampled.register(LevelTerms)
def add_many_sampled_levels(terms, view, edge, x, n):
    """Append the masses of the pair's table without the edge."""
    f, out, top = view.levels, view.log_mass, -np.inf
    tabulate_pair(view.edges, x / view.scale)
    log_masses(view.edges.log_p, view.level, out)
    for k in range(f.shape[0]):
        top = max(top, out[k] + x * f[k])
    for k in range(f.shape[0]):
        if view.possible[edge, k] and out[k] == -np.inf:
            out[k] = top + np.log(LEAST) - x * f[k]
    add_levels(terms, n, out, f, 0.0, 0.0)


@describe.register(SampledView)
def describe_sampled(view, e, x, terms):
    """Describe the levels without the edge, and the cumulants as a tilt."""
    edge = view.edge_of[e]
    if edge < 0:
        return
    edges, scale, curvature = view.edges, view.scale, 0.0
    sample, n = edges.sample, rows_of(edges.field, edge)
    edges.looked[0], edges.looked[1] = edge, 0
    terms.total[0] += view.s[edge]
    add_sampled(terms, view, edge, x, n)
    if sample.excess.shape[0] > 0:
        curvature = np.float64(sample.excess[edge, edge])
    slope = edges.slope[edge] - curvature * edges.bounded[edge]
    place, limit = scale * sample.place[edge], scale * sample.limit[edge]
    add_tilt(terms, n * slope / scale, n * curvature / scale**2, place, limit)


@follow.register(SampledView)
def follow_sampled(view, e, x, value):
    """Follow the move as that of a single edge; cumulants follow within the limits."""
    edge = view.edge_of[e]
    if edge >= 0:
        edges, old, new = view.edges, x / view.scale, value / view.scale
        sample, place, limit = edges.sample, edges.sample.place[edge], edges.sample.limit[edge]
        if edges.looked[1] == 0:
            tabulate_pair(edges, old)
        edges.w[edge] = new
        questions.follow(edges, edge, old, new)
        b = min(max(new - place, -limit), limit)
        if sample.excess.shape[0] > 0:
            add_row(sample.excess[edge], (b - edges.bounded[edge]) - (new - old), edges.slope)
        edges.delta[edge], edges.bounded[edge] = new - place, b
    return False
