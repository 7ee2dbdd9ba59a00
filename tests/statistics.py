"""Tolerances from Monte-Carlo error, shared by all stochastic tests."""

import numpy as np
from scipy import stats

# one false alarm in about 1e5 comparisons: suites of some hundred comparisons stay quiet
Z = 4.5
ALPHA = 1e-5


def assert_mean_close(draws, expected, *, ess=None, axis=0):
    """Mean of draws within Z standard errors of `expected`; `ess` for correlated draws."""
    draws = np.asarray(draws, dtype=float)
    n = draws.shape[axis] if ess is None else ess
    error = draws.std(axis=axis, ddof=1) / np.sqrt(n)
    gap = np.abs(draws.mean(axis=axis) - expected)
    assert np.all(gap <= Z * error + 1e-12), f"gap {gap.max():.3g}, standard error {error}"


def chi_square_pvalue(counts, probabilities):
    """P-value of the goodness of fit; cells are pooled until each expects at least 5."""
    counts, probabilities = np.asarray(counts, float), np.asarray(probabilities, float)
    expected = probabilities * counts.sum()
    order = np.argsort(expected)
    pooled_counts, pooled_expected = [], []
    c = e = 0.0
    for cell in order:
        c, e = c + counts[cell], e + expected[cell]
        if e >= 5:
            pooled_counts.append(c)
            pooled_expected.append(e)
            c = e = 0.0
    pooled_counts[-1] += c
    pooled_expected[-1] += e
    assert len(pooled_counts) > 1, "too few draws: fewer than two cells expect 5"
    return stats.chisquare(pooled_counts, pooled_expected).pvalue


def assert_frequencies(counts, probabilities, *, alpha=ALPHA):
    """Chi-square test of independent draws against exact probabilities."""
    p = chi_square_pvalue(counts, probabilities)
    assert p > alpha, f"chi-square p-value {p:.2g}"
