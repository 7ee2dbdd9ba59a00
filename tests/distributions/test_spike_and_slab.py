"""SpikeAndSlab: density entry by entry, draws, gradients of hyperparameters, what is refused."""

import cloudpickle
import numpy as np
import pymc as pm
import pytensor
import pytest
from pytensor.gradient import NullTypeGradError
from scipy import special, stats

from pymc_mrf.distributions.spike_and_slab import SpikeAndSlab
from tests.statistics import assert_frequencies

X = np.array([0.0, 1.5, -0.3, 0.0])


@pytest.mark.parametrize("p", [0.3, np.array([0.1, 0.2, 0.3, 0.4])], ids=["scalar", "per entry"])
@pytest.mark.parametrize(
    ("slab", "log_slab"),
    [
        (lambda: pm.Normal.dist(0, 2), stats.norm(0, 2).logpdf),
        (lambda: pm.Cauchy.dist(0, 1), stats.cauchy(0, 1).logpdf),
        (lambda: pm.Laplace.dist(0.5, 1), stats.laplace(0.5, 1).logpdf),
    ],
    ids=["Normal", "Cauchy", "Laplace"],
)
def test_density(p, slab, log_slab):
    w = SpikeAndSlab.dist(p, slab(), shape=4)
    value = w.type("value")
    expected = np.where(X == 0, np.log1p(-np.asarray(p)), np.log(p) + log_slab(X)).sum()
    np.testing.assert_allclose(pytensor.function([value], pm.logp(w, value))(X), expected)


def test_draws(rng):
    w = SpikeAndSlab.dist([0.2, 0.7, 0.5], pm.Normal.dist(1, 2), shape=(4000, 3))
    draws = pm.draw(w, random_seed=rng)
    for column, p in zip(draws.T, (0.2, 0.7, 0.5), strict=True):
        assert_frequencies(np.bincount(column != 0, minlength=2), [1 - p, p])
        assert stats.kstest(column[column != 0], stats.norm(1, 2).cdf).pvalue > 1e-5
    both = np.bincount((draws[:, 0] != 0) * 2 + (draws[:, 1] != 0), minlength=4)
    assert_frequencies(both, np.outer([0.8, 0.2], [0.3, 0.7]).ravel())
    assert pm.draw(SpikeAndSlab.dist(0.5, pm.Normal.dist(), shape=3)).shape == (3,)


def hierarchical_model():
    with pm.Model(coords={"edge": range(4)}) as model:
        p = pm.Beta("p", 2, 3)
        sigma = pm.HalfNormal("sigma", 1)
        SpikeAndSlab("w", p, pm.Normal.dist(0, sigma), dims="edge")
    return model


def test_gradients_by_hyperparameters_and_none_by_the_value():
    model = hierarchical_model()
    point = {**model.initial_point(), "w": X, "p_logodds__": np.array(0.3), "sigma_log__": np.array(0.2)}
    variables = [model["p"], model["sigma"]]
    gradient = model.compile_dlogp(variables)(point)
    logp = model.compile_logp()
    for k, name in enumerate(("p_logodds__", "sigma_log__")):
        ends = [logp({**point, name: point[name] + h}) for h in (1e-5, -1e-5)]
        np.testing.assert_allclose(gradient[k], (ends[0] - ends[1]) / 2e-5, rtol=1e-6)
    with pytest.raises(NullTypeGradError):
        model.compile_dlogp([model["w"]])


def test_model_basics():
    model = hierarchical_model()
    np.testing.assert_array_equal(model.initial_point()["w"], np.zeros(4))
    assert model.rvs_to_transforms[model["w"]] is None
    again = cloudpickle.loads(cloudpickle.dumps(model))
    point = {**model.initial_point(), "w": X}
    assert again.compile_logp()(point) == model.compile_logp()(point)
    prior = pm.sample_prior_predictive(200, model=model, random_seed=1)
    assert prior.prior.w.dims == ("chain", "draw", "edge")
    assert 0 < (prior.prior.w == 0).mean() < 1


def test_p_given_the_weights_is_beta():
    """NUTS moves p given observed indicators; the posterior is conjugate."""
    w = np.array([0.0, 0.3, -1.0, 0.0, 0.0, 0.0, 0.2, 0.0])
    with pm.Model():
        p = pm.Beta("p", 2, 3)
        SpikeAndSlab("w", p, pm.Normal.dist(0, 1), shape=8, observed=w)
        idata = pm.sample(800, tune=300, chains=2, cores=1, random_seed=1, progressbar=False, quiet=True)
    draws = idata.posterior.p.values
    exact = stats.beta(2 + 3, 3 + 5)
    error = exact.std() / np.sqrt(draws.size / 4)
    assert abs(draws.mean() - exact.mean()) < 4.5 * error
    assert special.expit(0.0) > exact.mean()


@pytest.mark.parametrize(
    ("p", "slab", "shape", "error", "message"),
    [
        (1.0, pm.Normal.dist(), 3, ValueError, "p must lie strictly between 0 and 1, but 1 does not"),
        ([0.1, -0.5, 0.2], pm.Normal.dist(), 3, ValueError, "but -0.5 does not"),
        (np.nan, pm.Normal.dist(), 3, ValueError, "but nan does not"),
        ([0.1, 0.5], pm.Normal.dist(), 3, ValueError, "one entry for each of the 3 parameters"),
        (0.5, pm.Poisson.dist(1), 3, TypeError, "slab must be continuous"),
        (0.5, 1.0, 3, TypeError, "slab must be a PyMC distribution, not 1.0"),
        (
            0.5,
            pm.Normal.dist(0, -1),
            3,
            ValueError,
            "slab has parameters outside their domain: sigma > 0",
        ),
        (0.5, pm.HalfCauchy.dist(-1), 3, ValueError, "slab has parameters outside their domain"),
        (0.5, pm.Flat.dist(), 3, ValueError, "slab must be a probability distribution, not flat"),
        (0.5, pm.Normal.dist(), None, ValueError, "does not give the number of entries"),
        (0.5, pm.Normal.dist(), 0, ValueError, "has no entries"),
    ],
)
def test_errors(p, slab, shape, error, message):
    with pytest.raises(error, match=message):
        SpikeAndSlab.dist(p, slab, shape=shape)


def test_p_that_leaves_its_domain_at_run_time():
    p = pytensor.tensor.dscalar("p")
    w = SpikeAndSlab.dist(p, pm.Normal.dist(), shape=4)
    value = w.type("value")
    logp = pytensor.function([value, p], pm.logp(w, value))
    with pytest.raises(pm.logprob.utils.ParameterValueError, match="0 < p < 1"):
        logp(X, 1.5)


def test_slab_that_leaves_its_domain_at_run_time():
    """Zeros alone must not hide that the slab has no density."""
    sigma = pytensor.tensor.dscalar("sigma")
    w = SpikeAndSlab.dist(0.5, pm.Normal.dist(0, sigma), shape=4)
    value = w.type("value")
    logp = pytensor.function([value, sigma], pm.logp(w, value))
    assert logp(np.zeros(4), 1.0) == pytest.approx(4 * np.log(0.5))
    with pytest.raises(pm.logprob.utils.ParameterValueError):
        logp(np.zeros(4), -1.0)
    with pm.Model() as model:
        SpikeAndSlab("w", 0.5, pm.Normal.dist(0, pm.Normal("s", 0.5, 1)), shape=4)
    point = model.initial_point()
    assert np.isfinite(model.compile_logp()(point))
    assert model.compile_logp()({**point, "s": np.array(-1.0)}) == -np.inf
