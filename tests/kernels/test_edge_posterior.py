"""One-dimensional posteriors: integrals against closed forms and scipy, draws against their law."""

import itertools

import numpy as np
import pytest
from scipy import integrate, special, stats

from pymc_mrf.kernels import edge_posterior as kernels
from pymc_mrf.likelihood.base_density import tabulate

BOUNDS = (-700.0, 36.0)


def log_beta_base(a, b):
    def log_density(eta):
        return a * special.log_expit(eta) + b * special.log_expit(-eta) - special.betaln(a, b)

    return log_density


def posteriors(s, n, lam, base, rng):
    s = np.asarray(s, dtype=float)
    log_integral, eta = np.empty(len(s)), np.empty(len(s))
    work = kernels.allocate_edge_work()
    arguments = (s, np.full(len(s), float(n)), np.full(len(s), float(lam)))
    kernels.edge_posteriors(*arguments, base, work, rng, log_integral, eta)
    return log_integral, eta


@pytest.mark.parametrize("n", [1, 10, 292, 100_000])
@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (0.3, 2.0), (50.0, 5.0)])
def test_integral_equals_the_beta_function(n, a, b, rng):
    s = np.unique([0, 1, n // 3, n // 2, n - 1, n]).astype(float)
    log_integral, _ = posteriors(s, n, 0.0, tabulate(log_beta_base(a, b), BOUNDS, 0.0), rng)
    expected = special.betaln(a + s, b + n - s) - special.betaln(a, b)
    np.testing.assert_allclose(log_integral, expected, atol=1e-8)


BASES = {
    "normal": stats.norm(0.3, 1.0).logpdf,
    "narrow, far from the data": stats.norm(5.0, 0.001).logpdf,
    "heavy tails": stats.cauchy(0.0, 1.0).logpdf,
    "kink": lambda eta: -np.abs(eta - 0.1234) / 0.5,
    "two modes": lambda eta: np.logaddexp(
        stats.norm(-3, 0.2).logpdf(eta), stats.norm(3, 0.2).logpdf(eta)
    ),
}


@pytest.mark.parametrize("base", BASES)
def test_integral_equals_scipy(base, rng):
    n, lam = 40, -0.7
    s = np.array([0.0, 3.0, 25.0, 40.0])
    series = tabulate(BASES[base], (-np.inf, np.inf), 0.2)
    log_integral, _ = posteriors(s, n, lam, series, rng)
    for here, value in zip(s, log_integral, strict=True):

        def log_integrand(eta, here=here):
            return here * eta - n * np.logaddexp(0.0, eta + lam) + BASES[base](eta)

        grid = np.linspace(-60, 60, 1_200_001)
        values = log_integrand(grid)
        mode, top = grid[values.argmax()], values.max()

        def integrand(eta, top=top, log_integrand=log_integrand):
            return np.exp(log_integrand(eta) - top)

        cuts = mode + np.array([-1e3, -60, -10, -1, -0.02, -0.005, 0.0, 0.005, 0.02, 1, 10, 60, 1e3])
        cuts = [-np.inf, *cuts, np.inf]
        options = {"limit": 500, "epsabs": 0.0, "epsrel": 1e-11}
        total = sum(integrate.quad(integrand, *ends, **options)[0] for ends in itertools.pairwise(cuts))
        np.testing.assert_allclose(value, top + np.log(total), atol=2e-8)


@pytest.mark.parametrize("n", [2e5, 1e6, 1e7])
@pytest.mark.parametrize("shift", [0.0, 1e-9, 0.002, -0.004])
def test_peaks_next_to_the_ends_of_panels_are_found(n, shift, rng):
    """The likelihood's peak is far narrower than the panels; its mode is at or next to an end."""
    base = stats.norm(0.0, 2.0)
    series = tabulate(base.logpdf, (-np.inf, np.inf), 0.0)
    mode = 4.0 + shift  # panels end at powers of two
    sd = 2.0 / np.sqrt(n)
    log_integral, eta = posteriors(np.full(200, n / 2), n, -mode, series, rng)
    # Laplace's approximation has a relative error of order 1 / n
    peak = kernels.edge_log_likelihood(mode, n / 2, n, -mode) + base.logpdf(mode)
    expected = peak + 0.5 * np.log(2 * np.pi) + np.log(sd)
    np.testing.assert_allclose(log_integral, expected, atol=20 / n + 1e-14 * n)
    assert stats.kstest((eta - mode) / sd, stats.norm.cdf).pvalue > 1e-5


def test_what_cannot_be_integrated_is_reported(rng):
    series = tabulate(stats.norm(0, 2).logpdf, (-np.inf, np.inf), 0.0)
    work = kernels.allocate_edge_work()
    for lam in (np.inf, -np.inf, np.nan):
        assert np.isnan(kernels.integrate_edge(60.0, 60.0, lam, series, work))
    for lam in (700.0, -700.0, 3000.0):
        assert np.isfinite(kernels.integrate_edge(60.0, 60.0, lam, series, work))


@pytest.mark.parametrize(
    "base", [stats.gumbel_r(0, 1), stats.gumbel_r(0, 0.01), stats.invgamma(2), stats.norm(0.3, 1e-5)]
)
def test_densities_that_vanish_fast(base, rng):
    """Extreme slopes of the log density: the integral of the base alone is 1."""
    with np.errstate(over="ignore", divide="ignore"):
        series = tabulate(base.logpdf, base.support(), float(base.median()))
    work = kernels.allocate_edge_work()
    assert abs(kernels.integrate_edge(0.0, 1e-12, 0.0, series, work)) < 1e-7


def test_draws_follow_the_posterior(rng):
    a, b, n, s = 2.0, 0.7, 30, 27
    series = tabulate(log_beta_base(a, b), BOUNDS, 0.0)
    _, eta = posteriors(np.full(20_000, float(s)), n, 0.0, series, rng)
    theta = special.expit(eta)
    assert stats.kstest(theta, stats.beta(a + s, b + n - s).cdf).pvalue > 1e-5
    assert stats.kstest(theta, stats.beta(1 + s, 1 + n - s).cdf).pvalue < 1e-10  # another base


def test_likelihood_of_one_edge_is_identity_a1(rng):
    """Against the enumerated log-partition function of a loopy field."""
    from pymc_mrf.fields.families import agreement
    from tests.reference import enumeration

    family = agreement(3)
    edges = [(0, 1), (1, 2), (0, 2)]
    eta = rng.normal(size=3)
    node_tables = rng.normal(size=(3, 3))

    def log_partition(value):
        moved = eta.copy()
        moved[1] = value
        return enumeration.log_partition(edges, family.edge_tables(moved), node_tables)

    _, pairs = enumeration.marginals(edges, family.edge_tables(eta), node_tables)
    mu = np.trace(pairs[1])
    lam = np.log(mu) - np.log1p(-mu) - eta[1]
    s, n = 12.0, 20.0
    values = np.array([-3.0, -0.2, 0.0, 1.1, 4.0])
    expected = [s * v - n * (log_partition(v) - log_partition(0.0)) for v in values]
    got = [kernels.edge_log_likelihood(v, s, n, lam) for v in values]
    np.testing.assert_allclose(np.diff(got), np.diff(expected), atol=1e-10)


def test_series_follow_the_density_and_end_with_the_support(rng):
    series = tabulate(stats.norm(1.0, 2.0).logpdf, (-2.0, 4.0), 0.0)
    eta = rng.uniform(-2, 4, size=200)
    values = [kernels.series_value(series, x) for x in eta]
    np.testing.assert_allclose(values, stats.norm(1.0, 2.0).logpdf(eta), atol=1e-9)
    assert kernels.series_value(series, -2.1) == kernels.series_value(series, 4.1) == -np.inf
    panel = np.searchsorted(series.lower, eta, side="right") - 1
    assert np.all(series.ceiling[panel] >= values)


def test_rough_densities_are_refused():
    with pytest.raises(ValueError, match=r"log density of the slab of w is NaN or infinite .*; choose"):
        tabulate(lambda eta: np.full_like(eta, np.nan), (0.0, 1.0), 0.5, what="the slab of w")
    with pytest.raises(ValueError, match="too many kinks"):
        tabulate(lambda eta: np.sign(np.sin(1e6 * eta)), (0.0, 1.0), 0.5)
