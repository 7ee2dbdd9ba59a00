"""Grouped parameters of several fields, under pseudo-likelihoods, of three states, beside random biases."""

import functools

import arviz as az
import numpy as np
import pymc as pm
import pytest
from scipy import special

import pymc_mrf as pmrf
from pymc_mrf.graph.structure import PairwiseGraph
from tests.reference import grouped_posterior as reference
from tests.statistics import Z
from tests.steps.groups.field_models import CYCLE, EDGES, OPTIONS, draw, gaps_of, sample

THETA = np.array([0.8, 0.8, 0.35, 0.6])
# of the second field: a triangle with entries of theta in an order of its own
TRIANGLE, PERM = PairwiseGraph(range(3), [(0, 1), (1, 2), (0, 2)]), [2, 0, 3]


def two_fields():
    eta = special.logit(THETA)
    return draw(CYCLE, eta, np.eye(2), 60, 1), draw(TRIANGLE, eta[PERM], np.eye(2), 45, 2)


def shared(likelihood, x, y):
    with pm.Model() as model:
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Uniform.dist(0, 1), shape=4)
        pmrf.AgreementMRF("x", theta, graph=CYCLE, observed=x, likelihood=likelihood)
        pmrf.AgreementMRF("y", theta[PERM], graph=TRIANGLE, observed=y, likelihood=likelihood)
    return model


@functools.cache
def posterior_of_two_fields(pseudo, first_only=False, weight=0.5):
    x, y = two_fields()
    options = {"pseudo": pseudo, "weight": weight}
    one = reference.agreement_log_likelihood(x, CYCLE.edges, 2, **options)
    two = reference.agreement_log_likelihood(y, TRIANGLE.edges, 2, **options)
    share = 0.0 if first_only else 1.0
    return reference.posterior_of(lambda eta, b: one(eta, b) + share * two(eta[:, PERM], b), 4, 1.0)[0]


def test_the_brute_force_reference_agrees_with_the_other():
    x, _ = two_fields()
    one = reference.grouped_posterior(x, CYCLE.edges, 1.0)
    two = posterior_of_two_fields(False, first_only=True)
    np.testing.assert_allclose(two.n_groups, one.n_groups, atol=1e-4)
    np.testing.assert_allclose(two.mean, one.mean, atol=1e-4)
    np.testing.assert_allclose(two.co_clustering, one.co_clustering, atol=1e-4)
    binary = reference.binary_log_likelihood(x, CYCLE.edges)
    again = reference.posterior_of(lambda eta, b: binary(eta, 0.0 * b), 4, 1.0)[0]
    np.testing.assert_allclose(again.mean, two.mean, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", ["exact", "pseudo", "monte-carlo"])
def test_two_fields_of_the_same_parameters(likelihood, small_samples):
    pseudo = likelihood == "pseudo"
    draws = 600 if likelihood == "exact" else 1000
    theta = sample(shared(likelihood, *two_fields()), draws=draws)["theta"].values
    assert gaps_of(theta, posterior_of_two_fields(pseudo)) < Z
    # negative controls: one field alone, and the pseudo-likelihood that counts edges twice
    assert gaps_of(theta, posterior_of_two_fields(pseudo, first_only=True)) > Z
    assert gaps_of(theta, posterior_of_two_fields(True, weight=1.0)) > Z


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", ["exact", "pseudo"])
def test_three_states(likelihood):
    edges = TRIANGLE.edges
    x = draw(TRIANGLE, special.logit(THETA[[0, 1, 2]]) + 0.5, np.eye(3), 60, 3)
    with pm.Model() as model:
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Uniform.dist(0, 1), shape=3)
        pmrf.AgreementMRF("x", theta, graph=TRIANGLE, n_states=3, observed=x, likelihood=likelihood)
    draws = sample(model)["theta"].values
    log_likelihood = reference.agreement_log_likelihood(x, edges, 3, pseudo=likelihood == "pseudo")
    assert gaps_of(draws, reference.posterior_of(log_likelihood, 3, 1.0)[0]) < Z
    other = reference.agreement_log_likelihood(x[:45], edges, 3, pseudo=likelihood == "pseudo")
    assert gaps_of(draws, reference.posterior_of(other, 3, 1.0)[0]) > Z


@pytest.mark.slow
@pytest.mark.compiled  # many leapfrog steps
def test_a_random_bias_moved_by_nuts():
    product = np.array([[0.0, 0.0], [0.0, 1.0]])
    x = draw(CYCLE, [1.0, 1.0, -1.0, 0.0], product, 60, 4, bias=-0.7)
    with pm.Model() as model:
        bias = pm.Normal("bias", 0, 1)
        weight = pmrf.DirichletProcess("theta", 1.0, pm.Logistic.dist(0.0, 1.0), shape=4)
        pmrf.BoltzmannMachine("x", weight, bias, graph=CYCLE, observed=x)
    found = sample(model, draws=1800)  # weights and bias go together, and are moved in turn
    log_likelihood = reference.binary_log_likelihood(x, EDGES, "product")
    exact, mean = reference.posterior_of(log_likelihood, 4, 1.0, random_bias=True)
    theta = special.expit(found["theta"].values)
    assert gaps_of(theta, exact) < Z
    draws = found["bias"].values
    assert abs(draws.mean() - mean) < Z * float(az.mcse(draws))
    # negative control: a bias of 0
    assert gaps_of(theta, reference.posterior_of(log_likelihood, 4, 1.0)[0]) > Z


@pytest.mark.slow
def test_particles_of_two_fields():
    """Near the exact posterior, within the tolerance of `ParticleRatioGibbs`."""
    model = shared("particles", *two_fields())
    with model:
        step = pmrf.steps.ParticleRatioGibbs([model["theta"]], n_particles=1000)
        idata = pm.sample(400, tune=100, chains=2, cores=1, step=step, random_seed=1, **OPTIONS)
    theta, exact = idata.posterior["theta"].values, posterior_of_two_fields(False)
    error = np.array([float(az.mcse(theta[..., e])) for e in range(4)])
    assert np.all(np.abs(theta.mean(axis=(0, 1)) - exact.mean) < 0.005 + Z * error)
    alone = posterior_of_two_fields(False, first_only=True)
    assert np.any(np.abs(theta.mean(axis=(0, 1)) - alone.mean) > 0.005 + Z * error)


def test_entries_of_no_field_follow_the_prior():
    """Six parameters, of which a chain of two edges shows two; in closed form for the others."""
    x = draw(PairwiseGraph(range(3), [(0, 1), (1, 2)]), [1.0, -1.0], np.eye(2), 40, 5)
    with pm.Model() as model:
        theta = pmrf.DirichletProcess("theta", 1e6, pm.Uniform.dist(0, 1), shape=3)
        pmrf.AgreementMRF("x", theta[[2, 0]], graph=pmrf.graphs.chain(3), observed=x)
    theta = sample(model)["theta"].values
    agreements = (x[:, 1:] == x[:, :-1]).sum(axis=0)
    expected = np.array([(agreements[1] + 1) / 42, 0.5, (agreements[0] + 1) / 42])
    error = np.array([float(az.mcse(theta[..., e])) for e in range(3)])
    assert np.all(np.abs(theta.mean(axis=(0, 1)) - expected) < Z * error)
    assert abs(theta[..., 1].std() - np.sqrt(1 / 12)) < Z * float(az.mcse(theta[..., 1], method="sd"))
