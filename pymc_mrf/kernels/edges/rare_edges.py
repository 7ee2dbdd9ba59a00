"""How probable edges are to be present, from their scores in a sweep of tuning."""

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.edges.edge_moves import is_absent, log_highest_odds, present_value
from pymc_mrf.kernels.views.questions import glance


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
