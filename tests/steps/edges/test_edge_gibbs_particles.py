"""EdgeGibbs on fields that are simulated: errors against all structures, warnings, refusals."""

import cloudpickle
import numpy as np
import pymc as pm
import pytest
from pymc.step_methods.state import equal_dataclass_values

from pymc_mrf.likelihood.particles import particle_edges
from pymc_mrf.likelihood.particles.particle_edges import ParticleEdges
from pymc_mrf.steps.edges.edge_gibbs import EdgeGibbs
from tests.insides import engine_in
from tests.statistics import Z
from tests.steps.edges.binary_models import (
    BIAS,
    EDGES,
    GRAPH,
    SAMPLE,
    TRIANGLE,
    beta_p,
    boltzmann_data,
    fixed_bias_model,
    random_bias_model,
    reference,
)
from tests.steps.edges.particle_models import (
    assert_inclusion,
    draws_of,
    gaps_of_biases,
)
from tests.steps.edges.small_models import edge_model


@pytest.mark.slow
def test_noise_does_not_widen_the_posterior():
    """Few particles, long joint moves: the correction for their noise keeps the spread."""
    x = boltzmann_data(300, 5, EDGES, np.array([2.0, 0.5, -1.0, 0.5, 1.0, -0.5]), BIAS)
    spread = []
    for likelihood, options in (("exact", {}), ("particles", {"n_particles": 900})):
        model = random_bias_model(x, p=0.9, likelihood=likelihood, graph=GRAPH)
        _, b = draws_of(model, ["w", "b"], n_draws=2000, **options)
        spread.append(b.std(axis=(0, 1)))
    # without it, sqrt(1 + n / m) = 1.15 and more
    assert np.abs(np.log(spread[1] / spread[0])).max() < 0.1


@pytest.mark.compiled
@pytest.mark.slow
def test_random_p_by_nuts():
    x = boltzmann_data(80, seed=1)
    model = fixed_bias_model(x, p=(2.0, 3.0), likelihood="particles")
    with model:
        idata = pm.sample(
            4000, tune=500, chains=2, cores=1, step=EdgeGibbs([model["w"]]), random_seed=1, **SAMPLE
        )
    assert_inclusion(idata.posterior.w.values, reference(x, "exact", beta_p(2.0, 3.0)).inclusion)


def test_it_is_the_default_and_tells_how_noisy_it_is():
    with edge_model("particles"):
        found = pm.sample(30, tune=10, chains=2, cores=1, random_seed=7, **SAMPLE).sample_stats
    assert (found["edge_gibbs_noise"] >= 0).all()  # none where hardly an edge is present
    assert found["edge_gibbs_noise"].max() > 0
    assert ((found["edge_gibbs_ess"] > 0) & (found["edge_gibbs_ess"] <= 1)).all()


def test_the_state_holds_the_particles():
    """Negative control of the round trip of states in test_contract.py: without them the step differs."""
    model = edge_model("particles")
    with model:
        method = EdgeGibbs([model["w"], model["b"]], n_particles=100)
    method.setup_chain(np.random.default_rng(1), 5, 5)
    point = model.initial_point()
    for _ in range(3):
        point, _ = method.step(point)
    state = cloudpickle.loads(cloudpickle.dumps(method.sampling_state))
    first, _ = method.step(point)
    again = cloudpickle.loads(cloudpickle.dumps(method))
    again.setup_chain(np.random.default_rng(2), 5, 5)
    again.sampling_state = state
    second, _ = again.step(point)
    for name in ("w", "b"):
        np.testing.assert_array_equal(first[name], second[name])
    assert equal_dataclass_values(method.sampling_state, again.sampling_state)
    again.sampling_state = state
    engine_in(again).forget()
    third, _ = again.step(point)
    assert not np.array_equal(first["w"], third["w"])


def test_engines_without_particles_report_no_noise():
    with edge_model("exact") as model:
        step = EdgeGibbs([model["w"], model["b"]])
    _, [found] = step.step(model.initial_point())
    assert (found["edge_gibbs_noise"], found["edge_gibbs_ess"]) == (0.0, 1.0)
    assert found["edge_gibbs_resamplings"] == 0
    assert step.particles == ()


def test_options_reach_the_engine():
    model = edge_model("particles")
    with model:
        step = EdgeGibbs([model["w"], model["b"]], n_particles=77, n_sweeps=3)
    assert isinstance(engine_in(step), ParticleEdges)
    assert (engine_in(step).n_particles, engine_in(step).view.n_sweeps) == (77, 3)


def test_too_few_particles_are_told_of():
    rng = np.random.default_rng(3)
    x = np.where(
        rng.random((400, 3)) < 0.15, rng.integers(2, size=(400, 3)), rng.integers(2, size=(400, 1))
    )
    model = random_bias_model(x, likelihood="particles")
    said = {}
    for m in (4, 4000):
        step = EdgeGibbs([model["w"], model["b"]], model=model, n_particles=m)
        step.setup_chain(np.random.default_rng(1), 10, 20)
        point = model.initial_point()
        for t in range(30):
            if t == 10:
                step.stop_tuning()
            point, [stats] = step.step(point)
            assert t == 29 or stats["warning"] is None
        said[m] = stats["warning"]
    assert "The 4 particles of EdgeGibbs are too few for w" in said[4].message
    assert said[4000] is None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:x never changes at 2")
@pytest.mark.parametrize("state", [0, 1], ids=["nobody", "everybody"])
def test_an_item_that_all_answer_alike(state, monkeypatch):
    x = np.random.default_rng(1).integers(2, size=(60, 3))
    x[:, 2] = state

    def make(likelihood):
        return random_bias_model(x, graph=TRIANGLE, likelihood=likelihood)

    gap, spread, error = gaps_of_biases(make, n_particles=200)
    assert (gap < 0.1 * spread + Z * error).all()
    monkeypatch.setattr(particle_edges, "RARE", 0)  # negative control: joint moves of this item, too
    gap, spread, _ = gaps_of_biases(make, n_particles=200)
    assert gap[2] > 0.5 * spread[2]
