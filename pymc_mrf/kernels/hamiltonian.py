"""Hamiltonian moves of all present edges and the biases of a field, whatever the likelihood.

Coordinates are the weights of the present edges and the centred biases of `edge_moves`; mass matrices are
diagonal. Leapfrog steps and the acceptance rule are those of Neal (2011, sec. 5.2-5.3). The momentum is the
caller's: drawn anew, or partially (Horowitz, 1991), for which it is reversed after a rejection.
"""

from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.by_type import by_type
from pymc_mrf.kernels.densities import density_of, log_density, slope_and_precision
from pymc_mrf.kernels.vector_sums import copy


class Coordinates(NamedTuple):
    """Place and momentum of a trajectory, and room for its start: arrays (k + n_biases,).

    Attributes
    ----------
    place, momentum, slope : arrays
    first_place, first_momentum : arrays
        At the start.
    inverse_mass : array
    """

    place: np.ndarray
    momentum: np.ndarray
    slope: np.ndarray
    first_place: np.ndarray
    first_momentum: np.ndarray
    inverse_mass: np.ndarray


@by_type
def add_slopes(view: Any, active: Any, slope: Any) -> Any:
    """Log-likelihood at the view's parameters up to a constant; its slopes are added to `slope`.

    `slope` (k + n_biases,): by the weights of the edges `active` (k,) and by the centred biases.
    """


@by_type
def is_trusted(view: Any) -> Any:
    """Whether the likelihood is known well enough where the trajectory ended."""


def allocate_coordinates(inverse_mass: np.ndarray) -> Coordinates:
    """Room for trajectories with this diagonal of the inverse mass matrix, (k + n_biases,)."""
    return Coordinates._make([*np.zeros((5, len(inverse_mass))), inverse_mass])


@lean
def prior_precisions(prior, out):
    """Return the curvature of the log slab at its centre; those of the biases go to `out` (d,)."""
    for i in range(out.shape[0]):
        density = density_of(prior.bias, i)
        out[i] = slope_and_precision(density, density.location)[1]
    return slope_and_precision(prior.slab, prior.slab.location)[1]


@lean
def fill_relative_curvatures(active, w, slab, out):
    """Curvature of the slab at the weights `w` (r,) of the edges `active` (k,), relative to its centre.

    Into their entries of `out` (r,).
    """
    centre = slope_and_precision(slab, slab.location)[1]
    for e in active:
        out[e] = slope_and_precision(slab, w[e])[1] / centre


@lean
def draw_momentum(x, rng):
    """Draw the momentum of `Coordinates` anew."""
    for a in range(x.momentum.shape[0]):
        x.momentum[a] = rng.standard_normal() / np.sqrt(x.inverse_mass[a])


@lean
def kinetic_energy(x):
    """Half of the squared momentum, over the masses."""
    value = 0.0
    for a in range(x.momentum.shape[0]):
        value += 0.5 * x.momentum[a] ** 2 * x.inverse_mass[a]
    return value


@lean
def set_parameters(view, active, place):
    """Weights and biases of the view from coordinates (k + n_biases,)."""
    field, k = view.field, active.shape[0]
    for a in range(k):
        view.w[active[a]] = place[a]
    if view.n_biases > 0:
        copy(place[k:], view.beta)
        copy(view.beta, view.b)
        for e in active:
            view.b[field.edges[e, 0]] -= view.w[e] * field.m[field.edges[e, 1]]
            view.b[field.edges[e, 1]] -= view.w[e] * field.m[field.edges[e, 0]]


@lean
def log_posterior(view, active, prior, slope):
    """Log posterior at the view's parameters, up to a constant; its gradient, `slope` (k + n_biases,).

    The gradient is that of a smoother density where a prior has a corner.
    """
    k, value = active.shape[0], 0.0
    for i in range(view.n_biases):
        density = density_of(prior.bias, i)
        value += log_density(density, view.b[i])
        slope[k + i] = slope_and_precision(density, view.b[i])[0]
    for a in range(k):
        e = active[a]
        value += log_density(prior.slab, view.w[e])
        slope[a] = slope_and_precision(prior.slab, view.w[e])[0]
        if view.n_biases > 0:  # so far the slopes of the biases' prior: at constant centred biases
            u, v = view.field.edges[e, 0], view.field.edges[e, 1]
            slope[a] -= view.field.m[v] * slope[k + u] + view.field.m[u] * slope[k + v]
    return value + add_slopes(view, active, slope)


@lean
def hamiltonian_move(view, active, prior, x, step, n_steps, rng):
    """One trajectory from the view's parameters, which are changed in place; its acceptance probability.

    Parameters
    ----------
    view : a view
        Its centred biases ``beta`` belong to ``w`` and ``b``.
    active : (k,) int64 array
        Present edges.
    prior : EdgePrior
    x : Coordinates
        With the momentum at the start; after a rejection it is reversed.
    step : float
        Leapfrog step.
    n_steps : int
    rng : numpy.random.Generator

    Returns
    -------
    accept : float
    trusted, accepted : bool
    """
    k = active.shape[0]
    for a in range(k):
        x.place[a] = view.w[active[a]]
    copy(view.beta, x.place[k:])
    copy(x.place, x.first_place)
    copy(x.momentum, x.first_momentum)
    log_ratio = kinetic_energy(x) - log_posterior(view, active, prior, x.slope)
    after = 0.0
    for _ in range(n_steps):
        for a in range(x.place.shape[0]):
            x.momentum[a] += 0.5 * step * x.slope[a]
            x.place[a] += step * x.inverse_mass[a] * x.momentum[a]
        set_parameters(view, active, x.place)
        after = log_posterior(view, active, prior, x.slope)
        for a in range(x.place.shape[0]):
            x.momentum[a] += 0.5 * step * x.slope[a]
    log_ratio += after - kinetic_energy(x)
    accept = np.exp(min(log_ratio, 0.0)) if log_ratio == log_ratio else 0.0
    for a in range(k):
        if x.place[a] == 0.0:  # would be an absent edge
            accept = 0.0
    trusted = is_trusted(view)
    accepted = trusted and rng.random() < accept
    if not accepted:
        set_parameters(view, active, x.first_place)
        for a in range(x.momentum.shape[0]):
            x.momentum[a] = -x.first_momentum[a]
    return accept, trusted, accepted
