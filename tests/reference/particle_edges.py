"""Weighted particles of a field in plain Python: complete log potentials, one particle at a time."""

import itertools
import math

import numpy as np


def log_potential(states, edges, w, b, family):
    """Log of the unnormalised probability of state indices (d,); biases `b` are (d q,)."""
    G, q = family.node_basis, len(family.node_basis)
    if not family.possible(len(states))[range(len(states)), states].all():
        return -math.inf
    value = sum(b[i * q + k] * G[k][a] for i, a in enumerate(states) for k in range(q))
    for x, ends in zip(w, edges, strict=True):
        [statistic] = family.edge_statistics(np.array([ends])).reshape(-1, *(family.n_states,) * 2)
        value += x * statistic[states[ends[0]]][states[ends[1]]]
    return value


def conditionals(z, edges, w, b, family):
    """Probabilities (d, K, m) of the states of every node given the others, by columns of `z` (d, m)."""
    found = []
    for i in range(len(z)):
        columns = []
        for states in zip(*z, strict=True):
            each = [[*states[:i], a, *states[i + 1 :]] for a in range(family.n_states)]
            p = [math.exp(log_potential(s, edges, w, b, family)) for s in each]
            columns.append([value / sum(p) for value in p])
        found.append(list(zip(*columns, strict=True)))
    return found


def pair_states(states, u, v, n_states):
    """The configurations that differ at u and v only."""
    found = []
    for a, c in itertools.product(range(n_states), repeat=2):
        other = list(states)
        other[u], other[v] = a, c
        found.append(other)
    return found


def change(x, e, edges, w, b, field):
    """Parameters with the value x on edge e, biases shifted so that the centred ones stay."""
    M, q = field.features.shape[1], len(field.basis)
    new_w, new_b = list(w), list(b)
    new_w[e] = x
    for end, u in enumerate(edges[e]):
        for k in range(q):
            step = sum(field.lift[u * q + k][l] * field.centre[e][1 - end][l] for l in range(M))
            new_b[u * q + k] -= (x - w[e]) * step
    return new_w, new_b


def pair_probabilities(z, W, e, edges, w, b, field, family):
    """P(states of both ends of e) without that edge: conditionals given the rest, importance-weighted."""
    bare = change(0.0, e, edges, w, b, field)
    total = [0.0] * family.n_states**2
    for states, weight in zip(zip(*z, strict=True), W, strict=True):
        configs = pair_states(states, *edges[e], family.n_states)
        with_edge = [math.exp(log_potential(s, edges, w, b, family)) for s in configs]
        without = [math.exp(log_potential(s, edges, *bare, family)) for s in configs]
        for k, value in enumerate(without):
            total[k] += weight * value / sum(with_edge)
    return [value / sum(total) for value in total]


def changed_weights(z, W, x, e, edges, w, b, field, family):
    """Weights, of mean 1, after edge e has taken the value x: the pair summed out in both fields."""
    new = change(x, e, edges, w, b, field)
    ratios = []
    for states in zip(*z, strict=True):
        configs = pair_states(states, *edges[e], family.n_states)
        before = sum(math.exp(log_potential(s, edges, w, b, family)) for s in configs)
        after = sum(math.exp(log_potential(s, edges, *new, family)) for s in configs)
        ratios.append(after / before)
    scaled = [weight * ratio for weight, ratio in zip(W, ratios, strict=True)]
    return [value * len(scaled) / sum(scaled) for value in scaled]
