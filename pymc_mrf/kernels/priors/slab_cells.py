"""The conditional of an edge's value under a tabulated slab, which may have any shape.

Laplace's method fails where the density of the slab vanishes at an end of its support, or is infinite there.
So the support is cut into cells, on which the density is taken as constant: times exp(g x - h x^2 / 2), which
approximates the likelihood, each has its integral in closed form.
"""

import math

import numpy as np

from pymc_mrf.kernels._jit import lean

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
