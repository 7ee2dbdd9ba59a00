"""View of the pseudo-likelihood (Besag, 1975) for `group_labels`.

Given all other nodes of its row, a node's probability is, as a function of the parameter x of one of its
edges, exp(x f) over a sum of exp(lam_l + f_l x) over its states: one term for each row and end of the edge.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit, part
from pymc_mrf.kernels.by_type import by_type
from pymc_mrf.kernels.edge_terms import LevelTerms, Terms, add_term
from pymc_mrf.kernels.group_labels import describe, follow


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
        How often each occurs.
    statistic : (K, K) array
        f, symmetric.
    edges : (edges, 2) int64 array
    scores : (d, m, K) array
        Log conditional probabilities of the nodes' states at the present parameters, up to constants; -inf
        for states that a node does not have.
    """

    edge_of: np.ndarray
    s: np.ndarray
    x: np.ndarray
    counts: np.ndarray
    statistic: np.ndarray
    edges: np.ndarray
    scores: np.ndarray


@jit
def fill_scores(eta, node_tables, view):
    """Conditional scores at `eta` (edges,) and `node_tables` (d, K)."""
    d, m, K = view.scores.shape
    for i in range(d):
        for c in range(m):
            for a in range(K):
                view.scores[i, c, a] = node_tables[i, a]
    for e in range(eta.shape[0]):
        add_edge(view, e, eta[e])


@jit
def add_edge(view, e, delta):
    """Add `delta` to the parameter of one edge of the field."""
    u, v = view.edges[e, 0], view.edges[e, 1]
    for c in range(view.x.shape[1]):
        a, b = view.x[u, c], view.x[v, c]
        for k in range(view.statistic.shape[0]):
            view.scores[u, c, k] += delta * view.statistic[k, b]
            view.scores[v, c, k] += delta * view.statistic[k, a]


@jit
def log_add(a, b):
    """log(exp(a) + exp(b)) of two numbers."""
    return max(a, b) + np.log1p(np.exp(-abs(a - b)))


@part
def describe_two_states(terms, view, i, j, x):
    """Terms of node i of two states, by the difference of its scores."""
    t, f, scores = terms.size[0], view.statistic, view.scores[i]
    for c in range(view.x.shape[1]):
        b = view.x[j, c]
        sign = f[1, b] - f[0, b]
        if sign != 0.0:
            lam = sign * (scores[c, 1] - scores[c, 0]) - x
            if lam > -np.inf:  # else f is 0 whatever the node's state
                terms.n[t], terms.lam[t], terms.more[t] = view.counts[c], lam, 0.0
                t += 1
    terms.size[0] = t


@by_type
def describe_end(terms, view, i, j, x):
    """Add the terms of node i, the edge's other end being node j."""


@describe_end.register(Terms)
def describe_binary_end(terms, view, i, j, x):
    """States of f = 1 together, and those of f = 0."""
    K = view.statistic.shape[0]
    if K == 2:
        describe_two_states(terms, view, i, j, x)
        return
    for c in range(view.x.shape[1]):
        b = view.x[j, c]
        one, zero = -np.inf, -np.inf
        for a in range(K):
            value = view.scores[i, c, a]
            if view.statistic[a, b] == 1.0:
                one = value - x if one == -np.inf else log_add(one, value - x)
            else:
                zero = value if zero == -np.inf else log_add(zero, value)
        if one > -np.inf:  # else f is 0 whatever the node's state
            add_term(terms, view.counts[c], one - zero, 0.0)


@describe_end.register(LevelTerms)
def describe_end_of_levels(terms, view, i, j, x):
    """Make each state of the node a level."""
    K = view.statistic.shape[0]
    for c in range(view.x.shape[1]):
        t, b, varies = terms.size[0], view.x[j, c], False
        for a in range(K):
            f = view.statistic[a, b]
            terms.f[a, t], terms.lam[a, t] = f, view.scores[i, c, a] - f * x
            varies = varies or f != 0.0
        if varies:  # else the other end has the score 0, and f is 0 whatever the node's state
            terms.n[t], terms.more[t] = view.counts[c], 0.0
            terms.size[0] = t + 1


@describe.register(PseudoView)
def describe_pseudo(view, e, x, terms):
    """All rows, as seen from either end."""
    edge = view.edge_of[e]
    if edge < 0:
        return
    u, v = view.edges[edge, 0], view.edges[edge, 1]
    terms.total[0] += 2.0 * view.s[edge]
    describe_end(terms, view, u, v, x)
    describe_end(terms, view, v, u, x)


@follow.register(PseudoView)
def follow_pseudo(view, e, x, value):
    """Change the scores of both ends."""
    edge = view.edge_of[e]
    if edge >= 0:
        add_edge(view, edge, value - x)
    return False


@jit
def log_pseudo_likelihood(view, moments):
    """Log pseudo-likelihood of all rows less s . eta and the node terms of the data; (edges,) moments.

    `moments` gets the sum over rows and both ends of the expectation of f given the other end.
    """
    d, m, K = view.scores.shape
    value = 0.0
    moments[:] = 0.0
    p = np.empty((d, K))
    for c in range(m):
        for i in range(d):
            top = view.scores[i, c, 0]
            for a in range(1, K):
                top = max(top, view.scores[i, c, a])
            total = 0.0
            for a in range(K):
                p[i, a] = np.exp(view.scores[i, c, a] - top)
                total += p[i, a]
            value += view.counts[c] * (view.scores[i, c, view.x[i, c]] - top - np.log(total))
            for a in range(K):
                p[i, a] /= total
        for e in range(view.edges.shape[0]):
            u, v = view.edges[e, 0], view.edges[e, 1]
            f = 0.0
            for a in range(K):
                f += (
                    p[u, a] * view.statistic[a, view.x[v, c]] + p[v, a] * view.statistic[a, view.x[u, c]]
                )
            moments[e] += view.counts[c] * f
    return value


@jit
def add_group_information(view, graph, groups, out):
    """Add minus the Hessian of the log pseudo-likelihood by the values of groups to `out` (G, G).

    Parameters
    ----------
    view : PseudoView
    graph : GraphArrays
    groups : (edges,) int64 array
    out : (G, G) array
    """
    d, m, K = view.scores.shape
    f = np.empty((K, out.shape[0]))
    mean = np.empty(out.shape[0])
    p = np.empty(K)
    present = np.empty(out.shape[0], dtype=np.int64)
    for i in range(d):
        n_present = 0
        for k in range(graph.indptr[i], graph.indptr[i + 1]):
            g = groups[graph.edge_ids[k]]
            if g not in present[:n_present]:
                present[n_present] = g
                n_present += 1
        for c in range(m):
            top = np.max(view.scores[i, c])
            total = 0.0
            for a in range(K):
                p[a] = np.exp(view.scores[i, c, a] - top)
                total += p[a]
            for j in range(n_present):
                mean[present[j]] = 0.0
                for a in range(K):
                    f[a, present[j]] = 0.0
            for k in range(graph.indptr[i], graph.indptr[i + 1]):
                b = view.x[graph.neighbors[k], c]
                for a in range(K):
                    f[a, groups[graph.edge_ids[k]]] += view.statistic[a, b]
            for j in range(n_present):
                for a in range(K):
                    mean[present[j]] += p[a] * f[a, present[j]] / total
            for j in range(n_present):
                for h in range(n_present):
                    q, g = present[j], present[h]
                    covariance = -mean[q] * mean[g]
                    for a in range(K):
                        covariance += p[a] / total * f[a, q] * f[a, g]
                    out[q, g] += view.counts[c] * covariance
