"""Group moves of edge parameters with a likelihood estimated from weighted particles.

The counterpart of `kernels.exact_groups`: Neal (2000), Algorithm 2; Liu & Page (2013), eq. (4), with
each edge's likelihood by identity (A1) from its estimated marginal.

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
The further observations of a group's value are centred on the likelihood's own mode rather than on the
posterior mean, a difference of the order of rho as well.
"""

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.crp import draw_label, open_group, remove_label
from pymc_mrf.kernels.edge_posterior import edge_log_likelihood, integrate_edge, series_value
from pymc_mrf.kernels.weighted_particles import (
    TINY,
    change_edge,
    dot,
    edge_marginal,
    effective_size,
    particle_probabilities,
    tabulate_edge,
)

MAX_NOISE = 0.5  # variance ratio up to which an estimated likelihood is corrected
SLICE_UPDATES = 4  # of every group value: they cost little beside the statistics of its edges


@jit
def sharpening(variance_ratio):
    """Factor by which observations are multiplied to correct for noise; see the module's docstring."""
    return 1.0 / (1.0 - min(variance_ratio, MAX_NOISE))


@jit
def laplace_integral(s, n, lam, base):
    """Approximation of `edge_posterior.integrate_edge` by Laplace's method."""
    p = (s + 0.5) / (n + 1.0)  # kept inside (0, 1)
    mode = np.log(p) - np.log1p(-p) - lam
    mode = min(max(mode, base.lower[0]), base.upper[-1])
    height = edge_log_likelihood(mode, s, n, lam) + series_value(base, mode)
    return height + 0.5 * np.log(2.0 * np.pi / ((n + 1.0) * p * (1.0 - p)))


@jit
def expected_marginal(eta, sizes, n_groups, log_new, s, n, lam, scratch):
    """P(f = 1) of an edge averaged over the labels that it may get, with their probabilities.

    Arguments as in `crp.draw_label`.
    """
    top = log_new
    for k in range(n_groups):
        scratch[k] = np.log(sizes[k]) + edge_log_likelihood(eta[k], s, n, lam)
        top = max(top, scratch[k])
    total = np.exp(log_new - top)
    mean = total * (s + 0.5) / (n + 1.0)  # the mode of a new value, kept inside (0, 1)
    for k in range(n_groups):
        weight = np.exp(scratch[k] - top)
        total += weight
        mean += weight * 0.5 * (1.0 + np.tanh(0.5 * (eta[k] + lam)))
    return mean / total


@jit
def sweep_labels(
    first,
    labels,
    eta,
    sizes,
    n_groups,
    s,
    n,
    log_alpha,
    base,
    particles,
    graph,
    least_size,
    edge_work,
    rng,
):
    """Redraw the labels of edges first, first + 1, ... until the effective size is below `least_size`.

    Parameters
    ----------
    first : int
    labels : (r,) int64 array, changed in place
    eta : (r,) array, changed in place
        Values of the groups in the first n_groups entries.
    sizes : (r,) int64 array, changed in place
    n_groups : int
    s : (r,) array
        Sum of f over the n observations.
    n, log_alpha : float
    base : Series
        Log density of the base measure over eta.
    particles : Particles
        Weights and parameters follow every change.
    graph : GraphArrays
    least_size : float
    edge_work : EdgeWork
    rng : numpy.random.Generator

    Returns
    -------
    next : int
        The edge to go on with; r after the last.
    n_groups : int
        -1 if an integral over the base did not converge.
    n_new : int
    noise : float
        Sum over the visited edges of the variance of the log-likelihood ratio between two values one
        standard deviation apart.
    size : float
        Effective sample size.
    """
    scratch = np.empty(labels.shape[0] + 1)
    size = effective_size(particles.W)
    n_new, noise = 0, 0.0
    for e in range(first, labels.shape[0]):
        old = particles.eta[e]
        one, zero, variance = edge_marginal(e, particles, graph)
        one, zero = max(one, TINY), max(zero, TINY)
        lam = np.log(one) - np.log(zero) - old
        ratio = n * variance / (size * one * zero)
        noise += ratio
        n_groups = remove_label(e, labels, eta, sizes, n_groups)
        log_new = log_alpha + laplace_integral(s[e], n, lam, base)
        center = expected_marginal(eta, sizes, n_groups, log_new, s[e], n, lam, scratch)
        more = n * (sharpening(ratio) - 1.0)
        s_e, n_e = s[e] + more * center, n + more
        log_new = log_alpha + integrate_edge(s_e, n_e, lam, base, edge_work)
        if np.isnan(log_new):
            return e, -1, n_new, noise, size
        k = draw_label(eta, sizes, n_groups, log_new, s_e, n_e, lam, scratch, rng)
        if k == n_groups:
            open_group(e, s_e, n_e, lam, base, labels, eta, sizes, n_groups, edge_work, rng)
            n_groups += 1
            n_new += 1
        else:
            labels[e] = k
            sizes[k] += 1
        if eta[k] != old:
            size = change_edge(e, eta[k], particles, graph)
            if size < least_size:
                return e + 1, n_groups, n_new, noise, size
    return labels.shape[0], n_groups, n_new, noise, size


@jit
def group_statistics(k, labels, particles, graph):
    """T_k(z), the sum of f over the edges of group k, per particle, and what its edges say of its mean.

    Returns
    -------
    low, high : int
        Smallest and largest T_k that occur; `mass` has the weight of each value.
    mean, deficit : float
        Rao-Blackwellised E[T_k], and E[size of the group - T_k] to full relative precision.
    ratio : float
        Variance of one particle's share in the mean, relative to that of T_k.
    """
    total, share, mass, W = particles.total, particles.share, particles.mass, particles.W
    m = W.shape[0]
    total[:] = 0
    share[:] = 0.0
    n_edges, deficit = 0, 0.0
    for e in range(labels.shape[0]):
        if labels[e] != k:
            continue
        n_edges += 1
        z_u, z_v = particles.z[graph.edges[e, 0]], particles.z[graph.edges[e, 1]]
        for c in range(m):
            total[c] += np.int32(particles.statistic[z_u[c], z_v[c]])
        if tabulate_edge(e, particles, graph) > 0:
            for c in range(m):
                share[c] += particles.pair[0, particles.cell[c]]
                deficit += W[c] * particles.pair[1, particles.cell[c]]
        else:
            for c in range(m):
                one, zero = particle_probabilities(e, c, particles, graph)
                share[c] += one
                deficit += W[c] * zero
    mass[: n_edges + 1] = 0.0
    low, high = n_edges, 0
    for c in range(m):
        mass[total[c]] += W[c]
        low, high = min(low, total[c]), max(high, total[c])
    plain, spread = 0.0, 0.0
    for t in range(low, high + 1):
        plain += mass[t] * t / m
    for t in range(low, high + 1):
        spread += mass[t] * (t - plain) ** 2
    mean = dot(W, share) / m
    variance = 0.0
    for c in range(m):
        variance += W[c] * (share[c] - mean) ** 2
    # at most 1, up to the error of the two variances
    return low, high, mean, deficit / m, variance / max(spread, variance, TINY)


@jit
def calibrate(mass, low, high, size, mean, deficit, n_particles):
    """Give the distribution of T, with weights `mass` on low..high, the mean that its edges say.

    The weights are tilted exponentially. Where no tilt has that mean, because all particles agree or
    nearly so, two neighbouring values take their place. A rare value of T then has the weight that its
    Rao-Blackwellised probability gives it, not that of the few particles that show it, which matters for
    strong edges. Returns the new ends; `deficit` is `size` - `mean` to full relative precision.
    """
    if not low + 1e-9 < mean < high - 1e-9:
        first = min(int(mean), size - 1)
        upper = mean - first
        lower = deficit if first == size - 1 else 1.0 - upper
        for t in range(min(low, first), max(high, first + 1) + 1):
            mass[t] = 0.0
        mass[first] = min(max(lower, TINY), 1.0) * n_particles
        mass[first + 1] = min(max(upper, TINY), 1.0) * n_particles
        return min(low, first), max(high, first + 1)
    tau = 0.0
    for _ in range(30):
        a0, a1, a2 = 0.0, 0.0, 0.0
        for t in range(low, high + 1):
            q = mass[t] * np.exp(tau * (t - high))
            a0 += q
            a1 += q * t
            a2 += q * t * t
        step = (mean - a1 / a0) / max(a2 / a0 - (a1 / a0) ** 2, 1e-12)
        tau += min(max(step, -1.0), 1.0)
        if abs(step) < 1e-10:
            break
    total = 0.0
    for t in range(low, high + 1):
        mass[t] *= np.exp(tau * (t - high))
        total += mass[t]
    for t in range(low, high + 1):
        mass[t] *= n_particles / total
    return low, high


@jit
def log_mean_exp(delta, mass, low, high, n_particles):
    """Log of the weighted mean of exp(delta T), T having the weights `mass`."""
    top = delta * (high if delta > 0.0 else low)
    total = 0.0
    for t in range(low, high + 1):
        if mass[t] > 0.0:
            total += mass[t] * np.exp(delta * t - top)
    return top + np.log(total / n_particles)


@jit
def move_values(first, labels, eta, group_sums, n, widths, base, particles, graph, least_size, rng):
    """Redraw the values of groups first, first + 1, ... until the effective size is below `least_size`.

    Along one group the log-likelihood is known from the particles in all its cumulants:
    phi S_k - n log E exp((phi - phi_k) T_k), by the distribution of T_k of `calibrate`; for a group of one
    edge that is identity (A1). It is slice-sampled
    (Neal, 2003, sec. 4, fixed interval), then the weights follow.

    Parameters
    ----------
    first : int
    labels : (r,) int64 array
    eta : (K,) array, changed in place
    group_sums : (K,) array
        Sum of f over observations and edges of the group.
    n : float
    widths : (K,) array
        Interval of each group, placed at random around its value.
    base : Series
    particles : Particles
    graph : GraphArrays
    least_size : float
    rng : numpy.random.Generator

    Returns
    -------
    next : int
        The group to go on with; K after the last.
    noise : float
        Sum over the visited groups, as in `sweep_labels`.
    size : float
        Effective sample size.
    """
    W, mass = particles.W, particles.mass
    m = W.shape[0]
    size, noise = effective_size(W), 0.0
    for k in range(first, eta.shape[0]):
        low, high, mean, deficit, ratio = group_statistics(k, labels, particles, graph)
        n_edges = 0
        for e in range(labels.shape[0]):
            n_edges += labels[e] == k
        low, high = calibrate(mass, low, high, n_edges, mean, deficit, m)
        ratio *= n / size
        noise += ratio
        power = sharpening(ratio)
        old, S = eta[k], group_sums[k]
        here = series_value(base, old)
        now = old
        for _ in range(SLICE_UPDATES):
            level = here + np.log(rng.random())
            left = now - widths[k] * rng.random()
            right = left + widths[k]
            while True:
                value = left + rng.random() * (right - left)
                delta = value - old
                log_partition = log_mean_exp(delta, mass, low, high, m)
                there = power * (S * delta - n * log_partition) + series_value(base, value)
                if there > level:
                    break
                if value < now:
                    left = value
                else:
                    right = value
            now, here = value, there
        eta[k] = now
        delta = now - old
        top = delta * (high if delta > 0.0 else low)
        for t in range(low, high + 1):
            mass[t] = np.exp(delta * t - top)
        total = 0.0
        for c in range(m):
            W[c] *= mass[particles.total[c]]
            total += W[c]
        for c in range(m):
            W[c] *= m / total
        for e in range(labels.shape[0]):
            if labels[e] == k:
                particles.eta[e] = now
        size = effective_size(W)
        if size < least_size:
            return k + 1, noise, size
    return eta.shape[0], noise, size
