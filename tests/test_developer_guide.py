"""The examples of the developer guide: a step and its statistics, complete as they stand on the page."""

from pathlib import Path

import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf
from examples import pages
from pymc_mrf.analysis import sampler_statistics
from pymc_mrf.steps import assign

PAGE = Path(__file__).parent.parent / "docs" / "developer.md"


@pytest.fixture(scope="module")
def steps():
    """Names that the code of the page defines."""
    namespace = {"__name__": "developer"}
    for code in pages.code_blocks(PAGE):
        exec(code, namespace)
    return namespace


@pytest.fixture
def registered(steps, monkeypatch):
    """The same, the classes being among the registered steps."""
    monkeypatch.setattr(assign, "STEPS", (*assign.STEPS, steps["Climber"], steps["MeasuredClimber"]))
    sampler_statistics.all_declared.cache_clear()
    yield steps
    sampler_statistics.all_declared.cache_clear()


def sampled(step, draws=60, **options):
    with pm.Model():
        x = pm.Normal("x", 0, 1, shape=2)
        return pm.sample(
            draws,
            tune=10,
            chains=2,
            cores=1,
            step=step([x], **options),
            random_seed=1,
            progressbar=False,
            quiet=True,
            compute_convergence_checks=False,
        )


def test_statistics_are_diagnosed_and_drawn(registered):
    idata = sampled(registered["MeasuredClimber"])
    names = {"climber_accept", "measured_climber_distance", "measured_climber_width"}
    assert names == set(idata.sample_stats.data_vars)
    shown = sampler_statistics.sampler_statistics(idata)
    assert set(shown.data_vars) == {"climber_accept", "measured_climber_distance"}
    found = pmrf.diagnose(idata).findings
    [far] = [f for f in found if "distance of a move" in f.text]
    assert (far.subject, far.level) == ("MeasuredClimber", "for")
    assert [f for f in found if f.subject == "Climber" and "acceptance" in f.text]


def test_state_is_reset_and_resumed(steps):
    with pm.Model() as model:
        step = steps["Climber"]([pm.Normal("x", 0, 1, shape=2)])
    step.setup_chain(np.random.default_rng(1), 5, 5)
    point, _ = step.step({"x": np.full(2, 3.0)})
    state = step.sampling_state
    first, _ = step.step(point)
    step.sampling_state = state
    again, _ = step.step(point)
    np.testing.assert_array_equal(first["x"], again["x"])
    step.setup_chain(np.random.default_rng(1), 5, 5)
    assert (step.n_accepted, step.started, step.count.n_draws) == (0, False, 0)
    assert model["x"].name == "x"


def test_a_chain_that_stands_still_is_warned_of(steps):
    with pm.Model():
        step = steps["Climber"]([pm.Normal("x", 0, 1)], width=1e9)
    step.setup_chain(np.random.default_rng(1), 0, 60)
    point = {"x": np.array(0.0)}
    for _ in range(60):
        point, [stats] = step.step(point)
    assert "x never moved in 60 draws; use a smaller width" in stats["warning"].message
