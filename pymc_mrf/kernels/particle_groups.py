"""View of a likelihood estimated from particles for `group_labels`, and moments of groups of edges.

The particles z (d, m) are equally probable draws of the field at parameters eta0, the anchor; parameters have
moved on to eta since. The marginal of one edge at eta is an average over particles of the conditional
probability of f = 1 given all nodes but the two ends, weighted by

    exp(sum of (eta_f - eta0_f) f_f(z) over the changed edges f),                  (Geyer, 1991)

where edges that touch an end enter by the ratio of the pair's normalising constants at eta and at eta0, for
the states of the ends are integrated out. Only edges near the one in question are counted: weights of changes
everywhere would be as uneven as the field is large, while a change far away hardly matters (localisation, as
in particle filters of fields: Rebeschini & van Handel, 2015). In small graphs nothing is left out. In dense
ones, where no edge is far, what is left out until the next renewal is an error that particles do not mend.

The error of the estimated log-likelihood l of one parameter is, to first order, a random multiple
eps of mu(eta), the probability of f = 1 as a function of the parameter, less any constant. Drawn
from exp(l), a parameter would be too dispersed: a value whose mu lies away from the mean gains from
errors of either sign. To second order in eps the draw has the right distribution on average if
n^2 var(eps) (mu(eta) - mean mu)^2 / 2 is subtracted from l. That penalty is, to the same order, the
log-likelihood of further observations with f = 1 in a share "mean mu" of them, n rho of them where rho
is the error's variance relative to that of the data, and 1 / (1 - rho) - 1 in place of rho makes it
exact for Gaussian likelihoods of any precision under a flat prior. So estimated likelihoods enter here
with n / (1 - rho) observations, rho measured from the particles. Copies that resampling makes of a
particle count as particles of their own in rho, which is therefore too small where resampling is frequent.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.edge_terms import add_term
from pymc_mrf.kernels.group_labels import describe, follow
from pymc_mrf.kernels.log_scores import normalise

MAX_NOISE = 0.5  # variance ratio up to which an estimated likelihood is corrected
MAX_CONFIGURATIONS = 4096  # of the neighbours of an edge, beyond which particles are visited one by one
LEAST_MASS = 1e-100  # of particles, relative to the one with the largest weight, that count at all
TINY = 1e-300


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
        f, symmetric, with values in {0, 1}.
    node_tables : (d, K) array
    graph : GraphArrays
    near_ptr : (edges + 1,) int64 array
    near : int64 array
        Edges near edge e that do not touch it are ``near[near_ptr[e] : near_ptr[e + 1]]``.
    least_size : float
        Effective size, relative to m, below which the particles have to be renewed.
    log_weight, weight : (m,) arrays
    cell : (m,) int64 array
    conditionals : (4, MAX_CONFIGURATIONS, K) array, log_norm : (4, MAX_CONFIGURATIONS) array
    pair : (3, MAX_CONFIGURATIONS) array, mass : (2, MAX_CONFIGURATIONS) array
        Room for work.
    record : (4,) array
        Sum of noise ratios, their number, smallest relative effective size since they were reset; whether the
        last effective size was below `least_size`.
    """

    edge_of: np.ndarray
    s: np.ndarray
    n: float
    z: np.ndarray
    eta: np.ndarray
    anchor: np.ndarray
    statistic: np.ndarray
    node_tables: np.ndarray
    graph: NamedTuple
    near_ptr: np.ndarray
    near: np.ndarray
    least_size: float
    log_weight: np.ndarray
    weight: np.ndarray
    cell: np.ndarray
    conditionals: np.ndarray
    log_norm: np.ndarray
    pair: np.ndarray
    mass: np.ndarray
    record: np.ndarray


@jit
def sharpening(variance_ratio):
    """Factor by which observations are multiplied to correct for noise; see the module's docstring."""
    return 1.0 / (1.0 - min(variance_ratio, MAX_NOISE))


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


@jit
def add_log_weight(view, f, out):
    """Add (eta_f - eta0_f) f_f(z) of every particle to `out` (m,)."""
    delta = view.eta[f] - view.anchor[f]
    K = view.statistic.shape[0]
    table = np.empty(K * K)
    for a in range(K):
        for b in range(K):
            table[a * K + b] = delta * view.statistic[a, b]
    z_u, z_v = view.z[view.graph.edges[f, 0]], view.z[view.graph.edges[f, 1]]
    for c in range(out.shape[0]):
        out[c] += table[z_u[c] * K + z_v[c]]


@jit
def local_conditional(view, eta, i, e, c, out):
    """Conditional of node i of particle c at `eta`, edge e left out, into `out` (K,); its log norm."""
    out[:] = view.node_tables[i]
    for k in range(view.graph.indptr[i], view.graph.indptr[i + 1]):
        f = view.graph.edge_ids[k]
        if f != e:
            b = view.z[view.graph.neighbors[k], c]
            for a in range(out.shape[0]):
                out[a] += eta[f] * view.statistic[a, b]
    return normalise(out)


@jit
def tabulate_end(view, eta, i, e, out, log_norm):
    """Conditionals of node i at `eta` given its neighbours except along edge e, one per configuration.

    Writes them to `out` (configurations, K), their log norms to `log_norm` (configurations,), and returns
    the number of configurations.
    """
    K = view.statistic.shape[0]
    out[0] = view.node_tables[i]
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


@jit
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


@jit
def n_configurations(view, e):
    """Count the configurations of the neighbours of edge e; 0 if there are too many to be tabulated."""
    count = 1
    for i in view.graph.edges[e]:
        for _ in range(view.graph.indptr[i + 1] - view.graph.indptr[i] - 1):
            count *= view.statistic.shape[0]
            if count > MAX_CONFIGURATIONS:
                return 0
    return count


@jit
def ends_changed(view, e):
    """Whether an edge that touches e, or e itself, has moved from its anchor."""
    for i in view.graph.edges[e]:
        for k in range(view.graph.indptr[i], view.graph.indptr[i + 1]):
            f = view.graph.edge_ids[k]
            if view.eta[f] != view.anchor[f]:
                return True
    return False


@jit
def pair_probabilities(P_u, P_v, eta, statistic):
    """P(f = 1), P(f = 0) and log norm of an edge whose ends have conditionals P_u, P_v (K,) without it."""
    one, zero = 0.0, 0.0
    for a in range(P_u.shape[0]):
        for b in range(P_u.shape[0]):
            if statistic[a, b] == 1.0:
                one += P_u[a] * P_v[b]
            else:
                zero += P_u[a] * P_v[b]
    high = max(eta, 0.0)
    one *= np.exp(eta - high)
    zero *= np.exp(-high)
    total = one + zero
    if total == 0.0:  # both below the smallest number: undecided
        return 0.5, 0.5, high
    return one / total, zero / total, high + np.log(total)


@jit
def particle_pair(view, e, c, changed):
    """P(f = 1), P(f = 0) of edge e given the rest of particle c, and the log of the pair's weight."""
    u, v = view.graph.edges[e]
    P_u, P_v = view.conditionals[0, 0], view.conditionals[1, 0]
    ratio = 0.0
    if changed:
        ratio -= local_conditional(view, view.anchor, u, e, c, P_u)
        ratio -= local_conditional(view, view.anchor, v, e, c, P_v)
        ratio -= pair_probabilities(P_u, P_v, view.anchor[e], view.statistic)[2]
    norm = local_conditional(view, view.eta, u, e, c, P_u)
    norm += local_conditional(view, view.eta, v, e, c, P_v)
    one, zero, pair = pair_probabilities(P_u, P_v, view.eta[e], view.statistic)
    return one, zero, ratio + norm + pair if changed else 0.0


@jit
def tabulate_edge(view, e, changed):
    """As `particle_pair` for every configuration of the neighbours, into `pair`; fills `cell`."""
    u, v = view.graph.edges[e]
    P, L, pair = view.conditionals, view.log_norm, view.pair
    n_u = tabulate_end(view, view.eta, u, e, P[0], L[0])
    n_v = tabulate_end(view, view.eta, v, e, P[1], L[1])
    if changed:
        tabulate_end(view, view.anchor, u, e, P[2], L[2])
        tabulate_end(view, view.anchor, v, e, P[3], L[3])
    for b in range(n_v):
        for a in range(n_u):
            k = a + n_u * b
            one, zero, norm = pair_probabilities(P[0, a], P[1, b], view.eta[e], view.statistic)
            pair[0, k], pair[1, k], pair[2, k] = one, zero, 0.0
            if changed:
                before = pair_probabilities(P[2, a], P[3, b], view.anchor[e], view.statistic)[2]
                pair[2, k] = L[0, a] + L[1, b] + norm - L[2, a] - L[3, b] - before
    view.cell[:] = 0
    find_cells(view, u, e, 1)
    find_cells(view, v, e, n_u)


@jit
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
        top = np.max(log_weight)
        for c in range(weight.shape[0]):
            weight[c] = np.exp(log_weight[c] - top)
    return found


@jit
def edge_marginal(view, e):
    """P(f = 1) and P(f = 0) of edge e, the variance of that estimate, and the relative effective size."""
    m = view.z.shape[1]
    weighted, changed = weigh(view, e), ends_changed(view, e)
    count = n_configurations(view, e)
    pair, mass = view.pair, view.mass
    if count > 0:
        tabulate_edge(view, e, changed)
        mass[:, :count] = 0.0
        if weighted:
            for c in range(m):
                w = view.weight[c]
                mass[0, view.cell[c]] += w
                mass[1, view.cell[c]] += w * w
        else:
            for c in range(m):
                mass[0, view.cell[c]] += 1.0
            mass[1, :count] = mass[0, :count]
        if changed:
            top = -np.inf  # of configurations that particles have: one of them is left with a weight
            for k in range(count):
                if mass[0, k] > LEAST_MASS:
                    top = max(top, pair[2, k])
            for k in range(count):
                ratio = np.exp(pair[2, k] - top) if mass[0, k] > LEAST_MASS else 0.0
                mass[0, k] *= ratio
                mass[1, k] *= ratio * ratio
        rows, one_of, zero_of, first, second = count, pair[0], pair[1], mass[0], mass[1]
    else:
        one_of, zero_of, first = np.empty(m), np.empty(m), np.empty(m)
        for c in range(m):
            one_of[c], zero_of[c], first[c] = particle_pair(view, e, c, changed)
            if weighted:
                first[c] += view.log_weight[c]
        top = np.max(first)
        for c in range(m):
            first[c] = np.exp(first[c] - top)
        rows, second = m, first * first
    total, squares, one, zero = 0.0, 0.0, 0.0, 0.0
    for k in range(rows):
        total += first[k]
        squares += second[k]
        one += first[k] * one_of[k]
        zero += first[k] * zero_of[k]
    one, zero = one / total, zero / total
    variance = 0.0
    for k in range(rows):
        # of the rarer of the two: the other loses digits
        gap = zero_of[k] - zero if zero < one else one_of[k] - one
        variance += second[k] * gap * gap
    return one, zero, variance / (total * total), total * total / (squares * m)


@describe.register(ParticleView)
def describe_particles(view, e, x, terms):
    """Identity (A1) with an estimated marginal."""
    edge = view.edge_of[e]
    if edge < 0:
        return
    one, zero, variance, size = edge_marginal(view, edge)
    one, zero = max(one, TINY), max(zero, TINY)
    ratio = view.n * variance / (one * zero)
    record = view.record
    record[0] += ratio
    record[1] += 1.0
    record[2] = min(record[2], size)
    record[3] = size < view.least_size
    terms.total[0] += view.s[edge]
    more = view.n * (sharpening(ratio) - 1.0)
    add_term(terms, view.n, np.log(one) - np.log(zero) - x, more)


@follow.register(ParticleView)
def follow_particles(view, e, x, value):
    """Change the parameter; the anchor stays."""
    edge = view.edge_of[e]
    if edge < 0:
        return False
    view.eta[edge] = value
    return view.record[3] > 0.0


@jit
def total_log_weights(view, nodes, out):
    """Log weights (m,) of all particles by all changed edges, and changes `nodes` (d, K) of node tables."""
    out[:] = 0.0
    for f in range(view.eta.shape[0]):
        if view.eta[f] != view.anchor[f]:
            add_log_weight(view, f, out)
    for i in range(nodes.shape[0]):
        if np.any(nodes[i] != 0.0):
            for c in range(out.shape[0]):
                out[c] += nodes[i, view.z[i, c]]


@jit
def resample(z, weights, rng):
    """Systematic resampling of the columns of `z` (d, m) by `weights` (m,), in place, copies side by side."""
    d, m = z.shape
    ancestor = np.empty(m, dtype=np.int64)
    scale = m / np.sum(weights)
    position = rng.random()
    parent, reach = 0, weights[0] * scale
    for c in range(m):
        while reach < c + position and parent < m - 1:
            parent += 1
            reach += weights[parent] * scale
        ancestor[c] = parent
    row = np.empty(m, dtype=np.int8)
    for i in range(d):
        for c in range(m):
            row[c] = z[i, ancestor[c]]
        z[i] = row


@jit
def edge_shares(view, e, out):
    """Write P(f = 1) of edge e given the other nodes, in every particle, to `out` (m,)."""
    if n_configurations(view, e) > 0:
        tabulate_edge(view, e, False)
        for c in range(out.shape[0]):
            out[c] = view.pair[0, view.cell[c]]
    else:
        for c in range(out.shape[0]):
            out[c] = particle_pair(view, e, c, False)[0]


@jit
def group_sums(view, groups, out):
    """Sum of f over the edges of each group `groups` (edges,) in every particle, into `out` (G, m)."""
    out[:] = 0.0
    K = view.statistic.shape[0]
    flat = view.statistic.ravel()
    for e in range(groups.shape[0]):
        total = out[groups[e]]
        z_u, z_v = view.z[view.graph.edges[e, 0]], view.z[view.graph.edges[e, 1]]
        for c in range(out.shape[1]):
            total[c] += flat[z_u[c] * K + z_v[c]]


@jit
def group_shares(view, groups, out, one, zero):
    """Sum the conditional probabilities of f = 1 over groups; parameters must be at their anchor.

    Parameters
    ----------
    view : ParticleView
    groups : (edges,) int64 array
    out : (G, m) array
        Overwritten.
    one, zero : (edges,) arrays
        Overwritten: P(f = 1) and P(f = 0).
    """
    out[:] = 0.0
    m = out.shape[1]
    here = np.empty(m)
    for e in range(groups.shape[0]):
        share = out[groups[e]]
        edge_shares(view, e, here)
        total = 0.0
        for c in range(m):
            share[c] += here[c]
            total += here[c]
        one[e] = total / m
        zero[e] = 1.0 - one[e]
        if zero[e] < 1e-6 and n_configurations(view, e) > 0:  # to full relative precision
            zero[e] = 0.0
            for c in range(m):
                zero[e] += view.pair[1, view.cell[c]] / m
