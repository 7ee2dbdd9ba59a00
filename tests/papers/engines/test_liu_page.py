"""Engines of Liu & Page (2013): the stripped Beta approximation, and tied estimates.

Counts as in the paper and exactness on a tree; long-run averages against the exact tied estimate, and
behaviour at the bounds.
"""

import arviz as az
import numpy as np
import pytest
from scipy import special

from pymc_mrf.fields.families import ISING, agreement
from pymc_mrf.fields.simulation import GibbsSimulator
from pymc_mrf.graph import builders
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.simulation.gibbs import gibbs_sweeps, uniform_states
from pymc_mrf.kernels.simulation.pair_counts import tied_statistics
from pymc_mrf.likelihood.exact.exact_edges import ForestGroups
from pymc_mrf.papers.engines import liu_page as pcd
from pymc_mrf.papers.engines.liu_page import StrippedBeta, floor_count, regularised_covariance
from tests.marks import slow
from tests.reference import maximum_likelihood as naive
from tests.statistics import Z


def test_counts_are_those_of_the_paper(rng):
    """Sec. 3.2.1 and 3.2.2: floor(n theta_hat) of n, floor(m_k n phi_hat_k) of m_k n."""
    graph = builders.grid(2, 2)
    x = rng.integers(0, 2, size=(37, 4)).astype(np.int8)
    theta = np.array([0.2, 0.55, 0.7, 0.913])
    engine = StrippedBeta(x, graph, agreement(), special.logit(theta), 5, 100)
    np.testing.assert_array_equal(engine.s, np.floor(37 * theta))
    assert not engine.lam.any()
    phi = np.array([0.3, 0.66])
    labels = np.array([0, 1, 1, 1])
    s, n, lam = engine.group_statistics(labels, special.logit(phi))
    np.testing.assert_array_equal(s, np.floor([37 * 0.3, 3 * 37 * 0.66]))
    np.testing.assert_array_equal(n, [37, 3 * 37])
    assert not lam.any()


def test_floor_forgives_rounding_only():
    counts = np.arange(200)
    np.testing.assert_array_equal(floor_count(200, counts / 200), counts)
    assert floor_count(200, 0.5049) == 100
    assert floor_count(200, 0.50499999) == 100


@pytest.mark.parametrize("n_states", [2, 3])
def test_exact_on_a_tree(n_states, rng):
    """With the closed-form estimate, the approximation is the likelihood of the tree."""
    graph = builders.chain(5)
    x = rng.integers(0, n_states, size=(50, 5)).astype(np.int8)
    family = agreement(n_states)
    exact = ForestGroups(x, graph, family, np.zeros((5, n_states)), np.arange(4), 4)
    eta = special.logit(exact.s / exact.n) + np.log(n_states - 1.0)
    engine = StrippedBeta(x, graph, family, eta, 5, 100)
    np.testing.assert_array_equal(engine.s, exact.s)
    np.testing.assert_allclose(engine.lam, exact.lam)
    labels = np.array([0, 1, 0, 1])
    means = np.bincount(labels, exact.s) / (np.bincount(labels) * exact.n)
    tied = special.logit(means) + np.log(n_states - 1.0)
    expected = np.bincount(labels, exact.s), np.bincount(labels) * float(exact.n), exact.lam[:2]
    for got, value in zip(engine.group_statistics(labels, tied), expected, strict=True):
        np.testing.assert_allclose(got, value)


def test_tied_estimate_follows_the_groups(rng):
    """On a tree the tied estimate is the mean agreement of each group."""
    graph = builders.chain(6)
    x = rng.integers(0, 2, size=(400, 6)).astype(np.int8)
    x[:, 1] = np.where(rng.random(400) < 0.8, x[:, 0], 1 - x[:, 0])
    engine = StrippedBeta(x, graph, agreement(), np.zeros(5), 5, 400)
    labels = np.array([0, 1, 1, 1, 1])
    eta, particles = np.zeros(2), x.copy()
    kept = []
    for step in range(400):
        eta, gap = engine.tied_estimate(labels, eta, particles, rng)
        if step >= 100:
            kept.append(special.expit(eta))
    agreement_share = (x[:, :-1] == x[:, 1:]).mean(axis=0)
    expected = np.bincount(labels, agreement_share) / np.bincount(labels)
    draws = np.array(kept)
    gap_of_means = np.abs(draws.mean(axis=0) - expected)
    error = np.array([float(az.mcse(draws[None, :, k], method="mean")) for k in range(2)])
    assert np.all(gap_of_means < Z * error)
    assert np.any(np.abs(draws.mean(axis=0) - expected[::-1]) > Z * error)  # negative control
    assert gap < 0.1


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


@pytest.mark.parametrize("family", [agreement(), slow(agreement(3)), ISING], ids=repr)
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
