"""What a field's data say of one edge, from complete sums over configurations; nothing is local."""

import numpy as np

from tests.reference import enumeration


def log_likelihood(x, edges, eta, statistic, node_tables):
    """Log-likelihood of the rows of `x` (n, d), by the complete partition function."""
    tables = np.asarray(eta)[:, None, None] * statistic
    scores = enumeration.log_potentials(x, edges, tables, node_tables)
    return scores.sum() - len(x) * enumeration.log_partition(edges, tables, node_tables)


def log_pseudo_likelihood(x, edges, eta, statistic, node_tables, weight=0.5):
    """Sum over rows and nodes of the log probability of a node's state given all other nodes, times `weight`.

    That of a node without edges counts as it is.
    """
    tables = np.asarray(eta)[:, None, None] * statistic
    total = 0.0
    here = enumeration.log_potentials(x, edges, tables, node_tables)
    for i in range(x.shape[1]):
        scores = np.empty((len(x), len(statistic)))
        for a in range(len(statistic)):
            moved = np.array(x)
            moved[:, i] = a
            scores[:, a] = enumeration.log_potentials(moved, edges, tables, node_tables)
        power = weight if np.isin(i, edges) else 1.0
        total += power * (here - np.logaddexp.reduce(scores, axis=1)).sum()
    return total


def particle_marginal(z, e, edges, eta, anchor, statistic, node_tables):
    """Marginal of f_e at `eta` from the columns of `z` (d, m), drawn at `anchor`, both ends integrated out.

    Returns
    -------
    shares : (L,) array
        Probabilities of the values of f.
    spread, variance, size : float
        Variance of f, variance of the estimated mean of f by particles taken as independent, the effective
        size relative to m.
    """
    levels = np.unique(statistic)
    u, v = edges[e]
    K = len(statistic)
    pairs = np.array([(a, b) for a in range(K) for b in range(K)])
    share, log_weight = np.empty((z.shape[1], len(levels))), np.empty(z.shape[1])
    for c in range(z.shape[1]):
        rows = np.repeat(z[:, c][None], len(pairs), axis=0).astype(int)
        rows[:, [u, v]] = pairs
        now, then = (
            enumeration.log_potentials(
                rows, edges, np.asarray(p)[:, None, None] * statistic, node_tables
            )
            for p in (eta, anchor)
        )
        p = np.exp(now - now.max())
        share[c] = p @ np.equal.outer(statistic[pairs[:, 0], pairs[:, 1]], levels) / p.sum()
        log_weight[c] = np.logaddexp.reduce(now) - np.logaddexp.reduce(then)
    w = np.exp(log_weight - log_weight.max())
    shares = w @ share / w.sum()
    mean = shares @ levels
    variance = (w**2) @ (share @ levels - mean) ** 2 / w.sum() ** 2
    return shares, shares @ (levels - mean) ** 2, variance, w.sum() ** 2 / (w @ w) / len(w)
