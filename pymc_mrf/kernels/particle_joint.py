"""Joint moves of all present edges and the biases under `ParticleEdges`, in pieces.

A trajectory holds the particles fixed: A(theta') - A(theta) is estimated by the log of the weighted mean of
exp((theta' - theta) . f(z)) (Geyer, 1991), whose gradient is the mean of f under the weights that belong to
theta'. Hamiltonian Monte Carlo (Neal, 2011) is exact for that fixed function. It is trusted as far as the
effective size of the weights allows, so that a trajectory is cut into pieces: after each the particles take
the weights over and move. The momentum goes on from piece to piece; after a rejection it is that of the
start of the piece, reversed (Horowitz, 1991).

The mean of f over the particles has an error whose variance, relative to that of the mean over the data, is
n / m with m the effective size. Each piece takes up the force of another error, and parameters would be too
dispersed, in the limit of independent errors by that share of the variance. So n^2 / m further observations
correct for it, with the mean of f at the start of the piece: for Gaussian likelihoods and independent errors
that is exact for pieces of any length, short ones with the momentum kept or long ones without, because the
further observations then take out the energy that the errors put in.
"""

import numpy as np

from pymc_mrf.kernels import hamiltonian
from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.binary_particles import (
    effective_size,
    fill_product,
    normalise,
    refresh,
    sweep_particles,
)
from pymc_mrf.kernels.hamiltonian import draw_momentum, hamiltonian_move
from pymc_mrf.kernels.particle_edges import ParticleEdges, renew
from pymc_mrf.kernels.random_lanes import seed_lanes
from pymc_mrf.kernels.vector_sums import LOWEST, copy, dot, exp_negative, largest, total


@lean
def add_move(view, active, D):
    """Fill D (N,) with (theta' - theta) . f(z) of every particle, up to a constant, which is returned.

    theta' are the view's parameters, theta those that the particles stand for.
    """
    field, particles = view.field, view.particles
    T, c, low = particles.T, field.features[0, 1] - field.features[0, 0], field.features[0, 0]
    by_node, constant = view.joint.by_node, 0.0
    D[:], by_node[:] = 0.0, 0.0
    for i in range(view.n_biases):
        move = view.beta[i] - particles.beta[i]
        by_node[i] = c * move
        constant += low * move
    for e in active:
        u, v, cells = field.edges[e, 0], field.edges[e, 1], field.cells[e]
        move = view.w[e] - particles.w[e]
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


@lean
def reweight(W, D, size, out):
    """Write W exp(D - max D) to `out`, all (N,); return the log of sum(W exp(D)) / sum(W)."""
    top = largest(D[:size])
    for j in range(D.shape[0]):
        out[j] = exp_negative(min(max(D[j] - top, LOWEST), 0.0))  # padding may lie above the top
    for j in range(D.shape[0]):
        out[j] *= W[j]
    return top + np.log(total(out) / total(W))


@lean
def fill_means(view, active, W, edge_mean, node_mean):
    """Means under W (N,) of the statistics of the edges `active` (k,), and of all state values.

    Into `edge_mean` (r,) and `node_mean` (d,).
    """
    field, T, product = view.field, view.particles.T, view.joint.product
    c, low, sum_W, owner = (
        field.features[0, 1] - field.features[0, 0],
        field.features[0, 0],
        total(W),
        -1,
    )
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


@hamiltonian.add_slopes.register(ParticleEdges)
def add_slopes_by_particles(view, active, slope):
    """Log-likelihood relative to where the particles are, and its slopes; further observations included."""
    joint, particles, n, k = view.joint, view.particles, view.joint.n[0], active.shape[0]
    constant = add_move(view, active, joint.D)
    value = -n * (constant + reweight(particles.W, joint.D, particles.size, joint.W))
    fill_means(view, active, joint.W, joint.edge_mean, joint.node_mean)
    for a in range(k):
        e = active[a]
        value += (view.w[e] - particles.w[e]) * joint.s[e]
        slope[a] += joint.s[e] - n * joint.edge_mean[e]
    for i in range(view.n_biases):
        value += (view.beta[i] - particles.beta[i]) * joint.t[i]
        slope[k + i] += joint.t[i] - n * joint.node_mean[i]
    return value


@hamiltonian.is_trusted.register(ParticleEdges)
def particles_are_trusted(view):
    """As far as the effective size of the weights allows."""
    return effective_size(view.joint.W) >= view.least_size


@lean
def begin_piece(view, active):
    """Resample if there is little room for a piece of a joint move; add its further observations."""
    particles, joint, field = view.particles, view.joint, view.field
    tally, size = view.tally[0], effective_size(particles.W)
    tally.least_size = min(tally.least_size, size)
    if size < 0.5 * (view.least_size + particles.size):
        renew(view)
        size = float(particles.size)
    more = field.n[0] * field.n[0] / size
    fill_means(view, active, particles.W, joint.edge_mean, joint.node_mean)
    for e in active:
        joint.s[e] = field.s[e] + more * joint.edge_mean[e]
    for i in range(view.n_biases):
        joint.t[i] = field.t[i] + more * joint.node_mean[i]
    joint.n[0] = field.n[0] + more


@lean
def hamiltonian_pieces(view, active, prior, x, step, n_steps, n_pieces, rng):
    """One trajectory in pieces; returns the probability that all are accepted.

    Pieces refused because the effective size was too small count in the tally alone.

    Parameters
    ----------
    view : ParticleEdges
    active : (k,) int64 array
        Present edges, in the order of the field.
    prior : EdgePrior
    x : Coordinates
    step : float
        Leapfrog step.
    n_steps, n_pieces : int
        Leapfrog steps per piece, pieces.
    rng : numpy.random.Generator
    """
    particles = view.particles
    seed_lanes(particles.lanes, rng)
    draw_momentum(x, rng)
    all_accepted = 1.0
    for _ in range(n_pieces):
        begin_piece(view, active)
        accept, trusted, accepted = hamiltonian_move(view, active, prior, x, step, n_steps, rng)
        all_accepted *= accept
        view.tally[0].refused += not trusted
        if accepted:
            copy(view.joint.W, particles.W)
            copy(view.w, particles.w)
            copy(view.beta, particles.beta)
            normalise(particles.W, particles.size)
            refresh(view.field, particles)
        sweep_particles(view.field, particles, 1)
    return all_accepted
