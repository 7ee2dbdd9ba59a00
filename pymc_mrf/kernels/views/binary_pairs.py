"""Pairs of nodes in `binary_particles`: probabilities of their states without their edge, and new states.

Given all other nodes and without the edge both ends are independent, so that the four probabilities follow
from three sums over the particles.
"""

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.log_scores import fill_factors
from pymc_mrf.kernels.vector_sums import copy, dot_two, total
from pymc_mrf.kernels.views import weighted_particles as questions
from pymc_mrf.kernels.views.binary_particles import (
    OWNED,
    BinaryEnds,
    BinaryOwned,
    BinaryParticleRoom,
    BinaryParticles,
    add_neighbour,
    fill_sigmoid,
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


def allocate_binary(n_particles: int, indptr: np.ndarray, n_edges: int) -> BinaryParticles:
    """Particles without edges, all in the first state; parameters are for the caller to fill."""
    d, N = len(indptr) - 1, padded(n_particles)
    T, H, P = np.zeros((3, d, N))
    return BinaryParticles(
        **shared(n_particles, indptr, n_edges, d),
        T=T,
        H=H,
        P=P,
        owned=BinaryOwned(np.full(1, -1), np.zeros(N), np.zeros(1, OWNED)),
        ends=BinaryEnds(np.zeros(N), np.zeros((2, N)), np.zeros((2, N))),
        room=BinaryParticleRoom(
            **shared_room(n_particles),
            product=np.zeros(N),
            factors=np.zeros(4),
            flips=np.zeros((2, N)),
            by_node=np.zeros(d),
        ),
    )


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
    fill_factors(x, field.cells[e], particles.room.factors)
    divide_weights(particles.W, ends.P[0], ends.P[1], particles.room.factors, ends.W)


@lean
def own(particles, field, u):
    """Keep the products of W and P of node u."""
    owned, W = particles.owned, particles.W
    if owned.node[0] != u:
        update_probabilities(particles, field, u)
        fill_product(W, particles.P[u], owned.products)
        owned.node[0] = u
        owned.sums[0].W, owned.sums[0].product = total(W), total(owned.products)


@questions.fill_pair.register(BinaryParticles)
def fill_binary_pair(particles, field, e, x, p):
    """Take three sums: both ends are independent given the rest and without the edge."""
    u, v, owned, ends = field.edges[e, 0], field.edges[e, 1], particles.owned, particles.ends
    if x == 0.0:
        own(particles, field, u)
        update_probabilities(particles, field, v)
        sum_v, sum_uv = dot_two(particles.W, owned.products, particles.P[v])
        probabilities_of_pair(owned.sums[0].W, owned.sums[0].product, sum_v, sum_uv, p)
    else:
        product = particles.room.product
        strip(particles, field, e, x)
        fill_product(ends.W, ends.P[0], product)
        sum_v, sum_uv = dot_two(ends.W, product, ends.P[1])
        probabilities_of_pair(total(ends.W), total(product), sum_v, sum_uv, p)


@lean
def variance_of_binary_mean(W, P_u, P_v, h, product):
    """Variance of the estimated mean of `h` (4,); `W`, `P_u`, `P_v` and `product` (scratch), all (N,)."""
    slope_u, slope_v, slope_uv = h[2] - h[0], h[1] - h[0], h[3] - h[2] - h[1] + h[0]
    for j in range(W.shape[0]):
        product[j] = W[j] * (h[0] + slope_u * P_u[j] + (slope_v + slope_uv * P_u[j]) * P_v[j])
    return variance_of_sum(product, W)


@questions.variance_of_mean.register(BinaryParticles)
def variance_in_binary_pair(particles, field, e, x, h):
    P, ends, product = particles.P, particles.ends, particles.room.product
    if x == 0.0:
        u, v = field.edges[e, 0], field.edges[e, 1]
        return variance_of_binary_mean(particles.W, P[u], P[v], h, product)
    return variance_of_binary_mean(ends.W, ends.P[0], ends.P[1], h, product)


@lean
def draw_binary_pair(particles, P_u, P_v, u, v):
    """Multiply the weights by R; draw both ends from probabilities `P_u` and `P_v` (N,) and the factors."""
    W, room = particles.W, particles.room
    f, uniform, flips = room.factors, room.uniform, room.flips
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
    fill_factors(new, field.cells[e], particles.room.factors)
    fill_uniform(particles.lanes, particles.room.uniform)
    P_u, P_v = P[u], P[v]
    if old != 0.0:
        copy(ends.W, particles.W)
        copy(ends.H[0], particles.H[u])
        copy(ends.H[1], particles.H[v])
        P_u, P_v = ends.P[0], ends.P[1]
    draw_binary_pair(particles, P_u, P_v, u, v)
