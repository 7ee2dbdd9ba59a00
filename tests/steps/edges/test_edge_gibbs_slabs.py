"""`EdgeGibbs` under slabs of any shape: it must not only be right but move."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
from scipy import stats

import pymc_mrf as pmrf
from pymc_mrf.kernels.priors import densities
from pymc_mrf.steps.common.density_series import tabulate
from pymc_mrf.steps.edges.edge_prior import cells_with_heights, interval_masses
from tests.insides import engine_in, prior_of
from tests.marks import slow
from tests.statistics import Z

SLABS = {
    "half normal": (lambda: pm.HalfNormal.dist(1.0), stats.halfnorm()),
    "vanishes at zero": (lambda: pm.InverseGamma.dist(3.0, 1.0), stats.invgamma(3)),
    "skewed": (lambda: pm.LogNormal.dist(0.0, 1.0), stats.lognorm(1)),
    "infinite at zero": (lambda: pm.Gamma.dist(0.5, 1.0), stats.gamma(0.5)),
    "without zero": (lambda: pm.Uniform.dist(0.2, 2.0), stats.uniform(0.2, 1.8)),
    "two ends": (
        lambda: pm.TruncatedNormal.dist(0.5, 1.0, lower=-1.0, upper=1.0),
        stats.truncnorm(-1.5, 0.5, 0.5, 1.0),
    ),
}


def log_likelihood(w, x, likelihood):
    """Of two nodes without biases, for weights (k,)."""
    n, n_11 = len(x), np.sum(x.prod(axis=1))
    if likelihood == "pseudo":  # each node given the other one, to the power of one half
        terms = (
            n_11 * w
            - x.sum(axis=0)[:, None] * np.log1p(np.exp(w))
            - (n - x.sum(axis=0))[:, None] * np.log(2)
        )
        return terms.sum(axis=0) / 2
    return n_11 * w - n * np.log(3.0 + np.exp(w))


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", ["exact", "pseudo", "particles"])
@pytest.mark.parametrize("name", SLABS)
def test_one_edge(name, likelihood, rng):
    """Without the cells an edge changed once in a thousand sweeps, or never, under half of these slabs."""
    make, slab = SLABS[name]
    x = np.random.default_rng(1).integers(2, size=(60, 2))
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", 0.5, make(), shape=1)
        pmrf.BoltzmannMachine(
            "x", w, np.zeros(2), graph=pmrf.graphs.complete(2), observed=x, likelihood=likelihood
        )
        step = pmrf.steps.EdgeGibbs(
            [w], rng=rng, **({"n_particles": 2000} if likelihood == "particles" else {})
        )
    values = slab.ppf((np.arange(20_000) + 0.5) / 20_000)
    gain = log_likelihood(values, x, likelihood) - log_likelihood(np.zeros(1), x, likelihood)
    odds = np.exp(gain).mean()
    expected = {"inclusion": odds / (1 + odds), "weight": (np.exp(gain) * values).mean() / (1 + odds)}

    step.setup_chain(rng, 200, 1500)
    point, draws = model.initial_point(), np.empty(1500)
    for _ in range(200):
        point, _ = step.step(point)
    step.stop_tuning()
    for t in range(len(draws)):
        point, _ = step.step(point)
        draws[t] = point["w"][0]
    for series, what in ((draws != 0, "inclusion"), (draws, "weight")):
        series = np.asarray(series, dtype=float)
        ess = float(az.ess(series[None]))
        error = series.std() / np.sqrt(ess)
        # particles: the documented error of an inclusion probability at this many particles a row
        bias = 0.01 if likelihood == "particles" else 0.0
        assert abs(series.mean() - expected[what]) < Z * error + bias, what
        assert ess > 300, what


def cells(log_density, bounds, center):
    return cells_with_heights(*interval_masses(tabulate(log_density, bounds, center)))


@pytest.mark.parametrize(
    "slab", [stats.halfnorm(scale=0.15), stats.expon(scale=0.1), stats.logistic(0, 0.05)]
)
def test_data_far_in_the_tail_of_a_slab(slab):
    g, h = 150.0, 75.0
    x = np.linspace(0.0, 4.0, 200_001)
    log_f = slab.logpdf(x) + g * x - 0.5 * h * x * x
    f = np.exp(log_f - log_f.max())
    mean = np.average(x, weights=f)
    deviation = np.sqrt(np.average((x - mean) ** 2, weights=f))
    assert slab.sf(mean) < 1e-4
    log_mass, got, variance = densities.fit_cells(
        *cells(slab.logpdf, slab.support(), slab.median()), g, h
    )
    # cells so far out are wide, and the acceptance step corrects; with one cell for all beyond a
    # probability of 10^-9.5 the mean was off by eight deviations under the half normal
    assert abs(got - mean) < 2 * deviation and 0.5 < np.sqrt(variance) / deviation < 2.0
    expected = np.log(f.sum() * (x[1] - x[0])) + log_f.max()
    assert (
        expected > 10.0 and abs(log_mass - expected) < 0.1 * expected
    )  # presence is certain either way


def test_cells_of_slabs_that_are_no_probability_densities():
    """The cells integrate the density that the ratios of acceptance use."""
    ends, heights = cells(lambda x: -0.5 * x * x - 3.0, (-np.inf, np.inf), 0.0)
    log_mass, mean, variance = densities.fit_cells(ends, heights, 0.0, 0.0)
    np.testing.assert_allclose(log_mass, 0.5 * np.log(2 * np.pi) - 3.0, atol=1e-3)
    np.testing.assert_allclose((mean, variance), (0.0, 1.0), atol=0.05)


@pytest.mark.parametrize("a", [0.2, 0.3, 1 / 3, 0.5])
@pytest.mark.parametrize("bounds", [(-np.inf, np.inf), (-1.0, 1.0)])
def test_cells_of_slabs_with_inner_jumps(a, bounds):
    series = tabulate(lambda x: np.where(np.abs(x) < a, 0.0, -np.inf), bounds, 0.0)
    assert series.ceiling.max() < 1.0
    ends, heights = cells_with_heights(*interval_masses(series))
    assert np.isfinite(ends).all() and np.isfinite(heights).all()
    log_mass, mean, variance = densities.fit_cells(ends, heights, 0.0, 0.0)
    np.testing.assert_allclose((log_mass, mean), (np.log(2 * a), 0.0), atol=1e-3)
    np.testing.assert_allclose(variance, a * a / 3, rtol=0.05)


@pytest.mark.parametrize("likelihood", ["exact", "pseudo", "particles"])
@pytest.mark.parametrize(
    "slab",
    [
        pytest.param(lambda: pm.Normal.dist(0.0, 2.5), id="normal"),
        pytest.param(lambda: pm.Cauchy.dist(0.0, 2.5), id="cauchy"),
        slow(lambda: pm.Uniform.dist(-20.0, 20.0), id="tabulated"),
    ],
)
def test_an_edge_between_rare_states_is_found(slab, likelihood, rng):
    """One per cent each, and mostly together: at 0 the likelihood has hardly any curvature."""
    x = np.zeros((1000, 3), dtype=int)
    x[:6, :2] = 1
    x[6:10, 0], x[10:14, 1] = 1, 1
    x[14:, 2] = rng.integers(2, size=986)
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", 0.1, slab(), shape=3)
        b = pm.Normal("b", 0.0, 5.0, shape=3)
        graph = pmrf.graphs.complete(3)
        pmrf.BoltzmannMachine("x", w, b, graph=graph, observed=x, likelihood=likelihood)
        step = pmrf.steps.EdgeGibbs([w, b])
    prior, _ = prior_of(step).read(model.initial_point())
    weights, p = np.zeros(3), x.mean(axis=0)
    biases = np.log(p) - np.log1p(-p)
    for _ in range(20):
        engine_in(step).sweep(weights, biases, prior, rng)
        if weights[0] != 0.0:
            break
    assert 1.0 < weights[0] < 10.0
