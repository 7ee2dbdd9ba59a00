"""log p(x_G | x_rest) from the joint scores of whole configurations, nothing cancelled beforehand."""

import itertools

import numpy as np

from tests.reference.enumeration import log_potentials


def log_conditional(x, members, edges, edge_tables, node_tables):
    """One value per row of state indices `x` (n, d); `members` are the nodes of the group."""
    n_states = node_tables.shape[1]
    out = np.zeros(len(x))
    for c, z in enumerate(x):
        variants = []
        for states in itertools.product(range(n_states), repeat=len(members)):
            variant = np.array(z, dtype=int)
            variant[list(members)] = states
            variants.append(variant)
        joint = log_potentials([np.array(z, dtype=int), *variants], edges, edge_tables, node_tables)
        out[c] = joint[0] - np.logaddexp.reduce(joint[1:])
    return out
