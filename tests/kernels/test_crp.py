"""Chinese restaurant kernels: tie counts, prior partitions, one label's exact conditional."""

import numpy as np
import pytest
from scipy import special

from pymc_mrf.kernels import crp
from pymc_mrf.kernels.edge_posterior import allocate_edge_work
from pymc_mrf.likelihood.base_density import tabulate
from tests.reference.dirichlet_process import crp_probability, labels_of, set_partitions
from tests.statistics import assert_frequencies, chi_square_pvalue


def uniform_series():
    return tabulate(lambda eta: special.log_expit(eta) + special.log_expit(-eta), (-700.0, 36.0), 0.0)


def test_tie_counts_equal_a_count(rng):
    x = rng.integers(0, 4, size=50) / 7.0
    np.testing.assert_array_equal(crp.tie_counts(x), [(x == value).sum() for value in x])
    assert crp.tie_counts(np.array([0.5])) == [1.0]


def test_prior_partitions(rng):
    alpha, n = 0.8, 4
    partitions = set_partitions(n)
    index = {labels: i for i, labels in enumerate(partitions)}
    counts = np.zeros(len(partitions))
    labels = np.empty(n, dtype=np.int64)
    for _ in range(20_000):
        assert crp.crp_labels(alpha, labels, rng) == labels.max() + 1
        counts[index[tuple(labels)]] += 1
    assert_frequencies(counts, [crp_probability(labels, alpha) for labels in partitions])


def log_marginal(labels, s, n):
    """Log marginal likelihood of a partition of independent Binomial edges, uniform base."""
    total = 0.0
    for k in set(labels):
        members = np.array(labels) == k
        trials = n * members.sum()
        total += special.betaln(1 + s[members].sum(), 1 + trials - s[members].sum())
    return total


@pytest.mark.parametrize("alpha", [0.5, 2.0])
def test_sweeps_reach_the_posterior_over_partitions(alpha, rng):
    """Label sweeps and Beta draws of the values, against enumeration of all partitions."""
    s, n = np.array([2.0, 3.0, 6.0, 7.0]), 8.0
    r = len(s)
    partitions = set_partitions(r)
    index = {labels: i for i, labels in enumerate(partitions)}
    weights = np.array([crp_probability(labels, alpha) for labels in partitions])
    posterior = weights * np.exp([log_marginal(labels, s, n) for labels in partitions])
    posterior /= posterior.sum()

    log_new = np.log(alpha) + special.betaln(1 + s, 1 + n - s)
    labels, sizes = np.arange(r), np.ones(r, dtype=np.int64)
    eta, n_groups = np.zeros(r), r
    work, base = allocate_edge_work(), uniform_series()
    thin, counts = 5, np.zeros(len(partitions))
    for step in range(15_000 * thin):
        n_groups, _ = crp.sweep_labels(
            labels, eta, sizes, n_groups, s, n, np.zeros(r), log_new, base, work, rng
        )
        sums = np.bincount(labels, s)
        eta[:n_groups] = special.logit(rng.beta(1 + sums, 1 + n * sizes[:n_groups] - sums))
        if step % thin == 0:
            counts[index[labels_of(labels)]] += 1
        assert sizes[:n_groups].min() > 0 and sizes[:n_groups].sum() == r
    # neighbours five sweeps apart are nearly independent; a fifth of them certainly are
    assert_frequencies(counts / 5, posterior)
    assert chi_square_pvalue(counts / 5, weights) < 1e-10  # the prior is another distribution


def test_compiled_equals_python():
    s = np.array([2.0, 3.0, 6.0])
    results = []
    for function in (crp.sweep_labels, crp.sweep_labels.py_func):
        rng = np.random.default_rng(5)
        labels, eta, sizes = np.array([0, 0, 1]), np.array([0.1, 1.0, 0.0]), np.array([2, 1, 0])
        n_groups = 2
        for _ in range(20):
            n_groups, _ = function(
                labels,
                eta,
                sizes,
                n_groups,
                s,
                8.0,
                np.zeros(3),
                np.log([0.1, 0.01, 0.2]),
                uniform_series(),
                allocate_edge_work(),
                rng,
            )
        results.append((labels.copy(), eta[:n_groups].copy()))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_allclose(results[0][1], results[1][1])
