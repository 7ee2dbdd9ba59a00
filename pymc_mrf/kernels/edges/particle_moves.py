"""Moves of all present edges and biases together, in pieces, and of single nodes' biases, by particles.

**All present edges and the biases.** A trajectory holds the particles fixed: A(theta') - A(theta) is
estimated by the log of the weighted mean of exp((theta' - theta) . f(z)) (Geyer, 1991), whose gradient is the
mean of f under the weights that belong to theta'. Hamiltonian Monte Carlo (Neal, 2011) is exact for that
fixed function. It is trusted as far as the effective size of the weights allows, so that a trajectory is cut
into pieces: after each the particles take the weights over and move. The momentum goes on from piece to
piece; after a rejection it is that of the start of the piece, reversed (Horowitz, 1991).

**The biases of a node with a state that is rarely seen.** Given all others, node i is in state a with a
probability P_a that its local fields tell in every particle. After a change of its biases that adds h_a to
the log potentials of its states, the partition function is multiplied by sum_a p_a exp(h_a), p the mean of P
in the field: estimated as well where no particle is in the state as where many are. So the likelihood is
known in closed form along every line of the node's biases, all other parameters fixed, and the posterior is
drawn from by slices (Neal, 2003, figs. 3 and 5). The particles follow as in `particle_edges`: their weights
are multiplied by sum_a P_a exp(h_a), and the node is drawn anew. With the p of the field these moves leave
the posterior invariant, exactly, whatever the prior: the width of the first interval does not depend on the
place. With p from particles they leave an approximation of it invariant, whose error vanishes as particles
increase.

**Noise.** An estimated mean of f, or of h, has an error whose variance, relative to that of the mean over the
n rows of data, is n / m: m is the effective size, or that by which the mean of h varies. Each piece, and each
move along a line, takes up the force of another error, and parameters would be too dispersed, in the limit of
independent errors by that share of the variance. So n^2 / m further observations correct for it, with the
mean at the start of the move: for Gaussian likelihoods and independent errors that is exact, for pieces of
any length, short ones with the momentum kept or long ones without, because the further observations then take
out the energy that the errors put in. Errors of particles that have hardly moved are not independent.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.edges.hamiltonian import draw_momentum, hamiltonian_move
from pymc_mrf.kernels.log_scores import tilted_mean
from pymc_mrf.kernels.priors.densities import density_of, log_density
from pymc_mrf.kernels.random_lanes import seed_lanes
from pymc_mrf.kernels.vector_sums import copy
from pymc_mrf.kernels.views.particle_edges import mean_and_variance, renew
from pymc_mrf.kernels.views.weighted_particles import (
    LEAST_CELL,
    draw_node,
    effective_size,
    fill_means,
    fill_shares,
    fill_uniform,
    normalise_weights,
    push,
    refresh_particles,
    sweep,
    tilt,
    update_probabilities,
    variance_of_share,
)

WIDTH = 4.0  # of the first interval about a slice, in log odds
MOST_STEPS = 20  # by which it is widened
MOST_TRIES = 100  # of a draw from it


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
    view : ParticleView
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


class Lines(NamedTuple):
    """L directions in which the biases of a node are moved one after the other.

    Attributes
    ----------
    directions : (L, q) array
    lifts : (L, K) array
        What they add to the log potentials of the states.
    p : (K,) array
        Scratch.
    """

    directions: np.ndarray
    lifts: np.ndarray
    p: np.ndarray


class Line(NamedTuple):
    """What is known along a line of the biases of a node.

    Attributes
    ----------
    first : int
        Place of the first of these biases among all.
    direction : (q,) array
    g, p : (K,) arrays
        What a unit adds to the log potentials of the states; probabilities of these.
    t, n : float
        Sum of g over the observations, and their number, further ones included.
    """

    first: int
    direction: np.ndarray
    g: np.ndarray
    p: np.ndarray
    t: float
    n: float


def lines(basis: np.ndarray) -> Lines:
    """Lines along each bias of a node, and all of them together, with this `basis` (q, K).

    The first state may be the rare one; where it has no bias of its own, all others lose or gain by it.
    """
    q, K = basis.shape
    directions = np.unique(np.vstack([np.eye(q), np.ones((1, q))]), axis=0)
    return Lines(directions, directions @ basis, np.zeros(K))


@lean
def log_posterior_along(line, b, bias, x):
    """Log posterior at `x` along the line from the biases `b` (d q,), up to a constant."""
    value = 0.0
    for k in range(line.direction.shape[0]):
        i = line.first + k
        value += log_density(density_of(bias, i), b[i] + x * line.direction[k])
    return value + x * line.t - line.n * tilted_mean(line.p, line.g, x)[0]


@lean
def draw_along(line, b, bias, rng):
    """Draw a place along the line by a slice, from 0."""
    level = log_posterior_along(line, b, bias, 0.0) + np.log(1.0 - rng.random())
    low = -WIDTH * rng.random()
    high, left = low + WIDTH, int(MOST_STEPS * rng.random())
    for _ in range(left):
        if log_posterior_along(line, b, bias, low) <= level:
            break
        low -= WIDTH
    for _ in range(MOST_STEPS - 1 - left):
        if log_posterior_along(line, b, bias, high) <= level:
            break
        high += WIDTH
    for _ in range(MOST_TRIES):
        x = low + (high - low) * rng.random()
        if log_posterior_along(line, b, bias, x) > level:
            return x
        if x < 0.0:
            low = x
        else:
            high = x
    return 0.0


@lean
def move_biases(view, nodes, lines, bias, rng):
    """Draw the biases of `nodes` along each of the `Lines`, and let the particles follow.

    Parameters
    ----------
    view : ParticleView
        Its parameters are changed in place.
    nodes : (k,) int64 array
    lines : Lines
    bias : densities of d q parameters
    rng : numpy.random.Generator
    """
    particles, n, q = view.particles, view.data.n[0], lines.directions.shape[1]
    p = lines.p
    for i in nodes:
        update_probabilities(particles, view.field, i)
        for l in range(lines.directions.shape[0]):
            direction, g = lines.directions[l], lines.lifts[l]
            fill_shares(particles, i, p)
            mean, variance = mean_and_variance(p, g)
            more = n * n * variance_of_share(particles, i, g, mean) / max(variance, LEAST_CELL)
            t = more * mean
            for k in range(q):
                t += direction[k] * view.data.t[i * q + k]
            x = draw_along(Line(i * q, direction, g, p, t, n + more), view.b, bias, rng)
            for k in range(q):
                view.b[i * q + k] += x * direction[k]
                view.beta[i * q + k] += x * direction[k]
                particles.beta[i * q + k] += x * direction[k]
            tilt(particles, i, x, g)
        fill_uniform(particles.lanes, particles.room.uniform)
        draw_node(particles, view.field, i)
        push(particles, view.field, i, 0, -1)
        particles.owned.node[0] = -1
        size = normalise_weights(particles.W, particles.size)
        view.tally[0].least_size = min(view.tally[0].least_size, size)
        if size < view.least_size:
            renew(view)
