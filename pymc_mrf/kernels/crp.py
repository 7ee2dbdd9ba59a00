"""Kernels of the Chinese restaurant process: prior partitions, tie counts, members that leave.

Groups keep slots 0..n_groups-1; an emptied slot is filled by the last group, so no slot is empty.
"""

import numpy as np

from pymc_mrf.kernels._jit import jit


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
