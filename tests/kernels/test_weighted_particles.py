"""Weighted particles: twins in plain Python, enumeration where the particles are exhaustive."""

import numpy as np
import pytest
from scipy import special, stats

from pymc_mrf.fields.families import agreement
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels import particle_groups
from pymc_mrf.kernels import weighted_particles as kernels
from pymc_mrf.kernels.edge_posterior import allocate_edge_work
from pymc_mrf.likelihood.base_density import tabulate
from tests.reference import enumeration
from tests.reference import weighted_particles as reference
from tests.statistics import ALPHA, assert_frequencies, assert_mean_close, chi_square_pvalue

TRIANGLE = PairwiseGraph(range(3), [(0, 1), (2, 1), (2, 0)])
SQUARE = PairwiseGraph(range(5), [(0, 1), (1, 2), (3, 2), (3, 0), (0, 2), (4, 2)])
# two hubs with so many neighbours that configurations are not tabulated
HUBS = PairwiseGraph(range(9), [(0, 1), *((i, j) for i in (0, 1) for j in range(2, 9))])
AGREE = np.eye(2)
PRODUCT = np.array([[0.0, 0.0], [0.0, 1.0]])


def log_density(eta):
    """Uniform theta, eta = logit(theta)."""
    return special.log_expit(eta) + special.log_expit(-eta)


BASE = tabulate(log_density, (-40.0, 36.0), 0.0, np.zeros_like)
GRID = np.linspace(-30.0, 30.0, 20_001)


def random_particles(graph, statistic, m, rng):
    n_states = len(statistic)
    node_tables = rng.normal(size=(graph.n_nodes, n_states))
    particles = kernels.allocate(m, graph.n_edges, statistic, node_tables)
    particles.z[:] = rng.integers(n_states, size=particles.z.shape)
    particles.W[:] = rng.gamma(2.0, size=m)
    particles.W[:] /= particles.W.mean()
    particles.eta[:] = rng.normal(size=graph.n_edges)
    return particles


def exhaustive(graph, statistic, eta, node_tables, copies=1):
    """Every configuration, `copies` times, weighted by its probability: no sampling error."""
    configs = np.repeat(enumeration.configurations(graph.n_nodes, len(statistic)), copies, axis=0)
    particles = kernels.allocate(len(configs), graph.n_edges, statistic, node_tables)
    particles.z[:] = configs.T
    particles.eta[:] = eta
    p = enumeration.probabilities(graph.edges, eta[:, None, None] * statistic, node_tables)
    particles.W[:] = np.repeat(p, copies) * len(p)
    return particles


CASES = [
    pytest.param(SQUARE, AGREE, id="agreement"),
    pytest.param(SQUARE, PRODUCT, id="product"),
    pytest.param(SQUARE, np.eye(3), id="three states"),
    pytest.param(HUBS, np.eye(3), id="many configurations"),
]


@pytest.mark.parametrize(("graph", "statistic"), CASES)
def test_edge_marginal_is_the_weighted_mean_of_conditionals(graph, statistic, rng):
    particles = random_particles(graph, statistic, 40, rng)
    for e in range(0, graph.n_edges, 3):
        one, zero, variance = kernels.edge_marginal(e, particles, graph.arrays)
        share = reference.shares(
            particles.z, e, graph.edges, particles.eta, statistic, particles.node_tables
        )
        mean, spread = reference.weighted_mean_and_variance(share, particles.W)
        np.testing.assert_allclose([one, zero, variance], [mean, 1.0 - mean, spread], atol=1e-12)


@pytest.mark.parametrize("eta", [300.0, -300.0])
def test_forced_edges_keep_a_finite_logit(eta):
    """Two states, all three edges strong: the others force the first, in either direction."""
    signs = np.array([1.0, 1.0, np.sign(eta)])
    particles = kernels.allocate(4, 3, AGREE, np.zeros((3, 2)))
    particles.eta[:] = 300.0 * signs
    particles.z[:] = np.array([0, 0, 0])[:, None] if eta > 0 else np.array([0, 0, 1])[:, None]
    for e in range(3):
        one, zero, variance = kernels.edge_marginal(e, particles, TRIANGLE.arrays)
        assert one >= 0.0 and zero >= 0.0 and one + zero == pytest.approx(1.0)
        assert variance == 0.0


@pytest.mark.parametrize(("graph", "statistic"), CASES[:3])
def test_weights_follow_a_change_exactly(graph, statistic, rng):
    eta = rng.normal(size=graph.n_edges)
    node_tables = rng.normal(size=(graph.n_nodes, len(statistic)))
    particles = exhaustive(graph, statistic, eta, node_tables)
    for e, value in ((0, 1.5), (2, -2.0), (0, 0.3)):
        eta[e] = value
        size = kernels.change_edge(e, value, particles, graph.arrays)
        p = enumeration.probabilities(graph.edges, eta[:, None, None] * statistic, node_tables)
        np.testing.assert_allclose(particles.W / len(p), p, rtol=1e-10)
        assert size == pytest.approx(1.0 / (p**2).sum())
    marginal = enumeration.marginals(graph.edges, eta[:, None, None] * statistic, node_tables)[1]
    for e in range(graph.n_edges):
        one = kernels.edge_marginal(e, particles, graph.arrays)[0]
        assert one == pytest.approx((marginal[e] * statistic).sum())


def test_large_changes_neither_overflow_nor_lose_the_weights(rng):
    particles = random_particles(TRIANGLE, AGREE, 30, rng)
    for value in (900.0, -900.0, 900.0):
        kernels.change_edge(0, value, particles, TRIANGLE.arrays)
        assert particles.W.mean() == pytest.approx(1.0)


def test_resampling_is_systematic(rng):
    particles = random_particles(TRIANGLE, AGREE, 50, rng)
    # states that name the particle: 50 < 128
    particles.z[:] = np.arange(50)
    W, counts = particles.W.copy(), []
    for _ in range(2000):
        particles.z[:] = np.arange(50)
        particles.W[:] = W
        kernels.resample(particles, rng)
        assert np.all(particles.W == 1.0)
        counts.append(np.bincount(particles.z[1], minlength=50))
        assert np.all(np.abs(counts[-1] - W) < 1.0)
    assert_mean_close(counts, W)


@pytest.mark.parametrize(("graph", "statistic"), CASES)
def test_group_statistics(graph, statistic, rng):
    particles = random_particles(graph, statistic, 40, rng)
    labels = rng.integers(2, size=graph.n_edges)
    low, high, found, deficit, ratio = particle_groups.group_statistics(
        1, labels, particles, graph.arrays
    )
    members = np.flatnonzero(labels == 1)
    total = reference.edge_sums(particles.z, graph.edges, statistic)[members].sum(axis=0)
    arguments = graph.edges, particles.eta, statistic, particles.node_tables
    share = sum(reference.shares(particles.z, e, *arguments) for e in members)
    _plain, spread = reference.weighted_mean_and_variance(total, particles.W)
    mean, variance = reference.weighted_mean_and_variance(share, particles.W)
    assert (low, high) == (total.min(), total.max())
    assert found == pytest.approx(mean)
    assert deficit == pytest.approx(len(members) - mean)
    assert ratio == pytest.approx(variance / max(spread, variance))
    mass = np.bincount(total.astype(int), particles.W, minlength=high + 1)
    np.testing.assert_allclose(particles.mass[low : high + 1], mass[low:])


def test_distribution_of_a_group_sum_gets_the_mean_of_its_edges():
    def calibrated(weights, size, mean, deficit):
        mass = np.zeros(size + 2)
        mass[list(weights)] = list(weights.values())
        low, high = particle_groups.calibrate(
            mass, min(weights), max(weights), size, mean, deficit, sum(weights.values())
        )
        return low, high, mass / mass.sum()

    low, high, p = calibrated({1: 20.0, 2: 50.0, 3: 30.0}, 3, 2.3, 0.7)
    assert (low, high) == (1, 3)
    assert p @ np.arange(5) == pytest.approx(2.3)
    # a tilt: the log ratio to the weights is linear
    assert np.diff(np.log(p[1:4] / [20.0, 50.0, 30.0]), 2) == pytest.approx(0.0, abs=1e-9)
    # all particles agree: the rare value has the probability that the edges give it
    low, high, p = calibrated({3: 100.0}, 3, 3.0, 1e-20)
    assert (low, high) == (2, 3)
    assert p[2] == pytest.approx(1e-20)
    low, high, p = calibrated({0: 100.0}, 3, 1e-20, 3.0)
    assert (low, high) == (0, 1)
    assert p[1] == pytest.approx(1e-20)
    low, high, p = calibrated({2: 100.0}, 3, 1.75, 1.25)
    assert (low, high) == (1, 2)
    assert p @ np.arange(5) == pytest.approx(1.75)


def three_nodes(rng, n=40):
    eta = np.array([1.2, -0.5, 0.4])
    node_tables = np.zeros((3, 2))
    p = enumeration.probabilities(TRIANGLE.edges, agreement().edge_tables(eta), node_tables)
    return enumeration.configurations(3, 2)[rng.choice(8, size=n, p=p)], node_tables


def draw_label_of(e, copies, x, node_tables, labels, values, n_draws, rng):
    """Frequencies of the labels of edge e after one visit: other groups, then a new one."""
    s = np.array([(x[:, u] == x[:, v]).sum() for u, v in TRIANGLE.edges], dtype=float)
    work = allocate_edge_work()
    others = np.unique(np.delete(labels, e))
    counts = np.zeros(len(others) + 1)
    fresh = exhaustive(TRIANGLE, AGREE, values[labels], node_tables, copies)
    W, present = fresh.W.copy(), fresh.eta.copy()
    for _ in range(n_draws):
        fresh.W[:], fresh.eta[:] = W, present
        eta = np.append(values, np.zeros(3))
        after, sizes = labels.copy(), np.bincount(labels, minlength=6)
        _, _, n_new, _, _ = particle_groups.sweep_labels(
            e, after, eta, sizes, len(values), s, float(len(x)), 0.0, BASE, fresh, TRIANGLE.arrays,
            0.0, work, rng,
        )  # fmt: skip
        kept = np.flatnonzero(values[others] == eta[after[e]])
        assert len(kept) == 1 - n_new
        counts[kept[0] if n_new == 0 else -1] += 1
        assert eta[after[e]] == fresh.eta[e]
    return others, counts


def test_label_conditionals_agree_with_enumeration(rng):
    x, node_tables = three_nodes(rng)
    values = np.array([0.9, -0.4])
    labels = np.array([0, 1, 0])
    base = np.exp(log_density(GRID))
    groups, p = reference.label_probabilities(
        2, labels, values, x, 1.0, TRIANGLE.edges, AGREE, node_tables, base, GRID
    )
    others, counts = draw_label_of(2, 2000, x, node_tables, labels, values, 2000, rng)
    np.testing.assert_array_equal(others, groups)
    assert_frequencies(counts, p)
    # negative control: particles of another field, unweighted
    values = np.array([0.9, 2.5])
    _, counts = draw_label_of(2, 2000, x, node_tables, labels, values, 2000, rng)
    assert chi_square_pvalue(counts, p) < ALPHA


def test_group_values_are_drawn_from_their_conditional(rng):
    """All three edges in one group, exhaustive particles: a one-dimensional posterior."""
    x, node_tables = three_nodes(rng)
    f = np.array([[z[u] == z[v] for u, v in TRIANGLE.edges] for z in enumeration.configurations(3, 2)])
    total = f.sum(axis=1)
    S = np.array([sum(x[:, u] == x[:, v]) for u, v in TRIANGLE.edges]).sum()
    log_f = S * GRID - len(x) * special.logsumexp(GRID[:, None] * total, axis=1) + log_density(GRID)
    density = np.exp(log_f - log_f.max())
    cdf = np.cumsum(density) / density.sum()
    labels = np.zeros(3, dtype=np.int64)
    particles = exhaustive(TRIANGLE, AGREE, np.full(3, 0.3), node_tables, copies=500)
    draws, eta = [], np.array([0.3])
    arguments = labels, eta, np.array([float(S)]), float(len(x)), np.array([3.0]), BASE
    for _ in range(2000):
        next_group, _, size = particle_groups.move_values(
            0, *arguments, particles, TRIANGLE.arrays, 0.0, rng
        )
        assert next_group == 1
        assert size == pytest.approx(kernels.effective_size(particles.W))
        draws.append(eta[0])
    # weights have followed through 2000 moves
    p = enumeration.probabilities(TRIANGLE.edges, eta[0] * np.tile(AGREE, (3, 1, 1)), node_tables)
    np.testing.assert_allclose(particles.W[::500] / 8, p, rtol=1e-8)
    thinned = np.array(draws)[::3]
    statistic = stats.kstest(thinned, lambda value: np.interp(value, GRID, cdf))
    assert statistic.pvalue > ALPHA
    assert stats.kstest(thinned + 0.15, lambda value: np.interp(value, GRID, cdf)).pvalue < ALPHA


def test_noise_correction_is_a_deconvolution(rng):
    """Sharpened, then blurred by the noise, a Gaussian likelihood is itself."""
    ratio, eta = 0.3, np.linspace(-2.0, 2.0, 5)
    power = particle_groups.sharpening(ratio)
    noise = np.sqrt(ratio) * rng.normal(size=(200_000, 1))
    blurred = np.exp(-0.5 * power * (eta - noise) ** 2) * np.sqrt(power)
    assert_mean_close(blurred, np.exp(-0.5 * eta**2))
    assert particle_groups.sharpening(0.9) == particle_groups.sharpening(particle_groups.MAX_NOISE)


def test_compiled_equals_python(rng):
    x, node_tables = three_nodes(rng)
    s = np.array([(x[:, u] == x[:, v]).sum() for u, v in TRIANGLE.edges], dtype=float)
    results = []
    for compiled in (True, False):
        generator = np.random.default_rng(5)
        particles = exhaustive(TRIANGLE, AGREE, np.zeros(3), node_tables)
        labels, eta = np.zeros(3, dtype=np.int64), np.zeros(4)
        sizes = np.array([3, 0, 0, 0])
        sweep, move = particle_groups.sweep_labels, particle_groups.move_values
        if not compiled:
            sweep, move = sweep.py_func, move.py_func
        n = float(len(x))
        found = sweep(
            0, labels, eta, sizes, 1, s, n, 1.0, BASE, particles, TRIANGLE.arrays, 0.0,
            allocate_edge_work(), generator,
        )  # fmt: skip
        eta = eta[: found[1]]
        sums, widths = np.bincount(labels, s), np.full(len(eta), 2.0)
        move(0, labels, eta, sums, n, widths, BASE, particles, TRIANGLE.arrays, 0.0, generator)
        results.append((np.array(found), labels, eta, particles.W))
    for compiled, python in zip(*results, strict=True):
        np.testing.assert_allclose(compiled, python, rtol=1e-10)
