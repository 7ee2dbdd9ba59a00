"""Moves of the edges of a field, whatever the likelihood: presence and value of one edge after the other.

Given all else, an edge is absent (parameter 0) or has a value x with density proportional to
p / (1 - p) slab(x) exp(l(x) - l(0)). The proposal is independent of the edge's present state: absent or
not by the odds of a Laplace approximation, the value from a heavy-tailed density at the mode; under a
tabulated slab by `slab_cells`. An acceptance step then leaves the conditional itself invariant (Hastings,
1970).

Edges move at constant *centred* biases, beta_i = b_i + sum_j w_ij c_ij if a node has one bias. The constants
c_ij, `Field.centre`, are such that weights and biases are about independent. If the biases are not the
sampler's to move, c = 0 and beta = b.

A likelihood is a *view*: a namedtuple with the attributes ``field`` (`Field`), ``w`` (r,) and ``b`` (d q,),
the present parameters, which moves change, ``beta`` (d q,), the centred biases, which do not change with an
edge, ``n_biases``, d q if the biases move and else 0, and with arrays of its own. It answers `look_at`,
`without_edge`, `likelihood_terms`, `gain` and `follow`, in this order for every edge in doubt, `look_at`
alone for others; `hamiltonian` asks the rest. `shared_edges` has a view of a vector that is a part of the
parameters only.
"""

from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.by_type import by_type
from pymc_mrf.kernels.densities import (
    HALF_LOG_2PI,
    Alike,
    Combined,
    Densities,
    Density,
    Tabulated,
    density_of,
    expanded_fit,
    log_density,
    log_fit,
    propose_fit,
    quadratic_fit,
    slope_and_precision,
)
from pymc_mrf.kernels.metropolis import metropolis
from pymc_mrf.kernels.vector_sums import copy

LEAST = 1e-3
"""Smallest probability with which either state of an edge is proposed."""

MAX_NEWTON = 12  # steps towards a mode, at most
MAX_SHIFT = 2.0  # of the first of them, in the log odds of a pair; others may be longer
CONVERGED = 0.05  # squared length, in standard deviations, of a step that is the last
REFINE = 0.25  # proposals of presence more probable than this get a better mode
STRONG = 0.5 * 3.5**2  # or if the score is 3.5 standard deviations from zero, which explains so much


class Field(NamedTuple):
    """Data of a field of d nodes with up to K states, or of several fields, as blocks that no edge joins.

    The statistic of an edge is f(a, b) = sum_l F_l(a) F_l(b), M *features* F, one of them for products of
    scores. A node has q parameters, each multiplying a row of the basis G: b_i(a) = sum_k b_ik G_k(a).
    Vectors over nodes and features, or nodes and parameters, have the entries of a node side by side.

    Attributes
    ----------
    edges : (r, 2) int64 array
    order : (r,) int64 array
        Order of visits.
    n : (d,) array
        Rows of the block of each node.
    features : (M, K) array
    basis : (q, K) array
    floor : (d, K) array
        Log potentials of nodes that no parameter changes: 0 as a rule, -inf where a node has no such state.
    centre : (r, 2, M) array
        What is taken from the features of both ends of each edge, c_u and c_v, or zeros.
    lift : (d q, M) array
        Parameters that shift a node as each feature does: sum_k lift_kl G_k(a) = F_l(a) up to a constant.
    s, sums : (r,) arrays
        Sums over rows of the edges' statistics, centred as in `cells`, and as they are.
    t : (d q,) array
        Sums over rows of G.
    statistic : (K K,) array
        f over the states of a pair.
    cells : (r, K K) array
        f, centred: f(a, b) - sum_l (c_vl F_l(a) + c_ul F_l(b)).
    contrast : float
        Largest change of the log odds of a pair by an edge of value 1.
    """

    edges: np.ndarray
    order: np.ndarray
    n: np.ndarray
    features: np.ndarray
    basis: np.ndarray
    floor: np.ndarray
    centre: np.ndarray
    lift: np.ndarray
    s: np.ndarray
    sums: np.ndarray
    t: np.ndarray
    statistic: np.ndarray
    cells: np.ndarray
    contrast: float


class EdgePrior(NamedTuple):
    """Prior of everything that the edge sampler moves.

    Attributes
    ----------
    log_odds : (r,) array
        Of presence.
    slab : Density or Tabulated
    bias : Densities of d q parameters, Alike or Combined
        FLAT if the biases do not move.
    """

    log_odds: np.ndarray
    slab: Density | Tabulated
    bias: Densities | Alike | Combined


@by_type
def look_at(view: Any, e: int, x: float) -> Any:
    """Begin with edge e, whose value is x: the field without it.

    Returns an upper bound of what its score at 0 explains, score^2 / (2 information), and a lower bound of
    the information, for the score and information that `without_edge` would give.
    """


@by_type
def without_edge(view: Any, e: int) -> Any:
    """Score and information of edge e at parameter 0, roughly: what `look_at` left for edges in doubt."""


@by_type
def likelihood_terms(view: Any, e: int, x: float) -> Any:
    """Log-likelihood gained by moving edge e from 0 to x; its slope and information there."""


@by_type
def gain(view: Any, e: int, x: float) -> Any:
    """Log-likelihood gained by moving edge e from 0 to x; `follow` may come next, with this x or 0 as new."""


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
def shift(field, a, e, end):
    """By how much node parameter a, of an end of edge e, falls for each unit of e while centred ones stay."""
    value = 0.0
    for l in range(field.features.shape[0]):
        value += field.lift[a, l] * field.centre[e, 1 - end, l]
    return value


@by_type
def bias_terms(view: Any, e: int, x: float, bias: Any) -> Any:
    """Log prior of the biases of both ends at value x of edge e; its slope and curvature by x."""


@bias_terms.register(object)
def bias_terms_of_field(view, e, x, bias):
    """From the biases as they would be."""
    value, slope, curvature = 0.0, 0.0, 0.0
    if view.n_biases > 0:
        q, move = view.field.basis.shape[0], x - view.w[e]
        for end in range(2):
            u = view.field.edges[e, end]
            for a in range(u * q, u * q + q):
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
    """In the view's arrays."""
    q, move = view.field.basis.shape[0], x - view.w[e]
    view.w[e] = x
    for end in range(2):
        u = view.field.edges[e, end]
        for a in range(u * q, u * q + q):
            view.b[a] -= move * shift(view.field, a, e, end)


@lean
def inclusion_probability(log_odds):
    """Probability with which a value other than 0 is proposed."""
    rho = 1.0 / (1.0 + np.exp(-log_odds))
    return min(max(rho, LEAST), 1.0 - LEAST)


@lean
def refined_fit(view, e, fit, prior):
    """Better `Fit` of the value of a present edge, by Newton's method; its log odds without the prior's."""
    # where states are rare the parabola at 0 has hardly any curvature, and its mode is anywhere
    slab, reach, log_mass = prior.slab, MAX_SHIFT / view.field.contrast, 0.0
    absent = bias_terms(view, e, 0.0, prior.bias)[0]
    x, last = min(max(fit.mode, -reach), reach), 0.0
    for _ in range(MAX_NEWTON):
        value, slope, information = likelihood_terms(view, e, x)
        log_prior, prior_slope, precision = bias_terms(view, e, x, prior.bias)
        value += log_prior - absent
        fit, log_mass = expanded_fit(slab, x, value, slope + prior_slope, information + precision, reach)
        move = fit.mode - x
        x += min(max(move, -reach), reach)
        if move * move * fit.precision < CONVERGED and abs(move) < 0.99 * reach:
            break
        if move * last < 0.0:  # the mode is between
            reach = 0.5 * abs(last)
        elif abs(move) >= 0.99 * reach:
            reach *= 2.0
        last = move
    return fit, log_mass


@lean
def log_presence(view, e, x, absent, prior, fit):
    """Log of the conditional density of edge e at x other than 0, relative to absence, and to `fit`.

    `absent`: log prior of its ends without it.
    """
    value = prior.log_odds[e] + log_density(prior.slab, x) + gain(view, e, x)
    return value + bias_terms(view, e, x, prior.bias)[0] - absent - log_fit(prior.slab, fit, x)


@lean
def sweep_edges(view, prior, corrected, rng):
    """Update every edge in turn.

    Parameters
    ----------
    view : a view
        Up to date with its parameters, which are changed in place.
    prior : EdgePrior
    corrected : bool
        Whether proposals are accepted by the rule of Metropolis and Hastings; else always.
    rng : numpy.random.Generator

    Returns
    -------
    n_proposed, n_accepted : int
        Proposals that would change an edge, and those accepted.
    """
    w, slab = view.w, prior.slab
    n_proposed, n_accepted = 0, 0
    peak = slab.constant + HALF_LOG_2PI
    for e in view.field.order:
        old, uniform = w[e], rng.random()
        explained, h = look_at(view, e, old)
        if old == 0.0 and explained < STRONG:
            # most edges are hopeless: an upper bound of what `rho` will be settles them
            bound = np.exp(prior.log_odds[e] + peak + explained) / np.sqrt(h)
            if bound < REFINE and uniform > max(bound, LEAST):
                continue
        g, h = without_edge(view, e)
        fit, log_mass = quadratic_fit(slab, g, h)
        rho = inclusion_probability(prior.log_odds[e] + log_mass)
        if rho > REFINE or 0.5 * g * g >= STRONG * h:
            fit, log_mass = refined_fit(view, e, fit, prior)
            rho = inclusion_probability(prior.log_odds[e] + log_mass)
        new = propose_fit(slab, fit, rng) if uniform < rho else 0.0
        if new == 0.0 and old == 0.0:
            continue
        n_proposed += 1
        log_ratio, log_odds = 0.0, np.log(rho / (1.0 - rho))
        absent = bias_terms(view, e, 0.0, prior.bias)[0]
        for x, sign in ((old, -1.0), (new, 1.0)):
            if x != 0.0:
                log_ratio += sign * (log_presence(view, e, x, absent, prior, fit) - log_odds)
        if corrected and not metropolis(log_ratio, rng)[0]:
            continue
        n_accepted += 1
        set_edge(view, e, new)
        follow(view, e, old, new)
    return n_proposed, n_accepted


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
    q = field.basis.shape[0]
    for e in range(w.shape[0]):
        if w[e] != 0.0:
            for end in range(2):
                u = field.edges[e, end]
                for a in range(u * q, u * q + q):
                    b[a] += sign * w[e] * shift(field, a, e, end)
