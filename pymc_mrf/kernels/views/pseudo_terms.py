"""Terms of the full conditionals of the nodes of a field, for views of their products.

Local fields, and what follows from them in every row, belong to the nodes; those of the ends of one edge are
kept beside them, without the edge or at another value of it. In all functions `view` is `PseudoView` or
another view with its records. A value `x` (W,) of an edge is a tuple of one number or, of a block
(`block_edges`), an array; its parameters follow one another, and the edge is known by the first of them.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean, part
from pymc_mrf.kernels.vector_sums import centred_dot, centred_pair_dot, copy, next_nonzero
from pymc_mrf.kernels.views.pseudo_rows import information, node_terms, normaliser, rows_of_node
from pymc_mrf.kernels.views.pseudo_scores import follow
from pymc_mrf.kernels.views.questions import fill_node_tables

ENDS = np.dtype([("g", float), ("h", float), ("A_u", float), ("A_v", float)])
"""Terms of the targets of an edge: its score and information; sums of the log normaliser of either."""


class Ends(NamedTuple):
    """Terms of the targets of one edge at some value of it; those of the second are void if there is one.

    Attributes
    ----------
    L, R : (2, M, N) arrays
        As those of `NodeTerms`, of either end, and so are the next.
    p, v, C : (2, K), (2, K), (2, M, M) arrays
    sums : (1,) record array of `ENDS`
    """

    L: np.ndarray
    R: np.ndarray
    p: np.ndarray
    v: np.ndarray
    C: np.ndarray
    sums: np.ndarray


class NodeTerms(NamedTuple):
    """What depends on the parameters, of all nodes.

    Attributes
    ----------
    L, R : (d, M, N) arrays
        Local fields, and residuals: features less their conditional means, times counts.
    p, v : (d, K) arrays
        Sums over rows of the conditional probabilities of states, and of their variances p (1 - p).
    C : (d, M, M) array
        Sums over rows of the conditional covariances of the features.
    A : (d,) array
        Sums over rows of the log normaliser.
    """

    L: np.ndarray
    R: np.ndarray
    p: np.ndarray
    v: np.ndarray
    C: np.ndarray
    A: np.ndarray


class EndLists(NamedTuple):
    """Scratch: the ends of some edges at each node, which follow one another, after `list_ends`.

    The end of edge ``edge[k]`` has the number 2 k + end.

    Attributes
    ----------
    edge : (r,) int64 array
    following : (2 r,) int64 array
        Number of the next end at the same node; -1 after the last one.
    first : (d,) int64 array
        Of each node.
    is_listed : (r,) bool array
        False between two calls.
    """

    edge: np.ndarray
    following: np.ndarray
    first: np.ndarray
    is_listed: np.ndarray


def allocate_end_lists(d: int, r: int) -> EndLists:
    """Room for d nodes and r edges."""
    places = np.zeros(r, dtype=np.int64), np.zeros(2 * r, dtype=np.int64), np.zeros(d, dtype=np.int64)
    return EndLists(*places, np.zeros(r, dtype=np.bool_))


@lean
def n_targets(view, e):
    """Count the ends of edge e that it changes."""
    return 1 if view.sources[e, 1] < 0 else 2


@part
def add_to_field(view, e, end, x, L):
    """Add to the local fields `L` (M, N) of an end of edge e what the value x of the edge gives to them."""
    field, source = view.field, view.sources[e, end]
    N = rows_of_node(view.rows, field.edges[e, end])
    for t in range(field.products.shape[1]):
        l, k = field.products[e, t, end], field.products[e, t, 1 - end]
        S, c = view.rows.S[source, k], field.centre[e, 1 - end, l]
        for j in range(N):
            L[l, j] += x * (S[j] - c)


@lean
def add_to_fields(view, e, x):
    """Add x to edge e in the local fields of its targets alone: the other terms belong to no parameters."""
    for end in range(n_targets(view, e)):
        add_to_field(view, e, end, x, view.now.L[view.field.edges[e, end]])


@lean
def list_ends(view, edges):
    """List the ends of `edges` (k,), in this order, and of all others that are present, at each node."""
    ends, n, r = view.ends, edges.shape[0], view.w.shape[0]
    for a in range(n):
        ends.edge[a] = edges[a]
        ends.is_listed[edges[a]] = True
    e = next_nonzero(view.w, 0)
    while e < r:
        if not ends.is_listed[e]:
            ends.edge[n] = e
            n += 1
        e = next_nonzero(view.w, e + 1)
    for a in range(edges.shape[0]):
        ends.is_listed[edges[a]] = False
    for i in range(ends.first.shape[0]):
        ends.first[i] = -1
    for k in range(n - 1, -1, -1):
        for end in range(n_targets(view, ends.edge[k])):
            i = view.field.edges[ends.edge[k], end]
            ends.following[2 * k + end] = ends.first[i]
            ends.first[i] = 2 * k + end


@lean
def fill_field_of_node(view, i, L):
    """Local fields `L` (M, N) of node i at the view's parameters, after `list_ends`."""
    given, ends = view.rows.given, view.ends
    for l in range(L.shape[0]):
        for j in range(L.shape[1]):
            L[l, j] = given[i, l, j] if given.shape[0] > 0 else 0.0
    place = ends.first[i]
    while place >= 0:
        e, end = ends.edge[place // 2], place % 2
        add_to_field(view, e, end, view.w[e], L)
        place = ends.following[place]


@lean
def begin_pass(view, edges):
    """Prepare a pass over all nodes at the view's parameters; `edges` (k,) are listed first."""
    fill_node_tables(view.field, view.beta, view.tables)
    list_ends(view, edges)


@lean
def fill_fields(view):
    """Recompute the local fields of all nodes at the view's parameters alone, as `add_to_fields`."""
    begin_pass(view, view.field.order[:0])
    for i in range(view.now.A.shape[0]):
        fill_field_of_node(view, i, view.now.L[i])


@lean
def refresh(view):
    """Recompute the terms of all nodes at the view's parameters."""
    now = view.now
    begin_pass(view, view.field.order[:0])
    for i in range(now.A.shape[0]):  # both for one node after the other, while its rows are at hand
        fill_field_of_node(view, i, now.L[i])
        now.A[i] = node_terms(view, i, now.L[i], now.R[i], now.p[i], now.v[i], now.C[i])


@lean
def add_scores_of_node(view, i, R, slope):
    """Add to `slope` (k,), by the first edges listed, what node i says by its residuals `R` (M, N)."""
    ends, N = view.ends, rows_of_node(view.rows, i)
    place = ends.first[i]
    while place >= 0:
        k, end = place // 2, place % 2
        if k < slope.shape[0]:
            e = ends.edge[k]
            S, c = view.rows.S[view.sources[e, end]], view.field.centre[e, 1 - end]
            for t in range(view.field.products.shape[1]):
                l, m = view.field.products[e, t, end], view.field.products[e, t, 1 - end]
                slope[k] += centred_dot(R[l, :N], S[m, :N], c[l])
        place = ends.following[place]


@lean
def score(view, e, R_u, R_v):
    """Slope by edge e whose ends have the residuals `R_u` and `R_v` (M, N)."""
    source_u, source_v, c, g = view.sources[e, 0], view.sources[e, 1], view.field.centre[e], 0.0
    N = rows_of_node(view.rows, view.field.edges[e, 0])
    for t in range(view.field.products.shape[1]):
        l, k = view.field.products[e, t, 0], view.field.products[e, t, 1]
        S = view.rows.S[source_u, k, :N]
        if source_v >= 0:
            other = view.rows.S[source_v, l, :N]
            g += centred_pair_dot(R_u[l, :N], S, c[1, l], R_v[k, :N], other, c[0, k])
        else:
            g += centred_dot(R_u[l, :N], S, c[1, l])
    return g


@lean
def fill_field(view, e, end, L, sign, x, out):
    """Local fields `L` (M, N) of an end of edge e, with its value x times `sign`, into `out`."""
    own, N = out.L[end], rows_of_node(view.rows, view.field.edges[e, end])
    for l in range(L.shape[0]):
        copy(L[l, :N], own[l, :N])
    for k in range(len(x)):
        add_to_field(view, e + k, end, sign * x[k], own)


@lean
def fill_end(view, e, end, L, sign, x, out):
    """Terms of an end of edge e at local fields as of `fill_field`, into `out`; its log normaliser."""
    fill_field(view, e, end, L, sign, x, out)
    i = view.field.edges[e, end]
    return node_terms(view, i, out.L[end], out.R[end], out.p[end], out.v[end], out.C[end])


@lean
def fill_ends(view, e, L_u, L_v, sign, x, out):
    """Terms of edge e's targets at local fields `L_u` and `L_v` (M, N) with its value, into `out`.

    But for score and information: `keep` may follow.
    """
    sums = out.sums[0]
    sums.A_u, sums.A_v = fill_end(view, e, 0, L_u, sign, x, out), 0.0
    if view.sources[e, 1] >= 0:
        sums.A_v = fill_end(view, e, 1, L_v, sign, x, out)


@lean
def fill_all_of_ends(view, e, L_u, L_v, x, out):
    """Fill what `fill_ends` does, and score and information, of an edge with one parameter.

    A function of its own, as not all views answer what it asks. A loop over both ends, here and there, is
    less code and takes 6 to 7 % longer.
    """
    sums, edge, source = out.sums[0], view.field.edges[e], view.sources[e]
    S, c = view.rows.S, view.field.centre[e]
    sums.A_u, sums.A_v = fill_end(view, e, 0, L_u, 1.0, x, out), 0.0
    sums.h = information(view, edge[0], S[source[0]], c[1])
    if source[1] >= 0:
        sums.A_v = fill_end(view, e, 1, L_v, 1.0, x, out)
        sums.h += information(view, edge[1], S[source[1]], c[0])
    sums.g = score(view, e, out.R[0], out.R[1])


@lean
def normalisers(view, e, L_u, L_v, x, out):
    """Return the log normalisers of edge e's targets at the local fields of `fill_ends`; 0 for none.

    Local fields go to `out`, all else of which is void then.
    """
    edge, A_v = view.field.edges[e], 0.0
    fill_field(view, e, 0, L_u, 1.0, x, out)
    A_u = normaliser(view, edge[0], out.L[0])
    if view.sources[e, 1] >= 0:
        fill_field(view, e, 1, L_v, 1.0, x, out)
        A_v = normaliser(view, edge[1], out.L[1])
    return A_u, A_v


@lean
def keep(view, e, terms):
    """Make `terms` those of the targets of edge e."""
    now, sums = view.now, terms.sums[0]
    for end in range(n_targets(view, e)):
        u = view.field.edges[e, end]
        now.A[u] = sums.A_u if end == 0 else sums.A_v
        N = rows_of_node(view.rows, u)
        for l in range(terms.L.shape[1]):
            copy(terms.L[end, l, :N], now.L[u, l, :N])
            copy(terms.R[end, l, :N], now.R[u, l, :N])
            copy(terms.C[end, l], now.C[u, l])
        follow(view.scores, u, now.R[u])
        copy(terms.p[end], now.p[u])
        copy(terms.v[end], now.v[u])
