"""`weighted_particles` of a field of any number of states and features.

Given the other nodes, node i is in state a with log potential beta_i(a) + sum_l F_il(a) L_il, L_il =
sum_j w_ij Z_ijl its local fields, one for each feature F_il of `questions.Field`, Z_ijl = F_jl(z_j) - c_ijl;
the notation is that of `pseudo_rows`, with particles for rows. States that a node does not have are never
drawn.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean, summing
from pymc_mrf.kernels.vector_sums import LOWEST, copy, dot, exp_negative, total
from pymc_mrf.kernels.views import weighted_particles as questions
from pymc_mrf.kernels.views.pseudo_rows import fill_scores
from pymc_mrf.kernels.views.questions import Field, fill_node_tables
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


class StateEnds(NamedTuple):
    """What is known of the pair of the edge that is looked at.

    Attributes
    ----------
    W : (N,) array, P : (2, K, N) array, L : (2, M, N) array
        Weights, probabilities and local fields of both ends without the edge, if it is present.
    factors : (K K,) array
        What a value of the edge multiplies the probabilities of the states by.
    owned : (K, N) array
        W times P of the owner.
    rows, cells : (K, N) arrays, R : (N,) array
        Scratch.
    product : (M, N) array
        Scratch.
    flips : (2, M, N) array
        Changes of T of either end.
    states : (2, N) int8 array
        New states of both ends.
    """

    W: np.ndarray
    P: np.ndarray
    L: np.ndarray
    factors: np.ndarray
    owned: np.ndarray
    rows: np.ndarray
    cells: np.ndarray
    R: np.ndarray
    product: np.ndarray
    flips: np.ndarray
    states: np.ndarray


class StateParticles(NamedTuple):
    """A weighted sample of a field, its local fields, and its present edges.

    Attributes
    ----------
    size, stale, W, w, beta, indptr, degree, near, via, owner, uniform, row, ancestor, lanes
        As of `weighted_particles.shared`.
    states : (d, N) int8 array
    T, L : (d, M, N) arrays
        Features of the states, and local fields.
    P : (d, K, N) array
        Probabilities of the states of the nodes that are not stale, given all others.
    tables : (d, K) array
        beta_i(a); -inf where a node has no such state.
    ends : StateEnds
    by_state : (d, K) array
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
    states: np.ndarray
    T: np.ndarray
    L: np.ndarray
    P: np.ndarray
    tables: np.ndarray
    ends: StateEnds
    by_state: np.ndarray


def allocate(n_particles: int, indptr: np.ndarray, field: Field) -> StateParticles:
    """Particles without edges, all in the first state; parameters are for the caller to fill."""
    (d, M, K), N = field.features.shape, padded(n_particles)
    shapes = N, (2, K, N), (2, M, N), K * K, (K, N), (K, N), (K, N), N, (M, N), (2, M, N)
    return StateParticles(
        **shared(n_particles, indptr, len(field.edges), len(field.t)),
        states=np.zeros((d, N), dtype=np.int8),
        T=np.repeat(field.features[:, :, :1], N, axis=2),
        L=np.zeros((d, M, N)),
        P=np.zeros((d, K, N)),
        tables=np.zeros((d, K)),
        ends=StateEnds._make([*map(np.zeros, shapes), np.zeros((2, N), dtype=np.int8)]),
        by_state=np.zeros((d, K)),
    )


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
    states, T, flips = particles.ends.states[end], particles.T[i], particles.ends.flips[end]
    copy(states, particles.states[i])
    for l in range(T.shape[0]):
        for j in range(states.shape[0]):
            new = F[l, states[j]]
            flips[l, j] = new - T[l, j]
            T[l, j] = new


@questions.set_states.register(StateParticles)
def set_indices(particles, field, states):
    """Keep the state indices, and their features."""
    for i in range(states.shape[0]):
        copy(states[i], particles.states[i, : states.shape[1]])
        for l in range(particles.T.shape[1]):
            for j in range(states.shape[1]):
                particles.T[i, l, j] = field.features[i, l, states[i, j]]


@questions.get_states.register(StateParticles)
def get_indices(particles, states):
    """Copy the state indices."""
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


@questions.fill_probabilities.register(StateParticles)
def fill_state_probabilities(particles, field, i):
    """Fill the probabilities of all states."""
    fill_softmax(
        particles.tables[i], field.features[i], particles.L[i], particles.P[i], particles.ends.R
    )


@questions.draw_node.register(StateParticles)
def draw_state(particles, field, i):
    """First state whose cumulative probability exceeds the number."""
    last = last_state(particles.tables[i])
    draw_states(particles.P[i], particles.uniform, last, particles.ends.states[0])
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
    """Compute the variance from the means in the particles."""
    W, P, R = particles.W, particles.P[i], particles.ends.R
    average_over_node(P, g, R)
    for j in range(W.shape[0]):
        R[j] = W[j] * (R[j] - mean)
    return dot(R, R) / total(W) ** 2


@questions.tilt.register(StateParticles)
def tilt_states(particles, i, x, g):
    """Multiply each state's probability by its factor, and the weights by the mean factor."""
    W, P, R, f = particles.W, particles.P[i], particles.ends.R, particles.ends.factors[: g.shape[0]]
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
    L, flips = particles.L[k], particles.ends.flips[end]
    for l in range(L.shape[0]):
        for j in range(L.shape[1]):
            L[l, j] += x * flips[l, j]


@questions.take_ancestors.register(StateParticles)
def take_state_ancestors(particles):
    """States, features, local fields and probabilities."""
    ancestor, m, row = particles.ancestor, particles.size, particles.row
    for i in range(particles.states.shape[0]):
        take(particles.states[i], ancestor, m, particles.ends.states[0])
        for rows in (particles.T, particles.L, particles.P):
            for l in range(rows.shape[1]):
                take(rows[i, l], ancestor, m, row)


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
    ends, W = particles.ends, particles.W
    for end in range(2):
        i, L = field.edges[e, end], ends.L[end]
        for l in range(L.shape[0]):
            copy(particles.L[i, l], L[l])
        add_neighbour(-x, e, 1 - end, field, particles.T, L)
        fill_softmax(particles.tables[i], field.features[i], L, ends.P[end], ends.R)
    fill_factors(x, field.cells[e], ends.factors)
    average_over_pair(ends.P[0], ends.P[1], ends.factors, ends.rows, ends.R)
    for j in range(W.shape[0]):
        ends.W[j] = W[j] / max(ends.R[j], TINY)


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
    u, v, ends, P, tables = (
        field.edges[e, 0],
        field.edges[e, 1],
        particles.ends,
        particles.P,
        particles.tables,
    )
    if x == 0.0:
        if particles.owner[0] != u:
            update_probabilities(particles, field, u)
            fill_products(particles.W, P[u], ends.owned)
            particles.owner[0] = u
        update_probabilities(particles, field, v)
        probabilities_of_pair(ends.owned, P[v], tables[u], tables[v], p)
    else:
        strip(particles, field, e, x)
        fill_products(ends.W, ends.P[0], ends.cells)
        probabilities_of_pair(ends.cells, ends.P[1], tables[u], tables[v], p)


@lean
def variance_of_state_mean(W, P_u, P_v, h, ends):
    """Variance of the estimated mean of `h` (K K,), from `W` (N,), and `P_u` and `P_v` (K, N)."""
    average_over_pair(P_u, P_v, h, ends.rows, ends.R)
    for j in range(W.shape[0]):
        ends.R[j] = W[j] * ends.R[j]
    return dot(ends.R, ends.R) / total(W) ** 2


@questions.variance_of_mean.register(StateParticles)
def variance_in_state_pair(particles, field, e, x, h):
    """Compute the variance from the conditional means in the particles."""
    u, v, P, ends = field.edges[e, 0], field.edges[e, 1], particles.P, particles.ends
    if x == 0.0:
        return variance_of_state_mean(particles.W, P[u], P[v], h, ends)
    return variance_of_state_mean(ends.W, ends.P[0], ends.P[1], h, ends)


@lean
def draw_state_pair(particles, P_u, P_v, last_u, last_v):
    """Multiply the weights by R; draw both ends from probabilities `P_u` and `P_v` (K, N) and the factors."""
    ends, W, level, K = particles.ends, particles.W, particles.uniform, P_u.shape[0]
    f, rows, cells, R, first = ends.factors, ends.rows, ends.cells, ends.R, ends.states[0]
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
    draw_states(cells, level, last_v, ends.states[1])


@questions.redraw_pair.register(StateParticles)
def redraw_states_of_pair(particles, field, e, old, new):
    """Draw the first end, then the second given the first."""
    u, v, ends, tables = field.edges[e, 0], field.edges[e, 1], particles.ends, particles.tables
    fill_factors(new, field.cells[e], ends.factors)
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


@questions.add_move.register(StateParticles)
def add_move_of_states(particles, field, w, beta, active, D):
    """Add products of the features, and tables of the nodes."""
    T, tables, F, G = particles.T, particles.by_state, field.features, field.basis
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
        particles.by_state,
        particles.ends.product,
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
