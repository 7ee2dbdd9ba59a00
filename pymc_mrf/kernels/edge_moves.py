"""Moves of the edges of a field, whatever the likelihood: presence and value of one edge after the other.

Given all else, an edge is absent (parameter 0) or has a value x with density proportional to
p / (1 - p) slab(x) exp(l(x) - l(0)). The proposal is independent of the edge's present state: absent or
not by the odds of a Laplace approximation, the value from a heavy-tailed density at the mode; under a
tabulated slab by `slab_cells`. An acceptance step then leaves the conditional itself invariant (Hastings,
1970).

Edges move at constant *centred* biases beta_i = b_i + sum_j w_ij m_j, m the means of the data, which
decorrelates weights and biases. If the biases are not the sampler's to move, m = 0 and beta = b.

A likelihood is a *view*: a namedtuple with the attributes ``field`` (`Field`), ``w`` (r,) and ``b`` (d,),
the present parameters, which moves change, ``beta`` (d,), the centred biases, which do not change with an
edge, ``n_biases``, d if the biases move and else 0, and with arrays of its own. It answers `look_at`,
`without_edge`, `likelihood_terms`, `gain` and `follow`, in this order for every edge in doubt, `look_at`
alone for others; `hamiltonian` asks the rest.
"""

from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.by_type import by_type
from pymc_mrf.kernels.densities import (
    FLAT,
    HALF_LOG_2PI,
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
from pymc_mrf.kernels.vector_sums import copy

LEAST = 1e-3
"""Smallest probability with which either state of an edge is proposed."""

MAX_NEWTON = 12  # steps towards a mode, at most
MAX_SHIFT = 2.0  # of one of them, in the log odds of a pair
CONVERGED = 0.05  # squared length, in standard deviations, of a step that is the last
REFINE = 0.25  # proposals of presence more probable than this get a better mode
STRONG = 0.5 * 3.5**2  # or if the score is 3.5 standard deviations from zero, which explains so much


class Field(NamedTuple):
    """Data of one field.

    Attributes
    ----------
    edges : (r, 2) int64 array
    y : (2,) array
        Values of the states.
    n : float
        Rows.
    m : (d,) array
        Means of the state values, or zeros.
    s : (r,) array
        Sum over rows of (y_u - m_u)(y_v - m_v) - m_u m_v, that is of y_u y_v - m_v y_u - m_u y_v.
    t : (d,) array
        Sum over rows of y.
    cells : (r, 4) array
        y_u y_v - m_v y_u - m_u y_v of the four states of each pair.
    order : (r,) int64 array
        Order of visits.
    """

    edges: np.ndarray
    y: np.ndarray
    n: float
    m: np.ndarray
    s: np.ndarray
    t: np.ndarray
    cells: np.ndarray
    order: np.ndarray


class EdgePrior(NamedTuple):
    """Prior of everything that the edge sampler moves.

    Attributes
    ----------
    log_odds : (r,) array
        Of presence.
    slab : Density or Tabulated
    bias : Densities of d parameters
        FLAT if the biases do not move.
    """

    log_odds: np.ndarray
    slab: Density | Tabulated
    bias: Densities


class Ends(NamedTuple):
    """Both ends of an edge: priors of their biases, these without the edge, and the means that shift them.

    Attributes
    ----------
    prior_u, prior_v : Density
        Of the biases.
    b_u, b_v : float
        Biases without the edge.
    m_u, m_v : float
        Means of the state values, or zeros.
    log_prior : float
        Log prior of the biases without the edge.
    """

    prior_u: Density
    prior_v: Density
    b_u: float
    b_v: float
    m_u: float
    m_v: float
    log_prior: float


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


@lean
def ends_of(view, e, bias):
    """Return the `Ends` of edge e at the present parameters."""
    u, v = view.field.edges[e, 0], view.field.edges[e, 1]
    m_u, m_v = view.field.m[u], view.field.m[v]
    b_u, b_v = view.b[u] + view.w[e] * m_v, view.b[v] + view.w[e] * m_u
    prior_u, prior_v = density_of(bias, u), density_of(bias, v)
    log_prior = log_density(prior_u, b_u) + log_density(prior_v, b_v)
    return Ends(prior_u, prior_v, b_u, b_v, m_u, m_v, log_prior)


@lean
def bias_terms(ends, x):
    """Log prior of the biases of both ends at value x of the edge, relative to 0; its slope and curvature."""
    if ends.prior_u.kind == FLAT:
        return 0.0, 0.0, 0.0
    at_u, at_v = ends.b_u - x * ends.m_v, ends.b_v - x * ends.m_u
    slope_u, precision_u = slope_and_precision(ends.prior_u, at_u)
    slope_v, precision_v = slope_and_precision(ends.prior_v, at_v)
    value = log_density(ends.prior_u, at_u) + log_density(ends.prior_v, at_v) - ends.log_prior
    slope = -ends.m_v * slope_u - ends.m_u * slope_v
    return value, slope, ends.m_v * ends.m_v * precision_u + ends.m_u * ends.m_u * precision_v


@lean
def set_edge(view, e, x, ends):
    """Give edge e the value x, and its ends the biases that keep them centred."""
    u, v = view.field.edges[e, 0], view.field.edges[e, 1]
    view.w[e] = x
    view.b[u], view.b[v] = ends.b_u - x * ends.m_v, ends.b_v - x * ends.m_u


@lean
def inclusion_probability(log_odds):
    """Probability with which a value other than 0 is proposed."""
    rho = 1.0 / (1.0 + np.exp(-log_odds))
    return min(max(rho, LEAST), 1.0 - LEAST)


@lean
def refined_fit(view, e, fit, ends, slab):
    """Better `Fit` of the value of a present edge, by Newton's method; its log odds without the prior's."""
    # where states are rare the parabola at 0 has hardly any curvature, and its mode is anywhere
    reach, log_mass = MAX_SHIFT / (view.field.y[1] - view.field.y[0]) ** 2, 0.0
    x = min(max(fit.mode, -reach), reach)
    for _ in range(MAX_NEWTON):
        value, slope, information = likelihood_terms(view, e, x)
        prior, prior_slope, precision = bias_terms(ends, x)
        fit, log_mass = expanded_fit(
            slab, x, value + prior, slope + prior_slope, information + precision, reach
        )
        shift = fit.mode - x
        x += min(max(shift, -reach), reach)
        if shift * shift * fit.precision < CONVERGED and abs(shift) < 0.99 * reach:
            break
    return fit, log_mass


@lean
def log_presence(view, e, x, ends, prior, fit):
    """Log of the conditional density of edge e at x other than 0, relative to absence, and to `fit`."""
    value = prior.log_odds[e] + log_density(prior.slab, x) + gain(view, e, x)
    return value + bias_terms(ends, x)[0] - log_fit(prior.slab, fit, x)


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
        ends = ends_of(view, e, prior.bias)
        fit, log_mass = quadratic_fit(slab, g, h)
        rho = inclusion_probability(prior.log_odds[e] + log_mass)
        if rho > REFINE or 0.5 * g * g >= STRONG * h:
            fit, log_mass = refined_fit(view, e, fit, ends, slab)
            rho = inclusion_probability(prior.log_odds[e] + log_mass)
        new = propose_fit(slab, fit, rng) if uniform < rho else 0.0
        if new == 0.0 and old == 0.0:
            continue
        n_proposed += 1
        log_ratio, log_odds = 0.0, np.log(rho / (1.0 - rho))
        for x, sign in ((old, -1.0), (new, 1.0)):
            if x != 0.0:
                log_ratio += sign * (log_presence(view, e, x, ends, prior, fit) - log_odds)
        if corrected and not np.log(rng.random()) < log_ratio:
            continue
        n_accepted += 1
        set_edge(view, e, new, ends)
        follow(view, e, old, new)
    return n_proposed, n_accepted


@lean
def centred(field, w, b, beta):
    """Fill the centred biases `beta` (d,) from weights (r,) and biases (d,)."""
    copy(b, beta)
    for e in range(w.shape[0]):
        if w[e] != 0.0:
            beta[field.edges[e, 0]] += w[e] * field.m[field.edges[e, 1]]
            beta[field.edges[e, 1]] += w[e] * field.m[field.edges[e, 0]]
