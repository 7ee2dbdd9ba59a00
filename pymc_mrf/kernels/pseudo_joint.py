"""Joint moves of all present edges and the biases under a pseudo-likelihood: Hamiltonian Monte Carlo.

Coordinates are the weights of the present edges and the centred biases of `edge_slab`; mass matrices
are diagonal. Leapfrog steps and the acceptance rule are those of Neal (2011, sec. 5.2-5.3).
"""

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.edge_slab import SERIES, log_density, set_parameters, slope_and_precision
from pymc_mrf.kernels.pseudo_edges import refresh
from pymc_mrf.kernels.slab_shape import scalars, simple_log_density, simple_slope_and_precision
from pymc_mrf.kernels.vector_sums import dot, pair_dot, total


@jit
def slab_sum(active, w, slab):
    """Sum of the log prior densities of the present weights."""
    value = 0.0
    if slab.kind == SERIES:
        for e in active:
            value += log_density(slab, 0, w[e])
        return value
    shape = scalars(slab, 0)
    for e in active:
        value += simple_log_density(shape, w[e])
    return value


@jit
def learn_curvature(active, w, slab, weight, curvature):
    """Move `curvature` (r,) of present edges towards curvatures of the slab relative to its centre."""
    centre = slope_and_precision(slab, 0, slab.location[0])[1]
    for e in active:
        here = slope_and_precision(slab, 0, w[e])[1]
        curvature[e] += weight * (here / centre - curvature[e])


@jit
def slab_slopes(active, w, slab, out):
    """Fill out[:k] with the derivatives of the log prior densities of the present weights."""
    if slab.kind == SERIES:
        for a in range(active.shape[0]):
            out[a] = slope_and_precision(slab, 0, w[active[a]])[0]
        return
    shape = scalars(slab, 0)
    for a in range(active.shape[0]):
        out[a] = simple_slope_and_precision(shape, w[active[a]])[0]


@jit
def bias_sum(b, bias):
    """Sum of the log prior densities of all biases."""
    value = 0.0
    for i in range(b.shape[0]):
        if bias.kind == SERIES:
            value += log_density(bias, i, b[i])
        else:
            value += simple_log_density(scalars(bias, i), b[i])
    return value


@jit
def bias_slopes(b, bias, out):
    """Fill `out` (d,) with the derivatives of the log prior densities of all biases."""
    for i in range(b.shape[0]):
        if bias.kind == SERIES:
            out[i] = slope_and_precision(bias, i, b[i])[0]
        else:
            out[i] = simple_slope_and_precision(scalars(bias, i), b[i])[0]


@jit
def log_posterior(field, active, w, b, slab, bias):
    """Log of prior times pseudo-likelihood, up to a constant; the state of `field` is up to date."""
    value = slab_sum(active, w, slab) + bias_sum(b, bias)
    for i in range(b.shape[0]):
        value += dot(field.T[i], field.L[i]) - field.A[i]
    return value


@jit
def gradient(field, active, w, b, slab, bias, n_biases, out):
    """Approximate gradient by the coordinates (k + n_biases,) at the state of `field`."""
    k = active.shape[0]
    slab_slopes(active, w, slab, out)
    if n_biases > 0:
        bias_slopes(b, bias, out[k:])
    for a in range(k):
        e = active[a]
        u, v = field.edges[e, 0], field.edges[e, 1]
        out[a] += pair_dot(field.R[u], field.Z[v], field.R[v], field.Z[u])
        if n_biases > 0:  # so far the slopes of the biases' prior
            out[a] -= field.m[v] * out[k + u] + field.m[u] * out[k + v]
    for i in range(n_biases):
        out[k + i] += field.c * total(field.R[i])


@jit
def move_to(field, active, q, n_biases, w, b, beta):
    """Set weights, biases and the state of `field` from the coordinates q (k + n_biases,)."""
    set_parameters(field, active, q, n_biases, w, b, beta)
    refresh(field, w, beta)


@jit
def hamiltonian_move(
    field, active, w, b, beta, slab, bias, n_biases, inverse_mass, step, n_steps, rng, work
):
    """One trajectory; returns the acceptance probability. The state of `field` is up to date before.

    Parameters
    ----------
    field : PseudoField
    active : (k,) int64 array
        Present edges.
    w, b, beta : (r,), (d,), (d,) arrays, changed in place
    slab, bias : Densities
    n_biases : int
        d if the biases move, else 0.
    inverse_mass : (k + n_biases,) array
    step : float
        Leapfrog step.
    n_steps : int
    rng : numpy.random.Generator
    work : (4, k + n_biases) array
    """
    k = active.shape[0]
    q, start, momentum, slope = work[0], work[1], work[2], work[3]
    for a in range(k):
        q[a] = w[active[a]]
    for i in range(n_biases):
        q[k + i] = beta[i]
    start[:] = q
    before = log_posterior(field, active, w, b, slab, bias)
    gradient(field, active, w, b, slab, bias, n_biases, slope)
    for a in range(q.shape[0]):
        momentum[a] = rng.standard_normal() / np.sqrt(inverse_mass[a])
        before -= 0.5 * momentum[a] ** 2 * inverse_mass[a]
    for _ in range(n_steps):
        for a in range(q.shape[0]):
            momentum[a] += 0.5 * step * slope[a]
            q[a] += step * inverse_mass[a] * momentum[a]
        move_to(field, active, q, n_biases, w, b, beta)
        gradient(field, active, w, b, slab, bias, n_biases, slope)
        for a in range(q.shape[0]):
            momentum[a] += 0.5 * step * slope[a]
    after = log_posterior(field, active, w, b, slab, bias)
    for a in range(q.shape[0]):
        after -= 0.5 * momentum[a] ** 2 * inverse_mass[a]
    log_ratio = after - before
    accept = np.exp(min(log_ratio, 0.0)) if log_ratio == log_ratio else 0.0
    # a weight of exactly zero would be an absent edge
    for a in range(k):
        if q[a] == 0.0:
            accept = 0.0
    if not rng.random() < accept:
        move_to(field, active, start, n_biases, w, b, beta)
    return accept
