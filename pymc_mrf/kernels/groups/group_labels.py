"""Group labels and values of edge parameters, given what the data say of one edge at a time.

Neal (2000), Algorithm 8; Liu & Page (2013), eq. (4). A label is redrawn among the values of the groups
and a few auxiliary values, the value of an edge that is a group of its own being one of them. Auxiliary
values come from a distribution q shaped like the edge's likelihood, with weight alpha h L / q, h being
the base density and L the likelihood: so no integral over the base is needed, for any base.

Engines are views: namedtuples of arrays that tell, by `describe` and `move_entry`, how the likelihood of one
edge is found and what else changes with its parameter (`pymc_mrf.kernels._jit.by_type`).
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import by_type, jit, lean, part
from pymc_mrf.kernels.groups.crp import add_label, remove_label
from pymc_mrf.kernels.groups.edge_proposals import draw_value, fit_proposal, log_weight, mode_of
from pymc_mrf.kernels.groups.edge_terms import (
    add_term,
    clear,
    expected,
    log_likelihood,
    slope_and_information,
)
from pymc_mrf.kernels.metropolis import metropolis
from pymc_mrf.kernels.priors.series import series_value

N_AUXILIARY = 2
"""Auxiliary values per label. With one, an edge that is a group of its own keeps its value."""


@by_type
def describe(view, e, x, terms):
    """Add the terms of entry e, whose present value is x, to `terms`."""


@by_type
def move_entry(view, e, x, value):
    """Move entry e from x to another value; whether the view has to be renewed before it is asked again."""


@part
def log_weights(own, groups, log_alpha, terms, base, rng, out):
    """Log weights of all labels of an edge that belongs to no group; auxiliary values after the groups'.

    `own`: value that takes the place of the first auxiliary one, if it is not NaN. `groups`: with room
    for N_AUXILIARY values. `terms` (Terms or LevelTerms), `base` (BaseDensity) and `out` (r +
    N_AUXILIARY,).
    """
    proposal = fit_proposal(terms, base)
    values, n_groups = groups.values, groups.n_groups[0]
    for k in range(n_groups):
        out[k] = np.log(groups.sizes[k]) + log_likelihood(terms, values[k])
    for k in range(n_groups, n_groups + N_AUXILIARY):
        fresh = k > n_groups or np.isnan(own)
        values[k] = draw_value(proposal, base, rng) if fresh else own
        out[k] = log_alpha - np.log(N_AUXILIARY) + log_weight(values[k], terms, proposal, base)


@part
def draw_by_log_weights(log_weights, n, rng):
    """Draw one of n indices with probability proportional to exp(log_weights), which are overwritten.

    `log_weights` (r + N_AUXILIARY,) are those of `log_weights`.
    """
    top = log_weights[0]
    for k in range(1, n):
        top = max(top, log_weights[k])
    total = 0.0
    for k in range(n):
        log_weights[k] = np.exp(log_weights[k] - top)
        total += log_weights[k]
    u = rng.random() * total
    for k in range(n):
        u -= log_weights[k]
        if u < 0.0:
            return k
    return n - 1


@part
def sharpen(terms, groups, log_alpha, base, weights):
    """Add the further observations that noisy terms call for, at the mean of f that is expected.

    The mean is averaged over the labels that the edge may get; a new group counts by Laplace's method.
    `weights` (r + N_AUXILIARY,) is scratch.
    """
    noisy = False
    for t in range(terms.size[0]):
        noisy = noisy or terms.more[t] > 0.0
    if not noisy:
        return
    values, sizes, n_groups = groups.values, groups.sizes, groups.n_groups[0]
    proposal = fit_proposal(terms, base)
    mode = min(max(mode_of(proposal), base.series.lower[0]), base.series.upper[-1])
    _, information = slope_and_information(terms, mode)
    new = log_alpha + log_likelihood(terms, mode) + series_value(base.series, mode)
    new += 0.5 * np.log(2.0 * np.pi / max(information, 0.25 * proposal.c * proposal.c))
    top = new
    for k in range(n_groups):
        weights[k] = np.log(sizes[k]) + log_likelihood(terms, values[k])
        top = max(top, weights[k])
    new = np.exp(new - top)
    total = new
    for k in range(n_groups):
        weights[k] = np.exp(weights[k] - top)
        total += weights[k]
    for t in range(terms.size[0]):
        if terms.more[t] > 0.0:
            mean = new * expected(terms, t, mode)
            for k in range(n_groups):
                mean += weights[k] * expected(terms, t, values[k])
            terms.total[0] += terms.more[t] * mean / total
            terms.n[t] += terms.more[t]


@lean
def sweep_labels(groups, log_alpha, base, views, order, terms, rng):
    """Redraw the labels of the entries in `order` in turn, until the views have to be renewed.

    `groups`: with room for N_AUXILIARY values; changed in place. `base`: the base measure over natural
    parameters. `views` (fields,) tuple of views of one type: one for each field that the parameters
    feed. `order` (k,) int64 and `terms` (Terms or LevelTerms). Returns `n_visited, n_new`: entries
    visited, and those that opened a group.
    """
    labels, values, sizes, weights = groups.labels, groups.values, groups.sizes, groups.weights
    n_new = 0
    for place in range(order.shape[0]):
        e = order[place]
        old = values[labels[e]]
        own = old if sizes[labels[e]] == 1 else np.nan
        remove_label(e, groups)
        clear(terms)
        for j in range(len(views)):
            describe(views[j], e, old, terms)
        sharpen(terms, groups, log_alpha, base, weights)
        log_weights(own, groups, log_alpha, terms, base, rng, weights)
        n_groups = groups.n_groups[0]
        k = draw_by_log_weights(weights, n_groups + N_AUXILIARY, rng)
        value = values[k]
        n_new += k >= n_groups and value != old
        add_label(e, min(k, n_groups), value, groups)
        if value != old:
            stale = False
            for j in range(len(views)):
                stale |= move_entry(views[j], e, old, value)
            if stale:
                return place + 1, n_new
    return order.shape[0], n_new


@jit
def move_values(values, s, n, lam, base, terms, n_proposals, rng):
    """Independence moves of values whose likelihoods do not depend on each other, in place.

    `values` (K,). `s`, `n` and `lam` (K,): their likelihoods, as in `edge_terms`. `base`: their prior.
    `terms` (Terms). `n_proposals`: of every value.
    """
    for k in range(values.shape[0]):
        clear(terms)
        terms.total[0] = s[k]
        add_term(terms, n[k], lam[k], 0.0)
        proposal = fit_proposal(terms, base)
        here = log_weight(values[k], terms, proposal, base)
        for _ in range(n_proposals):
            new = draw_value(proposal, base, rng)
            there = log_weight(new, terms, proposal, base)
            if metropolis(there - here, rng)[0]:
                values[k], here = new, there


@jit
def sum_groups(rows, groups, out):
    """Sum the `rows` (edges, m) of each group `groups` (edges,) into `out` (G, m)."""
    out[:] = 0
    for e in range(groups.shape[0]):
        row, total = rows[e], out[groups[e]]
        for c in range(row.shape[0]):
            total[c] += row[c]


class FixedView(NamedTuple):
    """Edges whose likelihoods do not depend on each other: s, n and lam as in `edge_terms`, each (r,)."""

    s: np.ndarray
    n: np.ndarray
    lam: np.ndarray


@describe.register(FixedView)
def describe_fixed(view, e, x, terms):
    if view.n[e] > 0.0:
        terms.total[0] += view.s[e]
        add_term(terms, view.n[e], view.lam[e], 0.0)


@move_entry.register(FixedView)
def follow_fixed(view, e, x, value):
    return False
