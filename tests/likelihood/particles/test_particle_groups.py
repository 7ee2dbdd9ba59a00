"""The particle engine: marginals against enumeration after many changes, grouped values, state."""

import numpy as np
import pytest

from pymc_mrf.fields.families import agreement, potts
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.groups.grouped_particles import fill_level_shares
from pymc_mrf.likelihood.exact.exact_edges import ExactGroups
from pymc_mrf.likelihood.particles import particle_groups as module
from pymc_mrf.likelihood.particles.particle_groups import N_REFERENCE, ParticleGroups
from tests.insides import is_measured
from tests.reference import enumeration
from tests.statistics import assert_mean_close

GRAPH = PairwiseGraph(range(4), [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
STATISTIC = np.eye(2)
NODE_TABLES = np.array([[0.0, 0.3], [0.0, -0.2], [0.0, 0.0], [0.1, 0.0]])
M = 20_000


def arguments(rng, n=50):
    x = rng.integers(2, size=(n, 4)).astype(np.int8)
    return x, GRAPH, potts(2), NODE_TABLES, np.arange(5), 5


def engine(rng, m=M):
    return ParticleGroups(*arguments(rng), n_particles=m, n_sweeps=3)


def stand_for(particles, z, eta):
    """Let equal particles `z` (d, m) stand for the parameters `eta`."""
    view = particles.view(eta)
    particles.set_state(z, 1.0, eta / view.scale, view.edges.beta.copy())


def marginal_gap(particles, eta):
    shares = np.empty((GRAPH.n_edges, 2))
    fill_level_shares(particles.view(eta), np.arange(GRAPH.n_edges), shares)
    pairs = enumeration.marginals(GRAPH.edges, eta[:, None, None] * STATISTIC, NODE_TABLES)[1]
    return np.abs(shares[:, 1] - (pairs * STATISTIC).sum(axis=(1, 2))).max()


def test_marginals_after_a_walk_through_parameters(rng):
    particles = engine(rng)
    eta = rng.normal(size=5)
    particles.start(eta, 30, rng)
    for _ in range(40):
        eta = eta + 0.3 * rng.normal(size=5)
        particles.change(eta, rng)
    assert particles.n_renewals > 1
    scale = particles.view(eta).scale
    np.testing.assert_allclose(particles.get_state()[2], eta / scale)
    # 4.5 standard errors, without Rao-Blackwellisation, of copies of half of the particles
    assert marginal_gap(particles, eta) < 4.5 * 0.5 / np.sqrt(0.5 * M)
    # control: without weights the same particles stand for another field, but for the edges' own
    eta = eta + np.array([1.0, -1.0, 1.0, 1.0, -1.0])
    stand_for(particles, particles.get_state()[0], eta)
    assert marginal_gap(particles, eta) > 4.5 * 0.5 / np.sqrt(0.5 * M)


def test_statistics_are_counted_from_the_reset(rng):
    particles = engine(rng, 500)
    particles.start(np.zeros(5), 5, rng)
    particles.change(np.full(5, 0.7), rng)
    particles.renew(rng)
    assert particles.n_renewals >= 1
    particles.reset_statistics()
    assert particles.n_renewals == 0
    assert particles.least_size == 1.0
    assert particles.noise == 0.0


def test_state_is_all_there_is(rng):
    one, other = engine(rng, 300), engine(np.random.default_rng(0), 300)
    one.start(rng.normal(size=5), 5, rng)
    other.set_state(*one.get_state())
    for particles in (one, other):
        generator = np.random.default_rng(1)
        particles.change(np.linspace(-1.0, 1.0, 5), generator)
        particles.renew(generator)
        particles.change(np.linspace(-0.9, 1.0, 5), generator)
    for a, b in zip(one.get_state(), other.get_state(), strict=True):
        np.testing.assert_array_equal(a, b)
    assert np.ptp(one.get_state()[1]) > 0.0


def test_rounding_is_no_change(rng):
    particles = engine(rng, 300)
    eta = rng.normal(size=5)
    particles.start(eta, 5, rng)
    before = particles.get_state()
    particles.change(eta * (1.0 + 1e-14), rng)
    for a, b in zip(before[:2], particles.get_state()[:2], strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_allclose(particles.get_state()[2], before[2], rtol=1e-13)
    particles.change(eta + 1e-3, rng)
    assert np.ptp(particles.get_state()[1]) > 0.0


def test_parameters_far_away_are_left_to_the_sweeps(rng, monkeypatch):
    """Weights that say nothing are not resampled by: as many different particles as before."""
    monkeypatch.setattr(module, "HOPELESS", 0.3)  # a field so small has few states that are likely
    particles = engine(rng, 2000)
    particles.start(np.zeros(5), 5, rng)
    before, seen = particles.get_state()[0], []
    particles._sweep = lambda n_sweeps, rng: seen.append(particles._z.copy())
    particles.change(np.full(5, 12.0), rng)
    np.testing.assert_array_equal(seen[0], before)
    assert np.ptp(particles.get_state()[1]) == 0.0
    stand_for(particles, before, np.zeros(5))
    particles.change(np.full(5, 0.9), rng)  # uneven, but not hopeless
    assert np.any(seen[1] != before)


def test_grouped_values_agree_with_the_exact_engine(rng):
    """Differences of the log-likelihood and its gradient, over independent sets of particles."""
    given = arguments(rng)
    given[0][:30, 1] = given[0][:30, 0]
    exact = ExactGroups(*given)
    labels, values = np.array([0, 1, 0, 1, 1]), np.array([0.6, -0.2])
    moved = np.array([[0.6, -0.2], [0.8, -0.2], [0.4, 0.1], [0.9, -0.5]])
    expected = [exact.grouped(labels, values)(x) for x in moved]
    found = [[] for _ in moved]
    particles = ParticleGroups(*given, n_particles=M, n_sweeps=1)
    for _ in range(20):
        stand_for(particles, exact.draw(values[labels], M, rng).T, values[labels])
        particles.measure(labels, 2, rng)
        likelihood = particles.grouped(labels, values)
        for row, x in zip(found, moved, strict=True):
            value, gradient = likelihood(x)
            row.append([value, *gradient])
    found = np.array(found)  # (4, 20, 3)
    for k in range(len(moved)):
        # the correction for noise is smaller than the error of 20 sets of particles
        assert_mean_close(found[k, :, 1:], expected[k][1])
        if k > 0:
            assert_mean_close(found[k, :, 0] - found[0, :, 0], expected[k][0] - expected[0][0])
    # control: another value of a group is told apart
    gap = np.abs(found[1, :, 1:].mean(axis=0) - expected[0][1])
    assert np.any(gap > 10 * found[1, :, 1:].std(axis=0) / np.sqrt(20))


def test_gradients_of_grouped_values_are_those_of_their_log_likelihood(rng):
    """Few particles and a group so strong that hardly any particle shows both values of f."""
    particles = engine(rng, 400)
    labels, values = np.array([0, 1, 0, 2, 1]), np.array([0.3, -0.6, 7.0])
    particles.start(values[labels], 20, rng)
    particles.measure(labels, 3, rng)
    np.testing.assert_array_equal(is_measured(particles), [False, False, True])
    likelihood = particles.grouped(labels, values)
    for x in values + 0.3 * rng.normal(size=(5, 3)):
        gradient = likelihood(x)[1]
        h = 1e-5
        numeric = [(likelihood(x + h * e)[0] - likelihood(x - h * e)[0]) / (2 * h) for e in np.eye(3)]
        np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-5)


def test_measuring_groups_does_not_count_as_labels_drawn(rng):
    """Edges of groups that hardly vary have hardly any noise, and would dilute that of the labels."""
    particles = engine(rng, 400)
    labels, values = np.array([0, 1, 0, 2, 1]), np.array([0.3, -0.6, 7.0])
    particles.start(values[labels], 20, rng)
    before = particles.edge_noise()
    assert before > 0.0
    particles.measure(labels, 3, rng)
    assert is_measured(particles).any()  # else no edge would be looked at
    assert particles.noise == before


def test_a_rare_disagreement_is_known_better_than_the_particles_show_it(rng):
    """One edge alone: all particles agree but a few, or none; its log-likelihood is in closed form."""
    graph = PairwiseGraph(range(2), [(0, 1)])
    x = np.zeros((60, 2), dtype=np.int8)
    x[:1, 1] = 1
    given = x, graph, agreement(), np.zeros((2, 2)), np.arange(1), 1
    particles = ParticleGroups(*given, n_particles=256, n_sweeps=1)
    labels, values = np.zeros(1, dtype=np.int64), np.array([9.0])
    particles.start(values, 20, rng)
    particles.measure(labels, 1, rng)
    likelihood = particles.grouped(labels, values)
    for moved in (5.0, 7.5, 11.0):
        expected = 59.0 * (moved - 9.0) - 60.0 * (np.logaddexp(0.0, moved) - np.logaddexp(0.0, 9.0))
        value = likelihood(np.array([moved]))[0] - likelihood(values)[0]
        assert value == pytest.approx(expected, abs=1e-6)


def test_curvature_is_the_covariance_of_the_statistics(rng):
    particles = engine(rng, 4000)
    eta, labels = np.array([0.5, -0.3, 0.5, 0.8, -0.3]), np.array([0, 1, 0, 2, 1])
    particles.start(eta, 30, rng)
    particles.learn(eta, rng)
    assert particles.reference.shape == (5, N_REFERENCE)
    tables = eta[:, None, None] * STATISTIC
    p = enumeration.probabilities(GRAPH.edges, tables, NODE_TABLES)
    z = enumeration.configurations(4, 2)
    f = np.array([z[:, u] == z[:, v] for u, v in GRAPH.edges], dtype=float)  # (5, 16)
    sums = np.array([f[labels == k].sum(axis=0) for k in range(3)])
    exact = 50 * (sums * p) @ sums.T - 50 * np.outer(sums @ p, sums @ p)
    found = particles.information(labels, 3)
    scale = np.sqrt(np.outer(np.diag(exact), np.diag(exact)))
    # 4.5 standard errors of a covariance from 1000 draws, in units of the standard deviations
    assert np.abs((found - exact) / scale).max() < 4.5 * np.sqrt(2.0 / N_REFERENCE)
    assert np.abs(found - np.diag(np.diag(found))).max() > 0.0
