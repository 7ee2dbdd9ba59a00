"""View of products of full conditionals for `edge_moves` and `hamiltonian`.

The conditional probabilities of every node in every row are those of `pseudo_rows`: edges move while the
centred biases stay. The local fields of all nodes and rows are kept, with what follows from them, and only
the *targets* change with an edge.

Both ends of an undirected edge are targets, each of which has the other one for a source, in the same row:
the product is the pseudo-likelihood (Besag, 1975). An arrow has one target, and its source is a node in an
earlier row: given that row the product of all nodes is the likelihood itself.

Blocks of parameters (`block_edges`) are moved by the same passes over rows: a block changes the local field
of feature k of one end by x_kl Z_l, Z the centred features of the other end, for each of its parameters.

In all functions values `x` (W,) are as in `pseudo_terms`, and `old` and `new` (W,), slopes `g` (W,) and
information `H` (W, W) of blocks as in `block_edges`.
"""

from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import by_type, lean, part
from pymc_mrf.kernels.vector_sums import copy
from pymc_mrf.kernels.views import block_edges as blocks
from pymc_mrf.kernels.views import questions
from pymc_mrf.kernels.views.pseudo_rows import BinaryRoom, Room, Rows, allocate_room, node_terms
from pymc_mrf.kernels.views.pseudo_scores import NoScores, Scores, allocate_scores, rounding
from pymc_mrf.kernels.views.pseudo_terms import (
    ENDS,
    EndLists,
    Ends,
    NodeTerms,
    add_scores_of_node,
    allocate_end_lists,
    begin_pass,
    fill_all_of_ends,
    fill_ends,
    fill_field_of_node,
    keep,
    normalisers,
    score,
)
from pymc_mrf.kernels.views.questions import Field, FieldData


class EdgeSums(NamedTuple):
    """What the rows say of each edge and of each source whatever the parameters.

    Attributes
    ----------
    s : (r,) array
        T_u . Z_v + T_v . Z_u; of an arrow T_u . Z_v.
    moments : (D, M + 1, M) array
        Covariances of the features of each source over rows, and their means, last.
    """

    s: np.ndarray
    moments: np.ndarray


class PseudoView(NamedTuple):
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
    ends : EndLists
    without, proposed : Ends
        Of the edge that is looked at: without it, and at the value last asked for.
    kept : Ends
        `without`, kept: arrays with a first axis over blocks.
    scores : Scores or NoScores
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
    ends: EndLists
    without: Ends
    proposed: Ends
    kept: Ends
    scores: Scores | NoScores
    room: BinaryRoom | Room


def allocate_view(
    field: Field,
    data: Any,
    n_biases: int,
    sources: np.ndarray,
    rows: Rows,
    has_scores: bool,
) -> PseudoView:
    """View with room for everything, of no parameters so far; `sources` (r, 2) and `rows` are its own."""
    (d, M, K), r, n_parameters = field.features.shape, len(field.edges), len(data.t)
    n_blocks, N = rows.n.shape

    def ends(*n: int) -> Ends:
        shapes = (*n, 2, M, N), (*n, 2, M, N), (*n, 2, K), (*n, 2, K), (*n, 2, M, M)
        return Ends._make([*map(np.zeros, shapes), np.zeros(n or 1, ENDS).view(np.recarray)])

    sizes = (d, M, N), (d, M, N), (d, K), (d, K), (d, M, M), d
    return PseudoView(
        field=field,
        data=data,
        w=np.zeros(r),
        b=np.zeros(n_parameters),
        beta=np.zeros(n_parameters),
        n_biases=n_biases,
        sources=sources,
        rows=rows,
        sums=EdgeSums(np.zeros(r), np.zeros((len(rows.S), M + 1, M))),
        tables=np.zeros((d, K)),
        now=NodeTerms._make(map(np.zeros, sizes)),
        ends=allocate_end_lists(d, r),
        without=ends(),
        proposed=ends(),
        kept=ends(n_blocks),
        scores=allocate_scores(d, len(rows.S), M, N) if has_scores else NoScores(),
        room=allocate_room(M, K, N),
    )


@lean
def present_normalisers(view, e):
    """Return the sums of the log normalisers of edge e's targets, as it is; 0 for an end that is none."""
    A, edge = view.now.A, view.field.edges[e]
    return A[edge[0]], A[edge[1]] if view.sources[e, 1] >= 0 else 0.0


@part
def rough_information(view, e, f, C_u, C_v):
    """Information about parameters e and f of an edge, without a pass.

    That of features of either end and of its source that vary independently of each other, those of the ends
    with the conditional covariances `C_u` and `C_v` (M, M).
    """
    return information_of_end(view, e, f, 0, C_u) + information_of_end(view, e, f, 1, C_v)


@part
def information_of_end(view, e, f, end, C):
    """Do what `rough_information` does, of one end, with the conditional covariances `C` (M, M)."""
    products, centre, M, value = view.field.products, view.field.centre, C.shape[0], 0.0
    if view.sources[e, end] >= 0:
        m = view.sums.moments[view.sources[e, end]]
        for t in range(products.shape[1]):
            a, k = products[e, t, end], products[e, t, 1 - end]
            beyond = m[M, k] - centre[e, 1 - end, a]
            for s in range(products.shape[1]):
                b, l = products[f, s, end], products[f, s, 1 - end]
                value += C[a, b] * (m[k, l] + beyond * (m[M, l] - centre[f, 1 - end, b]))
    return value


@questions.glance.register(PseudoView)
def glance_at_scores(view, e):
    """Bound from the scores that are known, if any are."""
    return bound_by(view.scores, view, e)


@by_type
def bound_by(scores, view, e):
    """Bound what absent edge e explains by known `scores`, without a pass; infinite if these say nothing."""


@bound_by.register(NoScores)
def no_bound(scores, view, e):
    """Nothing is known."""
    return np.inf, 1.0


@bound_by.register(Scores)
def bound_by_panel(scores, view, e):
    """Score from those known when the panel was begun, and how far residuals have moved since."""
    u, v = view.field.edges[e]
    a = u - scores.panel[0]
    if a < 0 or a >= scores.panel[1]:
        return np.inf, 1.0
    now, c, rough = view.now, view.field.centre[e], rounding(scores)
    source, back = view.sources[e]
    g, h = float(scores.own[a, source]), rough_information(view, e, e, now.C[u], now.C[v])
    slack = (scores.moved[u] + rough * scores.size[u]) * scores.norm[source]
    for l in range(c.shape[1]):
        g += scores.total[u, l] * (scores.mean[source, l] - c[1, l])
    if back >= 0:
        g += scores.back[a, v]
        slack += (scores.moved[v] + rough * scores.size[v]) * scores.norm[back]
        for l in range(c.shape[1]):
            g += scores.total[v, l] * (scores.mean[back, l] - c[0, l])
    furthest = abs(g) + slack
    return 0.5 * furthest * furthest / h, h


@questions.look_at.register(PseudoView)
def look_at_rows(view, e, x):
    """Score from the residuals; information as if ends had independent variances: without a pass."""
    u, v, now, without = view.field.edges[e, 0], view.field.edges[e, 1], view.now, view.without
    sums = without.sums[0]
    if x == 0.0:
        sums.g = score(view, e, now.R[u], now.R[v])
        sums.A_u, sums.A_v = present_normalisers(view, e)
        sums.h = rough_information(view, e, e, now.C[u], now.C[v])
    else:
        fill_ends(view, e, now.L[u], now.L[v], -1.0, (x,), without)
        sums.g = score(view, e, without.R[0], without.R[1])
        sums.h = rough_information(view, e, e, without.C[0], without.C[1])
    return 0.5 * sums.g * sums.g / sums.h, sums.h


@questions.without_edge.register(PseudoView)
def rows_without_edge(view, e):
    return view.without.sums[0].g, view.without.sums[0].h


@questions.keep_look.register(PseudoView)
def keep_ends(view, slot):
    view.kept.sums[slot] = view.without.sums[0]
    for end in range(2):
        for l in range(view.without.L.shape[1]):
            copy(view.without.L[end, l], view.kept.L[slot, end, l])


@questions.recall_look.register(PseudoView)
def recall_ends(view, slot):
    view.without.sums[0] = view.kept.sums[slot]
    for end in range(2):
        for l in range(view.without.L.shape[1]):
            copy(view.kept.L[slot, end, l], view.without.L[end, l])


@lean
def fields_without(view, e):
    """Return the local fields (M, N) of both ends of edge e without it, after `look_at`."""
    if view.w[e] == 0.0:
        u, v = view.field.edges[e, 0], view.field.edges[e, 1]
        return view.now.L[u], view.now.L[v]
    return view.without.L[0], view.without.L[1]


@lean
def row_gain(view, e, x, A_u, A_v):
    """Log-likelihood gained by moving edge e from 0 to x (W,), where `A_u` and `A_v` are its normalisers."""
    before, value = view.without.sums[0], 0.0
    for k in range(len(x)):
        value += x[k] * view.sums.s[e + k]
    return value - (A_u - before.A_u) - (A_v - before.A_v)


@part
def gain_at(view, e, x):
    """Return `row_gain` at x (W,): by a pass over the rows of the targets, but for the present value."""
    is_present, proposed = True, view.proposed
    for k in range(len(x)):
        is_present = is_present and x[k] == view.w[e + k]
    if is_present:
        A_u, A_v = present_normalisers(view, e)
        return row_gain(view, e, x, A_u, A_v)
    L_u, L_v = fields_without(view, e)
    fill_ends(view, e, L_u, L_v, 1.0, x, proposed)
    return row_gain(view, e, x, proposed.sums[0].A_u, proposed.sums[0].A_v)


@part
def keep_value(view, e, x):
    """Make the terms at the new value x (W,), as of `gain_at`, those of the targets."""
    if x[0] != 0.0:
        keep(view, e, view.proposed)
    else:
        keep(view, e, view.without)


@questions.likelihood_terms.register(PseudoView)
def row_terms(view, e, x):
    """Compute the terms by a pass over the rows of the targets."""
    L_u, L_v = fields_without(view, e)
    fill_all_of_ends(view, e, L_u, L_v, (x,), view.proposed)
    sums = view.proposed.sums[0]
    return row_gain(view, e, (x,), sums.A_u, sums.A_v), sums.g, sums.h


@questions.gain.register(PseudoView)
def gain_in_rows(view, e, x):
    return gain_at(view, e, (x,))


@questions.gain_alone.register(PseudoView)
def gain_of_normalisers(view, e, x):
    """Compute the normalisers in the rows of the targets, and nothing else."""
    L_u, L_v = fields_without(view, e)
    A_u, A_v = normalisers(view, e, L_u, L_v, (x,), view.proposed)
    return row_gain(view, e, (x,), A_u, A_v)


@questions.follow.register(PseudoView)
def follow_in_rows(view, e, old, new):
    keep_value(view, e, (new,))


@questions.add_slopes.register(PseudoView)
def add_slopes_by_rows(view, active, slope):
    """Log of the product of full conditionals and its slopes, from the local fields.

    But for what the rows alone say, as of expected neighbours. Terms of one node after the other are found
    and forgotten, as its rows are at hand for all: those that the view keeps stay as they are.
    """
    data, node = view.data, view.proposed
    L, R, p, v, C = node.L[0], node.R[0], node.p[0], node.v[0], node.C[0]
    k, value = active.shape[0], 0.0
    begin_pass(view, active)
    for i in range(view.now.A.shape[0]):
        fill_field_of_node(view, i, L)
        value -= node_terms(view, i, L, R, p, v, C)
        add_scores_of_node(view, i, R, slope[:k])
        if view.n_biases > 0:
            add_slopes_of_node(view.room, view, i, p, slope[k:])
    for a in range(data.t.shape[0]):
        value += view.beta[a] * data.t[a]
    for a in range(k):
        value += view.w[active[a]] * view.sums.s[active[a]]
    return value


@by_type
def add_slopes_of_node(room, view, i, p, slope):
    """Add to `slope` (n_biases,) what node i, whose sums are `p` (K,), says of its own biases."""


@add_slopes_of_node.register(object)
def add_slopes_of_states(room, view, i, p, slope):
    """Compare with how often each state is expected."""
    basis = view.field.basis
    q = basis.shape[0]
    for a in range(i * q, i * q + q):
        mean = 0.0
        for c in range(basis.shape[1]):
            mean += p[c] * basis[a - i * q, c]
        slope[a] += view.data.t[a] - mean


@lean
def fill_block_terms(whole, first, width, R_u, R_v, C_u, C_v, g, H):
    """Slopes g (W,) and information H (W, W), as of `rough_information`, of a block.

    Whose ends have the residuals `R_u` and `R_v` (M, N) and conditional covariances `C_u` and `C_v` (M, M).
    """
    for i in range(width):
        g[i] = score(whole, first + i, R_u, R_v)
        for j in range(i + 1):
            H[i, j] = rough_information(whole, first + i, first + j, C_u, C_v)
            H[j, i] = H[i, j]


@blocks.take_out.register(PseudoView)
def take_block_out_of_rows(whole, view, e, x):
    """Score from the residuals, without a pass if the block is absent."""
    first, width, now, without = view.field.first[e], x.shape[0], whole.now, whole.without
    u, v, room = whole.field.edges[first, 0], whole.field.edges[first, 1], view.room
    if whole.w[first] == 0.0:
        sums = without.sums[0]
        sums.A_u, sums.A_v = present_normalisers(whole, first)
        R_u, R_v, C_u, C_v = now.R[u], now.R[v], now.C[u], now.C[v]
    else:
        fill_ends(whole, first, now.L[u], now.L[v], -1.0, x, without)
        R_u, R_v, C_u, C_v = without.R[0], without.R[1], without.C[0], without.C[1]
    fill_block_terms(whole, first, width, R_u, R_v, C_u, C_v, room.score, room.information)


@blocks.block_terms.register(PseudoView)
def block_terms_by_rows(whole, view, e, x, g, H):
    """Compute the gain by a pass over the rows of both ends."""
    first, terms = view.field.first[e], whole.proposed
    L_u, L_v = fields_without(whole, first)
    fill_ends(whole, first, L_u, L_v, 1.0, x, terms)
    R, C = terms.R, terms.C
    fill_block_terms(whole, first, x.shape[0], R[0], R[1], C[0], C[1], g, H)
    return row_gain(whole, first, x, terms.sums[0].A_u, terms.sums[0].A_v)


@blocks.block_gain.register(PseudoView)
def block_gain_by_rows(whole, view, e, x):
    return gain_at(whole, view.field.first[e], x)


@blocks.follow_block.register(PseudoView)
def follow_block_in_rows(whole, view, e, old, new):
    keep_value(whole, view.field.first[e], new)
