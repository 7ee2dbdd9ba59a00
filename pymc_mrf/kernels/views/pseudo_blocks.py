"""Blocks of parameters under products of full conditionals: answers by rows to `block_edges`.

A block changes the local field of feature k of one end by x_kl Z_l, Z the centred features of the other end,
for each of its parameters. The information is that of conditional covariances and features of the other end
that vary independently of each other, which proposals are made with; the acceptance step corrects.

In all functions values `x` (W,), `old` and `new` (W,), slopes `g` (W,) and information `H` (W, W) are as in
`block_edges`, local fields `L` (M, N) those of a node, residuals `R_u` and `R_v` (M, N) and conditional
covariances `C_u` and `C_v` (M, M) those of the ends.
"""

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.vector_sums import copy, dot, dot_three
from pymc_mrf.kernels.views import block_edges as blocks
from pymc_mrf.kernels.views.pseudo_edges import PseudoEdges, present_normalisers
from pymc_mrf.kernels.views.pseudo_rows import node_terms
from pymc_mrf.kernels.views.pseudo_terms import add_to_field, keep, score


@lean
def fill_end(whole, first, end, L, x, sign, out):
    """Terms of one end at local fields L (M, N) and the block's, x times `sign`; sum of its normaliser."""
    i, own = whole.field.edges[first, end], out.L[end]
    for l in range(L.shape[0]):
        copy(L[l], own[l])
    for p in range(x.shape[0]):
        add_to_field(whole, first + p, end, sign * x[p], own)
    return node_terms(whole, i, own, out.R[end], out.p[end], out.v[end], out.C[end])


@lean
def fill_both_ends(whole, first, L_u, L_v, x, sign, out):
    """Terms of both ends, into `out`, an `Ends`."""
    sums = out.sums[0]
    sums.A_u = fill_end(whole, first, 0, L_u, x, sign, out)
    sums.A_v = fill_end(whole, first, 1, L_v, x, sign, out)


@lean
def fill_source_moments(whole, first, room):
    """Means over rows of the features of both ends and of their products, into `room.moments`."""
    rows, u = whole.rows, whole.field.edges[first, 0]
    M, counts, n = rows.T.shape[1], rows.n[rows.block[u]], whole.data.n[u]
    for end in range(2):
        S = rows.S[whole.sources[first, 1 - end]]
        for l in range(M):
            room.moments[end, M, l] = dot(counts, S[l]) / n
            for k in range(l + 1):
                room.moments[end, l, k] = dot_three(counts, S[l], S[k]) / n
                room.moments[end, k, l] = room.moments[end, l, k]


@lean
def fill_information(whole, first, width, C_u, C_v, room, H):
    """Information H of a block whose ends have the conditional covariances C_u and C_v (M, M)."""
    field, M = whole.field, whole.rows.T.shape[1]
    for i in range(width):
        for j in range(i + 1):
            value = 0.0
            for end in range(2):
                a, b = field.products[first + i, 0, end], field.products[first + j, 0, end]
                k, l = field.products[first + i, 0, 1 - end], field.products[first + j, 0, 1 - end]
                c, d = field.centre[first + i, 1 - end, a], field.centre[first + j, 1 - end, b]
                m = room.moments[1 - end]
                Z2 = m[k, l] - c * m[M, l] - d * m[M, k] + c * d
                value += (C_u[a, b] if end == 0 else C_v[a, b]) * Z2
            H[i, j] = value
            H[j, i] = value


@lean
def fill_scores_of_block(whole, first, width, R_u, R_v, g):
    """Slopes g of a block whose ends have the residuals R_u and R_v (M, N)."""
    for i in range(width):
        g[i] = score(whole, first + i, R_u, R_v)


@blocks.take_out.register(PseudoEdges)
def take_block_out_of_rows(whole, view, e, x):
    """Score from the residuals, without a pass if the block is absent."""
    first, width, now, without = view.field.first[e], x.shape[0], whole.now, whole.without
    u, v, room, sums = (
        whole.field.edges[first, 0],
        whole.field.edges[first, 1],
        view.room,
        without.sums[0],
    )
    fill_source_moments(whole, first, room)
    if whole.w[first] == 0.0:
        sums.A_u, sums.A_v = present_normalisers(whole, first)
        fill_scores_of_block(whole, first, width, now.R[u], now.R[v], room.score)
        fill_information(whole, first, width, now.C[u], now.C[v], room, room.information)
    else:
        fill_both_ends(whole, first, now.L[u], now.L[v], x, -1.0, without)
        fill_scores_of_block(whole, first, width, without.R[0], without.R[1], room.score)
        fill_information(whole, first, width, without.C[0], without.C[1], room, room.information)


@lean
def gain_by_rows(whole, view, e, x):
    """Log-likelihood gained by moving a block from 0 to x, by a pass over the rows of both ends."""
    first, now, proposed = view.field.first[e], whole.now, whole.proposed
    u, v = whole.field.edges[first, 0], whole.field.edges[first, 1]
    if whole.w[first] == 0.0:
        fill_both_ends(whole, first, now.L[u], now.L[v], x, 1.0, proposed)
    else:
        fill_both_ends(whole, first, whole.without.L[0], whole.without.L[1], x, 1.0, proposed)
    return gain_of_normalisers(whole, first, x, proposed.sums[0].A_u, proposed.sums[0].A_v)


@lean
def gain_of_normalisers(whole, first, x, A_u, A_v):
    """Gain at x, where the sums of the log normalisers of both ends are A_u and A_v."""
    before = whole.without.sums[0]
    value = before.A_u - A_u + before.A_v - A_v
    for i in range(x.shape[0]):
        value += x[i] * whole.sums.s[first + i]
    return value


@blocks.block_terms.register(PseudoEdges)
def block_terms_by_rows(whole, view, e, x, g, H):
    value, first, terms = gain_by_rows(whole, view, e, x), view.field.first[e], whole.proposed
    fill_scores_of_block(whole, first, x.shape[0], terms.R[0], terms.R[1], g)
    fill_information(whole, first, x.shape[0], terms.C[0], terms.C[1], view.room, H)
    return value


@blocks.block_gain.register(PseudoEdges)
def block_gain_by_rows(whole, view, e, x):
    """Compute the gain by a pass over the rows of both ends, but for the present value without one."""
    first, is_present = view.field.first[e], True
    for i in range(x.shape[0]):
        is_present = is_present and x[i] == whole.w[first + i]
    if is_present:
        A_u, A_v = present_normalisers(whole, first)
        return gain_of_normalisers(whole, first, x, A_u, A_v)
    return gain_by_rows(whole, view, e, x)


@blocks.follow_block.register(PseudoEdges)
def follow_block_in_rows(whole, view, e, old, new):
    """Make the terms at the new value those of both ends."""
    first = view.field.first[e]
    if new[0] != 0.0:
        keep(whole, first, whole.proposed)
    else:
        keep(whole, first, whole.without)
