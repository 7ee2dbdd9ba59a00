"""Gaussian fields by their covariance, and posteriors over all structures of three nodes, by quadrature."""

import itertools

import numpy as np
from scipy import special, stats

from tests.reference.spike_and_slab import StructurePosterior, structure_posterior_on_grid


def precision(edges, weight, diagonal):
    """K (..., d, d) from weights (..., r) and the diagonal (..., d)."""
    weight, diagonal = np.asarray(weight), np.asarray(diagonal)
    d = diagonal.shape[-1]
    K = np.zeros((*np.broadcast_shapes(weight.shape[:-1], diagonal.shape[:-1]), d, d))
    K += diagonal[..., None] * np.eye(d)
    for e, (u, v) in enumerate(edges):
        K[..., u, v] -= weight[..., e]
        K[..., v, u] -= weight[..., e]
    return K


def log_density(x, K, mean):
    """Log density of every row of `x` (n, d), by scipy, which takes the covariance."""
    return stats.multivariate_normal(mean, np.linalg.inv(K)).logpdf(x)


def log_likelihood_of(deviations, edges):
    """Log-likelihood up to a constant, of parameters (Q, r + d): weights, then the log of the diagonal."""
    n, T = len(deviations), deviations.T @ deviations

    def value(parameters):
        r = len(edges)
        K = precision(edges, parameters[:, :r], np.exp(parameters[:, r:]))
        least = np.linalg.eigvalsh(K)[:, 0]
        sign, log_det = np.linalg.slogdet(K)
        assert (sign[least > 0] > 0).all()
        # outside of the cone nothing, for whoever climbs there from inside
        inside = 0.5 * (n * log_det - np.sum(K * T, axis=(1, 2)))
        return np.where(least > 0, inside, 1e4 * (least - 1.0))

    return value


def fixed_diagonal_posterior(deviations, edges, diagonal, p, log_slab, n_nodes=50):
    """Sum over all 2^r structures, of weights on a grid that covers the cone, the diagonal being known."""
    limits = np.sqrt([diagonal[u] * diagonal[v] for u, v in edges])  # beyond, a pair alone is outside
    value = log_likelihood_of(deviations, edges)
    return structure_posterior_on_grid(value, limits, np.log(diagonal), p, log_slab, n_nodes)


def posterior_in_a_box(log_likelihood, limits, p, log_slab, n_nodes=300):
    """Sum over the structures of two numbers, within `limits` (2,) on either side, beyond which nothing is.

    `log_likelihood` of rows (Q, 2); where it is below -1e3 nothing is either.
    """
    t, weights = np.polynomial.legendre.leggauss(n_nodes)
    log_masses, parts = [], []
    for structure in itertools.product((False, True), repeat=2):
        present = np.flatnonzero(structure)
        index = np.indices((n_nodes,) * len(present)).reshape(len(present), n_nodes ** len(present)).T
        w = np.zeros((len(index), 2))
        w[:, present] = t[index] * np.asarray(limits)[present]
        value = log_likelihood(w)
        value[value < -1e3] = -np.inf
        log_w = np.log(weights)[index].sum(axis=1) + np.log(np.asarray(limits)[present]).sum()
        log_w = log_w + log_slab(w[:, present]).sum(axis=1) + value
        log_masses.append(special.logsumexp(log_w) + len(present) * np.log(p / (1 - p)))
        parts.append((np.array(structure, dtype=float), np.exp(log_w - special.logsumexp(log_w)) @ w))
    q = special.softmax(log_masses)
    inclusion, weight = (sum(q[j] * part[k] for j, part in enumerate(parts)) for k in range(2))
    sizes = np.array([int(part[0].sum()) for part in parts])
    return StructurePosterior(inclusion, weight, np.zeros(0), np.bincount(sizes, q, minlength=3))
