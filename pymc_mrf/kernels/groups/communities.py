"""Kernels of node communities: draws of a prior of partitions, and moves of the labels given the edges.

Under a mixture of finite mixtures a partition of d nodes into t communities of sizes n_c has the probability
(Miller & Harrison, 2018, sec. 3)

    V(t) prod_c gamma (gamma + 1) ... (gamma + n_c - 1),

so that a node joins community c of the others with weight n_c + gamma, and founds one with weight
gamma V(t + 1) / V(t) (Geng, Bhattacharya & Pati, 2019, Algorithm 1). An edge is present with a probability
that depends on whether its ends are in one community; probabilities with Beta priors are integrated out.

- `sweep_communities`: the label of one node after the other given all others.
- `merge_or_split`: two communities are proposed to be one, or one to be two (Jain & Neal, 2004).

`labels` (d,) are -1 at nodes without one; `sizes` (d + 1,) are those of the communities, `counts` (C, 2) of
the absent and present edges of each Beta variable.
"""

from math import lgamma
from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.metropolis import metropolis


class EdgeStates(NamedTuple):
    """The present and absent edges, and the prior of the communities.

    Attributes
    ----------
    ends : (r, 2) int64 array
        Nodes of each edge; two edges may have the same, and both nodes may be one.
    indptr, neighbors, edge_ids : int64 arrays
        Edges at each node, as of `GraphArrays`, but for those from a node to itself.
    present : (r,) int64 array
        1 or 0.
    within, between : (r,) int64 arrays
        Which Beta variable is the probability of each edge, if its ends are in one community, and
        if they are in two; -1 if none is.
    gain : (r,) array
        Log probability of the state of each edge within a community, less that between two; each counts
        as 0 where a Beta variable is the probability.
    a, b : (C,) arrays
        Parameters of the Beta variables.
    gamma : float
    log_v : (d + 1,) array
        Log V(t) at t = 0, ..., d; the first one is not used.
    """

    ends: np.ndarray
    indptr: np.ndarray
    neighbors: np.ndarray
    edge_ids: np.ndarray
    present: np.ndarray
    within: np.ndarray
    between: np.ndarray
    gain: np.ndarray
    a: np.ndarray
    b: np.ndarray
    gamma: float
    log_v: np.ndarray


@jit
def order_of_appearance(labels):
    """Renumber the communities of `labels` (d,), any from 0 to d - 1, in place; return how many there are."""
    new = np.full(labels.shape[0], -1, np.int64)
    t = 0
    for i in range(labels.shape[0]):
        k = labels[i]
        if new[k] < 0:
            new[k] = t
            t += 1
        labels[i] = new[k]
    return t


@jit
def mixture_labels(gamma, rate, labels, rng):
    """Draw `labels` (d,) from K ~ Poisson(rate) given K > 0 and Dirichlet(gamma, ..., gamma) proportions."""
    K = 0
    if rate > 1.0:
        while K == 0:
            K = rng.poisson(rate)
    else:  # by inversion: nearly all Poisson draws might be 0
        u, term = rng.random() * np.expm1(rate), rate
        K = 1
        while u > term and K < 100:
            u -= term
            K += 1
            term *= rate / K
    d = labels.shape[0]
    component = np.empty(d, np.int64)
    first = np.full(K, -1, np.int64)
    t = 0
    for i in range(d):  # an urn: proportions of a small gamma would be 0
        u = rng.random() * (i + gamma * K)
        component[i] = component[int(u)] if u < i else int(rng.random() * K)
        if first[component[i]] < 0:
            first[component[i]] = t
            t += 1
        labels[i] = first[component[i]]
    return t


@jit
def log_beta(x, y):
    return lgamma(x) + lgamma(y) - lgamma(x + y)


@jit
def count_edges(labels, network, counts):
    """Count the absent and present edges of each Beta variable into `counts` (C, 2).

    Edges of nodes without a label, -1, are left out, but those from a node to itself, which are within one
    community whatever it is. Return the sum of the gains.
    """
    counts[:] = 0
    total = 0.0
    for e in range(network.present.shape[0]):
        i, j = network.ends[e, 0], network.ends[e, 1]
        k, l = labels[i], labels[j]
        if (k < 0 or l < 0) and i != j:
            continue
        total += network.gain[e] if k == l else 0.0
        c = network.within[e] if k == l else network.between[e]
        if c >= 0:
            counts[c, network.present[e]] += 1
    return total


@jit
def log_posterior_of_labels(labels, network, counts):
    """Log probability, up to a constant, of `labels` (d,) without gaps; their `counts` are made anew."""
    total = count_edges(labels, network, counts)
    t = 0
    sizes = np.zeros(labels.shape[0], np.int64)
    for i in range(labels.shape[0]):
        sizes[labels[i]] += 1
        t = max(t, labels[i] + 1)
    total += network.log_v[t]
    for k in range(t):
        total += lgamma(network.gamma + sizes[k]) - lgamma(network.gamma)
    for c in range(counts.shape[0]):
        total += log_beta(network.a[c] + counts[c, 1], network.b[c] + counts[c, 0])
    return total


@jit
def count_node(i, labels, sign, network, counts):
    """Add or take away what the edges at node i contribute to `counts`."""
    for m in range(network.indptr[i], network.indptr[i + 1]):
        l, e = labels[network.neighbors[m]], network.edge_ids[m]
        if l >= 0:
            c = network.within[e] if l == labels[i] else network.between[e]
            if c >= 0:
                counts[c, network.present[e]] += sign


@jit
def weigh_communities(i, candidates, t, labels, sizes, network, counts, score):
    """Log weights, into `score` (n,), of the communities that node i, which is in none, may join.

    `candidates` (n,) are labels up to t, which is a new one; `counts` are those without node i.
    """
    C = counts.shape[0]
    if_apart = counts.astype(np.float64)
    joining = np.zeros((labels.shape[0] + 1, C, 2))
    gain = np.zeros(labels.shape[0] + 1)
    for m in range(network.indptr[i], network.indptr[i + 1]):
        l, e = labels[network.neighbors[m]], network.edge_ids[m]
        if l < 0:
            continue
        y, within, between = network.present[e], network.within[e], network.between[e]
        gain[l] += network.gain[e]
        if between >= 0:
            if_apart[between, y] += 1
            joining[l, between, y] -= 1
        if within >= 0:
            joining[l, within, y] += 1
    for n in range(candidates.shape[0]):
        k = candidates[n]
        if k < t:
            s = np.log(sizes[k] + network.gamma) + gain[k]
        else:
            s = np.log(network.gamma) + (network.log_v[t + 1] - network.log_v[t] if t > 0 else 0.0)
        for c in range(C):
            s += log_beta(
                network.a[c] + if_apart[c, 1] + joining[k, c, 1],
                network.b[c] + if_apart[c, 0] + joining[k, c, 0],
            )
        score[n] = s


@jit
def sweep_communities(labels, network, rng):
    """Draw the community of one node after the other given those of all others, in place.

    `labels` (d,) have no gaps, before and after. Return the number of nodes that changed their community.
    """
    d = labels.shape[0]
    sizes = np.zeros(d + 1, np.int64)
    t = 0
    for i in range(d):
        sizes[labels[i]] += 1
        t = max(t, labels[i] + 1)
    counts = np.zeros((network.a.shape[0], 2), np.int64)
    count_edges(labels, network, counts)
    candidates, score = np.arange(d + 1), np.empty(d + 1)
    n_moved = 0
    for i in range(d):
        old = labels[i]
        count_node(i, labels, -1, network, counts)
        labels[i] = -1
        sizes[old] -= 1
        stays = old
        if sizes[old] == 0:  # the last community takes the empty place
            t -= 1
            sizes[old], sizes[t] = sizes[t], 0
            for j in range(d):
                if labels[j] == t:
                    labels[j] = old
            stays = t
        weigh_communities(i, candidates[: t + 1], t, labels, sizes, network, counts, score)
        new, highest = 0, -np.inf
        for k in range(t + 1):  # Gumbel noise: the largest sum is a draw in proportion to exp(score)
            noisy = score[k] - np.log(rng.standard_exponential())
            if noisy > highest:
                new, highest = k, noisy
        n_moved += new != stays
        labels[i] = new
        sizes[new] += 1
        t += new == t
        count_node(i, labels, 1, network, counts)
    return n_moved


@jit
def choose_side(i, pair, labels, sizes, network, counts, forced, rng):
    """Put node i, in no community, into one of the two of `pair` (2,); return the log probability of it.

    The choice is `forced`, a label, or if that is -1, drawn.
    """
    score = np.empty(2)
    weigh_communities(i, pair, labels.shape[0], labels, sizes, network, counts, score)
    p = 1.0 / (1.0 + np.exp(score[0] - score[1]))  # of the second
    second = rng.random() < p if forced < 0 else forced == pair[1]
    labels[i] = pair[1] if second else pair[0]
    sizes[labels[i]] += 1
    count_node(i, labels, 1, network, counts)
    gap = score[0] - score[1] if second else score[1] - score[0]
    return -np.log1p(np.exp(gap)) if gap < 500.0 else -gap


@jit
def merge_or_split(labels, n_scans, network, rng):
    """Propose to part the community of two random nodes between them, or to merge their communities.

    Where its members go is drawn by Gibbs scans over the two sides, from a start that is drawn one
    member after the other (Jain & Neal, 2004, sec. 3.2). `labels` (d,) have no gaps, before and after.
    Return whether the proposal was accepted.
    """
    d = labels.shape[0]
    if d < 2:
        return False
    i, j = int(rng.random() * d), int(rng.random() * (d - 1))
    j += j >= i
    old = labels.copy()
    t = old.max() + 1
    splits = old[i] == old[j]
    pair = np.array([old[i], t if splits else old[j]])
    counts = np.zeros((network.a.shape[0], 2), np.int64)
    log_old = log_posterior_of_labels(old, network, counts)
    sizes = np.zeros(d + 1, np.int64)
    others = np.empty(d, np.int64)
    n = 0
    for h in range(d):
        if h != i and h != j and (old[h] == pair[0] or old[h] == pair[1]):
            others[n] = h
            n += 1
            labels[h] = -1
    labels[i], labels[j] = pair[0], pair[1]
    sizes[pair[0]], sizes[pair[1]] = 1, 1
    count_edges(labels, network, counts)
    for m in range(n):  # in random order
        at = m + int(rng.random() * (n - m))
        others[m], others[at] = others[at], others[m]
        choose_side(others[m], pair, labels, sizes, network, counts, -1, rng)
    log_q = 0.0
    for scan in range(n_scans):
        log_q = 0.0  # of the last scan; a merger could be undone by it
        last = scan == n_scans - 1
        for m in range(n):
            h = others[m]
            count_node(h, labels, -1, network, counts)
            sizes[labels[h]] -= 1
            labels[h] = -1
            forced = old[h] if last and not splits else -1
            log_q += choose_side(h, pair, labels, sizes, network, counts, forced, rng)
    if not splits:
        for h in range(d):
            labels[h] = pair[0] if old[h] == pair[1] else old[h]
        order_of_appearance(labels)
    log_new = log_posterior_of_labels(labels, network, counts)
    log_ratio = log_new - log_old + (-log_q if splits else log_q)
    if metropolis(log_ratio, rng)[0]:
        return True
    labels[:] = old
    return False
