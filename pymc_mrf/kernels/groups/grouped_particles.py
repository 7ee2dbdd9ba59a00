"""The likelihood of the values of groups of edges near those of the particles, and sums over groups.

With what correction for noise, `pymc_mrf.likelihood.particles.particle_groups` says.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels import vector_sums
from pymc_mrf.kernels._jit import jit, lean
from pymc_mrf.kernels.groups.edgewise_groups import log_masses
from pymc_mrf.kernels.log_scores import normalise, tilted_mean
from pymc_mrf.kernels.views.particle_edges import estimate_pair


class GroupedParticleView(NamedTuple):
    """The log-likelihood of the values of groups near those of the particles; see `ParticleGroups`.

    Attributes
    ----------
    values : (G,) array
        Those of the particles, D being the difference from them; node parameters follow the groups.
    data, mean : (G,) arrays
        Sums of f over the rows, and estimates of their means in the field.
    n : float
    rows : (k,) int64 array
        Groups whose sums the particles show.
    sums : (k, m) array
        These, less their means over the particles.
    rare : (q,) int64 array
        Groups of the edges whose groups are shown too rarely.
    shares : (q, L) array
        Probabilities of the levels of these edges.
    levels : (L,) array
    reach : float
        |D| at which it is cut for the groups shown too rarely.
    penalty : (G, G) array, mode : (G,) array
        (D - mode)' penalty (D - mode) / 2 is subtracted.
    weight : (m,) array
        Room for work.
    """

    values: np.ndarray
    data: np.ndarray
    mean: np.ndarray
    n: float
    rows: np.ndarray
    sums: np.ndarray
    rare: np.ndarray
    shares: np.ndarray
    levels: np.ndarray
    reach: float
    penalty: np.ndarray
    mode: np.ndarray
    weight: np.ndarray


@jit
def sum_over_groups(z, edges, statistic, groups, out):
    """Sum `statistic` (K, K) over the edges of each group in every particle, into `out` (G, m).

    `z` (d, m) are the states of the particles, `edges` (edges, 2), `groups` (edges,).
    """
    out[:] = 0.0
    K = statistic.shape[0]
    flat = statistic.ravel()
    for e in range(groups.shape[0]):
        total = out[groups[e]]
        z_u, z_v = z[edges[e, 0]], z[edges[e, 1]]
        for c in range(out.shape[1]):
            total[c] += flat[z_u[c] * K + z_v[c]]


@jit
def count_levels(z, edges, level, out):
    """Count the states `z` (d, m) by the `level` (K, K) of the `edges` (edges, 2), into `out` (edges, L)."""
    out[:] = 0.0
    for e in range(edges.shape[0]):
        z_u, z_v = z[edges[e, 0]], z[edges[e, 1]]
        for c in range(z.shape[1]):
            out[e, level[z_u[c], z_v[c]]] += 1.0


@jit
def fill_level_shares(view, edges, out):
    """Probabilities of the levels of the `edges` (k,) of an `EdgewiseView`, into `out` (k, L)."""
    for k in range(edges.shape[0]):
        w = view.edges.w[edges[k]]
        estimate_pair(view.edges, edges[k], w)
        log_masses(view.edges.pair.log_p, view.level, view.log_mass)
        for l in range(out.shape[1]):
            out[k, l] = view.log_mass[l] + w * view.scale * view.levels[l]
        normalise(out[k])


@lean
def grouped_log_likelihood(view, x, gradient):
    """Log-likelihood of the particles of `view` at values `x` (G,); its slopes overwrite `gradient` (G,)."""
    weight, m = view.weight, view.weight.shape[0]
    for c in range(m):
        weight[c] = 0.0
    for k in range(view.rows.shape[0]):
        D = x[view.rows[k]] - view.values[view.rows[k]]
        for c in range(m):
            weight[c] += D * view.sums[k, c]
    top = vector_sums.largest(weight)
    for c in range(m):
        weight[c] = vector_sums.exp_negative(max(weight[c] - top, vector_sums.LOWEST))
    mass = vector_sums.total(weight)
    log_partition = top + np.log(mass / m)
    for g in range(x.shape[0]):
        gradient[g] = 0.0
    for k in range(view.rows.shape[0]):
        g = view.rows[k]
        log_partition += (x[g] - view.values[g]) * view.mean[g]
        gradient[g] = view.mean[g] + vector_sums.dot(view.sums[k], weight) / mass
    for j in range(view.rare.shape[0]):
        g = view.rare[j]
        D = min(max(x[g] - view.values[g], -view.reach), view.reach)
        log_norm, mean = tilted_mean(view.shares[j], view.levels, D)
        log_partition += log_norm
        gradient[g] += mean
    value = -view.n * log_partition
    for g in range(x.shape[0]):
        value += (x[g] - view.values[g]) * view.data[g]
        beyond = 0.0
        for h in range(x.shape[0]):
            beyond += view.penalty[g, h] * (x[h] - view.values[h] - view.mode[h])
        value -= 0.5 * (x[g] - view.values[g] - view.mode[g]) * beyond
        gradient[g] = view.data[g] - view.n * gradient[g] - beyond
    return value
