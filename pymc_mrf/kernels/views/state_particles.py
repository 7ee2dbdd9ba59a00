"""`weighted_particles` of a field of any number of states and features.

Given the other nodes, node i is in state a with log potential beta_i(a) + sum_l F_il(a) L_il, L_il =
sum_j w_ij Z_ijl its local fields, one for each feature F_il of `questions.Field`, Z_ijl = F_jl(z_j) - c_ijl;
the notation is that of `pseudo_rows`, with particles for rows. States that a node does not have are never
drawn.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean, summing
from pymc_mrf.kernels.log_scores import fill_factors
from pymc_mrf.kernels.vector_sums import LOWEST, copy, dot, exp_negative, total
from pymc_mrf.kernels.views import weighted_particles as questions
from pymc_mrf.kernels.views.pseudo_rows import fill_scores
from pymc_mrf.kernels.views.questions import fill_node_tables
from pymc_mrf.kernels.views.weighted_particles import (
    TINY,
    Neighbours,
    fill_product,
    take,
    variance_of_sum,
)


class StateEnds(NamedTuple):
    """What is known of the pair of the edge that is looked at: without it, if it is present.

    Attributes
    ----------
    W : (N,) array
        Weights.
    P, L : (2, K, N), (2, M, N) arrays
        Probabilities and local fields of both ends.
    """

    W: np.ndarray
    P: np.ndarray
    L: np.ndarray


class StateOwned(NamedTuple):
    """Products of weights and probabilities of one node.

    Attributes
    ----------
    node : (1,) int64 array
        Which, -1 for none.
    products : (K, N) array
        W times P of the node.
    """

    node: np.ndarray
    products: np.ndarray


class StateParticleRoom(NamedTuple):
    """Scratch.

    Attributes
    ----------
    uniform, row, ancestor
        As of `weighted_particles.shared_room`.
    R : (N,) array
    rows, cells : (K, N) arrays
    product : (M, N) array
    factors : (K K,) array
        What a value of the edge multiplies the probabilities of the states by.
    states : (2, N) int8 array
        New states of either end.
    flips : (2, M, N) array
        Changes of T of either end, between `draw_node` or `redraw_pair` and `carry`.
    by_state : (d, K) array
    """

    uniform: np.ndarray
    row: np.ndarray
    ancestor: np.ndarray
    R: np.ndarray
    rows: np.ndarray
    cells: np.ndarray
    product: np.ndarray
    factors: np.ndarray
    states: np.ndarray
    flips: np.ndarray
    by_state: np.ndarray


class StateParticles(NamedTuple):
    """A weighted sample of a field, its local fields, and its present edges.

    Attributes
    ----------
    size, W, w, beta, neighbours, stale, lanes
        As of `weighted_particles.shared`.
    states : (d, N) int8 array
    T, L : (d, M, N) arrays
        Features of the states, and local fields.
    P : (d, K, N) array
        Probabilities of the states of the nodes that are not stale, given all others.
    tables : (d, K) array
        beta_i(a); -inf where a node has no such state.
    owned : StateOwned
    ends : StateEnds
    room : StateParticleRoom
    """

    size: int
    W: np.ndarray
    w: np.ndarray
    beta: np.ndarray
    neighbours: Neighbours
    stale: np.ndarray
    lanes: np.ndarray
    states: np.ndarray
    T: np.ndarray
    L: np.ndarray
    P: np.ndarray
    tables: np.ndarray
    owned: StateOwned
    ends: StateEnds
    room: StateParticleRoom


@lean
def fill_softmax(table, F, L, P, top):
    """Probabilities `P` (K, N) of states with log potentials table + F' L; `top` (N,) is scratch.

    `table` (K,), features `F` (M, K), local fields `L` (M, N).
    """
    fill_scores(table, F, L, P, top)
    for a in range(P.shape[0]):
        for j in range(P.shape[1]):
            P[a, j] = exp_negative(max(P[a, j] - top[j], LOWEST))
    copy(P[0], top)
    for a in range(1, P.shape[0]):
        for j in range(P.shape[1]):
            top[j] += P[a, j]
    for j in range(P.shape[1]):
        top[j] = 1.0 / top[j]
    for a in range(P.shape[0]):
        for j in range(P.shape[1]):
            P[a, j] *= top[j]


@lean
def add_neighbour(x, e, end, field, T, L):
    """Add x Z_ij, by `T` (d, M, N), to the local fields `L` (M, N) of one end i of edge e, j being `end`."""
    j = field.edges[e, end]
    for l in range(L.shape[0]):
        center = field.centre[e, end, l]
        for k in range(L.shape[1]):
            L[l, k] += x * (T[j, l, k] - center)


@lean
def draw_states(P, level, last, states):
    """Fill `states` (N,) with the first, up to `last`, whose cumulative `P` (K, N) exceeds `level` (N,).

    `level` is overwritten.
    """
    for j in range(states.shape[0]):
        states[j] = 0
    for a in range(last):  # rounding errors shall draw no impossible state
        for j in range(states.shape[0]):
            level[j] -= P[a, j]
            states[j] += level[j] >= 0.0


@lean
def last_state(table):
    """Last possible state of a node with log potentials `table` (K,)."""
    a = table.shape[0] - 1
    while table[a] == -np.inf:
        a -= 1
    return a


@lean
def move_node(particles, F, i, end):
    """Give node i the states of `end`; its changes are those of `end`. `F` (M, K) are the features."""
    states, T, flips = particles.room.states[end], particles.T[i], particles.room.flips[end]
    copy(states, particles.states[i])
    for l in range(T.shape[0]):
        for j in range(states.shape[0]):
            new = F[l, states[j]]
            flips[l, j] = new - T[l, j]
            T[l, j] = new


@questions.set_states.register(StateParticles)
def set_indices(particles, field, states):
    for i in range(states.shape[0]):
        copy(states[i], particles.states[i, : states.shape[1]])
        for l in range(particles.T.shape[1]):
            for j in range(states.shape[1]):
                particles.T[i, l, j] = field.features[i, l, states[i, j]]


@questions.get_states.register(StateParticles)
def get_indices(particles, states):
    for i in range(states.shape[0]):
        copy(particles.states[i, : states.shape[1]], states[i])


@questions.clear_fields.register(StateParticles)
def clear_local_fields(particles, field):
    """Tables of the nodes, and no local fields."""
    fill_node_tables(field, particles.beta, particles.tables)
    particles.L[:] = 0.0


@questions.add_edge.register(StateParticles)
def add_edge_to_local_fields(particles, field, e, x):
    """Add to the local fields of each end what the features of the other give."""
    for end in range(2):
        add_neighbour(x, e, 1 - end, field, particles.T, particles.L[field.edges[e, end]])


@questions.fill_particle_probabilities.register(StateParticles)
def fill_state_probabilities(particles, field, i):
    fill_softmax(
        particles.tables[i], field.features[i], particles.L[i], particles.P[i], particles.room.R
    )


@questions.draw_node.register(StateParticles)
def draw_state(particles, field, i):
    """First state whose cumulative probability exceeds the number."""
    last = last_state(particles.tables[i])
    draw_states(particles.P[i], particles.room.uniform, last, particles.room.states[0])
    move_node(particles, field.features[i], i, 0)


@lean
def average_over_node(P, g, out):
    """Means `out` (N,) of `g` (K,) over the states of a node with probabilities `P` (K, N)."""
    for j in range(out.shape[0]):
        out[j] = g[0] * P[0, j]
    for a in range(1, g.shape[0]):
        for j in range(out.shape[0]):
            out[j] += g[a] * P[a, j]


@questions.fill_shares.register(StateParticles)
def fill_state_shares(particles, i, p):
    """Average the probabilities of all states."""
    sum_W = total(particles.W)
    for a in range(p.shape[0]):
        p[a] = dot(particles.W, particles.P[i, a]) / sum_W


@questions.variance_of_share.register(StateParticles)
def variance_of_state_share(particles, i, g, mean):
    W, P, R = particles.W, particles.P[i], particles.room.R
    average_over_node(P, g, R)
    for j in range(W.shape[0]):
        R[j] = W[j] * (R[j] - mean)
    return variance_of_sum(R, W)


@questions.tilt.register(StateParticles)
def tilt_states(particles, i, x, g):
    """Multiply each state's probability by its factor, and the weights by the mean factor."""
    W, P, R, f = particles.W, particles.P[i], particles.room.R, particles.room.factors[: g.shape[0]]
    fill_factors(x, g, f)
    average_over_node(P, f, R)
    for j in range(W.shape[0]):
        R[j] = max(R[j], TINY)
        W[j] *= R[j]
    for a in range(g.shape[0]):
        particles.tables[i, a] += x * g[a]
        for j in range(W.shape[0]):
            P[a, j] *= f[a] / R[j]


@questions.carry.register(StateParticles)
def carry_features(particles, field, k, end, x):
    """Add the changes of the end's features to the local fields."""
    L, flips = particles.L[k], particles.room.flips[end]
    for l in range(L.shape[0]):
        for j in range(L.shape[1]):
            L[l, j] += x * flips[l, j]


@questions.take_ancestors.register(StateParticles)
def take_state_ancestors(particles):
    """States, features, local fields and probabilities."""
    ancestor, m, row = particles.room.ancestor, particles.size, particles.room.row
    for i in range(particles.states.shape[0]):
        take(particles.states[i], ancestor, m, particles.room.states[0])
        for rows in (particles.T, particles.L, particles.P):
            for l in range(rows.shape[1]):
                take(rows[i, l], ancestor, m, row)


@questions.add_move.register(StateParticles)
def add_move_of_states(particles, field, w, beta, active, D):
    """Add products of the features, and tables of the nodes."""
    T, tables, F, G = particles.T, particles.room.by_state, field.features, field.basis
    M, K, q = F.shape[1], F.shape[2], G.shape[0]
    D[:], tables[:] = 0.0, 0.0
    for i in range(beta.shape[0]):
        for a in range(K):
            tables[i // q, a] += (beta[i] - particles.beta[i]) * G[i % q, a]
    for e in active:
        u, v, x = field.edges[e, 0], field.edges[e, 1], w[e] - particles.w[e]
        if x == 0.0:
            continue
        for l in range(M):
            for a in range(K):
                tables[u, a] -= x * field.centre[e, 1, l] * F[u, l, a]
                tables[v, a] -= x * field.centre[e, 0, l] * F[v, l, a]
            for j in range(D.shape[0]):
                D[j] += x * T[u, l, j] * T[v, l, j]
    for i in range(tables.shape[0]):
        states = particles.states[i]
        for j in range(D.shape[0]):
            D[j] += tables[i, states[j]]
    return 0.0


@summing
def total_in_state(W, states, a):
    """Sum of `W` (N,) where `states` (N,) are a."""
    s = 0.0
    for j in range(W.shape[0]):
        s += W[j] if states[j] == a else 0.0
    return s


@questions.fill_means.register(StateParticles)
def fill_means_of_states(particles, field, active, W, edge_mean, node_mean):
    """Compute the means from shares of states, and sums of products of features."""
    T, share, product, sum_W, owner = (
        particles.T,
        particles.room.by_state,
        particles.room.product,
        total(W),
        -1,
    )
    F, G = field.features, field.basis
    M, K, q = F.shape[1], F.shape[2], G.shape[0]
    for i in range(share.shape[0]):
        for a in range(K):
            share[i, a] = total_in_state(W, particles.states[i], a) / sum_W
    for i in range(node_mean.shape[0]):
        node_mean[i] = 0.0
        for a in range(K):
            node_mean[i] += share[i // q, a] * G[i % q, a]
    for e in active:
        u, v, mean = field.edges[e, 0], field.edges[e, 1], 0.0
        if owner != u:
            for l in range(M):
                fill_product(W, T[u, l], product[l])
            owner = u
        for l in range(M):
            mean += dot(product[l], T[v, l]) / sum_W
            for a in range(K):
                mean -= field.centre[e, 1, l] * share[u, a] * F[u, l, a]
                mean -= field.centre[e, 0, l] * share[v, a] * F[v, l, a]
        edge_mean[e] = mean
