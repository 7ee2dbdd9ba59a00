"""Belief propagation in the log domain: Rivasseau (2005, eq. 2.5-2.9, figures 2.6 and 2.7).

Pairwise fields, also with maxima in place of sums (max-product), and factor graphs. Nodes (or factors)
send messages in a given order and then in the reverse order: one iteration. On a forest, with the order
from leaves to roots and no damping, the first iteration is the exact two-pass algorithm; on other graphs
this is loopy belief propagation, which may not converge and whose marginals are approximate when it
does.

Messages are logarithms of probability vectors. What a node sends to one neighbour is built from sums
over the *other* neighbours, never by dividing a message out, so that -inf entries are sound.

In kernels of pairwise fields `edge_tables` (r, K, K) and `node_tables` (d, K) are log tables, and
`messages` (2, r, K) as in `pairwise_passes`; in those of factor graphs `tables` (T,), `messages` (L,
largest cardinality) as in `factor_passes`, and `nu` (largest scope, largest cardinality) is what the
variables of a factor hear from others.

Tree-reweighted messages bound the log-partition function: Wainwright, Jaakkola & Willsky (2005, eq. 39).
"""

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.log_scores import largest_score, log_sum


@jit
def replace(message, new, damping):
    """Normalise `new` (K,), mix it with `message` (K,) in place; the largest change of probability.

    `damping` in [0, 1) is the weight of the old message. NaN if all states are impossible.
    """
    level = log_sum(new)
    if level == -np.inf:
        return np.nan
    for a in range(new.shape[0]):
        new[a] -= level
        if damping > 0.0:
            new[a] = (1.0 - damping) * new[a] + damping * message[a]
    level = log_sum(new)
    change = 0.0
    for a in range(new.shape[0]):
        new[a] -= level
        change = max(change, abs(np.exp(new[a]) - np.exp(message[a])))
        message[a] = new[a]
    # a damped message moves by a fraction only: the residual is what it had to move
    return change / (1.0 - damping)


@jit
def to_probabilities(scores):
    """Exponentiate and normalise `scores` (K,) in place; False if all are -inf."""
    level = log_sum(scores)
    for a in range(scores.shape[0]):
        scores[a] = np.exp(scores[a] - level) if level > -np.inf else 0.0
    return level > -np.inf


@jit
def send_from_node(i, messages, edge_tables, node_tables, graph, maximise, damping, sums, scores):
    """Send the messages of node i to all its neighbours; the largest change, NaN if impossible.

    `sums` (2, largest degree + 1, K) are room for running sums of what came in, before and after a
    neighbour, `scores` (2, K) for one message.
    """
    before, after, new, scores = sums[0], sums[1], scores[0], scores[1]
    first, n = graph.indptr[i], graph.indptr[i + 1] - graph.indptr[i]
    n_states = new.shape[0]
    for a in range(n_states):
        before[0, a], after[n, a] = node_tables[i, a], 0.0
        for k in range(n):
            e = graph.edge_ids[first + k]
            before[k + 1, a] = before[k, a] + messages[1 if graph.edges[e, 0] == i else 0, e, a]
        for k in range(n - 1, -1, -1):
            e = graph.edge_ids[first + k]
            after[k, a] = after[k + 1, a] + messages[1 if graph.edges[e, 0] == i else 0, e, a]
    residual = 0.0
    for k in range(n):
        e = graph.edge_ids[first + k]
        side = 0 if graph.edges[e, 0] == i else 1
        for a in range(n_states):
            for b in range(n_states):
                pair = edge_tables[e, b, a] if side == 0 else edge_tables[e, a, b]
                scores[b] = before[k, b] + after[k + 1, b] + pair
            new[a] = largest_score(scores) if maximise else log_sum(scores)
        change = replace(messages[side, e], new, damping)
        if np.isnan(change):
            return change
        residual = max(residual, change)
    return residual


@jit
def pairwise_passes(
    messages, edge_tables, node_tables, graph, order, maximise, damping, tolerance, max_iterations
):
    """Iterate until no message has to change by more than `tolerance`.

    `messages` (2, r, K): log messages, started from the given values; ``messages[0, e]`` goes from
    edges[e, 0] to edges[e, 1], ``messages[1, e]`` back. `edge_tables` (r, K, K), `node_tables` (d, K)
    and `order` (d,) int. `maximise`: max-product: messages are maxima over the states of the sender, not
    sums. Returns `n_iterations`; `residual`: largest change of a probability in the last iteration; NaN
    if no configuration is possible.
    """
    n_most = 0
    for i in range(order.shape[0]):
        n_most = max(n_most, graph.indptr[i + 1] - graph.indptr[i])
    n_states = node_tables.shape[1]
    sums, scores = np.empty((2, n_most + 1, n_states)), np.empty((2, n_states))
    residual = np.inf
    for iteration in range(max_iterations):
        residual = 0.0
        for k in range(2 * order.shape[0]):
            i = order[k] if k < order.shape[0] else order[2 * order.shape[0] - 1 - k]
            change = send_from_node(
                i, messages, edge_tables, node_tables, graph, maximise, damping, sums, scores
            )
            if np.isnan(change):
                return iteration + 1, change
            residual = max(residual, change)
        if residual <= tolerance:
            return iteration + 1, residual
    return max_iterations, residual


@jit
def pairwise_beliefs(messages, edge_tables, node_tables, graph, nodes, pairs):
    """Marginals of `nodes` (d, K) and edges, `pairs` (r, K, K), that belong to the messages.

    Returns False if a belief excludes all states.
    """
    n_states = nodes.shape[1]
    for a in range(n_states):
        for i in range(nodes.shape[0]):
            nodes[i, a] = node_tables[i, a]
        for e in range(graph.edges.shape[0]):
            nodes[graph.edges[e, 1], a] += messages[0, e, a]
            nodes[graph.edges[e, 0], a] += messages[1, e, a]
    cavity = np.empty((2, n_states))
    for e in range(graph.edges.shape[0]):
        for side in range(2):
            i = graph.edges[e, side]
            for a in range(n_states):
                cavity[side, a] = node_tables[i, a]
                for k in range(graph.indptr[i], graph.indptr[i + 1]):
                    other = graph.edge_ids[k]
                    if other != e:
                        cavity[side, a] += messages[1 if graph.edges[other, 0] == i else 0, other, a]
        for a in range(n_states):
            for b in range(n_states):
                pairs[e, a, b] = cavity[0, a] + cavity[1, b] + edge_tables[e, a, b]
        if not to_probabilities(pairs[e].reshape(n_states * n_states)):
            return False
    for i in range(nodes.shape[0]):
        if not to_probabilities(nodes[i]):
            return False
    return True


@jit
def incoming(messages, links, f, k, nu):
    """Log of what variable `links.variable[k]` hears from factors other than f, into the row `nu` (K,)."""
    i = links.variable[k]
    for a in range(links.cards[i]):
        nu[a] = 0.0
        for l in range(links.variable_ptr[i], links.variable_ptr[i + 1]):
            if links.factor[links.link[l]] != f:
                nu[a] += messages[links.link[l], a]


@jit
def factor_scores(scores, messages, tables, links, f, target, nu):
    """Log table of factor f with the messages of its variables, but that at `target`, into `scores` (cells,).

    `target` is a position in `links.variable`, or -1 for the belief of the factor.
    """
    n = links.table_ptr[f + 1] - links.table_ptr[f]
    for cell in range(n):
        scores[cell] = tables[links.table_ptr[f] + cell]
    for k in range(links.factor_ptr[f], links.factor_ptr[f + 1]):
        if k != target:
            n_states = links.cards[links.variable[k]]
            for cell in range(n):
                scores[cell] += nu[k - links.factor_ptr[f], (cell // links.stride[k]) % n_states]
    return n


@jit
def factor_passes(messages, tables, links, order, damping, tolerance, max_iterations):
    """`pairwise_passes` of a factor graph: factors send to their variables in `order` and back.

    `messages` (L, largest cardinality): log messages from factor to variable, one row per link, started
    from the given values. `tables` (T,): all log tables one after the other. `links` (FactorLinks) and
    `order` (F,) int. Returns `n_iterations`; `residual`: largest change of a probability in the last
    iteration; NaN if no configuration is possible.
    """
    n_most = messages.shape[1]
    n_scope, n_cells = 0, 0
    for f in range(order.shape[0]):
        n_scope = max(n_scope, links.factor_ptr[f + 1] - links.factor_ptr[f])
        n_cells = max(n_cells, links.table_ptr[f + 1] - links.table_ptr[f])
    nu, scores, new = np.empty((n_scope, n_most)), np.empty(n_cells), np.empty(n_most)
    top = np.empty(n_most)
    residual = np.inf
    for iteration in range(max_iterations):
        residual = 0.0
        for step in range(2 * order.shape[0]):
            f = order[step] if step < order.shape[0] else order[2 * order.shape[0] - 1 - step]
            first, last = links.factor_ptr[f], links.factor_ptr[f + 1]
            for k in range(first, last):
                incoming(messages, links, f, k, nu[k - first])
            for k in range(first, last):
                n = factor_scores(scores, messages, tables, links, f, k, nu)
                n_states, stride = links.cards[links.variable[k]], links.stride[k]
                for a in range(n_states):
                    top[a], new[a] = -np.inf, 0.0
                for cell in range(n):
                    a = (cell // stride) % n_states
                    top[a] = max(top[a], scores[cell])
                for cell in range(n):
                    a = (cell // stride) % n_states
                    if top[a] > -np.inf:
                        new[a] += np.exp(scores[cell] - top[a])
                for a in range(n_states):
                    new[a] = np.log(new[a]) + top[a]
                change = replace(messages[k, :n_states], new[:n_states], damping)
                if np.isnan(change):
                    return iteration + 1, change
                residual = max(residual, change)
        if residual <= tolerance:
            return iteration + 1, residual
    return max_iterations, residual


@jit
def factor_beliefs(messages, tables, links, variables, factors):
    """Marginals of `variables` (d, largest cardinality) and `factors` (T,) that belong to the messages.

    Returns False if a belief excludes all states.
    """
    n_scope = 0
    for f in range(links.factor_ptr.shape[0] - 1):
        n_scope = max(n_scope, links.factor_ptr[f + 1] - links.factor_ptr[f])
    nu = np.empty((n_scope, messages.shape[1]))
    for i in range(variables.shape[0]):
        for a in range(variables.shape[1]):
            variables[i, a] = 0.0
            for l in range(links.variable_ptr[i], links.variable_ptr[i + 1]):
                variables[i, a] += messages[links.link[l], a]
        if not to_probabilities(variables[i, : links.cards[i]]):
            return False
    for f in range(links.factor_ptr.shape[0] - 1):
        first, last = links.factor_ptr[f], links.factor_ptr[f + 1]
        for k in range(first, last):
            incoming(messages, links, f, k, nu[k - first])
        out = factors[links.table_ptr[f] : links.table_ptr[f + 1]]
        factor_scores(out, messages, tables, links, f, -1, nu)
        if not to_probabilities(out):
            return False
    return True


@jit
def tree_reweighted_passes(edge_tables, node_tables, edges, ρ, damping, n_passes, messages, beliefs):
    """Update all messages, edge by edge, `n_passes` times.

    `edge_tables` (r, K, K), `node_tables` (d, K) and `edges` (r, 2) int. `ρ` (r,): appearance
    probability of each edge, in (0, 1]. `damping`: weight of the old message in [0, 1). `messages` (2,
    r, K): log messages, started from the given values; ``messages[0, e]`` goes from edges[e, 0] to
    edges[e, 1], ``messages[1, e]`` back. `beliefs` (d, K): overwritten: log node tables plus ρ-weighted
    incoming messages.
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
