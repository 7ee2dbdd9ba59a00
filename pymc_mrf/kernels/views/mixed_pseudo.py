"""Mixed fields under their pseudo-likelihood: what `pseudo_edges` does not know of measurements.

The pseudo-likelihood is the product of the full conditionals of all answers and measurements, each to the
power of its weight:

    prod_rows prod_i p(x_i | x_-i, y)^weight_i prod_j p(y_j | y_-j, x)^weight_j.

Every edge stands in the conditionals of both of its ends, whatever these are. A measurement is its own
feature: given all else it is normal, with mean L / K and variance 1 / K, L its local field and K its entry of
the diagonal of the precision. Edges between measurements are limited by the cone of positive definite
precisions, of which the conditionals know nothing.

In all functions values `x` (W,), `old` and `new` (W,), slopes `g` (W,) and information `H` (W, W) are as in
`block_edges`.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.gaussian import ILL, add_rank_two, brought_within, rank_two
from pymc_mrf.kernels.mixed import OF_MEASURED, NodeKinds, fill_covariance
from pymc_mrf.kernels.vector_sums import copy, dot_three
from pymc_mrf.kernels.views import block_edges as blocks
from pymc_mrf.kernels.views import questions
from pymc_mrf.kernels.views.mixed_views import (
    MixedData,
    absence_outside_the_cone,
    find_limits,
    measurement_of,
)
from pymc_mrf.kernels.views.pseudo_edges import (
    EdgeSums,
    add_slopes_by_rows,
    add_slopes_of_node,
    add_slopes_of_states,
    block_gain_by_rows,
    block_terms_by_rows,
    follow_block_in_rows,
    take_block_out_of_rows,
)
from pymc_mrf.kernels.views.pseudo_rows import (
    Rows,
    fill_terms,
    normaliser_in,
    state_normaliser,
    state_terms,
)
from pymc_mrf.kernels.views.pseudo_scores import NoScores
from pymc_mrf.kernels.views.pseudo_terms import EndLists, Ends, NodeTerms
from pymc_mrf.kernels.views.pseudo_terms import refresh as refresh_rows
from pymc_mrf.kernels.views.questions import Field


class Cone(NamedTuple):
    """Covariance of the measurements given the answers, which tells how far the cone reaches.

    Attributes
    ----------
    S, L : (c, c) arrays
        Covariance, and scratch.
    """

    S: np.ndarray
    L: np.ndarray


class MixedRoom(NamedTuple):
    """Scratch over rows, as of `pseudo_rows.Room`, and what measurements have beside.

    Attributes
    ----------
    P, top, z
        As of `Room`.
    diagonal : (c,) array
        That of the precision.
    inside : (W,) array
        Value of an edge within the cone, for W parameters, as many as the largest has.
    """

    P: np.ndarray
    top: np.ndarray
    z: np.ndarray
    diagonal: np.ndarray
    inside: np.ndarray


class MixedPseudoView(NamedTuple):
    """Rows, their full conditionals, and present parameters, as of `pseudo_edges.PseudoView`.

    Of a measurement `now` has the sum over rows of its conditional second moment in place of probabilities.

    Attributes
    ----------
    data : MixedData
        With `t` and `squares` times the weights of the conditionals that have them.
    b, beta : (a K + c,) arrays
    tables : (a, K) array
    layout : NodeKinds
    at : Cone
    look : (1,) record array of `mixed_views.LOOK`
    room : MixedRoom
    """

    field: Field
    data: MixedData
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
    scores: NoScores
    layout: NodeKinds
    at: Cone
    look: np.ndarray
    room: MixedRoom


blocks.absence.register(MixedPseudoView)(absence_outside_the_cone)


@normaliser_in.register(MixedRoom)
def normaliser_of_node(room, view, i, L):
    """Answer for states, or for a measurement, whose conditional means are left in `top`; `L` (M, N)."""
    j = i - view.tables.shape[0]
    return state_normaliser(room, view, i, L) if j < 0 else measured_normaliser(room, view, i, L[0])


@lean
def measured_normaliser(room, view, i, L):
    """Answer of measurement i, which counts as a feature with the local field `L` (N,)."""
    block, precision = view.rows.block[i], room.diagonal[i - view.tables.shape[0]]
    N = view.rows.size[block]
    n, mean = view.rows.n[block, :N], room.top[:N]
    for s in range(N):
        mean[s] = L[s] / precision
    return 0.5 * (precision * dot_three(n, mean, mean) - view.rows.total[block] * np.log(precision))


@fill_terms.register(MixedRoom)
def terms_of_node(room, view, i, R, p, v, C):
    """Answer for states, or for a measurement: `R` (M, N), `p` and `v` (K,), and `C` (M, M)."""
    j = i - view.tables.shape[0]
    if j < 0:
        state_terms(room, view, i, R, p, v, C)
    else:
        rows, block = view.rows, view.rows.block[i]
        N = rows.size[block]
        n, mean, T, residual = rows.n[block, :N], room.top[:N], rows.T[i, 0, :N], R[0, :N]
        for s in range(N):
            residual[s] = n[s] * (T[s] - mean[s])
        C[0, 0] = rows.total[block] / room.diagonal[j]
        p[0] = C[0, 0] + dot_three(n, mean, mean)


@add_slopes_of_node.register(MixedRoom)
def add_slopes_of_mixed_node(room, view, i, p, slope):
    """Answer for states, or for the log of the diagonal entry of a measurement."""
    j = i - view.tables.shape[0]
    if j < 0:
        add_slopes_of_states(room, view, i, p, slope)
    else:
        slope[view.data.t.shape[0] + j] += 0.5 * room.diagonal[j] * (p[0] - view.data.squares[j])


@lean
def fill_cone(view):
    """Fill the diagonal and the covariance of the measurements; whether they are positive definite."""
    places, diagonal = view.data.t.shape[0], view.room.diagonal
    for j in range(diagonal.shape[0]):
        diagonal[j] = np.exp(view.b[places + j])
    return np.isfinite(fill_covariance(view.layout, view.w, diagonal, view.at.S, view.at.L))


@lean
def refresh(view):
    """Fill all that the view keeps; return 0, and NaN outside of the cone."""
    if not fill_cone(view):
        return np.nan
    refresh_rows(view)
    return 0.0


@lean
def is_measured(whole, first):
    """Whether the edge that begins at a parameter is between measurements."""
    return whole.layout.kind[first] == OF_MEASURED


@blocks.take_out.register(MixedPseudoView)
def take_block_out_of_mixed_rows(whole, view, e, x):
    """Find the limits of the cone as well."""
    if is_measured(whole, view.field.first[e]):
        find_limits(whole, view.field.first[e])
    take_block_out_of_rows(whole, view, e, x)


@blocks.block_terms.register(MixedPseudoView)
def block_terms_of_mixed_rows(whole, view, e, x, g, H):
    """Compute the terms by a pass over the rows; those of a parabola near the limits of the cone, and beyond.

    The likelihood may rise up to there, so that its mode is brought as near as its slope is steep.
    """
    at = whole.room.inside[: x.shape[0]]
    copy(x, at)
    if is_measured(whole, view.field.first[e]):
        at[0] = brought_within(whole.look[0], x[0])
    beyond, value = x[0] - at[0], block_terms_by_rows(whole, view, e, at, g, H)
    if beyond != 0.0:
        H[0, 0] = max(H[0, 0], g[0] * g[0])
        value += (g[0] - 0.5 * H[0, 0] * beyond) * beyond
        g[0] -= H[0, 0] * beyond
    return value


@blocks.block_gain.register(MixedPseudoView)
def block_gain_of_mixed_rows(whole, view, e, x):
    look = whole.look[0]
    if is_measured(whole, view.field.first[e]) and not look.low < x[0] < look.high:
        return -np.inf
    return block_gain_by_rows(whole, view, e, x)


@blocks.follow_block.register(MixedPseudoView)
def follow_block_in_mixed_rows(whole, view, e, old, new):
    """Move the limits of the cone as well; weights and biases have moved."""
    first = view.field.first[e]
    if is_measured(whole, first):
        i, j = measurement_of(whole, first, 0), measurement_of(whole, first, 1)
        own_i, both, own_j, f = rank_two(whole.at.S, i, j, new[0] - old[0])
        if f < ILL:
            fill_cone(whole)
        else:
            add_rank_two(whole.at.S, i, j, own_i, both, own_j, whole.at.L)
    follow_block_in_rows(whole, view, e, old, new)


@questions.add_slopes.register(MixedPseudoView)
def add_slopes_of_mixed_rows(view, active, slope):
    """Add the slopes at the view's parameters; outside of the cone there are none, and the value is -inf."""
    if not fill_cone(view):
        return -np.inf
    value = add_slopes_by_rows(view, active, slope)
    for j in range(view.data.squares.shape[0]):
        value -= 0.5 * view.room.diagonal[j] * view.data.squares[j]
    return value
