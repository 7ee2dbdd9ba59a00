"""Log densities as Legendre series on panels, the form in which kernels evaluate and draw from them."""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean

N_NODES = 16
NODES, _WEIGHTS = np.polynomial.legendre.leggauss(N_NODES)
# column k maps values at the nodes to the coefficient of P_k
TO_COEFFICIENTS = (
    np.polynomial.legendre.legvander(NODES, N_NODES - 1)
    * _WEIGHTS[:, None]
    * (2 * np.arange(N_NODES) + 1)
    / 2
)
_RECIPROCALS = 1.0 / np.arange(1, N_NODES + 1)  # 1 / k at k - 1: divisions are slow


class Series(NamedTuple):
    """A function given by Legendre series on panels.

    `lower` and `upper` (p,): ends of the panels, in increasing order. `coefficients` (p, N_NODES): of
    P_k(t), t in [-1, 1] on each panel. `ceiling` (p,): upper bound of the function on each panel.
    """

    lower: np.ndarray
    upper: np.ndarray
    coefficients: np.ndarray
    ceiling: np.ndarray


class BaseDensity(NamedTuple):
    """A log density, and cells under whose piecewise constant envelope it can be drawn from.

    `series`: the log density. `lower` and `upper` (c,): ends of the cells, in increasing order.
    `log_height` (c,): log of the normalised envelope on each cell. `cumulative` (c,): mass of the
    envelope up to the end of each cell; the last is 1. `log_excess`: log of the envelope's mass relative
    to that of the density: what normalising took off.
    """

    series: Series
    lower: np.ndarray
    upper: np.ndarray
    log_height: np.ndarray
    cumulative: np.ndarray
    log_excess: float


@lean
def legendre_sum(c, t):
    """sum_k c_k P_k(t); `c` (degree + 1,)."""
    before, here = 1.0, t
    total = c[0] + c[1] * t
    for k in range(1, c.shape[0] - 1):
        before, here = here, ((2 * k + 1) * t * here - k * before) * _RECIPROCALS[k]
        total += c[k + 1] * here
    return total


@lean
def legendre_slope(c, t):
    """sum_k c_k P'_k(t), by P'_{k+1} = P'_{k-1} + (2 k + 1) P_k; `c` (degree + 1,)."""
    before, here = 1.0, t
    slope_before, slope_here = 0.0, 1.0
    total = c[1]
    for k in range(1, c.shape[0] - 1):
        slope_before, slope_here = slope_here, slope_before + (2 * k + 1) * here
        before, here = here, ((2 * k + 1) * t * here - k * before) * _RECIPROCALS[k]
        total += c[k + 1] * slope_here
    return total


@lean
def panel_of(series, x):
    """Panel that holds `x`, and its place t in [-1, 1] there; -1 outside all panels."""
    p = np.searchsorted(series.lower, x, side="right") - 1
    if p < 0 or x > series.upper[p]:
        return -1, 0.0
    return p, 2.0 * (x - series.lower[p]) / (series.upper[p] - series.lower[p]) - 1.0


@lean
def series_value(series, x):
    """Value of a Series at `x`, -inf outside its panels."""
    p, t = panel_of(series, x)
    return legendre_sum(series.coefficients[p], t) if p >= 0 else -np.inf


@lean
def add_log_densities(series, x, slope):
    """Sum of a Series over all `x` (k,); its derivatives are added to `slope` (k,)."""
    total = 0.0
    for k in range(x.shape[0]):
        p, t = panel_of(series, x[k])
        if p < 0:
            return -np.inf
        total += legendre_sum(series.coefficients[p], t)
        scale = 2.0 / (series.upper[p] - series.lower[p])
        slope[k] += scale * legendre_slope(series.coefficients[p], t)
    return total


@lean
def draw_envelope(base, rng):
    c = min(np.searchsorted(base.cumulative, rng.random(), side="right"), base.lower.shape[0] - 1)
    return base.lower[c] + (base.upper[c] - base.lower[c]) * rng.random()


@lean
def log_envelope(base, x):
    c = np.searchsorted(base.lower, x, side="right") - 1
    return base.log_height[c] if c >= 0 and x <= base.upper[c] else -np.inf


@lean
def draw_base(base, rng):
    """Draw from the density itself, by rejection from its envelope."""
    while True:
        x = draw_envelope(base, rng)
        excess = log_envelope(base, x) + base.log_excess - series_value(base.series, x)
        if np.log(rng.random()) < -excess:
            return x
