"""Sums over pieces of a weighted sample of a field's states, and the states' statistics.

What is as long as the sample is in single precision, and a piece short enough to be added so.
"""

import numpy as np

from pymc_mrf.kernels._jit import finite, jit, lean, lean_summing
from pymc_mrf.kernels.simulation.dense_gibbs import exp_negative_float32

LANES = 4
"""Tables of a pair that are counted side by side: to add twice in a row to one number is slow."""


@lean_summing
def sum_moments(a, b, by_a, by_b, weight):
    """Sum weight c and weight c^2, c = a b - by_a a - by_b b; `a`, `b`, `weight` (N,) float32 are a piece."""
    first, second = np.float32(0.0), np.float32(0.0)
    for j in range(weight.shape[0]):
        c = a[j] * b[j] - by_a * a[j] - by_b * b[j]
        t = weight[j] * c
        first += t
        second += t * c
    return first, second


@lean_summing
def sum_feature_moments(features, u, v, centre, weight):
    """Sum weight c and weight c^2 over a piece, as `sum_moments`, with several features.

    `features` (M, d, N), `centre` (2, M) of the edge, `weight` (N,).
    """
    first, second = np.float32(0.0), np.float32(0.0)
    for j in range(weight.shape[0]):
        c = np.float32(0.0)
        for l in range(features.shape[0]):
            a, b = features[l, u, j], features[l, v, j]
            c += a * b - np.float32(centre[1, l]) * a - np.float32(centre[0, l]) * b
        t = weight[j] * c
        first += t
        second += t * c
    return first, second


@lean
def count_pair(states_u, states_v, weight, m, n_states, counts):
    """Add up `weight` (m,) by the states of a pair, `states_u`, `states_v` (m,), in `counts` (LANES, K K)."""
    for lane in range(LANES):
        for k in range(counts.shape[1]):
            counts[lane, k] = 0.0
    for j in range(0, m - LANES + 1, LANES):
        for lane in range(LANES):
            i = j + lane
            counts[lane, states_u[i] * n_states + states_v[i]] += weight[i]
    for j in range(m - m % LANES, m):
        counts[0, states_u[j] * n_states + states_v[j]] += weight[j]


@lean_summing
def multiply_weights(states_u, states_v, n_states, factor, weight):
    """Multiply the weights of a piece by the factor of the states of a pair; their new sum.

    Of a piece, `states_u`, `states_v` and `weight` (N,); `factor` (K K,).
    """
    total = np.float32(0.0)
    for j in range(weight.shape[0]):
        t = weight[j] * factor[states_u[j] * n_states + states_v[j]]
        weight[j] = t
        total += t
    return total


@lean_summing
def add_row(row, move, slope):
    """Add `row` (p,) times `move` to `slope` (p,)."""
    for i in range(slope.shape[0]):
        slope[i] += move * row[i]


@lean_summing
def row_product(row, delta):
    """Inner product of `row` (p,) float32 and `delta` (p,)."""
    value = 0.0
    for i in range(delta.shape[0]):
        value += row[i] * delta[i]
    return value


@lean_summing
def add_products(a, b, move, y):
    """Add `move` a b to y over a piece: `a`, `b`, `y` (N,) float32."""
    for j in range(y.shape[0]):
        y[j] += move * (a[j] * b[j])


@lean
def add_table(states, table, y):
    """Add the entries of `table` (K,) of the `states` (N,) of a piece to `y` (N,)."""
    for j in range(y.shape[0]):
        y[j] += table[states[j]]


@lean_summing
def exponentiate(y, top, weight):
    """Fill `weight` (N,) with exp(y - top) over a piece `y` (N,) float32; its sum and that of its squares."""
    total, square = np.float32(0.0), np.float32(0.0)
    for j in range(y.shape[0]):
        t = exp_negative_float32(y[j] - top)
        weight[j] = t
        total += t
        square += t * t
    return total, square


@lean_summing
def sum_powers(y):
    """Sum y and y^2 over a piece `y` (N,) float32."""
    first, second = np.float32(0.0), np.float32(0.0)
    for j in range(y.shape[0]):
        first += y[j]
        second += y[j] * y[j]
    return first, second


@finite
def largest_of(y, m):
    """Largest of the first m entries of `y` (m,) float32."""
    top = y[0]
    for j in range(1, m):
        top = max(top, y[j])
    return top


@lean_summing
def sum_pair(a, b, weight):
    """Sum weight a b over a piece: `a`, `b`, `weight` (N,) float32."""
    value = np.float32(0.0)
    for j in range(weight.shape[0]):
        value += weight[j] * (a[j] * b[j])
    return value


@jit
def fill_statistics(states, edges, cells, basis, values):
    """Statistics of every point, `values` (p, m) float32: cells of the edges, basis of the nodes.

    Parameters
    ----------
    states : (d, m) int8 array
    edges : (r, 2) int64 array
    cells : (r, K K) array
    basis : (q, K) array
    values : (p, m) float32 array
    """
    (r, size), (q, K), m = cells.shape, basis.shape, states.shape[1]
    table = np.empty(size, dtype=np.float32)
    for e in range(r):
        for k in range(size):
            table[k] = cells[e, k]
        u, v = states[edges[e, 0]], states[edges[e, 1]]
        for j in range(m):
            values[e, j] = table[u[j] * K + v[j]]
    for i in range(states.shape[0]):
        for k in range(q):
            for a in range(K):
                table[a] = basis[k, a]
            for j in range(m):
                values[r + i * q + k, j] = table[states[i, j]]
