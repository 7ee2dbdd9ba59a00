"""Edges of a mixed field under its pseudo-likelihood: answers to `block_edges` by rows.

The pseudo-likelihood is the product of the full conditionals of all answers and measurements, each to the
power of its weight:

    prod_rows prod_i p(x_i | x_-i, y)^weight_i prod_j p(y_j | y_-j, x)^weight_j.

Every edge stands in the conditionals of both of its ends, whatever these are (`mixed_rows`). Edges between
measurements are limited by the cone of positive definite precisions, of which the conditionals know nothing.

In all functions values `x` (W,), `old` and `new` (W,), slopes `g` (W,) and information `H` (W, W) are as in
`block_edges`.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.gaussian import ILL, add_rank_two, rank_two
from pymc_mrf.kernels.mixed import OF_MEASURED, Layout, fill_covariance
from pymc_mrf.kernels.vector_sums import add_multiple
from pymc_mrf.kernels.views import block_edges as blocks
from pymc_mrf.kernels.views import questions
from pymc_mrf.kernels.views.cone_limits import brought_within
from pymc_mrf.kernels.views.mixed_rows import (
    NodeConditionals,
    fill_conditional,
    fill_moments,
    score,
    value_at,
)
from pymc_mrf.kernels.views.mixed_views import (
    MixedData,
    MixedField,
    absence_outside_the_cone,
    add_bias_slopes,
    data_value,
    find_limits,
    measurement_of,
)


class Cone(NamedTuple):
    """Covariance of the measurements given the answers, which tells how far the cone reaches.

    Attributes
    ----------
    S, L : (c, c) arrays
        Covariance, and scratch.
    """

    S: np.ndarray
    L: np.ndarray


class PseudoRoom(NamedTuple):
    """Scratch.

    Attributes
    ----------
    p : (K,) array
    mean : (M,) array
    inside : (1,) array
        Weight within the cone.
    diagonal, seconds : (c,) arrays
        As in `mixed_views`.
    """

    p: np.ndarray
    mean: np.ndarray
    inside: np.ndarray
    diagonal: np.ndarray
    seconds: np.ndarray


class MixedPseudo(NamedTuple):
    """Rows, their full conditionals, and present parameters.

    Attributes
    ----------
    field : MixedField
    data : MixedData
        Sums over rows times the weights of the conditionals that have them.
    layout : Layout
    weights : (d,) array
        Of the conditionals of answers and measurements.
    z : (Q + c, n) array
        Features of the answers, and deviations of the measurements, in the rows.
    now, trial : NodeConditionals
        At the present parameters; of the ends of the edge looked at, at others.
    at : Cone
    w : (P,) array
    b : (a K + c,) array
    beta : (a K + c,) array, or (0,)
    n_biases : int
    look : (1,) record array of `mixed_views.LOOK`
    room : PseudoRoom
    """

    field: MixedField
    data: MixedData
    layout: Layout
    weights: np.ndarray
    z: np.ndarray
    now: NodeConditionals
    trial: NodeConditionals
    at: Cone
    w: np.ndarray
    b: np.ndarray
    beta: np.ndarray
    n_biases: int
    look: np.ndarray
    room: PseudoRoom


blocks.absence.register(MixedPseudo)(absence_outside_the_cone)


@lean
def refresh(view):
    """Fill all that the view keeps; return 0, and NaN outside of the cone."""
    layout, now = view.layout, view.now
    a, K = layout.cards.shape[0], layout.features.shape[1]
    for j in range(layout.n_measured):
        view.room.diagonal[j] = np.exp(view.b[a * K + j])
    if not np.isfinite(fill_covariance(layout, view.w, view.room.diagonal, view.at.S, view.at.L)):
        return np.nan
    for f in range(now.local.shape[0]):
        for s in range(now.local.shape[1]):
            now.local[f, s] = 0.0
    for e in range(view.w.shape[0]):
        if view.w[e] != 0.0:
            move_local_fields(view, e, view.w[e])
    for i in range(now.log_sum.shape[0]):
        fill_conditional(view, i, now)
    return 0.0


@lean
def move_local_fields(view, e, move):
    """Add what parameter e gives to the local fields of its ends as it moves."""
    p, q = view.layout.pairs[e, 0], view.layout.pairs[e, 1]
    add_multiple(move, view.z[q], view.now.local[p])
    add_multiple(move, view.z[p], view.now.local[q])


@lean
def is_measured(view, first):
    """Whether the edge that begins at a parameter is between measurements."""
    return view.layout.kind[first] == OF_MEASURED


@blocks.take_out.register(MixedPseudo)
def take_block_out_of_mixed_rows(whole, view, e, x):
    """Read the score from the residuals, without a pass if the block is absent."""
    first, room, width = view.field.first[e], view.room, x.shape[0]
    if is_measured(whole, first):
        find_limits(whole, first)
    if whole.w[first] == 0.0:
        whole.look[0].before = 0.0
        fill_moments(whole, first, width, whole.now, room.score, room.information)
    else:
        whole.look[0].before = value_at(whole, first, room.zero[:width])
        fill_moments(whole, first, width, whole.trial, room.score, room.information)


@blocks.block_terms.register(MixedPseudo)
def block_terms_of_mixed_rows(whole, view, e, x, g, H):
    """Compute the terms by a pass over the rows; those of a parabola near the limits of the cone, and beyond.

    The likelihood may rise up to there, so that its mode is brought as near as its slope is steep.
    """
    first, look, at = view.field.first[e], whole.look[0], whole.room.inside
    if not is_measured(whole, first):
        value = value_at(whole, first, x) - look.before
        fill_moments(whole, first, x.shape[0], whole.trial, g, H)
        return value
    at[0] = brought_within(look, x[0])
    beyond = x[0] - at[0]
    value = value_at(whole, first, at) - look.before
    fill_moments(whole, first, 1, whole.trial, g, H)
    if beyond != 0.0:
        H[0, 0] = max(H[0, 0], g[0] * g[0])
        value += (g[0] - 0.5 * H[0, 0] * beyond) * beyond
        g[0] -= H[0, 0] * beyond
    return value


@blocks.block_gain.register(MixedPseudo)
def block_gain_of_mixed_rows(whole, view, e, x):
    first, look = view.field.first[e], whole.look[0]
    if is_measured(whole, first) and not look.low < x[0] < look.high:
        return -np.inf
    return value_at(whole, first, x) - look.before


@blocks.follow_block.register(MixedPseudo)
def follow_block_in_mixed_rows(whole, view, e, old, new):
    """Move the local fields of the ends, and the limits of the cone; weights and biases have moved."""
    first = view.field.first[e]
    for k in range(new.shape[0]):
        move_local_fields(whole, first + k, new[k] - old[k])
    if is_measured(whole, first):
        i, j = measurement_of(whole, first, 0), measurement_of(whole, first, 1)
        own_i, both, own_j, f = rank_two(whole.at.S, i, j, new[0] - old[0])
        if f < ILL:
            refresh(whole)
        else:
            add_rank_two(whole.at.S, i, j, own_i, both, own_j, whole.at.L)
    for end in range(2):
        fill_conditional(whole, whole.field.edges[first, end], whole.now)


@questions.add_slopes.register(MixedPseudo)
def add_slopes_of_mixed_rows(view, active, slope):
    """Add the slopes at the view's parameters; outside of the cone there are none, and the value is -inf."""
    k, value = active.shape[0], refresh(view)
    if not np.isfinite(value):
        return -np.inf
    for i in range(k):
        slope[i] += score(view, active[i], view.now)
    for i in range(view.now.log_sum.shape[0]):
        value -= view.now.log_sum[i]
    for j in range(view.room.seconds.shape[0]):
        view.room.seconds[j] = view.now.seconds[j]
    add_bias_slopes(view, view.now.shares, 1.0, slope[k:])
    return value + data_value(view)
