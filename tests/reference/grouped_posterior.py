"""Exact posterior of grouped edge parameters of a small binary field.

Every partition of the edges is listed; for each, the likelihood is integrated over the group values by a
product of Gauss-Legendre rules, on the range where the likelihood is not negligible. The base measure
is uniform for theta = sigmoid(eta), eta being the natural parameter of a statistic in {0, 1}.
"""

from dataclasses import dataclass

import numpy as np

from tests.reference.dirichlet_process import crp_probability, set_partitions

NODES_PER_DIMENSION = {1: 400, 2: 160, 3: 70, 4: 36, 5: 26}


@dataclass(frozen=True)
class GroupedPosterior:
    """Exact posterior summaries.

    Attributes
    ----------
    n_groups : (r + 1,) array
        P(K = k), k = 0..r.
    mean : (r,) array
        E[theta].
    co_clustering : (r, r) array
    log_evidence : float
    """

    n_groups: np.ndarray
    mean: np.ndarray
    co_clustering: np.ndarray
    log_evidence: float


def statistics_of(x, edges, statistic):
    """f on every edge, (n, r) in {0, 1}: "agreement" 1[x_u = x_v] or "product" x_u x_v."""
    u, v = np.transpose(edges)
    return x[:, u] == x[:, v] if statistic == "agreement" else (x[:, u] * x[:, v]) == 1


def distinct_patterns(edges, n_nodes, statistic, bias):
    """Distinct rows of statistics (p, r) and the total weight exp(bias . x) of their configurations."""
    states = (np.arange(2**n_nodes)[:, None] >> np.arange(n_nodes)) & 1
    patterns, where = np.unique(statistics_of(states, edges, statistic), axis=0, return_inverse=True)
    return patterns, np.bincount(where.reshape(-1), np.exp(states @ bias))


def integrate_partition(labels, sums, n, patterns, multiplicity, box):
    """Log of the marginal likelihood of a partition, and E[phi_k | data, partition]."""
    labels = np.asarray(labels)
    k = labels.max() + 1
    t, w = np.polynomial.legendre.leggauss(NODES_PER_DIMENSION[k])
    grids, log_weights = [], []
    for group in range(k):
        low = box[0][labels == group].min()
        high = box[1][labels == group].max()
        grids.append(low + 0.5 * (high - low) * (t + 1.0))
        log_weights.append(np.log(0.5 * (high - low) * w))
    group_sums = np.bincount(labels, sums, minlength=k)
    shape = [len(t)] * k
    log_f = np.zeros(shape)
    for group in range(k):
        axis = [1] * k
        axis[group] = len(t)
        eta = np.log(grids[group]) - np.log1p(-grids[group])
        log_f = log_f + (group_sums[group] * eta + log_weights[group]).reshape(axis)
    partition_function = np.zeros(shape)
    for pattern, count in zip(patterns, multiplicity, strict=True):
        term = np.full([1] * k, count)
        agreements = np.bincount(labels, pattern.astype(float), minlength=k)
        for group in range(k):
            axis = [1] * k
            axis[group] = len(t)
            odds = grids[group] / (1.0 - grids[group])
            term = term * (odds ** agreements[group]).reshape(axis)
        partition_function += term
    log_f -= n * np.log(partition_function)
    top = log_f.max()
    f = np.exp(log_f - top)
    total = f.sum()
    means = []
    for group in range(k):
        others = tuple(axis for axis in range(k) if axis != group)
        means.append((f.sum(axis=others) * grids[group]).sum() / total)
    return top + np.log(total), np.array(means)


def marginal_box(sums, n, patterns, multiplicity, width=9.0):
    """Interval per edge outside which the likelihood is negligible: posterior mode +- width sd."""
    from scipy.optimize import minimize

    def negative(theta_logit):
        scores = patterns @ theta_logit + np.log(multiplicity)
        p = np.exp(scores - scores.max())
        p /= p.sum()
        log_z = np.log(np.exp(scores - scores.max()).sum()) + scores.max()
        # the uniform prior on theta, seen from the logit scale, keeps the mode finite
        prior = -np.logaddexp(0, theta_logit).sum() - np.logaddexp(0, -theta_logit).sum()
        value = n * log_z - sums @ theta_logit - prior
        gradient = n * (p @ patterns) - sums + np.tanh(0.5 * theta_logit)
        return value, gradient

    mode = minimize(negative, np.zeros(len(sums)), jac=True, method="BFGS").x
    scores = patterns @ mode + np.log(multiplicity)
    p = np.exp(scores - scores.max())
    p /= p.sum()
    centred = patterns - p @ patterns
    hessian = n * (centred.T * p) @ centred + np.diag(0.5 / np.cosh(0.5 * mode) ** 2)
    sd = np.sqrt(np.diag(np.linalg.inv(hessian)))
    low, high = mode - width * sd, mode + width * sd
    return 1.0 / (1.0 + np.exp(-low)), 1.0 / (1.0 + np.exp(-high))


def grouped_posterior(x, edges, alpha, statistic="agreement", bias=None):
    """Exact posterior of theta ~ DP(alpha, Uniform(0, 1)), eta = logit(theta), for a binary field.

    `x` (n, d) in {0, 1}; `edges` (r, 2), r <= 5; `statistic` as in `statistics_of`; fixed `bias` (d,).
    """
    edges = np.asarray(edges)
    n, d = x.shape
    r = len(edges)
    patterns, multiplicity = distinct_patterns(
        edges, d, statistic, np.zeros(d) if bias is None else bias
    )
    sums = statistics_of(x, edges, statistic).sum(axis=0).astype(float)
    box = marginal_box(sums, n, patterns.astype(float), multiplicity)
    partitions = set_partitions(r)
    log_weights, means = [], []
    for labels in partitions:
        log_marginal, phi = integrate_partition(labels, sums, n, patterns, multiplicity, box)
        log_weights.append(np.log(crp_probability(labels, alpha)) + log_marginal)
        means.append(phi[list(labels)])
    log_weights = np.array(log_weights)
    top = log_weights.max()
    weights = np.exp(log_weights - top)
    log_evidence = float(top + np.log(weights.sum()))
    weights /= weights.sum()
    n_groups = np.zeros(r + 1)
    co_clustering = np.zeros((r, r))
    for labels, weight in zip(partitions, weights, strict=True):
        n_groups[max(labels) + 1] += weight
        co_clustering += weight * np.equal.outer(labels, labels)
    return GroupedPosterior(n_groups, weights @ np.array(means), co_clustering, log_evidence)
