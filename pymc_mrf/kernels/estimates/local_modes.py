"""Modes of pairwise fields: decoded max-product messages, and iterated conditional modes (Besag, 1986)."""

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.simulation.gibbs import add_edge, conditional_scores

NEGLIGIBLE = 1e-12
"""Relative gain that may be rounding; without it two equal states could take turns for ever."""


@jit
def decode(z, messages, edge_tables, node_tables, graph, order):
    """Give each node in turn its best state, from the states of earlier and the messages of later nodes.

    On a forest, with converged max-product messages and roots first, this is a mode even where several
    configurations are most probable.

    Parameters
    ----------
    z : (d,) int8 array
        Overwritten.
    messages : (2, r, K) array
        As in `pymc_mrf.kernels.estimates.belief_propagation.pairwise_passes`.
    edge_tables : (r, K, K) array
    node_tables : (d, K) array
    graph : GraphArrays
    order : (d,) int array
    """
    z[:] = -1
    scores = np.empty(node_tables.shape[1])
    for i in order:
        scores[:] = node_tables[i]
        for k in range(graph.indptr[i], graph.indptr[i + 1]):
            e, b = graph.edge_ids[k], z[graph.neighbors[k]]
            if b < 0:
                scores += messages[1 if graph.edges[e, 0] == i else 0, e]
            else:
                add_edge(scores, i, k, b, edge_tables, graph)
        z[i] = np.argmax(scores)


@jit
def iterated_conditional_modes(z, edge_tables, node_tables, graph):
    """Give each node of `z` (d,) int8 its best state given the others, in place, until none changes.

    The field has log tables `edge_tables` (r, K, K) and `node_tables` (d, K).
    """
    scores = np.empty(node_tables.shape[1])
    changes = True
    while changes:
        changes = False
        for i in range(z.shape[0]):
            conditional_scores(scores, z, i, edge_tables, node_tables, graph)
            best, now = np.argmax(scores), scores[z[i]]
            if now == -np.inf:
                improves = scores[best] > now
            else:
                improves = scores[best] - now > NEGLIGIBLE * (1.0 + abs(now))
            if improves:
                z[i] = best
                changes = True
