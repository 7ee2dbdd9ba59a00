"""View of a likelihood estimated from particles for `group_labels`: one edge at a time.

The particles z (d, m) are equally probable draws of the field at parameters eta0, the anchor; parameters
have moved on to eta since. The marginal of one edge at eta, the probabilities of the values of f, its levels,
is an average over particles of the conditional probabilities given all nodes but the two ends, with weights

    exp(sum of (eta_f - eta0_f) f_f(z) over the changed edges f),                  (Geyer, 1991)

where edges that touch an end enter by the ratio of the pair's normalising constants at eta and at eta0, for
the states of the ends are integrated out. Only edges near the one in question are counted: weights of changes
everywhere would be as uneven as the field is large, while a change far away hardly matters (localisation, as
in particle filters of fields: Rebeschini & van Handel, 2015). In small graphs nothing is left out. In dense
ones, where no edge is far, what is left out until the next renewal is an error that particles do not mend.

Estimated likelihoods are corrected for their own noise by `pymc_mrf.kernels.views.noise`.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit, lean
from pymc_mrf.kernels.groups.edge_terms import add_levels
from pymc_mrf.kernels.groups.group_labels import describe, follow
from pymc_mrf.kernels.log_scores import normalise
from pymc_mrf.kernels.resampling import fill_ancestors
from pymc_mrf.kernels.vector_sums import copy, largest
from pymc_mrf.kernels.views.noise import sharpening

MAX_CONFIGURATIONS = 4096  # of the neighbours of an edge, beyond which particles are visited one by one
MAX_CELLS = 2**20  # of the tables of these configurations
LEAST_MASS = 1e-100  # of particles, relative to the one with the largest weight, that count at all
TINY = 1e-300

TALLY = np.dtype(
    [("noise", float), ("n_noise", np.int64), ("least_size", float), ("is_stale", np.bool_)]
)
"""Sum of the ratios of noise and their number; the smallest effective size, relative to the number of
particles; whether the last one was too small."""


class ParticleView(NamedTuple):
    """Particles of a field, its data and its present parameters.

    Attributes
    ----------
    edge_of : (r,) int64 array
        Edge of the field that each entry parametrises, -1 for none.
    s : (edges,) array
        Sum of f over the n observations.
    n : float
    z : (d, m) int8 array
        State indices, one particle per column.
    eta, anchor : (edges,) arrays
        Present parameters, and those that the particles stand for.
    statistic : (K, K) array
        f, symmetric.
    levels : (L,) array
        Its different values, increasing.
    level : (K, K) int64 array
        Which of them each pair of states has.
    node_tables : (d, K) array
    graph : GraphArrays
    near_ptr : (edges + 1,) int64 array
    near : int64 array
        Edges near edge e that do not touch it are ``near[near_ptr[e] : near_ptr[e + 1]]``.
    least_size : float
        Effective size, relative to m, below which the particles have to be renewed.
    log_weight, weight : (m,) arrays
    cell : (m,) int64 array
    conditionals, anchored : (2, C, K) arrays, log_norm, anchored_norm : (2, C) arrays
        Conditionals of both ends, now and at the anchor, for up to C configurations of their neighbours.
    pair : (C or m, L + 1) array, mass : (2, C or m) array, share, log_mass : (L,) arrays
        Room for work, by configurations or by particles.
    tally : (1,) record array of `TALLY`
    """

    edge_of: np.ndarray
    s: np.ndarray
    n: float
    z: np.ndarray
    eta: np.ndarray
    anchor: np.ndarray
    statistic: np.ndarray
    levels: np.ndarray
    level: np.ndarray
    node_tables: np.ndarray
    graph: NamedTuple
    near_ptr: np.ndarray
    near: np.ndarray
    least_size: float
    log_weight: np.ndarray
    weight: np.ndarray
    cell: np.ndarray
    conditionals: np.ndarray
    anchored: np.ndarray
    log_norm: np.ndarray
    anchored_norm: np.ndarray
    pair: np.ndarray
    mass: np.ndarray
    share: np.ndarray
    log_mass: np.ndarray
    tally: np.ndarray


@jit
def nearby_edges(graph, chunk_of, most):
    """Up to `most` edges near each edge that do not touch it, by breadth-first search; (ptr, edges).

    Only edges with the same entry of `chunk_of` (edges,) count: between two renewals no others change.
    """
    r, d = graph.edges.shape[0], graph.indptr.shape[0] - 1
    ptr = np.zeros(r + 1, dtype=np.int64)
    out = np.empty(min(most, r) * r, dtype=np.int64)
    seen_node, seen_edge = np.full(d, -1), np.full(r, -1)
    queue = np.empty(d, dtype=np.int64)
    n_out = 0
    for e in range(r):
        queue[0], queue[1] = graph.edges[e, 0], graph.edges[e, 1]
        seen_node[queue[0]], seen_node[queue[1]] = e, e
        head, tail, found = 0, 2, 0
        while head < tail and found < most:
            i = queue[head]
            for k in range(graph.indptr[i], graph.indptr[i + 1]):
                f, j = graph.edge_ids[k], graph.neighbors[k]
                if seen_edge[f] != e:
                    seen_edge[f] = e
                    if head >= 2 and found < most and chunk_of[f] == chunk_of[e]:
                        out[n_out] = f
                        n_out += 1
                        found += 1
                if seen_node[j] != e:
                    seen_node[j] = e
                    queue[tail] = j
                    tail += 1
            head += 1
        ptr[e + 1] = n_out
    return ptr, out[:n_out].copy()


@lean
def add_log_weight(view, f, out):
    """Add (eta_f - eta0_f) f_f(z) of every particle to `out` (m,)."""
    delta = view.eta[f] - view.anchor[f]
    z_u, z_v = view.z[view.graph.edges[f, 0]], view.z[view.graph.edges[f, 1]]
    for c in range(out.shape[0]):
        out[c] += delta * view.statistic[z_u[c], z_v[c]]


@lean
def local_conditional(view, eta, i, e, c, out):
    """Conditional of node i in particle c by `eta` (edges,) without edge e, into `out` (K,); its log norm."""
    copy(view.node_tables[i], out)
    for k in range(view.graph.indptr[i], view.graph.indptr[i + 1]):
        f = view.graph.edge_ids[k]
        if f != e:
            b = view.z[view.graph.neighbors[k], c]
            for a in range(out.shape[0]):
                out[a] += eta[f] * view.statistic[a, b]
    return normalise(out)


@lean
def tabulate_end(view, eta, i, e, out, log_norm):
    """Conditionals of node i at `eta` (edges,) given its neighbours except along edge e, by configuration.

    Writes them to `out` (configurations, K), their log norms to `log_norm` (configurations,), and returns
    the number of configurations.
    """
    K = view.statistic.shape[0]
    copy(view.node_tables[i], out[0])
    size = 1
    for k in range(view.graph.indptr[i], view.graph.indptr[i + 1]):
        f = view.graph.edge_ids[k]
        if f == e:
            continue
        for b in range(K - 1, -1, -1):  # downwards: the first block is overwritten last
            for c in range(size):
                for a in range(K):
                    out[b * size + c, a] = out[c, a] + eta[f] * view.statistic[a, b]
        size *= K
    for c in range(size):
        log_norm[c] = normalise(out[c])
    return size


@lean
def find_cells(view, i, e, stride):
    """Add `stride` times the configuration of the neighbours of node i, edge e left out, to the cells."""
    K = view.statistic.shape[0]
    cell = view.cell
    for k in range(view.graph.indptr[i], view.graph.indptr[i + 1]):
        if view.graph.edge_ids[k] != e:
            z = view.z[view.graph.neighbors[k]]
            for c in range(cell.shape[0]):
                cell[c] += stride * z[c]
            stride *= K


@lean
def n_configurations(view, e):
    """Count the configurations of the neighbours of edge e; 0 if there are too many to be tabulated."""
    count = 1
    for i in view.graph.edges[e]:
        for _ in range(view.graph.indptr[i + 1] - view.graph.indptr[i] - 1):
            count *= view.statistic.shape[0]
            if count > view.conditionals.shape[1]:
                return 0
    return count


@lean
def ends_changed(view, e):
    """Whether an edge that touches e, or e itself, has moved from its anchor."""
    for i in view.graph.edges[e]:
        for k in range(view.graph.indptr[i], view.graph.indptr[i + 1]):
            f = view.graph.edge_ids[k]
            if view.eta[f] != view.anchor[f]:
                return True
    return False


@lean
def level_probabilities(view, P_u, P_v, eta, out):
    """Probabilities of the levels of f, into `out` (L + 1,), and their log norm into its last entry.

    `P_u`, `P_v` (K,) are the conditionals of the ends without the edge, whose parameter is `eta`.
    """
    levels, level, L = view.levels, view.level, view.levels.shape[0]
    out[:] = 0.0
    for a in range(P_u.shape[0]):
        for b in range(P_v.shape[0]):
            out[level[a, b]] += P_u[a] * P_v[b]
    high, total = -np.inf, 0.0
    for k in range(L):
        if out[k] > 0.0:
            high = max(high, levels[k] * eta)
    for k in range(L):
        out[k] *= np.exp(min(levels[k] * eta - high, 0.0))
        total += out[k]
    for k in range(L):
        out[k] /= total
    out[L] = high + np.log(total)


@lean
def particle_pair(view, e, c, changed, out):
    """Probabilities of the levels of edge e given the rest of particle c; the log of the pair's weight.

    `out` (L + 1,) gets the probabilities, followed by the log weight.
    """
    u, v = view.graph.edges[e]
    P_u, P_v, L = view.conditionals[0, 0], view.conditionals[1, 0], view.levels.shape[0]
    ratio = 0.0
    if changed:
        ratio -= local_conditional(view, view.anchor, u, e, c, P_u)
        ratio -= local_conditional(view, view.anchor, v, e, c, P_v)
        level_probabilities(view, P_u, P_v, view.anchor[e], out)
        ratio -= out[L]
    norm = local_conditional(view, view.eta, u, e, c, P_u)
    norm += local_conditional(view, view.eta, v, e, c, P_v)
    level_probabilities(view, P_u, P_v, view.eta[e], out)
    out[L] = ratio + norm + out[L] if changed else 0.0


@lean
def tabulate_edge(view, e, changed):
    """Do as `particle_pair` for every configuration of the neighbours, into `pair`; fills `cell`."""
    u, v = view.graph.edges[e]
    P, Q, L = view.conditionals, view.anchored, view.levels.shape[0]
    log_norm, log_norm_Q = view.log_norm, view.anchored_norm
    n_u = tabulate_end(view, view.eta, u, e, P[0], log_norm[0])
    n_v = tabulate_end(view, view.eta, v, e, P[1], log_norm[1])
    if changed:
        tabulate_end(view, view.anchor, u, e, Q[0], log_norm_Q[0])
        tabulate_end(view, view.anchor, v, e, Q[1], log_norm_Q[1])
    for b in range(n_v):
        for a in range(n_u):
            row, ratio = view.pair[a + n_u * b], 0.0
            if changed:
                level_probabilities(view, Q[0, a], Q[1, b], view.anchor[e], row)
                ratio = log_norm[0, a] + log_norm[1, b] - log_norm_Q[0, a] - log_norm_Q[1, b] - row[L]
            level_probabilities(view, P[0, a], P[1, b], view.eta[e], row)
            row[L] = ratio + row[L] if changed else 0.0
    view.cell[:] = 0
    find_cells(view, u, e, 1)
    find_cells(view, v, e, n_u)


@lean
def weigh(view, e):
    """Weights of the particles by changed edges near edge e that do not touch it; whether there are any."""
    log_weight, weight = view.log_weight, view.weight
    found = False
    for k in range(view.near_ptr[e], view.near_ptr[e + 1]):
        f = view.near[k]
        if view.eta[f] != view.anchor[f]:
            if not found:
                log_weight[:] = 0.0
                found = True
            add_log_weight(view, f, log_weight)
    if found:
        top = largest(log_weight)
        for c in range(weight.shape[0]):
            weight[c] = np.exp(log_weight[c] - top)
    return found


@lean
def edge_marginal(view, e):
    """Probabilities of the levels of edge e, into ``view.share`` (L,), and how well they are known.

    Returns
    -------
    spread, variance, size : float
        Variance of f, variance of the estimate of its mean, relative effective size.
    """
    m, L = view.z.shape[1], view.levels.shape[0]
    weighted, changed = weigh(view, e), ends_changed(view, e)
    rows = n_configurations(view, e)
    mass, shares = view.mass, view.pair
    first, second = mass[0], mass[1]
    if rows > 0:
        tabulate_edge(view, e, changed)
        mass[:, :rows] = 0.0
        if weighted:
            for c in range(m):
                w = view.weight[c]
                mass[0, view.cell[c]] += w
                mass[1, view.cell[c]] += w * w
        else:
            for c in range(m):
                mass[0, view.cell[c]] += 1.0
            copy(mass[0, :rows], mass[1, :rows])
        if changed:
            top = -np.inf  # of configurations that particles have: one of them is left with a weight
            for k in range(rows):
                if mass[0, k] > LEAST_MASS:
                    top = max(top, shares[k, L])
            for k in range(rows):
                ratio = np.exp(shares[k, L] - top) if mass[0, k] > LEAST_MASS else 0.0
                mass[0, k] *= ratio
                mass[1, k] *= ratio * ratio
    else:
        rows = m
        for c in range(m):
            particle_pair(view, e, c, changed, shares[c])
            first[c] = shares[c, L]
            if weighted:
                first[c] += view.log_weight[c]
        top = largest(first[:m])
        for c in range(m):
            first[c] = np.exp(first[c] - top)
            second[c] = first[c] * first[c]
    total, squares = 0.0, 0.0
    share = view.share
    share[:] = 0.0
    for k in range(rows):
        total += first[k]
        squares += second[k]
        for a in range(L):
            share[a] += first[k] * shares[k, a]
    most = 0
    for a in range(L):
        share[a] /= total
        most = a if share[a] > share[most] else most
    # about the most probable level: the others keep their digits, however rare
    mean, spread, variance = 0.0, 0.0, 0.0
    for a in range(L):
        mean += share[a] * (view.levels[a] - view.levels[most])
    for a in range(L):
        gap = view.levels[a] - view.levels[most] - mean
        spread += share[a] * gap * gap
    for k in range(rows):
        if second[k] > 0.0:
            gap = -mean
            for a in range(L):
                gap += shares[k, a] * (view.levels[a] - view.levels[most])
            variance += second[k] * gap * gap
    return spread, variance / (total * total), total * total / (squares * m)


@lean
def possible_levels(view, e, out):
    """Log of ``view.share``, into `out` (L,): -inf for levels that are impossible, finite for all others."""
    u, v = view.graph.edges[e]
    for k in range(out.shape[0]):
        out[k] = -np.inf
    for a in range(view.level.shape[0]):
        for b in range(view.level.shape[0]):
            if view.node_tables[u, a] > -np.inf and view.node_tables[v, b] > -np.inf:
                k = view.level[a, b]
                out[k] = np.log(max(view.share[k], TINY))


@describe.register(ParticleView)
def describe_particles(view, e, x, terms):
    """Identity (A1) with an estimated marginal."""
    edge = view.edge_of[e]
    if edge < 0:
        return
    spread, variance, size = edge_marginal(view, edge)
    ratio = view.n * variance / max(spread, TINY)
    tally = view.tally[0]
    tally.noise += ratio
    tally.n_noise += 1
    tally.least_size = min(tally.least_size, size)
    tally.is_stale = size < view.least_size
    terms.total[0] += view.s[edge]
    possible_levels(view, edge, view.log_mass)
    add_levels(terms, view.n, view.log_mass, view.levels, x, view.n * (sharpening(ratio) - 1.0))


@follow.register(ParticleView)
def follow_particles(view, e, x, value):
    """Change the parameter; the anchor stays."""
    edge = view.edge_of[e]
    if edge < 0:
        return False
    view.eta[edge] = value
    return view.tally[0].is_stale


@lean
def total_log_weights(view, nodes, out):
    """Log weights `out` (m,) of all particles by changed edges, and changes `nodes` (d, K) of node tables."""
    out[:] = 0.0
    for f in range(view.eta.shape[0]):
        if view.eta[f] != view.anchor[f]:
            add_log_weight(view, f, out)
    for i in range(nodes.shape[0]):
        changed = False
        for a in range(nodes.shape[1]):
            changed = changed or nodes[i, a] != 0.0
        if changed:
            for c in range(out.shape[0]):
                out[c] += nodes[i, view.z[i, c]]


@jit
def resample(z, weights, rng):
    """Systematic resampling of the columns of `z` (d, m) by `weights` (m,), in place, copies side by side."""
    d, m = z.shape
    ancestor = np.empty(m, dtype=np.int64)
    fill_ancestors(weights, m / np.sum(weights), rng.random(), ancestor)
    row = np.empty(m, dtype=np.int8)
    for i in range(d):
        for c in range(m):
            row[c] = z[i, ancestor[c]]
        z[i] = row


@lean
def edge_means(view, e, out):
    """Write the mean of f of edge e given the other nodes, in every particle, to `out` (m,).

    ``view.share`` (L,) gets the probabilities of the levels, averaged over the particles. All parameters must
    be at their anchor.
    """
    m, L = out.shape[0], view.levels.shape[0]
    share, levels = view.share, view.levels
    share[:] = 0.0
    rows = n_configurations(view, e)
    if rows > 0:
        tabulate_edge(view, e, False)
        mass, mean = view.mass[0], view.mass[1]
        mass[:rows] = 0.0
        for k in range(rows):
            mean[k] = 0.0
            for a in range(L):
                mean[k] += view.pair[k, a] * levels[a]
        for c in range(m):
            out[c] = mean[view.cell[c]]
            mass[view.cell[c]] += 1.0 / m
        for k in range(rows):
            for a in range(L):
                share[a] += mass[k] * view.pair[k, a]
        return
    row = view.pair[0]
    for c in range(m):
        particle_pair(view, e, c, False, row)
        out[c] = 0.0
        for a in range(L):
            out[c] += row[a] * levels[a]
            share[a] += row[a] / m
