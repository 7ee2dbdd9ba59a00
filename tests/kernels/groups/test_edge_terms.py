"""What the data say of one edge: derivatives, importance weights with known mean and bound."""

import itertools

import numpy as np
import pytest
from numba import njit
from scipy import integrate, special, stats

from pymc_mrf.kernels.groups import edge_proposals as proposals
from pymc_mrf.kernels.groups import edge_terms as kernels
from pymc_mrf.kernels.priors.series import log_envelope, series_value
from pymc_mrf.steps.common.density_series import envelope, tabulate
from tests.kernels.priors.densities import log_logistic, quiet
from tests.statistics import ALPHA, assert_mean_close

REAL = (-np.inf, np.inf)
BASES = {
    "uniform theta": (log_logistic, (-700.0, 36.0), 0.0),
    "normal": (quiet(stats.norm(0.3, 1.0)), REAL, 0.3),
    "vague normal": (quiet(stats.norm(0.0, 200.0)), REAL, 0.0),
    "cauchy": (quiet(stats.cauchy()), REAL, 0.0),
    "half normal": (quiet(stats.halfnorm()), (0.0, np.inf), 0.5),
    "below -1": (lambda x: stats.halfnorm.logpdf(-1.0 - x), (-np.inf, -1.0), -2.0),
    "narrow, far from the data": (quiet(stats.norm(5.0, 0.01)), REAL, 5.0),
}
# S, n_t, lam_t, and f_t of levels other than 0 and 1
DATA = {
    "one": (12.0, [40.0], [-0.7]),
    "always one": (40.0, [40.0], [0.4]),
    "always zero": (0.0, [40.0], [0.4]),
    "many": (31.0, [3.0, 10.0, 1.0, 25.0, 8.0], [-2.0, 0.3, 4.0, 0.0, 1.1]),
    "many, always one": (12.0, [3.0, 8.0, 1.0], [-2.0, 1.0, 0.5]),
    "many, always zero": (0.0, [3.0, 8.0, 1.0], [-2.0, 1.0, 0.5]),
    "none": (0.0, [], []),
    "levels": (61.0, [40.0], [[-0.3, 0.2, -1.0, 0.4]], [[0.0, 1.0, 2.0, 4.0]]),
    "always the highest": (160.0, [40.0], [[-0.3, 0.2, -1.0, 0.4]], [[0.0, 1.0, 2.0, 4.0]]),
    "always the lowest": (-30.0, [40.0], [[0.1, -np.inf, 2.0]], [[-0.75, 0.0, 1.5]]),
    "mostly in the middle": (97.0, [12.0], [stats.binom(16, 0.5).logpmf(range(17))], [np.arange(17.0)]),
    "far from logistic": (185.0, [12.0], [stats.binom(16, 0.1).logpmf(range(17))], [np.arange(17.0)]),
    "many of levels": (
        -4.5,
        [3.0, 10.0, 1.0],
        [[-2.0, 0.3, 4.0], [0.0, 1.1, -np.inf], [-300.0, 0.0, 5.0]],
        [[2.0, -1.0, -4.0], [-1.0, 0.5, 2.0], [1.0, -0.5, -2.0]],
    ),
}


def terms_of(total, n, lam, f=None):
    """Levels as they are known at another parameter, with a constant that does not matter."""
    if f is None:
        terms = kernels.allocate_terms(8)
        kernels.add_term(terms, 99.0, 9.0, 0.0)
    else:
        terms = kernels.allocate_level_terms(8, 18)
        kernels.add_levels(terms, 99.0, np.zeros(18), np.arange(18.0), 0.0, 0.0)
    kernels.clear(terms)
    terms.total[0] = total
    for t in range(len(n)):
        if f is None:
            kernels.add_term(terms, n[t], lam[t], 0.0)
        else:
            here = np.array(f[t])
            kernels.add_levels(terms, n[t], np.array(lam[t]) + 0.7 * here, here, 0.7, 0.0)
    return terms


def log_likelihood(x, total, n, lam, f=None):
    """l of an array, in numpy."""
    x = np.asarray(x, dtype=float)
    value = total * x
    for t in range(len(n)):
        levels, logs = ([0.0, 1.0], [0.0, lam[t]]) if f is None else (f[t], lam[t])
        value = value - n[t] * np.logaddexp.reduce(np.multiply.outer(x, levels) + logs, axis=-1)
    return value


def log_integral(log_density, bounds, data):
    """Log of the integral of base times likelihood, by scipy, in pieces about the mode."""
    low, high = max(bounds[0], -3000.0), min(bounds[1], 3000.0)
    grid = np.concatenate(
        [np.linspace(low, high, 30_001), np.linspace(max(low, -30), min(high, 30), 30_001)]
    )
    with np.errstate(divide="ignore"):
        values = log_density(grid) + log_likelihood(grid, *data)
    mode, top = grid[values.argmax()], values.max()
    steps = np.array([1e-4, 1e-3, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, 3000, 1e4, 1e6])
    cuts = np.unique(np.clip(np.r_[mode - steps, mode, mode + steps], *bounds))

    def integrand(x):
        return np.exp(log_density(np.array(x)) + log_likelihood(x, *data) - top)

    options = {"limit": 200, "epsabs": 1e-14, "epsrel": 1e-9}
    total = sum(integrate.quad(integrand, *ends, **options)[0] for ends in itertools.pairwise(cuts))
    return top + np.log(total)


@pytest.mark.parametrize("data", DATA)
def test_likelihood_and_its_derivatives(data):
    terms = terms_of(*DATA[data])
    x = np.linspace(-8.0, 8.0, 33)
    got = np.array([kernels.log_likelihood(terms, v) for v in x])
    np.testing.assert_allclose(got, log_likelihood(x, *DATA[data]), atol=1e-10)
    slope, information = np.array([kernels.slope_and_information(terms, v) for v in x]).T
    h = 1e-4
    below, above = log_likelihood(x - h, *DATA[data]), log_likelihood(x + h, *DATA[data])
    np.testing.assert_allclose(slope, (above - below) / (2.0 * h), atol=1e-6)
    there = np.array([kernels.slope_and_information(terms, v + h)[0] for v in x])
    here = np.array([kernels.slope_and_information(terms, v - h)[0] for v in x])
    np.testing.assert_allclose(information, (here - there) / (2.0 * h), atol=1e-6)


def test_levels_zero_and_one_are_the_closed_form():
    """Proposals of one term, and expectations."""
    for name in ("one", "always one", "always zero", "many"):
        total, n, lam = DATA[name]
        two = terms_of(total, n, lam)
        levels = terms_of(total, n, [[0.0, v] for v in lam], [[0.0, 1.0]] * len(n))
        if len(n) == 1:
            np.testing.assert_allclose(
                proposals.shape(levels), proposals.shape(two), rtol=2e-3, atol=2e-3
            )
        for x in (-3.0, 0.2, 5.0):
            for t in range(len(n)):
                p = kernels.expected(two, t, x)
                assert kernels.expected(levels, t, x) == pytest.approx(p) == special.expit(x + lam[t])


@pytest.mark.parametrize("data", [name for name in DATA if len(DATA[name]) == 4])
def test_shapes_have_mode_and_curvature_of_the_likelihood(data):
    """And its tails, all but for half an observation at either end, or less."""
    total, n, lam, f = DATA[data]
    a, b, c, shift = proposals.shape(terms_of(*DATA[data]))
    mode, h = (np.log(a) - np.log(b) - shift) / c, 1e-3
    low, high = (
        sum(k * extreme(np.array(v)[np.isfinite(m)]) for k, v, m in zip(n, f, lam, strict=True))
        for extreme in (np.min, np.max)
    )
    at = mode + h * np.arange(-1, 2)
    value = log_likelihood(at, *DATA[data])
    slope, curvature = (value[2] - value[0]) / (2 * h), (2 * value[1] - value[0] - value[2]) / h**2
    width = max(np.ptp(np.array(v)[np.isfinite(m)]) for v, m in zip(f, lam, strict=True))
    prior = c * a - (total - low)
    assert c * b - (high - total) == pytest.approx(prior)
    assert 0.0 < prior <= 0.5 * width + 1e-9
    assert abs(slope) <= prior + 1e-3 * curvature
    assert curvature * 0.999 <= c * c * a * b / (a + b) <= 1.001 * curvature + prior**2


@njit
def log_weights_of(x, terms, proposal, base):
    """Loops in machine code, as each call from Python takes longer than the kernel."""
    return np.array([proposals.log_weight(v, terms, proposal, base) for v in x])


@njit
def series_values(series, x):
    return np.array([series_value(series, v) for v in x])


@njit
def draws_of(n, proposal, base, rng):
    return np.array([proposals.draw_value(proposal, base, rng) for _ in range(n)])


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", BASES)
@pytest.mark.ordinary(
    "uniform theta-one",
    "uniform theta-always one",
    "uniform theta-many",
    "uniform theta-none",
    "uniform theta-levels",
    "uniform theta-always the highest",
    "uniform theta-many of levels",
    "cauchy-always zero",
    "cauchy-many, always one",
    "cauchy-mostly in the middle",
    "cauchy-far from logistic",
    "narrow, far from the data-many",
    "narrow, far from the data-levels",
)
def test_weights_average_to_the_integral(name, data, rng):
    log_density, bounds, center = BASES[name]
    base = envelope(tabulate(log_density, bounds, center))
    terms = terms_of(*DATA[data])
    proposal = proposals.fit_proposal(terms, base)
    log_weights = log_weights_of(draws_of(8000, proposal, base, rng), terms, proposal, base)
    expected = log_integral(log_density, bounds, DATA[data])
    weights = np.exp(log_weights - expected)
    assert_mean_close(weights, 1.0)
    # few draws stand for many: a relative effective size of no less than a fiftieth
    assert weights.mean() ** 2 / (weights**2).mean() > 0.02


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", BASES)
def test_weights_are_bounded_as_documented(name, data):
    """Over the whole range of doubles that the base covers; the shaped part alone has no bound."""
    log_density, bounds, center = BASES[name]
    base = envelope(tabulate(log_density, bounds, center))
    terms = terms_of(*DATA[data])
    proposal = proposals.fit_proposal(terms, base)
    far = np.r_[np.linspace(0.0, 40.0, 2001), np.geomspace(40.0, 1e6, 500)]
    low, high = base.series.lower[0], base.series.upper[-1]
    x = np.unique(np.clip(np.r_[-far, far, center + far, center - far], low, high))
    # for separable data the supremum is reached in the limit
    likelihood = log_likelihood(np.r_[x, -1e6, 1e6], *DATA[data])
    bound = likelihood.max() - np.log(proposals.BASE_SHARE) + base.log_excess
    weights = log_weights_of(x, terms, proposal, base)
    assert not np.isnan(weights).any()
    prior = series_values(base.series, x)
    # differences of large numbers, far out, are rounded
    assert np.all(weights <= bound + 1e-6 + 1e-12 * np.abs(np.where(prior > -np.inf, prior, 0.0)))


def test_without_its_share_of_the_base_a_proposal_has_unbounded_weights():
    """Negative control of the bound: the Beta part has thinner tails than the vague posterior."""
    log_density, bounds, center = BASES["cauchy"]
    base = envelope(tabulate(log_density, bounds, center))
    data = DATA["always one"]
    terms = terms_of(*data)
    proposal = proposals.fit_proposal(terms, base)
    assert proposal.rate == 0.0
    x = 300.0
    z = x + proposal.lam
    shaped = proposal.log_scale + proposal.a * z - (proposal.a + proposal.b) * np.logaddexp(0.0, z)
    bare = series_value(base.series, x) + kernels.log_likelihood(terms, x) - shaped
    bound = -data[1][0] * data[2][0] - np.log(proposals.BASE_SHARE) + base.log_excess
    assert bare > bound + 50.0
    assert proposals.log_weight(x, terms, proposal, base) <= bound


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", ["normal", "half normal", "below -1"])
def test_draws_have_the_density_of_the_proposal(name, data, rng):
    """A mixture of scipy's Beta or exponential distribution, and of the envelope."""
    log_density, bounds, center = BASES[name]
    base = envelope(tabulate(log_density, bounds, center))
    proposal = proposals.fit_proposal(terms_of(*DATA[data]), base)
    if proposal.rate == 0.0:
        beta = stats.beta(proposal.a or 1.0, proposal.b or 1.0)

        def shaped_cdf(x):
            return beta.cdf(special.expit(proposal.c * x + proposal.lam))

        def shaped_pdf(x):
            z = proposal.c * x + proposal.lam
            log_p = proposal.a * special.log_expit(z) + proposal.b * special.log_expit(-z)
            return proposal.c * np.exp(log_p - special.betaln(proposal.a, proposal.b))
    else:
        part = stats.expon(scale=1.0 / abs(proposal.rate))
        sign = np.sign(proposal.rate)
        assert proposal.end == (bounds[0] if sign > 0 else bounds[1])

        def shaped_cdf(x):
            below = part.cdf(sign * (x - proposal.end))
            return below if sign > 0 else 1.0 - below

        def shaped_pdf(x):
            return part.pdf(sign * (x - proposal.end))

    share = 1.0 if proposal.a == 0.0 else proposals.BASE_SHARE  # without data all come from the base
    ends, mass = np.r_[base.lower[0], base.upper], np.r_[0.0, base.cumulative]
    draws = draws_of(4000, proposal, base, rng)

    def cdf(x):
        return (1.0 - share) * shaped_cdf(x) + share * np.interp(x, ends, mass)

    assert stats.kstest(draws, cdf).pvalue > ALPHA
    x = draws[:200]
    broad = np.exp([log_envelope(base, v) for v in x])
    expected = (1.0 - share) * shaped_pdf(x) + share * broad
    found = np.exp([proposals.log_proposal_density(v, proposal, base) for v in x])
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_small_shapes_do_not_underflow(rng):
    draws = np.array([proposals.log_gamma_variate(0.01, rng) for _ in range(20_000)])
    assert np.isfinite(draws).all()
    assert draws.min() < -300.0
    assert_mean_close(draws, -100.5608854578687)  # digamma(0.01)
    draws = np.exp([proposals.log_gamma_variate(2.5, rng) for _ in range(20_000)])
    assert stats.kstest(draws, stats.gamma(2.5).cdf).pvalue > 1e-5
