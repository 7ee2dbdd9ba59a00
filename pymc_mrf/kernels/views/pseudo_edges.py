"""View of products of full conditionals for `edge_moves` and `hamiltonian`.

A node is in state a with log odds beta_i(a) + sum_l F_il(a) L_il in a row, L_il = sum_j w_ij Z_ijl its local
fields, one for each feature F_il of `questions.Field`, Z_ijl = F_jl(x_j) - c_ijl those of its *sources*,
c_ij the `Field.centre`, and beta_i(a) its centred biases: edges move while these stay. The local fields of
all nodes and rows are kept, with what follows from them, and only the *targets* change with an edge.

Both ends of an undirected edge are targets, each of which has the other one for a source, in the same row:
the product is the pseudo-likelihood (Besag, 1975). An arrow has one target, and its source is a node in an
earlier row: given that row the product of all nodes is the likelihood itself.

Arrays over rows are stored node by node, padded to a multiple of 8 by rows with T = R = 0.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.vector_sums import (
    LOWEST,
    centred_dot,
    centred_pair_dot,
    copy,
    dot,
    dot_square,
    exp_negative,
    product,
    total,
    total_positive,
)
from pymc_mrf.kernels.views import questions
from pymc_mrf.kernels.views.questions import Field, fill_node_tables

LANES = 8
CHUNK = 512  # rows whose factors 1 + exp(-|L|) <= 2 are multiplied before a logarithm is taken
CHUNK_OF_STATES = 128  # as many for factors up to 127, the largest number of states

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
        Local fields, and residuals: features less their conditional means.
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


class Rows(NamedTuple):
    """Scratch over rows.

    Attributes
    ----------
    P : (K, N) array
    base : (M, N) array
    top, z, first, second : (N,) arrays
    """

    P: np.ndarray
    base: np.ndarray
    top: np.ndarray
    z: np.ndarray
    first: np.ndarray
    second: np.ndarray


class PseudoEdges(NamedTuple):
    """A field and its rows.

    Attributes
    ----------
    field : Field
    w, b, beta : (r,), (d q,), (d q,) arrays
        Present parameters: weights, biases, centred biases.
    n_biases : int
        d q if the biases move, else 0.
    T : (d, M, N) array
        Features of the nodes.
    S : (D, M, N) array
        Features of all sources: the nodes, then nodes of earlier rows, if there are arrows.
    sources : (r, 2) int64 array
        Source of either end of an edge, which is then a target; -1 for the second end of an arrow, which is
        none.
    Z2 : (r, 2, M, M) array
        Means over rows of the products of the centred features Z of either end of an edge; 0 for the first
        end of an arrow, which is nobody's source.
    s : (r,) array
        T_u . Z_v + T_v . Z_u; of an arrow T_u . Z_v.
    tables : (d, K) array
        beta_i(a).
    now : NodeTerms
    without, proposed : Ends
        Of the edge that is looked at: without it, and at the value last asked for.
    kept : Ends
        `without`, kept: arrays with a first axis over blocks.
    rows : Rows
    """

    field: Field
    w: np.ndarray
    b: np.ndarray
    beta: np.ndarray
    n_biases: int
    T: np.ndarray
    S: np.ndarray
    sources: np.ndarray
    Z2: np.ndarray
    s: np.ndarray
    tables: np.ndarray
    now: NodeTerms
    without: Ends
    proposed: Ends
    kept: Ends
    rows: Rows


def allocate_view(
    field: Field, n_biases: int, sources: np.ndarray, S: np.ndarray, n_blocks: int
) -> PseudoEdges:
    """View with room for everything, of no parameters so far; `sources` (r, 2), `S` (D, M, N) are its own."""
    (d, M, K), r, n_parameters, N = field.features.shape, len(field.edges), len(field.t), S.shape[-1]

    def ends(*n: int) -> Ends:
        shapes = (*n, 2, M, N), (*n, 2, M, N), (*n, 2, K), (*n, 2, K), (*n, 2, M, M)
        return Ends._make([*map(np.zeros, shapes), np.zeros(n or 1, ENDS).view(np.recarray)])

    sizes = (d, M, N), (d, M, N), (d, K), (d, K), (d, M, M), d
    nothing = np.full(r, np.nan), np.full(n_parameters, np.nan)
    return PseudoEdges(
        field=field,
        w=np.zeros(r),
        b=np.zeros(n_parameters),
        beta=np.zeros(n_parameters),
        n_biases=n_biases,
        T=S[:d],
        S=S,
        sources=sources,
        Z2=np.zeros((r, 2, M, M)),
        s=np.zeros(r),
        tables=np.zeros((d, K)),
        now=NodeTerms._make([*map(np.zeros, sizes), *nothing]),
        without=ends(),
        proposed=ends(),
        kept=ends(n_blocks),
        rows=Rows(np.zeros((K, N)), np.zeros((M, N)), *np.zeros((4, N))),
    )


@lean
def binary_terms(view, i, S, c, L, R, p, v, C):
    """`node_terms` of two states and one feature, given the local field L[0]: one exponential in a row.

    `S` (1, N), `c` (1,), `L` and `R` (1, N), `p` and `v` (2,), and `C` (1, 1).
    """
    F, T, tables, rows, n = (
        view.field.features[i],
        view.T[i, 0],
        view.tables,
        view.rows,
        int(view.field.n[i]),
    )
    gap, step, low, l, factor, V = (
        tables[i, 1] - tables[i, 0], F[0, 1] - F[0, 0], F[0, 0], rows.top, rows.z, rows.second
    )  # fmt: skip
    # two loops: LLVM vectorises a loop only if it touches few arrays
    for j in range(l.shape[0]):
        odds = gap + step * L[0, j]
        l[j] = odds
        factor[j] = 1.0 + exp_negative(max(-abs(odds), LOWEST))
    for j in range(l.shape[0]):
        q = 1.0 / factor[j]
        one = q if l[j] >= 0.0 else 1.0 - q
        R[0, j] = T[j] - low - step * one
        V[j] = q * (1.0 - q)
    for j in range(n, l.shape[0]):  # padding
        l[j], L[0, j], R[0, j], V[j], factor[j] = 0.0, 0.0, 0.0, 0.0, 1.0
    A = n * tables[i, 0] + low * total(L[0]) + total_positive(l)
    for start in range(0, l.shape[0], CHUNK):
        A += np.log(product(factor[start : start + CHUNK]))
    p[1] = (total(T) - n * low - total(R[0])) / step
    p[0] = n - p[1]
    v[0] = total(V)
    v[1] = v[0]
    C[0, 0] = step * step * v[0]
    return A, step * step * dot_square(V, S[0], c[0])


@lean
def fill_scores(table, F, L, P, top):
    """Log potentials `P` (K, N) of states, table + F' L, and the largest, `top` (N,).

    `table` (K,), features `F` (M, K), local fields `L` (M, N).
    """
    for a in range(P.shape[0]):
        for j in range(P.shape[1]):
            P[a, j] = table[a]
        for l in range(L.shape[0]):
            if F[l, a] != 0.0:
                for j in range(P.shape[1]):
                    P[a, j] += F[l, a] * L[l, j]
    copy(P[0], top)
    for a in range(1, P.shape[0]):
        for j in range(P.shape[1]):
            top[j] = max(top[j], P[a, j])


@lean
def node_terms(view, i, x, S, c, L, R, p, v, C):
    """Terms of node i at local fields `view.rows.base` + x (S - c).

    Into `L` and `R` (M, N), `p` and `v` (K,) and `C` (M, M). `S` (M, N): features of a neighbour; `c` (M,):
    what is taken from them. Returns the sum over rows of the log normaliser, and the information about x.
    """
    F, base, rows, n = view.field.features[i], view.rows.base, view.rows, int(view.field.n[i])
    (M, K), N = F.shape, L.shape[1]
    for l in range(M):
        for j in range(N):
            L[l, j] = base[l, j] + x * (S[l, j] - c[l])
    if K == 2 and M == 1:
        return binary_terms(view, i, S, c, L, R, p, v, C)
    P, top, z, first, second, tables = rows.P, rows.top, rows.z, rows.first, rows.second, view.tables
    fill_scores(tables[i], F, L, P, top)
    for j in range(N):
        z[j], first[j], second[j] = 0.0, 0.0, 0.0
    for a in range(K):
        for j in range(N):
            P[a, j] = exp_negative(max(P[a, j] - top[j], LOWEST))
            z[j] += P[a, j]
    for j in range(n, N):  # padding
        top[j], z[j] = 0.0, 1.0
    A = total(top)
    for start in range(0, N, CHUNK_OF_STATES):
        A += np.log(product(z[start : start + CHUNK_OF_STATES]))
    for j in range(N):
        z[j] = 1.0 / z[j]
    for j in range(n, N):
        z[j] = 0.0
    for l in range(M):
        copy(view.T[i, l], R[l])
    for a in range(K):
        for j in range(N):
            P[a, j] *= z[j]
        p[a] = total(P[a])
        v[a] = p[a] - dot(P[a], P[a])
        g = top  # its values are no longer needed
        for j in range(N):
            g[j] = 0.0
        for l in range(M):
            if F[l, a] != 0.0:
                for j in range(N):
                    R[l, j] -= F[l, a] * P[a, j]
                    g[j] += F[l, a] * (S[l, j] - c[l])
        for j in range(N):
            first[j] += P[a, j] * g[j]
            second[j] += P[a, j] * g[j] * g[j]
    for l in range(M):
        for k in range(l + 1):
            moment = 0.0
            for a in range(K):
                moment += F[l, a] * F[k, a] * p[a]
            C[l, k] = moment - mean_product(view.T[i, l], R[l], view.T[i, k], R[k])
            C[k, l] = C[l, k]
    return A, total(second) - dot(first, first)


@lean
def mean_product(T, R, S, Q):
    """Sum of (T - R) (S - Q), all (N,): of the conditional means of two features."""
    return dot(T, S) - dot(T, Q) - dot(R, S) + dot(R, Q)


@lean
def fill_base(view, L):
    """Begin with the local fields `L` (M, N)."""
    for l in range(L.shape[0]):
        copy(L[l], view.rows.base[l])


@lean
def n_targets(view, e):
    """Count the ends of edge e that it changes."""
    return 1 if view.sources[e, 1] < 0 else 2


@lean
def refresh(view):
    """Recompute the terms of all nodes at the view's parameters."""
    field, now = view.field, view.now
    d, (M, N) = view.tables.shape[0], view.rows.base.shape
    copy(view.w, now.w)
    copy(view.beta, now.beta)
    fill_node_tables(field, view.beta, view.tables)
    for i in range(d):
        for l in range(M):
            for j in range(N):
                now.L[i, l, j] = 0.0
    for e in range(now.w.shape[0]):
        x = now.w[e]
        if x != 0.0:
            for end in range(n_targets(view, e)):
                u, source = field.edges[e, end], view.sources[e, end]
                for t in range(field.products.shape[1]):
                    l, k = field.products[e, t, end], field.products[e, t, 1 - end]
                    L, S, c = now.L[u, l], view.S[source, k], field.centre[e, 1 - end, l]
                    for j in range(N):
                        L[j] += x * (S[j] - c)
    for i in range(d):
        fill_base(view, now.L[i])
        T, c = view.T[i], field.features[i, :, 0]  # which nothing multiplies
        A, _ = node_terms(view, i, 0.0, T, c, now.L[i], now.R[i], now.p[i], now.v[i], now.C[i])
        now.A[i] = A


@lean
def fill_ends(view, e, L_u, L_v, x, out):
    """Terms of edge e's targets at local fields L_u + x Z_v and L_v + x Z_u, all (M, N), into `out`."""
    u, v, sums, c = view.field.edges[e, 0], view.field.edges[e, 1], out.sums[0], view.field.centre[e]
    source_u, source_v = view.sources[e, 0], view.sources[e, 1]
    fill_base(view, L_u)
    sums.A_v = 0.0
    sums.A_u, h = node_terms(
        view, u, x, view.S[source_u], c[1], out.L[0], out.R[0], out.p[0], out.v[0], out.C[0]
    )
    if source_v >= 0:
        fill_base(view, L_v)
        sums.A_v, h_v = node_terms(
            view, v, x, view.S[source_v], c[0], out.L[1], out.R[1], out.p[1], out.v[1], out.C[1]
        )
        h += h_v
    sums.g, sums.h = score(view, e, out.R[0], out.R[1]), h


@lean
def score(view, e, R_u, R_v):
    """Slope by edge e whose ends have the residuals `R_u` and `R_v` (M, N)."""
    source_u, source_v, c, g = view.sources[e, 0], view.sources[e, 1], view.field.centre[e], 0.0
    for t in range(view.field.products.shape[1]):
        l, k = view.field.products[e, t, 0], view.field.products[e, t, 1]
        S = view.S[source_u, k]
        if source_v >= 0:
            g += centred_pair_dot(R_u[l], S, c[1, l], R_v[k], view.S[source_v, l], c[0, k])
        else:
            g += centred_dot(R_u[l], S, c[1, l])
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
    u, v, Z2 = view.field.edges[e, 0], view.field.edges[e, 1], view.Z2[e]
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
    return x * view.s[e] - (after.A_u - before.A_u) - (after.A_v - before.A_v)


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
        return x * view.s[e] - (A_u - before.A_u) - (A_v - before.A_v)
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
        for l in range(terms.L.shape[1]):
            copy(terms.L[end, l], now.L[u, l])
            copy(terms.R[end, l], now.R[u, l])
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
    field, now, k, value = view.field, view.now, active.shape[0], 0.0
    for i in range(view.tables.shape[0]):
        value -= now.A[i]
        for l in range(view.T.shape[1]):
            value += dot(view.T[i, l], now.L[i, l])
    for a in range(view.beta.shape[0]):
        value += view.beta[a] * field.t[a]
    for a in range(k):
        u, v = field.edges[active[a], 0], field.edges[active[a], 1]
        slope[a] += score(view, active[a], now.R[u], now.R[v])
    q = field.basis.shape[0]
    for a in range(view.n_biases):
        mean = 0.0
        for c in range(field.basis.shape[1]):
            mean += now.p[a // q, c] * field.basis[a % q, c]
        slope[k + a] += field.t[a] - mean
    return value


@questions.is_trusted.register(PseudoEdges)
def pseudo_is_trusted(view):
    """Nothing is estimated."""
    return True
