"""The likelihood of a field from particles, for group samplers; see `kernels/groups/particle_groups.py`."""

import numpy as np

from pymc_mrf.fields.simulation import GibbsSimulator
from pymc_mrf.kernels.groups import grouped_particles
from pymc_mrf.kernels.groups import particle_groups as kernels
from pymc_mrf.kernels.views.noise import MAX_NOISE
from pymc_mrf.likelihood.edges.particle_edges import LEAST_SIZE
from pymc_mrf.likelihood.groups.group_engine import N_REFERENCE, GroupEngine

LEAST_PARTICLES = 2048
N_NEAR = (
    8  # edges of a chunk whose changes enter an edge's marginal by weights, beside those that touch it
)
N_CHUNKS = 8  # parts of a sweep over many labels, with moves of the particles in between
DRIFT_EDGES, DRIFT_BLOCKS = 100, 16  # edges looked at, blocks of particles, in `drift`
MOST_SNAPSHOTS = 16  # of the particles, over which sums of groups are averaged
FEW = 100.0  # particles times mu (1 - mu), summed over a group, below which no sum of f over it is known well
LEAST_SHARE = 0.1  # effective share of the particles below which resampling leaves too few of them
HOPELESS = 8.0  # variance of log weights beyond which they are not looked at


class ParticleLikelihood(GroupEngine):
    """Engine of fields of any treewidth; approximate. See `GroupEngine` for the other parameters.

    Parameters
    ----------
    n_particles : int
        Particles, m.
    n_sweeps : int
        Gibbs sweeps of all particles whenever they are renewed. Of single nodes: draws of whole trees
        took 1.2 to 5 times as long to the same error with 256 particles (``docs/results.md``, "Speed of
        tree sampling"), and take longer still with more.

    Attributes
    ----------
    n_renewals : int
        Since `reset_statistics`.
    """

    # evaluations are cheap, and the noise is corrected for as if values were drawn anew
    n_trajectories = 8

    def __init__(
        self, x, graph, statistic, node_tables, entries, n_entries, *, n_particles: int, n_sweeps: int
    ) -> None:
        super().__init__(x, graph, statistic, node_tables, entries, n_entries)
        r, m, K = graph.n_edges, n_particles, len(statistic)
        self._n_sweeps = n_sweeps
        self._simulator = GibbsSimulator(graph, K, m)
        # neighbouring edges in different chunks: few of the edges near one have changed with it
        self.order = np.random.default_rng(0).permutation(n_entries)
        self.chunk = max(-(-n_entries // N_CHUNKS), N_NEAR + 1)
        chunk_of = np.empty(n_entries, dtype=np.int64)
        chunk_of[self.order] = np.arange(n_entries) // self.chunk
        near_ptr, near = kernels.nearby_edges(graph.arrays, chunk_of[entries], N_NEAR)
        L = self.n_levels
        size = max(min(kernels.MAX_CONFIGURATIONS, kernels.MAX_CELLS // (L + 1)), 1)
        self._view = kernels.ParticleView(
            edge_of=self.edge_of,
            s=self.s,
            n=float(self.n),
            z=np.zeros((graph.n_nodes, m), dtype=np.int8),
            eta=np.zeros(r),
            anchor=np.zeros(r),
            statistic=np.ascontiguousarray(statistic, dtype=np.float64),
            levels=self.levels,
            level=self.level,
            node_tables=np.array(node_tables, dtype=np.float64),
            graph=graph.arrays,
            near_ptr=near_ptr,
            near=near,
            least_size=LEAST_SIZE,
            log_weight=np.zeros(m),
            weight=np.zeros(m),
            cell=np.zeros(m, dtype=np.int64),
            conditionals=np.zeros((2, size, K)),
            anchored=np.zeros((2, size, K)),
            log_norm=np.zeros((2, size)),
            anchored_norm=np.zeros((2, size)),
            pair=np.zeros((max(size, m), L + 1)),
            mass=np.zeros((2, max(size, m))),
            share=np.zeros(L),
            log_mass=np.zeros(L),
            tally=np.zeros(1, kernels.TALLY).view(np.recarray),
        )
        self._node_anchor = self._view.node_tables.copy()
        # variance of f where it hardly varies: half an observation in n is a typical step of the levels away
        self._least_spread = 0.5 * float(np.median(np.diff(self.levels))) ** 2 / self.n
        self._node_basis = np.zeros((0, K))
        self.node_directions: np.ndarray | None = None
        self._node_sums = np.zeros(0)
        self.reset_statistics()

    def move_nodes(self, node_basis: np.ndarray, directions: np.ndarray) -> None:
        """Let node parameters, which multiply `node_basis` (q, K), move with the group values from now on.

        `directions` (d q, P) are their derivatives by the P variables that `information` is asked about.
        """
        self._node_basis, self.node_directions = node_basis, directions
        self._node_sums = self._node_statistics(self.x.T).sum(axis=1)

    def set_data(self, x):
        """Sum the statistics of the nodes as well, where their parameters are moved."""
        super().set_data(x)
        if len(self._node_basis):
            self._node_sums[:] = (self._counts.nodes @ self._node_basis.T).ravel()

    def _node_statistics(self, z: np.ndarray) -> np.ndarray:
        """Statistics (d q, m) of the nodes in states `z` (d, m), those of a node side by side."""
        return self._node_basis[:, z].swapaxes(0, 1).reshape(-1, z.shape[1])

    @property
    def n_particles(self) -> int:
        """Number of particles m."""
        return self._view.z.shape[1]

    @property
    def noise(self) -> float:
        """Noise of the estimated log-likelihood ratio of two values one posterior sd apart.

        Root mean square over the labels drawn since `reset_statistics`.
        """
        tally = self._view.tally[0]
        return float(np.sqrt(tally.noise / max(tally.n_noise, 1)))

    @property
    def least_size(self) -> float:
        """Smallest effective size of an edge's marginal, relative to m, since `reset_statistics`."""
        return float(self._view.tally[0].least_size)

    def edge_noise(self) -> float:
        """`noise` at the present parameters, over all edges."""
        found = [kernels.edge_marginal(self._view, e)[:2] for e in range(len(self.s))]
        spread, variance = np.array(found).T
        return float(np.sqrt(np.mean(self.n * variance / np.maximum(spread, kernels.TINY))))

    def reset_statistics(self) -> None:
        """Start counting anew."""
        self._view.tally[0] = 0.0, 0, 1.0, False
        self.n_renewals = 0

    def get_state(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Particles (d, m); parameters (edges,) and node tables (d, K) that they stand for. Not copied."""
        return self._view.z, self._view.anchor, self._node_anchor

    def set_state(self, z: np.ndarray, anchor: np.ndarray, node_anchor: np.ndarray) -> None:
        """Restore what `get_state` gave."""
        self._view.z[:] = z
        self._node_anchor[:] = node_anchor
        self._view.anchor[:] = anchor
        self._view.eta[:] = anchor

    def set_node_tables(self, node_tables) -> None:
        """Take over other node tables; the particles follow at the next `change`."""
        self._view.node_tables[:] = node_tables

    def start(self, eta: np.ndarray, n_sweeps: int, rng: np.random.Generator) -> None:
        """Particles from the rows of the data, followed by `n_sweeps` sweeps at `eta` (r,)."""
        self._view.z[:] = self.x[rng.integers(self.n, size=self.n_particles)].T
        self._view.eta[:] = eta[self.entries]
        self.move(rng, n_sweeps)

    def move(self, rng: np.random.Generator, n_sweeps: int | None = None) -> None:
        """Gibbs sweeps at the present parameters, for which the particles stand from now on."""
        view = self._view
        edge_tables = view.eta[:, None, None] * view.statistic
        n_sweeps = self._n_sweeps if n_sweeps is None else n_sweeps
        self._simulator.sweep_columns(view.z, edge_tables, view.node_tables, n_sweeps, rng)
        view.anchor[:] = view.eta
        self._node_anchor[:] = view.node_tables

    def renew(self, rng: np.random.Generator) -> None:
        """Resample by the weights of all changes, where they are even enough for that, and `move`.

        In fields with many changes the particles are left to the sweeps.
        """
        view = self._view
        edges, nodes = view.eta - view.anchor, np.zeros_like(view.node_tables)
        possible = view.node_tables > -np.inf
        nodes[possible] = view.node_tables[possible] - self._node_anchor[possible]
        # variance of the log weights, were edges and nodes independent and undecided
        if self.statistic.var() * (edges @ edges) + 0.25 * np.sum(nodes * nodes) < HOPELESS:
            kernels.total_log_weights(view, nodes, view.log_weight)
            weights = np.exp(view.log_weight - view.log_weight.max())
            if weights.sum() ** 2 > LEAST_SHARE * len(weights) * (weights @ weights):
                kernels.resample(view.z, weights, rng)
        self.n_renewals += 1
        self.move(rng)

    def change(self, eta: np.ndarray, rng: np.random.Generator) -> None:
        """Carry the particles over to the parameters `eta` (r,), at which a new sweep begins."""
        self._view.eta[:] = eta[self.entries]
        same_nodes = np.array_equal(self._view.node_tables, self._node_anchor)
        if not (same_nodes and np.allclose(self._view.eta, self._view.anchor, rtol=1e-9, atol=0.0)):
            self.renew(rng)
        else:
            self._view.anchor[:] = self._view.eta

    def view(self, eta):
        """View of the particles; parameters that have changed are for `change` to follow."""
        return self._view

    def drift(self, n_sweeps: int, rng: np.random.Generator) -> float:
        """How far `n_sweeps` more sweeps move edge marginals; the particles stay as they are.

        Particles that keep up with the parameters move on average nowhere. What each of 16 blocks of
        particles moves by itself is noise, and is subtracted; the rest, common to all, is drift.

        Returns
        -------
        float
            Signed root of the mean square over up to 100 edges, in units of the standard deviation of the
            mean of f in the data, sqrt(p (1 - p) / n) if f is 0 or 1. Negative where the particles move less
            than their noise: squares with signs have mean zero if there is no drift.
        """
        n_edges = min(len(self.s), DRIFT_EDGES)
        edges = np.linspace(0, len(self.s) - 1, n_edges).astype(np.int64)
        z = self._view.z.copy()
        blocks = np.arange(DRIFT_BLOCKS) * self.n_particles // DRIFT_BLOCKS
        before, after = np.empty((2, n_edges, DRIFT_BLOCKS))
        means, spread = np.empty(self.n_particles), np.empty(n_edges)
        for out in (before, after):
            for k, e in enumerate(edges):
                kernels.edge_means(self._view, e, means)
                out[k] = np.add.reduceat(means, blocks) / self.n_particles
                if out is before:
                    spread[k] = self._spread(self._view.share)
            if out is before:
                self.move(rng, n_sweeps)
        self._view.z[:] = z
        shift = after - before
        noise = DRIFT_BLOCKS * shift.var(axis=1, ddof=1)
        scale = self.n / np.maximum(spread, self._least_spread)
        square = float(np.mean(scale * (shift.sum(axis=1) ** 2 - noise)))
        return float(np.copysign(np.sqrt(abs(square)), square))

    def learn(self, eta, rng):
        """Keep f of all edges in some particles, and the nodes' statistics along `node_directions`."""
        u, v = self.graph.edges.T
        z = self._view.z[:, :N_REFERENCE]
        self.reference = self._reference_statistic[z[u], z[v]]
        if self.node_directions is not None:
            self.node_reference = self.node_directions.T @ self._node_statistics(z)

    def _spread(self, shares: np.ndarray) -> np.ndarray:
        """Variance (...) of f, from the probabilities of its levels (..., L)."""
        most = shares.argmax(axis=-1)[..., None]  # about which the others keep their digits
        gaps = self.levels - self.levels[most]
        mean = (shares * gaps).sum(axis=-1, keepdims=True)
        return (shares * (gaps - mean) ** 2).sum(axis=-1)

    def measure(self, labels: np.ndarray, n_groups: int, rng: np.random.Generator) -> None:
        """Moments of the sums of f over the groups `labels` (r,), at the present parameters.

        Means are Rao-Blackwellised, or averaged over further sweeps, whichever is more precise. If
        `node_directions` are set, the nodes follow.
        """
        m = self.n_particles
        groups = labels[self.entries]
        n_nodes = len(self._node_sums)
        sums, average = np.empty((2, n_groups + n_nodes, m))
        means = np.empty((n_groups, m))
        shares = np.empty((len(groups), self.n_levels))
        n_snapshots = int(np.clip(np.ceil(8.0 * self.n / m), 1, MOST_SNAPSHOTS))
        average[:] = 0.0
        for t in range(n_snapshots):
            if t > 0:
                self.move(rng)
            grouped_particles.group_sums(self._view, groups, sums[:n_groups])
            sums[n_groups:] = self._node_statistics(self._view.z)
            average += sums / n_snapshots
        grouped_particles.group_means(self._view, groups, means, shares)
        noise = np.cov(average, ddof=0)
        mean = average.mean(axis=1)
        if not n_nodes:
            # all or none: errors of sums that go together cancel, those of estimates of two kinds do not
            other = np.cov(means, ddof=0)
            inverse = np.linalg.pinv(np.cov(sums, ddof=0).reshape(n_groups, n_groups))
            if np.sum(inverse * other) < np.sum(inverse * noise):
                noise, mean = other, means.mean(axis=1)
        self._moments = shares, sums, mean, noise / m

    def grouped(self, labels, values):
        """Log-likelihood near the present `values` (K,), from what `measure` found.

        With T the sums of f over the groups and D = new values - values,

            A(D) - A(0) = log mean exp(D . T) + D . (t - mean T),

        the means over particles, t being the better estimate of E T. A group in which hardly any particle
        shows different values of f enters by sum_e log sum_l mu_el exp(f_l D_e) instead, mu_el being the
        probability of level f_l, as if alone.
        The error of t, of covariance V relative to C / n with C = Cov T, is corrected for as in
        `pymc_mrf.kernels.views.noise`: the curvature n C becomes n C^(1/2) (1 - V)^-1 C^(1/2) about the
        likelihood's mode. If `node_directions` are set, `values` are followed by the node parameters (d q,).
        """
        groups = labels[self.entries]
        shares, sums, mean, noise = self._moments
        size, m = sums.shape
        K = size - len(self._node_sums)
        data = np.concatenate([np.bincount(groups, self.s, minlength=K), self._node_sums])
        independent = np.bincount(groups, self._spread(shares), minlength=size)
        variety = 0.5 - 0.5 * (shares**2).sum(axis=1)  # mu (1 - mu) of two levels
        rare = (np.bincount(groups, variety, minlength=size) * m < FEW) & (np.arange(size) < K)
        of_rare = rare[groups]
        rare_groups, shares = groups[of_rare], shares[of_rare]
        T = sums[~rare] - sums[~rare].mean(axis=1, keepdims=True)
        least = np.where(np.arange(size) < K, self._least_spread, 0.5 / self.n)
        C = np.diag(independent + least)
        C[np.ix_(~rare, ~rare)] = T @ T.T / m + np.diag(least[~rare])
        root = np.linalg.cholesky(C)
        inverse = np.linalg.inv(root)
        ratio, axes = np.linalg.eigh(self.n * inverse @ noise.reshape(size, size) @ inverse.T)
        gain = 1.0 / (1.0 - np.clip(ratio, 0.0, MAX_NOISE)) - 1.0
        axes = root @ axes  # (size, size)
        penalty = self.n * (axes * gain) @ axes.T
        mode = np.linalg.solve(C, data / self.n - mean)

        grouped = grouped_particles.GroupedParticles(
            values=values,
            data=data,
            mean=mean,
            n=float(self.n),
            rows=np.flatnonzero(~rare),
            sums=T,
            rare=rare_groups,
            shares=shares,
            levels=self.levels,
            reach=50.0 / np.ptp(self.levels),
            penalty=penalty,
            mode=mode,
            weight=np.empty(m),
        )

        def log_likelihood(x: np.ndarray) -> tuple[float, np.ndarray]:
            gradient = np.empty(size)
            return grouped_particles.grouped_log_likelihood(grouped, x, gradient), gradient

        return log_likelihood
