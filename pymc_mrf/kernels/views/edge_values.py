"""What moves make of the value of an edge, a number or a vector: questions, and their answers for numbers.

A value is a vector where an edge has a block of parameters, present or absent as a whole: the answers for
those are in `block_fits`. Proposals are found by Laplace's method, at 0 or, by Newton's, at the mode.
"""

from typing import Any

from pymc_mrf.kernels._jit import by_type
from pymc_mrf.kernels.priors.densities import (
    HALF_LOG_2PI,
    expanded_fit,
    log_density,
    log_fit,
    propose_fit,
    quadratic_fit,
)
from pymc_mrf.kernels.vector_sums import log_from_one
from pymc_mrf.kernels.views.questions import bias_terms, likelihood_terms, without_edge

MAX_NEWTON = 12  # steps towards a mode, at most
MAX_SHIFT = 2.0  # of the first of them, in the log odds of a pair; others may be longer
CONVERGED = 0.05  # squared length, in standard deviations, of a step that is the last


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
