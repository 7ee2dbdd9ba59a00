"""`tied_pcd`: long-run average against the exact tied estimate, and behaviour at the bounds."""

import numpy as np
import pytest

from pymc_mrf.fields.families import ISING, agreement
from pymc_mrf.fields.simulation import GibbsSimulator
from pymc_mrf.graph import builders
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.simulation.gibbs import gibbs_sweeps, uniform_states
from pymc_mrf.kernels.simulation.pair_counts import tied_statistics
from pymc_mrf.papers.engines import liu_page as pcd
from pymc_mrf.papers.engines.liu_page import regularised_covariance
from tests.reference import maximum_likelihood as naive
from tests.statistics import Z

# a square with a diagonal and a pendant node
GRAPH = PairwiseGraph(range(5), [(0, 1), (2, 1), (2, 3), (3, 0), (0, 2), (3, 4)])
LABELS = np.array([0, 1, 0, 1, 1, 0])


def draw(family, eta, n, rng):
    x = np.empty((n, GRAPH.n_nodes), dtype=np.int8)
    uniform_states(x, family.n_states, rng)
    tables = family.edge_tables(eta), np.zeros((GRAPH.n_nodes, family.n_states))
    gibbs_sweeps(x, *tables, GRAPH.arrays, 100, rng)
    return x


def target_of(x, family):
    u, v = GRAPH.edges.T
    mean = family.edge_statistic[x[:, u], x[:, v]].mean(axis=0)
    return np.bincount(LABELS, mean) / np.bincount(LABELS)


def follow(eta, target, particles, family, n_calls, rng, n_iterations=5):
    node_tables = np.zeros((GRAPH.n_nodes, family.n_states))
    simulator = GibbsSimulator(GRAPH, family.n_states, len(particles))
    path = []
    for _ in range(n_calls):
        eta, gap = pcd.tied_pcd(
            eta, LABELS, target, particles, family.edge_statistic, node_tables, simulator,
            n_iterations, rng,
        )  # fmt: skip
        path.append(eta)
    return np.array(path), gap


@pytest.mark.parametrize("family", [agreement(), agreement(3), ISING], ids=repr)
def test_long_run_average_is_the_tied_estimate(family, rng):
    x = draw(family, np.array([1.2, 0.4, 0.8, -0.5, 0.3, 1.0]), 300, rng)
    exact, _ = naive.exact_mle(x, GRAPH.edges, family.edge_statistic, None, LABELS)
    particles = x[rng.integers(len(x), size=2000)]
    path, _ = follow(np.zeros(2), target_of(x, family), particles, family, 1000, rng)
    batches = path[100:].reshape(30, 30, 2).mean(axis=1)
    error = batches.std(axis=0, ddof=1) / np.sqrt(30)
    gap = np.abs(batches.mean(axis=0) - exact)
    # the bias of a constant step is of order STEP / m
    assert np.all(gap < Z * error + 5 * pcd.STEP / 2000), (gap, error)
    assert np.all(error < 0.01)
    # control: the estimate of other data is told apart
    other, _ = naive.exact_mle(x[:, ::-1], GRAPH.edges, family.edge_statistic, None, LABELS)
    assert np.any(np.abs(batches.mean(axis=0) - other) > Z * error + 5 * pcd.STEP / 2000)


def test_targets_on_their_bounds_stay_finite(rng):
    family = agreement()
    particles = draw(family, np.zeros(6), 200, rng)
    path, gap = follow(np.zeros(2), np.array([1.0, 0.0]), particles, family, 400, rng)
    assert np.all(np.isfinite(path))
    assert np.all(np.abs(path) <= pcd.ETA_MAX)
    assert path[-1, 0] > 3
    assert path[-1, 1] < -1
    # and they come back once the target is inside again
    path, gap = follow(path[-1], np.array([0.6, 0.5]), particles, family, 400, rng)
    assert np.all(np.abs(path[-1]) < 3)
    assert gap < 0.1


def test_identical_particles_do_not_break_the_first_step(rng):
    family = agreement()
    particles = np.zeros((100, GRAPH.n_nodes), dtype=np.int8)
    path, _ = follow(np.zeros(2), np.array([0.6, 0.5]), particles, family, 200, rng)
    assert np.all(np.abs(path) < 5)


def test_moves_particles_in_place_and_leaves_the_start_alone(rng):
    family = agreement()
    eta = np.array([0.3, -0.2])
    particles = draw(family, np.zeros(6), 50, rng)
    before = particles.copy()
    runs = []
    for _ in range(2):
        z = before.copy()
        path, gap = follow(eta, np.array([0.6, 0.4]), z, family, 1, np.random.default_rng(3))
        runs.append((path, gap, z))
    np.testing.assert_array_equal(eta, [0.3, -0.2])
    assert np.any(runs[0][2] != before)
    for a, b in zip(*runs, strict=True):
        np.testing.assert_array_equal(a, b)


def test_tied_statistics_and_covariance_equal_the_naive_ones(rng):
    family = agreement(3)
    x = draw(family, np.zeros(6), 40, rng)
    out = np.empty((40, 2))
    tied_statistics(x, LABELS, GRAPH.edges, family.edge_statistic, out)
    expected = naive.statistics(x, GRAPH.edges, family.edge_statistic, None, LABELS)
    np.testing.assert_array_equal(out, expected)
    covariance = regularised_covariance(out, np.array([0.0, 100.0]))
    numpy_covariance = np.cov(expected.T, bias=True)
    np.testing.assert_allclose(covariance[0, 1], numpy_covariance[0, 1], atol=1e-12)
    np.testing.assert_allclose(np.diag(covariance), [1.05 * numpy_covariance[0, 0], 100.0])


def test_one_group_on_a_grid(rng):
    graph = builders.grid(4, 4)
    family = agreement()
    labels = np.zeros(graph.n_edges, dtype=np.int64)
    particles = np.empty((200, 16), dtype=np.int8)
    uniform_states(particles, 2, rng)
    eta, gap = pcd.tied_pcd(
        np.zeros(1), labels, np.array([0.5]), particles, family.edge_statistic, np.zeros((16, 2)),
        GibbsSimulator(graph, 2, 200), 200, rng,
    )  # fmt: skip
    # over 30 seeds the estimate had a standard deviation of 0.0017, and the gap was 1e-4 at most
    assert abs(eta[0]) < 0.01
    assert gap < 0.001
