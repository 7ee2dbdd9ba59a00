"""`ParticleRatioGibbs`: distance from exact posteriors, controls, the step contract, what is refused."""

from functools import cache

import arviz as az
import cloudpickle
import numpy as np
import pymc as pm
import pytest
from scipy import special, stats

import pymc_mrf as pmrf
from pymc_mrf.likelihood.particles import particle_groups as engine
from pymc_mrf.likelihood.particles.particle_groups import LEAST_PARTICLES
from pymc_mrf.steps.groups import particle_ratio_gibbs as module
from pymc_mrf.steps.groups.particle_ratio_gibbs import ParticleRatioGibbs
from tests.insides import engines_of
from tests.reference.grouped_posterior import grouped_posterior
from tests.statistics import Z
from tests.steps.groups.models import EDGES, GRAPH, agreement_data, agreement_model, boltzmann, ising

TOLERANCE = 0.03  # of a probability, besides Monte-Carlo error
TOLERANCE_MEAN = 0.005  # of E[theta]
SAMPLE = {"progressbar": False, "quiet": True, "compute_convergence_checks": False}


def sample(model, draws=1000, seed=1, **options):
    with model:
        step = ParticleRatioGibbs([model[model.free_RVs[0].name]], **options)
        return pm.sample(draws, tune=100, chains=2, cores=1, step=step, random_seed=seed, **SAMPLE)


def share_of_groups(idata):
    """P(number of groups = k), k = 0..r, and its Monte-Carlo errors."""
    groups = pmrf.n_groups(idata, "theta").values
    events = groups[..., None] == np.arange(6)
    errors = [
        float(az.mcse(event.astype(float))) if event.any() else 0.0
        for event in np.moveaxis(events, -1, 0)
    ]
    return events.mean(axis=(0, 1)), np.array(errors)


def excess(idata, exact, theta_of=lambda parameter: parameter):
    """Largest error beyond tolerance and Monte-Carlo noise: P(number of groups), E[theta]."""
    share, error = share_of_groups(idata)
    probabilities = np.abs(share - exact.n_groups) - Z * error - TOLERANCE
    theta = theta_of(idata.posterior["theta"].values)
    error = np.array([float(az.mcse(theta[..., e])) for e in range(theta.shape[-1])])
    means = np.abs(theta.mean(axis=(0, 1)) - exact.mean) - Z * error - TOLERANCE_MEAN
    return max(probabilities.max(), means.max())


@cache
def few_data():
    """Draws of 60 rows with 600 particles."""
    return sample(agreement_model(agreement_data(60, seed=1)), n_particles=600)


@pytest.mark.slow
def test_posterior_of_few_data_is_close_to_exact():
    assert excess(few_data(), grouped_posterior(agreement_data(60, seed=1), EDGES, 1.0)) < 0


@pytest.mark.slow
def test_posterior_of_many_data_is_close_to_exact():
    x = agreement_data(200, seed=1)
    idata = sample(agreement_model(x), n_particles=2000)
    assert excess(idata, grouped_posterior(x, EDGES, 1.0)) < 0


@pytest.mark.slow
def test_a_strong_edge_with_few_data():
    """One edge alone: the posterior is a Beta distribution; few particles show its rare disagreements."""
    x = np.zeros((60, 2), dtype=np.int8)
    x[:2, 1] = 1
    with pm.Model() as model:
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Uniform.dist(0, 1), shape=1)
        pmrf.AgreementMRF("x", theta, graph=pmrf.graphs.chain(2), observed=x, likelihood="particles")
    draws = sample(model).posterior["theta"].values[..., 0]
    exact = stats.beta(59, 3)
    assert abs(draws.mean() - exact.mean()) < Z * float(az.mcse(draws))
    assert abs(draws.std() - exact.std()) < Z * float(az.mcse(draws, method="sd"))


class Frozen(engine.ParticleGroups):
    """Unweighted particles that are as they were drawn, from independent nodes, whenever they are renewed."""

    def start(self, eta, n_sweeps, rng):
        self._drawn = rng.integers(2, size=self._z.shape).astype(np.int8)
        super().start(eta, n_sweeps, rng)

    def _sweep(self, n_sweeps, rng):
        self._z[:] = self._drawn

    def change(self, eta, rng):
        super().change(eta, rng)
        self.renew(rng)


@pytest.mark.slow
def test_the_same_comparison_detects_frozen_unweighted_particles(monkeypatch):
    x = agreement_data(200, seed=1)
    monkeypatch.setattr(module, "ParticleGroups", Frozen)
    idata = sample(agreement_model(x), n_particles=2000)
    assert excess(idata, grouped_posterior(x, EDGES, 1.0)) > 0


@pytest.mark.slow
def test_doubling_the_particles_moves_nothing():
    more = sample(agreement_model(agreement_data(60, seed=1)), n_particles=1200, seed=2)
    (few, few_error), (many, many_error) = map(share_of_groups, (few_data(), more))
    assert np.all(np.abs(few - many) <= Z * np.hypot(few_error, many_error))


@pytest.mark.slow
@pytest.mark.parametrize("make", [ising, boltzmann])
def test_other_families_and_constant_node_parameters(make):
    model, exact, theta_of = make()
    assert excess(sample(model), exact, theta_of) < 0


@pytest.mark.slow
def test_three_states_against_the_exact_sampler(rng):
    x = rng.integers(3, size=(60, 4))
    x[:, 1] = np.where(rng.random(60) < 0.6, x[:, 0], x[:, 1])
    with pm.Model() as model:
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Uniform.dist(0, 1), shape=5)
        pmrf.AgreementMRF("x", theta, graph=GRAPH, n_states=3, observed=x)
        exact = pm.sample(
            500, tune=50, chains=2, cores=1, step=pmrf.steps.GroupGibbs([theta]), random_seed=2, **SAMPLE
        )
    (found, found_error), (share, share_error) = map(share_of_groups, (sample(model), exact))
    assert np.all(np.abs(found - share) <= Z * np.hypot(found_error, share_error) + TOLERANCE)


def test_statistics_and_the_number_of_particles():
    model = agreement_model(agreement_data(60, seed=1), likelihood="particles")
    stats = sample(model, draws=50, target_noise=0.2).sample_stats
    declared = {k: v for k, v in ParticleRatioGibbs.stats_dtypes_shapes.items() if k != "warning"}
    for name, (dtype, _) in declared.items():
        assert stats[name].dtype == dtype
        assert stats[name].dims == ("chain", "draw")
    with model:
        step = ParticleRatioGibbs([model["theta"]], target_noise=0.2)
    [(z, _, w, _)] = step.particles
    assert z.shape[1] >= LEAST_PARTICLES
    assert len(w) == 5
    with model:
        step = ParticleRatioGibbs([model["theta"]], target_noise=0.02)
    assert step.particles[0][0].shape[1] > z.shape[1]
    assert np.all((stats["particle_ratio_ess"] > 0) & (stats["particle_ratio_ess"] <= 1))
    # Rao-Blackwellised: below the noise of the plain particles
    assert 0.0 < float(stats["particle_ratio_noise"].mean()) < 0.2
    assert stats["particle_ratio_renewals"].max() > 0


def test_noise_and_drift_are_kept_of_draws_only():
    model = agreement_model(agreement_data(50, seed=1))
    with model:
        method = ParticleRatioGibbs([model["theta"]])
    method.setup_chain(np.random.default_rng(1), 1, 5)
    point = model.initial_point()
    for i in range(3):
        if i == 1:
            method.stop_tuning()
        point, _ = method.step(point)
    assert len(method.record.squares) == len(method.record.squared_distances) == 2
    state = cloudpickle.loads(cloudpickle.dumps(method.sampling_state))
    method.step(point)
    method.sampling_state = state
    assert len(method.record.squares) == 2


def test_a_point_moved_from_outside_is_followed():
    """Another start than the last draw: weights take the particles there."""
    model = agreement_model(agreement_data(50, seed=1))
    with model:
        step = ParticleRatioGibbs([model["theta"]])
    step.setup_chain(np.random.default_rng(1), 0, 5)
    point, _ = step.step(model.initial_point())
    [likelihood], seen = engines_of(step), []
    view = likelihood.view
    likelihood.view = lambda eta: seen.append(step.particles[0][2]) or view(eta)
    scale = view(np.zeros(5)).scale
    step.step({**point, "theta": np.array([0.2, 0.2, 0.3, 0.3, 0.9])})
    np.testing.assert_allclose(special.expit(scale * seen[0]), [0.2, 0.2, 0.3, 0.3, 0.9])


def test_refused_arguments():
    model = agreement_model(agreement_data(20, seed=1))
    for options, message in (
        ({"n_particles": 0}, "n_particles must be a positive integer, not 0"),
        ({"n_sweeps": None}, "n_sweeps must be a positive integer, not None"),
        ({"n_sweeps": 1.5}, r"n_sweeps must be a positive integer, not 1\.5"),
        ({"target_noise": 0.0}, r"target_noise must be a number above 0 and below 1, not 0\.0"),
        ({"target_noise": "low"}, "target_noise must be a number above 0 and below 1, not 'low'"),
    ):
        with model, pytest.raises(ValueError, match=message):
            ParticleRatioGibbs([model["theta"]], **options)
    with pm.Model() as model:
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Normal.dist(0, 1), shape=5)
        bias = pm.Normal("bias", 0, 1, shape=4)
        x = agreement_data(20, seed=1)
        pmrf.BoltzmannMachine("x", theta, bias, graph=GRAPH, observed=x, likelihood="particles")
        with pytest.raises(
            ValueError,
            match=r"pass bias too, as in pymc_mrf.steps.ParticleRatioGibbs\(\[theta, bias\]\)",
        ):
            ParticleRatioGibbs([theta])
