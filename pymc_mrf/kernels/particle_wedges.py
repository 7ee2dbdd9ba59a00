"""Joint moves of two edges whose likelihood is estimated from weighted particles: see `edge_wedges`.

As in `particle_edges`: the probabilities of the eight states of u, v and v2 without both edges give the
likelihood for all values of both. They are averages over particles, Rao-Blackwellised over all three nodes:
given the others, and without the edges, u is independent of v and v2. After a change of the edges v and v2
keep their states in each particle, its weight is multiplied by R(x', x2') / R(x, x2), R the sum over the
states of u of their probability without the edges times exp(x c + x2 c2), and u is drawn anew from its
conditional.
"""

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.binary_particles import (
    add_edge,
    fill_product,
    fill_sigmoid,
    fill_uniform,
    link,
    normalise,
    probabilities,
    push,
    resample,
    sweep_particles,
    unlink,
)
from pymc_mrf.kernels.edge_slab import MAX_NEWTON
from pymc_mrf.kernels.edge_wedges import (
    ANYWAY,
    CONVERGED,
    after_step,
    allocate_proposal,
    fill_probabilities,
    is_settled,
    log_prior,
    log_proposed,
    log_volume,
    make_wedge,
    mark,
    newton_step,
    propose,
    set_wedge,
    unmark,
)
from pymc_mrf.kernels.particle_edges import LEAST_CELL, TINY, fill_factors, variance_of_mean
from pymc_mrf.kernels.particle_groups import sharpening
from pymc_mrf.kernels.random_lanes import seed_lanes
from pymc_mrf.kernels.vector_sums import LOWEST, dot, exp_negative, total


@jit
def fill_cells(field, u, e, c):
    """Cells of edge e with the state of u first, (4,)."""
    first = field.edges[e, 0] == u
    for a in range(2):
        for j in range(2):
            c[2 * a + j] = field.cells[e, 2 * a + j] if first else field.cells[e, 2 * j + a]


@jit
def moments(x, x2, log_p, c, c2):
    """Log of the mean of exp(x c + x2 c2), and mean and covariance of c and c2 under that weight.

    `log_p` (8,): log probabilities of the states of u, v and v2; `c` (4,) is for u and v, `c2` for u and v2.
    """
    top = -np.inf
    for k in range(8):
        top = max(top, log_p[k] + x * c[k // 2] + x2 * c2[2 * (k // 4) + k % 2])
    z, s, s2, s11, s12, s22 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(8):
        y, y2 = c[k // 2], c2[2 * (k // 4) + k % 2]
        p = np.exp(log_p[k] + x * y + x2 * y2 - top)
        z += p
        s += p * y
        s2 += p * y2
    s, s2 = s / z, s2 / z
    for k in range(8):
        y, y2 = c[k // 2] - s, c2[2 * (k // 4) + k % 2] - s2
        p = np.exp(log_p[k] + x * c[k // 2] + x2 * c2[2 * (k // 4) + k % 2] - top) / z
        s11 += p * y * y
        s12 += p * y * y2
        s22 += p * y2 * y2
    return top + np.log(z), s, s2, s11, s12, s22


@jit
def fill_modes(wedge, log_p, c, c2, s, s2, n, prior, proposal, log_mass):
    """Modes, precisions and log masses (4,) of the possibilities."""
    for k in range(4):
        x, x2 = 0.0, 0.0
        precision = proposal.precision[k]
        for _ in range(MAX_NEWTON):
            A, mean, mean2, v11, v12, v22 = moments(x, x2, log_p, c, c2)
            log_mass[k] = x * s + x2 * s2 - n * A + log_prior(wedge, k, x, x2, prior)
            if k == 0:
                break
            terms = (s - n * mean, s2 - n * mean2, n * v11, n * v12, n * v22)
            step, step2, length = newton_step(wedge, k, x, x2, terms, prior, precision)
            log_mass[k] += 0.5 * length
            x = after_step(prior.slab, x, step) if k >= 2 else 0.0
            x2 = after_step(prior.slab, x2, step2) if k % 2 else 0.0
            if length < CONVERGED:
                break
        proposal.mode[k, 0], proposal.mode[k, 1] = x, x2
        log_mass[k] += log_volume(k, precision)


@jit
def strip(wedge, old, old2, c, c2, field, particles, H, P, W):
    """Local field and P of u, and weights of the particles, all (N,), without both edges."""
    T_v, T_v2 = particles.T[wedge.v], particles.T[wedge.v2]
    H[:] = particles.H[wedge.u]
    add_edge(-old, wedge.v, field, particles.T, H)
    add_edge(-old2, wedge.v2, field, particles.T, H)
    fill_sigmoid(H, P)
    f, f2 = np.empty(4), np.empty(4)
    fill_factors(old, c, f)
    fill_factors(old2, c2, f2)
    for j in range(W.shape[0]):
        zero = (f[0] + (f[1] - f[0]) * T_v[j]) * (f2[0] + (f2[1] - f2[0]) * T_v2[j])
        one = (f[2] + (f[3] - f[2]) * T_v[j]) * (f2[2] + (f2[3] - f2[2]) * T_v2[j])
        W[j] = particles.W[j] / max(zero + (one - zero) * P[j], TINY)


@jit
def redraw(P, c, c2, x, x2, T_v, T_v2, uniform, W, T_u, flips):
    """Multiply the weights by R at x and x2, and draw u; the changes of T_u go to `flips`."""
    f, f2 = np.empty(4), np.empty(4)
    fill_factors(x, c, f)
    fill_factors(x2, c2, f2)
    for j in range(W.shape[0]):
        zero = (f[0] + (f[1] - f[0]) * T_v[j]) * (f2[0] + (f2[1] - f2[0]) * T_v2[j])
        one = (f[2] + (f[3] - f[2]) * T_v[j]) * (f2[2] + (f2[3] - f2[2]) * T_v2[j])
        R = max(zero + (one - zero) * P[j], TINY)
        W[j] *= R
        flips[j] = 1.0 if uniform[j] * R < one * P[j] else 0.0
    for j in range(W.shape[0]):
        new = flips[j]
        flips[j] = new - T_u[j]
        T_u[j] = new


@jit
def carry_over(wedge, old, old2, x, x2, c, c2, field, particles, H, P, W):
    """Make weights and states of the particles follow a change of the wedge; the effective size.

    `H`, `P` and `W` (N,) are those without both edges.
    """
    u, T, flips, uniform = wedge.u, particles.T, particles.room[7], particles.room[8]
    for e, node, value in ((wedge.e, wedge.v, old), (wedge.e2, wedge.v2, old2)):
        if value != 0.0:
            unlink(u, e, particles)
            unlink(node, e, particles)
            add_edge(-value, u, field, T, particles.H[node])
    particles.W[:] = W
    fill_uniform(particles.lanes, uniform)
    redraw(P, c, c2, x, x2, T[wedge.v], T[wedge.v2], uniform, particles.W, T[u], flips)
    push(u, flips, -1, field, particles)
    particles.H[u, :] = H
    for e, node, value in ((wedge.e, wedge.v, x), (wedge.e2, wedge.v2, x2)):
        particles.w[e] = value
        if value != 0.0:
            link(u, node, e, particles)
            link(node, u, e, particles)
            add_edge(value, node, field, T, particles.H[u])
            add_edge(value, u, field, T, particles.H[node])
        particles.stale[node] = True
    particles.stale[u] = True
    return normalise(particles.W, particles.size)


@jit
def fill_ends(J, H_v, H_v2, T_v, T_v2, q_v, q_v2, q_both):
    """Probabilities (N,) that v, that v2 and that both are in their second states, u being linked to neither.

    `H_v`, `H_v2` (N,): local fields without the edges of u; `J` couples v and v2.
    """
    for j in range(q_v.shape[0]):
        q_v[j] = H_v[j] - J * T_v2[j]
        q_v2[j] = H_v2[j] - J * T_v[j]
    for j in range(q_v.shape[0]):
        a, b = q_v[j], q_v2[j]
        both = a + b + J
        top = max(max(a, b), max(both, 0.0))
        one, two = exp_negative(max(a - top, LOWEST)), exp_negative(max(b - top, LOWEST))
        both = exp_negative(max(both - top, LOWEST))
        scale = 1.0 / (exp_negative(max(-top, LOWEST)) + one + two + both)
        q_v[j] = (one + both) * scale
        q_v2[j] = (two + both) * scale
        q_both[j] = both * scale


@jit
def fill_triple(W, P, rows, log_p):
    """Log probabilities (8,) of the states of u, v and v2; `rows` (3, N): W times those of `fill_ends`."""
    sum_W, sum_v, sum_v2, sum_both = total(W), total(rows[0]), total(rows[1]), total(rows[2])
    one, one_v, one_v2, one_both = dot(W, P), dot(rows[0], P), dot(rows[1], P), dot(rows[2], P)
    log_p[7] = one_both
    log_p[6] = one_v - one_both
    log_p[5] = one_v2 - one_both
    log_p[4] = one - one_v - one_v2 + one_both
    log_p[3] = sum_both - log_p[7]
    log_p[2] = sum_v - sum_both - log_p[6]
    log_p[1] = sum_v2 - sum_both - log_p[5]
    log_p[0] = sum_W - sum_v - sum_v2 + sum_both - log_p[4]
    for k in range(8):
        log_p[k] = np.log(max(log_p[k] / sum_W, LEAST_CELL))


@jit
def without_edges(wedge, J, old, old2, stale, c, c2, field, particles, log_p):
    """Local field and P of u, and weights of the particles, all (N,), without both edges.

    Fills `log_p` (8,), and in the room products of W, in rows 0 to 2, with what `fill_ends` gives, in rows 9
    to 11.
    """
    room, T, u, v, v2 = particles.room, particles.T, wedge.u, wedge.v, wedge.v2
    if old == 0.0 and old2 == 0.0:
        H, P, W = particles.H[u], probabilities(u, particles), particles.W
        H_v, H_v2 = particles.H[v], particles.H[v2]
    else:
        stale = True
        H, P, W = room[3], room[4], room[5]
        strip(wedge, old, old2, c, c2, field, particles, H, P, W)
        H_v, H_v2 = room[7], room[8]
        H_v[:] = particles.H[v]
        H_v2[:] = particles.H[v2]
        add_edge(-old, u, field, T, H_v)
        add_edge(-old2, u, field, T, H_v2)
    if stale:
        fill_ends(J, H_v, H_v2, T[v], T[v2], room[9], room[10], room[11])
        for k in range(3):
            fill_product(W, room[9 + k], room[k])
    fill_triple(W, P, room[:3], log_p)
    return H, P, W


@jit
def update_wedge(u, e, e2, J, stale, field, particles, w, b, prior, corrected, expected, work, rng):
    """Update edges e and e2 of u; the effective size after a change, else 0, and whether ends are stale.

    `J` couples the other ends. What `fill_ends` gives for particles without e and e2 is computed anew if
    `stale`, and else taken from the last call.
    """
    proposal, log_mass, log_p, c, c2 = work
    old, old2 = w[e], w[e2]
    was = 2 * (old != 0.0) + (old2 != 0.0)
    wedge = make_wedge(u, e, e2, field.edges, field.m, w, b)
    fill_cells(field, u, e, c)
    fill_cells(field, u, e2, c2)
    H, P, W = without_edges(wedge, J, old, old2, stale, c, c2, field, particles, log_p)
    q_v, q_v2, room = particles.room[9], particles.room[10], particles.room[6]
    s, s2, n = field.s[e], field.s[e2], field.n
    _, mean, mean2, v11, v12, v22 = moments(0.0, 0.0, log_p, c, c2)
    likelihood = (s - n * mean, s2 - n * mean2, n * v11, n * v12, n * v22)
    if rng.random() >= ANYWAY and is_settled(wedge, likelihood, prior):
        return 0.0, was != 0
    # further observations that have the means to be expected, as for single edges
    ratio = n * variance_of_mean(W, P, q_v, c, mean, room) / v11
    ratio = max(ratio, n * variance_of_mean(W, P, q_v2, c2, mean2, room) / v22)
    more = n * (sharpening(ratio) - 1.0)
    if not np.isnan(expected[e] + expected[e2]):
        s, s2, n = s + more * expected[e], s2 + more * expected[e2], n + more
    fill_modes(wedge, log_p, c, c2, s, s2, n, prior, proposal, log_mass)
    fill_probabilities(log_mass, proposal.rho)
    k, x, x2 = propose(proposal, rng.random(), rng)
    if k == 0 and was == 0:
        return 0.0, False
    log_ratio = x * s + x2 * s2 - n * moments(x, x2, log_p, c, c2)[0]
    log_ratio -= old * s + old2 * s2 - n * moments(old, old2, log_p, c, c2)[0]
    log_ratio += log_prior(wedge, k, x, x2, prior) - log_prior(wedge, was, old, old2, prior)
    log_ratio += log_proposed(proposal, was, old, old2) - log_proposed(proposal, k, x, x2)
    if corrected and not np.log(rng.random()) < log_ratio:
        return 0.0, was != 0
    set_wedge(wedge, x, x2, w, b)
    return carry_over(wedge, old, old2, x, x2, c, c2, field, particles, H, P, W), True


@jit
def sweep_wedges(
    field, wedges, particles, w, b, prior, corrected, least_size, n_sweeps, expected, tally, rng
):
    """Update pairs of edges that share a node, after `particle_edges.sweep_edges`.

    Parameters
    ----------
    field : ExactField
    wedges : Wedges
    particles : Particles
        Those of w and b.
    w : (r,) array, changed in place
    b : (d,) array, changed in place if m is not zero
    prior : EdgePrior
    corrected, least_size, n_sweeps
        As of `particle_edges.sweep_edges`.
    expected : (r,) array
        Of its `Means`.
    tally : Tally, changed in place
    rng : numpy.random.Generator
    """
    seed_lanes(particles.lanes, rng)
    work = (allocate_proposal(), np.empty(4), np.empty(8), np.empty(4), np.empty(4))
    edge_to = wedges.edge_to
    for f in range(w.shape[0]):
        if rng.random() >= wedges.visits[f]:
            continue
        v, v2 = field.edges[f, 0], field.edges[f, 1]
        stale, J = True, w[f] * (field.y[1] - field.y[0]) ** 2
        mark(v, wedges, edge_to)
        for k in range(wedges.indptr[v2], wedges.indptr[v2 + 1]):
            u, e, e2 = wedges.neighbors[k], edge_to[wedges.neighbors[k]], wedges.edge_ids[k]
            if e < 0:
                continue
            size, stale = update_wedge(
                u, e, e2, J, stale, field, particles, w, b, prior, corrected, expected, work, rng
            )
            if size > 0.0:
                tally.least_size[0] = min(tally.least_size[0], size)
                if size < least_size:
                    resample(particles, rng)
                    sweep_particles(field, particles, n_sweeps)
                    tally.resamplings[0] += 1
        unmark(v, wedges, edge_to)
