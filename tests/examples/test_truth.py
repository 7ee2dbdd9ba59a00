"""Comparisons with a known truth equal counting, and random groupings are uniform."""

import numpy as np
import pytest
import xarray as xr

import pymc_mrf as pmrf
from examples._truth import alone_probabilities, precision_recall, random_groupings, vi_difference
from pymc_mrf.kernels.groups.partitions import first_appearance
from tests.analysis.posteriors import as_posterior, noisy_theta
from tests.reference import partitions as reference
from tests.statistics import assert_frequencies, chi_square_pvalue


@pytest.mark.parametrize("levels", [3, 1000])
def test_precision_and_recall_equal_counting(rng, levels):
    p = rng.integers(0, levels + 1, 40) / levels
    truth = rng.random(40) < 0.4
    curve = precision_recall(p, truth)
    assert curve.threshold.values.tolist() == sorted({0.0, 0.5, *p.tolist()})
    for t in curve.threshold.values:
        chosen = [e for e in range(40) if p[e] > t]
        correct = [e for e in chosen if truth[e]]
        at = curve.sel(threshold=t)
        assert at.n_edges == len(chosen)
        assert at.recall == len(correct) / truth.sum()
        if not chosen:
            assert np.isnan(at.precision)
            assert at.f1 == 0.0
            continue
        assert at.precision == pytest.approx(len(correct) / len(chosen))
        if correct:
            assert at.f1 == pytest.approx(2 / (1 / at.precision + 1 / at.recall))


def test_perfect_and_reversed_order():
    truth = [True, True, False, False]
    good = precision_recall([0.9, 0.8, 0.2, 0.1], truth).sel(threshold=0.5)
    assert (good.precision, good.recall, good.f1) == (1.0, 1.0, 1.0)
    bad = precision_recall([0.1, 0.2, 0.8, 0.9], truth).sel(threshold=0.5)
    assert (bad.precision, bad.recall, bad.f1) == (0.0, 0.0, 0.0)


def test_a_truth_without_edges_is_refused():
    with pytest.raises(ValueError, match="truth an edge"):
        precision_recall([0.5, 0.5], [0, 0])


def partition_counts(rows, partitions):
    out = np.empty_like(rows)
    first_appearance(rows, out)
    index = {tuple(p): k for k, p in enumerate(partitions)}
    return np.bincount([index[tuple(row)] for row in out.tolist()], minlength=len(partitions))


@pytest.mark.parametrize("K", [1, 2, 3, 5])
def test_random_groupings_are_uniform_given_their_number(rng, K):
    partitions = [p for p in reference.all_partitions(5) if max(p) + 1 == K]
    rows = np.empty((20_000, 5), np.int32)
    alone = alone_probabilities(5, K)
    random_groupings(np.full(len(rows), K), alone, rows, rng)
    counts = partition_counts(rows, partitions)
    if len(partitions) == 1:
        assert counts.tolist() == [20_000]
    else:
        assert_frequencies(counts, np.full(len(partitions), 1 / len(partitions)))


def test_uniformity_check_detects_shuffled_sizes(rng):
    """Negative control: permuting one grouping keeps its group sizes and reaches no other."""
    partitions = [p for p in reference.all_partitions(5) if max(p) + 1 == 2]
    rows = rng.permuted(np.tile(np.array([0, 0, 1, 1, 1], np.int32), (20_000, 1)), axis=1)
    counts = partition_counts(rows, partitions)
    assert chi_square_pvalue(counts, np.full(len(partitions), 1 / len(partitions))) < 1e-9


def test_stirling_ratios_stay_finite_for_many_items():
    alone = alone_probabilities(3000, 60)
    assert np.all((alone >= 0) & (alone <= 1))
    assert alone[5, 5] == 1.0
    assert alone[4, 2] == pytest.approx(1 / 7)  # S(3, 1) / S(4, 2)


def test_vi_difference_is_the_exact_expectation_within_its_error(rng):
    truth = [0, 0, 1, 1, 1]
    same = np.tile(truth, (2, 4000, 1))
    random = [p for p in reference.all_partitions(5) if max(p) == 1]
    distances = np.array([reference.variation_of_information(p, truth) for p in random])
    error = distances.std() / np.sqrt(8000)
    assert abs(vi_difference(same, truth, rng) - distances.mean()) < 4.5 * error


def test_vi_difference_of_random_groupings_is_zero(rng):
    """Negative control: groupings that know nothing of the truth gain nothing."""
    partitions = [p for p in reference.all_partitions(5) if max(p) == 2]
    draws = np.array(partitions)[rng.integers(0, len(partitions), 20_000)]
    truth = [0, 0, 1, 1, 2]
    spread = np.std([reference.variation_of_information(p, truth) for p in partitions])
    assert abs(vi_difference(draws, truth, rng)) < 4.5 * spread * np.sqrt(2 / 20_000)


def test_vi_difference_of_labelled_draws(rng):
    truth = np.repeat([0, 1, 2], 10)
    labels = pmrf.group_labels(as_posterior(noisy_theta(rng, truth, flip=0.1)), "theta")
    assert vi_difference(labels, truth, rng) > 0.5
    one_group = xr.zeros_like(labels)
    assert vi_difference(one_group, truth, rng) == 0.0
