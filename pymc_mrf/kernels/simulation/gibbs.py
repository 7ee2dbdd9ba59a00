"""Single-site Gibbs sampling of pairwise fields, many chains of one field at once.

One sweep visits the nodes colour class by colour class (chromatic order) and redraws each from its
full conditional (Geman & Geman, 1984). The field's distribution is left invariant; how many sweeps
a chain started elsewhere needs is the caller's concern.

The field has log tables `edge_tables` (r, K, K) and `node_tables` (d, K), and `edges` (r, 2).
"""

import numpy as np

from pymc_mrf.kernels._jit import jit, part
from pymc_mrf.kernels.log_scores import draw_state


@jit
def binary_form(edge_tables, node_tables, edges):
    """Weights (r,) and biases (d,) of the {0, 1} Boltzmann machine equal to the binary field.

    `edge_tables` (r, 2, 2), `node_tables` (d, 2), `edges` (r, 2). The constant term is dropped.
    """
    weight = np.empty(edges.shape[0])
    bias = node_tables[:, 1] - node_tables[:, 0]
    for e in range(edges.shape[0]):
        t = edge_tables[e]
        bias[edges[e, 0]] += t[1, 0] - t[0, 0]
        bias[edges[e, 1]] += t[0, 1] - t[0, 0]
        weight[e] = t[1, 1] - t[1, 0] - t[0, 1] + t[0, 0]
    return weight, bias


@part
def add_edge(scores, i, k, b, edge_tables, graph):
    """Add to `scores` (K,) of node i what its neighbour at place k of the graph says in state b."""
    e = graph.edge_ids[k]
    if graph.edges[e, 0] == i:
        for a in range(scores.shape[0]):
            scores[a] += edge_tables[e, a, b]
    else:
        for a in range(scores.shape[0]):
            scores[a] += edge_tables[e, b, a]


@jit
def conditional_scores(scores, z, i, edge_tables, node_tables, graph):
    """Log conditional of node i given the rest of `z` (d,), up to a constant, into `scores` (K,)."""
    for a in range(scores.shape[0]):
        scores[a] = node_tables[i, a]
    for k in range(graph.indptr[i], graph.indptr[i + 1]):
        add_edge(scores, i, k, z[graph.neighbors[k]], edge_tables, graph)


@jit
def gibbs_sweeps(x, edge_tables, node_tables, graph, n_sweeps, rng):
    """Move every row of `x` by `n_sweeps` sweeps of the field with these log tables, in place.

    `x` (m, d) int8: state indices; one chain per row. `edge_tables` (r, K, K) and `node_tables` (d, K).
    """
    scores = np.empty(node_tables.shape[1])
    for c in range(x.shape[0]):
        z = x[c]
        for _ in range(n_sweeps):
            for i in graph.order:
                conditional_scores(scores, z, i, edge_tables, node_tables, graph)
                z[i] = draw_state(scores, rng)


@jit
def uniform_states(x, n_states, rng):
    """Fill `x` (m, d) int8 with independent uniform state indices: a start for chains."""
    for c in range(x.shape[0]):
        for i in range(x.shape[1]):
            x[c, i] = int(rng.random() * n_states)


@jit
def edge_statistics(x, edges, edge_statistic, out):
    """Sum f, `edge_statistic` (K, K), over the rows of `x` (m, d), per edge, into `out` (r,)."""
    out[:] = 0.0
    for c in range(x.shape[0]):
        for e in range(edges.shape[0]):
            out[e] += edge_statistic[x[c, edges[e, 0]], x[c, edges[e, 1]]]
