"""The likelihood of a binary field from weighted particles, as a function of one edge or all present ones.

Particles follow every change of a parameter by weights that are exact, Gibbs sweeps keep them moving, and
they are resampled when the weights have become uneven: see `pymc_mrf.kernels.particle_edges` and
`pymc_mrf.kernels.particle_joint`.
"""

import numpy as np

from pymc_mrf.fields.families import Family
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels import binary_particles, particle_edges, particle_joint, particle_wedges
from pymc_mrf.kernels.edge_slab import EdgePrior, centred
from pymc_mrf.kernels.exact_joint import inverse_masses
from pymc_mrf.kernels.random_lanes import seed_lanes
from pymc_mrf.likelihood.edge_engine import EdgeEngine
from pymc_mrf.likelihood.exact_edges import binary_field
from pymc_mrf.likelihood.particles import BURN_IN, LEAST_SIZE
from pymc_mrf.likelihood.wedges import make_wedges, order_of_visits

LEAST_PARTICLES = 500
PER_ROW = 5  # particles for every row of the data
WEDGES = 0.06  # looked at in a step, relative to the candidate edges, at most
TRAJECTORY = 1.6  # length of a joint move, in standard deviations, as of the other engines
LOG_WEIGHT_VARIANCE = 0.2  # to which pieces of a joint move are cut
MAX_LEAPFROG = 16  # steps of a piece
MAX_PIECES = 16
MEMORY = 100  # draws, about, over which expected means are averaged
SHORTEN, LENGTHEN = 0.7, 1.05  # factors by which the length of pieces is learnt


class ParticleEdges(EdgeEngine):
    """Engine of the edge sampler: approximate moves of edges, weights and biases of a binary field.

    Memory is proportional to nodes times particles, plus edges.

    Parameters
    ----------
    x : (n, d) int8 array
        Observed state indices, 0 or 1.
    graph : PairwiseGraph
        Candidate edges.
    family : Family
        ``ISING`` or ``BOLTZMANN``.
    moves_biases : bool
        Whether the node parameters are this engine's to move.
    n_particles : int, optional
        Particles, m; 5 n and at least 500 by default.
    n_sweeps : int
        Gibbs sweeps of all particles after each sweep over the edges and after resampling.

    Attributes
    ----------
    information : (d,) array
        Sum over rows of the variance of every node's state value; scales joint moves.
    """

    def __init__(
        self,
        x: np.ndarray,
        graph: PairwiseGraph,
        family: Family,
        moves_biases: bool,
        n_particles: int | None = None,
        n_sweeps: int = 1,
    ) -> None:
        n, d = x.shape
        order = order_of_visits(x, graph)
        self._field, self.information = binary_field(x, graph, family, moves_biases, order)
        self._x = x
        self._wedges = make_wedges(x, graph, WEDGES)
        self._moves_biases = moves_biases
        self._n_sweeps = n_sweeps
        size = max(PER_ROW * n, LEAST_PARTICLES) if n_particles is None else n_particles
        self._particles = binary_particles.allocate(size, graph.arrays.indptr, graph.n_edges)
        self._b = np.full(d, np.nan)  # biases that the particles stand for: so far none
        self._beta = np.zeros(d)
        self._tally = particle_edges.Tally(
            moves=np.zeros(2, dtype=np.int64),
            resamplings=np.zeros(1, dtype=np.int64),
            refused=np.zeros(1, dtype=np.int64),
            least_size=np.zeros(1),
            noise=np.zeros(2),
        )
        r = graph.n_edges
        self._means = particle_edges.Means(np.full(r, np.nan), np.full(r, np.nan))
        self._n_averaged = 0
        self._reach = 1.0
        self.reset_statistics()

    @property
    def n_particles(self) -> int:
        """Number of particles m."""
        return self._particles.size

    @property
    def noise(self) -> float:
        """Noise of the estimated likelihood since `reset_statistics`.

        Standard deviation of the estimated log-likelihood ratio between two values of an edge one
        posterior standard deviation apart, root mean square over the edges that were not hopeless.
        """
        total, count = self._tally.noise
        return float(np.sqrt(total / max(count, 1.0)))

    @property
    def least_size(self) -> float:
        """Smallest effective size since `reset_statistics`."""
        return float(self._tally.least_size[0])

    @property
    def n_resamplings(self) -> int:
        """Number of resamplings since `reset_statistics`."""
        return int(self._tally.resamplings[0])

    def reset_statistics(self) -> None:
        """Start counting anew."""
        for count in self._tally:
            count[:] = 0
        self._tally.least_size[0] = self.n_particles

    def statistics(self) -> dict[str, float]:
        """Noise, smallest relative effective size and resamplings since the beginning of the last `sweep`."""
        size = self.least_size / self.n_particles
        return {"noise": self.noise, "ess": size, "resamplings": self.n_resamplings}

    def get_state(self) -> tuple[np.ndarray, ...]:
        """States (d, m) int8, weights (m,), the w (r,) and b (d,) that they stand for; what was learnt."""
        particles, m = self._particles, self.n_particles
        states = particles.T[:, :m].astype(np.int8)
        learnt = np.array([self._reach, self._n_averaged]), self._means.expected.copy()
        return states, particles.W[:m].copy(), particles.w.copy(), self._b.copy(), *learnt

    def set_state(self, *state: np.ndarray) -> None:
        """Restore what `get_state` gave."""
        states, weights, w, b, learnt, expected = state
        particles, m = self._particles, self.n_particles
        particles.T[:, :m] = states
        particles.W[:m] = weights
        self._stand_for(w, b)
        self._reach, self._n_averaged = float(learnt[0]), int(learnt[1])
        self._means.expected[:] = expected

    def _stand_for(self, w, b) -> None:
        """Take the particles for a sample of the field with parameters w and b."""
        self._particles.w[:] = w
        self._b[:] = b
        centred(self._field, w, b, self._particles.beta)
        binary_particles.refresh(self._field, self._particles)

    def forget(self) -> None:
        """Unlearn everything, and let the next sweep start from the data."""
        self._b[:] = np.nan
        self._reach = 1.0
        self._means.expected[:] = np.nan
        self._n_averaged = 0

    def start(self, w, b, n_sweeps: int, rng) -> None:
        """Particles from the rows of the data, followed by `n_sweeps` sweeps at w (r,) and b (d,)."""
        particles, m = self._particles, self.n_particles
        particles.T[:, :m] = self._x[rng.integers(len(self._x), size=m)].T
        particles.W[:m] = 1.0
        self._stand_for(w, b)
        self.move(n_sweeps, rng)

    def move(self, n_sweeps: int, rng) -> None:
        """Gibbs sweeps at the present parameters; the weights stay as they are."""
        seed_lanes(self._particles.lanes, rng)
        binary_particles.sweep_particles(self._field, self._particles, n_sweeps)

    def sweep(self, w, b, prior: EdgePrior, rng, corrected: bool = True) -> tuple[int, int]:
        """Update every edge in turn, then some pairs; `w` (r,) and `b` (d,) are changed in place.

        Returns the numbers of proposals that would change a single edge, and of those accepted.
        """
        particles = self._particles
        if not (np.array_equal(w, particles.w) and np.array_equal(b, self._b)):
            self.start(w, b, BURN_IN, rng)
        else:
            # anew in every sweep, so that rounding errors do not add up over the chain
            self._stand_for(w, b)
        self.reset_statistics()
        particle_edges.sweep_edges(
            self._field,
            particles,
            w,
            b,
            prior,
            corrected,
            LEAST_SIZE * self.n_particles,
            self._n_sweeps,
            self._means,
            self._tally,
            rng,
        )
        particle_wedges.sweep_wedges(
            self._field,
            self._wedges,
            particles,
            w,
            b,
            prior,
            corrected,
            LEAST_SIZE * self.n_particles,
            self._n_sweeps,
            self._means.expected,
            self._tally,
            rng,
        )
        self._b[:] = b
        self.move(self._n_sweeps, rng)
        n_proposed, n_accepted = self._tally.moves
        return int(n_proposed), int(n_accepted)

    def learn_sweep(self) -> None:
        """Average the means of the edges' statistics at the present draw into the expected ones."""
        now, expected = self._means
        if self._n_averaged == 0:
            expected[:] = now
        # in the beginning about the last third counts: the way to the posterior is to be forgotten
        expected += (now - expected) / min(1.0 + self._n_averaged / 3.0, MEMORY)
        self._n_averaged += 1

    def learn(self, weight: float) -> None:
        """Shorten the pieces of joint moves after a refusal, lengthen them after none.

        Far from the posterior, trajectories are longer than the particles can be trusted.
        """
        refused = self._tally.refused[0] > 0
        self._reach = self._reach * SHORTEN if refused else min(self._reach * LENGTHEN, 1.0)
        self._tally.refused[0] = 0

    def joint(self, w, b, prior: EdgePrior, step: float, n_steps: int, rng) -> float:
        """Move all present edges and the biases jointly, after `sweep`; the acceptance probability.

        NaN if there is nothing to move.
        A trajectory longer than the weights allow is cut into pieces: `n_steps` does not count here.
        """
        field = self._field
        active = field.order[w[field.order] != 0.0]
        n_biases = len(b) if self._moves_biases else 0
        k = len(active) + n_biases
        if not k:
            return np.nan
        inverse_mass = np.empty(k)
        inverse_masses(field, active, prior, self.information, n_biases, inverse_mass)
        # each coordinate adds (its move in standard deviations)^2 / n to the variance of the log weights
        longest = self._reach * np.sqrt(LOG_WEIGHT_VARIANCE * field.n / k)
        n_pieces = int(np.ceil(TRAJECTORY / longest))
        length = TRAJECTORY / n_pieces
        n_pieces = min(n_pieces, MAX_PIECES)
        n_steps = min(int(np.ceil(length / step)), MAX_LEAPFROG)
        accept = particle_joint.hamiltonian_moves(
            field,
            self._particles,
            active,
            w,
            b,
            prior,
            n_biases,
            inverse_mass,
            min(step, length),
            n_steps,
            n_pieces,
            LEAST_SIZE * self.n_particles,
            1,
            self._tally,
            rng,
            np.empty((8, k)),
        )
        self._b[:] = b
        return accept
