"""Langevin moves of the weights of present edges and of the biases: Chen & Welling (2012), sec. 3.

The parameters are those of the features x_u x_v, edges first, and x_i: r + d coordinates, each with a
momentum of its own. The preconditioner is diagonal, C = H^(-1/2), H the curvature of the log posterior.
Not implemented: preconditioners that are not diagonal.
"""

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.edge_slab import LAPLACE, slope_and_precision
from pymc_mrf.kernels.exact_joint import log_posterior_and_gradient
from pymc_mrf.kernels.pair_counts import population_count


@jit
def log_slope(f, i, x):
    """Return the derivative of the log density of parameter i at x, not smoothed anywhere."""
    if f.kind == LAPLACE:
        return -np.sign(x - f.location[i]) / f.scale[i]
    return slope_and_precision(f, i, x)[0]


@jit
def feature_moments(z, n_chains, edges, y, mean, variance):
    """Sample means and variances of all features over bit-packed chains.

    Parameters
    ----------
    z : (d, W) uint64 array
        As `packed_gibbs.pack` writes it.
    n_chains : int
        At least 2.
    edges : (r, 2) array
    y : (2,) array
        Values of the states.
    mean, variance : (r + d,) arrays
        Output; the variance is the unbiased one.
    """
    r, d, m = edges.shape[0], z.shape[0], float(n_chains)
    for i in range(d):
        ones = np.uint64(0)
        for w in range(z.shape[1]):
            ones += population_count(z[i, w])
        p = float(ones) / m
        mean[r + i] = y[0] + (y[1] - y[0]) * p
        variance[r + i] = (y[1] - y[0]) ** 2 * p * (1.0 - p) * m / (m - 1.0)
    for e in range(r):
        u, v = edges[e, 0], edges[e, 1]
        both = np.uint64(0)
        for w in range(z.shape[1]):
            both += population_count(z[u, w] & z[v, w])
        p_11 = float(both) / m
        p_u, p_v = (mean[r + u] - y[0]) / (y[1] - y[0]), (mean[r + v] - y[0]) / (y[1] - y[0])
        p_1 = p_u + p_v - 2.0 * p_11  # exactly one of the two
        p_00 = 1.0 - p_1 - p_11
        first = p_11 * y[1] * y[1] + p_1 * y[0] * y[1] + p_00 * y[0] * y[0]
        second = p_11 * y[1] ** 4 + p_1 * (y[0] * y[1]) ** 2 + p_00 * y[0] ** 4
        mean[e] = first
        variance[e] = max(second - first * first, 0.0) * m / (m - 1.0)


@jit
def langevin_step(w, b, s, n, mean, prior, moves_biases, H, p, moved, step, alpha, rng):
    """One step of eq. (4) without an accept step, from an estimate `mean` of the expectations.

    The estimate belongs to the present parameters, which the last step has reached: so it serves the
    second half of the last step's momentum update and the first half of this one's. In between, eq. (7)
    refreshes the momentum.

    Parameters
    ----------
    w, b : (r,), (d,) arrays
        Changed in place; absent edges stay absent.
    s : (r + d,) array
        Sums of the features over the n observations.
    n : float
    mean : (r + d,) array
        Estimated expectations of the features.
    prior : EdgePrior
    moves_biases : bool
    H : (r + d,) array
    p : (r + d,) array
        Momentum, changed in place.
    moved : (r + d,) bool array
        Which coordinates the last step moved; changed in place. The others start with a new momentum: the
        one that an edge had before its absence lacks half an update, and would pull it back.
    step, alpha : float
    rng : numpy.random.Generator

    Returns
    -------
    float
        Mean square of the momenta at the end of the last step, 1 if there are none.
    """
    r, beta = w.shape[0], np.sqrt(1.0 - alpha * alpha)
    square, count = 0.0, 0
    for k in range(r + (b.shape[0] if moves_biases else 0)):
        if k < r:
            x = w[k]
            if x == 0.0:
                moved[k] = False
                continue
            slope = log_slope(prior.slab, 0, x)
        else:
            x = b[k - r]
            slope = log_slope(prior.bias, k - r, x)
        C = 1.0 / np.sqrt(H[k])
        half = 0.5 * step * C * (s[k] - n * mean[k] + slope)
        if moved[k]:
            p[k] += half
            square += p[k] * p[k]
            count += 1
        else:
            p[k] = rng.standard_normal()
        p[k] = alpha * p[k] + beta * rng.standard_normal() + half
        x += step * C * p[k]
        moved[k] = True
        if k >= r:
            b[k - r] = x
        elif x != 0.0:  # 0 would be an absent edge
            w[k] = x
    return square / count if count > 0 else 1.0


@jit
def langevin_move(field, active, w, b, prior, n_biases, H, p, moved, step, alpha, machine, rng, room):
    """One step of eq. (4) under the exact likelihood, accepted or rejected (Horowitz, 1991).

    Parameters
    ----------
    field : exact_edges.ExactField
        With m = 0: the parameters are moved as they are.
    active : (k,) int64 array
        Present edges.
    w, b : (r,), (d,) arrays
        Changed in place.
    prior : EdgePrior
    n_biases : int
        d if the biases move, else 0.
    H, p : (r + d,) arrays
        `p` is changed in place; its signs are turned where the step is rejected.
    moved : (r + d,) bool array
        As in `langevin_step`.
    step, alpha : float
    machine : exact_edges.Machine
    rng : numpy.random.Generator
    room : (3, k + n_biases) array
        Scratch.

    Returns
    -------
    float
        Acceptance probability.
    """
    r, k, beta = w.shape[0], active.shape[0], np.sqrt(1.0 - alpha * alpha)
    start, momentum, slope = room[0], room[1], room[2]
    for e in range(r):
        moved[e] = moved[e] and w[e] != 0.0
    before = log_posterior_and_gradient(field, active, w, b, prior, n_biases, machine, slope)
    for j in range(k + n_biases):
        a = active[j] if j < k else r + j - k
        C = 1.0 / np.sqrt(H[a])
        if not moved[a]:
            p[a] = rng.standard_normal()
        moved[a] = True
        momentum[j] = alpha * p[a] + beta * rng.standard_normal()
        before -= 0.5 * momentum[j] ** 2
        p[a] = momentum[j] + 0.5 * step * C * slope[j]
        if j < k:
            start[j] = w[a]
            w[a] += step * C * p[a]
        else:
            start[j] = b[j - k]
            b[j - k] += step * C * p[a]
    after = log_posterior_and_gradient(field, active, w, b, prior, n_biases, machine, slope)
    for j in range(k + n_biases):
        a = active[j] if j < k else r + j - k
        p[a] += 0.5 * step / np.sqrt(H[a]) * slope[j]
        after -= 0.5 * p[a] ** 2
    log_ratio = after - before
    accept = np.exp(min(log_ratio, 0.0)) if log_ratio == log_ratio else 0.0
    for a in active:
        if w[a] == 0.0:  # would be an absent edge
            accept = 0.0
    if not rng.random() < accept:
        for j in range(k):
            w[active[j]] = start[j]
            p[active[j]] = -momentum[j]
        for j in range(n_biases):
            b[j] = start[k + j]
            p[r + j] = -momentum[k + j]
    return accept


@jit
def marginal_variances(field, marginals, out):
    """Variances of all features, `out` (r + d,), from the marginal tables of edges and nodes."""
    r, y = field.edges.shape[0], field.y
    for e in range(r):
        first, second = 0.0, 0.0
        for k in range(4):
            f = y[k // 2] * y[k % 2]
            first += marginals[4 * e + k] * f
            second += marginals[4 * e + k] * f * f
        out[e] = max(second - first * first, 0.0)
    for i in range(out.shape[0] - r):
        p = marginals[4 * r + 2 * i + 1]
        out[r + i] = (y[1] - y[0]) ** 2 * p * (1.0 - p)


@jit
def prior_precisions(prior, out):
    """Curvatures of the log priors, `out` (r + d,), each at the centre of its prior."""
    r = prior.log_odds.shape[0]
    out[:r] = slope_and_precision(prior.slab, 0, prior.slab.location[0])[1]
    for i in range(out.shape[0] - r):
        out[r + i] = slope_and_precision(prior.bias, i, prior.bias.location[i])[1]
