"""Gaussian fields by their covariance, and posteriors over all structures of three nodes, by quadrature."""

import numpy as np
from scipy import stats

from tests.reference.spike_and_slab import structure_posterior_on_grid


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
