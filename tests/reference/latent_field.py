"""Posteriors of hidden fields by listing every configuration, in plain Python."""

import numpy as np
from scipy.stats import multivariate_normal

from tests.reference.enumeration import configurations, log_potentials


def posterior(edges, edge_tables, node_tables, log_likelihood):
    """Configurations (K ** d, d) and their probabilities given data; `log_likelihood` takes one (d,)."""
    configs = configurations(*node_tables.shape)
    scores = log_potentials(configs, edges, edge_tables, node_tables)
    scores += [log_likelihood(z) for z in configs]
    p = np.exp(scores - scores.max())
    return configs, p / p.sum()


def normal(y, mean, sd):
    """Sum of log N(y; mean, sd ** 2)."""
    return np.sum(-0.5 * ((y - mean) / sd) ** 2 - np.log(sd))


def unknown_means(y, z, prior_means, prior_sd, sd):
    """Log density of y_i ~ N(mu[z_i], sd ** 2), mu_k ~ N(prior_means[k], prior_sd ** 2) integrated out."""
    total = 0.0
    for k, mean in enumerate(prior_means):
        mine = y[z == k]
        if len(mine):
            covariance = sd**2 * np.eye(len(mine)) + prior_sd**2
            total += multivariate_normal.logpdf(mine, np.full(len(mine), mean), covariance)
    return total


def node_marginals(configs, p, n_states):
    """P(x_i = k), (d, K)."""
    return np.array([p @ (configs == k) for k in range(n_states)]).T


def agreements(configs, p, edges):
    """P(x_u = x_v) for each edge, (r,)."""
    return np.array([p @ (configs[:, u] == configs[:, v]) for u, v in edges])
