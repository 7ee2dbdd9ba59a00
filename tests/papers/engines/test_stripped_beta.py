"""The stripped Beta engine: counts as in the paper, exactness on a tree, the tied estimate."""

import arviz as az
import numpy as np
import pytest
from scipy import special

from pymc_mrf.fields.families import agreement
from pymc_mrf.graph import builders
from pymc_mrf.likelihood.exact.exact_edges import ForestLikelihood
from pymc_mrf.papers.engines.stripped_beta import StrippedBeta, floor_count
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
    exact = ForestLikelihood(x, graph, family, np.zeros((5, n_states)), np.arange(4), 4)
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
