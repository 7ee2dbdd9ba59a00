"""One sweep of group labels under the exact likelihood of a field of small treewidth.

Neal (2000), Algorithm 2; Liu & Page (2013), eq. (4), with every term exact: the edge's likelihood by
identity (A1) from its marginal on the junction tree, the integral over the base by quadrature.
"""

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.crp import draw_label, open_group, remove_label
from pymc_mrf.kernels.edge_posterior import integrate_edge, series_value
from pymc_mrf.kernels.junction_tree import collect
from pymc_mrf.kernels.junction_tree_focus import calibrate, factor_log_table, update_factor


@jit
def logit_at_zero(log_table, statistic, eta):
    """Logit of P(f = 1) if the edge's parameter were 0, from its log marginal table at `eta`.

    `log_table` and `statistic` (K * K,). In logs, because the rest of the field may force the edge.
    """
    one, zero = -np.inf, -np.inf
    for c in range(statistic.shape[0]):
        value = log_table[c]
        if statistic[c] == 1.0:
            high = max(one, value)
            one = high + np.log(np.exp(one - high) + np.exp(value - high))
        else:
            high = max(zero, value)
            zero = high + np.log(np.exp(zero - high) + np.exp(value - high))
    return one - zero - eta


@jit
def sweep_labels(
    labels,
    eta,
    sizes,
    n_groups,
    s,
    n,
    log_alpha,
    base,
    statistic,
    order,
    tree,
    tables,
    focus,
    edge_work,
    rng,
):
    """Redraw the label of every edge in turn, in the order `order`.

    Parameters
    ----------
    labels : (r,) int64 array, changed in place
    eta : (r,) array, changed in place
        Values of the groups in the first n_groups entries.
    sizes : (r,) int64 array, changed in place
    n_groups : int
    s : (r,) array
        Sum of f over the n observations.
    n, log_alpha : float
    base : Series
        Log density of the base measure over eta.
    statistic : (K, K) array with values in {0, 1}
    order : (r,) int64 array
    tree : TreeArrays
    tables : (T,) array
        Log tables of all factors at the present parameters, edges first; changed in place.
    focus : Focus
    edge_work : EdgeWork
    rng : numpy.random.Generator

    Returns
    -------
    n_groups, n_new : int
        -1 groups if an integral over the base did not converge.
    """
    scratch = np.empty(labels.shape[0] + 1)
    size = statistic.size
    log_table, total, delta = np.empty(size), np.empty(size), np.empty(size)
    flat = statistic.ravel()
    # calibrated anew in every sweep, so that rounding errors do not add up over the chain
    calibrate(tree, tables, focus)
    n_new = 0
    for e in order:
        old = eta[labels[e]]
        factor_log_table(tree, focus, e, log_table, total)
        lam = logit_at_zero(log_table, flat, old)
        n_groups = remove_label(e, labels, eta, sizes, n_groups)
        log_new = log_alpha + integrate_edge(s[e], n, lam, base, edge_work)
        if np.isnan(log_new):
            return -1, n_new
        k = draw_label(eta, sizes, n_groups, log_new, s[e], n, lam, scratch, rng)
        if k == n_groups:
            open_group(e, s[e], n, lam, base, labels, eta, sizes, n_groups, edge_work, rng)
            n_groups += 1
            n_new += 1
        else:
            labels[e] = k
            sizes[k] += 1
        if eta[k] != old:
            delta[:] = flat * (eta[k] - old)
            update_factor(tree, focus, e, delta)
    return n_groups, n_new


@jit
def log_density_of_values(labels, eta, group_sums, n, base, statistic, tree, tables, work):
    """Log posterior density of the group values, up to a constant, given the labels."""
    size = statistic.size
    flat = statistic.ravel()
    total = 0.0
    for k in range(eta.shape[0]):
        total += group_sums[k] * eta[k] + series_value(base, eta[k])
    if total == -np.inf:
        return total
    for e in range(labels.shape[0]):
        for c in range(size):
            tables[e * size + c] = eta[labels[e]] * flat[c]
    return total - n * collect(tree, tables, work)


@jit
def slice_values(labels, eta, group_sums, n, widths, base, statistic, tree, tables, work, rng):
    """One slice-sampling update of every group value, in place (Neal, 2003, sec. 4, fixed interval).

    Parameters
    ----------
    labels : (r,) int64 array
    eta : (K,) array, changed in place
    group_sums : (K,) array
        Sum of f over observations and edges of the group.
    n : float
    widths : (K,) array
        Interval of each group, placed at random around its value and shrunk on rejection; any positive
        number is valid, and no move is longer.
    base : Series
    statistic : (K, K) array
    tree : TreeArrays
    tables : (T,) array
        Log tables, edges first; those of the edges are overwritten.
    work : Workspace
    rng : numpy.random.Generator

    Returns
    -------
    int
        Number of evaluations of the log-partition function.
    """
    count = 1
    here = log_density_of_values(labels, eta, group_sums, n, base, statistic, tree, tables, work)
    for k in range(eta.shape[0]):
        old = eta[k]
        level = here + np.log(rng.random())
        left = old - widths[k] * rng.random()
        right = left + widths[k]
        while True:
            eta[k] = left + rng.random() * (right - left)
            count += 1
            there = log_density_of_values(
                labels, eta, group_sums, n, base, statistic, tree, tables, work
            )
            if there > level:
                here = there
                break
            if eta[k] < old:
                left = eta[k]
            else:
                right = eta[k]
    return count
