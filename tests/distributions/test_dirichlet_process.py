"""Dirichlet process: density against predictive probabilities, draws and alpha against enumeration."""

import cloudpickle
import numpy as np
import pymc as pm
import pytensor
import pytest
from scipy import integrate, special, stats

from pymc_mrf.distributions.dirichlet_process import DirichletProcess
from tests.reference.dirichlet_process import (
    crp_probability,
    labels_of,
    log_density,
    set_partitions,
)
from tests.statistics import assert_frequencies, chi_square_pvalue


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_density_of_every_partition(n, rng):
    alpha = 0.7
    x = DirichletProcess.dist(np.float64(alpha), pm.Gamma.dist(2.0, 3.0), shape=n)
    value = x.type("value")
    logp = pytensor.function([value], pm.logp(x, value))
    total = 0.0
    for labels in set_partitions(n):
        theta = rng.uniform(0.1, 2.0, size=n)[list(labels)]
        expected = log_density(theta, alpha, lambda v: stats.gamma(2.0, scale=1 / 3.0).logpdf(v))
        np.testing.assert_allclose(logp(theta), expected, rtol=1e-6)
        total += crp_probability(labels, alpha)
    np.testing.assert_allclose(total, 1.0)


@pytest.mark.compiled
@pytest.mark.slow
def test_draws_follow_the_chinese_restaurant(rng):
    n, alpha = 4, 1.3
    x = DirichletProcess.dist(alpha, pm.Beta.dist(2.0, 5.0), shape=n)
    theta = pm.draw(x, draws=4000, random_seed=rng)
    partitions = set_partitions(n)
    index = {labels: i for i, labels in enumerate(partitions)}
    counts = np.bincount([index[labels_of(row)] for row in theta], minlength=len(partitions))
    assert_frequencies(counts, [crp_probability(labels, alpha) for labels in partitions])
    wrong = [crp_probability(labels, 2.5) for labels in partitions]
    assert chi_square_pvalue(counts, wrong) < 1e-10
    assert stats.kstest(theta[:, 0], stats.beta(2.0, 5.0).cdf).pvalue > 1e-5


def test_draws_have_shapes(rng):
    for shape, expected in ((3, (3,)), ((2, 3), (2, 3)), ([4], (4,))):
        x = DirichletProcess.dist(0.01, pm.Normal.dist(0, 1), shape=shape)
        assert pm.draw(x, random_seed=rng).shape == expected


def exact_alpha_mean(n, n_groups, shape, rate):
    """Posterior mean of alpha ~ Gamma(shape, rate) given the number of groups."""

    def weight(a):
        log_w = n_groups * np.log(a) + special.gammaln(a) - special.gammaln(a + n)
        return np.exp(log_w + stats.gamma(shape, scale=1 / rate).logpdf(a))

    total = integrate.quad(weight, 0, np.inf)[0]
    return integrate.quad(lambda a: a * weight(a), 0, np.inf)[0] / total


@pytest.mark.slow
def test_nuts_moves_alpha_given_theta():
    theta = np.array([0.2, 0.2, 0.2, 0.7, 0.7, 0.9])
    with pm.Model():
        alpha = pm.Gamma("alpha", 2.0, 2.0)
        DirichletProcess("theta", alpha, pm.Uniform.dist(0, 1), shape=6, observed=theta)
        idata = pm.sample(600, tune=300, chains=2, cores=1, random_seed=4, progressbar=False, quiet=True)
    draws = idata.posterior.alpha.values
    exact = exact_alpha_mean(6, 3, 2.0, 2.0)
    error = draws.std() / np.sqrt(draws.size / 4)  # NUTS in one dimension: ESS above a quarter
    assert abs(draws.mean() - exact) < 4.5 * error
    assert abs(draws.mean() - exact_alpha_mean(6, 1, 2.0, 2.0)) > 4.5 * error


def test_base_hyperparameters_have_gradients():
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 1)
        theta = np.array([0.5, 0.5, 2.0])
        DirichletProcess("theta", 1.0, pm.Normal.dist(mu, 2.0), shape=3, observed=theta)
    gradient = model.compile_dlogp()({"mu": np.array(0.3)})
    # the two distinct values count once each
    np.testing.assert_allclose(gradient, -0.3 + (0.5 - 0.3) / 4 + (2.0 - 0.3) / 4, rtol=1e-6)


def test_dims_pickle_and_start():
    with pm.Model(coords={"edge": list("abcd")}) as model:
        alpha = pm.Exponential("alpha", 1.0)
        theta = DirichletProcess("theta", alpha, pm.Beta.dist(2, 2), dims="edge")
    assert model.named_vars_to_dims["theta"] == ("edge",)
    again = cloudpickle.loads(cloudpickle.dumps(model))
    assert again["theta"].owner.op == theta.owner.op
    start = model.initial_point()["theta"]
    np.testing.assert_array_equal(start, np.full(4, 0.5))
    assert model.str_repr().count("DirichletProcess") == 1


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"alpha": 0.0}, ValueError, "alpha must be positive"),
        ({"alpha": np.nan}, ValueError, "alpha must be positive"),
        ({"alpha": np.ones(3)}, ValueError, "alpha must be a scalar, but it has 1 dimensions"),
        ({"base": 0.5}, TypeError, "base must be a PyMC distribution"),
        ({"base": pm.Poisson.dist(3)}, TypeError, "base must be continuous"),
        ({"base": pm.Normal.dist(0, 1, shape=2)}, ValueError, "base must be scalar"),
        ({"base": pm.Dirichlet.dist(np.ones(3))}, ValueError, "base must be scalar"),
        ({"shape": None}, ValueError, "number of entries"),
        ({"shape": ()}, ValueError, "number of entries"),
        ({"shape": 0}, ValueError, "no entries"),
    ],
)
def test_bad_input(arguments, error, message):
    valid = {"alpha": 1.0, "base": pm.Uniform.dist(0, 1), "shape": 3}
    with pytest.raises(error, match=message):
        DirichletProcess.dist(**(valid | arguments))
