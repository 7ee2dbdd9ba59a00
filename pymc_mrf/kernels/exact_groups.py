"""Views of exact likelihoods for `group_labels`: by junction tree, and in closed form."""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean, part
from pymc_mrf.kernels.edge_terms import add_levels, add_term
from pymc_mrf.kernels.group_labels import describe, follow
from pymc_mrf.kernels.junction_tree import log_partition_and_marginals
from pymc_mrf.kernels.junction_tree_focus import Focus, factor_log_table, update_factor
from pymc_mrf.kernels.junction_tree_loops import log_add


class ExactView(NamedTuple):
    """A field and its data, the marginals by an incremental calibration of the junction tree.

    Attributes
    ----------
    edge_of : (r,) int64 array
        Edge of the field that each entry parametrises, -1 for none.
    s : (edges,) array
        Sum of f over the n rows.
    n : float
    statistic : (K * K,) array
        f.
    levels : (L,) array
        Its different values, increasing.
    level : (K * K,) int64 array
        Which of them each pair of states has.
    tree : TreeArrays
    focus : Focus
        Calibrated at the present parameters.
    log_table, delta : (K * K,) arrays
    log_mass : (L,) array
        Room for work.
    """

    edge_of: np.ndarray
    s: np.ndarray
    n: float
    statistic: np.ndarray
    levels: np.ndarray
    level: np.ndarray
    tree: NamedTuple
    focus: Focus
    log_table: np.ndarray
    delta: np.ndarray
    log_mass: np.ndarray


class FixedView(NamedTuple):
    """Edges whose likelihoods do not depend on each other: s, n and lam as in `edge_terms`, each (r,)."""

    s: np.ndarray
    n: np.ndarray
    lam: np.ndarray


@part
def log_masses(log_table, level, out):
    """Sum the log marginal table `log_table` (K * K,) over the pairs of each level, into `out` (L,).

    In logs, because the rest of the field may force the edge.
    """
    for k in range(out.shape[0]):
        out[k] = -np.inf
    for c in range(level.shape[0]):
        out[level[c]] = log_add(out[level[c]], log_table[c])


@describe.register(ExactView)
def describe_exact(view, e, x, terms):
    """Identity (A1)."""
    edge = view.edge_of[e]
    if edge < 0:
        return
    factor_log_table(view.tree, view.focus, edge, view.log_table)
    log_masses(view.log_table, view.level, view.log_mass)
    terms.total[0] += view.s[edge]
    add_levels(terms, view.n, view.log_mass, view.levels, x, 0.0)


@follow.register(ExactView)
def follow_exact(view, e, x, value):
    """Change the clique table in focus."""
    edge = view.edge_of[e]
    if edge >= 0:
        for c in range(view.statistic.shape[0]):
            view.delta[c] = view.statistic[c] * (value - x)
        update_factor(view.tree, view.focus, edge, view.delta)
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


@lean
def group_log_likelihood(tree, work, marginals, node_tables, statistic, s, n, groups, x, gradient):
    """Log-likelihood of the values of groups but for what the node tables add, by a pass over the tree.

    Parameters
    ----------
    tree : TreeArrays
    work : Work
    marginals : (T,) array
        Room for work.
    node_tables : (d, K) array
    statistic : (K * K,) array
    s : (edges,) array
        Sum of f over the n rows.
    n : float
    groups : (edges,) int64 array
        Group of each edge.
    x : (G,) array
        Values of the groups.
    gradient : (G,) array
        Overwritten.
    """
    size, (d, K) = statistic.shape[0], node_tables.shape
    for e in range(groups.shape[0]):
        for c in range(size):
            work.tables[e * size + c] = x[groups[e]] * statistic[c]
    for i in range(d):
        for a in range(K):
            work.tables[groups.shape[0] * size + i * K + a] = node_tables[i, a]
    value = -n * log_partition_and_marginals(tree, work.tables, work, marginals)
    for g in range(x.shape[0]):
        gradient[g] = 0.0
    for e in range(groups.shape[0]):
        mean = 0.0
        for c in range(size):
            mean += marginals[e * size + c] * statistic[c]
        value += s[e] * x[groups[e]]
        gradient[groups[e]] += s[e] - n * mean
    return value
