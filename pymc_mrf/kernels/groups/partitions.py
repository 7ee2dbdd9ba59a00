"""Partitions of r items: co-occurrence, variation of information, search for a point estimate.

A partition is a row of group labels 0..K-1 without gaps. Logarithms are natural.

- Variation of information: Meilă (2003), in the form sum_{jk} n_jk (log a_j + log b_k - 2 log n_jk) / r
  over the cells of the contingency table, whose terms are all non-negative.
- Lower bound of its posterior expectation: Wade & Ghahramani (2018, sec. 2.2), by Jensen's inequality.
- Greedy reassignment of single items: the sweetening phase of SALSO, Dahl, Johnson & Müller (2022).
"""

import numpy as np

from pymc_mrf.kernels._jit import jit


@jit
def group_sizes(labels, sizes):
    """Count the items of each group of `labels` (r,) into `sizes` (K or more,); return their number K."""
    K = 0
    for i in range(labels.shape[0]):
        K = max(K, labels[i] + 1)
    sizes[:K] = 0
    for i in range(labels.shape[0]):
        sizes[labels[i]] += 1
    return K


@jit
def variation_of_information(a, b, out):
    """VI between the rows of `a` and `b`, both (n, r) int32, into `out` (n,)."""
    n, r = a.shape
    sizes_a = np.zeros(a.max() + 1, np.int64)
    sizes_b = np.zeros(b.max() + 1, np.int64)
    log = np.zeros(r + 1)
    log[1:] = np.log(np.arange(1, r + 1))
    table = np.zeros((sizes_a.shape[0], sizes_b.shape[0]), np.int64)
    for t in range(n):
        group_sizes(a[t], sizes_a)
        group_sizes(b[t], sizes_b)
        for i in range(r):
            table[a[t, i], b[t, i]] += 1
        total = 0.0
        for i in range(r):  # visits every non-empty cell, and clears it
            j, k = a[t, i], b[t, i]
            m = table[j, k]
            if m > 0:
                total += m * (log[sizes_a[j]] + log[sizes_b[k]] - 2.0 * log[m])
                table[j, k] = 0
        out[t] = total / r


@jit
def co_occurrence(labels, counts):
    """Add to `counts` (r, r) int32 how many rows of `labels` (n, r) int32 join each pair of items."""
    n, r = labels.shape
    for t in range(n):
        row = labels[t]
        for i in range(r):
            c = row[i]
            count = counts[i]
            for j in range(i):
                count[j] += np.int32(row[j] == c)
    for i in range(r):
        counts[i, i] += n
        for j in range(i):
            counts[j, i] = counts[i, j]


@jit
def first_appearance(labels, out):
    """Renumber the groups of each row of `labels` (n, r) in order of appearance, into `out` (n, r)."""
    n, r = labels.shape
    new = np.empty(labels.max() + 1, np.int32)
    for t in range(n):
        new[:] = -1
        K = 0
        for i in range(r):
            c = labels[t, i]
            if new[c] < 0:
                new[c] = K
                K += 1
            out[t, i] = new[c]


@jit
def vi_lower_bound(candidates, similarity, out):
    """Bound E[VI(candidate, c)] from below, up to a term that is the same for every candidate.

    `candidates` (m, r) int32, `similarity` (r, r) posterior co-occurrence, `out` (m,).
    """
    m, r = candidates.shape
    sizes = np.zeros(r, np.int64)
    for t in range(m):
        row = candidates[t]
        group_sizes(row, sizes)
        total = 0.0
        for i in range(r):
            c = row[i]
            together = 0.0
            for j in range(r):
                together += similarity[i, j] * (row[j] == c)
            total += np.log(sizes[c]) - 2.0 * np.log(together)
        out[t] = total / r


@jit
def members_by_group(labels, members, start):
    """Sort the items of each row by group.

    Group k of row t of `labels` (n, r) becomes ``members[t, start[t, k] : start[t, k + 1]]``. Of int32
    are `members` (n, r) and `start` (n, K + 1), K the largest number of groups.
    """
    n, r = labels.shape
    start[:] = 0
    for t in range(n):
        for i in range(r):
            start[t, labels[t, i] + 1] += 1
        for k in range(1, start.shape[1]):
            start[t, k] += start[t, k - 1]
        for i in range(r):
            c = labels[t, i]
            members[t, start[t, c]] = i
            start[t, c] += 1
        for k in range(start.shape[1] - 1, 0, -1):
            start[t, k] = start[t, k - 1]
        start[t, 0] = 0


@jit
def reassign_greedily(grouping, labels, members, start, rng):
    """Move single items between groups while the mean VI to the rows of `labels` falls, in place.

    Items are visited in random order, sweep after sweep, until one sweep moves nothing. With
    g(m) = (m + 1) log(m + 1) - m log m, an item that joins a group of m others, m_t of which are with
    it in row t, adds g(m) - 2 mean_t g(m_t) to r times the mean VI.

    `grouping` (r,) int32 and `labels` and `members` (n, r) int32. `start` (n, K + 1) int32: from
    `members_by_group`.
    """
    n, r = labels.shape
    m = np.arange(1.0, r + 1.0)
    m_log_m = np.zeros(r + 1)
    m_log_m[1:] = m * np.log(m)
    g = m_log_m[1:] - m_log_m[:-1]  # (r,)
    sizes = np.zeros(r, np.int64)
    shared = np.zeros(r, np.int64)
    total = np.zeros(r)  # sum_t g(m_t), per group
    order = np.arange(r)
    group_sizes(grouping, sizes)
    moved = True
    while moved:
        moved = False
        for k in range(r - 1, 0, -1):
            j = int(rng.random() * (k + 1))
            order[k], order[j] = order[j], order[k]
        for i in order:
            old = grouping[i]
            sizes[old] -= 1
            total[:] = 0.0
            for t in range(n):
                c = labels[t, i]
                together = members[t, start[t, c] : start[t, c + 1]]
                for j in together:
                    if j != i:
                        k = grouping[j]
                        total[k] += g[shared[k] + 1] - g[shared[k]]
                        shared[k] += 1
                for j in together:
                    shared[grouping[j]] = 0
            best = old
            # the margin keeps rounding errors from moving an item back and forth
            best_change = g[sizes[old]] - 2.0 * total[old] / n - 1e-9
            for k in range(r):
                change = g[sizes[k]] - 2.0 * total[k] / n
                if change < best_change:
                    best, best_change = k, change
            sizes[best] += 1
            if best != old:
                grouping[i] = best
                moved = True
