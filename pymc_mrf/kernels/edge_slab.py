"""What all engines of the edge sampler share: prior densities, and the proposal for one edge.

Given all else, an edge is absent (parameter 0) or has a value x with density proportional to
p / (1 - p) slab(x) exp(l(x) - l(0)). The proposal is independent of the edge's present state: absent or
not by the odds of a Laplace approximation, the value from a heavy-tailed density at the mode. An
acceptance step then leaves the conditional itself invariant (Hastings, 1970).
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.edge_posterior import Series, series_value

FLAT, SERIES, NORMAL, STUDENT, LAPLACE = 0, 1, 2, 3, 4

LEAST = 1e-3
"""Smallest probability with which either state of an edge is proposed."""

MAX_SHIFT = 2.0  # of a Newton step
WIDE = 0.05  # share of the Cauchy part, as wide as WIDTH scales, in the proposal of a value
WIDTH = 3.0
_C5 = 0.37960668982249444  # density of Student's t with 5 degrees of freedom at 0
_CAUCHY = 1.0 / (np.pi * WIDTH)
HALF_LOG_2PI = 0.5 * np.log(2.0 * np.pi)


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
    """

    kind: int
    location: np.ndarray
    scale: np.ndarray
    nu: np.ndarray
    constant: np.ndarray
    series: Series


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
        here, up, down = series_value(f.series, x), series_value(f.series, x + h), 0.0
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
    """Mode and precision of slab(x) exp(g x - h x^2 / 2), approximately."""
    x, precision = 0.0, 1.0
    for _ in range(1 if slab.kind == NORMAL else 3):
        slope, prior = slope_and_precision(slab, 0, x)
        precision = h + prior
        x += (g - h * x + slope) / precision
    return in_support(slab, x), precision


@jit
def quadratic_log_odds(x, precision, g, h, slab):
    """Log of the integral of slab(x) exp(g x - h x^2 / 2) by Laplace's method around `x`."""
    return log_density(slab, 0, x) + (g - 0.5 * h * x) * x + HALF_LOG_2PI - 0.5 * np.log(precision)


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
