"""Exact answers on small pairwise fields by listing every configuration."""

import numpy as np


def configurations(n_nodes, n_states):
    """All K ** d configurations as state indices, (K ** d, d), last node fastest."""
    return np.indices((n_states,) * n_nodes, dtype=np.int64).reshape(n_nodes, -1).T.copy()


def log_potentials(configs, edges, edge_tables, node_tables):
    """Unnormalised log probability of each configuration."""
    states, total = np.asarray(configs, dtype=np.int64).T, np.zeros(len(configs))
    for table, (u, v) in zip(edge_tables, edges, strict=True):
        total += np.asarray(table)[states[u], states[v]]
    for table, a in zip(node_tables, states, strict=True):
        total += np.asarray(table)[a]
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
    states = configurations(n_nodes, n_states).T
    p = probabilities(edges, edge_tables, node_tables)
    node = np.zeros((n_nodes, n_states))
    edge = np.zeros((len(edges), n_states, n_states))
    for i, a in enumerate(states):
        np.add.at(node[i], a, p)
    for e, (u, v) in enumerate(edges):
        np.add.at(edge[e], (states[u], states[v]), p)
    return node, edge


def configuration_index(x, n_states):
    """Row of `configurations` for each row of state indices `x` (n, d)."""
    n_nodes = x.shape[1]
    return x.astype(np.int64) @ (n_states ** np.arange(n_nodes - 1, -1, -1))
