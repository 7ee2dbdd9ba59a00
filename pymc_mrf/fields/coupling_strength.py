"""How strong the couplings of a field are, in one number."""

from itertools import combinations

import numpy as np

STRONG_INFLUENCE = 1.0
"""Radius from which correlations need not decay, and the pseudo-likelihood is no substitute."""

POWER_STEPS = 200


def influence_radius(edges: np.ndarray, edge_tables: np.ndarray, n_nodes: int) -> float:
    """Spectral radius of the matrix of influences between neighbours; below 1, couplings are weak.

    The influence of a node on another is at most tanh(D / 4), D the largest log odds ratio in the table of
    their edge; it is tanh |J| in an Ising model. Below 1 correlations decay and Gibbs sampling mixes fast
    (Dobrushin, 1968; Hayes, 2006).

    Parameters
    ----------
    edges : (r, 2) integer array
    edge_tables : (r, K, K) array
        Log tables.
    n_nodes : int
    """
    D = np.zeros(len(edges))
    for k, l in combinations(range(edge_tables.shape[1]), 2):
        np.maximum(D, np.ptp(edge_tables[:, k] - edge_tables[:, l], axis=1), out=D)
    influence = np.tanh(D / 4.0)
    u, v = edges.T
    x = np.ones(n_nodes)
    radius = 0.0
    for _ in range(POWER_STEPS):
        # of the matrix plus one: without it, bipartite graphs have two eigenvalues of one size
        y = x + np.bincount(u, influence * x[v], n_nodes) + np.bincount(v, influence * x[u], n_nodes)
        radius = float(np.linalg.norm(y) / np.linalg.norm(x)) - 1.0
        x = y / np.linalg.norm(y)
    return radius
