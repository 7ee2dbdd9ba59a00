"""What the engines of the edge sampler share: prior densities, the proposal for one edge, centred biases.

Given all else, an edge is absent (parameter 0) or has a value x with density proportional to
p / (1 - p) slab(x) exp(l(x) - l(0)). The proposal is independent of the edge's present state: absent or
not by the odds of a Laplace approximation, the value from a heavy-tailed density at the mode; under a
tabulated slab by `slab_cells`. An acceptance step then leaves the conditional itself invariant (Hastings,
1970).

Edges move at constant *centred* biases beta_i = b_i + sum_j w_ij m_j, m the means of the data, which
decorrelates weights and biases. If the biases are not the sampler's to move, m = 0 and beta = b.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.series import Series, series_value
from pymc_mrf.kernels.slab_cells import draw_in_cells, fit_cells, log_cell_density

FLAT, SERIES, NORMAL, STUDENT, LAPLACE = 0, 1, 2, 3, 4

LEAST = 1e-3
"""Smallest probability with which either state of an edge is proposed."""

MAX_SHIFT = 2.0  # of a Newton step
MAX_NEWTON = 6  # steps towards a mode, at most
REFINE = 0.25  # proposals of presence more probable than this get a better mode
STRONG_SCORE = 3.5  # or if the score is that many standard deviations from zero
WIDE = 0.05  # share of the Cauchy part, as wide as WIDTH scales, in the proposal of a value
WIDTH = 3.0
_C5 = 0.37960668982249444  # density of Student's t with 5 degrees of freedom at 0
_CAUCHY = 1.0 / (np.pi * WIDTH)
HALF_LOG_2PI = 0.5 * np.log(2.0 * np.pi)
_LOG_HALF = np.log(0.5)
NONE = np.zeros(0)


class Densities(NamedTuple):
    """Prior densities of k parameters, all of one kind.

    Attributes
    ----------
    kind : int
        FLAT, SERIES (one density for all), NORMAL, STUDENT (Cauchy: nu = 1) or LAPLACE.
    location, scale, nu, constant : (k,) arrays
        `constant` is the largest log density; `scale` is a rough width if the kind is SERIES.
    series : Series
        Log density if the kind is SERIES.
    cells : (c + 1,) array
        Ends of the cells of `slab_cells` if the kind is SERIES; else empty.
    heights : (c,) array
        Log density in each cell, on average.
    """

    kind: int
    location: np.ndarray
    scale: np.ndarray
    nu: np.ndarray
    constant: np.ndarray
    series: Series
    cells: np.ndarray = NONE
    heights: np.ndarray = NONE


class Fit(NamedTuple):
    """Proposal of a present edge's value.

    Attributes
    ----------
    mode, precision : float
    g, h, log_mass : float
        Parabola and log mass of `slab_cells.fit_cells`, under a tabulated slab.
    """

    mode: float
    precision: float
    g: float = 0.0
    h: float = 1.0
    log_mass: float = 0.0


class EdgePrior(NamedTuple):
    """Prior of everything that the edge sampler moves.

    Attributes
    ----------
    log_odds : (r,) array
        Of presence.
    slab : Densities of one parameter
    bias : Densities of d parameters
        FLAT if the biases do not move.
    """

    log_odds: np.ndarray
    slab: Densities
    bias: Densities


@jit
def log_density(f, i, x):
    """Log density of parameter i at x."""
    if f.kind == FLAT:
        return 0.0
    if f.kind == SERIES:
        return series_value(f.series, x)
    z = (x - f.location[i]) / f.scale[i]
    if f.kind == NORMAL:
        return f.constant[i] - 0.5 * z * z
    if f.kind == STUDENT:
        return f.constant[i] - 0.5 * (f.nu[i] + 1.0) * np.log1p(z * z / f.nu[i])
    return f.constant[i] - abs(z)


@jit
def slope_and_precision(f, i, x):
    """Return the derivative of the log density at x, and a positive curvature; for proposals and gradients.

    The curvature of the heavy-tailed kinds is that of the parabola from below that touches at x.
    """
    if f.kind == FLAT:
        return 0.0, 0.0
    scale = f.scale[i]
    if f.kind == SERIES:
        h = 1e-3 * scale
        x = min(max(x, f.series.lower[0] + h), f.series.upper[-1] - h)  # differences within the support
        here, up = series_value(f.series, x), series_value(f.series, x + h)
        down = series_value(f.series, x - h)
        least = 0.25 / (scale * scale)
        if not (np.isfinite(up) and np.isfinite(down)):
            return 0.0, least
        return (up - down) / (2.0 * h), max((2.0 * here - up - down) / (h * h), least)
    z = x - f.location[i]
    if f.kind == NORMAL:
        precision = 1.0 / (scale * scale)
    elif f.kind == STUDENT:
        precision = (f.nu[i] + 1.0) / (f.nu[i] * scale * scale + z * z)
    else:
        precision = 1.0 / (scale * np.sqrt(z * z + 0.0625 * scale * scale))
    return -z * precision, precision


@jit
def precisions(f):
    """Curvatures at the locations, (k,)."""
    out = np.empty(f.location.shape[0])
    for i in range(out.shape[0]):
        out[i] = slope_and_precision(f, i, f.location[i])[1]
    return out


@jit
def in_support(slab, x):
    """Return x, or the end of a bounded slab that is nearest to it."""
    if slab.kind == SERIES:
        x = min(max(x, slab.series.lower[0]), slab.series.upper[-1])
    return x


@jit
def quadratic_mode(g, h, slab):
    """Mode and precision of slab(x) exp(g x - h x^2 / 2), approximately; mean, if the slab is tabulated."""
    if slab.kind == SERIES:
        _, mean, variance = fit_cells(slab.cells, slab.heights, g, h)
        return mean, 1.0 / variance
    x, precision = 0.0, 1.0
    for _ in range(1 if slab.kind == NORMAL else 3):
        slope, prior = slope_and_precision(slab, 0, x)
        precision = h + prior
        x += (g - h * x + slope) / precision
    return x, precision


@jit
def quadratic_fit(g, h, slab):
    """`Fit` to slab(x) exp(g x - h x^2 / 2), and the log of its integral, by Laplace's method or cells."""
    if slab.kind == SERIES:
        log_mass, mean, variance = fit_cells(slab.cells, slab.heights, g, h)
        return Fit(mean, 1.0 / variance, g, h, log_mass), log_mass
    x, precision = quadratic_mode(g, h, slab)
    log_odds = log_density(slab, 0, x) + (g - 0.5 * h * x) * x + HALF_LOG_2PI - 0.5 * np.log(precision)
    return Fit(x, precision, 0.0, 1.0, 0.0), log_odds


@jit
def expanded_fit(x, value, g, h, slab):
    """`quadratic_fit` to value + g (y - x) - h (y - x)^2 / 2, a function of y, and a tabulated slab."""
    fit, log_mass = quadratic_fit(g + h * x, h, slab)
    return fit, value - (g + 0.5 * h * x) * x + log_mass


@jit
def inclusion_probability(log_odds):
    """Probability with which a value other than 0 is proposed."""
    rho = 1.0 / (1.0 + np.exp(-log_odds))
    return min(max(rho, LEAST), 1.0 - LEAST)


@jit
def propose_value(mode, precision, rng):
    """Draw a value: Student's t with 5 degrees of freedom, now and then Cauchy."""
    scale = 1.0 / np.sqrt(precision)
    if rng.random() < WIDE:
        return mode + WIDTH * scale * np.tan(np.pi * (rng.random() - 0.5))
    return mode + scale * rng.standard_normal() / np.sqrt(rng.standard_gamma(2.5) / 2.5)


@jit
def log_proposal(x, mode, precision):
    """Log density of `propose_value` at x."""
    z2 = (x - mode) ** 2 * precision
    t = 1.0 + z2 / 5.0
    density = (1.0 - WIDE) * _C5 / (t * t * t) + WIDE * _CAUCHY / (1.0 + z2 / (WIDTH * WIDTH))
    return np.log(density) + 0.5 * np.log(precision)


@jit
def propose_fit(fit, cells, heights, rng):
    """Draw a value: by `propose_value`; under a tabulated slab, every other time from its cells."""
    if heights.shape[0] > 0 and rng.random() < 0.5:
        return draw_in_cells(cells, heights, fit.g, fit.h, fit.log_mass, rng)
    return propose_value(fit.mode, fit.precision, rng)


@jit
def log_fit(fit, cells, heights, x):
    """Log density of `propose_fit` at x."""
    value = log_proposal(x, fit.mode, fit.precision)
    if heights.shape[0] == 0:
        return value
    return _LOG_HALF + np.logaddexp(
        value, log_cell_density(cells, heights, fit.g, fit.h, fit.log_mass, x)
    )


@jit
def bias_terms(bias, u, v, b_u, b_v, m_u, m_v, x):
    """Log prior of the biases of both ends at value x of the edge; derivative and curvature by x.

    `b_u` and `b_v` are the biases at x = 0.
    """
    at_u, at_v = b_u - x * m_v, b_v - x * m_u
    if bias.kind == NORMAL:  # four times as fast as by the general functions
        location, scale, constant = bias.location, bias.scale, bias.constant
        z_u, z_v = (at_u - location[u]) / scale[u], (at_v - location[v]) / scale[v]
        c_u, c_v = m_v / scale[u], m_u / scale[v]
        value = constant[u] + constant[v] - 0.5 * (z_u * z_u + z_v * z_v)
        return value, c_u * z_u + c_v * z_v, c_u * c_u + c_v * c_v
    slope_u, precision_u = slope_and_precision(bias, u, at_u)
    slope_v, precision_v = slope_and_precision(bias, v, at_v)
    return (
        log_density(bias, u, at_u) + log_density(bias, v, at_v),
        -m_v * slope_u - m_u * slope_v,
        m_v * m_v * precision_u + m_u * m_u * precision_v,
    )


@jit
def centred(field, w, b, beta):
    """Fill the centred biases `beta` (d,) from weights and biases."""
    beta[:] = b
    for e in range(w.shape[0]):
        if w[e] != 0.0:
            beta[field.edges[e, 0]] += w[e] * field.m[field.edges[e, 1]]
            beta[field.edges[e, 1]] += w[e] * field.m[field.edges[e, 0]]


@jit
def set_parameters(field, active, q, n_biases, w, b, beta):
    """Weights and biases from the coordinates q (k + n_biases,) of a joint move."""
    k = active.shape[0]
    for a in range(k):
        w[active[a]] = q[a]
    if n_biases > 0:
        beta[:] = q[k:]
        b[:] = beta
        for e in active:
            b[field.edges[e, 0]] -= w[e] * field.m[field.edges[e, 1]]
            b[field.edges[e, 1]] -= w[e] * field.m[field.edges[e, 0]]
