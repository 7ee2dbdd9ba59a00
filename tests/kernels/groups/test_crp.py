"""Chinese restaurant kernels: tie counts, prior partitions, items that leave."""

import numpy as np

from pymc_mrf.kernels.groups import crp
from tests.reference.dirichlet_process import crp_probability, set_partitions
from tests.statistics import assert_frequencies


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


def test_items_that_leave_keep_the_values_of_the_others(rng):
    """Every item in turn: the rest keeps its values, no slot is empty."""
    for _ in range(50):
        labels = np.empty(8, dtype=np.int64)
        n_groups = crp.crp_labels(1.5, labels, rng)
        groups = crp.make_groups(labels, rng.normal(size=n_groups))
        labels, eta, sizes, count, _ = groups
        here = eta[labels]
        for e in rng.permutation(8):
            crp.remove_label(e, groups)
            left, n_groups = labels >= 0, count[0]
            assert labels[e] == -1
            np.testing.assert_array_equal(eta[labels[left]], here[left])
            np.testing.assert_array_equal(
                np.bincount(labels[left], minlength=n_groups), sizes[:n_groups]
            )
            assert np.all(sizes[:n_groups] > 0)
        assert n_groups == 0
        for e, value in enumerate(here):  # and come back, each to the group of its value
            same = np.flatnonzero(eta[: count[0]] == value)
            crp.add_label(e, same[0] if len(same) else count[0], value, groups)
        np.testing.assert_array_equal(eta[labels], here)
        np.testing.assert_array_equal(np.bincount(labels), sizes[: count[0]])
