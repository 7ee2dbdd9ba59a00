r"""The log-partition function of a field with one coupling, along that coupling: thermodynamic integration.

With S the sum of the weights of the agreeing edges, 1 each or other constants, and :math:`A(t) = \log
\sum_x e^{t S(x)}`, the mean of S at t is A'(t), and its variance A''(t) (Gelman & Meng, 1998, eq. 6).
Both are known at some *knots*, from simulation. Between two of them the mean is the cubic with these
values and slopes, its slopes lowered where it would not increase (Fritsch & Carlson, 1980), and A its
integral. Beyond the last knot the field is all but frozen: what the mean lacks of its limit falls
exponentially, at the rate at which it does at the knot.
"""

from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

LEAST = 1e-12  # of what is divided by: a field without edges, or frozen to the last one


@dataclass(frozen=True, eq=False)
class CouplingPath:
    """A(t) of the agreement field whose edges have couplings t times their weights, and its error.

    Attributes
    ----------
    log_count : float
        A(0), the log number of configurations.
    weights : (r,) array
        Of the edges, not negative.
    knots : (p,) array
        Couplings, increasing; 0 is one of them.
    means, variances : (p,) arrays
        Of S, at the knots.
    errors : (p,) array
        Monte Carlo standard errors of `means`.
    gaps : (p - 1,) array
        Estimated errors of the mean between two knots by interpolation.
    least : float
        What the mean falls to beyond the first knot.
    """

    log_count: float
    weights: np.ndarray
    knots: np.ndarray
    means: np.ndarray
    variances: np.ndarray
    errors: np.ndarray
    gaps: np.ndarray
    least: float

    @property
    def is_signed(self) -> bool:
        """Whether couplings below 0 are covered."""
        return bool(self.knots[0] < 0.0)

    @cached_property
    def most(self) -> float:
        """What the mean rises to beyond the last knot: S where all edges agree."""
        return float(self.weights.sum())

    @cached_property
    def _hermite(self) -> tuple[np.ndarray, np.ndarray]:
        """Increasing means, and slopes under which the cubics increase."""
        from scipy.optimize import isotonic_regression

        weights = np.maximum(self.errors, LEAST) ** -2.0
        means = isotonic_regression(np.clip(self.means, 0.0, self.most), weights=weights).x
        secants = np.diff(means) / np.diff(self.knots)
        steepest = 3.0 * np.minimum(np.append(secants, np.inf), np.insert(secants, 0, np.inf))
        return means, np.minimum(self.variances, steepest)

    @cached_property
    def _weights(self) -> np.ndarray:
        """How much each mean counts in A at each knot, (p, p)."""
        half = 0.5 * np.diff(self.knots)
        steps = np.zeros((len(half), len(self.knots)))
        steps[np.arange(len(half)), np.arange(len(half))] = half
        steps[np.arange(len(half)), np.arange(len(half)) + 1] = half
        total = np.vstack([np.zeros(len(self.knots)), np.cumsum(steps, axis=0)])
        return total - total[np.searchsorted(self.knots, 0.0)]

    @cached_property
    def at_knots(self) -> np.ndarray:
        """A at the knots, (p,)."""
        means, slopes = self._hermite
        corrections = np.insert(np.cumsum(np.diff(self.knots) ** 2 * -np.diff(slopes) / 12.0), 0, 0.0)
        corrections -= corrections[np.searchsorted(self.knots, 0.0)]
        return self.log_count + self._weights @ means + corrections

    @cached_property
    def errors_at_knots(self) -> np.ndarray:
        """Standard errors of A at the knots, of simulation and of interpolation, (p,)."""
        zero = np.searchsorted(self.knots, 0.0)
        bias = np.insert(np.cumsum(np.diff(self.knots) * self.gaps), 0, 0.0)
        return np.hypot(np.sqrt(self._weights**2 @ self.errors**2), np.abs(bias - bias[zero]))

    def log_partition(self, t: Any, xp: ModuleType = np) -> Any:
        """Evaluate A at a coupling, a number or a symbolic scalar; `xp` is numpy or `pytensor.tensor`."""
        means, slopes = self._hermite
        h, rise = np.diff(self.knots), np.diff(means)
        second = 3.0 * rise / h - 2.0 * slopes[:-1] - slopes[1:]
        third = slopes[:-1] + slopes[1:] - 2.0 * rise / h
        # of A, by powers of the way to the next knot
        columns = [means[:-1] * h, slopes[:-1] * h**2 / 2.0, second * h**2 / 3.0, third * h**2 / 4.0]
        columns = [self.at_knots[:-1], *columns, h, self.knots[:-1]]
        inside = xp.clip(t, self.knots[0], self.knots[-1])
        interval = (inside >= self.knots[1:-1]).sum()
        a, b, c, d, e, width, start = (xp.take(column, interval) for column in columns)
        way = (inside - start) / width
        value = a + way * (b + way * (c + way * (d + way * e)))

        # not maximum and minimum: at an end their gradient would come on top of that of the clip
        above = xp.where(t > self.knots[-1], t - self.knots[-1], 0.0)
        below = xp.where(t < self.knots[0], t - self.knots[0], 0.0)
        (missing, rate), (left, rate_below) = self._tails
        value = value + self.most * above + self.least * below + missing / rate * xp.expm1(-rate * above)
        return value + left / rate_below * xp.expm1(rate_below * below)

    @cached_property
    def _tails(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """What the mean lacks of its limit at the last and the first knot, and how fast that falls."""
        means, slopes = self._hermite
        lacks = np.maximum([self.most - means[-1], means[0] - self.least], LEAST)
        rates = np.maximum(slopes[[-1, 0]] / lacks, LEAST)
        return (lacks[0], rates[0]), (lacks[1], rates[1])

    def error(self, t: float) -> float:
        """Return the standard error of the mean of S at a coupling, of simulation and of interpolation."""
        k = int(np.clip(np.searchsorted(self.knots, t) - 1, 0, len(self.gaps) - 1))
        beyond = self._tails[0][1] * max(t - self.knots[-1], 0.0)
        error = np.hypot(self.errors[k : k + 2].max(), self.gaps[k]) * np.exp(-beyond)
        # below, where nothing was simulated, the mean may go on falling as it begins, or not at all
        return float(error + self._hermite[1][0] * max(self.knots[0] - t, 0.0))
