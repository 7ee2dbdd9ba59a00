"""Langevin moves of the weights of present edges and of the biases: Chen & Welling (2012), sec. 3.

The parameters are those of the features x_u x_v, edges first, and x_i: r + d coordinates, each with a
momentum of its own. The preconditioner is diagonal, C = H^(-1/2), H the curvature of the log posterior.
Not implemented: preconditioners that are not diagonal.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import by_type, lean
from pymc_mrf.kernels.edges.hamiltonian import hamiltonian_move, prior_precisions
from pymc_mrf.kernels.priors.densities import (
    LAPLACE,
    Density,
    Tabulated,
    density_of,
    slope_and_precision,
)
from pymc_mrf.kernels.simulation.pair_counts import population_count


class Langevin(NamedTuple):
    """Momenta of all r + d parameters, weights first, and what one step does.

    `H` and `p` (r + d,): curvatures, and momenta in units of their roots; `p` is changed in place.
    `moved` (r + d,) bool: which coordinates the last step moved; changed in place. The others start with
    a new momentum: the one that an edge had before its absence lacks half an update, and would pull it
    back. `step` and `alpha`: step size, and the share of the momentum that is kept.
    """

    H: np.ndarray
    p: np.ndarray
    moved: np.ndarray
    step: float
    alpha: float


@by_type
def log_slope(f, x):
    """Return the derivative of the log density at x, not smoothed anywhere."""


@log_slope.register(Density)
def closed_log_slope(f, x):
    """Return the slope by formula, that of LAPLACE with its corner."""
    if f.kind == LAPLACE:
        return -np.sign(x - f.location) / f.scale
    return slope_and_precision(f, x)[0]


@log_slope.register(Tabulated)
def tabulated_log_slope(f, x):
    return slope_and_precision(f, x)[0]


@lean
def feature_moments(z, n_chains, edges, y, mean, variance):
    """Sample means and variances of all features over bit-packed chains.

    `z` (d, W) uint64: as `packed_states.pack` writes it. `n_chains`: at least 2. `edges` (r, 2). `y`
    (2,): values of the states. `mean` and `variance` (r + d,): output; the variance is the unbiased one.
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


@lean
def langevin_step(w, b, s, n, mean, prior, moves_biases, dynamics, rng):
    """One step of eq. (4) without an accept step, from an estimate `mean` of the expectations.

    The estimate belongs to the present parameters, which the last step has reached: so it serves the
    second half of the last step's momentum update and the first half of this one's. In between, eq. (7)
    refreshes the momentum.

    `w` and `b` (r,), (d,): changed in place; absent edges stay absent. `s` (r + d,): sums of the
    features over the n observations. `mean` (r + d,): estimated expectations of the features. `prior`
    (EdgePrior) and `dynamics` (Langevin). Returns float: mean square of the momenta at the end of the
    last step, 1 if there are none.
    """
    H, p, moved, step, alpha = dynamics
    r, beta = w.shape[0], np.sqrt(1.0 - alpha * alpha)
    square, count = 0.0, 0
    for k in range(r + (b.shape[0] if moves_biases else 0)):
        if k < r:
            x = w[k]
            if x == 0.0:
                moved[k] = False
                continue
            slope = log_slope(prior.slab, x)
        else:
            x = b[k - r]
            slope = log_slope(density_of(prior.bias, k - r), x)
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


@lean
def langevin_move(view, active, prior, dynamics, x, rng):
    """One step of eq. (4) under the exact likelihood, accepted or rejected (Horowitz, 1991).

    A trajectory of one leapfrog step, whose momentum is refreshed in part.

    `view`: for `hamiltonian`, with `centre` 0: the parameters, changed in place, are moved as they are.
    `active` (k,) int64: present edges. `prior` (EdgePrior). `dynamics`: the signs of the momenta are
    turned where the step is rejected. `x` (hamiltonian.Coordinates). Returns float: acceptance
    probability.
    """
    H, p, moved, step, alpha = dynamics
    r, k, beta = view.w.shape[0], active.shape[0], np.sqrt(1.0 - alpha * alpha)
    for e in range(r):
        moved[e] = moved[e] and view.w[e] != 0.0
    for j in range(k + view.n_biases):
        a = active[j] if j < k else r + j - k
        if not moved[a]:
            p[a] = rng.standard_normal()
        moved[a] = True
        x.inverse_mass[j] = 1.0 / H[a]
        x.momentum[j] = (alpha * p[a] + beta * rng.standard_normal()) * np.sqrt(H[a])
    accept = hamiltonian_move(view, active, prior, x, step, 1, rng, False)[0]
    for j in range(k + view.n_biases):
        a = active[j] if j < k else r + j - k
        p[a] = x.momentum[j] / np.sqrt(H[a])
    return accept


@lean
def marginal_variances(field, marginals, out):
    """Variances of all features, `out` (r + d,), from the `marginals` (4 r + 2 d,) of edges and nodes."""
    r, y = field.edges.shape[0], field.features[0, 0]
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


@lean
def fill_precisions(prior, out):
    """Curvatures of the log priors, `out` (r + d,), each at the centre of its prior."""
    r = prior.log_odds.shape[0]
    out[:r] = prior_precisions(prior, out[r:])
