"""View of products of full conditionals for `edge_moves` and `hamiltonian`.

The conditional probabilities of every node in every row are those of `pseudo_rows`: edges move while the
centred biases stay. The local fields of all nodes and rows are kept, with what follows from them, and only
the *targets* change with an edge.

Both ends of an undirected edge are targets, each of which has the other one for a source, in the same row:
the product is the pseudo-likelihood (Besag, 1975). An arrow has one target, and its source is a node in an
earlier row: given that row the product of all nodes is the likelihood itself.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.vector_sums import centred_dot, centred_pair_dot, copy, dot_three
from pymc_mrf.kernels.views import questions
from pymc_mrf.kernels.views.pseudo_rows import (
    BinaryRoom,
    Room,
    Rows,
    allocate_room,
    information,
    node_terms,
    rows_of_node,
)
from pymc_mrf.kernels.views.questions import Field, FieldData, fill_node_tables

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
    w, beta : (r,), (d q,) arrays
        Weights and centred biases that all this belongs to.
    """

    L: np.ndarray
    R: np.ndarray
    p: np.ndarray
    v: np.ndarray
    C: np.ndarray
    A: np.ndarray
    w: np.ndarray
    beta: np.ndarray


class EdgeSums(NamedTuple):
    """What the rows say of each edge whatever the parameters.

    Attributes
    ----------
    Z2 : (r, 2, M, M) array
        Means over rows of the products of the centred features Z of either end of an edge; 0 for the first
        end of an arrow, which is nobody's source.
    s : (r,) array
        T_u . Z_v + T_v . Z_u; of an arrow T_u . Z_v.
    """

    Z2: np.ndarray
    s: np.ndarray


class PseudoEdges(NamedTuple):
    """A field and its rows.

    Attributes
    ----------
    field : Field
    data : FieldData
    w, b, beta : (r,), (d q,), (d q,) arrays
        Present parameters: weights, biases, centred biases.
    n_biases : int
        d q if the biases move, else 0.
    sources : (r, 2) int64 array
        Source of either end of an edge, which is then a target; -1 for the second end of an arrow, which is
        none.
    rows : Rows
    sums : EdgeSums
    tables : (d, K) array
        beta_i(a).
    now : NodeTerms
    without, proposed : Ends
        Of the edge that is looked at: without it, and at the value last asked for.
    kept : Ends
        `without`, kept: arrays with a first axis over blocks.
    room : BinaryRoom or Room
    """

    field: Field
    data: FieldData
    w: np.ndarray
    b: np.ndarray
    beta: np.ndarray
    n_biases: int
    sources: np.ndarray
    rows: Rows
    sums: EdgeSums
    tables: np.ndarray
    now: NodeTerms
    without: Ends
    proposed: Ends
    kept: Ends
    room: BinaryRoom | Room


def allocate_view(
    field: Field, data: FieldData, n_biases: int, sources: np.ndarray, rows: Rows
) -> PseudoEdges:
    """View with room for everything, of no parameters so far; `sources` (r, 2) and `rows` are its own."""
    (d, M, K), r, n_parameters = field.features.shape, len(field.edges), len(data.t)
    n_blocks, N = rows.n.shape

    def ends(*n: int) -> Ends:
        shapes = (*n, 2, M, N), (*n, 2, M, N), (*n, 2, K), (*n, 2, K), (*n, 2, M, M)
        return Ends._make([*map(np.zeros, shapes), np.zeros(n or 1, ENDS).view(np.recarray)])

    sizes = (d, M, N), (d, M, N), (d, K), (d, K), (d, M, M), d
    nothing = np.full(r, np.nan), np.full(n_parameters, np.nan)
    return PseudoEdges(
        field=field,
        data=data,
        w=np.zeros(r),
        b=np.zeros(n_parameters),
        beta=np.zeros(n_parameters),
        n_biases=n_biases,
        sources=sources,
        rows=rows,
        sums=EdgeSums(np.zeros((r, 2, M, M)), np.zeros(r)),
        tables=np.zeros((d, K)),
        now=NodeTerms._make([*map(np.zeros, sizes), *nothing]),
        without=ends(),
        proposed=ends(),
        kept=ends(n_blocks),
        room=allocate_room(M, K, N),
    )


@lean
def n_targets(view, e):
    """Count the ends of edge e that it changes."""
    return 1 if view.sources[e, 1] < 0 else 2


@lean
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
    view.now.w[e] = np.nan


@lean
def fill_fields(view):
    """Recompute the local fields of all nodes at the view's parameters alone, as `add_to_fields`."""
    now, (d, M, N) = view.now, view.now.L.shape
    fill_node_tables(view.field, view.beta, view.tables)
    for i in range(d):
        for l in range(M):
            for j in range(N):
                now.L[i, l, j] = 0.0
    for e in range(now.w.shape[0]):
        now.w[e] = np.nan
        if view.w[e] != 0.0:
            for end in range(n_targets(view, e)):
                add_to_field(view, e, end, view.w[e], now.L[view.field.edges[e, end]])


@lean
def refresh(view):
    """Recompute the terms of all nodes at the view's parameters."""
    now = view.now
    fill_fields(view)
    copy(view.w, now.w)
    copy(view.beta, now.beta)
    for i in range(now.A.shape[0]):
        now.A[i] = node_terms(view, i, now.L[i], now.R[i], now.p[i], now.v[i], now.C[i])


@lean
def fill_end(view, e, end, L, x, out):
    """Terms of an end of edge e at local fields L + x Z, `L` (M, N) and Z of its source, into `out`.

    Returns the sum of the log normaliser, and the information.
    """
    i, S, c = view.field.edges[e, end], view.rows.S[view.sources[e, end]], view.field.centre[e, 1 - end]
    for l in range(L.shape[0]):
        for j in range(rows_of_node(view.rows, i)):
            out.L[end, l, j] = L[l, j] + x * (S[l, j] - c[l])
    A = node_terms(view, i, out.L[end], out.R[end], out.p[end], out.v[end], out.C[end])
    return A, information(view, i, S, c)


@lean
def fill_ends(view, e, L_u, L_v, x, out):
    """Terms of edge e's targets at local fields L_u + x Z_v and L_v + x Z_u, all (M, N), into `out`."""
    sums = out.sums[0]
    sums.A_v = 0.0
    sums.A_u, h = fill_end(view, e, 0, L_u, x, out)
    if view.sources[e, 1] >= 0:
        sums.A_v, h_v = fill_end(view, e, 1, L_v, x, out)
        h += h_v
    sums.g, sums.h = score(view, e, out.R[0], out.R[1]), h


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
def present_normalisers(view, e):
    """Return the sums of the log normalisers of edge e's targets, as it is; 0 for an end that is none."""
    A, edge = view.now.A, view.field.edges[e]
    return A[edge[0]], A[edge[1]] if view.sources[e, 1] >= 0 else 0.0


@lean
def product_of_moments(C, Z2):
    """Sum of the products of the entries of `C` and `Z2`, both (M, M)."""
    value = 0.0
    for l in range(C.shape[0]):
        for k in range(C.shape[0]):
            value += C[l, k] * Z2[l, k]
    return value


@questions.look_at.register(PseudoEdges)
def look_at_rows(view, e, x):
    """Score from the residuals; information as if ends had independent variances: without a pass."""
    u, v, Z2 = view.field.edges[e, 0], view.field.edges[e, 1], view.sums.Z2[e]
    now, without = view.now, view.without
    sums = without.sums[0]
    if x == 0.0:
        sums.g = score(view, e, now.R[u], now.R[v])
        sums.A_u, sums.A_v = present_normalisers(view, e)
        sums.h = product_of_moments(now.C[u], Z2[1]) + product_of_moments(now.C[v], Z2[0])
    else:
        fill_ends(view, e, now.L[u], now.L[v], -x, without)
        sums.h = product_of_moments(without.C[0], Z2[1]) + product_of_moments(without.C[1], Z2[0])
    return 0.5 * sums.g * sums.g / sums.h, sums.h


@questions.without_edge.register(PseudoEdges)
def rows_without_edge(view, e):
    """Return what `look_at_rows` found."""
    return view.without.sums[0].g, view.without.sums[0].h


@questions.keep_look.register(PseudoEdges)
def keep_ends(view, slot):
    """Copy the local fields without the edge, and the sums."""
    view.kept.sums[slot] = view.without.sums[0]
    for end in range(2):
        for l in range(view.without.L.shape[1]):
            copy(view.without.L[end, l], view.kept.L[slot, end, l])


@questions.recall_look.register(PseudoEdges)
def recall_ends(view, slot):
    """Copy them back."""
    view.without.sums[0] = view.kept.sums[slot]
    for end in range(2):
        for l in range(view.without.L.shape[1]):
            copy(view.kept.L[slot, end, l], view.without.L[end, l])


@lean
def row_gain(view, e, x):
    """Log-likelihood gained by moving edge e from 0 to x, by a pass over the rows of its targets."""
    u, v = view.field.edges[e, 0], view.field.edges[e, 1]
    if view.w[e] == 0.0:
        fill_ends(view, e, view.now.L[u], view.now.L[v], x, view.proposed)
    else:
        fill_ends(view, e, view.without.L[0], view.without.L[1], x, view.proposed)
    before, after = view.without.sums[0], view.proposed.sums[0]
    return x * view.sums.s[e] - (after.A_u - before.A_u) - (after.A_v - before.A_v)


@questions.likelihood_terms.register(PseudoEdges)
def row_terms(view, e, x):
    """Compute the terms by a pass over the rows of the targets."""
    value, sums = row_gain(view, e, x), view.proposed.sums[0]
    return value, sums.g, sums.h


@questions.gain.register(PseudoEdges)
def gain_in_rows(view, e, x):
    """Compute the gain by a pass over the rows of the targets, but for the present value without one."""
    if x == view.w[e]:
        (A_u, A_v), before = present_normalisers(view, e), view.without.sums[0]
        return x * view.sums.s[e] - (A_u - before.A_u) - (A_v - before.A_v)
    return row_gain(view, e, x)


@questions.follow.register(PseudoEdges)
def follow_in_rows(view, e, old, new):
    """Make the terms at the new value those of the targets."""
    if new != 0.0:
        keep(view, e, view.proposed)
    else:
        keep(view, e, view.without)
    view.now.w[e] = new


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
        copy(terms.p[end], now.p[u])
        copy(terms.v[end], now.v[u])


@lean
def catch_up(view):
    """Recompute the terms of all nodes, if they do not belong to the view's parameters."""
    if not is_up_to_date(view):
        refresh(view)


@lean
def is_up_to_date(view):
    """Whether the terms of the nodes belong to the view's parameters."""
    for e in range(view.w.shape[0]):
        if view.w[e] != view.now.w[e]:
            return False
    for i in range(view.b.shape[0]):
        if view.beta[i] != view.now.beta[i]:
            return False
    return True


@questions.add_slopes.register(PseudoEdges)
def add_slopes_by_rows(view, active, slope):
    """Log of the product of full conditionals and its slopes, from the local fields."""
    catch_up(view)
    field, data, now, rows = view.field, view.data, view.now, view.rows
    k, value = active.shape[0], 0.0
    for i in range(view.tables.shape[0]):
        value -= now.A[i]
        N, n = rows_of_node(rows, i), rows.n[rows.block[i]]
        for l in range(rows.T.shape[1]):
            value += dot_three(n[:N], rows.T[i, l, :N], now.L[i, l, :N])
    for a in range(view.beta.shape[0]):
        value += view.beta[a] * data.t[a]
    for a in range(k):
        u, v = field.edges[active[a], 0], field.edges[active[a], 1]
        slope[a] += score(view, active[a], now.R[u], now.R[v])
    q = field.basis.shape[0]
    for a in range(view.n_biases):
        mean = 0.0
        for c in range(field.basis.shape[1]):
            mean += now.p[a // q, c] * field.basis[a % q, c]
        slope[k + a] += data.t[a] - mean
    return value
