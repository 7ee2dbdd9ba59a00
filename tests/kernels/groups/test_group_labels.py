"""Label sweeps against the posterior over partitions, all of them listed; several views, noisy terms."""

import numpy as np
import pytest
from scipy import special, stats

from pymc_mrf.kernels.groups import group_labels as kernels
from pymc_mrf.kernels.groups.crp import make_groups
from pymc_mrf.kernels.groups.edge_terms import add_levels, add_term, allocate_level_terms, allocate_terms
from pymc_mrf.kernels.groups.group_labels import FixedView
from pymc_mrf.steps.common.density_series import envelope, tabulate
from tests.kernels.priors.densities import log_logistic
from tests.marks import slow
from tests.reference.dirichlet_process import crp_probability, labels_of, set_partitions
from tests.statistics import ALPHA, assert_frequencies, chi_square_pvalue


def beta_base(shape):
    """Base of a log odds whose probability has the distribution Beta(shape, shape)."""

    def log_density(eta):
        return shape * log_logistic(eta) - special.betaln(shape, shape)

    return envelope(tabulate(log_density, (-700.0, 36.0), 0.0))


UNIFORM = beta_base(1.0)
R = 4
PARTITIONS = set_partitions(R)


def log_marginal(labels, s, n, shape):
    """Log marginal likelihood of a partition of independent Binomial edges, base Beta(`shape`, `shape`)."""
    total = 0.0
    for k in set(labels):
        members = np.array(labels) == k
        trials, sums = n[members].sum(), s[members].sum()
        total += special.betaln(shape + sums, shape + trials - sums) - special.betaln(shape, shape)
    return total


def posterior(alpha, s, n, shape=1.0):
    weights = np.array([crp_probability(labels, alpha) for labels in PARTITIONS])
    p = weights * np.exp([log_marginal(labels, s, n, shape) for labels in PARTITIONS])
    return p / p.sum()


def run(views, s, n, alpha, rng, base=UNIFORM, n_kept=8000, thin=5, n_proposals=3):
    """Counts of partitions, and values of the first edge, every `thin` sweeps."""
    index = {labels: i for i, labels in enumerate(PARTITIONS)}
    groups = make_groups(np.arange(R), np.zeros(R), kernels.N_AUXILIARY)
    labels, values, sizes, count, _ = groups
    terms = allocate_terms(len(views))
    counts, first = np.zeros(len(PARTITIONS)), np.empty(n_kept)
    for t in range(n_kept * thin):
        order = rng.permutation(R)
        n_visited, n_new = kernels.sweep_labels(groups, np.log(alpha), base, views, order, terms, rng)
        n_groups = count[0]
        assert n_visited == R
        assert 0 <= n_new <= R
        sums, trials = np.bincount(labels, s), np.bincount(labels, n)
        here = values[:n_groups].copy()
        kernels.move_values(here, sums, trials, np.zeros(n_groups), base, terms, n_proposals, rng)
        values[:n_groups] = here
        np.testing.assert_array_equal(np.bincount(labels), sizes[:n_groups])
        if t % thin == 0:
            counts[index[labels_of(labels)]] += 1
            first[t // thin] = values[labels[0]]
    return counts, first


@pytest.mark.parametrize("alpha", [0.5, slow(2.0)])
def test_sweeps_reach_the_posterior_over_partitions(alpha, rng):
    s, n = np.array([2.0, 3.0, 6.0, 7.0]), np.full(R, 8.0)
    view = FixedView(s, n, np.zeros(R))
    counts, first = run((view,), s, n, alpha, rng)
    p = posterior(alpha, s, n)
    # neighbours five sweeps apart are nearly independent; a third of them certainly are
    assert_frequencies(counts / 3, p)
    # the value of an edge, given its group: a mixture of Beta distributions
    members = [np.equal(labels, labels[0]) for labels in PARTITIONS]
    shapes = [(1 + s[m].sum(), 1 + n[m].sum() - s[m].sum()) for m in members]

    def cdf(theta):
        return sum(w * stats.beta(*shape).cdf(theta) for w, shape in zip(p, shapes, strict=True))

    assert stats.kstest(special.expit(first[::3]), cdf).pvalue > ALPHA
    # negative controls: the prior, and the posterior of another alpha
    assert chi_square_pvalue(counts / 3, prior(alpha)) < 1e-10
    assert chi_square_pvalue(counts / 3, posterior(2.0 * alpha, s, n)) < ALPHA


def test_an_edge_alone_keeps_its_value_among_the_others(rng):
    """Values that the data propose are far from the base: without its own an edge would not stay alone."""
    s, n, alpha, shape = np.array([8.0, 8.0, 0.0, 0.0]), np.full(R, 8.0), 6.0, 20.0
    view = FixedView(s, n, np.zeros(R))
    counts, _ = run((view,), s, n, alpha, rng, base=beta_base(shape))
    assert_frequencies(counts / 3, posterior(alpha, s, n, shape))
    assert chi_square_pvalue(counts / 3, posterior(alpha, s, n)) < 1e-10


def prior(alpha):
    return np.array([crp_probability(labels, alpha) for labels in PARTITIONS])


@pytest.mark.slow
def test_likelihoods_of_several_views_are_multiplied(rng):
    """Two fields, of which one has no data on the last edge."""
    parts = np.array([[2.0, 0.0, 6.0, 3.0], [1.0, 3.0, 1.0, 0.0]])
    trials = np.array([[6.0, 3.0, 8.0, 8.0], [2.0, 5.0, 1.0, 0.0]])
    views = tuple(FixedView(s, n, np.zeros(R)) for s, n in zip(parts, trials, strict=True))
    counts, _ = run(views, parts.sum(axis=0), trials.sum(axis=0), 1.0, rng)
    assert_frequencies(counts / 3, posterior(1.0, parts.sum(axis=0), trials.sum(axis=0)))
    assert chi_square_pvalue(counts / 3, posterior(1.0, parts[0], trials[0])) < ALPHA


def test_a_part_of_the_order_only(rng):
    """The entries outside first..last keep their values, bit by bit."""
    s, n = np.array([2.0, 3.0, 6.0, 7.0]), np.full(R, 8.0)
    order, moved = np.array([2, 0, 3, 1]), np.zeros(R)
    for _ in range(200):
        groups = make_groups(np.arange(R), rng.normal(size=R), kernels.N_AUXILIARY)
        before = groups.values[:R].copy()
        views = (FixedView(s, n, np.zeros(R)),)
        n_visited, _ = kernels.sweep_labels(
            groups, 0.0, UNIFORM, views, order[1:3], allocate_terms(1), rng
        )
        assert n_visited == 2
        assert groups.sizes[: groups.n_groups[0]].sum() == R
        moved += groups.values[groups.labels] != before
    np.testing.assert_array_equal(moved > 0, [True, False, False, True])


def test_groups_of_values(rng):
    """Independence moves given labels: Beta posteriors, one of them forced to an end."""
    s, n = np.array([3.0, 40.0, 0.0]), np.array([10.0, 40.0, 2.0])
    values, draws, terms = np.zeros(3), np.empty((4000, 3)), allocate_terms(1)
    for row in draws:
        kernels.move_values(values, s, n, np.zeros(3), UNIFORM, terms, 4, rng)
        row[:] = special.expit(values)
    for k in range(3):
        exact = stats.beta(1 + s[k], 1 + n[k] - s[k])
        assert stats.kstest(draws[::2, k], exact.cdf).pvalue > ALPHA
        assert stats.kstest(draws[::2, k], stats.beta(3 + s[k], 3 + n[k] - s[k]).cdf).pvalue < ALPHA


def test_indices_follow_their_weights(rng):
    log_weights = np.array([-1000.0, -1001.0, -1000.5, -np.inf, 7.0])
    counts = np.bincount(
        [kernels.draw_by_log_weights(log_weights.copy(), 4, rng) for _ in range(10_000)], minlength=4
    )
    assert_frequencies(counts[:3], special.softmax(log_weights[:3]))
    assert counts[3] == 0


def noisy_terms(more):
    terms = allocate_terms(3)
    terms.total[0] = 14.0
    for n, lam, extra in zip((10.0, 20.0), (0.5, -0.3), more, strict=True):
        add_term(terms, n, lam, extra)
    return terms


def test_exact_terms_are_left_alone():
    terms = noisy_terms((0.0, 0.0))
    groups = make_groups(np.zeros(3, dtype=int), np.array([0.2]), kernels.N_AUXILIARY)
    kernels.sharpen(terms, groups, 0.0, UNIFORM, np.empty(5))
    assert terms.total[0] == 14.0
    np.testing.assert_array_equal(terms.n[:2], [10.0, 20.0])


def test_further_observations_of_noisy_terms():
    """Their share of f = 1 is averaged over labels: one group far more likely than the rest, then both."""
    values = np.array([0.7, -0.4])
    groups = make_groups(np.repeat([0, 1], [5, 3]), values, kernels.N_AUXILIARY)
    lam = np.array([0.5, -0.3])

    def log_likelihood(x):
        return 14.0 * x - np.logaddexp(0.0, x + lam) @ [10.0, 20.0]

    def sharpened(log_alpha):
        terms = noisy_terms((4.0, 0.0))
        kernels.sharpen(terms, groups, log_alpha, UNIFORM, np.empty(10))
        np.testing.assert_array_equal(terms.n[:2], [14.0, 20.0])
        return (terms.total[0] - 14.0) / 4.0

    # no new group: the two that there are
    w = special.softmax(np.log([5.0, 3.0]) + [log_likelihood(x) for x in values])
    assert sharpened(-500.0) == pytest.approx(w @ special.expit(values + lam[0]))
    # a new group for sure: the share at the likelihood's mode
    grid = np.linspace(-5, 5, 10_001)
    mode = grid[np.argmax([log_likelihood(x) for x in grid])]
    assert sharpened(500.0) == pytest.approx(special.expit(mode + lam[0]), abs=0.01)


@pytest.mark.parametrize("levels", [[0.0, 1.0], [-1.0, 0.5, 2.0]], ids=["0 and 1", "three"])
def test_further_observations_of_noisy_levels(levels):
    """Their mean of f is averaged over labels; the closed form of levels 0 and 1 is a special case."""
    levels, values = np.array(levels), np.array([0.7, -0.4])
    groups = make_groups(np.repeat([0, 1], [5, 3]), values, kernels.N_AUXILIARY)
    lam, noisy = np.array([0.5, -0.3, 0.2])[: len(levels)], allocate_level_terms(1, len(levels))
    noisy.total[0] = 6.0
    add_levels(noisy, 10.0, lam + 0.3 * levels, levels, 0.3, 4.0)
    kernels.sharpen(noisy, groups, -500.0, UNIFORM, np.empty(10))
    scores = np.multiply.outer(values, levels) + lam
    w = np.log([5.0, 3.0]) + 6.0 * values - 10.0 * special.logsumexp(scores, axis=1)
    mean = special.softmax(w) @ special.softmax(scores, axis=1) @ levels
    assert noisy.n[0] == 14.0
    assert noisy.total[0] - 6.0 == pytest.approx(4.0 * mean)
