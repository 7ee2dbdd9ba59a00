"""Prior densities of single parameters by scalars, for the innermost loops of the edge sampler."""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.edge_slab import FLAT, HALF_LOG_2PI, LAPLACE, NORMAL, STUDENT


class Shape(NamedTuple):
    """Density of one parameter that is FLAT, NORMAL, STUDENT or LAPLACE, by scalars.

    Passing `Densities` to a function costs 70 ns: every array in it is many arguments.
    """

    kind: int
    location: float
    scale: float
    nu: float
    constant: float


@jit
def scalars(f, i):
    """Return the `Shape` of parameter i of `Densities`."""
    if f.kind == FLAT:
        return Shape(FLAT, 0.0, 1.0, 1.0, 0.0)
    return Shape(f.kind, f.location[i], f.scale[i], f.nu[i], f.constant[i])


@jit
def simple_log_density(shape, x):
    """Log density at x, like `log_density`."""
    z = (x - shape.location) / shape.scale
    if shape.kind == NORMAL:
        return shape.constant - 0.5 * z * z
    if shape.kind == STUDENT:
        return shape.constant - 0.5 * (shape.nu + 1.0) * np.log1p(z * z / shape.nu)
    return shape.constant - abs(z) if shape.kind == LAPLACE else 0.0


@jit
def simple_slope_and_precision(shape, x):
    """Return the slope of the log density and a positive curvature, like `slope_and_precision`."""
    z, variance = x - shape.location, shape.scale * shape.scale
    if shape.kind == NORMAL:
        precision = 1.0 / variance
    elif shape.kind == STUDENT:
        precision = (shape.nu + 1.0) / (shape.nu * variance + z * z)
    elif shape.kind == LAPLACE:
        precision = 1.0 / (shape.scale * np.sqrt(z * z + 0.0625 * variance))
    else:
        precision = 0.0
    return -z * precision, precision


@jit
def simple_mode(g, h, shape):
    """Mode and precision like `quadratic_mode`, and the log odds there like `quadratic_fit`."""
    x, precision = 0.0, 1.0
    for _ in range(1 if shape.kind == NORMAL else 3):
        slope, prior = simple_slope_and_precision(shape, x)
        precision = h + prior
        x += (g - h * x + slope) / precision
    log_odds = simple_log_density(shape, x) + (g - 0.5 * h * x) * x
    return x, precision, log_odds + HALF_LOG_2PI - 0.5 * np.log(precision)


@jit
def simple_edge_terms(slab, at_u, at_v, b_u, b_v, m_u, m_v, x):
    """Log prior of an edge's value x and of the biases of its ends; derivative and curvature by x.

    `slab`, `at_u` and `at_v` are the `Shape` of the value and of both biases; see `edge_slab.bias_terms`.
    """
    slope, precision = simple_slope_and_precision(slab, x)
    y_u, y_v = b_u - x * m_v, b_v - x * m_u
    slope_u, precision_u = simple_slope_and_precision(at_u, y_u)
    slope_v, precision_v = simple_slope_and_precision(at_v, y_v)
    value = simple_log_density(slab, x) + simple_log_density(at_u, y_u) + simple_log_density(at_v, y_v)
    slope -= m_v * slope_u + m_u * slope_v
    return value, slope, precision + m_v * m_v * precision_u + m_u * m_u * precision_v
