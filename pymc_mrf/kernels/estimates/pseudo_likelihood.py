"""Log pseudo-likelihood of pairwise fields, Besag (1975), and log probability of a group of nodes.

    lpl(x) = sum_i log p(x_i | x_neighbours of i)

Every conditional is a sum over the K states of one node, so the partition function never appears. As a
function of the log tables it is concave. Tables of edges must be finite.

In all kernels the data are `x` (n, d), with `row_weights` (n,), and log tables `edge_tables` (r, K, K)
and `node_tables` (d, K); gradients by them are `grad_edge` (r, K, K) and `grad_node` (d, K).

The group has K^g states, which are listed:

    log p(x_G | x_rest) = S(x_G) - log sum_s S(s),  S(s) = inside(s) + sum_{i in G} outside_i(s_i)

`inside`, the tables of the group's nodes and of the edges between them, is the same for all rows. A row
adds only g vectors, the tables of the edges that leave the group. The first node of the group is the
fastest digit of a state's number.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit, part
from pymc_mrf.kernels.log_scores import normalise
from pymc_mrf.kernels.simulation.cell_blocks import joint_scores
from pymc_mrf.kernels.simulation.gibbs import add_edge, binary_form, conditional_scores
from pymc_mrf.kernels.vector_sums import LOWEST, dot, exp_negative, pair_dot

LANES = 128  # rows side by side, for vector instructions
_FLUSH = 512  # factors of at most 2 whose product is no larger than 2^512


@jit
def local_fields(x, first, weight, bias, graph, T, H):
    """Log odds of state 1 of every node given the rest, of the next rows of `x`, side by side.

    `x` (n, d) int8: binary rows. `first`: the first row. `weight` (r,) and `bias` (d,). `T` (d, L):
    overwritten by the states of L rows; zeros where there are no more. `H` (d, L): overwritten by their
    log odds.
    """
    d, lanes = T.shape
    size = min(lanes, x.shape[0] - first)
    for i in range(d):
        for k in range(lanes):
            T[i, k] = x[first + k, i] if k < size else 0.0
            H[i, k] = bias[i]
    for e in range(graph.edges.shape[0]):
        u, v = graph.edges[e, 0], graph.edges[e, 1]
        if lanes == 1:  # a loop would take longer than what is in it
            H[u, 0] += weight[e] * T[v, 0]
            H[v, 0] += weight[e] * T[u, 0]
            continue
        for k in range(lanes):
            H[u, k] += weight[e] * T[v, k]
            H[v, k] += weight[e] * T[u, k]


@jit
def log_conditionals(T, H, value, factor):
    """Sum log p(x_i | rest) over the nodes, and turn log odds into probabilities of state 1.

    `T` (d, L): states of L rows. `H` (d, L): log odds; overwritten. `value` (L,): overwritten by the
    sums. `factor` (L,): scratch: one logarithm of a product serves many nodes.
    """
    value[:] = 0.0
    factor[:] = 1.0
    for i in range(T.shape[0]):
        for k in range(T.shape[1]):
            s = H[i, k] if T[i, k] > 0.0 else -H[i, k]
            e = exp_negative(max(-abs(s), LOWEST))
            value[k] += min(s, 0.0)
            factor[k] *= 1.0 + e
            H[i, k] = (1.0 if H[i, k] > 0.0 else e) / (1.0 + e)
        if i % _FLUSH == _FLUSH - 1:
            value -= np.log(factor)
            factor[:] = 1.0
    value -= np.log(factor)


@part
def log_conditional(p, z, i, edge_tables, node_tables, graph):
    """Log probability of the state of node i given the rest of `z` (d,); those of all go into `p` (K,)."""
    conditional_scores(p, z, i, edge_tables, node_tables, graph)
    own = p[z[i]]
    return own - normalise(p)


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
        lanes = min(n, LANES)
        T, H = np.empty((d, lanes)), np.empty((d, lanes))
        value, factor = np.empty(lanes), np.empty(lanes)
        for first in range(0, n, LANES):
            local_fields(x, first, weight, bias, graph, T, H)
            log_conditionals(T, H, value, factor)
            for k in range(min(lanes, n - first)):
                out[first + k] = value[k]
        return
    p = np.empty(n_states)
    for c in range(n):
        out[c] = 0.0
        for i in range(d):
            out[c] += log_conditional(p, x[c], i, edge_tables, node_tables, graph)


@jit
def binary_gradient(x, edge_tables, node_tables, graph, row_weights, grad_edge, grad_node):
    """Do what `log_pseudo_likelihood_gradient` does, for two states."""
    n, d = x.shape
    grad_edge[:] = 0.0
    grad_node[:] = 0.0
    lpl = 0.0
    weight, bias = binary_form(edge_tables, node_tables, graph.edges)
    lanes = min(n, LANES)
    T, R = np.empty((d, lanes)), np.empty((d, lanes))
    value, factor, rows = np.empty(lanes), np.empty(lanes), np.zeros(lanes)
    for first in range(0, n, LANES):
        local_fields(x, first, weight, bias, graph, T, R)
        log_conditionals(T, R, value, factor)
        for k in range(lanes):  # lanes without a row count nothing
            rows[k] = row_weights[first + k] if first + k < n else 0.0
        lpl += dot(rows, value)
        for i in range(d):
            for k in range(lanes):
                R[i, k] = rows[k] * (T[i, k] - R[i, k])
                grad_node[i, 1] += R[i, k]
        for e in range(graph.edges.shape[0]):
            u, v = graph.edges[e, 0], graph.edges[e, 1]
            if lanes == 1:
                grad_edge[e, 1, 1] += R[u, 0] * T[v, 0] + R[v, 0] * T[u, 0]
            else:
                grad_edge[e, 1, 1] += pair_dot(R[u], T[v], R[v], T[u])
    # so far the gradient by weights and biases: pull it back through `binary_form`
    for i in range(d):
        grad_node[i, 0] = -grad_node[i, 1]
    for e in range(graph.edges.shape[0]):
        g_u, g_v = grad_node[graph.edges[e, 0], 1], grad_node[graph.edges[e, 1], 1]
        g = grad_edge[e, 1, 1]
        grad_edge[e, 1, 0] = g_u - g
        grad_edge[e, 0, 1] = g_v - g
        grad_edge[e, 0, 0] = g - g_u - g_v
    return lpl


@jit
def states_gradient(x, edge_tables, node_tables, graph, row_weights, grad_edge, grad_node):
    """Do what `log_pseudo_likelihood_gradient` does, for any number of states."""
    n, d = x.shape
    n_states = node_tables.shape[1]
    grad_edge[:] = 0.0
    grad_node[:] = 0.0
    lpl = 0.0
    p = np.empty(n_states)
    for c in range(n):
        for i in range(d):
            lpl += row_weights[c] * log_conditional(p, x[c], i, edge_tables, node_tables, graph)
            for a in range(n_states):
                p[a] = row_weights[c] * ((a == x[c, i]) - p[a])
                grad_node[i, a] += p[a]
            for k in range(graph.indptr[i], graph.indptr[i + 1]):
                e, b = graph.edge_ids[k], x[c, graph.neighbors[k]]
                for a in range(n_states):
                    if graph.edges[e, 0] == i:
                        grad_edge[e, a, b] += p[a]
                    else:
                        grad_edge[e, b, a] += p[a]
    return lpl


@jit
def log_pseudo_likelihood_gradient(
    x, edge_tables, node_tables, graph, row_weights, grad_edge, grad_node
):
    """Return ``sum_c row_weights[c] * lpl(x[c])`` and write its gradient by the log tables.

    `x` (n, d) int8, `edge_tables` (r, K, K), `node_tables` (d, K) and `row_weights` (n,). `grad_edge`
    (r, K, K): overwritten. `grad_node` (d, K): overwritten.
    """
    if node_tables.shape[1] == 2:
        return binary_gradient(x, edge_tables, node_tables, graph, row_weights, grad_edge, grad_node)
    return states_gradient(x, edge_tables, node_tables, graph, row_weights, grad_edge, grad_node)


class Statistics(NamedTuple):
    """What each of p natural parameters multiplies.

    `labels` (r,) int64: edge e has log table ``parameters[labels[e]] * edge_statistic``.
    `edge_statistic` (K, K) symmetric. `columns` (d, q) int64: which parameters are the q numbers of each
    node, -1 for none. `node_basis` (q, K): log tables of these numbers.
    """

    labels: np.ndarray
    edge_statistic: np.ndarray
    columns: np.ndarray
    node_basis: np.ndarray


@jit
def pseudo_scores_and_information(
    x, counts, statistics, edge_tables, node_tables, graph, scores, information
):
    """Per-row gradients and the negative Hessian of the summed lpl by (tied) natural parameters.

    Both outputs are overwritten: the ingredients of the Godambe sandwich (variability and sensitivity).

    `x` (n, d) int8. `counts` (n,): how often each row was observed; its gradient is that of one.
    `statistics` (Statistics), `edge_tables` (r, K, K), `node_tables` (d, K), `scores` (n, p) and
    `information` (p, p).
    """
    n, d = x.shape
    n_states, q = node_tables.shape[1], statistics.columns.shape[1]
    scores[:] = 0.0
    information[:] = 0.0
    p = np.empty(n_states)
    degree = 0
    for i in range(d):
        degree = max(degree, graph.indptr[i + 1] - graph.indptr[i])
    # t[k, a]: k-th statistic of node i's conditional if x_i = a, centred at its mean
    t = np.empty((degree + q, n_states))
    column = np.empty(degree + q, dtype=np.int64)
    for c in range(n):
        for i in range(d):
            log_conditional(p, x[c], i, edge_tables, node_tables, graph)
            size = graph.indptr[i + 1] - graph.indptr[i]
            for k in range(size):
                column[k] = statistics.labels[graph.edge_ids[graph.indptr[i] + k]]
                b = x[c, graph.neighbors[graph.indptr[i] + k]]
                for a in range(n_states):
                    t[k, a] = statistics.edge_statistic[a, b]
            for k in range(q):
                if statistics.columns[i, k] >= 0:
                    column[size] = statistics.columns[i, k]
                    t[size] = statistics.node_basis[k]
                    size += 1
            for k in range(size):
                mean = 0.0
                for a in range(n_states):
                    mean += p[a] * t[k, a]
                for a in range(n_states):
                    t[k, a] -= mean
                scores[c, column[k]] += t[k, x[c, i]]
            for k in range(size):
                for l in range(size):
                    covariance = 0.0
                    for a in range(n_states):
                        covariance += p[a] * t[k, a] * t[l, a]
                    information[column[k], column[l]] += counts[c] * covariance


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
