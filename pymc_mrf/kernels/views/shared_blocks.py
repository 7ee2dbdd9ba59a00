"""Blocks of parameters that are a part of those of several fields: answers to `block_edges` by their parts.

The parameters of field f are an offset plus constant factors times the vector, whose blocks are those of the
edges of all fields. Log-likelihoods of the fields add; each of them is a part, a `BlockView` that is asked
at its own values. Node parameters do not move.

In all functions values `x` (W,), `old` and `new` (W,), slopes `g` (W,) and information `H` (W, W) are as in
`block_edges`.
"""

from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.gaussian import ABSENT
from pymc_mrf.kernels.views import block_edges as blocks
from pymc_mrf.kernels.views import questions


class SharedBlockView(NamedTuple):
    """A vector with blocks, and the fields of whose parameters it is a part.

    Attributes
    ----------
    field : NamedTuple
        Of the first part.
    parts : tuple of F BlockView
    factors, offset : (F, P) arrays
    w : (P,) array
        The vector.
    b, beta : (N,) and (0,) arrays
    n_biases : int
        0.
    at : (2, W) array
        Scratch: values of a part.
    g : (W,) array
        Scratch.
    H : (W, W) array
        Scratch.
    slope : (P,) array
        Scratch.
    without : (1,) array
        Log-likelihood without the block looked at, relative to what its parts compare with.
    """

    field: Any
    parts: Any
    factors: np.ndarray
    offset: np.ndarray
    w: np.ndarray
    b: np.ndarray
    beta: np.ndarray
    n_biases: int
    at: np.ndarray
    g: np.ndarray
    H: np.ndarray
    slope: np.ndarray
    without: np.ndarray


@lean
def place_part(whole, f, first, x, out):
    """Fill `out` (W,) with the parameters of part f where the block that begins at a parameter is x."""
    for k in range(x.shape[0]):
        out[k] = whole.offset[f, first + k] + whole.factors[f, first + k] * x[k]


@lean
def add_part(whole, f, first, width, g, H):
    """Add slopes and information of part f, in the scratch, by the block, to g and H."""
    for k in range(width):
        g[k] += whole.factors[f, first + k] * whole.g[k]
        for l in range(width):
            H[k, l] += whole.factors[f, first + k] * whole.factors[f, first + l] * whole.H[k, l]


@lean
def clear(width, g, H):
    """Set slopes and information to 0."""
    for k in range(width):
        g[k] = 0.0
        for l in range(width):
            H[k, l] = 0.0


@blocks.take_out.register(SharedBlockView)
def take_block_out_of_parts(whole, view, e, x):
    """Take the block out of every part, and add up their terms at the offset."""
    first, width, room = view.field.first[e], x.shape[0], view.room
    clear(width, room.score, room.information)
    whole.without[0] = 0.0
    for f in range(len(whole.parts)):
        part, value = whole.parts[f], whole.at[0, :width]
        place_part(whole, f, first, x, value)
        blocks.take_out(part.whole, part, e, value)
        place_part(whole, f, first, room.zero[:width], value)
        blocks.block_terms(part.whole, part, e, value, whole.g, whole.H)
        add_part(whole, f, first, width, room.score, room.information)
        whole.without[0] += max(blocks.block_gain(part.whole, part, e, value), ABSENT)


@blocks.absence.register(SharedBlockView)
def log_likelihood_without(whole, view, e, x):
    """Return what the parts say of absence, with which `block_gain` is to be compared."""
    for k in range(x.shape[0]):
        if x[k] != 0.0:
            return 0.0
    return whole.without[0]


@blocks.block_terms.register(SharedBlockView)
def block_terms_of_parts(whole, view, e, x, g, H):
    """Add up the terms of the parts."""
    first, width, total = view.field.first[e], x.shape[0], 0.0
    clear(width, g, H)
    for f in range(len(whole.parts)):
        part, value = whole.parts[f], whole.at[0, :width]
        place_part(whole, f, first, x, value)
        total += blocks.block_terms(part.whole, part, e, value, whole.g, whole.H)
        add_part(whole, f, first, width, g, H)
    return total


@blocks.block_gain.register(SharedBlockView)
def block_gain_of_parts(whole, view, e, x):
    """Add up the gains of the parts."""
    first, total = view.field.first[e], 0.0
    for f in range(len(whole.parts)):
        part, value = whole.parts[f], whole.at[0, : x.shape[0]]
        place_part(whole, f, first, x, value)
        total += blocks.block_gain(part.whole, part, e, value)
    return total


@questions.set_edge.register(SharedBlockView)
def set_entry(view, e, x):
    view.w[e] = x


@blocks.follow_block.register(SharedBlockView)
def follow_block_in_parts(whole, view, e, old, new):
    """Move every part, which has looked at its new value last."""
    first, width = view.field.first[e], new.shape[0]
    for f in range(len(whole.parts)):
        part, before, after = whole.parts[f], whole.at[0, :width], whole.at[1, :width]
        place_part(whole, f, first, old, before)
        place_part(whole, f, first, new, after)
        moves = False
        for k in range(width):
            moves = moves or before[k] != after[k]
        if moves:
            blocks.block_gain(part.whole, part, e, after)
            for k in range(width):
                questions.set_edge(part.whole, first + k, after[k])
            blocks.follow_block(part.whole, part, e, before, after)


@questions.set_parameters.register(SharedBlockView)
def set_vector(view, active, place):
    """Write the entries `active` (k,) from `place` (k,), and the parameters of all parts."""
    for a in range(active.shape[0]):
        view.w[active[a]] = place[a]
    set_parts(view)


@lean
def set_parts(view):
    for f in range(len(view.parts)):
        w = view.parts[f].whole.w
        for e in range(w.shape[0]):
            w[e] = view.offset[f, e] + view.factors[f, e] * view.w[e]


@questions.without_slab.register(SharedBlockView)
def parts_without_slab(view, active, bias, slope):
    """Add up the log-likelihoods of the parts, and their slopes by the entries `active` (k,)."""
    k, value = active.shape[0], 0.0
    for a in range(k):
        slope[a] = 0.0
    for f in range(len(view.parts)):
        own = view.slope[:k]
        for a in range(k):
            own[a] = 0.0
        value += questions.add_slopes(view.parts[f].whole, active, own)
        for a in range(k):
            slope[a] += view.factors[f, active[a]] * own[a]
    return value


@questions.is_trusted.register(SharedBlockView)
def parts_are_trusted(view):
    trusted = True
    for f in range(len(view.parts)):
        trusted = trusted and questions.is_trusted(view.parts[f].whole)
    return trusted
