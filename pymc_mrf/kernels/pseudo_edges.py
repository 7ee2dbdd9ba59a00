"""View of the pseudo-likelihood (Besag, 1975) of a binary field for `edge_moves` and `hamiltonian`.

Local fields L_i = c (b_i + sum_j w_ij y_j) of all nodes and rows are kept, with what follows from them, and
only two nodes change with an edge. Edges move at constant centred biases (see `edge_moves`): then
L_i = c beta_i + sum_j w_ij Z_j with Z_j = c (y_j - m_j).

Arrays over rows are stored node by node, padded to a multiple of 8 by rows with Z = 0.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels import edge_moves as moves
from pymc_mrf.kernels import hamiltonian
from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.edge_moves import Field
from pymc_mrf.kernels.vector_sums import (
    LOWEST,
    copy,
    copy_row,
    dot,
    dot_square,
    exp_negative,
    pair_dot,
    product,
    total,
    total_positive,
)

LANES = 8
CHUNK = 512  # rows whose factors 1 + exp(-|L|) <= 2 are multiplied before a logarithm is taken

ENDS = np.dtype(
    [("g", float), ("h", float), ("v_u", float), ("v_v", float), ("A_u", float), ("A_v", float)]
)
"""Terms of both ends of an edge: its score and information; sums of V and of log(1 + exp(L)) of either."""


class Terms(NamedTuple):
    """Terms of both ends of one edge at some value of it.

    Attributes
    ----------
    L_u, R_u, V_u, L_v, R_v, V_v : (N,) arrays
        As the rows of `NodeTerms`.
    sums : (1,) record array of `ENDS`
    """

    L_u: np.ndarray
    R_u: np.ndarray
    V_u: np.ndarray
    L_v: np.ndarray
    R_v: np.ndarray
    V_v: np.ndarray
    sums: np.ndarray


class NodeTerms(NamedTuple):
    """What depends on the parameters, of all nodes.

    Attributes
    ----------
    L, R, V : (d, N) arrays
        Local fields, residuals T - P and variances P (1 - P), P = sigmoid(L).
    v, A : (d,) arrays
        Sum over rows of V, and of log(1 + exp(L)).
    w, beta : (r,), (d,) arrays
        Weights and centred biases that all this belongs to.
    """

    L: np.ndarray
    R: np.ndarray
    V: np.ndarray
    v: np.ndarray
    A: np.ndarray
    w: np.ndarray
    beta: np.ndarray


class PseudoEdges(NamedTuple):
    """A field and its rows.

    Attributes
    ----------
    field : Field
    w, b, beta : (r,), (d,), (d,) arrays
        Present parameters: weights, biases, centred biases.
    n_biases : int
        d if the biases move, else 0.
    T : (d, N) array
        1 where a node is in its second state.
    Z : (d, N) array
    c : float
        Difference of the two state values.
    z2 : (d,) array
        Mean square of Z.
    s : (r,) array
        T_u . Z_v + T_v . Z_u.
    now : NodeTerms
    without, proposed : Terms
        Of the edge that is looked at: without it, and at the value last asked for.
    factor : (N,) array
        Scratch.
    """

    field: Field
    w: np.ndarray
    b: np.ndarray
    beta: np.ndarray
    n_biases: int
    T: np.ndarray
    Z: np.ndarray
    c: float
    z2: np.ndarray
    s: np.ndarray
    now: NodeTerms
    without: Terms
    proposed: Terms
    factor: np.ndarray


def allocate_terms(N: int) -> Terms:
    """Room for the terms of an edge in N rows."""
    return Terms._make([*np.zeros((6, N)), np.zeros(1, ENDS).view(np.recarray)])


def allocate_node_terms(d: int, r: int, N: int) -> NodeTerms:
    """Room for the terms of d nodes with r edges, in N rows, of no parameters so far."""
    return NodeTerms._make(
        [*np.zeros((3, d, N)), *np.zeros((2, d)), np.full(r, np.nan), np.full(d, np.nan)]
    )


@lean
def node_terms(base, x, Z, T, n, L, R, V, factor):
    """Local fields L = base + x Z of one node, with residuals and variances, all (N,).

    Of the N rows the first n count. `factor` (N,) is scratch. Returns the sums over rows of V and
    log(1 + exp(L)).
    """
    # two loops: LLVM vectorises a loop only if it touches few arrays
    for j in range(L.shape[0]):
        l = base[j] + x * Z[j]
        L[j] = l
        factor[j] = 1.0 + exp_negative(max(-abs(l), LOWEST))
    for j in range(L.shape[0]):
        q = 1.0 / factor[j]
        p = q if L[j] >= 0.0 else 1.0 - q
        R[j] = T[j] - p
        V[j] = q * (1.0 - q)
    for j in range(n, L.shape[0]):  # padding
        L[j], R[j], V[j], factor[j] = 0.0, 0.0, 0.0, 1.0
    A = total_positive(L)
    for start in range(0, L.shape[0], CHUNK):
        A += np.log(product(factor[start : start + CHUNK]))
    return total(V), A


@lean
def refresh(view):
    """Recompute the terms of all nodes at the view's parameters."""
    field, now = view.field, view.now
    copy(view.w, now.w)
    copy(view.beta, now.beta)
    base, n = now.R, int(field.n)  # not L itself: node_terms would run slowly if its arrays overlapped
    for i in range(base.shape[0]):
        base[i, :] = view.c * now.beta[i]
    for e in range(now.w.shape[0]):
        x = now.w[e]
        if x != 0.0:
            u, v = field.edges[e, 0], field.edges[e, 1]
            base_u, base_v, Z_u, Z_v = base[u], base[v], view.Z[u], view.Z[v]
            for j in range(base.shape[1]):
                base_u[j] += x * Z_v[j]
            for j in range(base.shape[1]):
                base_v[j] += x * Z_u[j]
    for i in range(base.shape[0]):
        now.v[i], now.A[i] = node_terms(
            base[i], 0.0, view.Z[i], view.T[i], n, now.L[i], now.R[i], now.V[i], view.factor
        )


@lean
def fill_terms(view, e, L_u, L_v, x, out):
    """`Terms` of edge e's ends at L_u + x Z_v and L_v + x Z_u, both (N,), into `out`."""
    u, v = view.field.edges[e, 0], view.field.edges[e, 1]
    Z_u, Z_v, T, n, sums = view.Z[u], view.Z[v], view.T, int(view.field.n), out.sums[0]
    sums.v_u, sums.A_u = node_terms(L_u, x, Z_v, T[u], n, out.L_u, out.R_u, out.V_u, view.factor)
    sums.v_v, sums.A_v = node_terms(L_v, x, Z_u, T[v], n, out.L_v, out.R_v, out.V_v, view.factor)


@moves.look_at.register(PseudoEdges)
def look_at_rows(view, e, x):
    """Score from the residuals; information as if the ends had independent variances: without a pass."""
    u, v = view.field.edges[e, 0], view.field.edges[e, 1]
    now, without = view.now, view.without
    sums = without.sums[0]
    if x == 0.0:
        sums.g = pair_dot(now.R[u], view.Z[v], now.R[v], view.Z[u])
        sums.v_u, sums.v_v, sums.A_u, sums.A_v = now.v[u], now.v[v], now.A[u], now.A[v]
    else:
        fill_terms(view, e, now.L[u], now.L[v], -x, without)
        sums.g = pair_dot(without.R_u, view.Z[v], without.R_v, view.Z[u])
    sums.h = sums.v_u * view.z2[v] + sums.v_v * view.z2[u]
    return 0.5 * sums.g * sums.g / sums.h, sums.h


@moves.without_edge.register(PseudoEdges)
def rows_without_edge(view, e):
    """As `look_at_rows` left them."""
    return view.without.sums[0].g, view.without.sums[0].h


@moves.likelihood_terms.register(PseudoEdges)
def row_terms(view, e, x):
    """One pass over the rows of both ends."""
    u, v = view.field.edges[e, 0], view.field.edges[e, 1]
    at, Z_u, Z_v = view.proposed, view.Z[u], view.Z[v]
    value = row_gain(view, e, x)
    slope = pair_dot(at.R_u, Z_v, at.R_v, Z_u)
    return value, slope, dot_square(at.V_u, Z_v) + dot_square(at.V_v, Z_u)


@lean
def row_gain(view, e, x):
    """Log-likelihood gained by moving edge e from 0 to x, by a pass over the rows."""
    u, v = view.field.edges[e, 0], view.field.edges[e, 1]
    if view.w[e] == 0.0:
        fill_terms(view, e, view.now.L[u], view.now.L[v], x, view.proposed)
    else:
        fill_terms(view, e, view.without.L_u, view.without.L_v, x, view.proposed)
    before, after = view.without.sums[0], view.proposed.sums[0]
    return x * view.s[e] - (after.A_u - before.A_u) - (after.A_v - before.A_v)


@moves.gain.register(PseudoEdges)
def gain_in_rows(view, e, x):
    """Without a pass for the present value."""
    if x == view.w[e]:
        u, v, before = view.field.edges[e, 0], view.field.edges[e, 1], view.without.sums[0]
        return x * view.s[e] - (view.now.A[u] - before.A_u) - (view.now.A[v] - before.A_v)
    return row_gain(view, e, x)


@moves.follow.register(PseudoEdges)
def follow_in_rows(view, e, old, new):
    """Make the terms at the new value those of both ends."""
    if new != 0.0:
        keep(view, e, view.proposed)
    else:
        keep(view, e, view.without)
    view.now.w[e] = new


@lean
def keep(view, e, terms):
    """Make `terms` those of both ends of edge e."""
    now, u, v = view.now, view.field.edges[e, 0], view.field.edges[e, 1]
    copy_row(terms.L_u, now.L, u)
    copy_row(terms.R_u, now.R, u)
    copy_row(terms.V_u, now.V, u)
    copy_row(terms.L_v, now.L, v)
    copy_row(terms.R_v, now.R, v)
    copy_row(terms.V_v, now.V, v)
    sums = terms.sums[0]
    now.v[u], now.v[v], now.A[u], now.A[v] = sums.v_u, sums.v_v, sums.A_u, sums.A_v


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


@hamiltonian.add_slopes.register(PseudoEdges)
def add_slopes_by_rows(view, active, slope):
    """Log pseudo-likelihood and its slopes, from the local fields."""
    if not is_up_to_date(view):
        refresh(view)
    now, k, value = view.now, active.shape[0], 0.0
    for i in range(view.b.shape[0]):
        value += dot(view.T[i], now.L[i]) - now.A[i]
    for a in range(k):
        u, v = view.field.edges[active[a], 0], view.field.edges[active[a], 1]
        slope[a] += pair_dot(now.R[u], view.Z[v], now.R[v], view.Z[u])
    for i in range(view.n_biases):
        slope[k + i] += view.c * total(now.R[i])
    return value


@hamiltonian.is_trusted.register(PseudoEdges)
def pseudo_is_trusted(view):
    """Nothing is estimated."""
    return True
