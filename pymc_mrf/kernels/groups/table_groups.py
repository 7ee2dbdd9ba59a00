"""View of likelihoods that know the table of a pair, for `group_labels`: by junction tree, by particles."""

from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.groups.edge_terms import add_levels
from pymc_mrf.kernels.groups.group_labels import describe, follow
from pymc_mrf.kernels.log_scores import log_add
from pymc_mrf.kernels.views import questions
from pymc_mrf.kernels.views.exact_edges import rows_of


class TableView(NamedTuple):
    """A field of which some entries of a vector are the edges.

    Attributes
    ----------
    edge_of : (r,) int64 array
        Edge of the field that each entry parametrises, -1 for none.
    edges : TreeEdges or ParticleEdges
        Its edges one by one; node parameters do not move with them.
    s : (edges,) array
        Sums of the statistic that an entry multiplies.
    scale : float
        An entry is so many times the weight of its edge.
    levels : (L,) array
        Different values of the statistic, increasing.
    level : (K * K,) int64 array
        Which of them each pair of states has.
    log_table : (K * K,) array, log_mass : (L,) array
        Room for work.
    """

    edge_of: np.ndarray
    edges: Any
    s: np.ndarray
    scale: float
    levels: np.ndarray
    level: np.ndarray
    log_table: np.ndarray
    log_mass: np.ndarray


@lean
def log_masses(log_table, level, out):
    """Sum the log marginal table `log_table` (K * K,) over the pairs of each level, into `out` (L,).

    In logs, because the rest of the field may force the edge. `level` (K * K,) is that of `TableView`.
    """
    for k in range(out.shape[0]):
        out[k] = -np.inf
    for c in range(level.shape[0]):
        out[level[c]] = log_add(out[level[c]], log_table[c])


@describe.register(TableView)
def describe_table(view, e, x, terms):
    """Identity (A1), from the pair's table without the edge."""
    edge = view.edge_of[e]
    if edge < 0:
        return
    more = questions.fill_log_table(view.edges, edge, x / view.scale, view.log_table)
    log_masses(view.log_table, view.level, view.log_mass)
    terms.total[0] += view.s[edge]
    add_levels(terms, rows_of(view.edges.field, edge), view.log_mass, view.levels, 0.0, more)


@follow.register(TableView)
def follow_table(view, e, x, value):
    """Follow the move as that of a single edge."""
    edge = view.edge_of[e]
    if edge < 0:
        return False
    old, new = x / view.scale, value / view.scale
    view.edges.w[edge] = new
    return questions.follow(view.edges, edge, old, new)
