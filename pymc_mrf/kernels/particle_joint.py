"""Joint moves of all present edges and the biases with a likelihood estimated from weighted particles.

With the particles of theta held fixed, A(theta') - A(theta) is estimated by the log of the weighted mean of
exp((theta' - theta) . f(z)) (Geyer, 1991), whose gradient is the mean of f under the weights that belong to
theta'. Hamiltonian Monte Carlo (Neal, 2011) is exact for that fixed function. It is trusted as far as the
effective size of the weights allows, so that a trajectory is cut into pieces: after each the particles take
the weights over and move. The momentum goes on from piece to piece; after a rejection it is that of the
start of the piece, reversed (Horowitz, 1991).

The mean of f over the particles has an error whose variance, relative to that of the mean over the data, is
n / m with m the effective size. Each piece takes up the force of another error, and parameters would be too
dispersed, in the limit of independent errors by that share of the variance. As in `particle_groups`, n^2 / m
further observations correct for it, here with the mean of f at the start of the piece: for Gaussian
likelihoods and independent errors that is exact for pieces of any length, short ones with the momentum kept
or long ones without, because the further observations then take out the energy that the errors put in.

Coordinates are those of `pseudo_joint`: weights of the present edges and centred biases; mass matrices are
diagonal.
"""

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.binary_particles import (
    effective_size,
    fill_product,
    normalise,
    refresh,
    resample,
    sweep_particles,
)
from pymc_mrf.kernels.edge_slab import log_density, set_parameters, slope_and_precision
from pymc_mrf.kernels.random_lanes import seed_lanes
from pymc_mrf.kernels.vector_sums import LOWEST, dot, exp_negative, total


@jit
def log_prior(active, w, b, prior, n_biases):
    """Log prior density of present edges and biases."""
    value = 0.0
    for e in active:
        value += log_density(prior.slab, 0, w[e])
    for i in range(n_biases):
        value += log_density(prior.bias, i, b[i])
    return value


@jit
def add_move(field, active, dq, n_biases, T, D):
    """Add dq . f(z) to D (N,) for every particle; return the part that is the same for all."""
    k, c, low = active.shape[0], field.y[1] - field.y[0], field.y[0]
    d = T.shape[0]
    by_node, constant = np.zeros(d), 0.0
    for i in range(n_biases):
        by_node[i] = c * dq[k + i]
        constant += low * dq[k + i]
    for a in range(k):
        e = active[a]
        u, v, cells = field.edges[e, 0], field.edges[e, 1], field.cells[e]
        constant += dq[a] * cells[0]
        by_node[u] += dq[a] * (cells[2] - cells[0])
        by_node[v] += dq[a] * (cells[1] - cells[0])
        x, t_u, t_v = dq[a] * c * c, T[u], T[v]
        for j in range(D.shape[0]):
            D[j] += x * t_u[j] * t_v[j]
    for i in range(d):
        x, t = by_node[i], T[i]
        if x != 0.0:
            for j in range(D.shape[0]):
                D[j] += x * t[j]
    return constant


@jit
def reweight(W, D, size, out):
    """Write W exp(D - max D) to `out`; return the log of sum(W exp(D)) / sum(W)."""
    top = D[:size].max()
    for j in range(D.shape[0]):
        out[j] = exp_negative(min(max(D[j] - top, LOWEST), 0.0))  # padding may lie above the top
    for j in range(D.shape[0]):
        out[j] *= W[j]
    return top + np.log(total(out) / total(W))


@jit
def expected_features(field, active, n_biases, W, T, product, out):
    """Weighted means of f by the coordinates (k + n_biases,); `product` (N,) is scratch."""
    k, c, low, d = active.shape[0], field.y[1] - field.y[0], field.y[0], T.shape[0]
    mean, sum_W = np.empty(d), total(W)
    for i in range(d):
        mean[i] = dot(W, T[i]) / sum_W
    owner = -1
    for a in range(k):
        e = active[a]
        u, v, cells = field.edges[e, 0], field.edges[e, 1], field.cells[e]
        if owner != u:
            fill_product(W, T[u], product)
            owner = u
        out[a] = cells[0] + (cells[2] - cells[0]) * mean[u] + (cells[1] - cells[0]) * mean[v]
        out[a] += c * c * dot(product, T[v]) / sum_W
    for i in range(n_biases):
        out[k + i] = low + c * mean[i]


@jit
def gradient(field, active, w, b, prior, n_biases, n, s, mean, out):
    """Gradient by the coordinates (k + n_biases,): n rows, sums s of f, means of f in the field."""
    k = active.shape[0]
    for i in range(n_biases):
        out[k + i] = slope_and_precision(prior.bias, i, b[i])[0]
    for a in range(k):
        e = active[a]
        u, v = field.edges[e, 0], field.edges[e, 1]
        out[a] = s[a] - n * mean[a] + slope_and_precision(prior.slab, 0, w[e])[0]
        if n_biases > 0:  # so far the slopes of the biases' prior
            out[a] -= field.m[v] * out[k + u] + field.m[u] * out[k + v]
    for i in range(k, k + n_biases):
        out[i] += s[i] - n * mean[i]


@jit
def hamiltonian_moves(
    field,
    particles,
    active,
    w,
    b,
    prior,
    n_biases,
    inverse_mass,
    step,
    n_steps,
    n_pieces,
    least_size,
    n_sweeps,
    tally,
    rng,
    coordinates,
):
    """One trajectory in pieces; returns the probability that all are accepted.

    Pieces refused because the effective size was too small count in `tally` alone.

    Parameters
    ----------
    field : ExactField
    particles : Particles
        Those of w and b; changed with them.
    active : (k,) int64 array
        Present edges, in the order of the field.
    w, b : (r,), (d,) arrays, changed in place
    prior : EdgePrior
    n_biases : int
        d if the biases move, else 0.
    inverse_mass : (k + n_biases,) array
    step : float
        Leapfrog step.
    n_steps, n_pieces : int
        Leapfrog steps per piece, pieces.
    least_size : float
        A piece may not end where the effective size is smaller.
    n_sweeps : int
        Of the particles after every piece.
    tally : Tally, changed in place
    rng : numpy.random.Generator
    coordinates : (8, k + n_biases) array
        Room for work.
    """
    seed_lanes(particles.lanes, rng)
    k, T, W = active.shape[0], particles.T, particles.W
    D, moved, product = particles.room[7], particles.room[8], particles.room[9]
    q, start, momentum = coordinates[0], coordinates[1], coordinates[2]
    slope, dq, s, mean = coordinates[3], coordinates[4], coordinates[5], coordinates[6]
    first = coordinates[7]  # momentum at the start of a piece
    beta = particles.beta
    for a in range(k):
        q[a] = w[active[a]]
    q[k:] = beta[:n_biases]
    for a in range(q.shape[0]):
        momentum[a] = rng.standard_normal() / np.sqrt(inverse_mass[a])
    all_accepted = 1.0
    for _ in range(n_pieces):
        size = effective_size(W)
        tally.least_size[0] = min(tally.least_size[0], size)
        if size < 0.5 * (least_size + particles.size):  # room for this piece
            resample(particles, rng)
            sweep_particles(field, particles, n_sweeps)
            tally.resamplings[0] += 1
            size = float(particles.size)
        start[:] = q
        first[:] = momentum
        D[:] = 0.0
        constant, log_ratio = 0.0, -log_prior(active, w, b, prior, n_biases)
        expected_features(field, active, n_biases, W, T, product, mean)
        more = field.n * field.n / size
        for a in range(k):
            s[a] = field.s[active[a]] + more * mean[a]
        for i in range(n_biases):
            s[k + i] = field.t[i] + more * mean[k + i]
        n = field.n + more
        gradient(field, active, w, b, prior, n_biases, n, s, mean, slope)
        for a in range(q.shape[0]):
            log_ratio += 0.5 * momentum[a] ** 2 * inverse_mass[a]
        A = 0.0
        for _ in range(n_steps):
            for a in range(q.shape[0]):
                momentum[a] += 0.5 * step * slope[a]
                dq[a] = step * inverse_mass[a] * momentum[a]
                q[a] += dq[a]
            constant += add_move(field, active, dq, n_biases, T, D)
            A = constant + reweight(W, D, particles.size, moved)
            set_parameters(field, active, q, n_biases, w, b, beta)
            expected_features(field, active, n_biases, moved, T, product, mean)
            gradient(field, active, w, b, prior, n_biases, n, s, mean, slope)
            for a in range(q.shape[0]):
                momentum[a] += 0.5 * step * slope[a]
        log_ratio += log_prior(active, w, b, prior, n_biases) - n * A
        for a in range(q.shape[0]):
            log_ratio += (q[a] - start[a]) * s[a] - 0.5 * momentum[a] ** 2 * inverse_mass[a]
        accept = np.exp(min(log_ratio, 0.0)) if log_ratio == log_ratio else 0.0
        for a in range(k):
            if q[a] == 0.0:  # would be an absent edge
                accept = 0.0
        all_accepted *= accept
        if not effective_size(moved) >= least_size:  # the estimate is not trusted so far
            accept = 0.0
            tally.refused[0] += 1
        if rng.random() < accept:
            W[:] = moved
            particles.w[:] = w
            normalise(W, particles.size)
            refresh(field, particles)
        else:
            q[:] = start
            set_parameters(field, active, q, n_biases, w, b, beta)
            for a in range(q.shape[0]):
                momentum[a] = -first[a]
        sweep_particles(field, particles, n_sweeps)
    return all_accepted
