"""Log probability of a group of nodes given all others, by listing the K^g states of the group.

    log p(x_G | x_rest) = S(x_G) - log sum_s S(s),  S(s) = inside(s) + sum_{i in G} outside_i(s_i)

`inside`, the tables of the group's nodes and of the edges between them, is the same for all rows. A row
adds only g vectors, the tables of the edges that leave the group. The first node of the group is
the fastest digit of a state's number. Tables must be finite.
"""

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.vector_sums import LOWEST, exp_negative


@jit
def score_inside(members, place, edge_tables, node_tables, graph, inside):
    """Score of every state of the group `members` (g,) without its surroundings: `inside` (K ** g,).

    `place` (d,), `edge_tables` (r, K, K) and `node_tables` (d, K) as in `group_log_conditional`.
    """
    n_states = node_tables.shape[1]
    size = 1
    inside[0] = 0.0
    for j in range(members.shape[0]):
        i = members[j]
        # the block of state 0 is overwritten last: the others are made from it
        for a in range(n_states - 1, -1, -1):
            for k in range(size):
                value = inside[k] + node_tables[i, a]
                for l in range(graph.indptr[i], graph.indptr[i + 1]):
                    other = place[graph.neighbors[l]]
                    if 0 <= other < j:
                        b = (k // n_states**other) % n_states
                        e = graph.edge_ids[l]
                        if graph.edges[e, 0] == i:
                            value += edge_tables[e, a, b]
                        else:
                            value += edge_tables[e, b, a]
                inside[a * size + k] = value
        size *= n_states


@jit
def group_log_conditional(x, members, place, edge_tables, node_tables, graph, inside, scores, out):
    """Write log p(x_G | x_rest) of every row of `x` into `out`.

    Parameters
    ----------
    x : (n, d) int8 array
        State indices.
    members : (g,) int64 array
        Nodes of the group G, all different.
    place : (d,) int64 array
        Position of a node in `members`; -1 outside the group.
    edge_tables : (r, K, K) array
    node_tables : (d, K) array
    graph : GraphArrays
    inside, scores : (K ** g,) arrays
        Scratch.
    out : (n,) array
    """
    n_states = node_tables.shape[1]
    score_inside(members, place, edge_tables, node_tables, graph, inside)
    outside = np.empty(n_states)
    for c in range(x.shape[0]):
        z = x[c]
        scores[0] = 0.0
        size, observed = 1, 0
        for j in range(members.shape[0]):
            i = members[j]
            outside[:] = 0.0
            for l in range(graph.indptr[i], graph.indptr[i + 1]):
                if place[graph.neighbors[l]] >= 0:
                    continue
                e, b = graph.edge_ids[l], z[graph.neighbors[l]]
                for a in range(n_states):
                    if graph.edges[e, 0] == i:
                        outside[a] += edge_tables[e, a, b]
                    else:
                        outside[a] += edge_tables[e, b, a]
            for a in range(n_states - 1, -1, -1):
                for k in range(size):
                    scores[a * size + k] = scores[k] + outside[a]
            observed += z[i] * size
            size *= n_states
        for k in range(size):
            scores[k] += inside[k]
        top = scores.max()
        of_observed = scores[observed] - top
        for k in range(size):
            scores[k] = exp_negative(max(scores[k] - top, LOWEST))
        out[c] = of_observed - np.log(scores.sum())
