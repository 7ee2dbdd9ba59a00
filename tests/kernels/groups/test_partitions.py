import numpy as np
import pytest

from pymc_mrf.kernels.groups import partitions as kernels
from tests.reference import partitions as reference


def random_labels(rng, n, r, K):
    """Rows of labels without gaps."""
    rows = rng.integers(0, K, (n, r))
    return np.array([np.unique(row, return_inverse=True)[1] for row in rows], dtype=np.int32)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([0, 0, 1, 1], [0, 0, 1, 1], 0.0),
        ([0, 0, 1, 1], [1, 1, 0, 0], 0.0),
        ([0, 0, 0, 0], [0, 1, 2, 3], np.log(4)),
        ([0, 0, 1, 1], [0, 1, 0, 1], 2 * np.log(2)),
        ([0, 0, 0, 0], [0, 0, 1, 1], np.log(2)),
        ([0], [0], 0.0),
    ],
)
def test_vi_by_hand(a, b, expected):
    out = np.empty(1)
    kernels.variation_of_information(np.array([a], np.int32), np.array([b], np.int32), out)
    assert out[0] == pytest.approx(expected, abs=1e-15)


def test_vi_equals_reference(rng):
    a, b = random_labels(rng, 40, 9, 4), random_labels(rng, 40, 9, 6)
    out = np.empty(40)
    kernels.variation_of_information(a, b, out)
    expected = [reference.variation_of_information(*rows) for rows in zip(a, b, strict=True)]
    np.testing.assert_allclose(out, expected, atol=1e-13)


def test_vi_equals_python(rng):
    a, b = random_labels(rng, 5, 6, 3), random_labels(rng, 5, 6, 3)
    compiled, plain = np.empty(5), np.empty(5)
    kernels.variation_of_information(a, b, compiled)
    kernels.variation_of_information.py_func(a, b, plain)
    np.testing.assert_allclose(compiled, plain, atol=1e-15)


def test_co_occurrence_equals_reference(rng):
    labels = random_labels(rng, 30, 7, 3)
    counts = np.zeros((7, 7), np.int32)
    kernels.co_occurrence(labels, counts)
    np.testing.assert_allclose(counts / 30, reference.co_clustering(labels.tolist()))


def test_first_appearance_and_members(rng):
    labels = random_labels(rng, 20, 8, 5)
    out = np.empty_like(labels)
    kernels.first_appearance(labels, out)
    members, start = np.empty_like(labels), np.empty((20, labels.max() + 2), np.int32)
    kernels.members_by_group(labels, members, start)
    for t in range(20):
        seen = list(dict.fromkeys(labels[t].tolist()))
        assert out[t].tolist() == [seen.index(c) for c in labels[t]]
        for k in range(labels.max() + 1):
            group = members[t, start[t, k] : start[t, k + 1]]
            assert group.tolist() == np.flatnonzero(labels[t] == k).tolist()


def test_lower_bound_is_below_expected_vi_and_differs_by_its_constant(rng):
    """The dropped term is E[mean log |own group|]; the bound is sharp if all draws are equal."""
    draws = random_labels(rng, 25, 6, 3)
    similarity = np.array(reference.co_clustering(draws.tolist()))
    candidates = np.array(reference.all_partitions(6), np.int32)
    bound = np.empty(len(candidates))
    kernels.vi_lower_bound(candidates, similarity, bound)
    constant = np.mean([np.log([(row == c).sum() for c in row]).mean() for row in draws])
    expected = np.array([reference.expected_vi(c, draws) for c in candidates.tolist()])
    assert np.all(bound + constant <= expected + 1e-12)

    same = np.repeat(draws[:1], 25, axis=0)
    kernels.vi_lower_bound(candidates, np.array(reference.co_clustering(same.tolist())), bound)
    constant = np.log([(draws[0] == c).sum() for c in draws[0]]).mean()
    exact = [reference.variation_of_information(c, draws[0]) for c in candidates.tolist()]
    np.testing.assert_allclose(bound + constant, exact, atol=1e-12)


def test_greedy_reassignment_ends_where_no_single_move_helps(rng):
    draws = random_labels(rng, 15, 6, 3)
    members, start = np.empty_like(draws), np.empty((15, draws.max() + 2), np.int32)
    kernels.members_by_group(draws, members, start)
    grouping = np.arange(6, dtype=np.int32)
    kernels.reassign_greedily(grouping, draws, members, start, rng)
    reached = reference.expected_vi(grouping.tolist(), draws)
    assert reached <= reference.expected_vi(list(range(6)), draws)
    for i in range(6):
        for k in range(7):
            moved = grouping.tolist()
            moved[i] = k
            assert reference.expected_vi(moved, draws) >= reached - 1e-9
