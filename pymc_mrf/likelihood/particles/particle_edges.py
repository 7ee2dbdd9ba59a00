"""The likelihood of a field from weighted particles, as `EdgeGibbs` asks for it.

Particles follow every change of a parameter by weights that are exact, Gibbs sweeps keep them moving, and
they are resampled when the weights have become uneven: see `pymc_mrf.kernels.views.particle_edges`.
"""

from typing import Any

import numpy as np

from pymc_mrf.fields.family import Family
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.edges import particle_moves
from pymc_mrf.kernels.edges.edge_moves import EdgePrior
from pymc_mrf.kernels.random_lanes import seed_lanes
from pymc_mrf.kernels.views import particle_edges
from pymc_mrf.kernels.views.binary_pairs import allocate_binary
from pymc_mrf.kernels.views.questions import Field, centred
from pymc_mrf.kernels.views.state_pairs import allocate_states
from pymc_mrf.kernels.views.weighted_particles import (
    fill_means,
    get_states,
    refresh_particles,
    set_states,
    sweep,
)
from pymc_mrf.likelihood.edges.edge_engine import MAX_LEAPFROG, TRAJECTORY, EdgeEngine

# effective size of one edge's marginal, relative to m, below which particles are renewed
LEAST_SIZE = 0.5
BURN_IN = 30  # sweeps of particles at the start of a chain, from the rows of the data
LEAST_PARTICLES = 500
PER_ROW = 5  # particles for every row of the data
BLOCK = 1_000_000  # numbers gathered at once
CORRELATED = 9.0  # squared correlation, over n, from which on an edge comes early
LOG_WEIGHT_VARIANCE = 0.2  # to which pieces of a joint move are cut
MAX_PIECES = 16
MEMORY = 100  # draws, about, over which expected means are averaged
RARE = 5  # rows; nodes with a state that fewer show are left to moves of their own
SHORTEN, LENGTHEN = 0.7, 1.05  # factors by which the length of pieces is learnt


class ParticleEdges(EdgeEngine):
    """Engine of the edge sampler: approximate moves of edges, weights and biases of a field.

    Memory is proportional to nodes times particles times states, plus edges.

    Parameters
    ----------
    x, graph, family, moves_biases
        As of `EdgeEngine`; there are no blocks.
    n_particles : int, optional
        Particles, m; 5 n and at least 500 by default.
    n_sweeps : int
        Gibbs sweeps of all particles after each sweep over the edges and after resampling.
    """

    def __init__(self, x, graph, family, moves_biases, n_particles=None, n_sweeps: int = 1) -> None:
        n = len(x)
        field, data = self.take_data(x, graph, family, moves_biases, order_of_visits(x, graph))
        self._x = x
        size = max(PER_ROW * n, LEAST_PARTICLES) if n_particles is None else n_particles
        n_biases = len(data.t)
        self._particles = allocate_particles(size, graph, family, field)
        self.view = particle_edges.allocate_view(
            field, data, n_biases if moves_biases else 0, self._particles, LEAST_SIZE * size, n_sweeps
        )
        self._possible = family.possible(graph.n_nodes)
        self._find_rare(np.array([(x == a).sum(axis=0) for a in range(family.n_states)]).T)
        self._lines = particle_moves.lines(field.basis)
        self._b = np.zeros(n_biases)  # biases that the particles stand for
        self._is_started = False
        self._n_averaged = 0
        self._reach = 1.0
        count_anew(self.view)

    @property
    def n_particles(self) -> int:
        return self._particles.size

    def statistics(self) -> dict[str, float]:
        """Noise, smallest relative effective size and resamplings since the beginning of the last `sweep`."""
        tally = self.view.tally[0]
        found = {"noise": noise_of(tally), "ess": float(tally.least_size) / self.n_particles}
        return super().statistics() | found | {"resamplings": int(tally.resamplings)}

    def get_state(self) -> tuple[np.ndarray, ...]:
        """States (d, m) int8, weights (m,), the w (r,) and b (d q,) that they stand for; what was learnt."""
        particles, m = self._particles, self.n_particles
        states = np.empty((len(particles.neighbours.degree), m), dtype=np.int8)
        get_states(particles, states)
        learnt = (
            np.array([self._reach, self._n_averaged, self._is_started]),
            self.view.means.expected.copy(),
        )
        return states, particles.W[:m].copy(), particles.w.copy(), self._b.copy(), *learnt

    def set_state(self, *state: np.ndarray) -> None:
        """Restore what `get_state` gave."""
        states, weights, w, b, learnt, expected = state
        particles, m = self._particles, self.n_particles
        set_states(particles, self.view.field, states)
        particles.W[:m] = weights
        self._stand_for(w, b)
        self._reach, self._n_averaged = float(learnt[0]), int(learnt[1])
        self._is_started = bool(learnt[2])
        self.view.means.expected[:] = expected

    def _stand_for(self, w, b) -> None:
        """Take the particles for a sample of the field with parameters w and b."""
        self._particles.w[:] = w
        self._b[:] = b
        self._is_started = True
        centred(self.view.field, w, b, self._particles.beta)
        refresh_particles(self._particles, self.view.field)

    def forget(self) -> None:
        """Unlearn everything, and let the next sweep start from the data."""
        self._is_started = False
        self._reach = 1.0
        self.view.means.expected[:] = np.nan
        self._n_averaged = 0

    def start(self, w, b, n_sweeps: int, rng) -> None:
        """Particles from the rows of the data, followed by `n_sweeps` sweeps at w (r,) and b (d q,)."""
        particles, field, m = self._particles, self.view.field, self.n_particles
        rows = self._x[rng.integers(len(self._x), size=m)]
        set_states(particles, field, np.ascontiguousarray(rows.T))
        particles.W[:m] = 1.0
        self._stand_for(w, b)
        self.move(n_sweeps, rng)
        expected = self.view.means.expected
        if np.isnan(expected).any():  # until draws tell
            edges = np.arange(len(w))
            fill_means(particles, field, edges, particles.W, expected, self.view.joint.node_mean)

    def move(self, n_sweeps: int, rng) -> None:
        """Gibbs sweeps at the present parameters; the weights stay as they are."""
        seed_lanes(self._particles.lanes, rng)
        sweep(self._particles, self.view.field, n_sweeps)

    def refresh(self, rng) -> None:
        """Local fields of the particles; new particles if these stand for other parameters."""
        w, b = self.view.w, self.view.b
        own = self._particles.w, self._b
        if self._is_started and np.array_equal(w, own[0]) and np.array_equal(b, own[1]):
            self._stand_for(w, b)
        else:
            self.start(w, b, BURN_IN, rng)
        count_anew(self.view)
        seed_lanes(self._particles.lanes, rng)

    def follow_sweep(self, prior: EdgePrior, rng) -> None:
        """Move biases of rare states, then the particles."""
        if self.view.n_biases:
            rare = np.flatnonzero(self._is_rare)
            particle_moves.move_biases(self.view, rare, self._lines, prior.bias, rng)
        self._b[:] = self.view.b
        self.move(self.view.n_sweeps, rng)

    def set_data(self, x) -> None:
        """Find anew which states are rare."""
        super().set_data(x)
        assert self._counts is not None
        self._find_rare(self._counts.nodes)

    def _find_rare(self, counts: np.ndarray) -> None:
        """Find nodes with a state that few rows show, by the `counts` (d, K) of states.

        Joint moves leave them and their edges alone: how often particles are in such a state is no measure of
        its probability.
        """
        self._is_rare = ((counts < RARE) & self._possible).any(axis=1)

    def coordinates(self, active, prior):
        """Hold the biases of nodes with a rare state."""
        x = super().coordinates(active, prior)
        if not (self.view.n_biases and self._is_rare.any()):
            return x
        of_biases = x.inverse_mass[len(active) :]
        roots = x.roots if len(x.roots) else np.sqrt(of_biases)[:, None, None]
        roots[self._is_rare] = 0.0
        of_biases[:] = 1.0
        return x._replace(roots=roots)

    def learn_sweep(self) -> None:
        """Average the means of the edges' statistics at the present draw into the expected ones."""
        now, expected = self.view.means
        if self._n_averaged == 0:
            expected[:] = now
        # in the beginning about the last third counts: the way to the posterior is to be forgotten
        expected += (now - expected) / min(1.0 + self._n_averaged / 3.0, MEMORY)
        self._n_averaged += 1

    def learn(self, weight: float) -> None:
        """Shorten the pieces of joint moves after a refusal, lengthen them after none.

        Far from the posterior, trajectories are longer than the particles can be trusted.
        """
        refused = self.view.tally[0].refused > 0
        self._reach = self._reach * SHORTEN if refused else min(self._reach * LENGTHEN, 1.0)
        self.view.tally[0].refused = 0

    def trajectory(self, active, prior, step, n_steps, rng, enters):
        """Make the joint move of the edges `active` (k,); the acceptance probability.

        A trajectory longer than the weights allow is cut into pieces: `n_steps` does not count here.
        """
        active = active[~self._is_rare[self.view.field.edges[active]].any(axis=1)]
        n_moved = len(active) + np.sum(~self._is_rare) * (self.view.n_biases // len(self._is_rare))
        if not n_moved:
            return np.nan
        x = self.coordinates(active, prior)
        # each coordinate adds (its move in standard deviations)^2 / n to the variance of the log weights
        longest = self._reach * np.sqrt(LOG_WEIGHT_VARIANCE * self.view.data.n[0] / n_moved)
        n_pieces = int(np.ceil(TRAJECTORY / longest))
        length = TRAJECTORY / n_pieces
        n_steps = min(int(np.ceil(length / step)), MAX_LEAPFROG)
        accept = particle_moves.hamiltonian_pieces(
            self.view, active, prior, x, min(step, length), n_steps, min(n_pieces, MAX_PIECES), rng
        )
        self._b[:] = self.view.b
        return accept


def noise_of(tally: Any) -> float:
    """Noise of the estimated likelihood, from the tally of a view since `count_anew`.

    Standard deviation of the estimated log-likelihood ratio between two values of an edge, or of a label, one
    posterior standard deviation apart, root mean square over those that were not hopeless.
    """
    return float(np.sqrt(tally.noise / max(tally.n_noise, 1)))


def count_anew(view: particle_edges.ParticleView) -> None:
    """Forget how the estimates of a view fared."""
    view.tally[0] = np.zeros((), view.tally.dtype)
    view.tally[0].least_size = view.particles.size


def allocate_particles(size: int, graph: PairwiseGraph, family: Family, field: Field) -> Any:
    """Allocate `size` particles of the kind that takes least for a field of this family."""
    if family.is_binary_product:
        return allocate_binary(size, graph.arrays.indptr, graph.n_edges)
    return allocate_states(size, graph.arrays.indptr, field)


def order_of_visits(x: np.ndarray, graph: PairwiseGraph) -> np.ndarray:
    """Candidate edges (r,), first those whose ends correlate; in both parts, by their first ends.

    Most changes happen in the first part, so that in the second little has to be computed anew.
    """
    u, v = graph.edges.T
    y = x - x.mean(axis=0)
    variance = (y**2).sum(axis=0)
    scale = variance[u] * variance[v]
    squared, size = np.empty(len(u)), max(BLOCK // len(x), 1)
    for part in (slice(start, start + size) for start in range(0, len(u), size)):
        squared[part] = np.einsum("ce,ce->e", y[:, u[part]], y[:, v[part]]) ** 2
    # 0 with a constant column
    share = np.divide(squared, scale, out=np.zeros(len(u)), where=scale > 0.0)
    return np.lexsort((v, u, share < CORRELATED / len(x)))
