"""Joint moves of all present edges and the biases under a pseudo-likelihood: Hamiltonian Monte Carlo.

Coordinates are the weights of the present edges and the centred biases of `pseudo_edges`; mass matrices
are diagonal. Leapfrog steps and the acceptance rule are those of Neal (2011, sec. 5.2-5.3).
"""

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.edge_slab import log_density, slope_and_precision
from pymc_mrf.kernels.pseudo_edges import dot, refresh, total


@jit
def log_posterior(field, active, w, b, slab, bias):
    """Log of prior times pseudo-likelihood, up to a constant; the state of `field` is up to date."""
    value = 0.0
    for i in range(b.shape[0]):
        value += dot(field.T[i], field.L[i]) - field.A[i] + log_density(bias, i, b[i])
    for e in active:
        value += log_density(slab, 0, w[e])
    return value


@jit
def gradient(field, active, w, b, slab, bias, n_biases, out):
    """Approximate gradient by the coordinates (k + n_biases,) at the state of `field`."""
    k = active.shape[0]
    for i in range(n_biases):
        out[k + i] = slope_and_precision(bias, i, b[i])[0]
    for a in range(k):
        e = active[a]
        u, v = field.edges[e, 0], field.edges[e, 1]
        out[a] = dot(field.R[u], field.Z[v]) + dot(field.R[v], field.Z[u])
        out[a] += slope_and_precision(slab, 0, w[e])[0]
        if n_biases > 0:  # so far the slopes of the biases' prior
            out[a] -= field.m[v] * out[k + u] + field.m[u] * out[k + v]
    for i in range(n_biases):
        out[k + i] += field.c * total(field.R[i])


@jit
def move_to(field, active, q, n_biases, w, b, beta):
    """Set weights, biases and the state of `field` from the coordinates q (k + n_biases,)."""
    k = active.shape[0]
    for a in range(k):
        w[active[a]] = q[a]
    if n_biases > 0:
        beta[:] = q[k:]
        b[:] = beta
        for e in active:
            b[field.edges[e, 0]] -= w[e] * field.m[field.edges[e, 1]]
            b[field.edges[e, 1]] -= w[e] * field.m[field.edges[e, 0]]
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
