"""`weighted_particles` of a field of two states and one feature, which is its basis as well.

Local fields H_i = c beta_i + sum_j w_ij Z_ij, with Z_ij = c (y_j - c_ij), c_ij the `Field.centre` and c the
difference of the two values y, are the log odds of the second state: one exponential for a node and particle,
products in place of tables.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.vector_sums import LOWEST, copy, dot, dot_two, exp_negative, total
from pymc_mrf.kernels.views import weighted_particles as questions
from pymc_mrf.kernels.views.weighted_particles import (
    LEAST_CELL,
    TINY,
    fill_factors,
    fill_product,
    fill_uniform,
    padded,
    shared,
    take,
    update_probabilities,
)

OWNED = np.dtype([("W", float), ("product", float)])
"""Sums, over the particles, of the weights and of their products with P of the owner."""


class BinaryEnds(NamedTuple):
    """What is known of the pair of the edge that is looked at.

    Attributes
    ----------
    W : (N,) array, P, H : (2, N) arrays
        Weights, probabilities and local fields of both ends without the edge, if it is present.
    factors : (4,) array
        What a value of the edge multiplies the probabilities of the states by.
    owned : (N,) array
        W times P of the owner.
    sums : (1,) record array of `OWNED`
        Of the weights and of `owned`.
    product : (N,) array
        Scratch.
    flips : (2, N) array
        Changes of T of either end.
    """

    W: np.ndarray
    P: np.ndarray
    H: np.ndarray
    factors: np.ndarray
    owned: np.ndarray
    sums: np.ndarray
    product: np.ndarray
    flips: np.ndarray


class BinaryParticles(NamedTuple):
    """A weighted sample of a field, its local fields, and its present edges.

    Attributes
    ----------
    size, stale, W, w, beta, indptr, degree, near, via, owner, uniform, row, ancestor, lanes
        As of `weighted_particles.shared`; q = 1.
    T : (d, N) array
        1 where a node is in its second state.
    H, P : (d, N) arrays
        Local fields, and P = sigmoid(H) of the nodes that are not stale.
    ends : BinaryEnds
    by_node : (d,) array
        Scratch.
    """

    size: int
    stale: np.ndarray
    W: np.ndarray
    w: np.ndarray
    beta: np.ndarray
    indptr: np.ndarray
    degree: np.ndarray
    near: np.ndarray
    via: np.ndarray
    owner: np.ndarray
    uniform: np.ndarray
    row: np.ndarray
    ancestor: np.ndarray
    lanes: np.ndarray
    T: np.ndarray
    H: np.ndarray
    P: np.ndarray
    ends: BinaryEnds
    by_node: np.ndarray


def allocate(n_particles: int, indptr: np.ndarray, n_edges: int) -> BinaryParticles:
    """Particles without edges, all in the first state; parameters are for the caller to fill."""
    d, N = len(indptr) - 1, padded(n_particles)
    return BinaryParticles(
        **shared(n_particles, indptr, n_edges, d),
        T=np.zeros((d, N)),
        H=np.zeros((d, N)),
        P=np.zeros((d, N)),
        ends=BinaryEnds(
            W=np.zeros(N),
            P=np.zeros((2, N)),
            H=np.zeros((2, N)),
            factors=np.zeros(4),
            owned=np.zeros(N),
            sums=np.zeros(1, OWNED),
            product=np.zeros(N),
            flips=np.zeros((2, N)),
        ),
        by_node=np.zeros(d),
    )


@lean
def fill_sigmoid(H, P):
    """P = 1 / (1 + exp(-H)); `H` and `P` (N,)."""
    for j in range(H.shape[0]):
        P[j] = exp_negative(max(-abs(H[j]), LOWEST))
    for j in range(H.shape[0]):
        q = 1.0 / (1.0 + P[j])
        P[j] = q if H[j] >= 0.0 else P[j] * q  # 1 - q would be 0 where it is below 1e-16


@lean
def add_neighbour(x, e, end, field, T, H):
    """Add x Z_ij to the local field `H` (N,) of one end i of edge e, j being its other, `end`; `T` (d, N)."""
    F, t = field.features[0, 0], T[field.edges[e, end]]
    low, c = F[0], F[1] - F[0]
    constant, slope = x * c * (low - field.centre[e, end, 0]), x * c * c
    for k in range(H.shape[0]):
        H[k] += constant + slope * t[k]


@questions.set_states.register(BinaryParticles)
def set_binary_states(particles, field, states):
    """Keep the states as numbers."""
    for i in range(states.shape[0]):
        for j in range(states.shape[1]):
            particles.T[i, j] = states[i, j]


@questions.get_states.register(BinaryParticles)
def get_binary_states(particles, states):
    """Write the states as integers."""
    for i in range(states.shape[0]):
        for j in range(states.shape[1]):
            states[i, j] = np.int8(particles.T[i, j])


@questions.clear_fields.register(BinaryParticles)
def clear_log_odds(particles, field):
    """Log odds of nodes without neighbours."""
    c = field.features[0, 0, 1] - field.features[0, 0, 0]
    for i in range(particles.H.shape[0]):
        particles.H[i, :] = c * particles.beta[i]


@questions.add_edge.register(BinaryParticles)
def add_edge_to_log_odds(particles, field, e, x):
    """Add to the log odds of each end what the state of the other gives."""
    for end in range(2):
        add_neighbour(x, e, 1 - end, field, particles.T, particles.H[field.edges[e, end]])


@questions.fill_probabilities.register(BinaryParticles)
def fill_binary_probabilities(particles, field, i):
    """Fill the probabilities of the second state."""
    fill_sigmoid(particles.H[i], particles.P[i])


@questions.draw_node.register(BinaryParticles)
def draw_binary_node(particles, field, i):
    """Second state where the number is less than its probability."""
    p, t, uniform, flips = particles.P[i], particles.T[i], particles.uniform, particles.ends.flips[0]
    for j in range(t.shape[0]):
        new = 1.0 if uniform[j] < p[j] else 0.0
        flips[j] = new - t[j]
        t[j] = new


@lean
def fill_rest(particles, i, rest):
    """Probabilities `rest` (N,) of the first state of node i, by its local fields."""
    H = particles.H[i]
    for j in range(H.shape[0]):
        e = exp_negative(max(-abs(H[j]), LOWEST))
        rest[j] = (e if H[j] >= 0.0 else 1.0) / (1.0 + e)


@questions.fill_shares.register(BinaryParticles)
def fill_binary_shares(particles, i, p):
    """Average the probabilities of both: the rest of one that is near 1 tells nothing of the other.

    However rare a state is, its share has no floor, which would be another one after a move of the bias.
    """
    W, rest = particles.W, particles.ends.product
    fill_rest(particles, i, rest)
    p[0], p[1] = dot(W, rest) / total(W), dot(W, particles.P[i]) / total(W)


@questions.variance_of_share.register(BinaryParticles)
def variance_of_binary_share(particles, i, g, mean):
    """Compute the variance from the means in the particles."""
    W, P, product = particles.W, particles.P[i], particles.ends.product
    for j in range(W.shape[0]):
        product[j] = W[j] * (g[0] - mean + (g[1] - g[0]) * P[j])
    return dot(product, product) / total(W) ** 2


@questions.tilt.register(BinaryParticles)
def tilt_log_odds(particles, i, x, g):
    """Shift the log odds, and multiply the weights by the mean factor."""
    W, P, H, rest = particles.W, particles.P[i], particles.H[i], particles.ends.product
    top = x * max(g[0], g[1])
    zero, one, move = np.exp(x * g[0] - top), np.exp(x * g[1] - top), x * (g[1] - g[0])
    fill_rest(particles, i, rest)
    for j in range(W.shape[0]):
        R = max(zero * rest[j] + one * P[j], TINY)
        W[j] *= R
        P[j] *= one / R
        H[j] += move


@questions.carry.register(BinaryParticles)
def carry_flips(particles, field, k, end, x):
    """Add the flips of the end to the log odds."""
    c = field.features[0, 0, 1] - field.features[0, 0, 0]
    h, flips, slope = particles.H[k], particles.ends.flips[end], x * c * c
    for j in range(h.shape[0]):
        h[j] += slope * flips[j]


@questions.take_ancestors.register(BinaryParticles)
def take_binary_ancestors(particles):
    """States, log odds and probabilities."""
    for rows in (particles.T, particles.H, particles.P):
        for i in range(rows.shape[0]):
            take(rows[i], particles.ancestor, particles.size, particles.row)


@lean
def probabilities_of_pair(sum_W, sum_u, sum_v, sum_uv, p):
    """Probabilities `p` (4,) of the states of a pair from sums over the particles."""
    p_u, p_v, p_uv = sum_u / sum_W, sum_v / sum_W, sum_uv / sum_W
    p[0] = max(1.0 - p_u - p_v + p_uv, LEAST_CELL)
    p[1] = max(p_v - p_uv, LEAST_CELL)
    p[2] = max(p_u - p_uv, LEAST_CELL)
    p[3] = max(p_uv, LEAST_CELL)


@lean
def divide_weights(W, P_u, P_v, f, out):
    """W / R into `out`, for a pair with factors `f` (4,); `W`, `P_u`, `P_v` and `out`, all (N,)."""
    for j in range(W.shape[0]):
        zero = f[0] + (f[1] - f[0]) * P_v[j]
        one = f[2] + (f[3] - f[2]) * P_v[j]
        out[j] = W[j] / max(zero + (one - zero) * P_u[j], TINY)


@lean
def strip(particles, field, e, x):
    """Take edge e with value x away: weights, local fields and P of both ends without it."""
    ends, H, T = particles.ends, particles.H, particles.T
    for end in range(2):
        copy(H[field.edges[e, end]], ends.H[end])
        add_neighbour(-x, e, 1 - end, field, T, ends.H[end])
        fill_sigmoid(ends.H[end], ends.P[end])
    fill_factors(x, field.cells[e], ends.factors)
    divide_weights(particles.W, ends.P[0], ends.P[1], ends.factors, ends.W)


@lean
def own(particles, field, u):
    """Keep the product of W and P of node u."""
    ends, W = particles.ends, particles.W
    if particles.owner[0] != u:
        update_probabilities(particles, field, u)
        fill_product(W, particles.P[u], ends.owned)
        sums, particles.owner[0] = ends.sums[0], u
        sums.W, sums.product = total(W), total(ends.owned)


@questions.fill_pair.register(BinaryParticles)
def fill_binary_pair(particles, field, e, x, p):
    """Take three sums: both ends are independent given the rest and without the edge."""
    u, v, ends = field.edges[e, 0], field.edges[e, 1], particles.ends
    if x == 0.0:
        own(particles, field, u)
        update_probabilities(particles, field, v)
        sum_v, sum_uv = dot_two(particles.W, ends.owned, particles.P[v])
        probabilities_of_pair(ends.sums[0].W, ends.sums[0].product, sum_v, sum_uv, p)
    else:
        strip(particles, field, e, x)
        fill_product(ends.W, ends.P[0], ends.product)
        sum_v, sum_uv = dot_two(ends.W, ends.product, ends.P[1])
        probabilities_of_pair(total(ends.W), total(ends.product), sum_v, sum_uv, p)


@lean
def variance_of_binary_mean(W, P_u, P_v, h, product):
    """Variance of the estimated mean of `h` (4,); `W`, `P_u`, `P_v` and `product` (scratch), all (N,)."""
    slope_u, slope_v, slope_uv = h[2] - h[0], h[1] - h[0], h[3] - h[2] - h[1] + h[0]
    for j in range(W.shape[0]):
        product[j] = W[j] * (h[0] + slope_u * P_u[j] + (slope_v + slope_uv * P_u[j]) * P_v[j])
    return dot(product, product) / total(W) ** 2


@questions.variance_of_mean.register(BinaryParticles)
def variance_in_binary_pair(particles, field, e, x, h):
    """Compute the variance from the conditional means in the particles."""
    u, v, P, ends = field.edges[e, 0], field.edges[e, 1], particles.P, particles.ends
    if x == 0.0:
        return variance_of_binary_mean(particles.W, P[u], P[v], h, ends.product)
    return variance_of_binary_mean(ends.W, ends.P[0], ends.P[1], h, ends.product)


@lean
def draw_binary_pair(particles, P_u, P_v, u, v):
    """Multiply the weights by R; draw both ends from probabilities `P_u` and `P_v` (N,) and the factors."""
    W, f, uniform, flips = particles.W, particles.ends.factors, particles.uniform, particles.ends.flips
    flips_u, flips_v = flips[0], flips[1]
    for j in range(W.shape[0]):
        p, q = P_u[j], P_v[j]
        zero = (1.0 - p) * (f[0] + (f[1] - f[0]) * q)
        one = p * (f[2] + (f[3] - f[2]) * q)
        R = max(zero + one, TINY)
        W[j] *= R
        level = uniform[j] * R
        first = (1.0 - p) * (1.0 - q) * f[0]
        third = zero + p * (1.0 - q) * f[2]
        above_first = 1.0 if level >= first else 0.0
        new_u = 1.0 if level >= zero else 0.0
        above_third = 1.0 if level >= third else 0.0
        flips_u[j] = new_u
        flips_v[j] = above_first - new_u + above_third
    for end, i in ((0, u), (1, v)):
        change, t = flips[end], particles.T[i]
        for j in range(W.shape[0]):
            new = change[j]
            change[j] = new - t[j]
            t[j] = new


@questions.redraw_pair.register(BinaryParticles)
def redraw_binary_pair(particles, field, e, old, new):
    """Draw one of the four states by one number."""
    u, v, ends, P = field.edges[e, 0], field.edges[e, 1], particles.ends, particles.P
    fill_factors(new, field.cells[e], ends.factors)
    fill_uniform(particles.lanes, particles.uniform)
    P_u, P_v = P[u], P[v]
    if old != 0.0:
        copy(ends.W, particles.W)
        copy(ends.H[0], particles.H[u])
        copy(ends.H[1], particles.H[v])
        P_u, P_v = ends.P[0], ends.P[1]
    draw_binary_pair(particles, P_u, P_v, u, v)


@questions.add_move.register(BinaryParticles)
def add_binary_move(particles, field, w, beta, active, D):
    """Add products of T; what does not depend on the states is the constant."""
    T, by_node, constant = particles.T, particles.by_node, 0.0
    low, c = field.features[0, 0, 0], field.features[0, 0, 1] - field.features[0, 0, 0]
    D[:] = 0.0
    for i in range(beta.shape[0]):
        move = beta[i] - particles.beta[i]
        by_node[i] = c * move
        constant += low * move
    for e in active:
        u, v, cells = field.edges[e, 0], field.edges[e, 1], field.cells[e]
        move = w[e] - particles.w[e]
        if move == 0.0:
            continue
        constant += move * cells[0]
        by_node[u] += move * (cells[2] - cells[0])
        by_node[v] += move * (cells[1] - cells[0])
        x, t_u, t_v = move * c * c, T[u], T[v]
        for j in range(D.shape[0]):
            D[j] += x * t_u[j] * t_v[j]
    for i in range(T.shape[0]):
        x, t = by_node[i], T[i]
        if x != 0.0:
            for j in range(D.shape[0]):
                D[j] += x * t[j]
    return constant


@questions.fill_means.register(BinaryParticles)
def fill_binary_means(particles, field, active, W, edge_mean, node_mean):
    """Average T and products of T."""
    T, product, owner = particles.T, particles.ends.product, -1
    low, c, sum_W = field.features[0, 0, 0], field.features[0, 0, 1] - field.features[0, 0, 0], total(W)
    for i in range(T.shape[0]):
        node_mean[i] = dot(W, T[i]) / sum_W
    for e in active:
        u, v, cells = field.edges[e, 0], field.edges[e, 1], field.cells[e]
        if owner != u:
            fill_product(W, T[u], product)
            owner = u
        edge_mean[e] = (
            cells[0] + (cells[2] - cells[0]) * node_mean[u] + (cells[1] - cells[0]) * node_mean[v]
        )
        edge_mean[e] += c * c * dot(product, T[v]) / sum_W
    for i in range(T.shape[0]):
        node_mean[i] = low + c * node_mean[i]
