"""Exact tied maximum likelihood on small fields: enumeration and a general-purpose optimiser."""

import numpy as np
from scipy.optimize import minimize

from tests.reference.enumeration import configurations


def statistics(z, edges, f, g, labels):
    """Sums of f per group of edges, then g per node if `g` is given: one row per row of z."""
    n_groups = max(labels) + 1
    rows = []
    for row in np.asarray(z, dtype=int):
        s = [0.0] * n_groups
        for e, (u, v) in enumerate(edges):
            s[labels[e]] += f[row[u]][row[v]]
        if g is not None:
            s += [g[a] for a in row]
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


def exact_mle(x, edges, f, g, labels):
    """Estimate and Fisher information of one observation."""
    everything = statistics(configurations(x.shape[1], len(f)), edges, f, g, labels)
    target = statistics(x, edges, f, g, labels).mean(axis=0)

    def loss(w):
        score = everything @ w
        top = score.max()
        return top + np.log(np.exp(score - top).sum()) - target @ w

    def slope(w):
        return moments(w, everything)[0] - target

    found = minimize(loss, np.zeros(len(target)), jac=slope, method="BFGS", options={"gtol": 1e-9})
    assert np.abs(slope(found.x)).max() < 1e-6
    return found.x, moments(found.x, everything)[1]
