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

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.edges.hamiltonian import draw_momentum, hamiltonian_move
from pymc_mrf.kernels.random_lanes import seed_lanes
from pymc_mrf.kernels.vector_sums import copy
from pymc_mrf.kernels.views.particle_edges import renew
from pymc_mrf.kernels.views.weighted_particles import (
    effective_size,
    fill_means,
    normalise_weights,
    refresh_particles,
    sweep,
)


@lean
def begin_piece(view, active):
    """Resample if there is little room for a piece of a joint move; add its further observations."""
    particles, joint, field, data = view.particles, view.joint, view.field, view.data
    tally, size = view.tally[0], effective_size(particles.W)
    tally.least_size = min(tally.least_size, size)
    if size < 0.5 * (view.least_size + particles.size):
        renew(view)
        size = float(particles.size)
    more = data.n[0] * data.n[0] / size
    fill_means(particles, field, active, particles.W, joint.edge_mean, joint.node_mean)
    for e in active:
        joint.s[e] = data.s[e] + more * joint.edge_mean[e]
    for i in range(view.n_biases):
        joint.t[i] = data.t[i] + more * joint.node_mean[i]
    joint.n[0] = data.n[0] + more


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
        accept, trusted, accepted = hamiltonian_move(view, active, prior, x, step, n_steps, rng, False)
        all_accepted *= accept
        view.tally[0].refused += not trusted
        if accepted:
            copy(view.joint.W, particles.W)
            copy(view.w, particles.w)
            copy(view.beta, particles.beta)
            normalise_weights(particles.W, particles.size)
            refresh_particles(particles, view.field)
        sweep(particles, view.field, 1)
    return all_accepted
