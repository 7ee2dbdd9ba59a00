"""Moves of the biases of single nodes under `ParticleEdges`: of states that hardly any particle is in.

Given all others, node i is in state a with a probability P_a that its local fields tell in every particle.
After a change of its biases that adds h_a to the log potentials of its states, the partition function is
multiplied by the weighted mean of sum_a P_a exp(h_a): known as well where no particle is in the state as
where many are. So the posterior has a closed form along every line of the node's biases, and is drawn from
by slices (Neal, 2003). The particles follow as in `particle_edges`: their weights are multiplied by
sum_a P_a exp(h_a), and the node is drawn anew.

For the error of the mean of P further observations correct as in `particle_joint`.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.priors.densities import density_of, log_density, slope_and_precision
from pymc_mrf.kernels.views.particle_edges import mean_and_variance, renew
from pymc_mrf.kernels.views.weighted_particles import (
    TINY,
    draw_node,
    fill_shares,
    fill_uniform,
    normalise,
    push,
    tilt,
    update_probabilities,
    variance_of_share,
)

WIDTH = 3.0  # of the first interval about a slice, in standard deviations
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


def lines(directions: np.ndarray, basis: np.ndarray) -> Lines:
    """Lines along `directions` (L, q) of biases with this `basis` (q, K)."""
    return Lines(directions, directions @ basis, np.zeros(basis.shape[1]))


@lean
def log_posterior_along(line, b, bias, x):
    """Log posterior at `x` along the line from the biases `b` (d q,), up to a constant."""
    top, total, value = x * line.g[0], 0.0, 0.0
    for a in range(1, line.g.shape[0]):
        top = max(top, x * line.g[a])
    for a in range(line.g.shape[0]):
        total += line.p[a] * np.exp(x * line.g[a] - top)
    for k in range(line.direction.shape[0]):
        i = line.first + k
        value += log_density(density_of(bias, i), b[i] + x * line.direction[k])
    return value + x * line.t - line.n * (top + np.log(total))


@lean
def draw_along(line, b, bias, width, rng):
    """Draw a place along the line by a slice, from 0; the first interval has this `width`."""
    level = log_posterior_along(line, b, bias, 0.0) + np.log(1.0 - rng.random())
    low = -width * rng.random()
    high, left = low + width, int(MOST_STEPS * rng.random())
    for _ in range(left):
        if log_posterior_along(line, b, bias, low) <= level:
            break
        low -= width
    for _ in range(MOST_STEPS - 1 - left):
        if log_posterior_along(line, b, bias, high) <= level:
            break
        high += width
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
    particles, n, q = view.particles, view.field.n[0], lines.directions.shape[1]
    p = lines.p
    for i in nodes:
        update_probabilities(particles, view.field, i)
        for l in range(lines.directions.shape[0]):
            direction, g = lines.directions[l], lines.lifts[l]
            fill_shares(particles, i, p)
            mean, variance = mean_and_variance(p, g)
            more = n * n * variance_of_share(particles, i, g, mean) / max(variance, TINY)
            t, precision = more * mean, (n + more) * variance
            for k in range(q):
                t += direction[k] * view.field.t[i * q + k]
                density = density_of(bias, i * q + k)
                h = slope_and_precision(density, view.b[i * q + k])[1]
                precision += direction[k] * direction[k] * h
            line = Line(i * q, direction, g, p, t, n + more)
            x = draw_along(line, view.b, bias, WIDTH / np.sqrt(max(precision, TINY)), rng)
            for k in range(q):
                view.b[i * q + k] += x * direction[k]
                view.beta[i * q + k] += x * direction[k]
                particles.beta[i * q + k] += x * direction[k]
            tilt(particles, i, x, g)
        fill_uniform(particles.lanes, particles.uniform)
        draw_node(particles, view.field, i)
        push(particles, view.field, i, 0, -1)
        particles.owner[0] = -1
        size = normalise(particles.W, particles.size)
        view.tally[0].least_size = min(view.tally[0].least_size, size)
        if size < view.least_size:
            renew(view)
