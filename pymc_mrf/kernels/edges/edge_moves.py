"""Moves of the edges of a field, whatever the likelihood: presence and value of one edge after the other.

Given all else, an edge is absent (parameter 0) or has a value x with density proportional to
p / (1 - p) slab(x) exp(l(x) - l(0)). The proposal is independent of the edge's present state: absent or
not by the odds of a Laplace approximation, the value from a heavy-tailed density at the mode; under a
tabulated slab by `slab_cells`. An acceptance step then leaves the conditional itself invariant (Hastings,
1970).

Edges move at constant *centred* biases, beta_i = b_i + sum_j w_ij c_ij if a node has one bias. The constants
c_ij, `Field.centre`, are such that weights and biases are about independent. If the biases are not the
sampler's to move, c = 0 and beta = b.

A likelihood is a view that answers `pymc_mrf.kernels.views.questions`.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.metropolis import metropolis
from pymc_mrf.kernels.priors.densities import (
    HALF_LOG_2PI,
    Alike,
    Combined,
    Densities,
    Density,
    Tabulated,
    expanded_fit,
    log_density,
    log_fit,
    propose_fit,
    quadratic_fit,
)
from pymc_mrf.kernels.views.questions import (
    bias_terms,
    follow,
    gain,
    likelihood_terms,
    look_at,
    set_edge,
    without_edge,
)

LEAST = 1e-3
"""Smallest probability with which either state of an edge is proposed."""

MAX_NEWTON = 12  # steps towards a mode, at most
MAX_SHIFT = 2.0  # of the first of them, in the log odds of a pair; others may be longer
CONVERGED = 0.05  # squared length, in standard deviations, of a step that is the last
REFINE = 0.25  # proposals of presence more probable than this get a better mode
STRONG = 0.5 * 3.5**2  # or if the score is 3.5 standard deviations from zero, which explains so much


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
