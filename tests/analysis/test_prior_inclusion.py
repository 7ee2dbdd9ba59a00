"""Prior probabilities of edges, read from the model."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from scipy import special

import pymc_mrf as pmrf
from pymc_mrf.analysis.prior_inclusion import N_DRAWS
from tests.analysis.posteriors import as_posterior
from tests.statistics import Z

R = 3
LABELS = ["a--b", "a--c", "b--c"]
CONSTANT = np.array([0.1, 0.5, 0.7])


@pytest.fixture
def tree(rng):
    return as_posterior(np.where(rng.random((2, 50, R)) < 0.5, 1.0, 0.0), edges=LABELS)


def model_with(make_p, labels=LABELS):
    with pm.Model(coords={"edge": labels}) as model:
        pmrf.SpikeAndSlab("theta", make_p(), pm.Normal.dist(0, 1), dims="edge")
    return model


def prior_of(tree, model):
    """Prior probabilities behind the Bayes factors."""
    table = pmrf.analysis.edge_inclusion(tree, "theta", model=model)
    odds = (table.inclusion / (1 - table.inclusion) / table.bayes_factor).values
    return odds / (1 + odds)


def test_a_gaussian_field_has_another_prior(tree):
    graph = pmrf.graphs.complete(list("abc"))
    with pm.Model(coords=pmrf.coords(graph)) as model:
        theta = pmrf.SpikeAndSlab("theta", 0.2, pm.Normal.dist(0, 1), dims="edge")
        pmrf.GaussianMRF("x", theta, 1.0, graph=graph, observed=np.eye(3))
    odds = 0.25 * share_within_cone()
    np.testing.assert_allclose(prior_of(tree, model), odds / (1 + odds), atol=0.01)
    assert "bayes_factor" in pmrf.analysis.edge_inclusion(
        tree, "theta", model=model, prior_inclusion=0.1
    )


def share_within_cone():
    """Odds of a standard normal weight against none among three, the diagonal being 1, over those of p."""
    rng = np.random.default_rng(0)
    w = rng.normal(size=(400_000, 3)) * (rng.random((400_000, 3)) < 0.2)
    inside = 1 - (w**2).sum(axis=1) - 2 * w.prod(axis=1) > 0
    inside &= (np.abs(w) < 1).all(axis=1)
    present = (w[inside] != 0).mean()
    return present / (1 - present) / 0.25


EXACT = {
    "number": (lambda: 0.2, 0.2),
    "numbers": (lambda: CONSTANT, CONSTANT),
    "data": (lambda: pm.Data("p", CONSTANT), CONSTANT),
    "expression": (lambda: pm.math.sigmoid(pt.constant([-1.0, 0.0, 2.0])), special.expit([-1, 0, 2])),
    "beta": (lambda: pm.Beta("p", 2, 6), 0.25),
    "beta of every edge": (lambda: pm.Beta("p", [1, 1, 1], [1, 3, 4], dims="edge"), [0.5, 0.25, 0.2]),
    "uniform": (lambda: pm.Uniform("p", 0.2, 0.6, shape=R), 0.4),
    "beta of mean and sd": (lambda: pm.Beta("p", mu=0.3, sigma=0.1), 0.3),
}


@pytest.mark.parametrize("name", EXACT)
def test_exact_prior_means(tree, name):
    make_p, expected = EXACT[name]
    np.testing.assert_allclose(prior_of(tree, model_with(make_p)), np.broadcast_to(expected, R))


def test_prior_means_by_draws(tree):
    """Logistic functions of a normal variable, against quadrature; the same draws every time."""
    z = np.array([-1.0, 0.0, 2.0])

    def make_p():
        return pm.math.sigmoid(pm.Normal("a", 1.0, 1.5) + z)

    x, w = np.polynomial.hermite_e.hermegauss(60)
    expected = special.expit(1 + 1.5 * x[:, None] + z).T @ w / w.sum()
    model = model_with(make_p)
    found = prior_of(tree, model)
    assert np.all(np.abs(found - expected) < Z * 0.5 / np.sqrt(N_DRAWS))
    assert np.abs(found - special.expit(1 + z)).max() > 0.04  # not the probability at the prior mean
    np.testing.assert_array_equal(found, prior_of(tree, model))


def test_random_parameters_of_a_beta(tree):
    found = prior_of(tree, model_with(lambda: pm.Beta("p", pm.Exponential("a", 1.0), 1)))
    x, w = np.polynomial.laguerre.laggauss(60)
    np.testing.assert_allclose(found, (x / (x + 1)) @ w, atol=Z * 0.5 / np.sqrt(N_DRAWS))
    assert found[0] == found[2]


def test_the_model_of_the_context_is_the_default_and_an_explicit_prior_wins(tree):
    model = model_with(lambda: 0.2)
    explicit = pmrf.analysis.edge_inclusion(tree, "theta", prior_inclusion=0.2)
    assert pmrf.analysis.edge_inclusion(tree, "theta", model=model).identical(explicit)
    with model:
        assert pmrf.analysis.edge_inclusion(tree, "theta").identical(explicit)
        even = pmrf.analysis.edge_inclusion(tree, "theta", prior_inclusion=0.5)
    assert even.identical(pmrf.analysis.edge_inclusion(tree, "theta", prior_inclusion=0.5, model=model))
    assert not even.identical(explicit)
    with pm.Model():
        pm.Normal("theta", shape=R)
        assert "bayes_factor" not in pmrf.analysis.edge_inclusion(tree, "theta")


def test_models_that_do_not_know(tree):
    with pm.Model() as other:
        pmrf.SpikeAndSlab("v", 0.5, pm.Normal.dist(0, 1), shape=R)
    with pytest.raises(
        ValueError, match="theta is no free SpikeAndSlab of the model, which has 'v'; give"
    ):
        pmrf.analysis.edge_inclusion(tree, "theta", model=other)
    with pytest.raises(TypeError, match=r"model must be a pymc\.Model, not float"):
        pmrf.analysis.edge_inclusion(tree, "theta", model=0.5)
    with pytest.raises(ValueError, match=r"entries of theta in the model \(4\) .* posterior \(3\)"):
        pmrf.analysis.edge_inclusion(tree, "theta", model=model_with(lambda: 0.5, [*LABELS, "c--d"]))
    with pytest.raises(ValueError, match="or another order: pass the model that was sampled"):
        pmrf.analysis.edge_inclusion(tree, "theta", model=model_with(lambda: CONSTANT, LABELS[::-1]))

    def observed():
        return pm.math.sigmoid(pm.Normal("z", 0, 1, observed=np.zeros(R)))

    with pytest.raises(ValueError, match="prior of theta depends on observed data, z; give prior_incl"):
        pmrf.analysis.edge_inclusion(tree, "theta", model=model_with(observed))
    with model_with(observed):
        assert "bayes_factor" not in pmrf.analysis.edge_inclusion(tree, "theta")
