"""Tree-reweighted message passing: Wainwright, Jaakkola & Willsky (2005, eq. 39)."""

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.log_scores import log_sum


@jit
def tree_reweighted_passes(edge_tables, node_tables, edges, ρ, damping, n_passes, messages, beliefs):
    """Update all messages, edge by edge, `n_passes` times.

    Parameters
    ----------
    edge_tables : (r, K, K) array
    node_tables : (d, K) array
    edges : (r, 2) int array
    ρ : (r,) array
        Appearance probability of each edge, in (0, 1].
    damping : float
        Weight of the old message in [0, 1).
    n_passes : int
    messages : (2, r, K) array
        Log messages, started from the given values; ``messages[0, e]`` goes from edges[e, 0] to
        edges[e, 1], ``messages[1, e]`` back.
    beliefs : (d, K) array
        Overwritten: log node tables plus ρ-weighted incoming messages.
    """
    n_states = node_tables.shape[1]
    beliefs[:] = node_tables
    for e in range(edges.shape[0]):
        for a in range(n_states):
            beliefs[edges[e, 1], a] += ρ[e] * messages[0, e, a]
            beliefs[edges[e, 0], a] += ρ[e] * messages[1, e, a]
    new, scores = np.empty(n_states), np.empty(n_states)
    for _ in range(n_passes):
        for e in range(edges.shape[0]):
            for flipped in range(2):
                sender, receiver = edges[e, flipped], edges[e, 1 - flipped]
                for a in range(n_states):
                    for b in range(n_states):
                        pair = edge_tables[e, a, b] if flipped else edge_tables[e, b, a]
                        # the message in the opposite direction is divided out of the sender's belief
                        scores[b] = pair / ρ[e] + beliefs[sender, b] - messages[1 - flipped, e, b]
                    new[a] = log_sum(scores)
                level = new.max()
                for a in range(n_states):
                    old = messages[flipped, e, a]
                    step = (1.0 - damping) * (new[a] - level - old)
                    messages[flipped, e, a] = old + step
                    beliefs[receiver, a] += ρ[e] * step
