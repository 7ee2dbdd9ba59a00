"""Exact tied maximum likelihood on small fields: enumeration and a general-purpose optimiser."""

import numpy as np
from scipy.optimize import minimize

from tests.reference.enumeration import configurations


def statistics(z, edges, f, g, labels, cards=None):
    """Sums of f per group of edges, then the rows of g (q, K) per node if `g` is given: one row per row of z.

    With `cards`, the numbers of states of the nodes, row k of g is that of state k + 1, if a node has one.
    """
    n_groups = max(labels) + 1
    rows = []
    for row in np.asarray(z, dtype=int):
        s = [0.0] * n_groups
        for e, (u, v) in enumerate(edges):
            s[labels[e]] += f[row[u]][row[v]]
        if g is not None:
            s += [
                statistic[a]
                for i, a in enumerate(row)
                for k, statistic in enumerate(g)
                if cards is None or k + 1 < cards[i]
            ]
        rows.append(s)
    return np.array(rows)


def moments(parameters, all_statistics):
    """Mean and covariance of the statistics under the field."""
    score = all_statistics @ parameters
    p = np.exp(score - score.max())
    p /= p.sum()
    mean = p @ all_statistics
    centred = all_statistics - mean
    return mean, (p[:, None] * centred).T @ centred


def exact_mle(x, edges, f, g, labels, cards=None):
    """Estimate and Fisher information of one observation."""
    states = configurations(x.shape[1], len(f))
    if cards is not None:
        states = states[(states < np.array(cards)).all(axis=1)]
    everything = statistics(states, edges, f, g, labels, cards)
    target = statistics(x, edges, f, g, labels, cards).mean(axis=0)

    def loss(w):
        score = everything @ w
        top = score.max()
        return top + np.log(np.exp(score - top).sum()) - target @ w

    def slope(w):
        return moments(w, everything)[0] - target

    found = minimize(loss, np.zeros(len(target)), jac=slope, method="BFGS", options={"gtol": 1e-9})
    assert np.abs(slope(found.x)).max() < 1e-6
    return found.x, moments(found.x, everything)[1]
