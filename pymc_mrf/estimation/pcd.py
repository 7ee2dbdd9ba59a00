"""Maximum likelihood by persistent contrastive divergence (Tieleman, 2008).

Robbins-Monro steps, preconditioned by the particles' covariance of the statistics (a stochastic
Newton method), with the average of the later iterates as the estimate (Polyak & Juditsky, 1992).
The estimate is then held fixed while the particles go on, to compare moments.
"""

import numpy as np

from pymc_mrf.checks import warn_user, whole_number
from pymc_mrf.estimation.problem import PARAMETER_MAX, FitProblem, FitResult
from pymc_mrf.estimation.pseudo_likelihood import maximise
from pymc_mrf.fields.simulation import GibbsSimulator
from pymc_mrf.kernels.simulation.pair_counts import tied_statistics

# Beyond this many parameters only the variances of the statistics are used
FULL_COVARIANCE = 1000
# Step sizes STEP / (1 + t / HALF) ** DECAY: Polyak-Ruppert averaging wants DECAY in (1/2, 1)
STEP, HALF, DECAY = 0.3, 100.0, 0.7
STEP_MAX = 0.5  # largest change of one parameter in one step
FIRST_RUN = 300  # sweeps before moments are first compared
CHECK = 100  # sweeps over which moments are compared
EVERY = 10  # sweeps between updates of the covariance
Z = 4.5  # standard errors that Monte-Carlo noise may explain


class _Particles:
    """Persistent chains and the statistics they have now."""

    def __init__(self, problem: FitProblem, n_particles: int, rng: np.random.Generator) -> None:
        n = len(problem.x)
        # every row equally often, the remainder at random
        rows = np.concatenate(
            [np.tile(np.arange(n), n_particles // n), rng.permutation(n)[: n_particles % n]]
        )
        self._problem, self._rng = problem, rng
        self._x = problem.x[rows]
        self._simulator = GibbsSimulator(problem.graph, problem.family.n_states, n_particles)
        self._statistics = np.empty((n_particles, problem.n_parameters))

    def sweep(self, parameters: np.ndarray) -> None:
        self._simulator.sweep(self._x, *self._problem.tables(parameters), 1, self._rng)

    def mean(self) -> np.ndarray:
        return self._problem.moments(self._x)

    def statistics(self) -> np.ndarray:
        """Statistics (m, p), overwritten by the next call."""
        problem = self._problem
        tied = self._statistics[:, : problem.n_groups]
        edges, table = problem.graph.edges, problem.family.edge_statistic
        tied_statistics(self._x, problem.labels, edges, table, tied)
        nodes = np.moveaxis(problem.family.node_basis[:, self._x], 0, -1)  # (m, d, q)
        self._statistics[:, problem.n_groups :] = nodes[:, problem.node_entries]
        return self._statistics


class _Curvature:
    """Running average of the statistics' covariance, and Newton directions from it."""

    def __init__(self, spread: np.ndarray) -> None:
        self._full = len(spread) <= FULL_COVARIANCE
        self._spread = spread
        self._average = np.diag(spread) if self._full else spread.copy()
        self._n_updates = 0
        self._inverse: np.ndarray = np.empty(0)

    def update(self, statistics: np.ndarray) -> None:
        """Take in the statistics (m, p) of the particles."""
        self._n_updates += 1
        weight = max(1.0 / self._n_updates, 0.1)
        new = np.cov(statistics.T, bias=True) if self._full else statistics.var(axis=0)
        self._average = (1.0 - weight) * self._average + weight * new
        if self._full:
            regularised = np.atleast_2d(self._average).copy()
            diagonal = np.diag(regularised)
            np.fill_diagonal(regularised, np.maximum(1.05 * diagonal, self._spread))
            self._inverse = np.linalg.inv(regularised)
        else:
            # steps by variances alone are stable up to 1 / (largest eigenvalue of the correlation)
            variance = np.maximum(self._average, self._spread)
            scaled = (statistics - statistics.mean(axis=0)) / np.sqrt(variance)  # (m, p)
            v = np.ones(len(variance))
            for _ in range(10):
                v = scaled.T @ (scaled @ v) / len(scaled)
                norm = np.linalg.norm(v)
                v /= norm
            self._inverse = 1.0 / (variance * max(norm, 1.0))

    def newton(self, gap: np.ndarray) -> np.ndarray:
        # einsum, not BLAS: starting threads for so small a product costs more than it saves
        return np.einsum("ij,j->i", self._inverse, gap) if self._full else self._inverse * gap


def fit_pcd(
    problem: FitProblem,
    rng: np.random.Generator,
    *,
    n_particles: int | None = None,
    max_iterations: int = 5000,
) -> FitResult:
    """Maximum-likelihood estimate by persistent contrastive divergence.

    Parameters
    ----------
    problem : FitProblem
    rng : numpy.random.Generator
    n_particles : int, optional
        Persistent chains, started from the data; by default the number of rows, at least 1000.
    max_iterations : int
        Largest number of sweeps over all particles, those that compare moments included; at least
        200.

    Raises
    ------
    ValueError
        If a moment of the data lies on its bound, so that the estimate is infinite.

    Warns
    -----
    UserWarning
        If the moments of the fitted field were not brought to agree with those of the data.

    Notes
    -----
    Converged means: at the returned estimate no moment differs from that of the data by more than
    4.5 Monte-Carlo standard errors (of the comparison and of the estimate), and those of the
    comparison are at most half the sampling error of the data moment. Standard errors are those of
    maximum likelihood (inverse Fisher information, estimated from the particles); None beyond 1000
    parameters.

    Moments on their bounds are refused, but a combination of moments can lie on its bound too (a
    triangle whose rows all have exactly one agreement). Parameters then drift outwards until
    exceptions are rarer than the particles can show; their standard errors are large.
    """
    n = len(problem.x)
    n_particles = max(n, 1000) if n_particles is None else whole_number(n_particles, "n_particles", 2)
    max_iterations = whole_number(max_iterations, "max_iterations", 2 * CHECK)
    problem.check_estimable()
    # the ridge keeps the start finite where the pseudo-likelihood has no maximum
    current, _, _ = maximise(problem, ridge=1.0 / n)
    particles = _Particles(problem, n_particles, rng)
    curvature = _Curvature(problem.spread())
    for _ in range(EVERY):
        particles.sweep(current)
    curvature.update(particles.statistics())
    t, sweeps, run = 0, EVERY, FIRST_RUN
    while True:
        run = min(run, max_iterations - sweeps - CHECK)
        average = np.zeros(problem.n_parameters)
        n_averaged = 0
        for k in range(run):
            particles.sweep(current)
            gap = problem.target - particles.mean()
            step = STEP / (1.0 + t / HALF) ** DECAY * curvature.newton(gap)
            current = current + np.clip(step, -STEP_MAX, STEP_MAX)
            current = np.clip(current, -PARAMETER_MAX, PARAMETER_MAX)
            t += 1
            if t % EVERY == 0:
                curvature.update(particles.statistics())
            if k >= run // 2:
                average += current
                n_averaged += 1
        average /= n_averaged
        sweeps += run + CHECK
        gap, noise, covariance = _moments(problem, particles, average)
        sampling = np.sqrt(np.diag(covariance) / n)
        # the estimate carries the noise of the sweeps that were averaged into it
        allowed = Z * noise * np.sqrt(1.0 + CHECK / n_averaged)
        met = (np.abs(gap) <= allowed) & (noise <= 0.5 * sampling)
        if met.all() or sweeps + CHECK >= max_iterations:
            break
        current = average
        run *= 2
    moment_gap = float(np.abs(gap / problem.multiplicity).max())
    if not met.all():
        worst = int(np.argmax(np.abs(gap) / np.maximum(sampling, 1e-300)))
        warn_user(
            f"persistent contrastive divergence did not converge in {sweeps} sweeps: the moment of "
            f"{problem.name_of(worst)} is off by {abs(gap[worst]) / problem.multiplicity[worst]:.2g}. Raise "
            "max_iterations or n_particles; if some parameter keeps growing the maximum-likelihood "
            "estimate does not exist: tie edges by `groups` or use a Bayesian prior"
        )
    return problem.result(
        "pcd",
        average,
        _standard_error(covariance, n),
        converged=bool(met.all()),
        n_iterations=sweeps,
        moment_gap=moment_gap,
    )


def _moments(
    problem: FitProblem, particles: _Particles, parameters: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compare moments over CHECK sweeps at fixed parameters.

    Returns `gap` (p,): data moment minus the particles' mean; `noise` (p,): its Monte-Carlo standard
    error: particles are independent, sweeps of one particle are not; `covariance` (p, p): of the
    statistics; diagonal beyond FULL_COVARIANCE parameters.
    """
    p = problem.n_parameters
    by_particle = np.zeros_like(particles.statistics())
    covariance = np.zeros((p, p) if p <= FULL_COVARIANCE else p)
    for k in range(CHECK):
        particles.sweep(parameters)
        statistics = particles.statistics()
        by_particle += statistics / CHECK
        if k % EVERY == EVERY - 1:
            new = np.cov(statistics.T) if p <= FULL_COVARIANCE else statistics.var(axis=0, ddof=1)
            covariance += new * EVERY / CHECK
    noise = by_particle.std(axis=0, ddof=1) / np.sqrt(len(by_particle))
    if covariance.ndim == 1:
        covariance = np.diag(covariance)
    return problem.target - by_particle.mean(axis=0), noise, covariance


def _standard_error(covariance: np.ndarray, n: int) -> np.ndarray | None:
    """Square roots of the diagonal of (n covariance)^-1, (p,); None if it cannot be inverted."""
    if len(covariance) > FULL_COVARIANCE:
        return None
    eigenvalues = np.linalg.eigvalsh(covariance)
    if eigenvalues[0] <= 1e-10 * eigenvalues[-1]:
        return None
    return np.sqrt(np.diag(np.linalg.inv(n * covariance)))
