"""Fields in time with links for `group_labels`: all states of a row are listed."""

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.groups.edge_terms import add_levels
from pymc_mrf.kernels.groups.edgewise_groups import add_edge_terms
from pymc_mrf.kernels.log_scores import log_add
from pymc_mrf.kernels.views.listed_rows import ListedRowView, first_cell, range_of, second_state
from pymc_mrf.kernels.views.questions import look_at


@add_edge_terms.register(ListedRowView)
def add_edge_of_histories(edges, view, e, x, terms):
    """Add one term for each history; what has one level in a history, whatever the edge, adds to the sum."""
    look_at(edges, e, x / view.scale)
    levels, log_mass = view.levels, view.log_mass
    K, (start, end, _) = edges.field.basis.shape[1], range_of(edges, e)
    n_cells = K if edges.rows.source[e] >= 0 else K * K
    for h in range(start, end):
        cell, step = first_cell(edges, e, h)
        for l in range(levels.shape[0]):
            log_mass[l] = -np.inf
        for k in range(n_cells):
            at = view.level[cell + k * step]
            log_mass[at] = log_add(log_mass[at], np.log(edges.q[h, k]))
        n_possible, last = 0, 0
        for l in range(levels.shape[0]):
            if log_mass[l] > -np.inf:
                n_possible, last = n_possible + 1, l
        if n_possible > 1:
            add_levels(terms, edges.rows.n[h], log_mass, levels, 0.0, 0.0)
        else:
            terms.total[0] -= edges.rows.n[h] * levels[last]


@jit
def add_group_information(edges, groups, out):
    """Add minus the Hessian of the log-likelihood by the values of groups, at the listed probabilities.

    `edges` (ListedRowView), `groups` (edges,) int64 and `out` (G, G).
    """
    field, rows, G = edges.field, edges.rows, out.shape[0]
    n_most, K = rows.states.shape[1], field.basis.shape[1]
    f, mean = np.empty((G, n_most)), np.empty(G)
    for block in range(rows.size.shape[0]):
        S = rows.size[block]
        for h in range(rows.histories[block, 0], rows.histories[block, 1]):
            p = edges.P[h]
            f[:, :S] = 0.0
            for e in range(groups.shape[0]):
                u = field.edges[e, 0]
                if rows.block[u] == block:
                    for s in range(S):
                        cell = rows.states[u, s] * K + second_state(edges, e, h, s)
                        f[groups[e], s] += field.statistic[e, cell]
            for g in range(G):
                mean[g] = 0.0
                for s in range(S):
                    mean[g] += p[s] * f[g, s]
            for g in range(G):
                for j in range(g + 1):
                    covariance = 0.0
                    for s in range(S):
                        covariance += p[s] * (f[g, s] - mean[g]) * (f[j, s] - mean[j])
                    out[g, j] += rows.n[h] * covariance
                    if j < g:
                        out[j, g] += rows.n[h] * covariance
