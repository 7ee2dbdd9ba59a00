"""Tables of small fields and the transition matrices of their sweeps."""

import numpy as np

from tests.reference import enumeration


def random_tables(graph, n_states, rng):
    edge = rng.normal(size=(graph.n_edges, n_states, n_states))
    return edge, rng.normal(size=(graph.n_nodes, n_states))


def sweep_matrix(graph, edge_tables, node_tables):
    """Transition matrix of one chromatic sweep, by enumeration."""
    n_states = node_tables.shape[1]
    configs = enumeration.configurations(graph.n_nodes, n_states)
    p = enumeration.probabilities(graph.edges, edge_tables, node_tables)
    matrix = np.eye(len(configs))
    for i in graph.arrays.order:
        step = np.zeros_like(matrix)
        for a, z in enumerate(configs):
            same = np.all(np.delete(configs, i, axis=1) == np.delete(z, i), axis=1)
            step[a, same] = p[same] / p[same].sum()
        matrix = matrix @ step
    return matrix, p
