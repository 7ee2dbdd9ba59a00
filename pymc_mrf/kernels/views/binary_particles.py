"""`weighted_particles` of a field of two states and one feature, which is its basis as well.

Local fields H_i = c beta_i + sum_j w_ij Z_ij, with Z_ij = c (y_j - c_ij), c_ij the `Field.centre` and c the
difference of the two values y, are the log odds of the second state: one exponential for a node and particle,
products in place of tables. As `state_particles` a draw of `EdgeGibbs` takes 2.05 times the CPU time (1000
rows of 25 items, or of 100 nodes with all edges as candidates), of `ParticleRatioGibbs` 1.4 (the Senate,
a 30 x 30 grid).
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.vector_sums import LOWEST, dot, exp_negative, total
from pymc_mrf.kernels.views import weighted_particles as questions
from pymc_mrf.kernels.views.weighted_particles import (
    TINY,
    Neighbours,
    fill_product,
    take,
    variance_of_sum,
)

OWNED = np.dtype([("W", float), ("product", float)])
"""Sums, over the particles, of the weights and of their products with P of the owner."""


class BinaryEnds(NamedTuple):
    """What is known of the pair of the edge that is looked at: without it, if it is present.

    Attributes
    ----------
    W : (N,) array
        Weights.
    P, H : (2, N) arrays
        Probabilities and local fields of both ends.
    """

    W: np.ndarray
    P: np.ndarray
    H: np.ndarray


class BinaryOwned(NamedTuple):
    """Products of weights and probabilities of one node.

    Attributes
    ----------
    node : (1,) int64 array
        Which, -1 for none.
    products : (N,) array
        W times P of the node.
    sums : (1,) record array of `OWNED`
        Of the weights and of the products.
    """

    node: np.ndarray
    products: np.ndarray
    sums: np.ndarray


class BinaryParticleRoom(NamedTuple):
    """Scratch.

    Attributes
    ----------
    uniform, row, ancestor
        As of `weighted_particles.shared_room`.
    product : (N,) array
    factors : (4,) array
        What a value of the edge multiplies the probabilities of the states by.
    flips : (2, N) array
        Changes of T of either end, between `draw_node` or `redraw_pair` and `carry`.
    by_node : (d,) array
    """

    uniform: np.ndarray
    row: np.ndarray
    ancestor: np.ndarray
    product: np.ndarray
    factors: np.ndarray
    flips: np.ndarray
    by_node: np.ndarray


class BinaryParticles(NamedTuple):
    """A weighted sample of a field, its local fields, and its present edges.

    Attributes
    ----------
    size, W, w, beta, neighbours, stale, lanes
        As of `weighted_particles.shared`; q = 1.
    T : (d, N) array
        1 where a node is in its second state.
    H, P : (d, N) arrays
        Local fields, and P = sigmoid(H) of the nodes that are not stale.
    owned : BinaryOwned
    ends : BinaryEnds
    room : BinaryParticleRoom
    """

    size: int
    W: np.ndarray
    w: np.ndarray
    beta: np.ndarray
    neighbours: Neighbours
    stale: np.ndarray
    lanes: np.ndarray
    T: np.ndarray
    H: np.ndarray
    P: np.ndarray
    owned: BinaryOwned
    ends: BinaryEnds
    room: BinaryParticleRoom


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
    for i in range(states.shape[0]):
        for j in range(states.shape[1]):
            particles.T[i, j] = states[i, j]


@questions.get_states.register(BinaryParticles)
def get_binary_states(particles, states):
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


@questions.fill_particle_probabilities.register(BinaryParticles)
def fill_binary_probabilities(particles, field, i):
    """Fill the probabilities of the second state."""
    fill_sigmoid(particles.H[i], particles.P[i])


@questions.draw_node.register(BinaryParticles)
def draw_binary_node(particles, field, i):
    """Second state where the number is less than its probability."""
    p, t, uniform, flips = (
        particles.P[i],
        particles.T[i],
        particles.room.uniform,
        particles.room.flips[0],
    )
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
    W, rest = particles.W, particles.room.product
    fill_rest(particles, i, rest)
    p[0], p[1] = dot(W, rest) / total(W), dot(W, particles.P[i]) / total(W)


@questions.variance_of_share.register(BinaryParticles)
def variance_of_binary_share(particles, i, g, mean):
    """Compute the variance from the means in the particles."""
    W, P, product = particles.W, particles.P[i], particles.room.product
    for j in range(W.shape[0]):
        product[j] = W[j] * (g[0] - mean + (g[1] - g[0]) * P[j])
    return variance_of_sum(product, W)


@questions.tilt.register(BinaryParticles)
def tilt_log_odds(particles, i, x, g):
    """Shift the log odds, and multiply the weights by the mean factor."""
    W, P, H, rest = particles.W, particles.P[i], particles.H[i], particles.room.product
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
    c = field.features[0, 0, 1] - field.features[0, 0, 0]
    h, flips, slope = particles.H[k], particles.room.flips[end], x * c * c
    for j in range(h.shape[0]):
        h[j] += slope * flips[j]


@questions.take_ancestors.register(BinaryParticles)
def take_binary_ancestors(particles):
    """States, log odds and probabilities."""
    for rows in (particles.T, particles.H, particles.P):
        for i in range(rows.shape[0]):
            take(rows[i], particles.room.ancestor, particles.size, particles.room.row)


@questions.add_move.register(BinaryParticles)
def add_binary_move(particles, field, w, beta, active, D):
    """Add products of T; what does not depend on the states is the constant."""
    T, by_node, constant = particles.T, particles.room.by_node, 0.0
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
    T, product, owner = particles.T, particles.room.product, -1
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
