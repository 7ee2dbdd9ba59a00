"""Group labels and values of edge parameters, given what the data say of one edge at a time.

Neal (2000), Algorithm 8; Liu & Page (2013), eq. (4). A label is redrawn among the values of the groups
and a few auxiliary values, the value of an edge that is a group of its own being one of them. Auxiliary
values come from a distribution q shaped like the edge's likelihood, with weight alpha h L / q, h being the
base density and L the likelihood: so no integral over the base is needed, for any base.

Engines are views: namedtuples of arrays that tell, by `describe` and `follow`, how the likelihood of
one edge is found and what else changes with its parameter. A view's module registers its two kernels with
`register_view`; numba chooses between them by the type of the view.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.extending import overload

from pymc_mrf.kernels._jit import jit, part
from pymc_mrf.kernels.crp import remove_label
from pymc_mrf.kernels.edge_terms import (
    add_term,
    clear,
    draw_value,
    fit_proposal,
    log_likelihood,
    log_weight,
    sigmoid,
    slope_and_information,
)
from pymc_mrf.kernels.series import series_value

N_AUXILIARY = 2
"""Auxiliary values per label. With one, an edge that is a group of its own keeps its value."""

_DESCRIBE: dict[type, Any] = {}
_FOLLOW: dict[type, Any] = {}


def register_view(view: type, describe: Callable, follow: Callable) -> None:
    """Tell how a likelihood answers.

    Parameters
    ----------
    view : type
        A namedtuple.
    describe : callable
        ``describe(view, e, x, terms)`` adds the terms of entry e, whose present value is x.
    follow : callable
        ``follow(view, e, x, value)`` moves entry e from x to another value; returns whether the view has
        to be renewed before it is asked again.
    """
    _DESCRIBE[view], _FOLLOW[view] = describe, follow


def describe(view, e, x, terms):
    """Add what `view` knows of entry e, whose present value is `x`, to `terms`; in kernels only."""


def follow(view, e, x, value):
    """Change entry e of `view` from `x` to `value`; in kernels only."""


@overload(describe, jit_options={"error_model": "numpy"})
def _describe(view, e, x, terms):
    return _DESCRIBE[view.instance_class].py_func


@overload(follow, jit_options={"error_model": "numpy"})
def _follow(view, e, x, value):
    return _FOLLOW[view.instance_class].py_func


@part
def log_weights(e, own, values, sizes, n_groups, log_alpha, terms, base, rng, out):
    """Log weights of all labels of an edge that belongs to no group; auxiliary values into `values`.

    Parameters
    ----------
    e : int
    own : float
        Value that takes the place of the first auxiliary one, if it is not NaN.
    values : (>= n_groups + N_AUXILIARY,) array
        Those of the groups, then room.
    sizes : (r,) int64 array
    n_groups : int
    log_alpha : float
    terms : Terms
    base : BaseDensity
    rng : numpy.random.Generator
    out : (>= n_groups + N_AUXILIARY,) array
    """
    proposal = fit_proposal(terms, base)
    for k in range(n_groups):
        out[k] = np.log(sizes[k]) + log_likelihood(values[k], terms)
    for k in range(n_groups, n_groups + N_AUXILIARY):
        fresh = k > n_groups or np.isnan(own)
        values[k] = draw_value(proposal, base, rng) if fresh else own
        out[k] = log_alpha - np.log(N_AUXILIARY) + log_weight(values[k], terms, proposal, base)


@part
def draw_index(log_weights, n, rng):
    """Draw one of n indices with probability proportional to exp(log_weights), which are overwritten."""
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
def sharpen(terms, values, sizes, n_groups, log_alpha, base, weights):
    """Add the further observations that noisy terms call for, at the share of f = 1 that is expected.

    The share is averaged over the labels that the edge may get; a new group counts by Laplace's method.
    """
    noisy = False
    for t in range(terms.size[0]):
        noisy = noisy or terms.more[t] > 0.0
    if not noisy:
        return
    proposal = fit_proposal(terms, base)
    mode = np.log(proposal.a) - np.log(proposal.b) - proposal.lam
    mode = min(max(mode, base.series.lower[0]), base.series.upper[-1])
    _, information = slope_and_information(mode, terms)
    new = log_alpha + log_likelihood(mode, terms) + series_value(base.series, mode)
    new += 0.5 * np.log(2.0 * np.pi / max(information, 0.25))
    top = new
    for k in range(n_groups):
        weights[k] = np.log(sizes[k]) + log_likelihood(values[k], terms)
        top = max(top, weights[k])
    new = np.exp(new - top)
    total = new
    for k in range(n_groups):
        weights[k] = np.exp(weights[k] - top)
        total += weights[k]
    for t in range(terms.size[0]):
        if terms.more[t] > 0.0:
            share = new * sigmoid(mode + terms.lam[t])
            for k in range(n_groups):
                share += weights[k] * sigmoid(values[k] + terms.lam[t])
            terms.total[0] += terms.more[t] * share / total
            terms.n[t] += terms.more[t]


@jit
def sweep_labels(
    labels, values, sizes, n_groups, log_alpha, base, views, order, first, last, terms, rng
):
    """Redraw the labels of the entries order[first], ..., order[last - 1] in turn.

    Parameters
    ----------
    labels : (r,) int64 array, changed in place
    values : (r + N_AUXILIARY,) array, changed in place
        Natural parameters of the groups in the first n_groups entries.
    sizes : (r,) int64 array, changed in place
    n_groups : int
    log_alpha : float
    base : BaseDensity
        The base measure over natural parameters.
    views : tuple of views of one type
        One for each field that the parameters feed.
    order : (r,) int64 array
    first, last : int
    terms : Terms
    rng : numpy.random.Generator

    Returns
    -------
    next : int
        The place in `order` to go on with once the views are renewed.
    n_groups, n_new : int
        Groups, and edges that opened one.
    """
    r = labels.shape[0]
    weights = np.empty(r + N_AUXILIARY)
    n_new = 0
    for place in range(first, last):
        e = order[place]
        old = values[labels[e]]
        own = old if sizes[labels[e]] == 1 else np.nan
        n_groups = remove_label(e, labels, values, sizes, n_groups)
        clear(terms)
        for j in range(len(views)):
            describe(views[j], e, old, terms)
        sharpen(terms, values, sizes, n_groups, log_alpha, base, weights)
        log_weights(e, own, values, sizes, n_groups, log_alpha, terms, base, rng, weights)
        k = draw_index(weights, n_groups + N_AUXILIARY, rng)
        value = values[k]
        if k >= n_groups:
            k = n_groups
            values[k], sizes[k] = value, 0
            n_groups += 1
            n_new += value != old
        labels[e] = k
        sizes[k] += 1
        if value != old:
            stale = False
            for j in range(len(views)):
                stale |= follow(views[j], e, old, value)
            if stale:
                return place + 1, n_groups, n_new
    return last, n_groups, n_new


@jit
def move_values(values, s, n, lam, base, terms, n_proposals, rng):
    """Independence moves of values whose likelihoods do not depend on each other, in place.

    Parameters
    ----------
    values : (K,) array
    s, n, lam : (K,) arrays
        Their likelihoods, as in `edge_terms`.
    base : BaseDensity
        Their prior.
    terms : Terms
    n_proposals : int
        Of every value.
    rng : numpy.random.Generator
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
            if np.log(rng.random()) < there - here:
                values[k], here = new, there


@jit
def sum_groups(rows, groups, out):
    """Sum the `rows` (edges, m) int8 of each group `groups` (edges,) into `out` (G, m) int32."""
    out[:] = 0
    for e in range(groups.shape[0]):
        row, total = rows[e], out[groups[e]]
        for c in range(row.shape[0]):
            total[c] += row[c]
