"""View of likelihoods that are known edge by edge, for `group_labels`: it asks a view for single edges."""

from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import part
from pymc_mrf.kernels.by_type import by_type
from pymc_mrf.kernels.groups.edge_terms import add_levels
from pymc_mrf.kernels.groups.group_labels import describe, follow
from pymc_mrf.kernels.log_scores import log_add
from pymc_mrf.kernels.views import questions
from pymc_mrf.kernels.views.exact_edges import TreeEdges, rows_of
from pymc_mrf.kernels.views.particle_edges import ParticleEdges, estimate_pair


class EdgewiseView(NamedTuple):
    """A field of which some entries of a vector are the edges.

    Attributes
    ----------
    edge_of : (r,) int64 array
        Edge of the field that each entry parametrises, -1 for none.
    edges : TreeEdges, ListedRows or ParticleEdges
        Its edges one by one; node parameters do not move with them.
    s : (edges,) array
        Sums of the statistic that an entry multiplies.
    scale : float
        An entry is so many times the weight of its edge.
    levels : (L,) array
        Different values of the statistic, increasing.
    level : (K * K,) int64 array
        Which of them each pair of states has.
    log_mass : (L,) array
        Room for work.
    """

    edge_of: np.ndarray
    edges: Any
    s: np.ndarray
    scale: float
    levels: np.ndarray
    level: np.ndarray
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
def add_edge(edges, e, x, levels, level, log_mass, terms):
    """Look at edge e, whose value is x, and add its terms.

    `levels`, `level` and `log_mass` as of `EdgewiseView`; the sum S is for the caller to add.
    """


@add_edge.register(TreeEdges)
def add_edge_of_tree(edges, e, x, levels, level, log_mass, terms):
    """Identity (A1), from the pair's table without the edge."""
    questions.look_at(edges, e, x)
    log_masses(edges.log_p, level, log_mass)
    add_levels(terms, rows_of(edges.field, e), log_mass, levels, 0.0, 0.0)


@add_edge.register(ParticleEdges)
def add_estimated_edge(edges, e, x, levels, level, log_mass, terms):
    """Add the same by an estimated table, with the further observations that its noise calls for."""
    more = estimate_pair(edges, e, x)
    log_masses(edges.pair.log_p, level, log_mass)
    add_levels(terms, rows_of(edges.field, e), log_mass, levels, 0.0, more)


@describe.register(EdgewiseView)
def describe_edgewise(view, e, x, terms):
    """Ask `add_edge`."""
    edge = view.edge_of[e]
    if edge >= 0:
        terms.total[0] += view.s[edge]
        add_edge(view.edges, edge, x / view.scale, view.levels, view.level, view.log_mass, terms)


@follow.register(EdgewiseView)
def follow_edgewise(view, e, x, value):
    """Follow the move as that of a single edge."""
    edge = view.edge_of[e]
    if edge < 0:
        return False
    old, new = x / view.scale, value / view.scale
    view.edges.w[edge] = new
    return questions.follow(view.edges, edge, old, new)
