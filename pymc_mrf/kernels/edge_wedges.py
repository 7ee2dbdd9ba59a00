"""Joint moves of two edges that share a node u and whose other ends, v and v2, are linked: a wedge.

If v and v2 agree or disagree nearly always, the data hardly tell an edge (u, v) from (u, v2), or support both
of them but neither alone: moves of one edge at a time must pass through improbable fields. So presence and
values of the two are proposed together, as in `edge_slab` those of one: absent or not, four possibilities,
by the odds of Laplace approximations, and values from heavy-tailed densities at the modes. The proposal does
not depend on the present state of the wedge, and an acceptance step leaves the conditional distribution
invariant (Hastings, 1970).

Possibilities are numbered 2 i + j, i and j telling whether (u, v) and (u, v2) are present.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.edge_slab import (
    HALF_LOG_2PI,
    LEAST,
    MAX_SHIFT,
    in_support,
    log_density,
    log_proposal,
    propose_value,
    slope_and_precision,
)

SETTLED = 1.05  # all mass relative to the largest of the four, below which a wedge is seldom updated
ANYWAY = 0.1  # probability of an update all the same: the chain may be where the mass is not
CONVERGED = (
    0.1  # squared length of a Newton step, in standard deviations, that ends the search for a mode
)


class Wedge(NamedTuple):
    """Nodes and edges of a wedge, and the prior's view of it.

    Attributes
    ----------
    u, v, v2 : int
    e, e2 : int
        Edges (u, v) and (u, v2).
    b_u, b_v, b_v2 : float
        Biases without both edges.
    m_u, m_v, m_v2 : float
        Means of the state values, or zeros.
    """

    u: int
    v: int
    v2: int
    e: int
    e2: int
    b_u: float
    b_v: float
    b_v2: float
    m_u: float
    m_v: float
    m_v2: float


class Proposal(NamedTuple):
    """Proposal of one wedge.

    Attributes
    ----------
    rho : (4,) array
        Probabilities of the four possibilities.
    mode : (4, 2) array
    precision : (4, 3) array
        Entries (1, 1), (1, 2) and (2, 2); (1, 2) is 0 if not both are present.
    """

    rho: np.ndarray
    mode: np.ndarray
    precision: np.ndarray


@jit
def allocate_proposal():
    """Room for the proposal of a wedge."""
    return Proposal(np.zeros(4), np.zeros((4, 2)), np.zeros((4, 3)))


@jit
def mark(v, wedges, edge_to):
    """Write the candidate edges of v at their other ends."""
    for k in range(wedges.indptr[v], wedges.indptr[v + 1]):
        edge_to[wedges.neighbors[k]] = wedges.edge_ids[k]


@jit
def unmark(v, wedges, edge_to):
    """Take back what `mark` wrote."""
    for k in range(wedges.indptr[v], wedges.indptr[v + 1]):
        edge_to[wedges.neighbors[k]] = -1


@jit
def make_wedge(u, e, e2, edges, m, w, b):
    """`Wedge` of two edges of u at the present weights and biases."""
    v = edges[e, 0] + edges[e, 1] - u
    v2 = edges[e2, 0] + edges[e2, 1] - u
    x, x2 = w[e], w[e2]
    b_u = b[u] + x * m[v] + x2 * m[v2]
    return Wedge(u, v, v2, e, e2, b_u, b[v] + x * m[u], b[v2] + x2 * m[u], m[u], m[v], m[v2])


@jit
def set_wedge(wedge, x, x2, w, b):
    """Give both edges their values, and the biases those that keep them centred."""
    w[wedge.e], w[wedge.e2] = x, x2
    b[wedge.u] = wedge.b_u - x * wedge.m_v - x2 * wedge.m_v2
    b[wedge.v] = wedge.b_v - x * wedge.m_u
    b[wedge.v2] = wedge.b_v2 - x2 * wedge.m_u


@jit
def log_prior(wedge, k, x, x2, prior):
    """Log prior density of possibility k at x, x2, up to a constant."""
    bias = prior.bias
    value = log_density(bias, wedge.u, wedge.b_u - x * wedge.m_v - x2 * wedge.m_v2)
    value += log_density(bias, wedge.v, wedge.b_v - x * wedge.m_u)
    value += log_density(bias, wedge.v2, wedge.b_v2 - x2 * wedge.m_u)
    if k >= 2:
        value += prior.log_odds[wedge.e] + log_density(prior.slab, 0, x)
    if k % 2:
        value += prior.log_odds[wedge.e2] + log_density(prior.slab, 0, x2)
    return value


@jit
def newton_step(wedge, k, x, x2, likelihood, prior, precision):
    """Step of Newton's method towards the mode of possibility k; its squared length.

    `likelihood`: gradient (2) and information (3) of the log-likelihood at x, x2. Fills `precision` (3,) with
    those of the density; the squared length is in standard deviations.
    """
    g, g2, h11, h12, h22 = likelihood
    bias, m_u, m_v, m_v2 = prior.bias, wedge.m_u, wedge.m_v, wedge.m_v2
    s_u, p_u = slope_and_precision(bias, wedge.u, wedge.b_u - x * m_v - x2 * m_v2)
    s_v, p_v = slope_and_precision(bias, wedge.v, wedge.b_v - x * m_u)
    s_v2, p_v2 = slope_and_precision(bias, wedge.v2, wedge.b_v2 - x2 * m_u)
    slope, p = slope_and_precision(prior.slab, 0, x)
    slope2, p2 = slope_and_precision(prior.slab, 0, x2)
    g += slope - m_v * s_u - m_u * s_v
    g2 += slope2 - m_v2 * s_u - m_u * s_v2
    h11 += p + m_v * m_v * p_u + m_u * m_u * p_v
    h22 += p2 + m_v2 * m_v2 * p_u + m_u * m_u * p_v2
    h12 += m_v * m_v2 * p_u
    if k != 3:
        h12 = 0.0
    precision[0], precision[1], precision[2] = h11, h12, h22
    det = h11 * h22 - h12 * h12
    step = (h22 * g - h12 * g2) / det if k >= 2 else 0.0
    step2 = (h11 * g2 - h12 * g) / det if k % 2 else 0.0
    length = h11 * step * step + 2.0 * h12 * step * step2 + h22 * step2 * step2
    return step, step2, length


@jit
def after_step(slab, x, step):
    """Where a Newton step from x leads, its length bounded."""
    return in_support(slab, x + min(max(step, -MAX_SHIFT), MAX_SHIFT))


@jit
def log_volume(k, precision):
    """Log of the integral over a Gaussian peak of height 1."""
    h11, h12, h22 = precision
    if k == 3:
        return 2.0 * HALF_LOG_2PI - 0.5 * np.log(h11 * h22 - h12 * h12)
    if k == 0:
        return 0.0
    return HALF_LOG_2PI - 0.5 * np.log(h11 if k == 2 else h22)


@jit
def fill_probabilities(log_mass, rho):
    """Probabilities with which the possibilities are proposed, from the logs of their masses (4,)."""
    total, top = 0.0, log_mass.max()
    for k in range(4):
        rho[k] = np.exp(log_mass[k] - top)
        total += rho[k]
    for k in range(4):
        rho[k] = LEAST + (1.0 - 4.0 * LEAST) * rho[k] / total


@jit
def is_settled(wedge, likelihood, prior):
    """Whether one possibility has nearly all the mass, if log-likelihood and slab are about quadratic.

    `likelihood`: gradient (2) and information (3) of the log-likelihood at absence.
    """
    g, g2, h11, h12, h22 = likelihood
    slab_precision = slope_and_precision(prior.slab, 0, prior.slab.location[0])[1]
    h11 += slab_precision
    h22 += slab_precision
    highest = prior.log_odds[wedge.e] + prior.slab.constant[0] + HALF_LOG_2PI
    highest2 = prior.log_odds[wedge.e2] + prior.slab.constant[0] + HALF_LOG_2PI
    det = h11 * h22 - h12 * h12
    first = highest + 0.5 * (g * g / h11 - np.log(h11))
    second = highest2 + 0.5 * (g2 * g2 / h22 - np.log(h22))
    both = highest + highest2 - 0.5 * np.log(det)
    both += 0.5 * (h22 * g * g - 2.0 * h12 * g * g2 + h11 * g2 * g2) / det
    top = max(max(first, second), max(both, 0.0))
    total = np.exp(first - top) + np.exp(second - top) + np.exp(both - top) + np.exp(-top)
    return total < SETTLED


@jit
def propose(proposal, uniform, rng):
    """Draw a possibility, by `uniform`, and values; absence comes last, so that a large one means it."""
    k = 3
    while k > 0 and uniform >= proposal.rho[k]:
        uniform -= proposal.rho[k]
        k -= 1
    h11, h12, h22 = proposal.precision[k]
    x, x2 = 0.0, 0.0
    if k >= 2:
        x = propose_value(proposal.mode[k, 0], h11 - h12 * h12 / h22, rng)
    if k % 2:
        x2 = propose_value(proposal.mode[k, 1] - h12 / h22 * (x - proposal.mode[k, 0]), h22, rng)
    return k, x, x2


@jit
def log_proposed(proposal, k, x, x2):
    """Log density of `propose` at possibility k with values x, x2."""
    value = np.log(proposal.rho[k])
    h11, h12, h22 = proposal.precision[k]
    if k >= 2:
        value += log_proposal(x, proposal.mode[k, 0], h11 - h12 * h12 / h22)
    if k % 2:
        value += log_proposal(x2, proposal.mode[k, 1] - h12 / h22 * (x - proposal.mode[k, 0]), h22)
    return value
