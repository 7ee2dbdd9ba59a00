"""Proposals of the values of edges that have a block of parameters: the answers for vectors to `edge_values`.

Laplace's method in W dimensions, the slab being the same for each parameter. A value is drawn from Student's
t with 5 W degrees of freedom about the mode, now and then from a Cauchy distribution, as a number is. In all
functions values `x` (W,) and slopes `g` (W,) are parts of arrays.
"""

from math import lgamma
from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.priors.densities import (
    HALF_LOG_2PI,
    NORMAL,
    WIDE,
    WIDTH,
    log_density,
    slope_and_precision,
)
from pymc_mrf.kernels.views.block_edges import (
    Blocks,
    BlockView,
    Value,
    add_bias_terms,
    allocate_room,
    block_terms,
    factorise,
    log_biases_of_block,
    solve_lower,
    solve_upper,
    width_of,
)
from pymc_mrf.kernels.views.edge_values import (
    CONVERGED,
    MAX_NEWTON,
    MAX_SHIFT,
    is_absent,
    log_biases,
    log_highest_odds,
    log_proposed,
    log_slab,
    no_value,
    present_value,
    propose,
    refined_fit,
    rough_fit,
)

CONTRAST = 2.0
"""Largest change of the log odds of a pair by a block of length 1, for orthonormal contrasts of both ends."""

NU = 5.0
"""Degrees of freedom of most proposals, for each parameter. With 5 for a block of 16 the length of a proposal
is another than that of the posterior: of 500 rows of 5 nodes with 5 states 49 % were accepted, and 78 % with
50."""


class BlockFit(NamedTuple):
    """Proposal of the value of a block of W parameters.

    Attributes
    ----------
    mode : (W,) array
    root : array, at least W by W
        L, lower triangular, L L' being the precision.
    log_det : float
        Of the precision.
    explained : float
        Half the squared score over the information, at 0.
    """

    mode: np.ndarray
    root: np.ndarray
    log_det: float
    explained: float


def allocate_view(whole: Any) -> BlockView:
    """View of the edges of a field, each parameter of which is an edge of the view `whole`."""
    sizes = np.bincount(whole.field.pair)
    order = np.array(list(dict.fromkeys(whole.field.pair[whole.field.order].tolist())), dtype=np.int64)
    return BlockView(
        field=Blocks(order=order, first=np.concatenate([[0], np.cumsum(sizes)]), contrast=CONTRAST),
        whole=whole,
        w=whole.w,
        b=whole.b,
        beta=whole.beta,
        n_biases=whole.n_biases,
        room=allocate_room(int(sizes.max()), whole.field.cells.shape[1]),
    )


@present_value.register(BlockView)
def present_block(view, e):
    first, width, old = view.field.first[e], width_of(view, e), view.room.old
    for i in range(width):
        old[i] = view.w[first + i]
    return Value(old[:width])


@no_value.register(BlockView)
def zeros(view, e):
    return Value(view.room.zero[: width_of(view, e)])


@is_absent.register(BlockView)
def is_all_zero(view, value):
    """Whether all parameters are 0, as they are, or none of them."""
    for i in range(value.x.shape[0]):
        if value.x[i] != 0.0:
            return False
    return True


@log_slab.register(BlockView)
def log_slab_of_block(view, slab, value):
    total = 0.0
    for i in range(value.x.shape[0]):
        total += log_density(slab, value.x[i])
    return total


@log_biases.register(BlockView)
def log_biases_at(view, e, value, bias):
    return log_biases_of_block(view, e, value.x, bias)


@log_highest_odds.register(BlockView)
def log_highest_odds_of_block(view, e, prior, explained, h):
    """Return the bound; h is the log of a determinant."""
    peak = width_of(view, e) * (prior.slab.constant + HALF_LOG_2PI)
    return prior.log_odds[e] + peak + explained - 0.5 * h


@lean
def newton_step(view, slab, x, g):
    """Step from x towards the mode of slab times likelihood, into `room.move`; its log determinant.

    `g`: slope of the likelihood, to which that of the slab is added; `room.precision`: its information,
    likewise.
    """
    room, width = view.room, x.shape[0]
    for i in range(width):
        slope, precision = slope_and_precision(slab, x[i])
        g[i] += slope
        room.precision[i, i] += precision
    log_det, _ = factorise(room.precision, width, room.root)
    solve_lower(room.root, g[:width], room.move)
    solve_upper(room.root, room.move[:width])
    return log_det


@rough_fit.register(BlockView)
def rough_fit_of_block(view, e, slab):
    """Newton's method from 0 with the parabola at 0."""
    room, width = view.room, width_of(view, e)
    _, is_bounded = factorise(room.information, width, room.root)
    explained = solve_lower(room.root, room.score[:width], room.z) if is_bounded else np.inf
    mode, log_det = room.mode[:width], 0.0
    for i in range(width):
        mode[i] = 0.0
    for _ in range(1 if slab.kind == NORMAL else 3):
        for i in range(width):
            room.slope[i] = room.score[i]
            for j in range(width):
                room.slope[i] -= room.information[i, j] * mode[j]
                room.precision[i, j] = room.information[i, j]
        log_det = newton_step(view, slab, mode, room.slope)
        for i in range(width):
            mode[i] += room.move[i]
    log_mass = width * HALF_LOG_2PI - 0.5 * log_det
    for i in range(width):
        log_mass += log_density(slab, mode[i]) + room.score[i] * mode[i]
        for j in range(width):
            log_mass -= 0.5 * mode[i] * room.information[i, j] * mode[j]
    return BlockFit(mode, room.root, log_det, explained), log_mass, explained


@refined_fit.register(BlockView)
def refined_fit_of_block(view, e, fit, prior):
    """Take steps of bounded length, as for a number."""
    room, width, slab = view.room, width_of(view, e), prior.slab
    reach, x, mode = MAX_SHIFT / view.field.contrast, room.trial[:width], fit.mode
    absent = log_biases_of_block(view, e, room.zero[:width], prior.bias)
    shrink = min(1.0, reach / max(length_of(mode), 1e-300))
    for i in range(width):
        x[i] = shrink * mode[i]
        room.last[i] = 0.0
    log_mass, log_det = 0.0, 0.0
    for _ in range(MAX_NEWTON):
        value = block_terms(view.whole, view, e, x, room.slope, room.precision)
        value += add_bias_terms(view, e, x, prior.bias, room.slope, room.precision) - absent
        for i in range(width):
            value += log_density(slab, x[i])
        log_det = newton_step(view, slab, x, room.slope)
        squared, turn, move = 0.0, 0.0, room.move[:width]
        for i in range(width):
            squared += room.slope[i] * move[i]
            turn += move[i] * room.last[i]
        log_mass = value + 0.5 * squared + width * HALF_LOG_2PI - 0.5 * log_det
        length = length_of(move)
        shrink = min(1.0, reach / max(length, 1e-300))
        last = length_of(room.last[:width])
        for i in range(width):
            x[i] += shrink * move[i]
            room.last[i] = move[i]
        if squared < CONVERGED and length < 0.99 * reach:
            break
        if turn < 0.0:  # the mode is between
            reach = 0.5 * min(last, length)
        elif length >= 0.99 * reach:
            reach *= 2.0
    for i in range(width):
        mode[i] = x[i]
    return BlockFit(mode, room.root, log_det, fit.explained), log_mass


@lean
def length_of(x):
    """Euclidean length of x."""
    squared = 0.0
    for i in range(x.shape[0]):
        squared += x[i] * x[i]
    return np.sqrt(squared)


@propose.register(BlockView)
def propose_block(view, slab, fit, rng):
    """Draw a vector into `room.new`."""
    width = fit.mode.shape[0]
    new, scale = view.room.new[:width], 1.0
    if rng.random() < WIDE:
        scale = WIDTH / np.sqrt(2.0 * rng.standard_gamma(0.5))
    else:
        half = 0.5 * NU * width
        scale = 1.0 / np.sqrt(rng.standard_gamma(half) / half)
    for i in range(width):
        new[i] = rng.standard_normal()
    solve_upper(fit.root, new)
    for i in range(width):
        new[i] = fit.mode[i] + scale * new[i]
    return Value(new)


@log_proposed.register(BlockView)
def log_proposed_block(view, slab, fit, value):
    """Evaluate the mixture of both densities."""
    x, width, squared = value.x, fit.mode.shape[0], 0.0
    for j in range(width):
        z = 0.0
        for i in range(j, width):
            z += fit.root[i, j] * (x[i] - fit.mode[i])
        squared += z * z
    narrow = np.log1p(-WIDE) + log_student(squared, NU * width, width)
    wide = np.log(WIDE) + log_student(squared / WIDTH**2, 1.0, width) - width * np.log(WIDTH)
    return np.logaddexp(narrow, wide) + 0.5 * fit.log_det


@lean
def log_student(squared, nu, width):
    """Log density of Student's t of `width` dimensions at this squared distance from its centre."""
    constant = lgamma(0.5 * (nu + width)) - lgamma(0.5 * nu) - 0.5 * width * np.log(nu * np.pi)
    return constant - 0.5 * (nu + width) * np.log1p(squared / nu)
