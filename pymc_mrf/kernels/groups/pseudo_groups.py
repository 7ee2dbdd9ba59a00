"""View of products of full conditionals for `group_labels`.

Given all other nodes of its row, a node's probability is, as a function of the parameter x of one of its
edges, exp(x f) over a sum of exp(lam_l + f_l x) over its states: one term for each row and end of the edge.
The product is the pseudo-likelihood (Besag, 1975). An arrow has one such end, its target; its source is a
node in an earlier row, as in `pymc_mrf.kernels.views.pseudo_edges`.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit, lean_summing, part
from pymc_mrf.kernels.by_type import by_type
from pymc_mrf.kernels.groups.edge_terms import LevelTerms, Terms, add_term, sum_of_norms
from pymc_mrf.kernels.groups.group_labels import describe, follow
from pymc_mrf.kernels.log_scores import log_add
from pymc_mrf.kernels.vector_sums import LOWEST, copy, dot, exp_negative, pair_dot

ROWS = 1024  # summed by groups at a time, to bound the room that takes


class PseudoView(NamedTuple):
    """A field and its data: the conditional scores of every node in every row.

    Attributes
    ----------
    edge_of : (r,) int64 array
        Edge of the field that each entry parametrises, -1 for none.
    s : (edges,) array
        Sum of f over the observations.
    x : (d, m) int8 array
        Different rows of the data, one per column.
    counts : (m,) array
        How often each occurs, positive.
    edges : (edges, 2) int64 array
    sources : (edges, 2) int64 array
        Source of either end of an edge; -1 for the second end of an arrow.
    f : (D, K, m) array
        Statistic of each state of a target with the source's own in each row: of all nodes, then of those of
        earlier rows.
    in_ptr, in_source, in_edge : (d + 1,), (n,), (n,) int64 arrays
        Sources of node i, and edges from them, from in_ptr[i] to in_ptr[i + 1].
    scores : (d, K, m) array
        Log conditional probabilities of the nodes' states at the present parameters, up to constants; -inf
        for states that a node does not have.
    p : (d, K, m) array
        Conditional probabilities, times counts, as `fill_probabilities` makes them.
    top, z : (m,) arrays
        Room for work.
    """

    edge_of: np.ndarray
    s: np.ndarray
    x: np.ndarray
    counts: np.ndarray
    edges: np.ndarray
    sources: np.ndarray
    f: np.ndarray
    in_ptr: np.ndarray
    in_source: np.ndarray
    in_edge: np.ndarray
    scores: np.ndarray
    p: np.ndarray
    top: np.ndarray
    z: np.ndarray


@jit
def fill_scores(eta, node_tables, view):
    """Conditional scores at `eta` (edges,) and `node_tables` (d, K)."""
    d, K, m = view.scores.shape
    for i in range(d):
        for a in range(K):
            for c in range(m):
                view.scores[i, a, c] = node_tables[i, a]
    for e in range(eta.shape[0]):
        add_edge(view, e, eta[e])


@jit
def add_edge(view, e, delta):
    """Add `delta` to the parameter of one edge of the field."""
    for end in range(n_targets(view, e)):
        u, source = view.edges[e, end], view.sources[e, end]
        for a in range(view.f.shape[1]):
            add_multiple(delta, view.f[source, a], view.scores[u, a])


@part
def n_targets(view, e):
    """Count the ends of an edge of the field that it changes."""
    return 1 if view.sources[e, 1] < 0 else 2


@part
def add_multiple(factor, source, target):
    """Add `factor` times `source` (m,) to `target` (m,)."""
    for c in range(target.shape[0]):
        target[c] += factor * source[c]


@part
def describe_two_states(terms, view, i, j, x):
    """Terms of node i of two states, by the difference of its scores; the edge's source is j."""
    t, f, scores = terms.size[0], view.f[j], view.scores[i]
    for c in range(f.shape[1]):
        sign = f[1, c] - f[0, c]
        if sign != 0.0:  # else f is 0, as a product with a score of 0 is
            lam = sign * (scores[1, c] - scores[0, c]) - x
            if lam > -np.inf:  # else f is 0 whatever the node's state
                terms.n[t], terms.lam[t], terms.more[t] = view.counts[c], lam, 0.0
                t += 1
    terms.size[0] = t


@by_type
def describe_end(terms, view, i, j, x):
    """Add the terms of node i, the edge's source being j."""


@describe_end.register(Terms)
def describe_binary_end(terms, view, i, j, x):
    """States of f = 1 together, and those of f = 0."""
    K, m = view.f.shape[1:]
    if K == 2:
        describe_two_states(terms, view, i, j, x)
        return
    for c in range(m):
        one, zero = -np.inf, -np.inf
        for a in range(K):
            value = view.scores[i, a, c]
            if view.f[j, a, c] == 1.0:
                one = log_add(one, value - x)
            else:
                zero = log_add(zero, value)
        if one > -np.inf:  # else f is 0 whatever the node's state
            add_term(terms, view.counts[c], one - zero, 0.0)


@describe_end.register(LevelTerms)
def describe_end_of_levels(terms, view, i, j, x):
    """Make each state of the node a level."""
    K, m = view.f.shape[1:]
    for c in range(m):
        t, varies = terms.size[0], False
        for a in range(K):
            f = view.f[j, a, c]
            terms.f[a, t], terms.lam[a, t] = f, view.scores[i, a, c] - f * x
            varies = varies or f != 0.0
        if varies:  # else the other end has the score 0, and f is 0 whatever the node's state
            terms.n[t], terms.more[t] = view.counts[c], 0.0
            terms.size[0] = t + 1


@describe.register(PseudoView)
def describe_pseudo(view, e, x, terms):
    """Describe all rows, as seen from either end."""
    edge = view.edge_of[e]
    if edge < 0:
        return
    for end in range(n_targets(view, edge)):
        terms.total[0] += view.s[edge]
        describe_end(terms, view, view.edges[edge, end], view.sources[edge, end], x)


@follow.register(PseudoView)
def follow_pseudo(view, e, x, value):
    """Change the scores of both ends."""
    edge = view.edge_of[e]
    if edge >= 0:
        add_edge(view, edge, value - x)
    return False


@jit
def fill_probabilities(view, i):
    """Conditional probabilities of the states of node i, times counts, into `view.p`.

    Returns
    -------
    float
        Sum over rows, times counts, of the log of their normalising constant.
    """
    scores, p, top, z, counts = view.scores[i], view.p[i], view.top, view.z, view.counts
    K, m = p.shape
    copy(scores[0], top)
    for a in range(1, K):
        for c in range(m):
            top[c] = max(top[c], scores[a, c])
    for c in range(m):
        z[c] = 0.0
    for a in range(K):
        for c in range(m):
            p[a, c] = exp_negative(max(scores[a, c] - top[c], LOWEST))
            z[c] += p[a, c]
    total = sum_of_norms(counts, top, z, m)
    for c in range(m):
        z[c] = counts[c] / z[c]
    for a in range(K):
        for c in range(m):
            p[a, c] *= z[c]
    return total


@jit
def log_pseudo_likelihood(view, moments):
    """Log pseudo-likelihood of all rows.

    `moments` (edges,) gets the sum over rows, times counts, and ends of the expectation of f given the source
    of the end. Overwrites ``p``, ``top`` and ``z`` of the view.
    """
    d, K, m = view.scores.shape
    value = 0.0
    for i in range(d):
        for c in range(m):
            value += view.counts[c] * view.scores[i, view.x[i, c], c]
        value -= fill_probabilities(view, i)
    for e in range(view.edges.shape[0]):
        u, source = view.edges[e, 0], view.sources[e, 0]
        v, other = view.edges[e, 1], view.sources[e, 1]
        moments[e] = 0.0
        for a in range(K):
            if other >= 0:
                moments[e] += pair_dot(view.p[u, a], view.f[source, a], view.p[v, a], view.f[other, a])
            else:
                moments[e] += dot(view.p[u, a], view.f[source, a])
    return value


@jit
def add_group_information(view, groups, out):
    """Add minus the Hessian of the log pseudo-likelihood by the values of groups to `out` (G, G).

    Overwrites ``p``, ``top`` and ``z`` of the view.

    Parameters
    ----------
    view : PseudoView
    groups : (edges,) int64 array
    out : (G, G) array
    """
    d, K, m = view.scores.shape
    n_most, n_rows = min(out.shape[0], np.max(np.diff(view.in_ptr))), min(m, ROWS)
    f, mean = np.empty((n_most, K, n_rows)), np.empty((n_most, n_rows))
    present = np.empty(n_most, dtype=np.int64)
    place = np.empty(out.shape[0], dtype=np.int64)
    for i in range(d):
        fill_probabilities(view, i)
        place[:] = -1
        n_present = 0
        for k in range(view.in_ptr[i], view.in_ptr[i + 1]):
            g = groups[view.in_edge[k]]
            if place[g] < 0:
                place[g], present[n_present] = n_present, g
                n_present += 1
        for start in range(0, m, ROWS):
            n = min(m - start, ROWS)
            rows = slice(start, start + n)
            f[:n_present] = 0.0
            mean[:n_present] = 0.0
            for k in range(view.in_ptr[i], view.in_ptr[i + 1]):
                for a in range(K):
                    own = f[place[groups[view.in_edge[k]]], a, :n]
                    add_multiple(1.0, view.f[view.in_source[k], a, rows], own)
            for j in range(n_present):
                for a in range(K):
                    add_product(view.p[i, a, rows], f[j, a, :n], mean[j, :n])
            for j in range(n_present):
                for h in range(j + 1):
                    covariance = -dot_over(mean[j, :n], mean[h, :n], view.counts[rows])
                    for a in range(K):
                        covariance += dot_three(view.p[i, a, rows], f[j, a, :n], f[h, a, :n])
                    q, g = present[j], present[h]
                    out[q, g] += covariance
                    if q != g:
                        out[g, q] += covariance


@part
def add_product(a, b, target):
    """Add a b to `target`; `a`, `b` and `target`, all (m,)."""
    for c in range(target.shape[0]):
        target[c] += a[c] * b[c]


@lean_summing
def dot_three(a, b, c):
    """Sum of the products of `a`, `b` and `c`, all (m,)."""
    s = 0.0
    for j in range(a.shape[0]):
        s += a[j] * b[j] * c[j]
    return s


@lean_summing
def dot_over(a, b, n):
    """Sum of a b / n; `a`, `b` and `n`, all (m,)."""
    s = 0.0
    for j in range(a.shape[0]):
        s += a[j] * b[j] / n[j]
    return s
