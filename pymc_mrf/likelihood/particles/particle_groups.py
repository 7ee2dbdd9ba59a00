"""The likelihood of a field from weighted particles, for group samplers.

As for the edge sampler, particles follow every change of a parameter by weights: see
`pymc_mrf.kernels.views.particle_edges`. All edges are present here, and the simulator of fields sweeps many
times faster than particles that keep their local fields: states are moved there, and local fields computed
anew for the next sweep over the labels.
"""

import numpy as np

from pymc_mrf.fields.simulation import GibbsSimulator
from pymc_mrf.kernels.groups import grouped_particles
from pymc_mrf.kernels.random_lanes import seed_lanes
from pymc_mrf.kernels.views import particle_edges
from pymc_mrf.kernels.views.particle_edges import MAX_NOISE
from pymc_mrf.kernels.views.weighted_particles import (
    fill_ancestors,
    get_states,
    refresh_particles,
    set_states,
)
from pymc_mrf.likelihood.edges.edge_field import edge_field, node_parameters
from pymc_mrf.likelihood.groups.group_engine import N_REFERENCE, GroupEngine, with_fewest_features
from pymc_mrf.likelihood.particles.particle_edges import (
    LEAST_SIZE,
    allocate_particles,
    count_anew,
    noise_of,
)

LEAST_PARTICLES = 2048
DRIFT_EDGES, DRIFT_BLOCKS = 100, 16  # edges looked at, blocks of particles, in `drift`
MOST_SNAPSHOTS = 16  # of the particles, over which sums of groups are averaged
FEW = 100.0  # particles times mu (1 - mu), summed over a group, below which no sum of f over it is known well
HOPELESS = 0.1  # effective share of the particles below which the sweeps have to move them


class ParticleGroups(GroupEngine):
    """Engine of fields of any treewidth; approximate. See `GroupEngine` for the other parameters.

    Parameters
    ----------
    n_particles : int
        Particles, m.
    n_sweeps : int
        Gibbs sweeps of all particles whenever they are renewed.

    Attributes
    ----------
    n_renewals : int
        How often the particles were resampled since `reset_statistics`.
    """

    # evaluations are cheap, and the noise is corrected for as if values were drawn anew
    n_trajectories = 8

    def __init__(
        self, x, graph, family, node_tables, entries, n_entries, *, n_particles: int, n_sweeps: int
    ) -> None:
        super().__init__(x, graph, family, node_tables, entries, n_entries)
        family = with_fewest_features(family)
        field, data = edge_field(x, graph, family, False, np.arange(graph.n_edges))
        m = n_particles
        self._particles = allocate_particles(m, graph, family, field)
        edges = particle_edges.allocate_view(field, data, 0, self._particles, LEAST_SIZE * m, n_sweeps)
        self._view = self._edgewise(edges, family, self.s)
        self._n_sweeps = n_sweeps
        self._is_fresh = False
        self._simulator = GibbsSimulator(graph, family.n_states, m)
        self._z, self._resampled = np.empty((2, graph.n_nodes, m), dtype=np.int8)
        # variance of f where it hardly varies: half an observation in n is a typical step of the levels away
        self._least_spread = 0.5 * float(np.median(np.diff(self.levels))) ** 2 / self.n
        self._node_basis = np.zeros((0, family.n_states))
        self.node_directions: np.ndarray | None = None
        self._node_sums = np.zeros(0)
        self.set_node_tables(node_tables)
        self.reset_statistics()

    def move_nodes(self, node_basis: np.ndarray, directions: np.ndarray) -> None:
        """Let node parameters, which multiply `node_basis` (q, K), move with the group values from now on.

        `directions` (d q, P) are their derivatives by the P variables that `information` is asked about.
        """
        self._node_basis, self.node_directions = node_basis, directions
        self._node_sums = self._node_statistics(self.x.T).sum(axis=1)

    def set_data(self, x):
        super().set_data(x)
        if len(self._node_basis):
            self._node_sums[:] = (self._counts.nodes @ self._node_basis.T).ravel()

    def _node_statistics(self, z: np.ndarray) -> np.ndarray:
        """Statistics (d q, m) of the nodes in states `z` (d, m), those of a node side by side."""
        return self._node_basis[:, z].swapaxes(0, 1).reshape(-1, z.shape[1])

    @property
    def n_particles(self) -> int:
        return self._particles.size

    @property
    def noise(self) -> float:
        """Noise of the estimated log-likelihood ratio of two values one posterior sd apart.

        Root mean square over the labels drawn since `reset_statistics`.
        """
        return noise_of(self._view.edges.tally[0])

    @property
    def least_size(self) -> float:
        """Smallest effective size of the particles, relative to m, since `reset_statistics`."""
        return float(self._view.edges.tally[0].least_size) / self.n_particles

    def edge_noise(self) -> float:
        """`noise` at the present parameters, over all edges."""
        self.reset_statistics()
        r = len(self.s)
        grouped_particles.fill_level_shares(self._view, np.arange(r), np.empty((r, self.n_levels)))
        return self.noise

    def reset_statistics(self) -> None:
        count_anew(self._view.edges)
        self.n_renewals = 0

    def _read_states(self) -> np.ndarray:
        """State indices (d, m) int8 of the particles; overwritten by every move."""
        get_states(self._particles, self._z)
        return self._z

    def get_state(self) -> tuple[np.ndarray, ...]:
        """States (d, m) int8 and weights (m,) of the particles; their parameters w (edges,) and b (d q,)."""
        particles, m = self._particles, self.n_particles
        return (
            self._read_states().copy(),
            particles.W[:m].copy(),
            particles.w.copy(),
            particles.beta.copy(),
        )

    def set_state(self, z, weights, w, b) -> None:
        """Restore what `get_state` gave."""
        particles, edges = self._particles, self._view.edges
        set_states(particles, edges.field, z)
        particles.W[: self.n_particles] = weights
        particles.w[:], particles.beta[:], edges.w[:] = w, b, w
        refresh_particles(particles, edges.field)
        self._is_fresh = True

    def set_node_tables(self, node_tables) -> None:
        """Find the node parameters; the particles follow at the next `change`."""
        super().set_node_tables(node_tables)
        self._view.edges.beta[:] = node_parameters(self._view.edges.field.basis, node_tables)

    def start(self, eta: np.ndarray, n_sweeps: int, rng: np.random.Generator) -> None:
        """Particles from the rows of the data, followed by `n_sweeps` sweeps at `eta` (r,)."""
        self._z[:] = self.x[rng.integers(self.n, size=self.n_particles)].T
        self._view.edges.w[:] = eta[self.entries] / self._view.scale
        self._sweep(n_sweeps, rng)
        self._take_states()

    def _sweep(self, n_sweeps: int, rng: np.random.Generator) -> None:
        """Gibbs sweeps of the states at the present parameters; the particles do not know of them yet."""
        edge_tables = (self._view.scale * self._view.edges.w)[:, None, None] * self.statistic
        self._simulator.sweep(self._z.T, edge_tables, self.node_tables, n_sweeps, rng)

    def _resample(self, rng: np.random.Generator) -> None:
        """Resample the states of the particles by their weights, and sweep; as `_sweep`."""
        m, W, z = self.n_particles, self._particles.W[: self.n_particles], self._read_states()
        if np.ptp(W) > 0.0:
            ancestor = np.empty(m, dtype=np.int64)
            fill_ancestors(W, m / W.sum(), rng.random(), ancestor)
            z[:] = np.take(z, ancestor, axis=1, out=self._resampled)
            self.n_renewals += 1
        self._sweep(self._n_sweeps, rng)

    def _take_states(self, refreshes: bool = True) -> None:
        """Give the states to the particles, which stand for the present parameters, with equal weights.

        Local fields may be left to a `change` that is sure to come.
        """
        edges, particles = self._view.edges, self._particles
        set_states(particles, edges.field, self._z)
        particles.W[: self.n_particles] = 1.0
        particles.w[:], particles.beta[:] = edges.w, edges.beta
        self._is_fresh = refreshes
        if refreshes:
            refresh_particles(particles, edges.field)

    def renew(self, rng: np.random.Generator) -> None:
        """Resample the particles by their weights, and move them by Gibbs sweeps."""
        self._resample(rng)
        self._take_states()

    def change(self, eta: np.ndarray, rng: np.random.Generator) -> None:
        """Carry the particles over to the parameters `eta` (r,), at which a new sweep begins, by weights.

        Where these would be too uneven, the particles are left to the sweeps.
        """
        edges, particles = self._view.edges, self._particles
        edges.w[:] = eta[self.entries] / self._view.scale
        seed_lanes(particles.lanes, rng)
        same_nodes = np.array_equal(edges.beta, particles.beta)
        if self._is_fresh and same_nodes and np.allclose(edges.w, particles.w, rtol=1e-9, atol=0.0):
            particles.w[:] = edges.w
            return
        self._is_fresh = True
        size = particle_edges.carry_over(edges, np.arange(len(self.s)), HOPELESS * self.n_particles)
        if size < edges.least_size:
            self.renew(rng)

    def view(self, eta):
        """View of the particles; parameters that have changed are for `change` to follow."""
        return self._view

    def _statistics_of(self, edges: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Statistics f (k, m) of the `edges` (k,) in states `z` (d, m)."""
        u, v = self.graph.edges[edges].T
        return self.statistic[z[u], z[v]]

    def drift(self, n_sweeps: int, rng: np.random.Generator) -> float:
        """How far `n_sweeps` more sweeps move the means of edges; the particles stay as they are.

        Particles that keep up with the parameters move on average nowhere. What each of 16 blocks of
        particles moves by itself is noise, and is subtracted; the rest, common to all, is drift.

        Returns
        -------
        float
            Signed root of the mean square over up to 100 edges, in units of the standard deviation of the
            mean of f in the data, sqrt(p (1 - p) / n) if f is 0 or 1. Negative where the particles move less
            than their noise: squares with signs have mean zero if there is no drift. 0 with fewer particles
            than rows, which are too noisy to tell.
        """
        if self.n_particles < self.n:
            return 0.0
        n_edges = min(len(self.s), DRIFT_EDGES)
        edges = np.linspace(0, len(self.s) - 1, n_edges).astype(np.int64)
        weights = self._particles.W[: self.n_particles] / self.n_particles
        before = self._statistics_of(edges, self._read_states())
        self._sweep(n_sweeps, rng)
        after = self._statistics_of(edges, self._z)
        mean = 0.5 * (before + after) @ weights
        spread = 0.5 * (before**2 + after**2) @ weights - mean**2
        shift = (after - before) * weights
        blocks = np.arange(DRIFT_BLOCKS) * self.n_particles // DRIFT_BLOCKS
        shift = np.add.reduceat(shift, blocks, axis=1)
        noise = DRIFT_BLOCKS * shift.var(axis=1, ddof=1)
        scale = self.n / np.maximum(spread, self._least_spread)
        square = float(np.mean(scale * (shift.sum(axis=1) ** 2 - noise)))
        return float(np.copysign(np.sqrt(abs(square)), square))

    def learn(self, eta, rng):
        """Keep f of all edges in some particles, and the nodes' statistics along `node_directions`."""
        self.renew(rng)
        z = self._z[:, :N_REFERENCE]
        u, v = self.graph.edges.T
        self.reference = self._reference_statistic[z[u], z[v]]
        if self.node_directions is not None:
            self.node_reference = self.node_directions.T @ self._node_statistics(z)

    def measure(self, labels: np.ndarray, n_groups: int, rng: np.random.Generator) -> None:
        """Moments of the sums of f over the groups `labels` (r,), at the present parameters.

        Means are averaged over further sweeps. If `node_directions` are set, the nodes follow.
        """
        m = self.n_particles
        groups = labels[self.entries]
        n_nodes = len(self._node_sums)
        sums, average = np.empty((2, n_groups + n_nodes, m))
        counts = np.empty((len(groups), self.n_levels))
        n_snapshots = int(np.clip(np.ceil(8.0 * self.n / m), 1, MOST_SNAPSHOTS))
        average[:] = 0.0
        z = self._z
        for t in range(n_snapshots):
            self._sweep(self._n_sweeps, rng) if t > 0 else self._resample(rng)
            grouped_particles.sum_over_groups(
                z, self.graph.edges, self.statistic, groups, sums[:n_groups]
            )
            sums[n_groups:] = self._node_statistics(z)
            average += sums / n_snapshots
        grouped_particles.count_levels(z, self.graph.edges, self.level, counts)
        variety = np.bincount(groups, 0.5 - 0.5 * (counts / m) ** 2 @ np.ones(self.n_levels), n_groups)
        is_rare = variety * m < FEW
        edges = np.flatnonzero(is_rare[groups])
        shares = np.empty((len(edges), self.n_levels))
        self._take_states(len(edges) > 0)
        if len(edges):
            tally = self._view.edges.tally
            told = tally.copy()  # the noise is that of labels, which are not drawn here
            grouped_particles.fill_level_shares(self._view, edges, shares)
            tally[:] = told
        self._moments = sums, average.mean(axis=1), np.cov(average, ddof=0) / m, is_rare, edges, shares

    def grouped(self, labels, values):
        """Log-likelihood near the present `values` (K,), from what `measure` found.

        With T the sums of f over the groups and D = new values - values,

            A(D) - A(0) = log mean exp(D . T) + D . (t - mean T),

        the means over particles, t being the better estimate of E T. A group in which hardly any particle
        shows different values of f enters by sum_e log sum_l mu_el exp(f_l D_e) instead, mu_el being the
        probability of level f_l, as if alone.
        The error of t, of covariance V relative to C / n with C = Cov T, is corrected for as in
        `kernels.views.particle_edges`: the curvature n C becomes n C^(1/2) (1 - V)^-1 C^(1/2) about the
        likelihood's mode. If `node_directions` are set, `values` are followed by the node parameters (d q,).
        """
        groups = labels[self.entries]
        sums, mean, noise, is_rare, edges, shares = self._moments
        size, m = sums.shape
        K = len(is_rare)
        data = np.concatenate([np.bincount(groups, self.s, minlength=K), self._node_sums])
        shown = np.flatnonzero(~np.append(is_rare, np.zeros(size - K, dtype=bool)))
        T = sums[shown] - sums[shown].mean(axis=1, keepdims=True)
        least = np.where(np.arange(size) < K, self._least_spread, 0.5 / self.n)
        C = np.diag(np.bincount(groups[edges], self._spread(shares), minlength=size) + least)
        C[np.ix_(shown, shown)] += T @ T.T / m
        root = np.linalg.cholesky(C)
        inverse = np.linalg.inv(root)
        ratio, axes = np.linalg.eigh(self.n * inverse @ noise.reshape(size, size) @ inverse.T)
        gain = 1.0 / (1.0 - np.clip(ratio, 0.0, MAX_NOISE)) - 1.0
        axes = root @ axes  # (size, size)
        grouped = grouped_particles.GroupedParticleView(
            values=values,
            data=data,
            mean=mean,
            n=float(self.n),
            rows=shown,
            sums=T,
            rare=groups[edges],
            shares=shares,
            levels=self.levels,
            reach=50.0 / np.ptp(self.levels),
            penalty=self.n * (axes * gain) @ axes.T,
            mode=np.linalg.solve(C, data / self.n - mean),
            weight=np.empty(m),
        )

        def log_likelihood(x: np.ndarray) -> tuple[float, np.ndarray]:
            gradient = np.empty(size)
            return grouped_particles.grouped_log_likelihood(grouped, x, gradient), gradient

        return log_likelihood

    def _spread(self, shares: np.ndarray) -> np.ndarray:
        """Variance (...) of f, from the probabilities of its levels (..., L)."""
        most = shares.argmax(axis=-1)[..., None]  # about which the others keep their digits
        gaps = self.levels - self.levels[most]
        mean = (shares * gaps).sum(axis=-1, keepdims=True)
        return (shares * (gaps - mean) ** 2).sum(axis=-1)
