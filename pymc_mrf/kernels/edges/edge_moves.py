"""Moves of the edges of a field, whatever the likelihood: presence and value of one edge after the other.

Given all else, an edge is absent (parameter 0) or has a value x with density proportional to
p / (1 - p) slab(x) exp(l(x) - l(0)). The proposal is independent of the edge's present state: absent or
not by the odds of a Laplace approximation, the value from a heavy-tailed density at the mode; under a
tabulated slab by `priors.densities`. An acceptance step then leaves the conditional itself invariant
(Hastings, 1970).

Edges move at constant *centred* biases, beta_i = b_i + sum_j w_ij c_ij if a node has one bias. The constants
c_ij, `Field.centre`, are such that weights and biases are about independent. If the biases are not the
sampler's to move, c = 0 and beta = b.

A likelihood is a view that answers `pymc_mrf.kernels.views.questions`. The value of an edge is a number, or a
vector where an edge has a block of parameters, present or absent as a whole: what moves make of a value are
questions as well, whose answers for numbers are here and for vectors in `block_fits`.
"""

from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import by_type, lean
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
from pymc_mrf.kernels.vector_sums import log_from_one
from pymc_mrf.kernels.views.questions import (
    bias_terms,
    follow,
    gain,
    gain_alone,
    glance,
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
LOG_LEAST, LOG_REFINE = np.log(LEAST), np.log(REFINE)
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


class Presence(NamedTuple):
    """What visits to edges add up: the probability that an edge is present, given all else.

    Attributes
    ----------
    present, absent : (r,) arrays
        Logs of the sums, over the visits, of the probabilities that the edge is present and that it is not.
    period, turn : int
        Visits to absent, hopeless edges are told of edges turn, turn + period, turn + 2 period, ... only. 0:
        no visit is.
    weight : float
        Of such a visit, which is told for others.
    each : float
        Weight of every other visit: one over the share of the draws that have it.
    """

    present: np.ndarray
    absent: np.ndarray
    period: int
    turn: int
    weight: float
    each: float


NOT_TOLD = Presence(np.empty(0), np.empty(0), 0, 0, 0.0, 0.0)


@lean
def inclusion_probability(log_odds):
    """Probability with which a value other than 0 is proposed."""
    rho = 1.0 / (1.0 + np.exp(-log_odds))
    return min(max(rho, LEAST), 1.0 - LEAST)


@by_type
def present_value(view: Any, e: int) -> Any:
    """Value of edge e, as it is; it must not change when the edge does."""


@present_value.register(object)
def present_number(view, e):
    return view.w[e]


@by_type
def no_value(view: Any, e: int) -> Any:
    """Value of edge e if it is absent."""


@no_value.register(object)
def zero(view, e):
    return 0.0


@by_type
def is_absent(view: Any, x: Any) -> Any:
    """Whether x is the value of an absent edge."""


@is_absent.register(object)
def is_zero(view, x):
    return x == 0.0


@by_type
def log_highest_odds(view: Any, e: int, prior: Any, explained: float, h: float) -> Any:
    """Log of an upper bound of the odds of presence by a Laplace approximation at 0.

    From what `look_at` or `glance` returned.
    """


@log_highest_odds.register(object)
def log_highest_odds_of_number(view, e, prior, explained, h):
    peak = prior.slab.constant + HALF_LOG_2PI
    return prior.log_odds[e] + peak + explained - 0.5 * log_from_one(h)


@lean
def is_hopeless(view, e, prior, uniform, explained, h):
    """Whether absent edge e is not worth a closer look, from what `look_at` or `glance` returned.

    Most edges are hopeless: an upper bound of what the probability of a proposal will be settles them, where
    `uniform` decides between presence and absence.
    """
    if explained >= STRONG or uniform <= LEAST:
        return False
    bound = log_highest_odds(view, e, prior, explained, h)
    return bound <= LOG_LEAST or (bound < LOG_REFINE and uniform > np.exp(bound))


@by_type
def rough_fit(view: Any, e: int, slab: Any) -> Any:
    """Fit of a proposal to the value of a present edge, from score and information at 0.

    Returns the fit, the log odds of presence without the prior's, and what the score explains,
    score^2 / (2 information).
    """


@rough_fit.register(object)
def rough_fit_of_number(view, e, slab):
    """Fit a `Fit` to the parabola at 0."""
    g, h = without_edge(view, e)
    fit, log_mass = quadratic_fit(slab, g, h)
    return fit, log_mass, 0.5 * g * g / h


@by_type
def propose(view: Any, slab: Any, fit: Any, rng: Any) -> Any:
    """Draw a value of a present edge by a fit."""


@propose.register(object)
def propose_number(view, slab, fit, rng):
    return propose_fit(slab, fit, rng)


@by_type
def log_proposed(view: Any, slab: Any, fit: Any, x: Any) -> Any:
    """Log density of the proposal of value x by a fit."""


@log_proposed.register(object)
def log_proposed_number(view, slab, fit, x):
    return log_fit(slab, fit, x)


@by_type
def log_slab(view: Any, slab: Any, x: Any) -> Any:
    """Log density of the slab at value x."""


@log_slab.register(object)
def log_slab_of_number(view, slab, x):
    return log_density(slab, x)


@by_type
def log_biases(view: Any, e: int, x: Any, bias: Any) -> Any:
    """Log prior of the biases of both ends at value x of edge e."""


@log_biases.register(object)
def log_biases_of_number(view, e, x, bias):
    return bias_terms(view, e, x, bias)[0]


@by_type
def refined_fit(view: Any, e: int, fit: Any, prior: Any) -> Any:
    """Better fit of the value of a present edge, by Newton's method; its log odds without the prior's."""


@refined_fit.register(object)
def refined_fit_of_number(view, e, fit, prior):
    """Take steps of bounded length."""
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
def log_presence(view, e, x, gained, absent, prior, fit):
    """Log of the conditional density of edge e at x other than 0, relative to absence, and to `fit`.

    `gained`: what the likelihood gains; `absent`: log prior of its ends without it.
    """
    value = prior.log_odds[e] + log_slab(view, prior.slab, x) + gained
    return value + log_biases(view, e, x, prior.bias) - absent - log_proposed(view, prior.slab, fit, x)


@lean
def tell_presence(presence, e, log_odds, weight):
    """Add 1 / (1 + exp(-log_odds)) and 1 / (1 + exp(log_odds)), times `weight`, to the sums of edge e."""
    smaller = -np.log1p(np.exp(-abs(log_odds)))
    of_present, of_absent = min(log_odds, 0.0) + smaller, min(-log_odds, 0.0) + smaller
    presence.present[e] = np.logaddexp(presence.present[e], np.log(weight) + of_present)
    presence.absent[e] = np.logaddexp(presence.absent[e], np.log(weight) + of_absent)


@lean
def sweep_edges(view, order, prior, corrected, rng, presence, rng_of_presence, n_repeats):
    """Update edges, one after the other, `n_repeats` times.

    What a visit adds to `presence` is unbiased. Let x be the present value of the edge or, if it is absent,
    one drawn from the density q of proposals, and t its conditional density relative to absence. Then
    w = t(x) / q(x) is the odds of the joint density of presence and x against that of absence and x. Given
    x and all else the edge is present with probability w / (1 + w), the mean of which over the chain is
    therefore the probability of presence (the choice between states of Barker, 1965; Tjelmeland, 2004),
    however good q is.

    Parameters
    ----------
    view : a view
        Up to date with its parameters, which are changed in place.
    order : (k,) int64 array
        Which edges.
    prior : EdgePrior
    corrected : bool
        Whether proposals are accepted by the rule of Metropolis and Hastings; else always.
    rng : numpy.random.Generator
    presence : Presence
        Added to by every other pass, the first one included.
    rng_of_presence : numpy.random.Generator
        For what only `presence` needs: the draws of the chain do not depend on it.
    n_repeats : int

    Returns
    -------
    n_proposed, n_accepted : int
        Proposals that would change an edge, and those accepted.
    """
    slab, n_proposed, n_accepted = prior.slab, 0, 0
    for k in range(n_repeats):
        for e in order:
            weight, is_told = presence.each, presence.period > 0 and k % 2 == 0
            old, uniform = present_value(view, e), rng.random()
            was_absent = is_absent(view, old)
            has_turn = is_told and e % presence.period == presence.turn
            if was_absent and not has_turn:
                explained, h = glance(view, e)
                if is_hopeless(view, e, prior, uniform, explained, h):
                    continue
            explained, h = look_at(view, e, old)
            if was_absent and is_hopeless(view, e, prior, uniform, explained, h):
                if not has_turn:
                    continue
                weight, uniform = presence.weight, 1.0
            fit, log_mass, explained = rough_fit(view, e, slab)
            rho = inclusion_probability(prior.log_odds[e] + log_mass)
            if rho > REFINE or explained >= STRONG:
                fit, log_mass = refined_fit(view, e, fit, prior)
                rho = inclusion_probability(prior.log_odds[e] + log_mass)
            new = propose(view, slab, fit, rng) if uniform < rho else no_value(view, e)
            stays_absent = was_absent and is_absent(view, new)
            if stays_absent:
                if not is_told:
                    continue
                old = propose(view, slab, fit, rng_of_presence)
            absent = log_biases(view, e, no_value(view, e), prior.bias)
            log_ratio, log_odds = 0.0, np.log(rho / (1.0 - rho))
            for x, sign in ((old, -1.0), (new, 1.0)):
                if not is_absent(view, x):
                    gained = gain_alone(view, e, x) if stays_absent else gain(view, e, x)
                    value = log_presence(view, e, x, gained, absent, prior, fit)
                    log_ratio += sign * (value - log_odds)
                    if is_told:
                        tell_presence(presence, e, value, weight)
                        is_told = False
            if stays_absent:
                continue
            n_proposed += 1
            if corrected and not metropolis(log_ratio, rng)[0]:
                continue
            n_accepted += 1
            set_edge(view, e, new)
            follow(view, e, old, new)
    return n_proposed, n_accepted


@lean
def learn_presence(view, edges, prior, weight, probability, share):
    """Move both means of `edges` (k,) towards what they are now, by this `weight` of the present.

    `probability` (r,): of presence, bounded by `glance`, of those absent; `share` (r,): whether present.
    """
    for e in edges:
        if is_absent(view, present_value(view, e)):
            explained, h = glance(view, e)
            odds = np.exp(min(log_highest_odds(view, e, prior, explained, h), 0.0))
            probability[e] += weight * (odds / (1.0 + odds) - probability[e])
            share[e] -= weight * share[e]
        else:
            share[e] += weight * (1.0 - share[e])
