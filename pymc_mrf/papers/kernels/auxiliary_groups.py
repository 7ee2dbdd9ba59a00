"""Metropolis-Hastings moves of grouped parameters with auxiliary data: Algorithm 1 of Liu & Page (2013).

A move from natural parameters eta to eta* is scored without partition functions. Two devices:

- exchange (Murray, Ghahramani & MacKay, 2006): Z* is drawn at eta* and
      log ratio = (eta* - eta) . (s(X) - s(Z*)),
- auxiliary variable (Møller et al., 2006), which the paper uses: the state includes a data set Z with
  distribution P(Z; eta~), eta~ fixed, proposed anew as Z* at eta*, and
      log ratio = (eta* - eta) . s(X) + (eta~ - eta*) . s(Z*) - (eta~ - eta) . s(Z),

where s sums f over the rows of a data set. Fixed node terms cancel. Only s(Z) is ever needed.

Both moves, `propose_labels` and `walk_values`, are compiled for exact draws, and run by the interpreter
(their ``py_func``) where rows are simulated: see `auxiliary_draws`.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.groups.crp import add_label, remove_label
from pymc_mrf.kernels.groups.edge_terms import sigmoid
from pymc_mrf.kernels.metropolis import metropolis
from pymc_mrf.kernels.priors.series import draw_base, series_value
from pymc_mrf.papers.kernels.auxiliary_draws import (
    draw_edge,
    draw_statistics,
    follow_edge,
    logit_at_zero,
    prepare_edges,
)


class Walk(NamedTuple):
    """Random walk of group values.

    `n_steps`: S. `sigma`: sigma_Q, on the scale of the parameter that users write. `slope`: see
    `log_prior_of_groups`.
    """

    n_steps: int
    sigma: float
    slope: float


@jit
def log_exchange_ratio(eta, proposal, s, s_new):
    """Log ratio of exchange, s = s(X), s_new = s(Z*); `eta`, `proposal`, `s` and `s_new`, all (r,)."""
    total = 0.0
    for e in range(eta.shape[0]):
        total += (proposal[e] - eta[e]) * (s[e] - s_new[e])
    return total


@jit
def log_moller_ratio(eta, proposal, reference, s, s_old, s_new):
    """Log ratio of Møller et al.; `s_old` = s(Z) is the state, `s_new` = s(Z*).

    `eta`, `proposal`, `reference`, `s`, `s_old` and `s_new`, all (r,).
    """
    total = 0.0
    for e in range(eta.shape[0]):
        total += (proposal[e] - eta[e]) * s[e]
        total += (reference[e] - proposal[e]) * s_new[e] - (reference[e] - eta[e]) * s_old[e]
    return total


@jit
def propose_labels(groups, s, alpha, n_proposals, moller, reference, s_auxiliary, base, aux, rng):
    """Move the label of every edge in turn, `n_proposals` times, by proposals from its prior.

    `groups`: changed in place. `s` (r,): sums of f over the data. `n_proposals`: M. `moller`: whether
    the ratio is that of Møller et al.; else exchange. `reference` (r,): eta~, for `moller` only.
    `s_auxiliary` (r,), changed in place: s(Z), for `moller` only. `base`: base measure over eta. `aux`
    (ExactDraws). Returns `n_new, n_accepted, n_changes`: edges that opened a group; proposals of another
    value accepted and made.
    """
    labels, eta, sizes = groups.labels, groups.values, groups.sizes
    r = labels.shape[0]
    here, proposal, s_new = np.empty(r), np.empty(r), np.empty(r)
    for e in range(r):
        here[e] = eta[labels[e]]
    proposal[:] = here
    # with exact draws, exchange needs one Binomial variable per proposal: the edge's own statistic
    single = aux.by_edge and not moller
    if single:
        prepare_edges(aux, here)
    logit = 0.0
    n_new = n_accepted = n_changes = 0
    for e in aux.order:
        old = here[e]
        alone = sizes[labels[e]] == 1
        k = labels[e]
        remove_label(e, groups)
        n_groups = groups.n_groups[0]
        k = n_groups if alone else k
        if single:
            logit = logit_at_zero(aux, e, old)
        for _ in range(n_proposals):
            u = rng.random() * (r - 1 + alpha)
            if u < r - 1:
                other = int(u)
                k_new = labels[other + 1 if other >= e else other]
                value = eta[k_new]
            else:
                k_new = n_groups
                value = draw_base(base, rng)
            change = value != here[e]
            n_changes += change
            if single:
                log_ratio = 0.0
                if change:
                    s_new[e] = draw_edge(aux, logit + value, rng)
                    log_ratio = (value - here[e]) * (s[e] - s_new[e])
            else:
                proposal[e] = value
                if moller:
                    draw_statistics(aux, proposal, s_new, rng)
                    log_ratio = log_moller_ratio(here, proposal, reference, s, s_auxiliary, s_new)
                else:
                    log_ratio = 0.0
                    if change:
                        draw_statistics(aux, proposal, s_new, rng)
                        log_ratio = log_exchange_ratio(here, proposal, s, s_new)
            if metropolis(log_ratio, rng)[0]:
                k = k_new
                here[e] = value
                n_accepted += change
                if moller:
                    s_auxiliary[:] = s_new
        proposal[e] = here[e]
        n_new += k == n_groups and here[e] != old
        add_label(e, k, here[e], groups)
        if single and here[e] != old:
            follow_edge(aux, e, old, here[e])
    return n_new, n_accepted, n_changes


@jit
def log_prior_of_groups(eta, base, slope):
    """Log density of group values `eta` (K,) under the base measure, over the parameters that users write.

    `slope` is d eta / d parameter, or 0 for parameters theta = sigmoid(eta).
    """
    total = 0.0
    for k in range(eta.shape[0]):
        total += series_value(base.series, eta[k])
        if slope == 0.0:  # d eta / d theta = 1 / (theta (1 - theta))
            total += abs(eta[k]) + 2.0 * np.log1p(np.exp(-abs(eta[k])))
    return total


@jit
def propose_values(eta, walk, base, proposal, rng):
    """Add N(0, sigma^2) to the parameter of every group, as `proposal` (K,); return its log prior.

    `eta` (K,) are the present values.
    """
    for k in range(eta.shape[0]):
        step = walk.sigma * rng.standard_normal()
        if walk.slope != 0.0:
            proposal[k] = eta[k] + walk.slope * step
            continue
        theta = sigmoid(eta[k]) + step
        if not 0.0 < theta < 1.0:
            return -np.inf
        proposal[k] = np.log(theta) - np.log1p(-theta)
    return log_prior_of_groups(proposal, base, walk.slope)


@jit
def walk_values(labels, eta, s, walk, base, moller, reference, aux, rng):
    """Random-walk Metropolis steps of all group values together, in place (sec. 3.1.2).

    `labels` (r,) int64, `eta` (K,), changed in place, `s` (r,), `walk` (Walk) and `base` (BaseDensity).
    `reference` (r,): the tied eta~ of this grouping, at which Y is drawn to begin with; for `moller`
    only. `aux` (ExactDraws). Returns int: number of steps accepted.
    """
    r = labels.shape[0]
    here, proposal = np.empty(r), np.empty(r)
    s_old, s_new = np.empty(r), np.empty(r)
    eta_new = np.empty(eta.shape[0])
    density = log_prior_of_groups(eta, base, walk.slope)
    for e in range(r):
        here[e] = eta[labels[e]]
    if moller:
        draw_statistics(aux, reference, s_old, rng)
    n_accepted = 0
    for _ in range(walk.n_steps):
        density_new = propose_values(eta, walk, base, eta_new, rng)
        if density_new == -np.inf:
            continue
        for e in range(r):
            proposal[e] = eta_new[labels[e]]
        draw_statistics(aux, proposal, s_new, rng)
        if moller:
            log_ratio = log_moller_ratio(here, proposal, reference, s, s_old, s_new)
        else:
            log_ratio = log_exchange_ratio(here, proposal, s, s_new)
        if metropolis(log_ratio + density_new - density, rng)[0]:
            n_accepted += 1
            eta[:] = eta_new
            here[:] = proposal
            density = density_new
            s_old[:] = s_new
    return n_accepted
