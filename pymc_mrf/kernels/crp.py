"""Kernels of the Chinese restaurant process: prior partitions, tie counts, one sweep of labels.

Neal (2000), Algorithm 2, is the sweep; Liu & Page (2013, eq. 4) apply it to edge parameters.
Groups keep slots 0..n_groups-1; an emptied slot is filled by the last group, so no slot is empty.
"""

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.edge_posterior import draw_edge, edge_log_likelihood, integrate_edge


@jit
def crp_labels(alpha, labels, rng):
    """Draw a partition of ``len(labels)`` items from CRP(alpha) into `labels`; return its size."""
    n_groups = 0
    for i in range(labels.shape[0]):
        # a new group with probability alpha / (alpha + i), else the group of a uniform earlier item
        u = rng.random() * (alpha + i)
        if u >= i:
            labels[i] = n_groups
            n_groups += 1
        else:
            labels[i] = labels[int(u)]
    return n_groups


@jit
def tie_counts(x):
    """Return the number of entries of `x` (n,) equal to each entry, as (n,) float64."""
    order = np.argsort(x)
    counts = np.empty(x.shape[0])
    start = 0
    for stop in range(1, x.shape[0] + 1):
        if stop == x.shape[0] or x[order[stop]] != x[order[start]]:
            for k in range(start, stop):
                counts[order[k]] = stop - start
            start = stop
    return counts


@jit
def remove_label(e, labels, eta, sizes, n_groups):
    """Take item e out of its group; return the number of groups that are left."""
    k = labels[e]
    labels[e] = -1
    sizes[k] -= 1
    if sizes[k] == 0:
        last = n_groups - 1
        if k != last:
            sizes[k], eta[k] = sizes[last], eta[last]
            for f in range(labels.shape[0]):
                if labels[f] == last:
                    labels[f] = k
        return last
    return n_groups


@jit
def draw_label(eta, sizes, n_groups, log_new, s, n, lam, scratch, rng):
    """Draw the label of an item that belongs to no group; n_groups means a new one.

    `log_new` = log alpha + log of the integral of exp(l) over the base; `eta` (>= n_groups,) are the
    group values, `scratch` has room for n_groups + 1 weights.
    """
    top = log_new
    for k in range(n_groups):
        scratch[k] = np.log(sizes[k]) + edge_log_likelihood(eta[k], s, n, lam)
        top = max(top, scratch[k])
    scratch[n_groups] = log_new
    total = 0.0
    for k in range(n_groups + 1):
        total += np.exp(scratch[k] - top)
        scratch[k] = total
    u = rng.random() * total
    k = 0
    while k < n_groups and scratch[k] <= u:
        k += 1
    return k


@jit
def open_group(e, s, n, lam, base, labels, eta, sizes, n_groups, edge_work, rng):
    """Give item e a group of its own, with a value from its one-dimensional posterior."""
    log_integral = integrate_edge(s, n, lam, base, edge_work)
    eta[n_groups] = draw_edge(log_integral, edge_work, rng)
    sizes[n_groups] = 1
    labels[e] = n_groups


@jit
def sweep_labels(labels, eta, sizes, n_groups, s, n, lam, log_new, base, edge_work, rng):
    """Redraw every label in turn from eq. (4), the likelihood of each edge being fixed.

    Parameters
    ----------
    labels : (r,) int64 array, changed in place
    eta : (r,) array, changed in place
        Values of the groups in the first n_groups entries.
    sizes : (r,) int64 array, changed in place
    n_groups : int
    s, lam : (r,) arrays
        Edge likelihoods, see `edge_log_likelihood`.
    n : float
    log_new : (r,) array
        Log of alpha times the integral over the base.
    base : Series
        Log density of the base measure over eta.
    edge_work : EdgeWork
    rng : numpy.random.Generator

    Returns
    -------
    n_groups : int
    n_new : int
        How many edges opened a group.
    """
    scratch = np.empty(labels.shape[0] + 1)
    n_new = 0
    for e in range(labels.shape[0]):
        n_groups = remove_label(e, labels, eta, sizes, n_groups)
        k = draw_label(eta, sizes, n_groups, log_new[e], s[e], n, lam[e], scratch, rng)
        if k == n_groups:
            open_group(e, s[e], n, lam[e], base, labels, eta, sizes, n_groups, edge_work, rng)
            n_groups += 1
            n_new += 1
        else:
            labels[e] = k
            sizes[k] += 1
    return n_groups, n_new
