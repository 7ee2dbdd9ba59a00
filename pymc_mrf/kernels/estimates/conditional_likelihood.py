"""Log probability of a group of nodes given all others, by listing the K^g states of the group.

    log p(x_G | x_rest) = S(x_G) - log sum_s S(s),  S(s) = inside(s) + sum_{i in G} outside_i(s_i)

`inside`, the tables of the group's nodes and of the edges between them, is the same for all rows. A row
adds only g vectors, the tables of the edges that leave the group. The first node of the group is
the fastest digit of a state's number. Tables must be finite.
"""

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.simulation.cell_blocks import joint_scores
from pymc_mrf.kernels.simulation.gibbs import add_edge
from pymc_mrf.kernels.vector_sums import LOWEST, exp_negative


@jit
def group_log_conditional(x, members, place, edge_tables, node_tables, graph, inside, scores, out):
    """Write log p(x_G | x_rest) of every row of `x` into `out`.

    `x` (n, d) int8: state indices. `members` (g,) int64: nodes of the group G, all different. `place`
    (d,) int64: position of a node in `members`; -1 outside the group. `edge_tables` (r, K, K) and
    `node_tables` (d, K). `inside` and `scores` (K ** g,): scratch. `out` (n,).
    """
    n_states = node_tables.shape[1]
    own = np.empty((members.shape[0], n_states))
    for j in range(members.shape[0]):
        own[j] = node_tables[members[j]]
    joint_scores(own, members, place, edge_tables, graph, inside)
    outside = np.empty(n_states)
    for c in range(x.shape[0]):
        z = x[c]
        scores[0] = 0.0
        size, observed = 1, 0
        for j in range(members.shape[0]):
            i = members[j]
            outside[:] = 0.0
            for l in range(graph.indptr[i], graph.indptr[i + 1]):
                if place[graph.neighbors[l]] < 0:
                    add_edge(outside, i, l, z[graph.neighbors[l]], edge_tables, graph)
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
