"""Prior densities of single parameters, and what they make of a log-likelihood that is nearly quadratic.

A density is a `Density`, in closed form, or a `Tabulated` one; numba chooses between them by type. Tables
would do for all, but with them chains take two to five times as long for as many effective draws (12 binary
nodes, normal and Cauchy slabs, exact and pseudo-likelihood).

Laplace's method fails where a tabulated density, which may have any shape, vanishes at an end of its support,
or is infinite there. So the support is cut into cells, on which the density is taken as constant: times
exp(g x - h x^2 / 2), which approximates the likelihood, each has its integral in closed form.
"""

import math
from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import by_type, lean
from pymc_mrf.kernels.priors.series import Series, series_value

FAR = 5.0  # standard deviations of the likelihood beyond which a cell is on a straight slope
LEAST_H = 1e-12
_HALF_LOG_HALF_PI = 0.5 * np.log(0.5 * np.pi)


@lean
def log_cell_integral(a, b, g, h):
    """Log of the integral of exp(g x - h x^2 / 2) over [a, b], h > 0."""
    root = np.sqrt(h)
    low, high = (a - g / h) * root, (b - g / h) * root
    if low > FAR or high < -FAR:
        nearest = a if low > FAR else b
        slope = abs(g - h * nearest)
        width = b - a
        inside = width if slope * width < 1e-8 else -np.expm1(-slope * width) / slope
        return nearest * (g - 0.5 * h * nearest) + np.log(inside)
    if low > 0.0:
        mass = math.erfc(low * math.sqrt(0.5)) - math.erfc(high * math.sqrt(0.5))
    elif high < 0.0:
        mass = math.erfc(-high * math.sqrt(0.5)) - math.erfc(-low * math.sqrt(0.5))
    else:
        mass = math.erf(high * math.sqrt(0.5)) - math.erf(low * math.sqrt(0.5))
    if high - low < 1e-4:  # a narrow cell: the difference has lost its digits
        x = 0.5 * (a + b)
        return x * (g - 0.5 * h * x) + np.log(b - a)
    return 0.5 * g * g / h + _HALF_LOG_HALF_PI - 0.5 * np.log(h) + np.log(mass)


@lean
def cell_moments(a, b, g, h):
    """Mean and variance of a value in [a, b] under exp(g x - h x^2 / 2), roughly."""
    width, nearest = b - a, min(max(g / h, a), b)
    slope = abs(g - h * nearest)
    # how far the density reaches from its highest point: by its slope or curvature, within the cell
    reach = min(0.5 * width, 1.0 / (slope + np.sqrt(h)))
    if nearest == a:
        mean = a + reach
    elif nearest == b:
        mean = b - reach
    else:
        mean = min(max(nearest, a + reach), b - reach)
    return mean, min(reach * reach, width * width / 12.0)


@lean
def fit_cells(edges, log_heights, g, h):
    """Log integral of the slab times exp(g x - h x^2 / 2); mean and variance of the value.

    `edges` (c + 1,): ends of the cells, ascending. `log_heights` (c,): log density of the slab in each.
    """
    h = max(h, LEAST_H)
    top, mass, first, second = -np.inf, 0.0, 0.0, 0.0
    for k in range(log_heights.shape[0]):
        value = log_heights[k] + log_cell_integral(edges[k], edges[k + 1], g, h)
        if value > top:
            scale = np.exp(top - value)
            mass, first, second = mass * scale, first * scale, second * scale
            top = value
        p = np.exp(value - top)
        mean, variance = cell_moments(edges[k], edges[k + 1], g, h)
        mass += p
        first += p * mean
        second += p * (variance + mean * mean)
    mean = first / mass
    return top + np.log(mass), mean, max(second / mass - mean * mean, 1e-20)


@lean
def draw_in_cells(edges, log_heights, g, h, log_mass, rng):
    """Draw a cell by its integral, and a value anywhere in it; `log_mass` is that of `fit_cells`.

    `edges` (c + 1,) and `log_heights` (c,) as there.
    """
    h = max(h, LEAST_H)
    level, k = rng.random(), 0
    for k in range(log_heights.shape[0]):
        level -= np.exp(log_heights[k] + log_cell_integral(edges[k], edges[k + 1], g, h) - log_mass)
        if level < 0.0:
            break
    return edges[k] + (edges[k + 1] - edges[k]) * rng.random()


@lean
def log_cell_density(edges, log_heights, g, h, log_mass, x):
    """Log density of `draw_in_cells` at x, which is -inf outside the cells.

    `edges` (c + 1,) and `log_heights` (c,) as of `fit_cells`.
    """
    k = np.searchsorted(edges, x, side="right") - 1
    if k < 0 or k >= log_heights.shape[0]:
        return -np.inf
    a, b = edges[k], edges[k + 1]
    return log_heights[k] + log_cell_integral(a, b, g, max(h, LEAST_H)) - log_mass - np.log(b - a)


FLAT, NORMAL, STUDENT, LAPLACE = 0, 1, 2, 3

WIDE = 0.05  # share of the Cauchy part, as wide as WIDTH scales, in the proposal of a value
WIDTH = 3.0
TAIL_WIDTH, TAIL_SHARE = 4.0, 0.9
"""Scales and share in the proposal of a part with the tails of a heavy-tailed slab, where the data say
nothing. Of weights to which they set no limit it makes some five times as many effective draws; of others as
many as without it."""

_C5 = 0.37960668982249444  # density of Student's t with 5 degrees of freedom at 0
_CAUCHY = 1.0 / (np.pi * WIDTH)
HALF_LOG_2PI = 0.5 * np.log(2.0 * np.pi)
_LOG_HALF = np.log(0.5)


class Density(NamedTuple):
    """Density in closed form of one parameter.

    `kind`: FLAT, NORMAL, STUDENT (Cauchy: nu = 1) or LAPLACE. `constant`: largest log density.
    """

    kind: int
    location: float
    scale: float
    nu: float
    constant: float


class Tabulated(NamedTuple):
    """Any density of one parameter.

    `location` and `scale`: median, and a rough width. `constant`: upper bound of the log density and of
    all `heights`. `series`: log density. `cells` (c + 1,): ends of the cells, as below. `heights`
    (c,): log density in each cell, on average.
    """

    location: float
    scale: float
    constant: float
    series: Series
    cells: np.ndarray
    heights: np.ndarray


class Densities(NamedTuple):
    """Densities in closed form of k parameters: arrays (k,) of what `Density` has."""

    kind: np.ndarray
    location: np.ndarray
    scale: np.ndarray
    nu: np.ndarray
    constant: np.ndarray


class Fit(NamedTuple):
    """Proposal of a value.

    `g`, `h` and `log_mass`: parabola and log mass of `fit_cells`, under a tabulated density.
    """

    mode: float
    precision: float
    g: float
    h: float
    log_mass: float


class Alike(NamedTuple):
    """One density for all parameters."""

    density: Tabulated


class Combined(NamedTuple):
    """Densities of sums of parameters, one for each of F fields with the same k places.

    Sum f at place i is sum_g inverse[f, g] x_gi of the parameters x, those of one field after those of
    another; it has density f k + i.

    `inverse` (F, F).
    """

    densities: Densities | Alike
    inverse: np.ndarray


class Joined(NamedTuple):
    """Densities of some parameters, and of those that come after them.

    `n_first`: number of the former; single densities are asked of them only.
    """

    first: Densities | Alike
    second: Densities | Alike
    n_first: int


@by_type
def density_of(densities, i):
    """Return the density of parameter i of `Densities` or `Alike`."""


@density_of.register(Densities)
def own_density(f, i):
    return Density(f.kind[i], f.location[i], f.scale[i], f.nu[i], f.constant[i])


@density_of.register(Alike)
def common_density(f, i):
    return f.density


@density_of.register(Joined)
def density_of_first(f, i):
    """Return the density of parameter i, one of the first."""
    return density_of(f.first, i)


@by_type
def log_density(f, x):
    """Log density at x."""


@by_type
def slope_and_precision(f, x):
    """Return the derivative of the log density at x, and a positive curvature; for proposals and gradients.

    The curvature of the heavy-tailed kinds is that of the parabola from below that touches at x.
    """


@by_type
def expanded_fit(f, x, value, g, h, reach):
    """`Fit` to f(y) exp(value + g (y - x) - h (y - x)^2 / 2), a function of y, and the log of its integral.

    By Laplace's method with f expanded at x, no farther than `reach` from x; or by cells.
    """


@by_type
def quadratic_fit(f, g, h):
    """`Fit` to f(x) exp(g x - h x^2 / 2), and the log of its integral."""


@by_type
def propose_fit(f, fit, rng):
    """Draw a value by a `Fit`: by `propose_value`; if f is tabulated, every other time from its cells."""


@by_type
def log_fit(f, fit, x):
    """Log density of `propose_fit` at x."""


@log_density.register(Density)
def closed_log_density(f, x):
    z = (x - f.location) / f.scale
    if f.kind == NORMAL:
        return f.constant - 0.5 * z * z
    if f.kind == STUDENT:
        return f.constant - 0.5 * (f.nu + 1.0) * np.log1p(z * z / f.nu)
    return f.constant - abs(z) if f.kind == LAPLACE else 0.0


@log_density.register(Tabulated)
def tabulated_log_density(f, x):
    return series_value(f.series, x)


@slope_and_precision.register(Density)
def closed_slope_and_precision(f, x):
    """Return both by formula; the corner of LAPLACE is rounded."""
    z, variance = x - f.location, f.scale * f.scale
    if f.kind == NORMAL:
        precision = 1.0 / variance
    elif f.kind == STUDENT:
        precision = (f.nu + 1.0) / (f.nu * variance + z * z)
    elif f.kind == LAPLACE:
        precision = 1.0 / (f.scale * np.sqrt(z * z + 0.0625 * variance))
    else:
        precision = 0.0
    return -z * precision, precision


@slope_and_precision.register(Tabulated)
def tabulated_slope_and_precision(f, x):
    """Return both by differences within the support."""
    h = 1e-3 * f.scale
    x = min(max(x, f.series.lower[0] + h), f.series.upper[-1] - h)
    here, up = series_value(f.series, x), series_value(f.series, x + h)
    down = series_value(f.series, x - h)
    least = 0.25 / (f.scale * f.scale)
    if not (np.isfinite(up) and np.isfinite(down)):
        return 0.0, least
    return (up - down) / (2.0 * h), max((2.0 * here - up - down) / (h * h), least)


@expanded_fit.register(Density)
def closed_expanded_fit(f, x, value, g, h, reach):
    slope, precision = slope_and_precision(f, x)
    precision += h
    shift = (g + slope) / precision
    log_mass = value + log_density(f, x) + 0.5 * shift * shift * precision
    log_mass += HALF_LOG_2PI - 0.5 * np.log(precision)
    return Fit(x + min(max(shift, -reach), reach), precision, 0.0, 1.0, 0.0), log_mass


@expanded_fit.register(Tabulated)
def tabulated_expanded_fit(f, x, value, g, h, reach):
    fit, log_mass = quadratic_fit(f, g + h * x, h)
    return fit, value - (g + 0.5 * h * x) * x + log_mass


@quadratic_fit.register(Density)
def closed_quadratic_fit(f, g, h):
    """Newton's method from 0."""
    x, precision = 0.0, 1.0
    for _ in range(1 if f.kind == NORMAL else 3):
        slope, prior = slope_and_precision(f, x)
        precision = h + prior
        x += (g - h * x + slope) / precision
    log_mass = log_density(f, x) + (g - 0.5 * h * x) * x + HALF_LOG_2PI - 0.5 * np.log(precision)
    return Fit(x, precision, 0.0, 1.0, 0.0), log_mass


@quadratic_fit.register(Tabulated)
def tabulated_quadratic_fit(f, g, h):
    log_mass, mean, variance = fit_cells(f.cells, f.heights, g, h)
    return Fit(mean, 1.0 / variance, g, h, log_mass), log_mass


@propose_fit.register(Density)
def closed_propose_fit(f, fit, rng):
    """Heavy-tailed around the mode, or with the tails of a slab that has heavy ones itself."""
    if f.kind == STUDENT and rng.random() < tail_share(f, fit):
        g = tail_of(f, fit)
        return g.location + g.scale * rng.standard_normal() / np.sqrt(
            rng.standard_gamma(0.5 * g.nu) / (0.5 * g.nu)
        )
    return propose_value(fit.mode, fit.precision, rng)


@propose_fit.register(Tabulated)
def tabulated_propose_fit(f, fit, rng):
    if rng.random() < 0.5:
        return draw_in_cells(f.cells, f.heights, fit.g, fit.h, fit.log_mass, rng)
    return propose_value(fit.mode, fit.precision, rng)


@log_fit.register(Density)
def closed_log_fit(f, fit, x):
    value = log_proposal(x, fit.mode, fit.precision)
    if f.kind == STUDENT:
        share = tail_share(f, fit)
        tail = log_density(tail_of(f, fit), x)
        value = np.logaddexp(np.log1p(-share) + value, np.log(share) + tail)
    return value


@log_fit.register(Tabulated)
def tabulated_log_fit(f, fit, x):
    in_cells = log_cell_density(f.cells, f.heights, fit.g, fit.h, fit.log_mass, x)
    return _LOG_HALF + np.logaddexp(log_proposal(x, fit.mode, fit.precision), in_cells)


@lean
def tail_share(f, fit):
    """Share of proposals from `tail_of`: the less, the more the data say in addition to the slab."""
    of_slab = slope_and_precision(f, f.location)[1]
    return TAIL_SHARE * of_slab / (of_slab + fit.precision)


@lean
def tail_of(f, fit):
    """Density around the mode of a `Fit` with tails as heavy as those of the slab f.

    Where the data set no limit to one side the posterior has these.
    """
    scale = TAIL_WIDTH / np.sqrt(fit.precision)
    return Density(f.kind, fit.mode, scale, f.nu, f.constant + np.log(f.scale / scale))


@lean
def propose_value(mode, precision, rng):
    """Draw a value: Student's t with 5 degrees of freedom, now and then Cauchy."""
    scale = 1.0 / np.sqrt(precision)
    if rng.random() < WIDE:
        return mode + WIDTH * scale * np.tan(np.pi * (rng.random() - 0.5))
    return mode + scale * rng.standard_normal() / np.sqrt(rng.standard_gamma(2.5) / 2.5)


@lean
def log_proposal(x, mode, precision):
    """Log density of `propose_value` at x."""
    z2 = (x - mode) ** 2 * precision
    t = 1.0 + z2 / 5.0
    density = (1.0 - WIDE) * _C5 / (t * t * t) + WIDE * _CAUCHY / (1.0 + z2 / (WIDTH * WIDTH))
    return np.log(density) + 0.5 * np.log(precision)
