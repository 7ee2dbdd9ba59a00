"""Densities as piecewise Legendre series, and the envelopes under which kernels draw from them."""

from collections.abc import Callable

import numpy as np

from pymc_mrf.kernels.priors.series import N_NODES, NODES, TO_COEFFICIENTS, BaseDensity, Series

NARROW = 1e-10  # panels are not halved below this width (relative beyond 1): kinks, jumps
MAX_PANELS = 2048
CELLS = 8  # of the envelope, on every panel, to begin with
SPLITS, RANGE = 6, 1.0  # cells are cut into four so many times at most, until log densities vary less
LOG_ZERO = -1e30  # stands for the logarithm of a density of 0 or beyond all use
STEEP = 1e6  # largest change of the log density on a panel that matters
TOLERANCE = 1e-11  # of the log density, relative beyond 1
# rounding errors of the density itself, up to this size, are recognised by not shrinking with the panel
NOISE = 1e-4
STUCK = 4  # halvings without gain
# far below the maximum fewer digits are needed, and PyMC's densities have fewer: the tolerance grows by
# a factor e for each so many logs, up to e^25
DIGITS_LOST = 20.0
NEGLIGIBLE = 100.0  # below the largest log density of a panel too narrow to be halved


def tabulate(
    log_density: Callable[[np.ndarray], np.ndarray],
    bounds: tuple[float, float],
    center: float,
    rounding: Callable[[np.ndarray], np.ndarray] = np.zeros_like,
    *,
    what: str = "the base",
) -> Series:
    """Approximate a log density by Legendre series on panels, adaptively.

    Parameters
    ----------
    log_density : callable
        Elementwise on arrays; -inf where the density is 0.
    bounds : tuple of float
        Support; may be infinite.
    center : float
        A point inside the support. Panels grow geometrically away from it.
    rounding : callable
        Error in the argument with which `log_density` is evaluated, elementwise: nothing finer than
        its effect on the log density is resolved.
    what : str
        Whose density it is, for messages: "the base of theta".

    Returns
    -------
    Series
        Absolute error about 1e-11 (relative where the log density exceeds 1 in size), more where the
        density is many orders of magnitude below its maximum or itself inexact (to 1e-4), and except
        within 1e-10 of a kink or jump.

    Raises
    ------
    ValueError
        If the log density is NaN or +inf somewhere, or has too many kinks.
    """
    reach = 2.0 ** np.arange(-3, 41)
    cuts = np.concatenate([center + reach, center - reach, [center]])
    low, high = max(bounds[0], cuts.min()), min(bounds[1], cuts.max())
    cuts = np.unique(np.concatenate([cuts[(cuts > low) & (cuts < high)], [low, high]]))
    lower, upper = cuts[:-1], cuts[1:]
    peak = -np.inf
    before, stuck = np.full(len(lower), np.inf), np.zeros(len(lower), dtype=int)
    done = []
    while len(lower):
        half = 0.5 * (upper - lower)
        values = log_density((lower + half)[:, None] + half[:, None] * NODES)  # (p, nodes)
        if np.any(np.isnan(values) | (values == np.inf)):
            raise ValueError(
                f"the log density of {what} is NaN or infinite inside its support (near "
                f"{lower.min():.6g} to {upper.max():.6g} on the scale of the natural parameter); choose a "
                "distribution whose density is finite there"
            )
        somewhere = (values > LOG_ZERO).any(axis=1)
        lower, upper, half, values, before, stuck = (
            v[somewhere] for v in (lower, upper, half, values, before, stuck)
        )
        narrow = upper - lower <= NARROW * (1.0 + np.abs(lower))
        top = values.max(axis=1)
        # where a jump is not resolved any more, LOG_ZERO would take all digits from the other values
        values = np.maximum(values, np.where(narrow, top - NEGLIGIBLE, LOG_ZERO)[:, None])
        coefficients = values @ TO_COEFFICIENTS
        bottom = values.min(axis=1)
        slope = 1.0 + np.abs(np.diff(values)).max(axis=1) / half
        peak = max(peak, values.max(initial=-np.inf))
        lost = np.exp(np.minimum((peak - top) / DIGITS_LOST, 25.0))
        error = TOLERANCE * np.maximum(lost, np.abs(values).max(axis=1))
        error += 10.0 * rounding(upper) * slope
        tail = np.abs(coefficients[:, -3:]).sum(axis=1)
        # a relative error is too coarse where the density is high at one end and vanishes at the other
        steep = (top - bottom > STEEP) & (top > -STEEP)
        stuck = np.where(tail > 0.5 * before, stuck + 1, 0)
        good = ((tail <= error) & ~steep) | narrow | ((stuck >= STUCK) & (tail < NOISE))
        done.append((lower[good], upper[good], coefficients[good]))
        middle = 0.5 * (lower[~good] + upper[~good])
        lower, upper = np.r_[lower[~good], middle], np.r_[middle, upper[~good]]
        before, stuck = np.tile(tail[~good], 2), np.tile(stuck[~good], 2)
        if sum(len(part[0]) for part in done) + len(lower) > MAX_PANELS // 2:
            raise ValueError(
                f"the density of {what} has too many kinks to be integrated; choose a smoother distribution"
            )
    parts = [np.concatenate(arrays) for arrays in zip(*done, strict=True)]
    order = np.argsort(parts[0])
    lower, upper, coefficients = (np.ascontiguousarray(part[order]) for part in parts)
    return Series(lower, upper, coefficients, _ceiling(lower, upper, coefficients))


def _ceiling(lower, upper, coefficients) -> np.ndarray:
    """Upper bound of each panel's values, from a fine grid and the largest change between its points."""
    grid = np.linspace(-1.0, 1.0, 65)
    narrow = upper - lower <= NARROW * (1.0 + np.abs(lower))
    values = coefficients @ np.polynomial.legendre.legvander(grid, N_NODES - 1).T
    bound = values.max(axis=1) + np.abs(np.diff(values)).max(axis=1)
    # the series of a narrow panel may mean nothing between its nodes
    nodes = coefficients @ np.polynomial.legendre.legvander(NODES, N_NODES - 1).T
    return np.where(narrow, nodes.max(axis=1), bound)


def envelope(series: Series) -> BaseDensity:
    """Add a piecewise constant envelope to a log density, cell by cell a little above it.

    Panels are cut into `CELLS` cells, and these, where the density matters, into four again and again until
    its logarithm varies by less than `RANGE` in each. The envelope is the larger end value, and where
    differences tell of a maximum inside, a second difference more: several times what a parabola rises above
    its ends. Cells without mass in double precision are kept: they bound the density as well.
    """
    grid = np.linspace(-1.0, 1.0, CELLS + 1)
    panel = np.repeat(np.arange(len(series.lower)), CELLS)
    t = np.tile(grid[:-1], len(series.lower))
    width = np.full(len(t), 2.0 / CELLS)  # in t
    peak = -np.inf
    done = []
    for _ in range(SPLITS + 1):
        # half-way points of the cell and of one on either side
        points = t[:, None] + width[:, None] * np.linspace(-1.0, 2.0, 7)
        values = np.polynomial.legendre.legvander(np.clip(points, -1.0, 1.0), N_NODES - 1)
        values = np.einsum("cik,ck->ci", values, series.coefficients[panel])
        inside = values[:, 2:5]
        top, bend = inside.max(axis=1), np.abs(np.diff(values, 2, axis=1)).max(axis=1)
        peak = max(peak, top.max(initial=-np.inf))
        has_maximum = np.abs(inside[:, 2] - inside[:, 0]) <= 4.0 * bend
        height = np.minimum(top + np.where(has_maximum, bend, 0.0) + 1e-9, series.ceiling[panel])
        coarse = (top - inside.min(axis=1) > RANGE) & (height > peak - NEGLIGIBLE)
        done.append([v[~coarse] for v in (panel, t, width, height)])
        t = (t[coarse, None] + width[coarse, None] * np.arange(4) / 4.0).ravel()
        panel, width = np.repeat(panel[coarse], 4), np.repeat(width[coarse] / 4.0, 4)
        last = height[coarse]
    done.append([panel, t, width, np.repeat(last, 4)])
    panel, t, width, height = (np.concatenate(parts) for parts in zip(*done, strict=True))
    order = np.lexsort((t, panel))
    panel, t, height = panel[order], t[order], height[order]
    lower = series.lower[panel] + 0.5 * (series.upper - series.lower)[panel] * (1.0 + t)
    upper = np.append(lower[1:], series.upper[-1])
    ends = np.append(np.flatnonzero(np.diff(panel)), len(panel) - 1)  # of panels, which need not meet
    upper[ends] = series.upper[panel[ends]]
    mass = np.exp(height) * (upper - lower)
    total = mass.sum()
    return BaseDensity(
        series, lower, upper, height - np.log(total), np.cumsum(mass) / total, float(np.log(total))
    )
