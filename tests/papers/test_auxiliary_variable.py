"""Algorithm 1 of Liu & Page: exact posteriors by enumeration, restarts, what is refused."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
from scipy import special

import pymc_mrf as pmrf
from pymc_mrf.papers.auxiliary_variable import AuxiliaryVariableMH
from tests.insides import estimate_of, prior_of
from tests.reference.grouped_posterior import grouped_posterior
from tests.statistics import Z
from tests.steps.groups.models import (
    EDGES,
    GRAPH,
    SAMPLE,
    agreement_data,
    agreement_model,
    boltzmann,
    ising,
    standardised_gaps,
)

QUICK = {"n_value_steps": 10, "sigma": 0.1}


def sample(model, n_draws=2000, **options):
    with model:
        return pm.sample(
            n_draws,
            tune=100,
            chains=2,
            cores=1,
            step=AuxiliaryVariableMH([model["theta"]], **options),
            random_seed=1,
            **SAMPLE,
        )


@pytest.mark.slow
def test_exchange_samples_the_exact_posterior():
    x = agreement_data(60, seed=1)
    idata = sample(agreement_model(x), auxiliary="exchange", n_value_steps=20, sigma=0.1)
    gaps = standardised_gaps(idata.posterior["theta"].values, grouped_posterior(x, EDGES, 1.0))
    assert max(np.abs(list(gaps.values()))) < Z, gaps
    assert set(idata.sample_stats["auxiliary_mh_draws"].values.ravel()) == {"exact"}


@pytest.mark.slow
def test_moller_samples_the_exact_posterior():
    x = agreement_data(60, seed=1)
    idata = sample(agreement_model(x), 4000, auxiliary="moller", n_value_steps=20, sigma=0.1)
    gaps = standardised_gaps(idata.posterior["theta"].values, grouped_posterior(x, EDGES, 1.0))
    assert max(np.abs(list(gaps.values()))) < Z, gaps


def test_a_wrong_ratio_is_told_apart():
    """Negative control: data that count 12 agreements of 60 fewer on the first edge."""
    x = agreement_data(60, seed=1)
    model = agreement_model(x)
    with model:
        step = AuxiliaryVariableMH([model["theta"]], auxiliary="exchange", **QUICK)
        step._s -= np.array([12.0, 0, 0, 0, 0])
        idata = pm.sample(1000, tune=100, chains=2, cores=1, step=step, random_seed=1, **SAMPLE)
    first = idata.posterior["theta"].values[..., 0]
    gap = first.mean() - grouped_posterior(x, EDGES, 1.0).mean[0]
    assert abs(gap) > 2 * Z * float(az.mcse(first))


@pytest.mark.slow
def test_simulated_draws_after_many_sweeps_are_as_good_as_exact():
    x = agreement_data(60, seed=1)
    model = agreement_model(x, likelihood="particles")
    options = {"auxiliary": "exchange", "n_value_steps": 20, "sigma": 0.1}
    idata = sample(model, draws="gibbs", n_sweeps=20, **options)
    gaps = standardised_gaps(idata.posterior["theta"].values, grouped_posterior(x, EDGES, 1.0))
    assert max(np.abs(list(gaps.values()))) < Z, gaps
    assert set(idata.sample_stats["auxiliary_mh_draws"].values.ravel()) == {"gibbs"}
    assert set(idata.sample_stats["auxiliary_mh_n_sweeps"].values.ravel()) == {20}


def test_a_base_on_part_of_the_range_and_random_hyperparameters():
    x = agreement_data(60, seed=1)
    with pm.Model():
        alpha = pm.Gamma("alpha", 2, 2)
        theta = pmrf.DirichletProcess("theta", alpha, pm.Uniform.dist(0.2, 0.7), shape=5)
        pmrf.AgreementMRF("x", theta, graph=GRAPH, observed=x)
        idata = pm.sample(
            200,
            tune=50,
            chains=1,
            cores=1,
            step=[AuxiliaryVariableMH([theta], auxiliary="exchange", **QUICK), pm.NUTS([alpha])],
            random_seed=3,
            **SAMPLE,
        )
    draws = idata.posterior["theta"].values
    assert draws.min() >= 0.2 and draws.max() <= 0.7
    assert idata.posterior["alpha"].std() > 0.1


@pytest.mark.slow
@pytest.mark.parametrize(("make", "sigma"), [(ising, 0.25), (boltzmann, 0.5)])
def test_other_families_with_known_node_parameters(make, sigma):
    """The walk is on their own parameters."""
    model, exact, theta_of = make()
    idata = sample(model, auxiliary="exchange", n_value_steps=20, sigma=sigma)
    gaps = standardised_gaps(theta_of(idata.posterior["theta"].values), exact)
    assert max(np.abs(list(gaps.values()))) < Z, gaps


def attractive_model(x):
    with pm.Model() as model:
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Uniform.dist(0.5, 0.95), shape=5)
        pmrf.AgreementMRF("x", theta, graph=GRAPH, observed=x)
    return model


@pytest.mark.slow
def test_perfect_draws_agree_with_exact_ones():
    x = agreement_data(40, seed=1, theta=np.array([0.8, 0.8, 0.6, 0.6, 0.7]))
    means, errors = [], []
    for draws in ("exact", "perfect"):
        idata = sample(attractive_model(x), 500, auxiliary="exchange", draws=draws, **QUICK)
        assert set(idata.sample_stats["auxiliary_mh_draws"].values.ravel()) == {draws}
        theta = idata.posterior["theta"]
        means.append(theta.mean(("chain", "draw")).values)
        errors.append([float(az.mcse(theta.values[..., e])) for e in range(5)])
    assert np.all(np.abs(means[0] - means[1]) < Z * np.hypot(*errors))


def test_restart_walks_from_the_tied_estimate():
    """As in the paper; with a tiny sigma the values are that estimate, which is close to the exact one."""
    x = agreement_data(500, seed=1)
    model = agreement_model(x)
    with model:
        step = AuxiliaryVariableMH(
            [model["theta"]], restart=True, sigma=1e-9, auxiliary="exchange", n_value_steps=1
        )
    step.setup_chain(np.random.default_rng(1), 0, 1)
    point, _ = step.step({"theta": np.array([0.7, 0.7, 0.3, 0.3, 0.6])})
    _, groups = np.unique(point["theta"], return_inverse=True)
    exact = pmrf.estimation.fit(x, GRAPH, method="exact", groups=groups)
    # a Newton step from the free estimate and simulations of 500 rows: the error of an estimate from as many
    eta, error = special.logit(exact.parameter), exact.standard_error
    assert np.all(np.abs(special.logit(point["theta"]) - eta) < error)
    assert np.any(np.abs(eta) > Z * error)  # negative control: no dependence is far away


def test_estimates_do_not_depend_on_the_chain():
    model = agreement_model(agreement_data(200, seed=1))
    with model:
        steps = [AuxiliaryVariableMH([model["theta"]], rng=seed) for seed in (1, 2)]
    np.testing.assert_array_equal(*map(estimate_of, steps))
    exact = pmrf.estimation.fit(agreement_data(200, seed=1), GRAPH, method="exact")
    # a fixed seed: off by 0.024 at most over 12 data sets, where standard errors of the estimate are 0.2
    np.testing.assert_allclose(estimate_of(steps[0]), exact.eta, atol=0.05)
    labels, base = np.array([0, 0, 1, 1, 2]), prior_of(steps[0]).read(model.initial_point())
    np.testing.assert_array_equal(*(step._tied_estimate(labels, base) for step in steps))


def test_never_chosen_unasked():
    model = agreement_model(agreement_data(50, seed=1))
    assert not AuxiliaryVariableMH.competence(model["theta"], False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_proposals": 0}, "n_proposals must be a positive integer, not 0"),
        ({"n_value_steps": 1.5}, "n_value_steps must be a positive integer, not 1.5"),
        ({"n_sweeps": True}, "n_sweeps must be a positive integer, not True"),
        ({"sigma": 0.0}, "sigma must be a finite number above 0, not 0.0"),
        ({"sigma": np.inf}, "sigma must be a finite number above 0, not inf"),
        ({"auxiliary": "murray"}, 'auxiliary must be "exchange" or "moller", not \'murray\''),
        ({"draws": "best"}, "draws must be one of .*, not 'best'"),
        ({"restart": 1}, "restart must be True or False, not 1"),
        pytest.param({"draws": "perfect"}, "needs an attractive field", marks=pytest.mark.warm),
    ],
)
def test_bad_options_are_refused(options, message):
    model = agreement_model(agreement_data(20, seed=1))
    with model, pytest.raises((TypeError, ValueError), match=message):
        AuxiliaryVariableMH([model["theta"]], **options)


def test_fields_it_cannot_serve_are_refused():
    with pm.Model() as model:
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Normal.dist(0, 1), shape=5)
        bias = pm.Normal("bias", 0, 1, shape=4)
        pmrf.BoltzmannMachine("x", theta, bias, graph=GRAPH, observed=agreement_data(20, seed=1))
        with pytest.raises(ValueError, match="constant node parameters"):
            AuxiliaryVariableMH([theta])
    model = agreement_model(agreement_data(20, seed=1), likelihood="pseudo")
    with model, pytest.raises(ValueError, match='likelihood="pseudo"'):
        AuxiliaryVariableMH([model["theta"]])
    with pm.Model():
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Uniform.dist(0.5, 1), shape=5)
        pmrf.AgreementMRF("x", theta, graph=GRAPH, n_states=3, observed=np.zeros((5, 4), dtype=int))
        with pytest.raises(ValueError, match="is for binary fields, but x has 3 states"):
            AuxiliaryVariableMH([theta], draws="perfect")


@pytest.mark.slow
def test_potts_like_fields_use_plain_chains():
    rng = np.random.default_rng(1)
    with pm.Model():
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Uniform.dist(0, 1), shape=5)
        pmrf.AgreementMRF("x", theta, graph=GRAPH, n_states=3, observed=rng.integers(3, size=(30, 4)))
        for draws in ("exact", "gibbs"):
            step = AuxiliaryVariableMH([theta], draws=draws, auxiliary="exchange", **QUICK)
            step.setup_chain(np.random.default_rng(1), 0, 50)
            point = {"theta": np.array([0.4, 0.4, 0.5, 0.5, 0.6])}
            for _ in range(50):
                point, _ = step.step(point)
            assert np.all((point["theta"] > 0) & (point["theta"] < 1))
