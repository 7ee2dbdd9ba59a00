"""Kernels of the Chinese restaurant process: prior partitions, tie counts, members that leave.

Groups keep slots 0..n_groups-1; an emptied slot is filled by the last group, so no slot is empty.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit, lean


class Groups(NamedTuple):
    """A partition of r items, and a value of each group; changed in place.

    `labels` (r,) int64. `values` (r + room,): those of the groups come first, then room for work.
    `sizes` (r,) int64. `n_groups` (1,) int64: number of groups. `weights` (r + room,): room for the
    weights of the labels that an item may get.
    """

    labels: np.ndarray
    values: np.ndarray
    sizes: np.ndarray
    n_groups: np.ndarray
    weights: np.ndarray


def make_groups(labels: np.ndarray, values: np.ndarray, room: int = 0) -> Groups:
    """Return the `Groups` of items with labels (r,), which are copied, and values (K,) of their groups."""
    r, k = len(labels), len(values)
    groups = Groups(
        labels=np.array(labels, dtype=np.int64),
        values=np.zeros(r + room),
        sizes=np.zeros(r, dtype=np.int64),
        n_groups=np.array([k]),
        weights=np.zeros(r + room),
    )
    groups.values[:k] = values
    groups.sizes[:k] = np.bincount(labels, minlength=k)
    return groups


@jit
def crp_labels(alpha, labels, rng):
    """Draw a partition of n items from CRP(alpha) into `labels` (n,); return its size."""
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


@lean
def remove_label(e, groups):
    """Take item e out of its group."""
    labels, sizes, values = groups.labels, groups.sizes, groups.values
    k, last = labels[e], groups.n_groups[0] - 1
    labels[e] = -1
    sizes[k] -= 1
    if sizes[k] == 0:
        if k != last:
            sizes[k], values[k] = sizes[last], values[last]
            for f in range(labels.shape[0]):
                if labels[f] == last:
                    labels[f] = k
        groups.n_groups[0] = last


@lean
def add_label(e, k, value, groups):
    """Put item e, which is in no group, into group k; if that is a new one, it has this value."""
    if k == groups.n_groups[0]:
        groups.values[k], groups.sizes[k] = value, 0
        groups.n_groups[0] += 1
    groups.labels[e] = k
    groups.sizes[k] += 1
