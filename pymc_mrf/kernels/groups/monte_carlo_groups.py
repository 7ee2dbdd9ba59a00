"""View of a Monte Carlo likelihood for `group_labels`."""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.by_type import by_type
from pymc_mrf.kernels.groups.edge_terms import LevelTerms, Terms, add_levels, add_term, add_tilt
from pymc_mrf.kernels.groups.group_labels import describe, follow
from pymc_mrf.kernels.groups.table_groups import log_masses
from pymc_mrf.kernels.views import questions
from pymc_mrf.kernels.views.exact_edges import rows_of
from pymc_mrf.kernels.views.monte_carlo_edges import MonteCarloEdges, mean_of_edge, tabulate_pair
from pymc_mrf.kernels.views.sample_sums import add_row

LEAST = 1e-7
"""Probability, without the edge, of a possible level that no point of the sample has; least of one of two."""

RARE = 1e-3
"""Weighted share of one of two levels below which both are counted: sums in single precision tell the larger
to 1e-7 only, of which a small remainder is nothing but error."""


class SampledView(NamedTuple):
    """A field by a sample of it, of which some entries of a vector are the edges.

    Attributes
    ----------
    edge_of, levels, level, log_mass : arrays
        As of `TableView`.
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


@lean
def fill_level_masses(view, edge, x):
    """Log masses of the levels without the edge, whose value is x, into `view.log_mass`.

    They do not depend on x, nor does what is put in place of masses that the sample does not tell: moves are
    reversible only if they see the same masses from the new value of the edge.
    """
    out, top = view.log_mass, -np.inf
    tabulate_pair(view.edges, x / view.scale)
    log_masses(view.edges.log_p, view.level, out)
    for k in range(out.shape[0]):
        top = max(top, out[k])
    for k in range(out.shape[0]):
        if view.possible[edge, k] and out[k] == -np.inf:
            out[k] = top + np.log(LEAST)


@add_sampled.register(Terms)
def add_two_sampled_levels(terms, view, edge, x, n):
    """Append the logit of the mean, which is a sum without a table, unless one of the levels is rare."""
    p = (mean_of_edge(view.edges, edge, 0) - view.low) / view.scale
    if RARE < p < 1.0 - RARE:
        lam = np.log(p) - np.log1p(-p) - x
    else:
        fill_level_masses(view, edge, x)
        lam = view.log_mass[1] - view.log_mass[0]
    add_term(terms, n, min(max(lam, np.log(LEAST)), -np.log(LEAST)), 0.0)


@add_sampled.register(LevelTerms)
def add_many_sampled_levels(terms, view, edge, x, n):
    """Append the masses of the pair's table without the edge."""
    fill_level_masses(view, edge, x)
    add_levels(terms, n, view.log_mass, view.levels, 0.0, 0.0)


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
