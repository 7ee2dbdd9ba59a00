"""Weighted particles in plain Python: conditionals from complete log potentials, nothing is local."""

import numpy as np

from tests.reference import enumeration


def shares(z, e, edges, eta, statistic, node_tables):
    """P(f_e = 1 | all nodes but the two ends of e) for every column of `z` (d, m), (m,)."""
    u, v = edges[e]
    n_states = len(statistic)
    edge_tables = np.asarray(eta)[:, None, None] * statistic
    result = np.empty(z.shape[1])
    for c in range(z.shape[1]):
        pairs = [(a, b) for a in range(n_states) for b in range(n_states)]
        configs = np.repeat(z[:, c][None], len(pairs), axis=0).astype(int)
        configs[:, [u, v]] = pairs
        score = enumeration.log_potentials(configs, edges, edge_tables, node_tables)
        p = np.exp(score - score.max())
        result[c] = sum(p[k] for k, (a, b) in enumerate(pairs) if statistic[a, b] == 1) / p.sum()
    return result


def weighted_mean_and_variance(values, w):
    """Mean and variance of `values` (m,) under weights `w` (m,)."""
    p = w / w.sum()
    mean = p @ values
    return mean, p @ (values - mean) ** 2


def edge_sums(z, edges, statistic):
    """f on every edge for every column of `z` (d, m), (r, m)."""
    return np.array([[statistic[a, b] for a, b in zip(z[u], z[v], strict=True)] for u, v in edges])


def label_probabilities(e, labels, values, x, alpha, edges, statistic, node_tables, base, grid):
    """Eq. (4) of Liu & Page (2013) for the label of edge e, by enumeration: one entry per other group.

    The likelihood is evaluated with the complete partition function; the integral over the base runs
    over `grid`, equidistant, with the density `base` on it. The last entry is a new group.
    """
    n_states = len(statistic)
    configs = enumeration.configurations(len(node_tables), n_states)
    sums = np.array([sum(statistic[a, b] for a, b in x[:, edges[e]]) for e in range(len(edges))])
    f = np.array([[statistic[z[u], z[v]] for u, v in edges] for z in configs])
    nodes = np.array([sum(node_tables[i, a] for i, a in enumerate(z)) for z in configs])
    eta = values[labels].astype(float)

    def log_likelihood(value):
        eta[e] = value
        score = f @ eta + nodes
        return sums @ eta - len(x) * (score.max() + np.log(np.exp(score - score.max()).sum()))

    others = np.delete(labels, e)
    groups = np.unique(others)
    logs = [np.log((others == k).sum()) + log_likelihood(values[k]) for k in groups]
    integrand = np.array([log_likelihood(value) for value in grid])
    top = integrand.max()
    integral = (np.exp(integrand - top) * base).sum() * (grid[1] - grid[0])
    logs = np.array([*logs, np.log(alpha) + top + np.log(integral)])
    p = np.exp(logs - logs.max())
    return groups, p / p.sum()
