"""Exact answers on small pairwise fields by listing every configuration."""

import itertools

import numpy as np


def configurations(n_nodes, n_states):
    """All K ** d configurations as state indices, (K ** d, d), last node fastest."""
    return np.array(list(itertools.product(range(n_states), repeat=n_nodes)), dtype=np.int64)


def log_potentials(configs, edges, edge_tables, node_tables):
    """Unnormalised log probability of each configuration."""
    total = np.zeros(len(configs))
    for row, z in enumerate(configs):
        for e, (u, v) in enumerate(edges):
            total[row] += edge_tables[e][z[u]][z[v]]
        for i, a in enumerate(z):
            total[row] += node_tables[i][a]
    return total


def log_partition(edges, edge_tables, node_tables):
    """A = log sum over configurations."""
    n_nodes, n_states = node_tables.shape
    scores = log_potentials(configurations(n_nodes, n_states), edges, edge_tables, node_tables)
    top = scores.max()
    return top + np.log(np.exp(scores - top).sum())


def probabilities(edges, edge_tables, node_tables):
    """Probability of each configuration, in the order of `configurations`."""
    n_nodes, n_states = node_tables.shape
    scores = log_potentials(configurations(n_nodes, n_states), edges, edge_tables, node_tables)
    p = np.exp(scores - scores.max())
    return p / p.sum()


def marginals(edges, edge_tables, node_tables):
    """Node marginals (d, K) and edge marginals (r, K, K)."""
    n_nodes, n_states = node_tables.shape
    configs = configurations(n_nodes, n_states)
    p = probabilities(edges, edge_tables, node_tables)
    node = np.zeros((n_nodes, n_states))
    edge = np.zeros((len(edges), n_states, n_states))
    for z, weight in zip(configs, p, strict=True):
        for i, a in enumerate(z):
            node[i, a] += weight
        for e, (u, v) in enumerate(edges):
            edge[e, z[u], z[v]] += weight
    return node, edge


def configuration_index(x, n_states):
    """Row of `configurations` for each row of state indices `x` (n, d)."""
    n_nodes = x.shape[1]
    return x.astype(np.int64) @ (n_states ** np.arange(n_nodes - 1, -1, -1))
