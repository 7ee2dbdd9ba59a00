"""Moves of the biases of single nodes under `ParticleEdges`: of nodes with a state that is rarely seen.

Given all others, node i is in state a with a probability P_a that its local fields tell in every particle.
After a change of its biases that adds h_a to the log potentials of its states, the partition function is
multiplied by sum_a p_a exp(h_a), p the mean of P in the field: estimated as well where no particle is in the
state as where many are. So the likelihood is known in closed form along every line of the node's biases, all
other parameters fixed, and the posterior is drawn from by slices (Neal, 2003, figs. 3 and 5). The particles
follow as in `particle_edges`: their weights are multiplied by sum_a P_a exp(h_a), and the node is drawn anew.

With the p of the field the moves leave the posterior invariant, exactly, whatever the prior: the width of the
first interval does not depend on the place. With p from particles they leave an approximation of it
invariant, whose error vanishes as particles increase. The variance of an estimated mean of h, relative to
that of the mean over n observations, is n var(mean of h) / var(h): so many times n further observations with
the mean at the start of the move correct for it, as in `particle_joint`. For Gaussian likelihoods and errors
that are independent from move to move that is exact; errors of particles that have hardly moved are not.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.log_scores import tilted_mean
from pymc_mrf.kernels.priors.densities import density_of, log_density
from pymc_mrf.kernels.views.particle_edges import mean_and_variance, renew
from pymc_mrf.kernels.views.weighted_particles import (
    LEAST_CELL,
    draw_node,
    fill_shares,
    fill_uniform,
    normalise_weights,
    push,
    tilt,
    update_probabilities,
    variance_of_share,
)

WIDTH = 4.0  # of the first interval about a slice, in log odds
MOST_STEPS = 20  # by which it is widened
MOST_TRIES = 100  # of a draw from it


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
    view : ParticleEdges
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
