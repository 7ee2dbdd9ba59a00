"""The particle engine: marginals against enumeration after many changes, resampling, state."""

import numpy as np
import pytest

from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.weighted_particles import edge_marginal, effective_size
from pymc_mrf.likelihood.particles import WeightedParticles
from tests.reference import enumeration

GRAPH = PairwiseGraph(range(4), [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
STATISTIC = np.eye(2)
NODE_TABLES = np.array([[0.0, 0.3], [0.0, -0.2], [0.0, 0.0], [0.1, 0.0]])
M = 20_000


def engine(rng, m=M):
    x = rng.integers(2, size=(50, 4)).astype(np.int8)
    return WeightedParticles(x, GRAPH, STATISTIC, NODE_TABLES, m, 3)


def agreement_probabilities(eta):
    tables = eta[:, None, None] * STATISTIC
    marginals = enumeration.marginals(GRAPH.edges, tables, NODE_TABLES)[1]
    return (marginals * STATISTIC).sum(axis=(1, 2))


def marginal_gap(likelihood, eta):
    found = [edge_marginal(e, likelihood._particles, GRAPH.arrays)[0] for e in range(GRAPH.n_edges)]
    return np.abs(np.array(found) - agreement_probabilities(eta)).max()


def test_marginals_after_a_walk_through_parameters(rng):
    particles = engine(rng)
    eta = rng.normal(size=5)
    particles.start(eta, 30, rng)
    for _ in range(40):
        eta = eta + 0.3 * rng.normal(size=5)
        particles.change(eta, rng)
    assert particles.n_resamplings > 0
    assert particles.least_size < 0.5 * M
    assert effective_size(particles.get_state()[1]) >= 0.5 * M
    # 4.5 standard errors at the least effective size, without Rao-Blackwellisation
    assert marginal_gap(particles, eta) < 4.5 * 0.5 / np.sqrt(0.5 * M)
    # control: the same particles without their weights stand for another field
    eta = eta + np.array([0.5, -0.5, 0.5, 0.5, -0.5])
    assert marginal_gap(particles, eta) > 0.05


def test_statistics_are_counted_from_the_reset(rng):
    particles = engine(rng, 500)
    particles.start(np.zeros(5), 5, rng)
    particles.change(np.full(5, 3.0), rng)
    assert particles.n_resamplings > 0
    particles.reset_statistics()
    assert particles.n_resamplings == 0
    assert particles.least_size == 500
    assert particles.noise == 0.0


def test_state_is_all_there_is(rng):
    one, other = engine(rng, 300), engine(rng, 300)
    one.start(rng.normal(size=5), 5, rng)
    other.set_state(*(a.copy() for a in one.get_state()))
    for particles in (one, other):
        generator = np.random.default_rng(1)
        particles.change(np.linspace(-1.0, 1.0, 5), generator)
        particles.move(generator)
        particles.resample_move(generator)
    for a, b in zip(one.get_state(), other.get_state(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_rounding_is_no_change(rng):
    particles = engine(rng, 300)
    eta = rng.normal(size=5)
    particles.start(eta, 5, rng)
    particles.change(eta * (1.0 + 1e-14), rng)
    np.testing.assert_array_equal(particles.get_state()[1], 1.0)
    particles.change(eta + 1e-3, rng)
    assert effective_size(particles.get_state()[1]) == pytest.approx(300, rel=1e-3)
    assert np.any(particles.get_state()[1] != 1.0)
