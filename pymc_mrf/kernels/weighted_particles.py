"""Weighted particles of a pairwise field: edge marginals, changes of parameters, resampling.

The particles z (d, m) with weights W (m,) of mean 1 represent p(. | eta). Moving one parameter by
delta multiplies each weight by exp(delta f_e(z)), which is exact (Geyer, 1991; particle-filtered
MCMC-MLE: Asuncion et al., 2010). The marginal of an edge is Rao-Blackwellised over its two ends: the
conditional probability of f_e = 1 given all other nodes depends on a particle through the states of
the other neighbours only, of which there are few configurations in a sparse graph.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.log_scores import normalise

MAX_CONFIGURATIONS = 4096  # of the neighbours of an edge, beyond which particles are visited one by one
TINY = 1e-300


class Particles(NamedTuple):
    """A weighted sample of a field and the field itself.

    Attributes
    ----------
    z : (d, m) int8 array
        State indices, one particle per column.
    W : (m,) array
        Weights with mean 1.
    eta : (r,) array
        Edge parameters that the weighted sample stands for.
    statistic : (K, K) array
        f, symmetric, with values in {0, 1}.
    node_tables : (d, K) array
    cell : (m,) int16 array, total : (m,) int32 array, share : (m,) array
    conditionals : (2, MAX_CONFIGURATIONS, K) array, pair : (2, MAX_CONFIGURATIONS) array
    mass : array
        Room for work.
    """

    z: np.ndarray
    W: np.ndarray
    eta: np.ndarray
    statistic: np.ndarray
    node_tables: np.ndarray
    cell: np.ndarray
    total: np.ndarray
    share: np.ndarray
    conditionals: np.ndarray
    pair: np.ndarray
    mass: np.ndarray


def allocate(n_particles, n_edges, statistic, node_tables):
    """`Particles` of given sizes; states, weights and parameters are for the caller to fill."""
    n_nodes, n_states = node_tables.shape
    return Particles(
        np.zeros((n_nodes, n_particles), dtype=np.int8),
        np.ones(n_particles),
        np.zeros(n_edges),
        np.ascontiguousarray(statistic, dtype=np.float64),
        np.ascontiguousarray(node_tables, dtype=np.float64),
        np.zeros(n_particles, dtype=np.int16),
        np.zeros(n_particles, dtype=np.int32),
        np.zeros(n_particles),
        np.zeros((2, MAX_CONFIGURATIONS, n_states)),
        np.zeros((2, MAX_CONFIGURATIONS)),
        np.zeros(max(MAX_CONFIGURATIONS, n_edges + 1)),
    )


@jit
def dot(a, b):
    """Inner product of two (m,) arrays, in four strands: short waits, one thread, one result."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    quarters = a.shape[0] // 4 * 4
    for c in range(0, quarters, 4):
        s0 += a[c] * b[c]
        s1 += a[c + 1] * b[c + 1]
        s2 += a[c + 2] * b[c + 2]
        s3 += a[c + 3] * b[c + 3]
    for c in range(quarters, a.shape[0]):
        s0 += a[c] * b[c]
    return (s0 + s1) + (s2 + s3)


@jit
def tabulate_end(i, e, stride, particles, graph, out):
    """Conditionals of node i given its neighbours except along edge e, one per configuration.

    Writes them to `out` (configurations, K), adds `stride` times the configuration to the particles'
    cell, and returns the number of configurations.
    """
    n_states = particles.statistic.shape[0]
    z, cell = particles.z, particles.cell
    out[0] = particles.node_tables[i]
    size = 1
    for k in range(graph.indptr[i], graph.indptr[i + 1]):
        f = graph.edge_ids[k]
        if f == e:
            continue
        for b in range(n_states - 1, -1, -1):  # downwards: the first block is overwritten last
            for c in range(size):
                for a in range(n_states):
                    out[b * size + c, a] = out[c, a] + particles.eta[f] * particles.statistic[a, b]
        neighbour = z[graph.neighbors[k]]
        step = np.int16(stride * size)
        for c in range(cell.shape[0]):
            cell[c] += step * neighbour[c]
        size *= n_states
    for c in range(size):
        normalise(out[c])
    return size


@jit
def local_conditional(i, e, c, particles, graph, out):
    """Conditional of node i of particle c given its neighbours except along edge e, into `out` (K,)."""
    out[:] = particles.node_tables[i]
    for k in range(graph.indptr[i], graph.indptr[i + 1]):
        f = graph.edge_ids[k]
        if f != e:
            b = particles.z[graph.neighbors[k], c]
            for a in range(out.shape[0]):
                out[a] += particles.eta[f] * particles.statistic[a, b]
    normalise(out)


@jit
def pair_probabilities(P_u, P_v, eta, statistic):
    """P(f = 1) and P(f = 0) of an edge whose ends have conditionals P_u, P_v (K,) without it."""
    one, zero = 0.0, 0.0
    for a in range(P_u.shape[0]):
        for b in range(P_u.shape[0]):
            if statistic[a, b] == 1.0:
                one += P_u[a] * P_v[b]
            else:
                zero += P_u[a] * P_v[b]
    if eta > 0.0:
        zero *= np.exp(-eta)
    else:
        one *= np.exp(eta)
    total = one + zero
    if total == 0.0:  # both below the smallest number: undecided
        return 0.5, 0.5
    return one / total, zero / total


@jit
def tabulate_edge(e, particles, graph):
    """P(f = 1) and P(f = 0) of edge e per configuration of the neighbours, into `pair`.

    Every particle's configuration goes to `cell`. Returns the number of configurations, 0 if there are
    too many: then particles have to be visited one by one.
    """
    n_states = particles.statistic.shape[0]
    count = 1
    for i in graph.edges[e]:
        for _ in range(graph.indptr[i + 1] - graph.indptr[i] - 1):
            count *= n_states
            if count > MAX_CONFIGURATIONS:
                return 0
    u, v = graph.edges[e]
    P_u, P_v = particles.conditionals[0], particles.conditionals[1]
    particles.cell[:] = 0
    n_u = tabulate_end(u, e, 1, particles, graph, P_u)
    n_v = tabulate_end(v, e, n_u, particles, graph, P_v)
    eta, pair = particles.eta[e], particles.pair
    for c_v in range(n_v):
        for c_u in range(n_u):
            one, zero = pair_probabilities(P_u[c_u], P_v[c_v], eta, particles.statistic)
            pair[0, c_u + n_u * c_v], pair[1, c_u + n_u * c_v] = one, zero
    return n_u * n_v


@jit
def particle_probabilities(e, c, particles, graph):
    """P(f = 1) and P(f = 0) of edge e given the other nodes of particle c."""
    u, v = graph.edges[e]
    P_u, P_v = particles.conditionals[0, 0], particles.conditionals[1, 0]
    local_conditional(u, e, c, particles, graph, P_u)
    local_conditional(v, e, c, particles, graph, P_v)
    return pair_probabilities(P_u, P_v, particles.eta[e], particles.statistic)


@jit
def edge_marginal(e, particles, graph):
    """Rao-Blackwellised P(f = 1) and P(f = 0) of edge e, and the variance of one particle's share."""
    W, mass, pair = particles.W, particles.mass, particles.pair
    m = W.shape[0]
    one, zero, one_squared, zero_squared = 0.0, 0.0, 0.0, 0.0
    count = tabulate_edge(e, particles, graph)
    if count > 0:
        mass[:count] = 0.0
        for c in range(m):
            mass[particles.cell[c]] += W[c]
        for k in range(count):
            p, q = pair[0, k], pair[1, k]
            one += mass[k] * p
            zero += mass[k] * q
            one_squared += mass[k] * p * p
            zero_squared += mass[k] * q * q
    else:
        for c in range(m):
            p, q = particle_probabilities(e, c, particles, graph)
            one += W[c] * p
            zero += W[c] * q
            one_squared += W[c] * p * p
            zero_squared += W[c] * q * q
    one /= m
    zero /= m
    # from the rarer of the two: the other loses digits
    variance = zero_squared / m - zero * zero if zero < one else one_squared / m - one * one
    return one, zero, max(variance, 0.0)


@jit
def indicate(e, particles, graph, out):
    """Write f of edge e in every particle to `out` (m,)."""
    z_u, z_v = particles.z[graph.edges[e, 0]], particles.z[graph.edges[e, 1]]
    for c in range(out.shape[0]):
        out[c] = particles.statistic[z_u[c], z_v[c]]


@jit
def change_edge(e, value, particles, graph):
    """Set the parameter of edge e, weights with it; return the effective sample size."""
    W, f = particles.W, particles.share
    m = W.shape[0]
    delta = value - particles.eta[e]
    particles.eta[e] = value
    indicate(e, particles, graph, f)
    one, zero = 0.0, 0.0
    for c in range(m):  # both by addition: a difference would not be zero where it should
        one += W[c] * f[c]
        zero += W[c] * (1.0 - f[c])
    if one > 0.0 and zero > 0.0:
        if delta > 0.0:
            factor_one = m / (one + zero * np.exp(-delta))
            factor_zero = factor_one * np.exp(-delta)
        else:
            factor_zero = m / (one * np.exp(delta) + zero)
            factor_one = factor_zero * np.exp(delta)
        for c in range(m):
            W[c] *= factor_zero + f[c] * (factor_one - factor_zero)
    return effective_size(W)


@jit
def effective_size(W):
    """Kish's effective sample size (sum W)^2 / sum W^2."""
    return np.sum(W) ** 2 / dot(W, W)


@jit
def resample(particles, rng):
    """Systematic resampling, in place; weights become equal."""
    z, W = particles.z, particles.W
    d, m = z.shape
    ancestor = particles.total
    scale = m / np.sum(W)
    position = rng.random()
    parent, reach = 0, W[0] * scale
    for c in range(m):
        while reach < c + position and parent < m - 1:
            parent += 1
            reach += W[parent] * scale
        ancestor[c] = parent
    row = np.empty(m, dtype=np.int8)
    for i in range(d):
        for c in range(m):
            row[c] = z[i, ancestor[c]]
        z[i] = row
    W[:] = 1.0
