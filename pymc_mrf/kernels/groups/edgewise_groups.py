"""View of likelihoods for `group_labels` that asks a view for single edges.

Under Monte Carlo likelihoods parameters of edges have limits in place of walls, beyond which they do not
count in the cumulants.
"""

from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import by_type, lean, part
from pymc_mrf.kernels.groups.edge_terms import LevelTerms, Terms, add_levels, add_term, add_tilt
from pymc_mrf.kernels.groups.group_labels import describe, move_entry
from pymc_mrf.kernels.log_scores import log_add
from pymc_mrf.kernels.views import questions
from pymc_mrf.kernels.views.exact_edges import TreeView
from pymc_mrf.kernels.views.monte_carlo_edges import MonteCarloView, tabulate_pair
from pymc_mrf.kernels.views.particle_edges import ParticleView, estimate_pair, move_by_particles
from pymc_mrf.kernels.views.questions import rows_of
from pymc_mrf.kernels.views.sample_sums import add_row
from pymc_mrf.kernels.views.weighted_sample import mean_of_edge

LEAST = 1e-7
"""Probability, without the edge, of a possible level that no point of the sample has; least of one of two."""

RARE = 1e-3
"""Weighted share of one of two levels below which both are counted: sums in single precision tell the larger
to 1e-7 only, of which a small remainder is nothing but error."""


class EdgewiseView(NamedTuple):
    """A field of which some entries of a vector are the edges.

    Attributes
    ----------
    edge_of : (r,) int64 array
        Edge of the field that each entry parametrises, -1 for none.
    edges : TreeView, ListedRowView, PseudoView, MonteCarloView or ParticleView
        Its edges one by one; node parameters do not move with them.
    s : (edges,) array
        Sums of the statistic that an entry multiplies, as often as the likelihood counts an edge.
    low, scale : float
        The statistic of the field's weights is low + scale times that of the entries: an entry is `scale`
        times the weight of its edge.
    levels : (L,) array
        Different values of the statistic of the entries, increasing.
    level : (K * K,) int64 array
        Which of them each pair of states has.
    possible : (edges, L) bool array
        Levels that the states of the ends allow.
    log_mass : (L,) array
        Room for work.
    """

    edge_of: np.ndarray
    edges: Any
    s: np.ndarray
    low: float
    scale: float
    levels: np.ndarray
    level: np.ndarray
    possible: np.ndarray
    log_mass: np.ndarray


@part
def log_masses(log_table, level, out):
    """Sum the log marginal table `log_table` (K * K,) over the pairs of each level, into `out` (L,).

    In logs, because the rest of the field may force the edge. `level` (K * K,) is that of `EdgewiseView`.
    """
    for k in range(out.shape[0]):
        out[k] = -np.inf
    for c in range(level.shape[0]):
        out[level[c]] = log_add(out[level[c]], log_table[c])


@by_type
def add_edge_terms(edges: Any, view: EdgewiseView, e: int, x: float, terms: Any) -> None:
    """Look at edge e of `edges`, whose entry is x, and add its terms; the sum S is for the caller to add."""


@by_type
def move_edge(edges: Any, view: EdgewiseView, e: int, x: float, value: float) -> Any:
    """Move edge e of `edges`, whose entry was x, to the value that it has now in the weights of `edges`.

    Returns whether the edges have to be renewed before they are asked again.
    """


@add_edge_terms.register(TreeView)
def add_edge_of_tree(edges, view, e, x, terms):
    """Identity (A1), from the pair's table without the edge."""
    questions.look_at(edges, e, x / view.scale)
    log_masses(edges.log_p, view.level, view.log_mass)
    add_levels(terms, rows_of(edges, e), view.log_mass, view.levels, 0.0, 0.0)


@add_edge_terms.register(ParticleView)
def add_estimated_edge(edges, view, e, x, terms):
    """Add the same by an estimated table, with the further observations that its noise calls for."""
    more = estimate_pair(edges, e, x / view.scale)
    log_masses(edges.pair.log_p, view.level, view.log_mass)
    add_levels(terms, rows_of(edges, e), view.log_mass, view.levels, 0.0, more)


@move_edge.register(object)
def move_known_edge(edges, view, e, x, value):
    questions.follow(edges, e, x / view.scale, value / view.scale)
    return False


@move_edge.register(ParticleView)
def move_estimated_edge(edges, view, e, x, value):
    """Leave particles of uneven weights to the caller."""
    return move_by_particles(edges, e, x / view.scale, value / view.scale)


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


@add_edge_terms.register(MonteCarloView)
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


@move_edge.register(MonteCarloView)
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


@describe.register(EdgewiseView)
def describe_edgewise(view, e, x, terms):
    edge = view.edge_of[e]
    if edge >= 0:
        terms.total[0] += view.s[edge]
        add_edge_terms(view.edges, view, edge, x, terms)


@move_entry.register(EdgewiseView)
def follow_edgewise(view, e, x, value):
    edge = view.edge_of[e]
    if edge < 0:
        return False
    view.edges.w[edge] = value / view.scale
    return move_edge(view.edges, view, edge, x, value)
