"""Log scores of the states of one variable, against sums in plain numbers and draws against their law."""

import numpy as np
import pytest
from scipy import special

from pymc_mrf.kernels import log_scores
from tests.statistics import assert_frequencies, chi_square_pvalue

SCORES = {
    "moderate": np.array([0.3, -1.2, 0.0, 2.0]),
    "far out": np.array([1000.0, 999.0, -np.inf, 998.5]),
    "one state": np.array([-745.0]),
}
ALL = pytest.mark.parametrize("scores", SCORES.values(), ids=SCORES)


@ALL
def test_sums_and_probabilities(scores):
    expected = special.logsumexp(scores)
    assert log_scores.largest_score(scores) == scores.max()
    np.testing.assert_allclose(log_scores.log_sum(scores), expected, rtol=1e-14)
    p = scores.copy()
    np.testing.assert_allclose(log_scores.normalise(p), expected, rtol=1e-14)
    np.testing.assert_allclose(p, special.softmax(scores), rtol=1e-12)


def test_nothing_is_possible():
    assert log_scores.log_sum(np.full(3, -np.inf)) == -np.inf


@pytest.mark.parametrize("x", [-np.inf, -800.0, 0.5, 700.0])
@pytest.mark.parametrize("y", [-np.inf, 0.5, 710.0])
def test_two_scores(x, y):
    assert log_scores.log_add(x, y) == pytest.approx(np.logaddexp(x, y), rel=1e-14)


@ALL
def test_draws_follow_the_scores(scores, rng):
    p = special.softmax(scores)
    states = [log_scores.draw_state(scores.copy(), rng) for _ in range(4000)]
    counts = np.bincount(states, minlength=len(scores))
    assert not counts[p == 0.0].any()
    if len(scores) > 1:
        assert_frequencies(counts[p > 0.0], p[p > 0.0])
        # negative control: another temperature is another law
        other = special.softmax(0.8 * scores[p > 0.0])
        assert chi_square_pvalue(counts[p > 0.0], other) < 1e-5


@pytest.mark.parametrize("x", [0.0, -1.3, 900.0])
def test_means_under_tilted_weights(x):
    """However strong the tilt: of the largest statistic alone, then."""
    p, c, factors = np.array([0.2, 0.5, 0.3]), np.array([-1.0, 0.5, 2.0]), np.empty(3)
    log_norm = special.logsumexp(x * c, b=p)
    weights = np.exp(np.log(p) + x * c - log_norm)
    found, mean = log_scores.tilted_mean(p, c, x)
    np.testing.assert_allclose([found, mean], [log_norm, weights @ c], rtol=1e-13, atol=1e-15)
    top = log_scores.fill_factors(x, c, factors)
    assert top == (x * c).max() and factors.max() == 1.0
    np.testing.assert_allclose(special.logsumexp(np.log(p), b=factors) + top, log_norm, rtol=1e-13)
