"""Hamiltonian moves of all present edges and the biases of a field, whatever the likelihood.

Coordinates are the weights of the present edges, `active` (k,), and the centred biases of `edge_moves`. Mass
matrices are diagonal, but for blocks of the biases of each node: thresholds of states are correlated, as all
are relative to the first, which may be rare. Leapfrog steps and the acceptance rule are those of Neal (2011,
sec. 5.2-5.3). The momentum is the caller's: drawn anew, or partially (Horowitz, 1991), for which it is
reversed after a rejection.

Where a normal approximation of the posterior is known, `NormalCoordinates`, its trajectories are circles and
are followed exactly, and leapfrog steps are those of the rest (Shahbaba et al., 2014).
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

from pymc_mrf.kernels._jit import by_type, lean
from pymc_mrf.kernels.metropolis import metropolis
from pymc_mrf.kernels.priors.densities import log_density, slope_and_precision
from pymc_mrf.kernels.vector_sums import copy
from pymc_mrf.kernels.views.questions import (
    fill_bias_precisions,
    is_trusted,
    set_parameters,
    without_slab,
)


class Coordinates(NamedTuple):
    """Place and momentum of a trajectory, and room for its start: arrays (k + n_biases,).

    Attributes
    ----------
    place, momentum, slope : arrays
    first_place, first_momentum : arrays
        At the start.
    inverse_mass : array
        Diagonal; 1 for biases whose `roots` are given, the momenta being those of L^-1 b then.
    roots : (d, q, q) array, or (0, 0, 0)
        L, lower triangular, L L' being the block of the inverse mass matrix.
    """

    place: np.ndarray
    momentum: np.ndarray
    slope: np.ndarray
    first_place: np.ndarray
    first_momentum: np.ndarray
    inverse_mass: np.ndarray
    roots: np.ndarray


class NormalCoordinates(NamedTuple):
    """Place of a trajectory about a normal density, and room for its start: arrays (k + n_biases,).

    Attributes
    ----------
    place, first_place : arrays
    momentum, slope, first_momentum : arrays
        By `deviation`.
    centre : array
        Mean of the normal density.
    deviation : array
        L^-1 (place - centre).
    root : (k + n_biases, k + n_biases) array
        L, lower triangular, L L' being the covariance of the normal density.
    """

    place: np.ndarray
    momentum: np.ndarray
    slope: np.ndarray
    first_place: np.ndarray
    first_momentum: np.ndarray
    centre: np.ndarray
    deviation: np.ndarray
    root: np.ndarray


def normal_coordinates(shift: np.ndarray, precision: np.ndarray) -> NormalCoordinates:
    """Make coordinates about a normal density of this `precision` (N, N).

    `shift` (N,) is the precision times the mean.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the precision is not positive definite.
    """
    # the inverse of the factor of the reversed matrix is triangular on the right side; LAPACK by itself, as
    # functions around it take longer than it does for a few parameters
    factor, failed = dpotrf(precision[::-1, ::-1], lower=True)
    if failed:
        raise np.linalg.LinAlgError("the precision of a normal approximation is not positive definite")
    inverse, _ = dtrtri(factor, lower=True)
    root = np.ascontiguousarray(inverse.T[::-1, ::-1])
    room = np.zeros((5, len(shift)))
    return NormalCoordinates._make([*room, root @ (shift @ root), np.zeros(len(shift)), root])


def allocate_coordinates(inverse_mass: np.ndarray) -> Coordinates:
    """Room for trajectories with this diagonal of the inverse mass matrix, (k + n_biases,)."""
    return Coordinates._make([*np.zeros((5, len(inverse_mass))), inverse_mass, np.zeros((0, 0, 0))])


@lean
def prior_precisions(prior, out):
    """Return the curvature of the log slab at its centre; those of the biases go to `out` (d q,)."""
    fill_bias_precisions(prior.bias, out)
    return slope_and_precision(prior.slab, prior.slab.location)[1]


@lean
def fill_relative_curvatures(active, w, slab, out):
    """Curvature of the slab at the weights `w` (r,) of the edges `active` (k,), relative to its centre.

    Into their entries of `out` (r,).
    """
    centre = slope_and_precision(slab, slab.location)[1]
    for e in active:
        out[e] = slope_and_precision(slab, w[e])[1] / centre


@by_type
def draw_momentum(x: Any, rng: Any) -> Any:
    """Draw the momentum of coordinates anew."""


@draw_momentum.register(Coordinates)
def draw_by_masses(x, rng):
    """Draw normal momenta whose variances are the masses."""
    for a in range(x.momentum.shape[0]):
        x.momentum[a] = rng.standard_normal() / np.sqrt(x.inverse_mass[a])


@draw_momentum.register(NormalCoordinates)
def draw_standard(x, rng):
    """All masses are 1."""
    for a in range(x.momentum.shape[0]):
        x.momentum[a] = rng.standard_normal()


@by_type
def kinetic_energy(x: Any) -> Any:
    """Half of the squared momentum, over the masses."""


@kinetic_energy.register(Coordinates)
def energy_by_masses(x):
    """Return half of the sum of the squared momenta, each over its mass."""
    value = 0.0
    for a in range(x.momentum.shape[0]):
        value += 0.5 * x.momentum[a] ** 2 * x.inverse_mass[a]
    return value


@kinetic_energy.register(NormalCoordinates)
def standard_energy(x):
    """All masses are 1."""
    value = 0.0
    for a in range(x.momentum.shape[0]):
        value += 0.5 * x.momentum[a] ** 2
    return value


@lean
def log_posterior(view, active, prior, slope):
    """Log posterior at the view's parameters, up to a constant; its gradient, `slope` (k + n_biases,).

    The gradient is that of a smoother density where a prior has a corner.
    """
    value = without_slab(view, active, prior.bias, slope)
    for a in range(active.shape[0]):
        value += log_density(prior.slab, view.w[active[a]])
        slope[a] += slope_and_precision(prior.slab, view.w[active[a]])[0]
    return value


@by_type
def turn_slopes(x: Any, k: Any) -> Any:
    """Slopes that momenta take up, from those by the place, whose first k entries are weights."""


@turn_slopes.register(Coordinates)
def turn_slopes_of_biases(x, k):
    """Slopes by L^-1 b from those by the biases b."""
    d, q = x.roots.shape[0], x.roots.shape[1]
    for i in range(d):
        for a in range(q):
            value = 0.0
            for b in range(a, q):
                value += x.roots[i, b, a] * x.slope[k + i * q + b]
            x.slope[k + i * q + a] = value


@turn_slopes.register(NormalCoordinates)
def turn_all_slopes(x, k):
    """Slopes by the deviations, from those by the place, without those of the normal density."""
    L, N = x.root, x.place.shape[0]
    for a in range(N):
        value = x.place[a] - x.centre[a]
        for b in range(a):
            value -= L[a, b] * x.deviation[b]
        x.deviation[a] = value / L[a, a]
    for b in range(N):  # rows of L one after the other: what comes later needs no entry that has changed
        slope = x.slope[b]
        x.slope[b] = L[b, b] * slope + x.deviation[b]
        for a in range(b):
            x.slope[a] += L[b, a] * slope


@by_type
def drift(x: Any, k: Any, step: Any) -> Any:
    """Move the place by a leapfrog step; `k` weights come before the biases."""


@drift.register(NormalCoordinates)
def drift_on_circles(x, k, step):
    """Follow the exact dynamics of the normal density."""
    cosine, sine = np.cos(step), np.sin(step)
    for a in range(x.place.shape[0]):
        z, p = x.deviation[a], x.momentum[a]
        x.deviation[a], x.momentum[a] = cosine * z + sine * p, cosine * p - sine * z
    for a in range(x.place.shape[0]):
        x.place[a] = x.centre[a]
        for b in range(a + 1):
            x.place[a] += x.root[a, b] * x.deviation[b]


@drift.register(Coordinates)
def drift_on_lines(x, k, step):
    """Move along lines, by the momentum over the masses."""
    d, q = x.roots.shape[0], x.roots.shape[1]
    for a in range(x.place.shape[0] - d * q):
        x.place[a] += step * x.inverse_mass[a] * x.momentum[a]
    for i in range(d):
        for a in range(q):
            for b in range(a + 1):
                x.place[k + i * q + a] += step * x.roots[i, a, b] * x.momentum[k + i * q + b]


@lean
def hamiltonian_move(view, active, prior, x, step, n_steps, rng, enters):
    """One trajectory from the view's parameters, which are changed in place; its acceptance probability.

    It is refused where the likelihood is trusted at one end and not at the other: a move that came back, but
    did not leave, would not be reversible.

    Parameters
    ----------
    view : a view
        Its centred biases ``beta`` belong to ``w`` and ``b``.
    active : (k,) int64 array
        Present edges.
    prior : EdgePrior
    x : Coordinates or NormalCoordinates
        With the momentum at the start; after a rejection it is reversed.
    step : float
        Leapfrog step.
    n_steps : int
    rng : numpy.random.Generator
    enters : bool
        Whether it may come back all the same, in tuning, from a start that is not trusted.

    Returns
    -------
    accept : float
    trusted, accepted : bool
        Whether the likelihood is trusted at the end; whether the trajectory was accepted.
    """
    k = active.shape[0]
    for a in range(k):
        x.place[a] = view.w[active[a]]
    copy(view.beta, x.place[k:])
    copy(x.place, x.first_place)
    copy(x.momentum, x.first_momentum)
    log_ratio = kinetic_energy(x) - log_posterior(view, active, prior, x.slope)
    begun = is_trusted(view)
    turn_slopes(x, k)
    after = 0.0
    for _ in range(n_steps):
        for a in range(x.place.shape[0]):
            x.momentum[a] += 0.5 * step * x.slope[a]
        drift(x, k, step)
        set_parameters(view, active, x.place)
        after = log_posterior(view, active, prior, x.slope)
        turn_slopes(x, k)
        for a in range(x.place.shape[0]):
            x.momentum[a] += 0.5 * step * x.slope[a]
    log_ratio += after - kinetic_energy(x)
    for a in range(k):
        if x.place[a] == 0.0:  # would be an absent edge
            log_ratio = -np.inf
    trusted = is_trusted(view)
    accepted, accept = metropolis(log_ratio, rng)
    accepted = accepted and (trusted == begun or (trusted and enters))
    if not accepted:
        set_parameters(view, active, x.first_place)
        for a in range(x.momentum.shape[0]):
            x.momentum[a] = -x.first_momentum[a]
    return accept, trusted, accepted
