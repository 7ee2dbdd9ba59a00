"""Log densities as series: values, slopes, envelopes that bound, draws against their law."""

import numpy as np
import pytest
from scipy import stats

from pymc_mrf.kernels.priors import series as kernels
from pymc_mrf.steps.common.density_series import envelope, tabulate
from tests.kernels.priors.densities import log_logistic, quiet
from tests.statistics import ALPHA

BOUNDS = (-700.0, 36.0)


# distribution, support and centre
BASES = {
    "uniform theta": (stats.logistic(), BOUNDS, 0.0),
    "normal": (stats.norm(0.3, 1.0), (-np.inf, np.inf), 0.3),
    "vague": (stats.norm(0.0, 200.0), (-np.inf, np.inf), 0.0),
    "half normal": (stats.halfnorm(0.0, 1.5), (0.0, np.inf), 1.0),
    "pole": (stats.gamma(0.5), (0.0, np.inf), 0.5),
    "heavy tails": (stats.cauchy(), (-np.inf, np.inf), 0.0),
    "kink": (stats.laplace(0.1234, 0.5), (-np.inf, np.inf), 0.0),
    "vanishes fast": (stats.invgamma(2.0), (0.0, np.inf), 0.5),
    "narrow": (stats.norm(5.0, 1e-3), (-np.inf, np.inf), 5.0),
    "cut": (stats.truncnorm(-2.0, 1.0, 1.0, 2.0), (-3.0, 3.0), 0.0),
}


def base_of(name):
    distribution, bounds, center = BASES[name]
    log_density = log_logistic if name == "uniform theta" else quiet(distribution)
    return envelope(tabulate(log_density, bounds, center)), log_density


@pytest.mark.parametrize("name", BASES)
def test_values_and_slopes(name, rng):
    base, log_density = base_of(name)
    x = BASES[name][0].ppf(rng.uniform(0.001, 0.999, size=200))
    values = [kernels.series_value(base.series, v) for v in x]
    np.testing.assert_allclose(values, log_density(x), atol=1e-7)
    assert kernels.add_log_densities(base.series, x, np.zeros(200)) == pytest.approx(sum(values))
    slope = np.ones(200)
    kernels.add_log_densities(base.series, x, slope)
    h = 1e-6 * (1e-3 if name == "narrow" else 1.0) * np.maximum(np.minimum(np.abs(x), 1.0), 1e-3)
    expected = (log_density(x + h) - log_density(x - h)) / (2.0 * h)
    smooth = np.abs(x - 0.1234) > 1e-3 if name == "kink" else np.full(200, True)
    np.testing.assert_allclose((slope - 1.0)[smooth], expected[smooth], rtol=1e-4, atol=1e-3)
    panel = np.searchsorted(base.series.lower, x, side="right") - 1
    assert np.all(base.series.ceiling[panel] >= values)


def test_outside_the_support():
    base, _ = base_of("cut")
    for x in (-3.1, 3.1):
        assert kernels.series_value(base.series, x) == -np.inf
        assert kernels.log_envelope(base, x) == -np.inf
        assert kernels.add_log_densities(base.series, np.array([0.0, x]), np.zeros(2)) == -np.inf


@pytest.mark.parametrize("name", BASES)
def test_envelope_is_above_the_density_and_normalised(name):
    base, _ = base_of(name)
    width = base.upper - base.lower
    mass = np.exp(base.log_height) * width
    assert mass.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(np.cumsum(mass), base.cumulative, atol=1e-12)
    # what normalising took off: the density under it has mass 1
    assert 0.0 < base.log_excess < (0.1 if name != "narrow" else 6.0)
    inside = np.linspace(0.0, 1.0, 13)
    grid = base.lower[:, None] + width[:, None] * inside
    series = base.series
    panel = np.searchsorted(series.lower, base.lower, side="right") - 1
    # the series of a panel too narrow to be halved means nothing between its nodes
    real = (series.upper - series.lower > 1e-9 * (1.0 + np.abs(series.lower)))[panel]
    assert real.mean() > 0.5
    t = 2.0 * (grid - series.lower[panel][:, None]) / (series.upper - series.lower)[panel][:, None] - 1.0
    terms = np.polynomial.legendre.legvander(np.clip(t, -1.0, 1.0), kernels.N_NODES - 1)
    values = np.einsum("cgk,ck->cg", terms, series.coefficients[panel])
    # where the density is of any use
    real &= values.max(axis=1) > values.max() - 200.0
    gap = (base.log_height + base.log_excess)[:, None] - values
    assert gap[real].min() >= 0.0
    for k in np.flatnonzero(real)[:: max(real.sum() // 20, 1)]:
        assert kernels.log_envelope(base, grid[k, 6]) == base.log_height[k]


@pytest.mark.parametrize("name", BASES)
def test_draws_follow_the_density(name, rng):
    base, _ = base_of(name)
    draws = np.array([kernels.draw_base(base, rng) for _ in range(20_000)])
    distribution = BASES[name][0]
    assert stats.kstest(draws, distribution.cdf).pvalue > ALPHA
    # negative control: a twentieth of a standard deviation away
    shift = 0.05 * float(np.diff(distribution.ppf([0.16, 0.84]))[0]) / 2.0
    assert stats.kstest(draws + shift, distribution.cdf).pvalue < 1e-3


def test_rough_densities_are_refused():
    with pytest.raises(ValueError, match=r"log density of the slab of w is NaN or infinite .*; choose"):
        tabulate(lambda eta: np.full_like(eta, np.nan), (0.0, 1.0), 0.5, what="the slab of w")
    with pytest.raises(ValueError, match="too many kinks"):
        tabulate(lambda eta: np.sign(np.sin(1e6 * eta)), (0.0, 1.0), 0.5)
