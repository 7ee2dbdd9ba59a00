"""Joint moves of all present edges and the biases under the exact likelihood: Hamiltonian Monte Carlo.

The counterpart of `pseudo_joint`, with the same coordinates.
"""

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.edge_slab import (
    centred,
    set_parameters,
    slope_and_precision,
)
from pymc_mrf.kernels.enumerated_field import fill_marginals
from pymc_mrf.kernels.exact_edges import pack
from pymc_mrf.kernels.junction_tree import log_partition_and_marginals
from pymc_mrf.kernels.pseudo_joint import bias_slopes, bias_sum, slab_slopes, slab_sum
from pymc_mrf.kernels.split_field import log_partition_and_moments


@jit
def log_posterior_and_gradient(field, active, w, b, prior, n_biases, machine, out):
    """Log posterior up to a constant; its approximate gradient by (k weights, centred biases)."""
    r, k = w.shape[0], active.shape[0]
    marginals = machine.marginals
    if machine.enumerates:
        A = log_partition_and_moments(
            field.edges,
            field.y,
            w,
            b,
            machine.rows,
            machine.W,
            machine.P,
            machine.h,
            machine.moments,
        )
        fill_marginals(field.edges, machine.moments, marginals)
    else:
        pack(field, w, b, machine.work.tables)
        A = log_partition_and_marginals(machine.tree, machine.work.tables, machine.work, marginals)
    value = slab_sum(active, w, prior.slab) - field.n * A
    slab_slopes(active, w, prior.slab, out)
    if n_biases > 0:
        value += bias_sum(b, prior.bias)
        bias_slopes(b, prior.bias, out[k:])
    for a in range(k):
        e = active[a]
        u, v = field.edges[e, 0], field.edges[e, 1]
        m_u, m_v = field.m[u], field.m[v]
        # s refers to centred biases; the uncentred sum belongs to the weight alone
        value += w[e] * (field.s[e] + m_v * field.t[u] + m_u * field.t[v])
        mean = 0.0
        for j in range(4):
            mean += marginals[4 * e + j] * field.cells[e, j]
        out[a] += field.s[e] - field.n * mean
        if n_biases > 0:  # so far the slopes of the biases' prior
            out[a] -= m_v * out[k + u] + m_u * out[k + v]
    for i in range(b.shape[0]):
        value += b[i] * field.t[i]
        if n_biases > 0:
            p = marginals[4 * r + 2 * i : 4 * r + 2 * i + 2]
            mean = p[0] * field.y[0] + p[1] * field.y[1]
            out[k + i] += field.t[i] - field.n * mean
    return value


@jit
def inverse_masses(field, active, prior, information, n_biases, out):
    """Fill `out` (k + n_biases,) with variances of the weights and biases, roughly."""
    k = active.shape[0]
    slab_precision = slope_and_precision(prior.slab, 0, prior.slab.location[0])[1]
    for a in range(k):
        u, v = field.edges[active[a], 0], field.edges[active[a], 1]
        out[a] = 1.0 / (information[u] * information[v] / field.n + slab_precision)
    for i in range(n_biases):
        bias_precision = slope_and_precision(prior.bias, i, prior.bias.location[i])[1]
        out[k + i] = 1.0 / (information[i] + bias_precision)


@jit
def hamiltonian_move(field, w, b, prior, n_biases, information, step, n_steps, machine, rng):
    """One trajectory of the present weights and the biases, as `pseudo_joint.hamiltonian_move`.

    `information` (d,) is that of the data about the biases. Returns the acceptance probability, NaN if there
    is nothing to move.
    """
    active = np.flatnonzero(w)
    k = active.shape[0]
    if k + n_biases == 0:
        return np.nan
    room = np.empty((5, k + n_biases))
    q, start, momentum, slope, inverse_mass = room[0], room[1], room[2], room[3], room[4]
    beta = np.empty(b.shape[0])
    centred(field, w, b, beta)
    inverse_masses(field, active, prior, information, n_biases, inverse_mass)
    for a in range(k):
        q[a] = w[active[a]]
    q[k:] = beta[:n_biases]
    start[:] = q
    before = log_posterior_and_gradient(field, active, w, b, prior, n_biases, machine, slope)
    after = before
    for a in range(q.shape[0]):
        momentum[a] = rng.standard_normal() / np.sqrt(inverse_mass[a])
        before -= 0.5 * momentum[a] ** 2 * inverse_mass[a]
    for _ in range(n_steps):
        for a in range(q.shape[0]):
            momentum[a] += 0.5 * step * slope[a]
            q[a] += step * inverse_mass[a] * momentum[a]
        set_parameters(field, active, q, n_biases, w, b, beta)
        after = log_posterior_and_gradient(field, active, w, b, prior, n_biases, machine, slope)
        for a in range(q.shape[0]):
            momentum[a] += 0.5 * step * slope[a]
    for a in range(q.shape[0]):
        after -= 0.5 * momentum[a] ** 2 * inverse_mass[a]
    log_ratio = after - before
    accept = np.exp(min(log_ratio, 0.0)) if log_ratio == log_ratio else 0.0
    for a in range(k):
        if q[a] == 0.0:  # would be an absent edge
            accept = 0.0
    if not rng.random() < accept:
        set_parameters(field, active, start, n_biases, w, b, beta)
    return accept
