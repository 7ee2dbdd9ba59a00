"""A sample of a field at fixed parameters, the reference, weighted for others (Geyer & Thompson, 1992).

The sample tells the log-partition function A elsewhere: with delta the parameters less those of the reference
and y_j = delta . f(z_j), f the statistics,

    A(delta) - A(0) = log mean_j exp(y_j) + gap . delta + delta' excess delta / 2.

The second and third terms replace the sample's first two cumulants by those of a longer simulation, so that
the sample has to supply the third and higher ones only, which are small.

Parameters are those of the edges `w` (r,) and the centred biases `beta` (d q,), in this order p of them;
statistics are the cells of the edges and the basis of the nodes. In single precision are what is as long as
the sample, m, and `excess`; sums are added in double precision over pieces of the sample.

In all functions `field` is a `questions.Field`, or what `log_partition_by_sample` has of one, and `basis`
(q, K) its own.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit, lean
from pymc_mrf.kernels.views.sample_sums import (
    LANES,
    add_products,
    add_table,
    exponentiate,
    largest_of,
    multiply_weights,
    row_product,
    sum_pair,
    sum_powers,
)

PIECE = 1024
"""Points of the sample that are added in single precision, and that stay in the nearest cache."""


class Sample(NamedTuple):
    """States of the field at the reference, of each of B blocks, and the cumulants of a longer simulation.

    Attributes
    ----------
    size : (B,) int64 array
        Points of each block, even; m is the largest of them.
    nodes, edges : (B + 1,) int64 arrays
        Nodes nodes[b] to nodes[b + 1] are those of block b, and so on.
    block : (d,) int64 array
        Of each node.
    states : (d, m) int8 array
    features : (M, d, m) float32 array
    place : (p,) array
        Parameters of the reference.
    gap : (p,) array
        Means of the statistics in the longer simulation less those in the sample.
    excess : (p, p) float32 array
        Covariances, the same; (0, 0) if only the means are known.
    apart : (p,) array
        Half the difference of the means in both halves of the longer simulation.
    limit : (p,) array
        How far from the reference each parameter counts in the cumulants, infinite for those with a wall: far
        away a quadratic function is wrong, and the sample alone pulls parameters back. Of biases of all
        states of a node, how far from their mean.
    """

    size: np.ndarray
    nodes: np.ndarray
    edges: np.ndarray
    block: np.ndarray
    states: np.ndarray
    features: np.ndarray
    place: np.ndarray
    gap: np.ndarray
    excess: np.ndarray
    apart: np.ndarray
    limit: np.ndarray


class SampleAt(NamedTuple):
    """The sample at the present parameters, or at those of the last `weigh`.

    Attributes
    ----------
    delta : (p,) array
        Parameters less those of the reference, by `weigh`.
    bounded : (p,) array
        The same, within the limits.
    slope : (p,) array
        gap + excess bounded.
    y : (B, m) float32 array
        Exponents of the points at the last `weigh`.
    weight : (B, m) float32 array
        Weights exp(y) of the points, up to a factor.
    total : (B,) array
        Sums of the weights.
    log_A : (B,) array
        Log-partition functions at the last `weigh`, relative to the reference.
    share : (B,) array
        Effective shares of the weights there.
    spread : (B,) array
        Variances of y in the samples there: delta' Sigma delta, Sigma the covariance of the statistics.
    apart : (B,) array
        Half the difference of what both halves of each sample, and of the simulation, say of A there.
    shares : (d, K) array
        Probabilities of the states of the nodes, at the last `fill_shares`.
    """

    delta: np.ndarray
    bounded: np.ndarray
    slope: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    total: np.ndarray
    log_A: np.ndarray
    share: np.ndarray
    spread: np.ndarray
    apart: np.ndarray
    shares: np.ndarray


class SampleRoom(NamedTuple):
    """Scratch.

    Attributes
    ----------
    tables : (d, K) float32 array
        What the nodes add to y.
    counts : (LANES, K K) array
    factor : (K K,) float32 array
    """

    tables: np.ndarray
    counts: np.ndarray
    factor: np.ndarray


@jit
def allocate_sample(size, d, p, K):
    """Make room for samples with `size` (B,) points of d nodes, p parameters and K states; equal weights."""
    B, m = size.shape[0], size.max()
    at = SampleAt(
        delta=np.zeros(p),
        bounded=np.zeros(p),
        slope=np.zeros(p),
        y=np.zeros((B, m), np.float32),
        weight=np.ones((B, m), np.float32),
        total=size.astype(np.float64),
        log_A=np.zeros(B),
        share=np.ones(B),
        spread=np.zeros(B),
        apart=np.zeros(B),
        shares=np.zeros((d, K)),
    )
    room = SampleRoom(
        tables=np.zeros((d, K), np.float32),
        counts=np.zeros((LANES, K * K)),
        factor=np.zeros(K * K, np.float32),
    )
    return at, room


@lean
def places_of_states(basis, r, i):
    """Return the places of the biases of all states of bias i's node; none if a state has no bias."""
    q, K = basis.shape
    first = r + i // q * q
    return range(first, first + q if q == K else first)


@lean
def common_displacement(basis, at, r, i):
    """Return by how much the biases of all states of a node have moved, which changes nothing."""
    total = 0.0
    for k in places_of_states(basis, r, i):
        total += at.delta[k]
    return total / basis.shape[0]


@lean
def slope_within(at, i):
    """Slope of the cumulants by parameter i: none beyond its limit."""
    return at.slope[i] if at.bounded[i] == at.delta[i] else 0.0


@lean
def common_slope(basis, at, r, i):
    """Return the slope of the cumulants by `common_displacement`, with which biases beyond limits move."""
    total = 0.0
    for k in places_of_states(basis, r, i):
        total += at.slope[k] - slope_within(at, k)
    return total / basis.shape[0]


@lean
def fill_displacement(basis, sample, at, w, beta):
    """Fill `at.delta`, `w` (r,) and `beta` (d q,) less those of the reference, and slopes, `at.slope`."""
    r = w.shape[0]
    for e in range(r):
        at.delta[e] = w[e] - sample.place[e]
    for i in range(beta.shape[0]):
        at.delta[r + i] = beta[i] - sample.place[r + i]
    for e in range(r):
        at.bounded[e] = min(max(at.delta[e], -sample.limit[e]), sample.limit[e])
    for i in range(beta.shape[0]):
        common = common_displacement(basis, at, r, i)
        if abs(at.delta[r + i] - common) <= sample.limit[r + i]:
            at.bounded[r + i] = at.delta[r + i]
        else:
            beyond = np.copysign(sample.limit[r + i], at.delta[r + i] - common)
            at.bounded[r + i] = common + beyond
    for i in range(at.delta.shape[0]):
        at.slope[i] = sample.gap[i]
        if sample.excess.shape[0] > 0:
            at.slope[i] += row_product(sample.excess[i], at.bounded)


@lean
def fill_tables_of_nodes(field, delta, tables):
    """Fill `tables` (d, K), what nodes add to y: their biases, and what is taken from the features of edges.

    `delta` (p,) are the parameters less those of the reference.
    """
    r, q = field.edges.shape[0], field.basis.shape[0]
    for i in range(tables.shape[0]):
        for a in range(tables.shape[1]):
            value = 0.0
            for k in range(q):
                value += delta[r + i * q + k] * field.basis[k, a]
            tables[i, a] = value
    for e in range(r):
        if delta[e] != 0.0:
            for end in range(2):
                i = field.edges[e, end]
                for a in range(tables.shape[1]):
                    value = 0.0
                    for l in range(field.features.shape[1]):
                        value += field.centre[e, 1 - end, l] * field.features[i, l, a]
                    tables[i, a] -= delta[e] * value


@lean
def fill_exponents(field, sample, at, tables, k):
    """Fill y of the sample of block k; `tables` (d, K) are what nodes add to it."""
    y, m = at.y[k], sample.size[k]
    for start in range(0, m, PIECE):
        stop = min(start + PIECE, m)
        piece = y[start:stop]
        for j in range(piece.shape[0]):
            piece[j] = np.float32(0.0)
        for i in range(sample.nodes[k], sample.nodes[k + 1]):
            add_table(sample.states[i, start:stop], tables[i], piece)
        for e in range(sample.edges[k], sample.edges[k + 1]):
            move = np.float32(at.delta[e])
            if move != 0.0:
                u, v = field.edges[e, 0], field.edges[e, 1]
                for t in range(field.products.shape[1]):
                    a = sample.features[field.products[e, t, 0], u, start:stop]
                    b = sample.features[field.products[e, t, 1], v, start:stop]
                    add_products(a, b, move, piece)


@lean
def weigh_half(y, top, weight, start, stop):
    """Fill `weight` (m,) from `start` to `stop`, from `y` (m,); sums of it, its squares, y and y^2."""
    total, square, first, second = 0.0, 0.0, 0.0, 0.0
    for begin in range(start, stop, PIECE):
        end = min(begin + PIECE, stop)
        s, t = exponentiate(y[begin:end], top, weight[begin:end])
        total += s
        square += t
        s, t = sum_powers(y[begin:end])
        first += s
        second += t
    return total, square, first, second


@lean
def remainder(total, first, second, m, share):
    """Log mean of exp(y) less its mean and `share` of half its variance, from sums over m points."""
    mean = first / m
    return np.log(total / m) - mean - 0.5 * share * (second / m - mean * mean)


@lean
def weigh(field, sample, at, room, w, beta):
    """Bring weights and slopes up to date with the parameters `w` (r,) and `beta` (d q,), and `at.log_A`."""
    fill_displacement(field.basis, sample, at, w, beta)
    fill_tables_of_nodes(field, at.delta, room.tables)
    r, q = w.shape[0], field.basis.shape[0]
    for k in range(sample.size.shape[0]):
        fill_exponents(field, sample, at, room.tables, k)
        y, weight, m = at.y[k], at.weight[k], sample.size[k]
        top = largest_of(y, m)
        total, square, first, second = weigh_half(y, top, weight, 0, m // 2)
        more, more_square, more_first, more_second = weigh_half(y, top, weight, m // 2, m)
        half, known = 0.5 * m, 1.0 if sample.excess.shape[0] > 0 else 0.0
        apart = remainder(total, first, second, half, known)
        apart -= remainder(more, more_first, more_second, half, known)
        at.total[k] = total + more
        at.share[k] = at.total[k] ** 2 / (m * (square + more_square))
        at.spread[k] = max((second + more_second) / m - ((first + more_first) / m) ** 2, 0.0)
        of_edges = add_cumulants(sample, at, sample.edges[k], sample.edges[k + 1], 0.0, 0.0)
        first_bias, last_bias = r + q * sample.nodes[k], r + q * sample.nodes[k + 1]
        correction, linear = add_cumulants(sample, at, first_bias, last_bias, *of_edges)
        at.log_A[k] = top + np.log(at.total[k] / m) + 0.5 * correction
        at.apart[k] = 0.5 * apart + linear


@lean
def add_cumulants(sample, at, start, stop, correction, linear):
    """Add the shares of the parameters from `start` to `stop` in the cumulants, and in what is apart."""
    for i in range(start, stop):
        correction += at.bounded[i] * (sample.gap[i] + at.slope[i])
        linear += at.bounded[i] * sample.apart[i]
    return correction, linear


@lean
def multiply_pair(sample, at, factor, u, v, k):
    """Multiply the weights of block k by the `factor` (K K,) of the states of nodes u and v."""
    at.total[k] = multiply_all(
        sample.states[u], sample.states[v], at.shares.shape[1], factor, at.weight[k], sample.size[k]
    )


@lean
def multiply_all(states_u, states_v, K, factor, weight, m):
    """Multiply `weight` (m,) by the `factor` (K K,) of `states_u` and `states_v` (m,); its new sum."""
    total = 0.0
    for start in range(0, m, PIECE):
        stop = min(start + PIECE, m)
        a, b = states_u[start:stop], states_v[start:stop]
        total += multiply_weights(a, b, K, factor, weight[start:stop])
    return total


@lean
def fill_shares(sample, at, counts, k):
    """Weighted shares of the states of the nodes of block k, `at.shares`; scratch `counts` (LANES, K K)."""
    weight, K, m = at.weight[k], at.shares.shape[1], sample.size[k]
    for i in range(sample.nodes[k], sample.nodes[k + 1]):
        states = sample.states[i]
        for lane in range(LANES):
            for a in range(K):
                counts[lane, a] = 0.0
        for j in range(0, m - LANES + 1, LANES):
            for lane in range(LANES):
                counts[lane, states[j + lane]] += weight[j + lane]
        for j in range(m - m % LANES, m):
            counts[0, states[j]] += weight[j]
        for a in range(K):
            at.shares[i, a] = 0.0
            for lane in range(LANES):
                at.shares[i, a] += counts[lane, a] / at.total[k]


@lean
def mean_of_edge(field, sample, at, e, k):
    """Weighted mean of the statistic of edge e, of block k, after `fill_shares`."""
    u, v, m, value = field.edges[e, 0], field.edges[e, 1], sample.size[k], 0.0
    for start in range(0, m, PIECE):
        stop = min(start + PIECE, m)
        for t in range(field.products.shape[1]):
            a = sample.features[field.products[e, t, 0], u, start:stop]
            b = sample.features[field.products[e, t, 1], v, start:stop]
            value += sum_pair(a, b, at.weight[k, start:stop])
    value /= at.total[k]
    for l in range(field.features.shape[1]):
        for a in range(at.shares.shape[1]):
            value -= field.centre[e, 1, l] * at.shares[u, a] * field.features[u, l, a]
            value -= field.centre[e, 0, l] * at.shares[v, a] * field.features[v, l, a]
    return value


@lean
def slope_by_edge(field, sample, at, e):
    """Slope of A by the parameter of edge e, after `fill_shares`."""
    return mean_of_edge(field, sample, at, e, sample.block[field.edges[e, 0]]) + slope_within(at, e)


@lean
def slope_by_bias(basis, at, r, i):
    """Slope of A by bias i, which comes after r edges, after `fill_shares`."""
    q, mean = basis.shape[0], slope_within(at, r + i) + common_slope(basis, at, r, i)
    for a in range(basis.shape[1]):
        mean += at.shares[i // q, a] * basis[i % q, a]
    return mean
