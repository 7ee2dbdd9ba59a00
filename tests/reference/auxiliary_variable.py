"""Auxiliary-variable Metropolis by the book: distributions of statistics and transition matrices, listed.

Everything is enumerated: the configurations of a small binary field, the sums of agreements over n rows
as an n-fold convolution, and the transition matrix of one proposal for one edge's group.
"""

import itertools

import numpy as np


def agreement_patterns(edges, n_nodes):
    """Which edges agree in each of the 2 ** d configurations: list of tuples of 0 and 1."""
    return [
        tuple(int(z[u] == z[v]) for u, v in edges) for z in itertools.product((0, 1), repeat=n_nodes)
    ]


def statistics_distribution(eta, edges, n_nodes, n):
    """Probability of each vector of sums of agreements over n independent rows: {sums: probability}."""
    one = {}
    for pattern in agreement_patterns(edges, n_nodes):
        one[pattern] = one.get(pattern, 0.0) + float(np.exp(np.dot(eta, pattern)))
    total = sum(one.values())
    sums = {(0,) * len(edges): 1.0}
    for _ in range(n):
        longer = {}
        for (a, p), (b, q) in itertools.product(sums.items(), one.items()):
            key = tuple(i + j for i, j in zip(a, b, strict=True))
            longer[key] = longer.get(key, 0.0) + p * q / total
        sums = longer
    return sums


def log_unnormalised(s, eta):
    """Log of P~ of a data set with these sums."""
    return float(np.dot(s, eta))


def log_partition(eta, edges, n_nodes):
    """A(eta)."""
    return float(np.log(sum(np.exp(np.dot(eta, p)) for p in agreement_patterns(edges, n_nodes))))


def one_edge_chain(edge, values, others, s, edges, n_nodes, n, reference=None, data_power=1.0):
    """Transition matrix and target of one proposal for the group of `edge`.

    The edge takes one of the `values` (groups of the other edges, never a new one), proposed with
    probability proportional to the group's size among the `others` (labels of all edges; the entry at
    `edge` is ignored). Without `reference` the state is the group, and the ratio that of exchange; with
    it the state is (group, sums of the auxiliary data), and the ratio that of Møller et al. `data_power`
    other than 1 falsifies the ratio's data term. Returns states, matrix, target.
    """
    rest = [k for f, k in enumerate(others) if f != edge]
    prior = np.array([rest.count(k) for k in range(len(values))], dtype=float)
    prior /= prior.sum()
    etas = [
        np.array([values[k if f == edge else others[f]] for f in range(len(edges))])
        for k in range(len(values))
    ]
    draws = [statistics_distribution(eta, edges, n_nodes, n) for eta in etas]
    likelihood = [
        np.exp(log_unnormalised(s, eta) - n * log_partition(eta, edges, n_nodes)) for eta in etas
    ]

    def data_ratio(k, j):
        return data_power * (log_unnormalised(s, etas[j]) - log_unnormalised(s, etas[k]))

    if reference is None:
        states = list(range(len(values)))
        target = prior * likelihood
        matrix = np.zeros((len(states), len(states)))
        for k, j in itertools.product(states, states):
            for z, p in draws[j].items():
                back = log_unnormalised(z, etas[k]) - log_unnormalised(z, etas[j])
                a = min(1.0, np.exp(data_ratio(k, j) + back))
                matrix[k, j] += prior[j] * p * a
                matrix[k, k] += prior[j] * p * (1.0 - a)
    else:
        auxiliary = statistics_distribution(reference, edges, n_nodes, n)
        states = [(k, z) for k in range(len(values)) for z in auxiliary]
        target = np.array([prior[k] * likelihood[k] * auxiliary[z] for k, z in states])
        matrix = np.zeros((len(states), len(states)))
        for a, (k, z) in enumerate(states):
            for b, (j, z_new) in enumerate(states):
                log_ratio = data_ratio(k, j)
                log_ratio += log_unnormalised(z_new, reference) - log_unnormalised(z_new, etas[j])
                log_ratio -= log_unnormalised(z, reference) - log_unnormalised(z, etas[k])
                accepted = min(1.0, np.exp(log_ratio))
                matrix[a, b] += prior[j] * draws[j][z_new] * accepted
                matrix[a, a] += prior[j] * draws[j][z_new] * (1.0 - accepted)
    return states, matrix, target / target.sum()


def fixed_labels_moments(labels, s, edges, n_nodes, n, n_points=400):
    """Posterior mean and second moment of two group values in (0, 1), uniform prior, by midpoints."""
    grid = (np.arange(n_points) + 0.5) / n_points
    log_f = np.empty((n_points, n_points))
    patterns = np.array(agreement_patterns(edges, n_nodes))
    first, second = (np.equal(labels, k) for k in (0, 1))
    for i, theta in enumerate(grid):
        eta0 = np.log(theta / (1.0 - theta))
        eta1 = np.log(grid / (1.0 - grid))
        agree0, agree1 = patterns[:, first].sum(axis=1), patterns[:, second].sum(axis=1)
        scores = eta0 * agree0[:, None] + np.outer(agree1, eta1)
        partition = np.log(np.exp(scores).sum(axis=0))
        log_f[i] = eta0 * s[first].sum() + eta1 * s[second].sum() - n * partition
    f = np.exp(log_f - log_f.max())
    f /= f.sum()
    margins = f.sum(axis=1), f.sum(axis=0)
    return np.array([m @ grid for m in margins]), np.array([m @ grid**2 for m in margins])
