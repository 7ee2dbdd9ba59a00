"""Joint moves of two edges of a binary field under its pseudo-likelihood: see `edge_wedges`."""

import numpy as np

from pymc_mrf.kernels._jit import jit
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
from pymc_mrf.kernels.pseudo_edges import node_terms
from pymc_mrf.kernels.vector_sums import copy_row, dot, dot_square, pair_dot, triple_dot


@jit
def shifted_wedge(field, wedge, k, L_u, L_v, L_v2, x, x2, rows, sums):
    """Terms of the three nodes at values x, x2 of the edges, `L` (N,) being their local fields without them.

    `rows` (9, N): L, R, V of u, v and v2, of which v is left alone if possibility k is without (u, v), and
    v2 if it is without (u, v2); `sums` (6,): sums of V, and of log(1 + exp(L)), likewise.
    Returns the gradient (2) and the information (3), where k lets them count.
    """
    Z_u, Z_v, Z_v2, T = field.Z[wedge.u], field.Z[wedge.v], field.Z[wedge.v2], field.T
    base, scratch, n = field.room[18], field.room[19], field.n
    g, g2, h11, h12, h22 = 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(base.shape[0]):
        base[j] = L_u[j] + x * Z_v[j]
    sums[0], sums[3] = node_terms(base, x2, Z_v2, T[wedge.u], n, rows[0], rows[1], rows[2], scratch)
    if k >= 2:
        sums[1], sums[4] = node_terms(L_v, x, Z_u, T[wedge.v], n, rows[3], rows[4], rows[5], scratch)
        g = pair_dot(rows[1], Z_v, rows[4], Z_u)
        h11 = dot_square(rows[2], Z_v) + dot_square(rows[5], Z_u)
    if k % 2:
        sums[2], sums[5] = node_terms(L_v2, x2, Z_u, T[wedge.v2], n, rows[6], rows[7], rows[8], scratch)
        g2 = pair_dot(rows[1], Z_v2, rows[7], Z_u)
        h22 = dot_square(rows[2], Z_v2) + dot_square(rows[8], Z_u)
    if k == 3:
        h12 = triple_dot(rows[2], Z_v, Z_v2)
    return g, g2, h11, h12, h22


@jit
def log_target(field, wedge, k, x, x2, A, prior):
    """Log of prior times pseudo-likelihood, A being the three nodes' sum of log(1 + exp(L)); unnormalised."""
    value = x * field.s[wedge.e] + x2 * field.s[wedge.e2] - A
    return value + log_prior(wedge, k, x, x2, prior)


@jit
def update_wedge(u, e, e2, share, field, w, b, prior, corrected, work, rng):
    """Update edges e and e2 of u; `share` is the mean of Z_v Z_v2."""
    proposal, log_mass, sums = work
    old, old2 = w[e], w[e2]
    was = 2 * (old != 0.0) + (old2 != 0.0)
    wedge = make_wedge(u, e, e2, field.edges, field.m, w, b)
    v, v2 = wedge.v, wedge.v2
    without, rows = field.room[:9], field.room[9:18]
    before, after = sums[0], sums[1]
    L_u, L_v, L_v2 = field.L[u], field.L[v], field.L[v2]
    R_u, R_v, R_v2 = field.R[u], field.R[v], field.R[v2]
    before[0], before[1], before[2] = field.v[u], field.v[v], field.v[v2]
    before[3], before[4], before[5] = field.A[u], field.A[v], field.A[v2]
    A_old = before[3] + before[4] + before[5]
    if was != 0:
        shifted_wedge(field, wedge, was, L_u, L_v, L_v2, -old, -old2, without, before)
        L_u, R_u = without[0], without[1]
        if was >= 2:
            L_v, R_v = without[3], without[4]
        if was % 2:
            L_v2, R_v2 = without[6], without[7]
    g = pair_dot(R_u, field.Z[v], R_v, field.Z[u])
    g2 = pair_dot(R_u, field.Z[v2], R_v2, field.Z[u])
    # information if the edges' ends had independent variances: no pass over the rows
    h11 = before[0] * field.z2[v] + before[1] * field.z2[u]
    h22 = before[0] * field.z2[v2] + before[2] * field.z2[u]
    h12 = before[0] * share
    if rng.random() >= ANYWAY and is_settled(wedge, (g, g2, h11, h12, h22), prior):
        return
    log_mass[0] = log_target(field, wedge, 0, 0.0, 0.0, before[3:].sum(), prior)
    for k in range(1, 4):
        after[:] = before  # k leaves some nodes alone
        x, x2 = 0.0, 0.0
        precision = proposal.precision[k]
        for _ in range(2):
            terms = (g - h11 * x - h12 * x2, g2 - h12 * x - h22 * x2, h11, h12, h22)
            step, step2, _ = newton_step(wedge, k, x, x2, terms, prior, precision)
            x = after_step(prior.slab, x, step) if k >= 2 else 0.0
            x2 = after_step(prior.slab, x2, step2) if k % 2 else 0.0
        for _ in range(MAX_NEWTON):
            terms = shifted_wedge(field, wedge, k, L_u, L_v, L_v2, x, x2, rows, after)
            step, step2, length = newton_step(wedge, k, x, x2, terms, prior, precision)
            log_mass[k] = log_target(field, wedge, k, x, x2, after[3:].sum(), prior) + 0.5 * length
            x = after_step(prior.slab, x, step) if k >= 2 else 0.0
            x2 = after_step(prior.slab, x2, step2) if k % 2 else 0.0
            if length < CONVERGED:
                break
        proposal.mode[k, 0], proposal.mode[k, 1] = x, x2
        log_mass[k] += log_volume(k, precision)
    fill_probabilities(log_mass, proposal.rho)
    k, x, x2 = propose(proposal, rng.random(), rng)
    if k == 0 and was == 0:
        return
    after[:] = before
    shifted_wedge(field, wedge, k, L_u, L_v, L_v2, x, x2, rows, after)
    log_ratio = log_target(field, wedge, k, x, x2, after[3:].sum(), prior) - log_proposed(
        proposal, k, x, x2
    )
    log_ratio -= log_target(field, wedge, was, old, old2, A_old, prior)
    log_ratio += log_proposed(proposal, was, old, old2)
    if corrected and not np.log(rng.random()) < log_ratio:
        return
    set_wedge(wedge, x, x2, w, b)
    for i, node in enumerate((u, v, v2)):
        source = rows
        if (i == 1 and k < 2) or (i == 2 and k % 2 == 0):  # as without the edge
            if (i == 1 and was < 2) or (i == 2 and was % 2 == 0):
                continue
            source = without
        copy_row(source, 3 * i, field.L, node)
        copy_row(source, 3 * i + 1, field.R, node)
        copy_row(source, 3 * i + 2, field.V, node)
        field.v[node], field.A[node] = after[i], after[3 + i]


@jit
def sweep_wedges(field, wedges, w, b, prior, corrected, rng):
    """Update pairs of edges that share a node, after `sweep_edges`.

    Parameters
    ----------
    field : PseudoField
    wedges : Wedges
    w : (r,) array, changed in place
    b : (d,) array, changed in place if m is not zero
    prior : EdgePrior
    corrected : bool
        Whether proposals are accepted by the rule of Metropolis and Hastings; else always.
    rng : numpy.random.Generator
    """
    work, edge_to = (allocate_proposal(), np.empty(4), np.empty((2, 6))), wedges.edge_to
    for f in range(w.shape[0]):
        if rng.random() >= wedges.visits[f]:
            continue
        v, v2 = field.edges[f, 0], field.edges[f, 1]
        share = dot(field.Z[v], field.Z[v2]) / field.n
        mark(v, wedges, edge_to)
        for k in range(wedges.indptr[v2], wedges.indptr[v2 + 1]):
            u = wedges.neighbors[k]
            if edge_to[u] >= 0:
                e, e2 = edge_to[u], wedges.edge_ids[k]
                update_wedge(u, e, e2, share, field, w, b, prior, corrected, work, rng)
        unmark(v, wedges, edge_to)
