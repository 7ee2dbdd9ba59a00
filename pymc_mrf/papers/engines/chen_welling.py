"""Engines of the moves of Chen & Welling (2012), exact and from persistent Gibbs chains.

They move the parameters of the features x_u x_v and x_i as they are; those of `EdgeGibbs` keep the biases
centred at the data. Two moves are asked of an engine: `jump` (sec. 4) and `langevin` (sec. 3). Hidden units,
more than two states, and several fields of one vector are not implemented.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from pymc_mrf.fields.family import Family
from pymc_mrf.fields.simulation import GibbsSimulator
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.edges.edge_moves import EdgePrior
from pymc_mrf.kernels.edges.hamiltonian import allocate_coordinates
from pymc_mrf.kernels.simulation import packed_states
from pymc_mrf.likelihood.exact.exact_edges import ExactEdges
from pymc_mrf.likelihood.particles.particle_edges import BURN_IN
from pymc_mrf.papers.kernels import persistent_langevin as langevin_kernels
from pymc_mrf.papers.kernels import reversible_jump as jump_kernels


def feature_sums(x: np.ndarray, graph: PairwiseGraph, family: Family) -> np.ndarray:
    """Sum, over the rows, x_u x_v for all edges and x_i for all nodes, (r + d,)."""
    values = np.array(family.states, dtype=np.float64)[x]  # (n, d)
    u, v = graph.edges.T
    return np.concatenate([np.einsum("ce,ce->e", values[:, u], values[:, v]), values.sum(axis=0)])


def data_curvature(x: np.ndarray, graph: PairwiseGraph, family: Family) -> np.ndarray:
    """N Var f of every feature in the data, (r + d,), with half an observation added either way."""
    n = len(x)
    low, high = family.states
    f = family.edge_statistic
    least = np.concatenate([np.full(graph.n_edges, f.min()), np.full(graph.n_nodes, float(low))])
    spread = np.concatenate(
        [np.full(graph.n_edges, np.ptp(f)), np.full(graph.n_nodes, float(high - low))]
    )
    p = ((feature_sums(x, graph, family) - n * least) / spread + 0.5) / (n + 1.0)
    return n * spread**2 * p * (1.0 - p)


class ChenWellingEngine(ABC):
    """What the two moves are asked of; a subclass says how expectations are found.

    `x` (n, d) int8: observed state indices, 0 or 1. `graph`: candidate edges. `family`: ``ISING`` or
    ``BOLTZMANN``.

    Attributes: `corrects`: whether `langevin` has an accept step. `data_curvature` (r + d,): N Var f of
    every feature in the data. `particles` (n_particles, d) int8: states of persistent chains; none under
    the exact likelihood.
    """

    corrects: ClassVar[bool]
    particles: np.ndarray

    def __init__(self, x: np.ndarray, graph: PairwiseGraph, family: Family) -> None:
        self.data_curvature = data_curvature(x, graph, family)
        self.particles = np.empty((0, graph.n_nodes), dtype=np.int8)

    @abstractmethod
    def start(self, w: np.ndarray, b: np.ndarray, rng: np.random.Generator) -> None:
        """Begin a chain at weights (r,) and biases (d,)."""

    @abstractmethod
    def jump(
        self, w: np.ndarray, b: np.ndarray, prior: EdgePrior, width: np.ndarray, rng: np.random.Generator
    ) -> tuple[int, int, int, int]:
        """Propose a jump of every edge; `w` (r,) is changed in place, `width` is (r,).

        Returns the numbers of absent edges, of those added, of edges within `width`, of those deleted.
        """

    @abstractmethod
    def langevin(
        self,
        w: np.ndarray,
        b: np.ndarray,
        prior: EdgePrior,
        dynamics: langevin_kernels.Langevin,
        rng: np.random.Generator,
    ) -> tuple[float, float]:
        """Move present edges, and biases if they are its, in place.

        Returns the acceptance probability, NaN if nothing was to move, and the mean square of the momenta.
        """

    @abstractmethod
    def curvature(self, prior: EdgePrior) -> np.ndarray:
        """N Var f of all features where the field was last evaluated, plus prior precision, (r + d,)."""


class ExactChenWelling(ChenWellingEngine):
    """Exact expectations and ratios, by junction tree or enumeration.

    `x`, `graph` and `family`: as of `ChenWellingEngine`. `moves_biases`: whether `langevin` moves the
    node parameters too. `enumerates`: as of `ExactEdges`. Raises a ValueError if the junction tree is
    too wide.
    """

    corrects = True

    def __init__(self, x, graph, family, moves_biases, enumerates: bool | None = None) -> None:
        super().__init__(x, graph, family)
        self.edges = ExactEdges(x, graph, family, moves_biases, is_centred=False, enumerates=enumerates)

    def start(self, w, b, rng):
        """Do nothing: nothing is kept between moves."""

    def jump(self, w, b, prior, width, rng):
        """Propose jumps of one edge after the other."""
        self.edges.go_to(w, b)
        self.edges.refresh(rng)
        counts = jump_kernels.sequential_jumps(self.edges.view, prior, width, rng)
        w[:] = self.edges.view.w
        return counts

    def langevin(self, w, b, prior, dynamics, rng):
        view, active = self.edges.view, np.flatnonzero(w)
        size, accept = len(active) + view.n_biases, np.nan
        if size:
            self.edges.go_to(w, b)
            x = allocate_coordinates(np.empty(size))
            accept = langevin_kernels.langevin_move(view, active, prior, dynamics, x, rng)
            w[:], b[:] = view.w, view.b
        momentum = dynamics.p[dynamics.moved]
        return accept, float(np.mean(momentum**2)) if len(momentum) else 1.0

    def curvature(self, prior):
        """Variances from the marginals at which `langevin` ended."""
        view = self.edges.view
        variance, precision = np.empty((2, len(self.data_curvature)))
        langevin_kernels.marginal_variances(view.field, view.marginals, variance)
        langevin_kernels.fill_precisions(prior, precision)
        return view.data.n[0] * variance + precision


class PersistentChenWelling(ChenWellingEngine):
    """Estimates from Gibbs chains that go on from where they were (Tieleman, 2008).

    `x`, `graph` and `family`: as of `ChenWellingEngine`. `moves_biases`: whether `langevin` moves the
    node parameters too. `n_particles`: chains, at least 2. `n_sweeps`: Gibbs sweeps of all chains before
    every move.
    """

    corrects = False

    def __init__(self, x, graph, family, moves_biases: bool, n_particles: int, n_sweeps: int) -> None:
        super().__init__(x, graph, family)
        self._x, self._moves_biases = x, moves_biases
        self._family = family
        self._edges = graph.edges
        self._y = np.array(family.states, dtype=np.float64)
        self._n = float(len(x))
        self._s = feature_sums(x, graph, family)
        self._n_sweeps = n_sweeps
        self._simulator = GibbsSimulator(graph, 2, n_particles)
        self.particles = np.zeros((n_particles, graph.n_nodes), dtype=np.int8)
        self._packed = np.zeros((graph.n_nodes, packed_states.n_words(n_particles)), dtype=np.uint64)
        self._mean, self._variance = np.empty((2, len(self._s)))

    def start(self, w, b, rng):
        """Begin the chains at rows of the data, followed by `BURN_IN` sweeps."""
        self.particles[:] = self._x[rng.integers(len(self._x), size=len(self.particles))]
        self._sweep(w, b, BURN_IN, rng)

    def jump(self, w, b, prior, width, rng):
        self._observe(w, b, rng)
        r = len(w)
        m = float(len(self.particles))
        return jump_kernels.parallel_jumps(
            w, self._s[:r], self._n, m, self._mean[:r], self._variance[:r], prior, width, rng
        )

    def langevin(self, w, b, prior, dynamics, rng):
        self._observe(w, b, rng)
        square = langevin_kernels.langevin_step(
            w, b, self._s, self._n, self._mean, prior, self._moves_biases, dynamics, rng
        )
        return 1.0, square

    def curvature(self, prior):
        """Variances of the features in the chains as last observed."""
        precision = np.empty(len(self._s))
        langevin_kernels.fill_precisions(prior, precision)
        return self._n * self._variance + precision

    def _observe(self, w, b, rng) -> None:
        self._sweep(w, b, self._n_sweeps, rng)
        packed_states.pack(self.particles, self._packed)
        m = len(self.particles)
        langevin_kernels.feature_moments(
            self._packed, m, self._edges, self._y, self._mean, self._variance
        )

    def _sweep(self, w, b, n_sweeps, rng) -> None:
        edge_tables, node_tables = self._family.edge_tables(w), self._family.node_tables(b)
        self._simulator.sweep(self.particles, edge_tables, node_tables, n_sweeps, rng)
