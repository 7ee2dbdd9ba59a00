"""Communities: prior draws, the log posterior, and both moves, against enumeration of all partitions."""

import numpy as np
import pytest

from pymc_mrf.kernels.groups import communities
from pymc_mrf.kernels.groups.communities import EdgeStates
from pymc_mrf.steps.hyper.community_gibbs import at_nodes
from tests.reference.communities import partition_probabilities, posterior_of_partitions
from tests.reference.dirichlet_process import set_partitions
from tests.statistics import ALPHA, assert_frequencies, chi_square_pvalue

GAMMA, RATE = 0.8, 1.6
EDGES = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
PRESENT = [1, 0, 1, 1, 0, 1]
WITHIN, BETWEEN = (2.0, 1.0), (1.0, 3.0)
# the third edge has given probabilities, the others have Beta priors
FIXED = [None, None, (0.9, 0.2), None, None, None]
PARTITIONS = set_partitions(4)
INDEX = {labels: i for i, labels in enumerate(PARTITIONS)}


def log_v(d, gamma, rate):
    """Log V(t) at t = 0, ..., d, by its ratios to the probabilities of partitions."""
    found = [0.0]
    probabilities = dict(zip(set_partitions(d), partition_probabilities(d, gamma, rate), strict=True))
    for t in range(1, d + 1):
        labels = tuple(range(t - 1)) + (t - 1,) * (d - t + 1)  # one community of d - t + 1 nodes
        rising = np.prod([gamma + m for m in range(d - t + 1)]) * gamma ** (t - 1)
        found.append(np.log(probabilities[labels] / rising))
    return np.array(found)


# all given; nodes 2 and 3 are hardly ever apart, so that scans of single nodes leave them where they began
STUCK = [(0.5, 0.5)] * 5 + [(0.99, 0.001)]


def network(gamma=GAMMA, *, fixed=True, given=FIXED):
    known = np.array([f is not None and fixed for f in given])
    gain = np.zeros(6)
    for e in np.flatnonzero(known):
        p, q = given[e]
        gain[e] = np.log(p / q) if PRESENT[e] else np.log((1 - p) / (1 - q))
    ends = np.array(EDGES)
    beta = np.array([WITHIN, BETWEEN])
    return EdgeStates(
        ends,
        *at_nodes(ends, 4),
        np.array(PRESENT),
        np.where(known, -1, 0),
        np.where(known, -1, 1),
        gain,
        beta[:, 0].copy(),
        beta[:, 1].copy(),
        gamma,
        log_v(4, gamma, RATE),
    )


def posterior(gamma=GAMMA, *, fixed=True, given=FIXED):
    prior = partition_probabilities(4, gamma, RATE)
    return posterior_of_partitions(prior, EDGES, PRESENT, WITHIN, BETWEEN, given if fixed else None)


def test_probabilities_of_partitions_sum_to_one():
    assert sum(partition_probabilities(4, GAMMA, RATE)) == pytest.approx(1.0)


@pytest.mark.parametrize("rate", [0.05, 0.7, 3.0])
def test_prior_draws(rng, rate):
    labels = np.empty(4, np.int64)
    counts = np.zeros(len(PARTITIONS))
    for _ in range(6000):
        t = communities.mixture_labels(GAMMA, rate, labels, rng)
        assert t == labels.max() + 1
        counts[INDEX[tuple(labels.tolist())]] += 1
    assert_frequencies(counts, partition_probabilities(4, GAMMA, rate, 24))
    assert chi_square_pvalue(counts, partition_probabilities(4, GAMMA, rate + 2, 24)) < ALPHA


@pytest.mark.parametrize("fixed", [True, False])
def test_log_posterior_of_every_partition(fixed):
    net, counts = network(fixed=fixed), np.zeros((2, 2), np.int64)
    found = [communities.log_posterior_of_labels(np.array(labels), net, counts) for labels in PARTITIONS]
    expected = np.log(posterior(fixed=fixed))
    np.testing.assert_allclose(np.diff(found), np.diff(expected), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("move", ["sweep", "merge or split"])
@pytest.mark.parametrize("fixed", [True, False])
def test_moves_leave_the_posterior_invariant(rng, move, fixed):
    """Draws from the posterior are draws from it after a move; of another posterior they would not be."""

    def moved(net, p, n=8000):
        counts = np.zeros(len(PARTITIONS))
        n_changed = 0
        for start in rng.choice(len(PARTITIONS), n, p=p):
            labels = np.array(PARTITIONS[start])
            if move == "sweep":
                communities.sweep_communities(labels, net, rng)
            else:
                communities.merge_or_split(labels, 2, net, rng)
            assert set(labels) == set(range(labels.max() + 1))  # no gaps
            communities.order_of_appearance(labels)
            end = INDEX[tuple(labels.tolist())]
            counts[end] += 1
            n_changed += end != start
        assert n_changed > 0.1 * n
        return counts

    exact = posterior(fixed=fixed)
    assert_frequencies(moved(network(fixed=fixed), exact), exact)
    wrong = posterior(3.0, fixed=fixed)
    assert chi_square_pvalue(moved(network(fixed=fixed), wrong), wrong) < ALPHA


def test_mergers_begin_with_a_launch_that_is_drawn(rng):
    """A launch that knows how the two sides were would make mergers too frequent."""
    net, exact = network(given=STUCK), posterior(given=STUCK)
    counts = np.zeros(len(PARTITIONS))
    for start in rng.choice(len(PARTITIONS), 60_000, p=exact):
        labels = np.array(PARTITIONS[start])
        communities.merge_or_split(labels, 2, net, rng)
        communities.order_of_appearance(labels)
        counts[INDEX[tuple(labels.tolist())]] += 1
    assert_frequencies(counts, exact)


def test_mergers_and_splits_alone_reach_every_partition(rng):
    """A chain of them agrees with enumeration: every tenth state is nearly independent."""
    net, labels = network(), np.zeros(4, np.int64)
    counts = np.zeros(len(PARTITIONS))
    for i in range(60_000):
        communities.merge_or_split(labels, 1 + i % 3, net, rng)
        if i % 10 == 0:
            copy = labels.copy()
            communities.order_of_appearance(copy)
            counts[INDEX[tuple(copy.tolist())]] += 1
    assert_frequencies(counts, posterior())


def test_one_node_and_no_edges(rng):
    empty = np.zeros(0, np.int64)
    net = network()._replace(
        ends=empty.reshape(0, 2), indptr=np.zeros(5, np.int64), neighbors=empty, edge_ids=empty,
        present=empty, within=empty, between=empty, gain=np.zeros(0), a=np.zeros(0), b=np.zeros(0),
    )  # fmt: skip
    labels, counts = np.zeros(4, np.int64), np.zeros(len(PARTITIONS))
    for _ in range(8000):
        communities.sweep_communities(labels, net, rng)
        communities.merge_or_split(labels, 2, net, rng)
        communities.order_of_appearance(labels)
        counts[INDEX[tuple(labels.tolist())]] += 1
    p = partition_probabilities(4, GAMMA, RATE)
    share = counts / counts.sum()
    assert np.abs(share - p).max() < 4.5 * np.sqrt(0.25 / 2000)  # at least 2000 effective draws
    one = np.zeros(1, np.int64)
    assert not communities.merge_or_split(one, 2, net, rng)
    assert communities.sweep_communities(one, net._replace(indptr=np.zeros(2, np.int64)), rng) == 0
