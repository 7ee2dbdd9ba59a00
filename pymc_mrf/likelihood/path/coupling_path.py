r"""The log-partition function of a field with one coupling, along that coupling: thermodynamic integration.

With S the sum of the weights of the agreeing edges, 1 each or other constants, and :math:`A(t) = \log
\sum_x e^{t S(x)}`, the mean of S at t is A'(t), and its variance A''(t) (Gelman & Meng, 1998, eq. 6).
Both are known at some *knots*, from simulation. Between two of them the mean is the cubic with these
values and slopes, its slopes lowered where it would not increase (Fritsch & Carlson, 1980), and A its
integral. Beyond the last knot the field is all but frozen: what the mean lacks of its limit falls
exponentially, at the rate at which it does at the knot.

Knots lie where the mean bends. Couplings that are not negative are simulated by cluster sweeps (Swendsen &
Wang, 1987) of two chains, one from the side of weak coupling, one from that of strong: where they have not
met, half their distance is taken for the error. Negative ones are simulated by single sites, in chains that
start apart likewise. If the graph is bipartite and has two states, A(-t) = A(t) - t W, W the sum of the
weights: turn the states of one part. The seed is fixed.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.fields.families import potts
from pymc_mrf.fields.simulation import GibbsSimulator
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.simulation.coupling_path import agreement_series, agreements

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


TARGET = 0.05
"""Error of a mean, in standard deviations of the mean of n rows: what it moves a posterior by, in its own."""

# between knots at first; and, where edges have weights, in parts of the coupling
STEP, GROWTH = 0.5, 0.5
WIDEST = 8.0  # standard deviations of S from knot to knot, before the interval is halved once more
FROZEN = 0.5  # variance of S, summed over n rows, at the last knot
# coupling at which the last knot lies at the latest; with weights
FARTHEST, FARTHEST_UNEVEN = 30.0, 1000.0
MOST_UPDATES, MOST_SWEEPS = 2**27, 2**20  # of a chain at one knot: node updates, sweeps
PER_HALVING = 16.0  # by which halving an interval divides the error of a cubic


class Knot(NamedTuple):
    """Moments of S at a coupling t, its least value, and the states (m, d) in which the simulation ended."""

    t: float
    mean: float
    variance: float
    error: float
    least: float
    states: np.ndarray


def simulate_path(
    graph: PairwiseGraph, weights: np.ndarray, n_states: int, n_rows: int, is_signed: bool
) -> CouplingPath:
    """Simulate the agreement field on `graph` at couplings from 0 to where it is all but frozen.

    Parameters
    ----------
    graph : PairwiseGraph
        With one edge at least.
    weights : (r,) array
        Of the edges, not negative, of a mean square near 1.
    n_states : int
    n_rows : int
        Observations that the path is for: the more, the smaller its errors.
    is_signed : bool
        Whether negative couplings are covered.
    """
    knots, gaps = Clusters(graph, weights, n_states, n_rows).outward()
    if is_signed:
        import networkx as nx

        if n_states == 2 and nx.is_bipartite(nx.Graph(graph.edges.tolist())):
            below = [k._replace(t=-k.t, mean=weights.sum() - k.mean, least=0.0) for k in knots], gaps
        else:
            below = _Sites(graph, weights, n_states, n_rows).outward()
        knots, gaps = below[0][:0:-1] + knots, below[1][::-1] + gaps
    t, mean, variance, error, least = np.array([knot[:-1] for knot in knots]).T
    log_count = graph.n_nodes * np.log(n_states)
    return CouplingPath(log_count, weights, t, mean, variance, error, np.array(gaps), least[0])


class _Arm(ABC):
    """Knots from 0 outward, to one side."""

    direction: float
    n_chains: int
    n_sweeps: int
    """How many sweeps each chain makes to begin with."""
    n_batches: int
    """How many batches of each chain there are, from whose means errors are estimated."""

    def __init__(self, graph: PairwiseGraph, weights: np.ndarray, n_states: int, n_rows: int) -> None:
        self._graph, self._weights, self._n_states = graph, weights, n_states
        self._edges = np.ascontiguousarray(graph.edges)
        self._rng = np.random.default_rng(0)
        self._most_sweeps = min(MOST_SWEEPS, MOST_UPDATES // graph.n_nodes)
        self._n_rows, self._target = n_rows, TARGET / np.sqrt(n_rows)
        self._is_uneven = np.ptp(weights) > 0.0

    @abstractmethod
    def _series(self, t: float, x: np.ndarray, n_sweeps: int) -> tuple[np.ndarray, np.ndarray]:
        """Move chains `x` (m, d); S after every sweep, (n_sweeps, m), and what has its mean."""

    @abstractmethod
    def _start(self, near: Knot, far: Knot | None) -> np.ndarray:
        """Make start states, those of both halves of the chains unlike each other."""

    def outward(self) -> tuple[list[Knot], list[float]]:
        """Knots in the order of their distance from 0, and the errors of interpolation between them."""
        w, K = self._weights, self._n_states
        x = self._rng.integers(K, size=(self.n_chains, self._graph.n_nodes)).astype(np.int8)
        # the agreements of any two edges are independent there
        knots, gaps = [Knot(0.0, w.sum() / K, w @ w * (K - 1) / K**2, 0.0, 0.0, x)], []
        # light edges freeze far from heavy ones
        farthest, growth = (FARTHEST_UNEVEN, GROWTH) if self._is_uneven else (FARTHEST, 0.0)
        while not self._is_frozen(knots[-1]) and abs(knots[-1].t) < farthest:
            last = knots[-1]
            step = max(STEP, growth * abs(last.t))
            new = self._knot(last.t + self.direction * step, self._start(last, None))
            between, errors = self._between(last, new)
            knots += [*between, new]
            gaps += errors
        return knots, gaps

    def _frozen(self, t: float) -> float:
        """Variance of S that counts as frozen; where weights differ, that of the same ratio of couplings."""
        return FROZEN / self._n_rows / (max(1.0, t * t) if self._is_uneven else 1.0)

    def _is_frozen(self, knot: Knot) -> bool:
        """Tell whether S varies little, and what its mean lacks of its limit is little as well."""
        limit, frozen = self._weights.sum() if self.direction > 0.0 else knot.least, self._frozen(knot.t)
        is_there = abs(limit - knot.mean) <= 2.0 * np.sqrt(frozen * FROZEN / self._n_rows)
        return knot.variance <= frozen and is_there

    def _between(self, near: Knot, far: Knot) -> tuple[list[Knot], list[float]]:
        """Halve an interval until the cubic tells the mean in the middle; knots inside, and all gaps."""
        middle = self._knot(0.5 * (near.t + far.t), self._start(near, far))
        h, spread = abs(far.t - near.t), np.sqrt(max(middle.variance, self._frozen(middle.t)))
        cubic = 0.5 * (near.mean + far.mean) + (far.t - near.t) * (near.variance - far.variance) / 8.0
        missed = abs(middle.mean - cubic)
        noise = np.hypot(middle.error, 0.5 * np.hypot(near.error, far.error))
        tolerance = max(PER_HALVING * self._target * 0.5 * spread, 3.0 * noise)
        if h * middle.variance <= WIDEST * spread and missed <= tolerance:
            return [middle], [missed / PER_HALVING] * 2
        inner, first = self._between(near, middle)
        outer, second = self._between(middle, far)
        return [*inner, middle, *outer], first + second

    def _knot(self, t: float, x: np.ndarray) -> Knot:
        """Simulate at t until the error is small enough, or for as long as is allowed."""
        total = 0
        counts, means = (np.empty((0, self.n_chains)) for _ in range(2))
        while True:
            more = self._series(t, x, max(self.n_sweeps, total))
            counts, means = np.concatenate([counts, more[0]]), np.concatenate([means, more[1]])
            total = len(counts)
            kept = counts[total // 4 :], means[total // 4 :]  # the start is forgotten
            variance, error = float(kept[0].var()), self.error(kept[1])
            enough = error <= self._target * np.sqrt(max(variance, self._frozen(t)))
            if enough or 2 * total > self._most_sweeps:
                return Knot(t, float(kept[1].mean()), variance, error, float(counts.min()), x)

    def error(self, means: np.ndarray) -> float:
        """Estimate the standard error of the mean, by batches; no less than half the distance of halves."""
        batches = np.array([part.mean(axis=0) for part in np.array_split(means, self.n_batches)])
        first, second = np.split(batches.mean(axis=0), 2)
        apart = 0.5 * abs(first.mean() - second.mean())
        return float(max(batches.std(ddof=1) / np.sqrt(batches.size), apart))


class Clusters(_Arm):
    """Couplings that are not negative: a chain from the side of disorder, and one from that of order."""

    direction, n_chains, n_sweeps, n_batches = 1.0, 2, 512, 16

    def _start(self, near, far):
        ordered = np.zeros_like(near.states[1]) if far is None else far.states[1]
        return np.array([near.states[0], ordered])

    def _series(self, t, x, n_sweeps):
        counts, means = np.empty((2, n_sweeps)), np.empty((2, n_sweeps))
        for k in range(2):
            agreement_series(
                x[k], self._edges, self._weights, t, self._n_states, counts[k], means[k], self._rng
            )
        return counts.T, means.T


class _Sites(_Arm):
    """Couplings below 0."""

    direction, n_chains, n_sweeps, n_batches = -1.0, 64, 64, 1

    def __init__(self, graph: PairwiseGraph, weights: np.ndarray, n_states: int, n_rows: int) -> None:
        super().__init__(graph, weights, n_states, n_rows)
        self._simulator = GibbsSimulator(graph, n_states, self.n_chains)
        self._family = potts(n_states)

    def _start(self, near, far):
        half = self.n_chains // 2
        shape = half, self._graph.n_nodes
        others = self._rng.integers(self._n_states, size=shape) if far is None else far.states[half:]
        return np.concatenate([near.states[:half], others.astype(np.int8)])

    def _series(self, t, x, n_sweeps):
        node_tables = np.zeros((self._graph.n_nodes, self._n_states))
        tables = self._family.edge_tables(t * self._weights), node_tables
        counts = np.empty((n_sweeps, self.n_chains))
        for s in range(n_sweeps):
            self._simulator.sweep(x, *tables, 1, self._rng)
            agreements(x, self._edges, self._weights, counts[s])
        return counts, counts
