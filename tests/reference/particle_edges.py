"""Weighted particles of a binary field in plain Python: complete log potentials, one particle at a time."""

import itertools
import math


def log_potential(states, edges, w, b, y):
    """Log of the unnormalised probability of state indices (d,), state values y."""
    value = sum(b[i] * y[a] for i, a in enumerate(states))
    return value + sum(x * y[states[u]] * y[states[v]] for x, (u, v) in zip(w, edges, strict=True))


def local_fields(z, edges, w, b, y):
    """Log odds of the second state of every node given the others, for every column of `z` (d, m)."""
    rows = []
    for i in range(len(z)):
        row = []
        for states in zip(*z, strict=True):
            ends = [[*states[:i], a, *states[i + 1 :]] for a in (0, 1)]
            low, high = (log_potential(s, edges, w, b, y) for s in ends)
            row.append(high - low)
        rows.append(row)
    return rows


def pair_states(states, u, v):
    """The four configurations that differ at u and v only."""
    found = []
    for a, c in itertools.product((0, 1), repeat=2):
        other = list(states)
        other[u], other[v] = a, c
        found.append(other)
    return found


def change(x, e, edges, w, b, m):
    """Parameters with the value x on edge e, biases shifted so that b_i + sum_j w_ij m_j stay."""
    u, v = edges[e]
    new_w, new_b = list(w), list(b)
    new_w[e] = x
    new_b[u] -= (x - w[e]) * m[v]
    new_b[v] -= (x - w[e]) * m[u]
    return new_w, new_b


def pair_probabilities(z, W, e, edges, w, b, m, y):
    """P(states of both ends of e) without that edge: conditionals given the rest, importance-weighted."""
    bare = change(0.0, e, edges, w, b, m)
    total = [0.0] * 4
    for states, weight in zip(zip(*z, strict=True), W, strict=True):
        configs = pair_states(states, *edges[e])
        with_edge = [math.exp(log_potential(s, edges, w, b, y)) for s in configs]
        without = [math.exp(log_potential(s, edges, *bare, y)) for s in configs]
        for k in range(4):
            total[k] += weight * without[k] / sum(with_edge)
    return [value / sum(total) for value in total]


def changed_weights(z, W, x, e, edges, w, b, m, y):
    """Weights, of mean 1, after edge e has taken the value x: the pair summed out in both fields."""
    new = change(x, e, edges, w, b, m)
    ratios = []
    for states in zip(*z, strict=True):
        configs = pair_states(states, *edges[e])
        before = sum(math.exp(log_potential(s, edges, w, b, y)) for s in configs)
        after = sum(math.exp(log_potential(s, edges, *new, y)) for s in configs)
        ratios.append(after / before)
    scaled = [weight * ratio for weight, ratio in zip(W, ratios, strict=True)]
    return [value * len(scaled) / sum(scaled) for value in scaled]
