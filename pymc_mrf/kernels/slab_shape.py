"""Prior density of the weights by scalars, for the innermost loops of the edge sampler."""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.edge_slab import HALF_LOG_2PI, NORMAL, STUDENT


class Shape(NamedTuple):
    """Density of one parameter that is NORMAL, STUDENT or LAPLACE, by scalars.

    Passing `Densities` to a function costs 70 ns: every array in it is many arguments.
    """

    kind: int
    location: float
    scale: float
    nu: float
    constant: float


@jit
def scalars(f):
    """Return the `Shape` of the first parameter of `Densities`."""
    return Shape(f.kind, f.location[0], f.scale[0], f.nu[0], f.constant[0])


@jit
def simple_log_density(shape, x):
    """Log density at x, like `log_density`."""
    z = (x - shape.location) / shape.scale
    if shape.kind == NORMAL:
        return shape.constant - 0.5 * z * z
    if shape.kind == STUDENT:
        return shape.constant - 0.5 * (shape.nu + 1.0) * np.log1p(z * z / shape.nu)
    return shape.constant - abs(z)


@jit
def simple_slope_and_precision(shape, x):
    """Return the slope of the log density and a positive curvature, like `slope_and_precision`."""
    z, variance = x - shape.location, shape.scale * shape.scale
    if shape.kind == NORMAL:
        precision = 1.0 / variance
    elif shape.kind == STUDENT:
        precision = (shape.nu + 1.0) / (shape.nu * variance + z * z)
    else:
        precision = 1.0 / (shape.scale * np.sqrt(z * z + 0.0625 * variance))
    return -z * precision, precision


@jit
def simple_mode(g, h, shape):
    """Mode and precision like `quadratic_mode`, and the log odds there like `quadratic_log_odds`."""
    x, precision = 0.0, 1.0
    for _ in range(1 if shape.kind == NORMAL else 3):
        slope, prior = simple_slope_and_precision(shape, x)
        precision = h + prior
        x += (g - h * x + slope) / precision
    log_odds = simple_log_density(shape, x) + (g - 0.5 * h * x) * x
    return x, precision, log_odds + HALF_LOG_2PI - 0.5 * np.log(precision)
