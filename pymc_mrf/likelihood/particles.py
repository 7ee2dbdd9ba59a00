"""The likelihood of a field from weighted particles, as a function of one edge or one group at a time.

Identity (A1) needs one edge marginal at the present parameters. Here it comes from m particles that
carry weights: a changed parameter changes the weights exactly, Gibbs sweeps keep the particles moving,
and they are resampled when the weights have become uneven. See `pymc_mrf.kernels.weighted_particles`
and `pymc_mrf.kernels.particle_groups`.
"""

import numpy as np

from pymc_mrf.fields.simulation import GibbsSimulator
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels import gibbs, particle_drift, particle_groups
from pymc_mrf.kernels import weighted_particles as kernels

LEAST_SIZE = 0.5  # effective size, relative to m, below which particles are resampled
BURN_IN = 30  # sweeps of particles at the start of a chain, from the rows of the data
LEAST_PARTICLES = 256
ROUNDING = 1e-9  # relative changes of parameters that come from theta = sigmoid(eta) and back
DRIFT_EDGES, DRIFT_BLOCKS = 100, 16  # edges looked at, blocks of particles, in `drift`


class WeightedParticles:
    """Engine: approximate moves of labels and group values for one field and its data.

    Parameters
    ----------
    x : (n, d) int8 array
        Observed state indices.
    graph : PairwiseGraph
    statistic : (K, K) array
        Table of f, symmetric with values in {0, 1}; eta multiplies it.
    node_tables : (d, K) array
        Log tables of the nodes.
    n_particles : int
        Particles, m.
    n_sweeps : int
        Gibbs sweeps of all particles in `move` and after resampling. Of single nodes: draws of whole trees
        took 1.2 to 5 times as long to the same error with 256 particles (``docs/results.md``, "Speed of
        tree sampling"), and take longer still with more.

    Attributes
    ----------
    n : int
    s : (r,) array
        Sum of f over the observations.
    noise : float
        Standard deviation of the estimated log-likelihood ratio between two values one posterior
        standard deviation apart, root mean square over the labels and values drawn since
        `reset_statistics`.
    least_size : float
        Smallest effective sample size since `reset_statistics`.
    n_resamplings : int
        Since `reset_statistics`.
    """

    def __init__(
        self,
        x: np.ndarray,
        graph: PairwiseGraph,
        statistic: np.ndarray,
        node_tables: np.ndarray,
        n_particles: int,
        n_sweeps: int,
    ) -> None:
        self.n = len(x)
        self.s = np.empty(graph.n_edges)
        gibbs.edge_statistics(x, graph.edges, statistic, self.s)
        self._x = x
        self._graph = graph.arrays
        self._n_sweeps = n_sweeps
        self._particles = kernels.allocate(n_particles, graph.n_edges, statistic, node_tables)
        self._simulator = GibbsSimulator(graph, node_tables.shape[1], n_particles)
        self.reset_statistics()

    @property
    def n_particles(self) -> int:
        """Number of particles m."""
        return len(self._particles.W)

    @property
    def noise(self) -> float:
        """See the attributes of the class."""
        return float(np.sqrt(self._noise / max(self._n_ratios, 1)))

    def reset_statistics(self) -> None:
        """Start counting anew."""
        self._noise, self._n_ratios = 0.0, 0
        self.least_size = float(self.n_particles)
        self.n_resamplings = 0

    def get_state(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Particles (d, m), weights (m,) and the parameters (r,) that they stand for; not copied."""
        return self._particles.z, self._particles.W, self._particles.eta

    def set_state(self, z: np.ndarray, W: np.ndarray, eta: np.ndarray) -> None:
        """Restore what `get_state` gave."""
        for target, source in zip(self.get_state(), (z, W, eta), strict=True):
            target[:] = source

    def start(self, eta: np.ndarray, n_sweeps: int, rng: np.random.Generator) -> None:
        """Particles from the rows of the data, followed by `n_sweeps` sweeps at `eta` (r,)."""
        self._particles.z[:] = self._x[rng.integers(self.n, size=self.n_particles)].T
        self._particles.W[:] = 1.0
        self._particles.eta[:] = eta
        self.move(rng, n_sweeps)

    def move(self, rng: np.random.Generator, n_sweeps: int | None = None) -> None:
        """Gibbs sweeps at the present parameters; the weights stay as they are."""
        particles = self._particles
        edge_tables = particles.eta[:, None, None] * particles.statistic
        x = np.ascontiguousarray(particles.z.T)
        n_sweeps = self._n_sweeps if n_sweeps is None else n_sweeps
        self._simulator.sweep(x, edge_tables, particles.node_tables, n_sweeps, rng)
        particles.z[:] = x.T

    def resample_move(self, rng: np.random.Generator) -> None:
        """Systematic resampling, then `move`."""
        kernels.resample(self._particles, rng)
        self.n_resamplings += 1
        self.move(rng)

    def drift(self, n_sweeps: int, rng: np.random.Generator) -> float:
        """How far `n_sweeps` more sweeps move edge marginals; the particles stay as they are.

        Particles that keep up with the parameters move on average nowhere. What each of 16 blocks of
        particles moves by itself is noise, and is subtracted; the rest, common to all, is drift.

        Returns
        -------
        float
            Signed root of the mean square over up to 100 edges, in units of sqrt(p (1 - p) / n), which is
            the standard deviation of an edge's frequency in the data. Negative where the particles move
            less than their noise: squares with signs have mean zero if there is no drift.
        """
        particles = self._particles
        n_edges = min(len(self.s), DRIFT_EDGES)
        edges = np.linspace(0, len(self.s) - 1, n_edges).astype(np.int64)
        z = particles.z.copy()
        before, after = np.empty((2, n_edges, DRIFT_BLOCKS))
        for out in (before, after):
            for e, row in zip(edges, out, strict=True):
                particle_drift.block_marginals(e, particles, self._graph, row)
            if out is before:
                self.move(rng, n_sweeps)
        particles.z[:] = z
        p, shift = before.sum(axis=1), after - before
        noise = DRIFT_BLOCKS * shift.var(axis=1, ddof=1)
        scale = self.n / np.maximum(p * (1.0 - p), 0.5 / self.n)
        square = float(np.mean(scale * (shift.sum(axis=1) ** 2 - noise)))
        return float(np.copysign(np.sqrt(abs(square)), square))

    def change(self, eta: np.ndarray, rng: np.random.Generator) -> None:
        """Carry particles and weights over to the parameters `eta` (r,), but for rounding."""
        present = self._particles.eta
        for e in np.flatnonzero(np.abs(eta - present) > ROUNDING * (1.0 + np.abs(present))):
            self._follow(kernels.change_edge(e, eta[e], self._particles, self._graph), rng)

    def sweep_labels(self, labels, eta, sizes, n_groups, log_alpha, base, edge_work, rng):
        """Redraw every label in turn from eq. (4); as `ExactLikelihood.sweep_labels`."""
        e, total = 0, 0
        while e < len(labels) and n_groups >= 0:
            first = e
            e, n_groups, n_new, noise, size = particle_groups.sweep_labels(
                first,
                labels,
                eta,
                sizes,
                n_groups,
                self.s,
                float(self.n),
                log_alpha,
                base,
                self._particles,
                self._graph,
                LEAST_SIZE * self.n_particles,
                edge_work,
                rng,
            )
            total += n_new
            self._count(noise, e - first)
            self._follow(size, rng)
        return n_groups, total

    def move_values(self, labels, eta, base, rng) -> None:
        """Redraw every group value eta (K,) given labels, in place."""
        sums, trials = np.bincount(labels, self.s), np.bincount(labels) * float(self.n)
        # some eight posterior standard deviations if the edges were independent
        p = (sums + 0.5) / (trials + 1.0)
        widths = 8.0 / np.sqrt((trials + 1.0) * p * (1.0 - p))
        k = 0
        while k < len(eta):
            first = k
            k, noise, size = particle_groups.move_values(
                first,
                labels,
                eta,
                sums,
                float(self.n),
                widths,
                base,
                self._particles,
                self._graph,
                LEAST_SIZE * self.n_particles,
                rng,
            )
            self._count(noise, k - first)
            self._follow(size, rng)

    def _count(self, noise: float, n_ratios: int) -> None:
        self._noise += noise
        self._n_ratios += n_ratios

    def _follow(self, size: float, rng: np.random.Generator) -> None:
        """Keep the smallest effective size; resample and move where it is too small."""
        self.least_size = min(self.least_size, size)
        if size < LEAST_SIZE * self.n_particles:
            self.resample_move(rng)
