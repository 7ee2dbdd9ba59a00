"""Log pseudo-likelihood of pairwise fields: Besag (1975), with what its estimator needs.

    lpl(x) = sum_i log p(x_i | x_neighbours of i)

Every conditional is a sum over the K states of one node, so the partition function never appears.
As a function of the log tables it is concave. Tables must be finite.
"""

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.gibbs import binary_form, conditional_scores
from pymc_mrf.kernels.log_scores import normalise


@jit
def local_fields(z, weight, bias, graph, h):
    """Log odds of state 1 of every node given the rest of one binary row `z` (d,): `h` (d,)."""
    h[:] = bias
    for e in range(graph.edges.shape[0]):
        u, v = graph.edges[e, 0], graph.edges[e, 1]
        h[u] += weight[e] * z[v]
        h[v] += weight[e] * z[u]


@jit
def log_pseudo_likelihood(x, edge_tables, node_tables, graph, out):
    """Write the log pseudo-likelihood of every row of `x` into `out`.

    Parameters
    ----------
    x : (n, d) int8 array
        State indices.
    edge_tables : (r, K, K) array
    node_tables : (d, K) array
    graph : GraphArrays
    out : (n,) array
    """
    n, d = x.shape
    n_states = node_tables.shape[1]
    if n_states == 2:
        weight, bias = binary_form(edge_tables, node_tables, graph.edges)
        h = np.empty(d)
        for c in range(n):
            local_fields(x[c], weight, bias, graph, h)
            total = 0.0
            for i in range(d):
                s = h[i] if x[c, i] else -h[i]
                total += min(s, 0.0) - np.log1p(np.exp(-abs(s)))
            out[c] = total
        return
    scores = np.empty(n_states)
    for c in range(n):
        total = 0.0
        for i in range(d):
            conditional_scores(scores, x[c], i, edge_tables, node_tables, graph)
            observed = scores[x[c, i]]
            total += observed - normalise(scores)
        out[c] = total


@jit
def log_pseudo_likelihood_gradient(
    x, edge_tables, node_tables, graph, row_weights, grad_edge, grad_node
):
    """Gradient of ``sum_c row_weights[c] * lpl(x[c])`` by the log tables; overwrites the outputs.

    Parameters
    ----------
    x : (n, d) int8 array
    edge_tables : (r, K, K) array
    node_tables : (d, K) array
    graph : GraphArrays
    row_weights : (n,) array
    grad_edge : (r, K, K) array
    grad_node : (d, K) array
    """
    n, d = x.shape
    n_states = node_tables.shape[1]
    grad_edge[:] = 0.0
    grad_node[:] = 0.0
    if n_states == 2:
        weight, bias = binary_form(edge_tables, node_tables, graph.edges)
        residual = np.empty(d)
        for c in range(n):
            local_fields(x[c], weight, bias, graph, residual)
            for i in range(d):
                residual[i] = row_weights[c] * (x[c, i] - 1.0 / (1.0 + np.exp(-residual[i])))
                grad_node[i, 1] += residual[i]
            for e in range(graph.edges.shape[0]):
                u, v = graph.edges[e, 0], graph.edges[e, 1]
                grad_edge[e, 1, 1] += residual[u] * x[c, v] + residual[v] * x[c, u]
        # so far the gradient by weights and biases: pull it back through `binary_form`
        grad_node[:, 0] = -grad_node[:, 1]
        for e in range(graph.edges.shape[0]):
            g_u, g_v = grad_node[graph.edges[e, 0], 1], grad_node[graph.edges[e, 1], 1]
            g = grad_edge[e, 1, 1]
            grad_edge[e, 1, 0] = g_u - g
            grad_edge[e, 0, 1] = g_v - g
            grad_edge[e, 0, 0] = g - g_u - g_v
        return
    scores = np.empty(n_states)
    for c in range(n):
        for i in range(d):
            conditional_scores(scores, x[c], i, edge_tables, node_tables, graph)
            normalise(scores)
            for a in range(n_states):
                scores[a] = row_weights[c] * ((a == x[c, i]) - scores[a])
                grad_node[i, a] += scores[a]
            for k in range(graph.indptr[i], graph.indptr[i + 1]):
                e, b = graph.edge_ids[k], x[c, graph.neighbors[k]]
                for a in range(n_states):
                    if graph.edges[e, 0] == i:
                        grad_edge[e, a, b] += scores[a]
                    else:
                        grad_edge[e, b, a] += scores[a]


@jit
def pseudo_scores_and_information(
    x, labels, edge_statistic, node_statistic, edge_tables, node_tables, graph, scores, information
):
    """Per-row gradients and the summed negative Hessian of lpl by (tied) natural parameters.

    The parameters are G edge parameters, one per label, then one for every node. Both outputs are
    overwritten: the ingredients of the Godambe sandwich (variability and sensitivity).

    Parameters
    ----------
    x : (n, d) int8 array
    labels : (r,) int64 array in 0..G-1
        Edge e has log table ``eta[labels[e]] * edge_statistic``.
    edge_statistic : (K, K) symmetric array
    node_statistic : (K,) array
    edge_tables : (r, K, K) array
    node_tables : (d, K) array
    graph : GraphArrays
    scores : (n, G + d) array
    information : (G + d, G + d) array
    """
    n, d = x.shape
    n_states = node_tables.shape[1]
    n_groups = scores.shape[1] - d
    scores[:] = 0.0
    information[:] = 0.0
    p = np.empty(n_states)
    degree = 0
    for i in range(d):
        degree = max(degree, graph.indptr[i + 1] - graph.indptr[i])
    # t[k, a]: k-th statistic of node i's conditional if x_i = a, centred at its mean
    t = np.empty((degree + 1, n_states))
    column = np.empty(degree + 1, dtype=np.int64)
    for c in range(n):
        for i in range(d):
            conditional_scores(p, x[c], i, edge_tables, node_tables, graph)
            normalise(p)
            size = graph.indptr[i + 1] - graph.indptr[i]
            for k in range(size):
                column[k] = labels[graph.edge_ids[graph.indptr[i] + k]]
                b = x[c, graph.neighbors[graph.indptr[i] + k]]
                for a in range(n_states):
                    t[k, a] = edge_statistic[a, b]
            column[size] = n_groups + i
            t[size] = node_statistic
            for k in range(size + 1):
                mean = 0.0
                for a in range(n_states):
                    mean += p[a] * t[k, a]
                for a in range(n_states):
                    t[k, a] -= mean
                scores[c, column[k]] += t[k, x[c, i]]
            for k in range(size + 1):
                for l in range(size + 1):
                    covariance = 0.0
                    for a in range(n_states):
                        covariance += p[a] * t[k, a] * t[l, a]
                    information[column[k], column[l]] += covariance
