"""Monte Carlo likelihoods for `group_labels`: answers to `edgewise_groups`.

Parameters of edges have limits in place of walls, beyond which they do not count in the cumulants.
"""

from typing import Any

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.by_type import by_type
from pymc_mrf.kernels.groups.edge_terms import LevelTerms, Terms, add_levels, add_term, add_tilt
from pymc_mrf.kernels.groups.edgewise_groups import add_edge_terms, log_masses, move_edge
from pymc_mrf.kernels.views import questions
from pymc_mrf.kernels.views.exact_edges import rows_of
from pymc_mrf.kernels.views.monte_carlo_edges import MonteCarloEdges, tabulate_pair
from pymc_mrf.kernels.views.sample_sums import add_row
from pymc_mrf.kernels.views.weighted_sample import mean_of_edge

LEAST = 1e-7
"""Probability, without the edge, of a possible level that no point of the sample has; least of one of two."""

RARE = 1e-3
"""Weighted share of one of two levels below which both are counted: sums in single precision tell the larger
to 1e-7 only, of which a small remainder is nothing but error."""


@by_type
def add_sampled(terms: Any, edges: Any, view: Any, e: int, x: float) -> None:
    """Append the term of the rows of edge e, whose entry is x, from the weights of the sample."""


@lean
def fill_level_masses(edges, view, e, x):
    """Log masses of the levels without the edge, whose entry is x, into `view.log_mass`.

    They do not depend on x, nor does what is put in place of masses that the sample does not tell: moves are
    reversible only if they see the same masses from the new value of the edge.
    """
    out, top = view.log_mass, -np.inf
    tabulate_pair(edges, x / view.scale)
    log_masses(edges.pair.log_p, view.level, out)
    for k in range(out.shape[0]):
        top = max(top, out[k])
    for k in range(out.shape[0]):
        if view.possible[e, k] and out[k] == -np.inf:
            out[k] = top + np.log(LEAST)


@add_sampled.register(Terms)
def add_two_sampled_levels(terms, edges, view, e, x):
    """Append the logit of the mean, which is a sum without a table, unless one of the levels is rare."""
    p = (mean_of_edge(edges.field, edges.sample, edges.at, e, 0) - view.low) / view.scale
    if RARE < p < 1.0 - RARE:
        lam = np.log(p) - np.log1p(-p) - x
    else:
        fill_level_masses(edges, view, e, x)
        lam = view.log_mass[1] - view.log_mass[0]
    add_term(terms, rows_of(edges, e), min(max(lam, np.log(LEAST)), -np.log(LEAST)), 0.0)


@add_sampled.register(LevelTerms)
def add_many_sampled_levels(terms, edges, view, e, x):
    """Append the masses of the pair's table without the edge."""
    fill_level_masses(edges, view, e, x)
    add_levels(terms, rows_of(edges, e), view.log_mass, view.levels, 0.0, 0.0)


@add_edge_terms.register(MonteCarloEdges)
def add_sampled_edge(edges, view, e, x, terms):
    """Describe the levels without the edge, and the cumulants as a tilt."""
    sample, n, scale, curvature = edges.sample, rows_of(edges, e), view.scale, 0.0
    edges.pair.looked[0], edges.pair.looked[1] = e, 0
    add_sampled(terms, edges, view, e, x)
    if sample.excess.shape[0] > 0:
        curvature = np.float64(sample.excess[e, e])
    slope = edges.at.slope[e] - curvature * edges.at.bounded[e]
    place, limit = scale * sample.place[e], scale * sample.limit[e]
    add_tilt(terms, n * slope / scale, n * curvature / scale**2, place, limit)


@move_edge.register(MonteCarloEdges)
def move_sampled_edge(edges, view, e, x, value):
    """Follow the move as that of a single edge; cumulants follow within the limits."""
    old, new = x / view.scale, value / view.scale
    sample, place, limit = edges.sample, edges.sample.place[e], edges.sample.limit[e]
    if edges.pair.looked[1] == 0:
        tabulate_pair(edges, old)
    questions.follow(edges, e, old, new)
    b = min(max(new - place, -limit), limit)
    if sample.excess.shape[0] > 0:
        add_row(sample.excess[e], (b - edges.at.bounded[e]) - (new - old), edges.at.slope)
    edges.at.delta[e], edges.at.bounded[e] = new - place, b
    return False
