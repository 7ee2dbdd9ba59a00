"""Products of full conditionals for `group_labels`: answers to `edgewise_groups` by rows.

Given all other nodes of its row, a node's probability is, as a function of the parameter x of one of its
edges, exp(x f) over a sum of exp(lam_l + f_l x) over its states: one term for each row and target of the
edge.
"""

from typing import Any

import numpy as np

from pymc_mrf.kernels._jit import by_type, jit, part
from pymc_mrf.kernels.groups.edge_terms import LevelTerms, Terms
from pymc_mrf.kernels.groups.edgewise_groups import add_edge_terms, move_edge
from pymc_mrf.kernels.vector_sums import LOWEST, add_multiple, dot_three, exp_negative, log_from_one
from pymc_mrf.kernels.views.pseudo_edges import PseudoView
from pymc_mrf.kernels.views.pseudo_rows import (
    BinaryRoom,
    Room,
    fill_probabilities,
    fill_scores,
    rows_of_node,
)
from pymc_mrf.kernels.views.pseudo_terms import add_to_fields, n_targets

TINY = 1e-300  # more than exp(LOWEST)
ROWS = 1024  # summed by groups at a time, to bound the room that takes


@by_type
def describe_end(terms: Any, edges: Any, view: Any, i: int, source: int, x: float) -> None:
    """Add the terms of node i, whose source is `source`, of an edge whose entry is x."""


@by_type
def describe_node(room: Any, terms: Any, edges: Any, view: Any, i: int, source: int, x: float) -> None:
    """Answer `describe_end` where f is 0 or 1, with scratch in the `room` of the edges."""


@describe_node.register(BinaryRoom)
def describe_two_states(room, terms, edges, view, i, source, x):
    """Terms of node i of two states and one feature, by its log odds."""
    t, F, rows = terms.size[0], edges.field.features[i], edges.rows
    S, L, n, step = rows.S[source, 0], edges.now.L[i, 0], rows.n[rows.block[i]], F[0, 1] - F[0, 0]
    gap, unit = edges.tables[i, 1] - edges.tables[i, 0], step / view.scale
    for j in range(rows.size[rows.block[i]]):
        sign = unit * S[j]
        if sign != 0.0 and n[j] > 0.0:  # else f is 0, as a product with a score of 0 is
            lam = sign * (gap + step * L[j]) - x
            if lam > -np.inf:  # else f is 0 whatever the node's state
                terms.n[t], terms.lam[t], terms.more[t] = n[j], lam, 0.0
                t += 1
    terms.size[0] = t


@part
def fill_statistic(F, S, a, out):
    """Statistic `out` (m,) of state a of a target with features `F` (M, K), its source having `S` (M, N)."""
    for j in range(out.shape[0]):
        out[j] = 0.0
    for l in range(F.shape[0]):
        if F[l, a] != 0.0:
            for j in range(out.shape[0]):
                out[j] += F[l, a] * S[l, j]


@part
def fill_indicator(F, S, a, least, out):
    """Whether the statistic of state a is at least `least`, 0 or 1, into `out` (m,); as `fill_statistic`."""
    fill_statistic(F, S, a, out)
    for j in range(out.shape[0]):
        out[j] = 1.0 if out[j] >= least else 0.0


@describe_node.register(Room)
def describe_many_states(room, terms, edges, view, i, source, x):
    """Terms of node i of any number of states: those of f = 1 together, and those of f = 0.

    Log odds are cut at 700 either way, from where f is known whatever x.
    """
    F, rows, P = edges.field.features[i], edges.rows, room.P
    S, n, m, t = rows.S[source], rows.n[rows.block[i]], rows_of_node(rows, i), terms.size[0]
    top, f, one, zero = room.top[:m], room.z[:m], room.first[:m], room.second[:m]
    least = view.low + 0.5 * view.scale
    fill_scores(edges.tables[i], F, edges.now.L[i], P, top)
    for j in range(m):
        top[j] = -np.inf
    for a in range(F.shape[1]):
        fill_indicator(F, S, a, least, f)
        for j in range(m):
            P[a, j] -= x * f[j]
        for j in range(m):
            top[j] = max(top[j], P[a, j])
    for j in range(m):
        one[j], zero[j] = 0.0, 0.0
    for a in range(F.shape[1]):
        fill_indicator(F, S, a, least, f)
        for j in range(m):
            P[a, j] = exp_negative(max(P[a, j] - top[j], LOWEST))
        for j in range(m):
            one[j] += f[j] * P[a, j]
        for j in range(m):
            zero[j] += (1.0 - f[j]) * P[a, j]
    for j in range(m):
        top[j] = log_from_one(one[j]) - log_from_one(zero[j])
    for j in range(m):
        if one[j] > TINY and n[j] > 0.0:  # else f is 0 whatever the node's state
            terms.n[t], terms.lam[t], terms.more[t] = n[j], top[j], 0.0
            t += 1
    terms.size[0] = t


@describe_end.register(Terms)
def describe_binary_end(terms, edges, view, i, source, x):
    """Tell nodes of two states from others by the room that they need."""
    describe_node(edges.room, terms, edges, view, i, source, x)


@describe_end.register(LevelTerms)
def describe_end_of_levels(terms, edges, view, i, source, x):
    """Make each state of the node a level, and leave out rows in which f is 0 whatever its state."""
    F, rows, P, start = edges.field.features[i], edges.rows, edges.room.P, terms.size[0]
    S, n, m, K = rows.S[source], rows.n[rows.block[i]], rows_of_node(rows, i), edges.tables.shape[1]
    fill_scores(edges.tables[i], F, edges.now.L[i], P, edges.room.top[:m])
    for a in range(K):
        f = terms.f[a, start : start + m]
        fill_statistic(F, S, a, f)
        for j in range(m):
            f[j] *= 1.0 / view.scale
            terms.lam[a, start + j] = P[a, j] - x * f[j]
    t = start
    for j in range(m):
        varies = False
        for a in range(K):
            varies = varies or terms.f[a, start + j] != 0.0
        if varies and n[j] > 0.0:
            for a in range(K):
                terms.f[a, t], terms.lam[a, t] = terms.f[a, start + j], terms.lam[a, start + j]
            terms.n[t], terms.more[t] = n[j], 0.0
            t += 1
    terms.size[0] = t


@add_edge_terms.register(PseudoView)
def add_edge_of_rows(edges, view, e, x, terms):
    """Describe all rows, as seen from either target."""
    for end in range(n_targets(edges, e)):
        describe_end(terms, edges, view, edges.field.edges[e, end], edges.sources[e, end], x)


@move_edge.register(PseudoView)
def move_edge_in_rows(edges, view, e, x, value):
    """Change the local fields of both ends: terms are made of nothing else."""
    add_to_fields(edges, e, (value - x) / view.scale)
    return False


@jit
def add_group_information(edges, arrivals, groups, out):
    """Add minus the Hessian of the log-likelihood by the weights of groups to `out` (G, G).

    `edges`: whose local fields are up to date. `arrivals` (d + 1,), (n,), (n,) int64: sources of node i,
    and edges from them: entries arrivals[0][i] to arrivals[0][i + 1] of the others. `groups` (edges,)
    int64 and `out` (G, G).
    """
    rows, (first, source, edge), (d, M, K) = edges.rows, arrivals, edges.field.features.shape
    n_most, n_rows = min(out.shape[0], np.max(np.diff(first))), min(rows.n.shape[1], ROWS)
    f, mean = np.empty((n_most, K, n_rows)), np.empty((n_most, n_rows))
    present = np.empty(n_most, dtype=np.int64)
    place = np.empty(out.shape[0], dtype=np.int64)
    P, room = np.empty((K, rows.n.shape[1])), np.empty((2, rows.n.shape[1]))
    for i in range(d):
        F, block = edges.field.features[i], rows.block[i]
        m, once = rows.size[block], rows.once[block]
        counts, inverse = rows.n[block, :m], rows.inverse[block, :m]
        fill_probabilities(edges.tables[i], F, edges.now.L[i], counts, once, P, room[0, :m], room[1, :m])
        place[:] = -1
        n_present = 0
        for k in range(first[i], first[i + 1]):
            g = groups[edge[k]]
            if place[g] < 0:
                place[g], present[n_present] = n_present, g
                n_present += 1
        for start in range(0, m, ROWS):
            n = min(m - start, ROWS)
            here = slice(start, start + n)
            f[:n_present] = 0.0
            mean[:n_present] = 0.0
            for k in range(first[i], first[i + 1]):
                for a in range(K):
                    for l in range(M):
                        if F[l, a] != 0.0:
                            own = f[place[groups[edge[k]]], a, :n]
                            add_multiple(F[l, a], rows.S[source[k], l, here], own)
            for j in range(n_present):
                for a in range(K):
                    add_product(P[a, here], f[j, a, :n], mean[j, :n])
            for j in range(n_present):
                for h in range(j + 1):
                    covariance = -dot_three(mean[j, :n], mean[h, :n], inverse[here])
                    for a in range(K):
                        covariance += dot_three(P[a, here], f[j, a, :n], f[h, a, :n])
                    q, g = present[j], present[h]
                    out[q, g] += covariance
                    if q != g:
                        out[g, q] += covariance


@part
def add_product(a, b, target):
    """Add a b to `target`; `a`, `b` and `target`, all (m,)."""
    for c in range(target.shape[0]):
        target[c] += a[c] * b[c]
