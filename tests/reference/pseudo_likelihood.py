"""Pseudo-likelihood from joint probabilities of whole configurations: no conditional formula."""

import numpy as np

from tests.reference.enumeration import log_potentials


def log_pseudo_likelihood(x, edges, edge_tables, node_tables):
    """Besag (1975): sum over nodes of log [ p(x) / sum_a p(x with x_i = a) ], one value per row."""
    n_states = node_tables.shape[1]
    out = np.zeros(len(x))
    for c, z in enumerate(x):
        for i in range(len(z)):
            variants = np.tile(np.asarray(z, dtype=int), (n_states, 1))
            variants[:, i] = range(n_states)
            joint = log_potentials(variants, edges, edge_tables, node_tables)
            out[c] += joint[z[i]] - np.logaddexp.reduce(joint)
    return out


def finite_difference(function, arguments, step=1e-6):
    """Central differences of `function` by every entry of `arguments`: (entries, ...)."""
    arguments = np.asarray(arguments, dtype=float)
    rows = []
    for index in np.ndindex(arguments.shape):
        up, down = arguments.copy(), arguments.copy()
        up[index] += step
        down[index] -= step
        rows.append((function(up) - function(down)) / (2 * step))
    return np.array(rows)
