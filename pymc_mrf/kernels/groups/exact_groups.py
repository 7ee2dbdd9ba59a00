"""Views of exact likelihoods for `group_labels`: by a view for single edges, and in closed form."""

from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import part
from pymc_mrf.kernels.by_type import by_type
from pymc_mrf.kernels.groups.edge_terms import add_levels, add_term
from pymc_mrf.kernels.groups.group_labels import describe, follow
from pymc_mrf.kernels.log_scores import log_add
from pymc_mrf.kernels.views import questions
from pymc_mrf.kernels.views.exact_edges import TreeEdges, rows_of


class ExactView(NamedTuple):
    """A field of which some entries of a vector are the edges.

    Attributes
    ----------
    edge_of : (r,) int64 array
        Edge of the field that each entry parametrises, -1 for none.
    edges : TreeEdges or ListedRows
        Its edges one by one; node parameters do not move with them.
    levels : (L,) array
        Different values of the statistic, increasing.
    level : (K * K,) int64 array
        Which of them each pair of states has.
    log_mass : (L,) array
        Room for work.
    """

    edge_of: np.ndarray
    edges: Any
    levels: np.ndarray
    level: np.ndarray
    log_mass: np.ndarray


class FixedView(NamedTuple):
    """Edges whose likelihoods do not depend on each other: s, n and lam as in `edge_terms`, each (r,)."""

    s: np.ndarray
    n: np.ndarray
    lam: np.ndarray


@part
def log_masses(log_table, level, out):
    """Sum the log marginal table `log_table` (K * K,) over the pairs of each level, into `out` (L,).

    In logs, because the rest of the field may force the edge. `level` (K * K,) is that of `ExactView`.
    """
    for k in range(out.shape[0]):
        out[k] = -np.inf
    for c in range(level.shape[0]):
        out[level[c]] = log_add(out[level[c]], log_table[c])


@by_type
def add_edge(edges, e, levels, level, log_mass, terms):
    """Add the terms of edge e, that was looked at; `levels`, `level` and `log_mass` as of `ExactView`."""


@add_edge.register(TreeEdges)
def add_edge_of_tree(edges, e, levels, level, log_mass, terms):
    """Identity (A1), from the pair's table without the edge."""
    log_masses(edges.log_p, level, log_mass)
    add_levels(terms, rows_of(edges.field, e), log_mass, levels, 0.0, 0.0)


@describe.register(ExactView)
def describe_exact(view, e, x, terms):
    """Look at the edge."""
    edge = view.edge_of[e]
    if edge < 0:
        return
    questions.look_at(view.edges, edge, x)
    terms.total[0] += view.edges.field.s[edge]
    add_edge(view.edges, edge, view.levels, view.level, view.log_mass, terms)


@follow.register(ExactView)
def follow_exact(view, e, x, value):
    """Follow the move as that of a single edge."""
    edge = view.edge_of[e]
    if edge >= 0:
        view.edges.w[edge] = value
        questions.follow(view.edges, edge, x, value)
    return False


@describe.register(FixedView)
def describe_fixed(view, e, x, terms):
    """Likelihood of an edge that stands alone."""
    if view.n[e] > 0.0:
        terms.total[0] += view.s[e]
        add_term(terms, view.n[e], view.lam[e], 0.0)


@follow.register(FixedView)
def follow_fixed(view, e, x, value):
    """Nothing follows."""
    return False
