"""What moves of edges ask of a likelihood: the questions, their default answers, a field and its data.

A likelihood is a *view*: a namedtuple with the attributes ``field`` (`Field`), ``data`` (`FieldData`), ``w``
(r,) and ``b`` (d q,), the present parameters, which moves change, ``beta`` (d q,), the centred biases, which
do not change with an edge, ``n_biases``, d q if the biases move and else 0, and with records of its own: of
the data, of what follows from the parameters, and of scratch, ``room``. It answers `look_at`,
`without_edge`, `likelihood_terms`, `gain` and `follow` to moves of single edges, `add_slopes` and
`is_trusted` to joint moves. `shared_edges` has a view of a vector that is a part of the parameters only; it
answers the rest as well, and asks `keep_look` and `recall_look`. Default answers are those of most views.

What `edge_moves.sweep_edges` asks about edge e, whose value is x, in this order:

1. ``glance(view, e)`` bounds what an absent edge explains, without any work of its own, if it can, and
   ``look_at(view, e, x)`` takes the edge out and does so as well: most absent edges end here.
2. ``without_edge(view, e)`` is the score and information at 0, from which a value is proposed.
3. ``likelihood_terms(view, e, y)``, for likely edges, at each of some Newton steps towards the mode.
4. ``bias_terms(view, e, y, bias)`` is the prior of both ends, whose biases move with the edge.
5. ``gain(view, e, y)`` is the log-likelihood at the old value and at the new one, for the ratio.
6. ``set_edge(view, e, y)`` writes the value and the biases of the ends, if it is accepted;
7. ``follow(view, e, x, y)`` then changes all else that the view keeps.

A joint move sets all parameters by `set_parameters`, asks `without_slab`, which asks `add_slopes`, at every
leapfrog step, and `is_trusted` at both ends.
"""

from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import by_type, lean
from pymc_mrf.kernels.priors.densities import Joined, density_of, log_density, slope_and_precision
from pymc_mrf.kernels.vector_sums import copy, next_nonzero


class Field(NamedTuple):
    """A field of d nodes with up to K states, or several fields, as blocks that no edge joins.

    The statistic of edge (u, v) is f(a, b) = sum_l F_ul(a) F_vl(b), M *features* F of each node, one of them
    for products of scores. Where an edge has a block of parameters (`block_edges`), each of them is an edge
    of its own here, one of several between the same nodes, with one product F_uk(a) F_vl(b). A node has q
    parameters, each multiplying a row of the basis G: b_i(a) = sum_k b_ik G_k(a). Vectors over nodes and
    features, or nodes and parameters, have the entries of a node side by side.

    Attributes
    ----------
    edges : (r, 2) int64 array
    pair : (r,) int64 array
        Which pair of nodes each edge joins, numbers that do not decrease: its own, but for blocks.
    products : (r, L, 2) int64 array
        Features of both ends of each edge whose products add up to its statistic: l and l for all L = M of
        them, but for blocks k and l with L = 1.
    order : (r,) int64 array
        Order of visits.
    features : (d, M, K) array
    basis : (q, K) array
    floor : (d, K) array
        Log potentials of nodes that no parameter changes: 0 as a rule, -inf where a node has no such state.
    centre : (r, 2, M) array
        What is taken from the features of both ends of each edge, c_u and c_v, or zeros: c_vl multiplies the
        feature l of u.
    lift : (d q, M) array
        Parameters that shift a node as each of its features does: sum_k lift_kl G_k(a) = F_il(a) up to a
        constant.
    statistic : (r, K K) array
        f over the states of a pair.
    cells : (r, K K) array
        f, centred: f(a, b) - sum_l (c_vl F_ul(a) + c_ul F_vl(b)).
    contrast : float
        Largest change of the log odds of a pair by an edge of value 1.
    """

    edges: np.ndarray
    pair: np.ndarray
    products: np.ndarray
    order: np.ndarray
    features: np.ndarray
    basis: np.ndarray
    floor: np.ndarray
    centre: np.ndarray
    lift: np.ndarray
    statistic: np.ndarray
    cells: np.ndarray
    contrast: float


class FieldData(NamedTuple):
    """What the rows of the data say of a `Field`.

    Attributes
    ----------
    n : (d,) array
        Rows of the block of each node.
    s, sums : (r,) arrays
        Sums over rows of the edges' statistics, centred as in `Field.cells`, and as they are.
    t : (d q,) array
        Sums over rows of the basis.
    """

    n: np.ndarray
    s: np.ndarray
    sums: np.ndarray
    t: np.ndarray


@by_type
def look_at(view: Any, e: int, x: float) -> Any:
    """Begin with edge e, whose value is x: the field without it.

    Returns an upper bound of what its score at 0 explains, score^2 / (2 information), and a lower bound of
    the information, for the score and information that `without_edge` would give.
    """


@by_type
def glance(view: Any, e: int) -> Any:
    """Bound what `look_at` would return of absent edge e: what it explains from above, the same information.

    From what is known of all edges; the edge counts as looked at only after `look_at`.
    """


@glance.register(object)
def tell_nothing(view, e):
    """Return no bound."""
    return np.inf, 1.0


@by_type
def without_edge(view: Any, e: int) -> Any:
    """Score and information of edge e at parameter 0, roughly: what `look_at` left for edges in doubt."""


@by_type
def likelihood_terms(view: Any, e: int, x: float) -> Any:
    """Log-likelihood gained by moving edge e from 0 to x; its slope and information there."""


@by_type
def gain(view: Any, e: int, x: float) -> Any:
    """Log-likelihood gained by moving edge e from 0 to x; `follow` may come next, with this x or 0 as new."""


@without_edge.register(object)
def terms_without_edge(view, e):
    _, slope, information = likelihood_terms(view, e, 0.0)
    return slope, information


@gain.register(object)
def gain_by_terms(view, e, x):
    return likelihood_terms(view, e, x)[0]


@by_type
def gain_alone(view: Any, e: int, x: float) -> Any:
    """`gain`, for x that edge e does not take: `follow` does not come next."""


@gain_alone.register(object)
def gain_as_of_others(view, e, x):
    """Ask `gain`."""
    return gain(view, e, x)


@by_type
def follow(view: Any, e: int, old: float, new: float) -> Any:
    """Change edge e in all that the view keeps but `w` and `b`."""


@by_type
def keep_look(view: Any, slot: int) -> Any:
    """Keep what `look_at` found, for `shared_edges`, where moves look at several edges together."""


@by_type
def recall_look(view: Any, slot: int) -> Any:
    """Recall what `keep_look` kept, so that `likelihood_terms` and `gain` may be asked of that edge again."""


@lean
def rows_of(view, e):
    """Rows of the data of edge e."""
    return view.data.n[view.field.edges[e, 0]]


@lean
def shift(field, a, e, end):
    """Return how far node parameter a, of an end of edge e, falls by a unit of e while centred ones stay."""
    value = 0.0
    for l in range(field.features.shape[1]):
        value += field.lift[a, l] * field.centre[e, 1 - end, l]
    return value


@lean
def biases_of(field, u):
    """Return the places of the biases of node u that move with its edges; some nodes have none."""
    q = field.basis.shape[0]
    return range(u * q, min(u * q + q, field.lift.shape[0]))


@by_type
def bias_terms(view: Any, e: int, x: float, bias: Any) -> Any:
    """Log prior of the biases of both ends at value x of edge e; its slope and curvature by x."""


@bias_terms.register(object)
def bias_terms_of_field(view, e, x, bias):
    """Evaluate the densities of the biases as they would be."""
    value, slope, curvature = 0.0, 0.0, 0.0
    if view.n_biases > 0:
        move = x - view.w[e]
        for end in range(2):
            for a in biases_of(view.field, view.field.edges[e, end]):
                density, step = density_of(bias, a), shift(view.field, a, e, end)
                at = view.b[a] - move * step
                g, h = slope_and_precision(density, at)
                value += log_density(density, at)
                slope -= step * g
                curvature += step * step * h
    return value, slope, curvature


@by_type
def set_edge(view: Any, e: int, x: float) -> Any:
    """Give edge e the value x, and its ends the biases that keep them centred."""


@set_edge.register(object)
def set_edge_of_field(view, e, x):
    """Write the value and the biases to the view's arrays."""
    move = x - view.w[e]
    view.w[e] = x
    for end in range(2):
        for a in biases_of(view.field, view.field.edges[e, end]):
            view.b[a] -= move * shift(view.field, a, e, end)


@by_type
def add_slopes(view: Any, active: Any, slope: Any) -> Any:
    """Log-likelihood at the view's parameters up to a constant; its slopes are added to `slope`.

    `slope` (k + n_biases,): by the weights of the edges `active` (k,) and by the centred biases.
    """


@by_type
def is_trusted(view: Any) -> Any:
    """Whether the likelihood is known well enough where `add_slopes` was asked last."""


@is_trusted.register(object)
def all_is_trusted(view):
    return True


@by_type
def set_parameters(view: Any, active: Any, place: Any) -> Any:
    """Weights of the edges `active` (k,) and biases of the view, from coordinates `place` (k + n_biases,)."""


@set_parameters.register(object)
def set_parameters_of_field(view, active, place):
    """Write `place` (k + n_biases,) to the view's arrays."""
    field, k = view.field, active.shape[0]
    for a in range(k):
        view.w[active[a]] = place[a]
    if view.n_biases > 0:
        copy(place[k:], view.beta)
        copy(view.beta, view.b)
        add_shifts(field, view.w, -1.0, view.b)


@by_type
def without_slab(view: Any, active: Any, bias: Any, slope: Any) -> Any:
    """Log-likelihood and log prior of the biases, up to a constant, and their gradient.

    Into `slope` (k + n_biases,), by the edges `active` (k,) first.
    """


@without_slab.register(object)
def field_without_slab(view, active, bias, slope):
    """Add up `bias_prior` and `add_slopes`, with their gradients in `slope` (k + n_biases,)."""
    k, value = active.shape[0], 0.0
    if view.n_biases > 0:
        value = bias_prior(bias, view.b, slope[k:])
    for a in range(k):
        slope[a] = 0.0
        if view.n_biases > 0:  # so far the slopes of the biases' prior: at constant centred biases
            for end in range(2):
                for i in biases_of(view.field, view.field.edges[active[a], end]):
                    slope[a] -= shift(view.field, i, active[a], end) * slope[k + i]
    return value + add_slopes(view, active, slope)


@by_type
def bias_prior(bias: Any, b: Any, slope: Any) -> Any:
    """Log prior of the biases `b` (n_biases,), and its gradient, into `slope` (n_biases,)."""


@bias_prior.register(object)
def prior_of_each(bias, b, slope):
    """Sum the log density of each bias, as each has its own; `b` and `slope` (n_biases,)."""
    value = 0.0
    for i in range(b.shape[0]):
        density = density_of(bias, i)
        value += log_density(density, b[i])
        slope[i] = slope_and_precision(density, b[i])[0]
    return value


@bias_prior.register(Joined)
def prior_of_both(bias, b, slope):
    """Add up what the first and the second say; `b` and `slope` (n_biases,)."""
    n = bias.n_first
    return bias_prior(bias.first, b[:n], slope[:n]) + bias_prior(bias.second, b[n:], slope[n:])


@by_type
def fill_bias_precisions(bias: Any, out: Any) -> Any:
    """Curvature of the log prior of the biases, each at its centre, into `out` (d q,)."""


@fill_bias_precisions.register(object)
def fill_own_precisions(bias, out):
    """Take each curvature from the bias's own density, into `out` (d q,)."""
    for i in range(out.shape[0]):
        density = density_of(bias, i)
        out[i] = slope_and_precision(density, density.location)[1]


@fill_bias_precisions.register(Joined)
def fill_precisions_of_both(bias, out):
    """Ask the first and the second, into `out` (d q,)."""
    fill_bias_precisions(bias.first, out[: bias.n_first])
    fill_bias_precisions(bias.second, out[bias.n_first :])


@lean
def fill_node_tables(field, b, tables):
    """Log potentials `tables` (d, K) of the states of the nodes, from biases `b` (d q,)."""
    q = field.basis.shape[0]
    for i in range(tables.shape[0]):
        for a in range(tables.shape[1]):
            value = field.floor[i, a]
            for k in range(q):
                value += b[i * q + k] * field.basis[k, a]
            tables[i, a] = value


@lean
def centred(field, w, b, beta):
    """Fill the centred biases `beta` (d q,) from weights (r,) and biases (d q,)."""
    copy(b, beta)
    add_shifts(field, w, 1.0, beta)


@lean
def add_shifts(field, w, sign, b):
    """Add to the biases `b` (d q,) what centres those of a field with weights `w` (r,), times `sign`."""
    e = next_nonzero(w, 0)
    while e < w.shape[0]:
        for end in range(2):
            for a in biases_of(field, field.edges[e, end]):
                b[a] += sign * w[e] * shift(field, a, e, end)
        e = next_nonzero(w, e + 1)
