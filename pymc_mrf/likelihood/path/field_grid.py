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

At every grid point two chains of cluster sweeps (Swendsen & Wang, 1987), one from disorder and one from
order, give the moments of S and the M_k. States of equal weight are exchanged for each other, so that the
moments have their symmetry exactly. A is known where the coupling is 0; its splines are fitted to all means
and covariances by least squares. Intervals around a grid point at which the cubic between its neighbours
misses a mean are halved, across the whole grid. The seed is fixed.
"""

from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import combinations_with_replacement, permutations, product
from math import factorial
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_solve_banded, cholesky_banded
from scipy.sparse import csc_array, csr_array, diags_array, kron, triu, vstack
from scipy.special import logsumexp

from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.simulation.coupling_path import field_series
from pymc_mrf.likelihood.path.coupling_path import (
    FROZEN,
    MOST_SWEEPS,
    MOST_UPDATES,
    PER_HALVING,
    TARGET,
    simulate_path,
)

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


N_SWEEPS, N_BATCHES = 256, 16  # of each chain: sweeps to begin with; batches, that tell errors
MOST_HALVINGS = 6
FIRST_GAP = 1.0  # over the number of nodes; further on each is twice the one before
MISSED = (
    2.0 * TARGET
)  # by interpolation, in standard deviations of a posterior, before intervals are halved
NOISE = 0.25  # part of the error of simulation that a cubic may miss by its own noise
UNCERTAIN = 0.1  # error of a covariance that the fit allows, of one row, in standard deviations squared
ROUGH = 0.2  # of the target: error of a mean that the fit allows, beside that of simulation
EXACT = 1e-3  # error of A without coupling that the fit allows
SLIGHT = 1e-12  # added to the diagonal of its equations, of which rounding may make one singular
REFINEMENTS, ROUNDING = 1000, 1e-11  # of the fit at most, and share of what is fitted that ends them


class Point(NamedTuple):
    """Means (D,) of S and the M_k at a grid point, covariances (D, D) of these and of the errors of means."""

    means: np.ndarray
    variances: np.ndarray
    errors: np.ndarray


def simulate_grid(graph: PairwiseGraph, weights: np.ndarray, n_states: int, n_rows: int) -> FieldGrid:
    """Simulate the agreement field with one log weight per state, from 0 to where it is all but frozen.

    Parameters
    ----------
    graph : PairwiseGraph
        With one edge at least.
    weights : (r,) array
        Of the edges, as for `simulate_path`.
    n_states : int
        K, 2 or 3: the number of grid points grows as the (K - 1)th power of that along one gap.
    n_rows : int
        Observations that the grid is for: the more, the smaller its errors.
    """
    return _Simulation(graph, weights, n_states, n_rows).grid()


class _Simulation:
    def __init__(self, graph: PairwiseGraph, weights: np.ndarray, n_states: int, n_rows: int) -> None:
        self._graph, self._weights = graph, weights
        self._n_states, self._n_rows = n_states, n_rows
        self._edges = np.ascontiguousarray(graph.edges)
        self._directions = directions(n_states)
        self._rng = np.random.default_rng(0)
        self._most_sweeps = min(MOST_SWEEPS, MOST_UPDATES // graph.n_nodes)
        self._points: dict[tuple, Point] = {}

    def grid(self) -> FieldGrid:
        """Simulate all points, and those between them until cubics follow the means."""
        D, d = self._n_states, self._graph.n_nodes
        couplings = simulate_path(self._graph, self._weights, D, self._n_rows, False).knots
        gaps = _doubling(FIRST_GAP / d, np.log(2.0 * d * self._n_rows))
        for halvings in range(MOST_HALVINGS + 1):
            axes = [couplings, *[gaps] * (D - 1)]
            points = [self._point(*at) for at in product(*(axis.tolist() for axis in axes))]
            means, variances, errors = (
                np.array(part).reshape(*map(len, axes), *part[0].shape)
                for part in zip(*points, strict=True)
            )
            missed = [
                missed_by_cubics(axes[k], means[..., k], variances[..., k, k], k) for k in range(D)
            ]
            split = [self._too_wide(missed[k], variances, errors, k) for k in range(D)]
            if halvings == MOST_HALVINGS or not any(part.any() for part in split):
                break
            couplings, gaps = _halved(couplings, split[0]), _halved(gaps, np.any(split[1:], axis=0))
        coefficients = self._fit(axes, means, variances, errors)
        errors += np.eye(D) * np.stack(missed, axis=-1)[..., None] ** 2
        return FieldGrid(d, self._weights, couplings, gaps, coefficients, variances, errors)

    def _too_wide(self, missed, variances, errors, k: int) -> np.ndarray:
        """Tell which intervals of axis k are, by what cubics miss of its mean."""
        D = self._n_states
        alone, noise = np.zeros_like(variances), np.zeros_like(variances)
        alone[..., k, k], noise[..., k, k] = missed**2, errors[..., k, k]
        off, allowed = (errors_in_posterior(variances, part, self._n_rows) for part in (alone, noise))
        is_off = off > np.maximum(MISSED, NOISE * allowed)
        is_off = is_off.any(axis=tuple(j for j in range(D) if j != k))
        return is_off[1:] | is_off[:-1]

    def _point(self, t: float, *gaps: float) -> Point:
        """Simulate at a grid point until the error is small enough, or for as long as is allowed."""
        if (t, *gaps) in self._points:
            return self._points[t, *gaps]
        D, field = self._n_states, np.array(gaps) @ self._directions
        x = self._rng.integers(D, size=(2, self._graph.n_nodes)).astype(np.int8)
        x[1] = 0
        exchanges = [p for p in permutations(range(D)) if (field[list(p)] == field).all()]
        counts, means = np.empty((2, 2, 0, 1 + D))
        while True:
            n = max(N_SWEEPS, counts.shape[1])
            more = np.empty((2, 2, n, 1 + D))
            for c in range(2):
                field_series(
                    x[c], self._edges, self._weights, t, field, more[0, c], more[1, c], self._rng
                )
            counts, means = (
                np.concatenate(pair, axis=1) for pair in zip((counts, means), more, strict=True)
            )
            total = counts.shape[1]
            kept = [self._statistics(part[:, total // 4 :], exchanges) for part in (counts, means)]
            centred = (kept[0] - kept[0].mean(axis=(0, 1, 2))).reshape(-1, D)
            variances = centred.T @ centred / len(centred)
            errors = errors_of_chains(kept[1].mean(axis=0))
            off = errors_in_posterior(variances, errors, self._n_rows)
            if off <= TARGET * np.sqrt(D) or 2 * total > self._most_sweeps:
                break
        self._points[t, *gaps] = Point(kept[1].mean(axis=(0, 1, 2)), variances, errors)
        return self._points[t, *gaps]

    def _statistics(self, series: np.ndarray, exchanges: list) -> np.ndarray:
        """S and the M_k, (exchanges, chains, sweeps, D), from the sums along a series."""
        exchanged = np.stack([series[..., 1:][..., list(p)] for p in exchanges])
        edges = np.broadcast_to(series[..., :1], (*exchanged.shape[:-1], 1))
        return np.concatenate([edges, exchanged @ self._directions.T], axis=-1)

    def _fit(
        self, axes: list, means: np.ndarray, variances: np.ndarray, errors: np.ndarray
    ) -> np.ndarray:
        """Coefficients of the splines, by least squares weighted by errors."""
        D = self._n_states
        tables = [[_splines(axis, order) for order in range(3)] for axis in axes]

        def at_points(*orders):
            return reduce(kron, [table[order] for table, order in zip(tables, orders, strict=True)])

        units = np.eye(D, dtype=int)
        information = regular(variances, self._n_rows)
        # gradients, whitened
        spread = errors + (ROUGH * TARGET) ** 2 / self._n_rows * information
        whitening = np.linalg.inv(np.linalg.cholesky(spread)).reshape(-1, D, D)
        gradient = [at_points(*units[k]) for k in range(D)]
        rows = [sum(diags_array(whitening[:, j, k]) @ gradient[k] for k in range(D)) for j in range(D)]
        values = [np.einsum("nk,nk->n", whitening[:, j], means.reshape(-1, D)) for j in range(D)]
        # second derivatives
        sds = np.sqrt(np.einsum("...kk->...k", information))
        for j, k in combinations_with_replacement(range(D), 2):
            weight = np.sqrt(self._n_rows) / (UNCERTAIN * sds[..., j] * sds[..., k]).ravel()
            rows.append(diags_array(weight) @ at_points(*(units[j] + units[k])))
            values.append(weight * variances[..., j, k].ravel())
        if (
            D == 3
        ):  # a skewness is of order 1; else products of splines that vanish at all points were free
            rows.append(diags_array(1.0 / sds.prod(axis=-1).ravel()) @ at_points(1, 1, 1))
            values.append(np.zeros(rows[-1].shape[0]))
        # values without coupling
        at_zero = at_points(*[0] * D)[: means[0, ..., 0].size]
        weights = np.array(list(product(*axes[1:]))) @ self._directions
        rows.append(at_zero / EXACT)
        values.append(self._graph.n_nodes * logsumexp(weights, axis=1) / EXACT)
        fitted = least_squares(vstack(rows).tocsc(), np.concatenate(values))
        return fitted.reshape([len(axis) + DEGREE - 1 for axis in axes])


def least_squares(B: csc_array, y: np.ndarray) -> np.ndarray:
    """Minimise |B x - y|, where B.T B has a narrow band.

    Its equations lose half of the digits, and on large graphs nearly all: their factor only prepares
    conjugate gradients (Björck, 1996, sec. 7.4).
    """
    scale = 1.0 / np.sqrt((B * B).sum(axis=0))
    B = B @ diags_array(scale)
    upper = triu(B.T @ B).tocoo()
    width = int((upper.col - upper.row).max())
    bands = np.zeros((width + 1, B.shape[1]))
    bands[width + upper.row - upper.col, upper.col] = upper.data
    bands[width] *= 1.0 + SLIGHT
    factor = cholesky_banded(bands, overwrite_ab=True)
    x, rest = np.zeros(B.shape[1]), y.copy()
    slope = B.T @ rest
    step = towards = cho_solve_banded((factor, False), slope)
    gain = slope @ towards  # the square of what can be fitted yet
    for _ in range(REFINEMENTS):
        fitted = B @ step
        length = gain / (fitted @ fitted)
        x, rest = x + length * step, rest - length * fitted
        slope = B.T @ rest
        towards = cho_solve_banded((factor, False), slope)
        last, gain = gain, slope @ towards
        if gain <= (ROUNDING * np.linalg.norm(y)) ** 2:
            return scale * x
        step = towards + gain / last * step
    raise RuntimeError(
        'the splines of the simulation behind likelihood="path" could not be fitted to it: use '
        'likelihood="particles"'
    )


def regular(variances: np.ndarray, n_rows: int) -> np.ndarray:
    """Covariances (..., D, D) of statistics, no less than what counts as frozen."""
    return variances + FROZEN / n_rows * np.eye(variances.shape[-1])


def _splines(axis: np.ndarray, order: int) -> csr_array:
    """Evaluate a derivative of all splines along an axis at its grid points."""
    from scipy.interpolate import BSpline

    n = len(axis) + DEGREE - 1
    return csr_array(BSpline(spline_knots(axis), np.eye(n), DEGREE)(axis, nu=order))


def errors_in_posterior(variances: np.ndarray, errors: np.ndarray, n_rows: int) -> np.ndarray:
    """Express errors of means, of covariances (..., D, D), in standard deviations of a posterior."""
    scaled = np.linalg.solve(regular(variances, n_rows), errors)
    return np.sqrt(n_rows * np.trace(scaled, axis1=-2, axis2=-1))


def errors_of_chains(means: np.ndarray) -> np.ndarray:
    """Covariances of the errors of means of two chains (2, sweeps, D).

    By batches, and by what the chains are apart: the mean of these two estimates.
    """
    batches = np.array([part.mean(axis=1) for part in np.array_split(means, N_BATCHES, axis=1)])
    apart = 0.5 * (means[0] - means[1]).mean(axis=0)
    within = np.cov(batches.reshape(-1, means.shape[-1]).T) / (2 * N_BATCHES)
    return 0.5 * (within + np.outer(apart, apart))


def missed_by_cubics(axis: np.ndarray, means: np.ndarray, variances: np.ndarray, k: int) -> np.ndarray:
    """Estimate what cubics miss of means from one point to the next along axis k; 0 at the ends.

    From what the cubic between the neighbours of a point misses there.
    """
    m, v = np.moveaxis(means, k, 0), np.moveaxis(variances, k, 0)
    width = (axis[2:] - axis[:-2]).reshape(-1, *[1] * (m.ndim - 1))
    u = (axis[1:-1] - axis[:-2]).reshape(width.shape) / width
    w = 1.0 - u
    cubic = w * w * (1.0 + 2.0 * u) * m[:-2] + u * u * (1.0 + 2.0 * w) * m[2:]
    cubic += width * u * w * (w * v[:-2] - u * v[2:])
    missed = np.zeros_like(m)
    missed[1:-1] = (m[1:-1] - cubic) / PER_HALVING
    return np.moveaxis(missed, 0, k)


def _doubling(first: float, last: float) -> np.ndarray:
    """0, then numbers of which each is twice the one before, up to the last."""
    n = int(np.ceil(np.log2(last / first)))
    return np.append(0.0, np.append(first * 2.0 ** np.arange(n), last))


def _halved(axis: np.ndarray, split: np.ndarray) -> np.ndarray:
    return np.sort(np.append(axis, 0.5 * (axis[:-1] + axis[1:])[split]))
