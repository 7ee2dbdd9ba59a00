r"""The log-partition function of a field with one coupling and one log weight per state, on a grid.

With the log weights h of the states in decreasing order, the field follows from the coupling t and the K - 1
*gaps* a_k >= 0 between one log weight and the next. Along a gap the log-partition function A grows by the
mean of M_k, the number of nodes in the states above the gap, less what it is if all states are alike:

.. math::

    A(t, h) = A(t, a) + N \bar h, \qquad
    \partial A / \partial t = E[S], \quad \partial A / \partial a_k = E[M_k]

(Gelman & Meng, 1998, eq. 6), S the sum of the weights of the agreeing edges. Simulation gives these
means and the covariances, which are the second derivatives, at grid points. A is the tensor product of
quartic splines that fits them (de Boor, 1978): means are cubic splines, and the gradient of A is that of
its values. Beyond the grid the field is all but frozen: what a mean lacks of its limit falls
exponentially.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import factorial
from types import ModuleType
from typing import Any

import numpy as np

DEGREE = 4
LEAST = 1e-12  # of what is divided by: a field frozen to the last node


def directions(n_states: int) -> np.ndarray:
    """Log weights (K - 1, K) that a unit of each gap adds to the states, in decreasing order; sums are 0."""
    above = np.arange(n_states) <= np.arange(n_states - 1)[:, None]
    return above - above.mean(axis=1, keepdims=True)


def spline_knots(axis: np.ndarray) -> np.ndarray:
    """Knots of the splines along an axis with grid points at these coordinates."""
    return np.concatenate([[axis[0]] * DEGREE, axis, [axis[-1]] * DEGREE])


@dataclass(frozen=True, eq=False)
class FieldGrid:
    """A of the agreement field and the errors of its gradient, along D = K axes: the coupling, the gaps.

    Attributes
    ----------
    n_nodes : int
        N.
    weights : (r,) array
        Of the edges, not negative: their couplings are t times that.
    couplings : (p,) array
        Of the grid points, increasing from 0.
    gaps : (q,) array
        Of the grid points along all other axes, increasing from 0.
    coefficients : (p + 3, q + 3, ..., q + 3) array
        Of the products of splines.
    variances : (p, q, ..., q, D, D) array
        Covariances of S and the M_k.
    errors : (p, q, ..., q, D, D) array
        Covariances of the errors of their means, of simulation and of interpolation.
    """

    n_nodes: int
    weights: np.ndarray
    couplings: np.ndarray
    gaps: np.ndarray
    coefficients: np.ndarray
    variances: np.ndarray
    errors: np.ndarray

    is_signed = False
    """Whether couplings below 0 are covered."""

    @cached_property
    def most(self) -> float:
        """S where all edges agree."""
        return float(self.weights.sum())

    @cached_property
    def axes(self) -> list[np.ndarray]:
        """Coordinates of the grid points, axis by axis."""
        return [self.couplings, *[self.gaps] * (self.variances.shape[-1] - 1)]

    def log_partition(self, t: Any, field: Any, xp: ModuleType = np) -> Any:
        """Evaluate A at a coupling and log weights (K,), in any order; `xp` is numpy or `pytensor.tensor`."""
        ordered = -xp.sort(-field)
        at = [t, *(ordered[k] - ordered[k + 1] for k in range(len(self.axes) - 1))]
        inside = [xp.clip(x, axis[0], axis[-1]) for x, axis in zip(at, self.axes, strict=True)]
        value = self._inside(inside, None, xp) + self.n_nodes * field.mean()
        for k, (limit, rate) in enumerate(self._tails):
            above = xp.maximum(at[k] - self.axes[k][-1], 0.0)
            lacks = limit - self._inside(inside, k, xp)
            value = value + limit * above + lacks / rate * xp.expm1(-rate * above)
        return value

    def _inside(self, at: list, along: int | None, xp: ModuleType) -> Any:
        """Evaluate A inside the grid, or its derivative along an axis."""
        powers, block = np.arange(DEGREE + 1), self.coefficients
        for k, (x, axis, pieces) in enumerate(zip(at, self.axes, self._pieces, strict=True)):
            cell = (x >= axis[1:-1]).sum()
            terms = [xp.ones_like(x)]
            for _ in range(DEGREE):
                terms.append(terms[-1] * (x - xp.take(axis, cell)))
            if k == along:
                terms = [0.0 * terms[0], *(n * terms[n - 1] for n in powers[1:])]
            weights = xp.dot(xp.take(pieces, cell, axis=0), xp.stack(terms))
            block = xp.tensordot(weights, xp.take(block, cell + powers, axis=0), [[0], [0]])
        return block

    @cached_property
    def _pieces(self) -> list[np.ndarray]:
        """Splines that are not 0 in each interval, as polynomials of the way from its start, axis by axis."""
        from scipy.interpolate import BSpline

        pieces = []
        for axis in self.axes:
            n = len(axis) + DEGREE - 1
            spline = BSpline(spline_knots(axis), np.eye(n), DEGREE)
            taylor = np.stack(
                [spline(axis[:-1], nu=m) / factorial(m) for m in range(DEGREE + 1)], axis=-1
            )
            pieces.append(np.array([terms[j : j + DEGREE + 1] for j, terms in enumerate(taylor)]))
        return pieces

    @cached_property
    def _tails(self) -> list[tuple[float, float]]:
        """Limits of the means of S and the M_k, and how fast what they lack falls beyond the grid.

        Along a gap that is the rate of single nodes, 1; along the coupling, that at the end without gaps.
        """
        D = len(self.axes)
        end = [self.couplings[-1], *[0.0] * (D - 1)]
        lacks = max(self.most - float(self._inside(end, 0, np)), LEAST)
        rate = max(self.variances[(-1, *[0] * (D - 1), 0, 0)] / lacks, LEAST)
        return [(self.most, rate), *((self.n_nodes * (1.0 - k / D), 1.0) for k in range(1, D))]

    def error(self, t: float, field: np.ndarray) -> np.ndarray:
        """Return the covariances of the errors of E[S] and of the mean numbers of nodes in the states.

        (1 + K, 1 + K), those at the worst corner of a cell.
        """
        order = np.argsort(-field, kind="stable")
        at = [t, *-np.diff(field[order])]
        cells = [int((x >= axis[1:-1]).sum()) for x, axis in zip(at, self.axes, strict=True)]
        corners = [self.errors[corner] for corner in product(*((k, k + 1) for k in cells))]
        # the nodes in a state are those above the gap below it, less those above the gap above it
        from_statistics = np.zeros((1 + len(field), len(at)))
        from_statistics[0, 0] = 1.0
        for k in range(1, len(at)):
            from_statistics[1 + order[k - 1], k] = 1.0
            from_statistics[1 + order[k], k] = -1.0
        return from_statistics @ max(corners, key=np.trace) @ from_statistics.T
