"""View of edges with a block of parameters each, for `edge_moves`, around a view of the single parameters.

Edge e has the parameters first[e] to first[e + 1], x (W,), whose statistics c (W, K K) add up to a table of
the states of both ends, x c. To the view inside, `whole`, each of them is an edge of its own, one of several
between the same nodes: joint moves ask it, single edges are moved as blocks by this view. What it asks of
`whole` are the questions below, which views answer by the table of the pair (`table_blocks`) or by rows
(`pseudo_edges`).

In all functions `x` (W,), `old` and `new` (W,) are those of a `Value`, and scores or slopes `g` (W,),
information `H` (W, W), matrices `A` and `L` (W, W) and vectors `z` (W,) may be longer.
"""

from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import by_type, lean
from pymc_mrf.kernels.priors.densities import density_of, log_density, slope_and_precision
from pymc_mrf.kernels.views import questions

TINY = 1e-12  # share of the largest diagonal entry below which a pivot of a factor is zero


class Blocks(NamedTuple):
    """Which parameters are those of each edge.

    Attributes
    ----------
    order : (r,) int64 array
        Order of visits.
    first : (r + 1,) int64 array
    contrast : float
        Largest change of the log odds of a pair by a block of length 1.
    """

    order: np.ndarray
    first: np.ndarray
    contrast: float


class Value(NamedTuple):
    """Value of an edge with W parameters.

    Attributes
    ----------
    x : (W,) array
    """

    x: np.ndarray


class BlockRoom(NamedTuple):
    """Scratch, for W parameters, as many as the largest block has.

    Attributes
    ----------
    old, new, zero, trial, move, last : (W,) arrays
        Values of the edge that is looked at: its present one, one that is proposed, none, and others.
    mode, z : (W,) arrays
        Of the proposal; standardised deviation from it.
    score, slope : (W,) arrays
        At 0 and at any other value.
    sums : (W,) array
        Of the statistics over rows, less what a sample says of their means.
    information, precision, root : (W, W) arrays
        At 0; at any other value, with the slab; its lower triangular factor.
    table, p : (K K,) arrays
        Log table x c, and probabilities of the states of the pair.
    """

    old: np.ndarray
    new: np.ndarray
    zero: np.ndarray
    trial: np.ndarray
    move: np.ndarray
    last: np.ndarray
    mode: np.ndarray
    z: np.ndarray
    score: np.ndarray
    slope: np.ndarray
    sums: np.ndarray
    information: np.ndarray
    precision: np.ndarray
    root: np.ndarray
    table: np.ndarray
    p: np.ndarray


class BlockView(NamedTuple):
    """Edges with blocks of parameters.

    Attributes
    ----------
    field : Blocks
    whole : a view
        Of the single parameters.
    w, b, beta, n_biases
        Those of `whole`.
    room : BlockRoom
    """

    field: Blocks
    whole: Any
    w: np.ndarray
    b: np.ndarray
    beta: np.ndarray
    n_biases: int
    room: BlockRoom


def allocate_room(width: int, n_cells: int) -> BlockRoom:
    """Room for blocks of up to `width` parameters, and tables of `n_cells`."""
    return BlockRoom(*np.zeros((11, width)), *np.zeros((3, width, width)), *np.zeros((2, n_cells)))


@lean
def factorise(A, width, L):
    """Lower triangular factor of A, `width` rows of it, into L; the log determinant of A.

    What is not positive definite by more than rounding is made so. Whether it was, comes second.
    """
    log_det, least, is_definite = 0.0, 0.0, True
    for i in range(width):
        least = max(least, TINY * A[i, i])
    for i in range(width):
        for j in range(i + 1):
            value = A[i, j]
            for k in range(j):
                value -= L[i, k] * L[j, k]
            if i == j:
                is_definite = is_definite and value > least
                value = max(value, least)
                L[i, i] = np.sqrt(value)
                log_det += np.log(value)
            else:
                L[i, j] = value / L[j, j]
    return log_det, is_definite


@lean
def solve_lower(L, g, z):
    """Solve L z = g for z, of the length of g; half its squared length."""
    half = 0.0
    for i in range(g.shape[0]):
        value = g[i]
        for k in range(i):
            value -= L[i, k] * z[k]
        z[i] = value / L[i, i]
        half += 0.5 * z[i] * z[i]
    return half


@lean
def solve_upper(L, z):
    """Solve L' y = z in place."""
    for i in range(z.shape[0] - 1, -1, -1):
        value = z[i]
        for k in range(i + 1, z.shape[0]):
            value -= L[k, i] * z[k]
        z[i] = value / L[i, i]


@lean
def width_of(view, e):
    return view.field.first[e + 1] - view.field.first[e]


@by_type
def take_out(whole: Any, view: Any, e: int, x: Any) -> None:
    """Begin with block e, whose value is x: score and information at 0 without it, in the room of `view`."""


@by_type
def block_terms(whole: Any, view: Any, e: int, x: Any, g: Any, H: Any) -> Any:
    """Log-likelihood gained by moving block e from 0 to x; its slope g and information H there."""


@by_type
def block_gain(whole: Any, view: Any, e: int, x: Any) -> Any:
    """Log-likelihood gained by moving block e from 0 to x; `follow_block` may come next, with this x or 0."""


@by_type
def follow_block(whole: Any, view: Any, e: int, old: Any, new: Any) -> None:
    """Change block e in all that `whole` keeps but `w` and `b`."""


@by_type
def absence(whole: Any, view: Any, e: int, x: Any) -> Any:
    """Log prior of value x of block e beside slab and biases: -inf, nearly, where it cannot be absent."""


@absence.register(object)
def absence_is_free(whole, view, e, x):
    return 0.0


@questions.look_at.register(BlockView)
def look_at_block(view, e, value):
    """Take the block out; what the score explains, infinite if unknown, and log det of the information."""
    room, width = view.room, width_of(view, e)
    take_out(view.whole, view, e, value.x)
    log_det, is_bounded = factorise(room.information, width, room.root)
    explained = solve_lower(room.root, room.score[:width], room.z)
    return explained if is_bounded else np.inf, log_det


@questions.gain.register(BlockView)
def gain_of_block(view, e, value):
    return block_gain(view.whole, view, e, value.x)


@questions.set_edge.register(BlockView)
def set_block(view, e, value):
    """Set one parameter after the other, each with the biases that keep the ends centred."""
    for i in range(value.x.shape[0]):
        questions.set_edge(view.whole, view.field.first[e] + i, value.x[i])


@questions.follow.register(BlockView)
def follow_edge(view, e, old, new):
    follow_block(view.whole, view, e, old.x, new.x)


@lean
def bias_at(view, e, x, end, a):
    """Node parameter a, of an end of edge e, when the edge has the value x."""
    at, first = view.b[a], view.field.first[e]
    for i in range(x.shape[0]):
        at -= (x[i] - view.w[first + i]) * questions.shift(view.whole.field, a, first + i, end)
    return at


@lean
def log_biases_of_block(view, e, x, bias):
    """Log prior of the biases of both ends of edge e as they are at its value x."""
    field, value = view.whole.field, absence(view.whole, view, e, x)
    if view.n_biases > 0:
        for end in range(2):
            for a in questions.biases_of(field, field.edges[view.field.first[e], end]):
                value += log_density(density_of(bias, a), bias_at(view, e, x, end, a))
    return value


@lean
def add_bias_terms(view, e, x, bias, g, H):
    """Log prior of the biases of both ends at value x; its slope and curvature are added to g and H."""
    field, first, width, value = view.whole.field, view.field.first[e], x.shape[0], 0.0
    if view.n_biases > 0:
        for end in range(2):
            for a in questions.biases_of(field, field.edges[first, end]):
                density, at = density_of(bias, a), bias_at(view, e, x, end, a)
                slope, precision = slope_and_precision(density, at)
                value += log_density(density, at)
                for i in range(width):
                    by_i = questions.shift(field, a, first + i, end)
                    g[i] -= by_i * slope
                    for j in range(width):
                        H[i, j] += by_i * questions.shift(field, a, first + j, end) * precision
    return value
