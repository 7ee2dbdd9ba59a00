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
the questions of `pymc_mrf.kernels.views.edge_values`.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.metropolis import metropolis
from pymc_mrf.kernels.priors.densities import Alike, Combined, Densities, Density, Tabulated
from pymc_mrf.kernels.views.edge_values import (
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
from pymc_mrf.kernels.views.questions import follow, gain, gain_alone, glance, look_at, set_edge

LEAST = 1e-3
"""Smallest probability with which either state of an edge is proposed."""

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
