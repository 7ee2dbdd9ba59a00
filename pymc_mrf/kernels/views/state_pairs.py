"""Pairs of nodes in `state_particles`: probabilities of their states without their edge, and new states."""

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.log_scores import fill_factors
from pymc_mrf.kernels.vector_sums import copy, dot
from pymc_mrf.kernels.views import weighted_particles as questions
from pymc_mrf.kernels.views.questions import Field
from pymc_mrf.kernels.views.state_particles import (
    StateEnds,
    StateOwned,
    StateParticleRoom,
    StateParticles,
    add_neighbour,
    draw_states,
    fill_softmax,
    last_state,
    move_node,
)
from pymc_mrf.kernels.views.weighted_particles import (
    LEAST_CELL,
    TINY,
    fill_product,
    fill_uniform,
    padded,
    shared,
    shared_room,
    update_probabilities,
    variance_of_sum,
)


def allocate_states(n_particles: int, indptr: np.ndarray, field: Field) -> StateParticles:
    """Particles without edges, all in the first state; parameters are for the caller to fill."""
    (d, M, K), N = field.features.shape, padded(n_particles)
    rows, cells, products = np.zeros((3, K, N))
    return StateParticles(
        **shared(n_particles, indptr, len(field.edges), d * len(field.basis)),
        states=np.zeros((d, N), dtype=np.int8),
        T=np.repeat(field.features[:, :, :1], N, axis=2),
        L=np.zeros((d, M, N)),
        P=np.zeros((d, K, N)),
        tables=np.zeros((d, K)),
        owned=StateOwned(np.full(1, -1), products),
        ends=StateEnds(np.zeros(N), np.zeros((2, K, N)), np.zeros((2, M, N))),
        room=StateParticleRoom(
            **shared_room(n_particles),
            R=np.zeros(N),
            rows=rows,
            cells=cells,
            product=np.zeros((M, N)),
            factors=np.zeros(K * K),
            states=np.zeros((2, N), dtype=np.int8),
            flips=np.zeros((2, M, N)),
            by_state=np.zeros((d, K)),
        ),
    )


@lean
def average_over_pair(P_u, P_v, c, rows, out):
    """Means `out` (N,) of `c` (K K,) over a pair with probabilities `P_u` and `P_v` (K, N).

    And its means given the state of the first end, `rows` (K, N).
    """
    K = P_u.shape[0]
    for j in range(out.shape[0]):
        out[j] = 0.0
    for a in range(K):
        for j in range(out.shape[0]):
            rows[a, j] = c[a * K] * P_v[0, j]
        for b in range(1, K):
            for j in range(out.shape[0]):
                rows[a, j] += c[a * K + b] * P_v[b, j]
        for j in range(out.shape[0]):
            out[j] += P_u[a, j] * rows[a, j]


@lean
def strip(particles, field, e, x):
    """Take edge e with value x away: weights, local fields and P of both ends without it."""
    ends, room, W = particles.ends, particles.room, particles.W
    for end in range(2):
        i, L = field.edges[e, end], ends.L[end]
        for l in range(L.shape[0]):
            copy(particles.L[i, l], L[l])
        add_neighbour(-x, e, 1 - end, field, particles.T, L)
        fill_softmax(particles.tables[i], field.features[i], L, ends.P[end], room.R)
    fill_factors(x, field.cells[e], room.factors)
    average_over_pair(ends.P[0], ends.P[1], room.factors, room.rows, room.R)
    for j in range(W.shape[0]):
        ends.W[j] = W[j] / max(room.R[j], TINY)


@lean
def fill_products(W, P, out):
    """`W` (N,) times `P` (K, N), into `out` (K, N)."""
    for a in range(P.shape[0]):
        fill_product(W, P[a], out[a])


@lean
def probabilities_of_pair(first, P_v, table_u, table_v, p):
    """Probabilities `p` (K K,) of the states of a pair: `first` (K, N) is W times P_u.

    `P_v` (K, N); `table_u` and `table_v` (K,), log potentials.
    """
    K, mass = P_v.shape[0], 0.0
    for a in range(K):
        for b in range(K):
            p[a * K + b] = dot(first[a], P_v[b])
            mass += p[a * K + b]
    for a in range(K):
        for b in range(K):
            is_possible = table_u[a] + table_v[b] > -np.inf
            p[a * K + b] = max(p[a * K + b] / mass, LEAST_CELL) if is_possible else 0.0


@questions.fill_pair.register(StateParticles)
def fill_state_pair(particles, field, e, x, p):
    """Take a sum for each pair of states: both ends are independent given the rest and without the edge."""
    u, v, owned, P = field.edges[e, 0], field.edges[e, 1], particles.owned, particles.P
    table_u, table_v, ends = particles.tables[u], particles.tables[v], particles.ends
    if x == 0.0:
        if owned.node[0] != u:
            update_probabilities(particles, field, u)
            fill_products(particles.W, P[u], owned.products)
            owned.node[0] = u
        update_probabilities(particles, field, v)
        probabilities_of_pair(owned.products, P[v], table_u, table_v, p)
    else:
        strip(particles, field, e, x)
        fill_products(ends.W, ends.P[0], particles.room.cells)
        probabilities_of_pair(particles.room.cells, ends.P[1], table_u, table_v, p)


@lean
def variance_of_state_mean(W, P_u, P_v, h, room):
    """Variance of the estimated mean of `h` (K K,), from `W` (N,), and `P_u` and `P_v` (K, N)."""
    R = room.R
    average_over_pair(P_u, P_v, h, room.rows, R)
    for j in range(W.shape[0]):
        R[j] *= W[j]
    return variance_of_sum(R, W)


@questions.variance_of_mean.register(StateParticles)
def variance_in_state_pair(particles, field, e, x, h):
    P, ends, room = particles.P, particles.ends, particles.room
    if x == 0.0:
        u, v = field.edges[e, 0], field.edges[e, 1]
        return variance_of_state_mean(particles.W, P[u], P[v], h, room)
    return variance_of_state_mean(ends.W, ends.P[0], ends.P[1], h, room)


@lean
def draw_state_pair(particles, P_u, P_v, last_u, last_v):
    """Multiply the weights by R; draw both ends from probabilities `P_u` and `P_v` (K, N) and the factors."""
    room, W, level, K = particles.room, particles.W, particles.room.uniform, P_u.shape[0]
    f, rows, cells, R, first = room.factors, room.rows, room.cells, room.R, room.states[0]
    average_over_pair(P_u, P_v, f, rows, R)
    fill_uniform(particles.lanes, level)
    for j in range(W.shape[0]):
        W[j] *= max(R[j], TINY)
        level[j] *= R[j]
    for a in range(K):
        fill_product(P_u[a], rows[a], cells[a])
    draw_states(cells, level, last_u, first)
    fill_uniform(particles.lanes, level)
    for j in range(W.shape[0]):
        level[j] *= rows[first[j], j]
    for b in range(K):
        for j in range(W.shape[0]):
            cells[b, j] = f[first[j] * K + b] * P_v[b, j]
    draw_states(cells, level, last_v, room.states[1])


@questions.redraw_pair.register(StateParticles)
def redraw_states_of_pair(particles, field, e, old, new):
    """Draw the first end, then the second given the first."""
    u, v, ends, tables = field.edges[e, 0], field.edges[e, 1], particles.ends, particles.tables
    fill_factors(new, field.cells[e], particles.room.factors)
    P_u, P_v = particles.P[u], particles.P[v]
    if old != 0.0:
        copy(ends.W, particles.W)
        for l in range(particles.L.shape[1]):
            copy(ends.L[0, l], particles.L[u, l])
            copy(ends.L[1, l], particles.L[v, l])
        P_u, P_v = ends.P[0], ends.P[1]
    draw_state_pair(particles, P_u, P_v, last_state(tables[u]), last_state(tables[v]))
    move_node(particles, field.features[u], u, 0)
    move_node(particles, field.features[v], v, 1)
