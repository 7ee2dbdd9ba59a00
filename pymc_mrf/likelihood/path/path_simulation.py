"""Simulation of an agreement field along its one coupling, with knots where the mean bends.

Couplings that are not negative are simulated by cluster sweeps (Swendsen & Wang, 1987) of two chains,
one from the side of weak coupling, one from that of strong: where they have not met, half their distance
is taken for the error. Negative ones are simulated by single sites, in chains that start apart likewise.
If the graph is bipartite and has two states, A(-t) = A(t) - t W, W the sum of the weights: turn the
states of one part. The seed is fixed.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from pymc_mrf.fields.families import potts
from pymc_mrf.fields.simulation import GibbsSimulator
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.simulation.coupling_path import agreement_series, agreements
from pymc_mrf.likelihood.path.coupling_path import CouplingPath

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
