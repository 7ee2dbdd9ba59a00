"""Jumps of edges: the truncated Gaussian, the corrected ratio, invariance of one exact jump."""

import numpy as np
import pytest
from scipy import integrate, special, stats

from pymc_mrf.fields.families import BOLTZMANN, ISING
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.edges.edge_moves import EdgePrior
from pymc_mrf.papers.engines.chen_welling import ExactChenWelling
from pymc_mrf.papers.kernels import reversible_jump as kernels
from pymc_mrf.steps.edges.edge_prior import flat
from tests.reference import reversible_jump as twin
from tests.reference.priors import normal
from tests.statistics import ALPHA, Z

EDGES = [(0, 1), (1, 2), (0, 2)]
BIAS = np.array([0.4, -0.3, 0.2])
INTERVALS = [(-0.5, 0.3), (-4.0, 5.0), (0.0, 0.2), (0.3, 6.0), (2.0, 2.01), (12.0, 20.0), (45.0, 46.0)]


def prior_of(p0, sigma, r, d):
    return EdgePrior(np.full(r, special.logit(p0)), normal(sigma), flat(d))


def assert_share(counts, probability):
    """Share of successes within its standard error; success may be all but certain."""
    k = sum(counts)
    error = np.sqrt(max(probability * (1 - probability), 0.0) / k)
    assert abs(counts[0] / k - probability) <= Z * error + 3 / k


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("sign", [1, -1])
def test_normal_between_two_points(interval, sign, rng):
    low, high = interval if sign > 0 else (-interval[1], -interval[0])
    value = kernels.log_normal_mass(low, high)
    expected, _ = integrate.quad(
        lambda z: np.exp(-0.5 * (z * z - interval[0] ** 2 * (interval[0] > 0))), *interval
    )
    expected = np.log(expected) - 0.5 * np.log(2 * np.pi) - 0.5 * interval[0] ** 2 * (interval[0] > 0)
    np.testing.assert_allclose(value, expected, rtol=1e-9)
    draws = np.array([kernels.draw_normal_between(low, high, rng) for _ in range(4000)])
    assert np.all((draws >= low) & (draws <= high))
    mass = np.exp([kernels.log_normal_mass(low, z) - value for z in draws if z > low])
    assert stats.kstest(mass, "uniform").pvalue > ALPHA


@pytest.mark.parametrize(
    ("mode", "H", "width"), [(0.3, 20.0, 0.002), (0.3, 20.0, 1.5), (4.0, 30.0, 0.5)]
)
def test_density_of_proposed_values(mode, H, width, rng):
    points = np.linspace(-width, width, 7)
    values = [kernels.log_truncated_density(a, mode, H, width) for a in points]
    expected = twin.truncated_gaussian(mode, H, width).logpdf(points)
    np.testing.assert_allclose(values, expected, rtol=1e-8, atol=1e-8)
    draws = [kernels.draw_truncated(mode, H, width, rng) for _ in range(2000)]
    assert stats.kstest(draws, twin.truncated_gaussian(mode, H, width).cdf).pvalue > ALPHA


def test_the_corrected_ratio_is_unbiased_and_the_plain_one_is_not(rng):
    """Eq. (11): E R~ = R to second order in a; without the last factor it is too large."""
    N, n, p = 200, 50, 0.3
    f = rng.binomial(n, p, size=200_000) / n
    S2 = f * (1 - f) * n / (n - 1)
    for a in (0.05, 0.02, -0.02):
        log_exact = -N * np.log(1 - p + p * np.exp(a))
        values = kernels.log_ratio_estimate(a, f, S2, N, n)
        np.testing.assert_allclose(
            values[:9], twin.log_corrected_ratio(a, f[:9], S2[:9], N, n), rtol=1e-10
        )
        corrected = np.exp(values - log_exact)
        plain = corrected * (1 + N**2 * a**2 * S2 / (2 * n))
        bias = N**2 * a**2 * p * (1 - p) / (2 * n)  # 0.21 and 0.034: what the last factor removes
        error = Z * corrected.std() / np.sqrt(len(f))
        assert abs(corrected.mean() - 1) < 0.2 * bias + error  # higher orders are left
        assert plain.mean() - 1 > 0.8 * bias - error


@pytest.mark.parametrize("n_particles", [100.0, 1000.0])
def test_parallel_jumps_are_accepted_as_the_paper_says(n_particles, rng):
    """Many copies of one edge: frequencies of additions and deletions by quadrature over the twin."""
    N, p0, sigma, mean, variance, s, width = 80.0, 0.3, 0.8, 0.25, 0.2, 23.0, 0.35
    k = 40_000
    repeat = np.full(k, 1.0)
    prior = prior_of(p0, sigma, k, 1)
    w = np.zeros(k)
    arguments = repeat * s, N, n_particles, repeat * mean, repeat * variance, prior, repeat * width
    n_absent, n_added, n_deletable, _ = kernels.parallel_jumps(w, *arguments, rng)
    assert (n_absent, n_deletable) == (k, 0)
    moments = s, N, n_particles, mean, variance, p0, sigma, width
    q = twin.optimal_proposal(s, N, mean, variance, sigma, width)
    expected, _ = integrate.quad(lambda a: q.pdf(a) * twin.add_probability(a, *moments), -width, width)
    assert_share([n_added, k - n_added], expected)
    assert np.all(np.abs(w) <= width)
    np.testing.assert_array_equal(np.count_nonzero(w), n_added)
    for a in (-0.3, 0.05, 0.34):
        w = np.full(k, a)
        _, _, n_deletable, n_deleted = kernels.parallel_jumps(w, *arguments, rng)
        expected = twin.delete_probability(a, *moments)
        assert n_deletable == k
        assert_share([n_deleted, k - n_deleted], expected)
    w = np.full(k, 0.36)
    assert kernels.parallel_jumps(w, *arguments, rng) == (0, 0, 0, 0)


def exact_case(states, enumerates=True):
    family = BOLTZMANN if states == (0, 1) else ISING
    x = np.random.default_rng(4).choice(states, size=(30, 3))
    x[:, 1] = np.where(np.random.default_rng(5).random(30) < 0.6, x[:, 0], x[:, 1])
    field = twin.EnumeratedField(x, EDGES, states, 0.4, 0.9, BIAS)
    graph = PairwiseGraph(range(3), EDGES)
    x = family.encode(x, n_nodes=3)
    return field, ExactChenWelling(x, graph, family, moves_biases=False, enumerates=enumerates)


@pytest.mark.parametrize("enumerates", [True, False])
@pytest.mark.parametrize("states", [(0, 1), (-1, 1)])
@pytest.mark.ordinary("states0-True", "states1-False")
def test_exact_jumps_are_accepted_as_the_paper_says(states, enumerates, rng):
    """The other edges are beyond their widths, and stay; frequencies by quadrature over the twin."""
    field, engine = exact_case(states, enumerates)
    prior, k = prior_of(0.4, 0.9, 3, 3), 1500
    for e, width in ((0, 0.9), (1, 0.4)):
        widths = np.where(np.arange(3) == e, width, 1e-3)
        start = np.array([0.5, -0.3, 0.2])

        def frequency(a, e=e, widths=widths, start=start):
            count = 0
            for _ in range(k):
                w = start.copy()
                w[e] = a
                n_absent, n_added, n_deletable, n_deleted = engine.jump(w, BIAS, prior, widths, rng)
                assert (n_absent, n_deletable) == ((1, 0) if a == 0 else (0, 1))
                assert n_added + n_deleted == (w[e] != a)
                np.testing.assert_array_equal(np.delete(w, e), np.delete(start, e))
                count += n_added + n_deleted
            return [count, k - count]

        absent = np.where(np.arange(3) == e, 0.0, start)
        mean, variance = field.moments(absent)
        q = twin.optimal_proposal(field.s[e], field.N, mean[e], variance[e], 0.9, width)

        def Q(a, e=e, absent=absent, q=q):
            added = np.where(np.arange(3) == e, a, absent)
            return np.exp(field.log_posterior(added) - field.log_posterior(absent) - q.logpdf(a))

        points = np.linspace(-width, width, 201)
        expected = np.trapezoid(q.pdf(points) * [min(1.0, Q(a)) for a in points], points)
        assert_share(frequency(0.0), expected)
        for a in (-0.3, 0.35):
            assert_share(frequency(a), min(1.0, 1 / Q(a)))


def gaps_after_one_jump(jump, k, rng):
    """From the exact conditional of an edge, one jump: gaps of P(present) and E[w] in standard errors."""
    field, _ = exact_case((0, 1))
    grid = np.linspace(-6, 6, 801)
    others = np.array([0.0, -0.3, 0.2])
    log_density = np.array([field.log_posterior(np.array([a, -0.3, 0.2])) for a in grid[grid != 0]])
    zero = field.log_posterior(others)
    step = grid[1] - grid[0]
    mass = np.exp(log_density - zero) * step
    p = mass.sum() / (1 + mass.sum())
    expected = p, p * (mass @ grid[grid != 0]) / mass.sum()
    start = np.where(
        rng.random(k) < p,
        rng.choice(grid[grid != 0], size=k, p=mass / mass.sum()) + step * (rng.random(k) - 0.5),
        0.0,
    )
    after = np.array([jump(np.array([a, -0.3, 0.2]))[0] for a in start])
    values = (after != 0).astype(float), after
    return [(v.mean() - m) / (v.std() / np.sqrt(k)) for v, m in zip(values, expected, strict=True)]


def test_one_exact_jump_leaves_the_conditional_invariant(rng):
    _, engine = exact_case((0, 1))
    prior, widths = prior_of(0.4, 0.9, 3, 3), np.array([0.9, 1e-3, 1e-3])

    def jump(w):
        engine.jump(w, BIAS, prior, widths, rng)
        return w

    gaps = gaps_after_one_jump(jump, 40_000, rng)
    assert max(np.abs(gaps)) < Z, gaps


@pytest.mark.parametrize("with_density", [True, False])
@pytest.mark.slow
def test_the_density_of_the_proposal_matters(with_density, rng):
    """Negative control: the twin without q(a) in eq. (8) has another stationary distribution."""
    field, _ = exact_case((0, 1))

    # the other edges never change, so that neither does the proposal
    mean, variance = field.moments(np.array([0.0, -0.3, 0.2]))
    q = twin.optimal_proposal(field.s[0], field.N, mean[0], variance[0], 0.9, 0.9)

    def jump(w):
        value = 0.0 if w[0] else q.ppf(rng.random())
        return twin.exact_jump(field, w, 0, 0.9, rng.random(), value, with_density)

    gaps = gaps_after_one_jump(jump, 2000, rng)
    assert (max(np.abs(gaps)) < Z) == with_density, gaps
