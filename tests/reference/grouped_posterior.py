"""Exact posterior of grouped edge parameters of a small binary field.

Every partition of the edges is listed; for each, the likelihood is integrated over the group values by a
product of Gauss-Legendre rules, on the range where the likelihood is not negligible. The base measure
is uniform for theta = sigmoid(eta), eta being the natural parameter of a statistic in {0, 1}.
"""

import itertools
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import minimize

from tests.reference.dirichlet_process import crp_probability, set_partitions

NODES_PER_DIMENSION = {1: 200, 2: 80, 3: 50, 4: 30, 5: 22}  # errors below 1e-5
legendre = cache(np.polynomial.legendre.leggauss)


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


def log_sum_exp(a):
    """Log of the sums of exp(a) (P, m) over the second axis; finite."""
    top = a.max(axis=1)
    b = a - top[:, None]
    return np.log(np.exp(b, out=b).sum(axis=1)) + top


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
    t, w = legendre(NODES_PER_DIMENSION[k])
    grids, log_weights = [], []
    for group in range(k):
        low = box[0][labels == group].min()
        high = box[1][labels == group].max()
        grids.append(low + 0.5 * (high - low) * (t + 1.0))
        log_weights.append(np.log(0.5 * (high - low) * w))
    group_sums = np.bincount(labels, sums, minlength=k)
    # sums over patterns of products over groups: a product of two matrices, of half the groups each
    halves = []
    for groups in np.array_split(np.arange(k), 2):
        terms = multiplicity[:, None] if not halves else np.ones((len(patterns), 1))
        for group in groups:
            agreements = patterns[:, labels == group].sum(axis=1)
            odds = grids[group] / (1.0 - grids[group])
            powers = odds ** agreements[:, None]
            terms = (terms[:, :, None] * powers[:, None, :]).reshape(len(patterns), -1)
        halves.append(terms)
    log_f = (halves[0].T @ halves[1]).reshape([len(t)] * k)
    np.log(log_f, out=log_f)
    log_f *= -n
    for group in range(k):
        axis = [1] * k
        axis[group] = len(t)
        eta = np.log(grids[group]) - np.log1p(-grids[group])
        log_f += (group_sums[group] * eta + log_weights[group]).reshape(axis)
    top = log_f.max()
    log_f -= top
    f = np.exp(log_f, out=log_f)
    total = f.sum()
    means = []
    for group in range(k):
        means.append(f.reshape(len(t), -1).sum(axis=1) @ grids[group] / total)
        f = f.sum(axis=0)
    return top + np.log(total), np.array(means)


def marginal_box(sums, n, patterns, multiplicity, width=9.0):
    """Interval per edge outside which the likelihood is negligible: posterior mode +- width sd."""

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
    edges = tuple((int(u), int(v)) for u, v in edges)
    return _grouped_posterior(
        tuple(map(tuple, x.tolist())), edges, alpha, statistic, bias if bias is None else tuple(bias)
    )


@cache  # several tests sample the same data
def _grouped_posterior(x, edges, alpha, statistic, bias):
    x, edges = np.array(x), np.array(edges)
    n, d = x.shape
    r = len(edges)
    patterns, multiplicity = distinct_patterns(
        edges, d, statistic, np.zeros(d) if bias is None else np.array(bias)
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


def binary_log_likelihood(x, edges, statistic="agreement", entries=None):
    """Function of eta (P, r) and a common bias (P,): log-likelihood of the rows of `x` (n, d) in {0, 1}."""
    d = x.shape[1]
    states = (np.arange(2**d)[:, None] >> np.arange(d)) & 1
    f = statistics_of(states, edges, statistic).astype(float)  # (2^d, edges)
    sums, ones = statistics_of(x, edges, statistic).sum(axis=0), x.sum()
    entries = np.arange(len(edges)) if entries is None else np.asarray(entries)

    def log_likelihood(eta, bias):
        here = eta[:, entries]
        scores = here @ f.T + np.outer(bias, states.sum(axis=1))
        return here @ sums + bias * ones - len(x) * log_sum_exp(scores)

    return log_likelihood


def agreement_log_likelihood(x, edges, n_states, *, pseudo=False, weight=0.5):
    """Function of eta (P, r): log (pseudo-)likelihood of the rows of `x` (n, d), `n_states` states."""
    nodes = np.zeros((x.shape[1], n_states))
    return table_log_likelihood(x, edges, np.eye(n_states), nodes, pseudo=pseudo, weight=weight)


def table_log_likelihood(x, edges, statistic, nodes, *, slope=None, pseudo=False, weight=0.5):
    """Function of eta (P, r) and a bias (P,): log (pseudo-)likelihood of the rows of `x` (n, d).

    Cells of -1 are missing: the likelihood is summed over their states.

    Edges have the log tables eta_e times `statistic` (K, K), nodes `nodes` (d, K), -inf where a state is
    impossible, plus the bias times `slope` (K,). In a pseudo-likelihood nodes with edges are given the rest
    to the power of `weight`.
    """
    (d, K), (u, v) = nodes.shape, np.transpose(edges)
    slope = np.zeros(K) if slope is None else slope

    def potentials(z, eta, bias):  # (P, rows)
        values = eta @ statistic[z[:, u], z[:, v]].T + np.multiply.outer(bias, slope[z].sum(axis=1))
        return values + nodes[np.arange(d), z].sum(axis=1)

    states = np.array(list(itertools.product(range(K), repeat=d)))
    states = states[np.isfinite(nodes[np.arange(d), states].sum(axis=1))]
    rows, counts = np.unique(x, axis=0, return_counts=True)

    def log_likelihood(eta, bias):
        of_states = potentials(states, eta, bias)
        total = -len(x) * log_sum_exp(of_states)
        for row, count in zip(rows, counts, strict=True):
            fits = ((row == states) | (row < 0)).all(axis=1)
            total += count * log_sum_exp(of_states[:, fits])
        return total

    where = {tuple(state): k for k, state in enumerate(states)}

    def log_pseudo_likelihood(eta, bias):
        of_states = potentials(states, eta, bias).T  # (states, P)
        total = np.zeros(len(eta))
        for row, count in zip(rows, counts, strict=True):
            for i in range(d):
                power = count * (weight if i in {*u, *v} else 1.0)
                total += power * of_states[where[tuple(row)]]
                moved = [(*row[:i], a, *row[i + 1 :]) for a in range(K)]
                fits = [where[state] for state in moved if state in where]
                total -= power * np.logaddexp.reduce(of_states[fits], axis=0)
        return total

    return log_pseudo_likelihood if pseudo else log_likelihood


def posterior_of(log_likelihood, r, alpha, *, random_bias=False):
    """Exact posterior of theta ~ DP(alpha, Uniform(0, 1)), eta = logit(theta), r <= 4, by brute force.

    `log_likelihood` of eta (P, r) and a bias (P,), which is standard normal or else 0. A product of
    Gauss-Legendre rules over the natural parameters of the groups, six standard deviations about the mode.
    Returns the posterior and E[bias].
    """

    def log_density(v):  # of untied parameters and the bias, (P, r + 1)
        prior = -np.logaddexp(0.0, v[:, :r]).sum(axis=1) - np.logaddexp(0.0, -v[:, :r]).sum(axis=1)
        return log_likelihood(v[:, :r], v[:, r]) + prior - 0.5 * v[:, r] ** 2

    free = r + random_bias

    def pad(v):
        return np.pad(np.atleast_2d(v), ((0, 0), (0, r + 1 - free)))

    mode = minimize(lambda v: -log_density(pad(v))[0], np.zeros(free), method="BFGS").x
    h, eye = 1e-3, np.eye(free)
    hessian = np.empty((free, free))
    for i in range(free):
        for j in range(free):
            signs = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
            values = [log_density(pad(mode + h * (a * eye[i] + b * eye[j])))[0] for a, b in signs]
            hessian[i, j] = -(values[0] - values[1] - values[2] + values[3]) / (4.0 * h * h)
    sd = np.sqrt(np.diag(np.linalg.inv(hessian)))
    low, high = mode - 6.0 * sd, mode + 6.0 * sd

    partitions, logs, means, biases = set_partitions(r), [], [], []
    for labels in partitions:
        members = np.array(labels)
        K = members.max() + 1
        t, w = legendre(({1: 100, 2: 60, 3: 32, 4: 20}, {1: 50, 2: 30, 3: 20, 4: 15})[random_bias][K])
        boxes = [(low[:r][members == k].min(), high[:r][members == k].max()) for k in range(K)]
        boxes += [(low[-1], high[-1])] * random_bias
        axes = [a + 0.5 * (b - a) * (t + 1.0) for a, b in boxes]
        points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(boxes))
        weight = np.ones(1)
        for a, b in boxes:
            weight = np.multiply.outer(weight, 0.5 * (b - a) * w).reshape(-1)
        values = points[:, :K]
        bias = points[:, K] if random_bias else np.zeros(len(points))
        log_f = -np.logaddexp(0.0, values).sum(axis=1) - np.logaddexp(0.0, -values).sum(axis=1)
        log_f += np.log(weight) - 0.5 * bias**2
        for part in np.array_split(np.arange(len(points)), max(len(points) // 100_000, 1)):
            log_f[part] += log_likelihood(values[part][:, members], bias[part])
        top = log_f.max()
        f = np.exp(log_f - top)
        logs.append(np.log(crp_probability(labels, alpha)) + top + np.log(f.sum()))
        means.append((f @ (1.0 / (1.0 + np.exp(-values))) / f.sum())[members])
        biases.append(f @ bias / f.sum())
    logs = np.array(logs)
    weights = np.exp(logs - logs.max())
    log_evidence = float(logs.max() + np.log(weights.sum()))
    weights /= weights.sum()
    n_groups, co_clustering = np.zeros(r + 1), np.zeros((r, r))
    for labels, p in zip(partitions, weights, strict=True):
        n_groups[max(labels) + 1] += p
        co_clustering += p * np.equal.outer(labels, labels)
    found = GroupedPosterior(n_groups, weights @ np.array(means), co_clustering, log_evidence)
    return found, float(weights @ np.array(biases))
