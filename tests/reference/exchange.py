"""Posterior of one coupling by quadrature, and the exchange acceptance probability by enumeration."""

import itertools

import numpy as np

from tests.reference.enumeration import configurations, log_partition, log_potentials

ISING = np.array([[1.0, -1.0], [-1.0, 1.0]])


def ising_tables(coupling, field, n_edges, n_nodes):
    """Log tables of an Ising model; scalars or vectors; state indices 0, 1 stand for -1, +1."""
    coupling, field = np.broadcast_to(coupling, n_edges), np.broadcast_to(field, n_nodes)
    return (
        np.array([J * ISING for J in coupling]).reshape(n_edges, 2, 2),
        np.array([[-h, h] for h in field]),
    )


def log_likelihood(x, edges, edge_tables, node_tables):
    """Log probability of all rows of `x` (n, d) state indices."""
    energies = log_potentials(x, edges, edge_tables, node_tables)
    return energies.sum() - len(x) * log_partition(edges, edge_tables, node_tables)


def quadrature(log_density, grid):
    """Mean and standard deviation of a one-dimensional density, by sums over a fine grid."""
    values = np.array([log_density(v) for v in grid])
    p = np.exp(values - values.max())
    p /= p.sum()
    mean = p @ grid
    return mean, np.sqrt(p @ (grid - mean) ** 2)


def acceptance(x, edges, old, new, log_prior_ratio):
    """Probability that exchange accepts `new` from `old`, over all data sets of as many rows as `x`.

    `old` and `new` are pairs of log tables; `log_prior_ratio` is that of new over old.
    """
    n, d = x.shape
    configs = configurations(d, 2)
    e_old, e_new = log_potentials(configs, edges, *old), log_potentials(configs, edges, *new)
    x_old, x_new = log_potentials(x, edges, *old).sum(), log_potentials(x, edges, *new).sum()
    a_new = log_partition(edges, *new)
    total = 0.0
    for rows in itertools.product(range(len(configs)), repeat=n):
        z_old, z_new = e_old[list(rows)].sum(), e_new[list(rows)].sum()
        log_ratio = log_prior_ratio + x_new - x_old + z_old - z_new
        total += np.exp(z_new - n * a_new) * min(1.0, np.exp(log_ratio))
    return total
