"""Weighted particles of a binary field with few edges: local fields, Gibbs sweeps, resampling.

The particles z with weights W of mean 1 represent the field. Local fields H_i = c beta_i + sum_j w_ij Z_j,
with Z_j = c (y_j - m_j) and centred biases beta as in `edge_moves`, are kept for every node and particle,
so that a change of an edge or of a node's states costs as much as the node has neighbours. Arrays over
particles are stored node by node and padded to a multiple of LANES by particles of weight 0.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.random_lanes import LANES, STATE_SIZE, next_word, unit_interval
from pymc_mrf.kernels.vector_sums import LOWEST, copy, dot, exp_negative, total


class Particles(NamedTuple):
    """A weighted sample of a field, its local fields, and its present edges.

    Attributes
    ----------
    size : int
        Particles, m; N - m are padding.
    T : (d, N) array
        1 where a node is in its second state.
    H, P : (d, N) arrays
        Local fields, and P = sigmoid(H) of the nodes that are not stale.
    stale : (d,) bool array
    W : (N,) array
        Weights with mean 1 over the particles.
    w : (r,) array, beta : (d,) array
        Weights of the edges and centred biases that the particles stand for.
    indptr : (d + 1,) int64 array
    degree : (d,) int64 array
    near, via : (2 r,) int64 arrays
        Present neighbours of node i, and the edges that lead to them, are entries indptr[i] to
        indptr[i] + degree[i].
    uniform, flips, row : (N,) arrays
        Scratch.
    ancestor : (N,) int64 array
    lanes : (STATE_SIZE,) uint64 array
        Random number generators, seeded anew by every call that needs them.
    """

    size: int
    T: np.ndarray
    H: np.ndarray
    P: np.ndarray
    stale: np.ndarray
    W: np.ndarray
    w: np.ndarray
    beta: np.ndarray
    indptr: np.ndarray
    degree: np.ndarray
    near: np.ndarray
    via: np.ndarray
    uniform: np.ndarray
    flips: np.ndarray
    row: np.ndarray
    ancestor: np.ndarray
    lanes: np.ndarray


def allocate(n_particles, indptr, n_edges):
    """`Particles` without edges, all in the first state; parameters are for the caller to fill."""
    d = len(indptr) - 1
    N = -(-n_particles // LANES) * LANES
    W = np.zeros(N)
    W[:n_particles] = 1.0
    return Particles(
        n_particles,
        np.zeros((d, N)),
        np.zeros((d, N)),
        np.zeros((d, N)),
        np.ones(d, dtype=np.bool_),
        W,
        np.zeros(n_edges),
        np.zeros(d),
        indptr.copy(),
        np.zeros(d, dtype=np.int64),
        np.zeros(2 * n_edges, dtype=np.int64),
        np.zeros(2 * n_edges, dtype=np.int64),
        np.zeros(N),
        np.zeros(N),
        np.zeros(N),
        np.zeros(N, dtype=np.int64),
        np.zeros(STATE_SIZE, dtype=np.uint64),
    )


@lean
def fill_sigmoid(H, P):
    """P = 1 / (1 + exp(-H)), all (N,)."""
    for j in range(H.shape[0]):
        P[j] = 1.0 + exp_negative(max(-abs(H[j]), LOWEST))
    for j in range(H.shape[0]):
        q = 1.0 / P[j]
        P[j] = q if H[j] >= 0.0 else 1.0 - q


@lean
def update_probabilities(i, particles):
    """Bring P of node i up to date."""
    if particles.stale[i]:
        fill_sigmoid(particles.H[i], particles.P[i])
        particles.stale[i] = False


@lean
def fill_uniform(lanes, out):
    """Fill `out` (N,) with uniform draws."""
    for k in range(out.shape[0] // LANES):
        for j in range(LANES):
            out[k * LANES + j] = unit_interval(next_word(lanes, j))


@lean
def link(i, j, e, particles):
    """Make j a present neighbour of i."""
    k = particles.indptr[i] + particles.degree[i]
    particles.near[k], particles.via[k] = j, e
    particles.degree[i] += 1


@lean
def unlink(i, e, particles):
    """Take the neighbour along edge e from those of i."""
    particles.degree[i] -= 1
    last = particles.indptr[i] + particles.degree[i]
    for k in range(particles.indptr[i], last):
        if particles.via[k] == e:
            particles.near[k], particles.via[k] = particles.near[last], particles.via[last]
            return


@lean
def refresh(field, particles):
    """Recompute neighbours and local fields from states and parameters."""
    H, T, c = particles.H, particles.T, field.features[0, 1] - field.features[0, 0]
    particles.degree[:] = 0
    for i in range(H.shape[0]):
        H[i, :] = c * particles.beta[i]
    for e in range(particles.w.shape[0]):
        x = particles.w[e]
        if x != 0.0:
            u, v = field.edges[e, 0], field.edges[e, 1]
            link(u, v, e, particles)
            link(v, u, e, particles)
            add_edge(x, v, field, T, H[u])
            add_edge(x, u, field, T, H[v])
    particles.stale[:] = True


@lean
def add_edge(x, j, field, T, H):
    """Add x Z_j to the local field H (N,) of a neighbour of j."""
    c = field.features[0, 1] - field.features[0, 0]
    constant, slope, t = x * c * (field.features[0, 0] - field.m[j]), x * c * c, T[j]
    for k in range(H.shape[0]):
        H[k] += constant + slope * t[k]


@lean
def push(i, flips, except_edge, field, particles):
    """Carry the changes `flips` (N,) of T[i] over to the local fields of its neighbours."""
    c = field.features[0, 1] - field.features[0, 0]
    for k in range(particles.indptr[i], particles.indptr[i] + particles.degree[i]):
        e = particles.via[k]
        if e != except_edge:
            h, x = particles.H[particles.near[k]], particles.w[e] * c * c
            for j in range(h.shape[0]):
                h[j] += x * flips[j]
            particles.stale[particles.near[k]] = True


@lean
def sweep_particles(field, particles, n_sweeps):
    """Gibbs sweeps of all particles; the weights stay as they are."""
    uniform, flips = particles.uniform, particles.flips
    for _ in range(n_sweeps):
        for i in range(particles.T.shape[0]):
            update_probabilities(i, particles)
            p, t = particles.P[i], particles.T[i]
            fill_uniform(particles.lanes, uniform)
            for j in range(t.shape[0]):
                new = 1.0 if uniform[j] < p[j] else 0.0
                flips[j] = new - t[j]
                t[j] = new
            push(i, flips, -1, field, particles)


@lean
def effective_size(W):
    """Kish's effective sample size (sum W)^2 / sum W^2."""
    return total(W) ** 2 / dot(W, W)


@lean
def normalise(W, size):
    """Divide the weights by their mean over the particles; the effective size."""
    scale = size / total(W)
    for j in range(W.shape[0]):
        W[j] *= scale
    return effective_size(W)


@lean
def resample(particles):
    """Systematic resampling; weights become equal."""
    W, m, ancestor, row = particles.W, particles.size, particles.ancestor, particles.row
    scale, position = m / total(W), unit_interval(next_word(particles.lanes, 0))
    parent, reach = 0, W[0] * scale
    for j in range(m):
        while reach < j + position and parent < m - 1:
            parent += 1
            reach += W[parent] * scale
        ancestor[j] = parent
    for rows in (particles.T, particles.H, particles.P):
        for i in range(rows.shape[0]):
            for j in range(m):
                row[j] = rows[i, ancestor[j]]
            copy(row[:m], rows[i, :m])
    W[:m] = 1.0


@lean
def fill_product(a, b, out):
    """Elementwise product."""
    for j in range(out.shape[0]):
        out[j] = a[j] * b[j]
