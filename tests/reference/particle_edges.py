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


def wedge_fields(x, x2, e, e2, edges, w, b, m):
    """Parameters without both edges, and with the values x and x2 on them."""
    bare = change(0.0, e2, edges, *change(0.0, e, edges, w, b, m), m)
    return bare, change(x2, e2, edges, *change(x, e, edges, *bare, m), m)


def with_state(states, u, a):
    """The same configuration, but for node u."""
    return [*states[:u], a, *states[u + 1 :]]


def wedge_weights(z, W, u, old, new, edges, y):
    """Weights, of mean 1, after the field `old` has become `new` (w and b each): u summed out in both."""
    scaled = []
    for states, weight in zip(zip(*z, strict=True), W, strict=True):
        sums = []
        for w, b in (old, new):
            ends = [with_state(list(states), u, a) for a in (0, 1)]
            sums.append(sum(math.exp(log_potential(s, edges, w, b, y)) for s in ends))
        scaled.append(weight * sums[1] / sums[0])
    return [value * len(scaled) / sum(scaled) for value in scaled]


def triple_probabilities(z, W, u, v, v2, old, bare, edges, y):
    """P(states of u, v and v2) in the field `bare`, from particles of the field `old`: given the rest."""
    total = [0.0] * 8
    weights = wedge_weights(z, W, u, old, bare, edges, y)
    for states, weight in zip(zip(*z, strict=True), weights, strict=True):
        shares = []
        for a, c, c2 in itertools.product((0, 1), repeat=3):
            other = with_state(with_state(with_state(list(states), u, a), v, c), v2, c2)
            shares.append(math.exp(log_potential(other, edges, *bare, y)))
        for k in range(8):
            total[k] += weight * shares[k] / sum(shares)
    return [value / sum(total) for value in total]
