"""Exchange in PyMC: assignment, statistics, adaptation, frozen models, what is refused."""

import gc
import tracemalloc

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from pymc.model.transform.optimization import freeze_dims_and_data
from pymc.step_methods import STEP_METHODS, Slice
from pymc.step_methods.compound import CompoundStep

import pymc_mrf as pmrf
from pymc_mrf.steps.auxiliary.exchange import Exchange
from tests.insides import fields_of
from tests.steps.auxiliary.models import (
    COVARIATE,
    GRAPH,
    SAMPLE,
    X,
    groups,
    potts_model,
    regression,
    run,
)


@pytest.mark.parametrize(("auxiliary", "n_sweeps"), [("exact", 0), ("gibbs", 3)])
def test_statistics_tell_how_auxiliary_data_are_drawn(auxiliary, n_sweeps):
    model = regression()
    step = Exchange(model.free_RVs, model=model, draws=auxiliary, n_sweeps=3)
    _, [stats] = step.step(model.initial_point())
    assert (stats["exchange_draws"], stats["exchange_n_sweeps"]) == (auxiliary, n_sweeps)


def test_perfect_draws_of_more_than_two_states_are_refused():
    model = potts_model(X, "particles")
    with pytest.raises(
        ValueError, match='draws="perfect" is for binary fields, but x has 3 states; use'
    ):
        Exchange(model.free_RVs, model=model, draws="perfect")


def test_automatic_choice_and_options():
    with groups(n_groups=2):
        options = {"draws": "gibbs", "n_sweeps": 4, "blocks": [["J"], ["field"]], "n_updates": 2}
        idata = pm.sample(20, tune=20, chains=1, cores=1, random_seed=1, exchange=options, **SAMPLE)
    assert {"exchange_accept", "step_size"} <= set(idata.sample_stats)
    assert np.all(idata.sample_stats["exchange_n_sweeps"] == 4)


def test_adaptation_stops_with_tuning():
    model = regression()
    step = Exchange(model.free_RVs, model=model)
    step.setup_chain(np.random.default_rng(1), 50, 50)
    point = model.initial_point()
    for _ in range(50):
        point, _ = step.step(point)
    step.stop_tuning()
    learnt = step.log_scale.copy(), step.covariances[0].copy()
    for _ in range(50):
        point, _ = step.step(point)
    np.testing.assert_array_equal(step.log_scale, learnt[0])
    np.testing.assert_array_equal(step.covariances[0], learnt[1])


@pytest.mark.slow
def test_memory_does_not_grow():
    model = regression()
    step = Exchange(model.free_RVs, model=model, draws="gibbs", n_sweeps=1, n_updates=1)
    point, kept, grown = model.initial_point(), 0, []
    tracemalloc.start()
    for _ in range(6):  # Python's cache of attributes keeps up to 4096 names: they do not fill them all
        for _ in range(300):
            point, _ = step.step(point)
        gc.collect()
        before, kept = kept, tracemalloc.get_traced_memory()[0]
        grown.append(kept - before)
    tracemalloc.stop()
    assert min(grown) < 18_000  # one small array kept in every step would be 30 kB and more in each


def test_frozen_models_keep_their_step_and_others_get_pymc_steps():
    model = freeze_dims_and_data(groups(n_groups=2))
    with model:
        idata = pm.sample(20, tune=20, chains=1, cores=1, random_seed=1, **SAMPLE)
    assert {"exchange_accept", "step_size"} <= set(idata.sample_stats)

    # a variable without gradient that feeds no field, beside one that does
    with pm.Model() as model:
        J = pm.Normal("J")
        a = pm.Normal("a")
        pm.Potential("rough", -pt.as_tensor(pt.sort(pt.stack([a, 0.0])))[0] * 0.0)
        pmrf.Ising("x", J, graph=GRAPH, observed=2 * X - 1, likelihood="particles")
    values = [model.rvs_to_values[v] for v in (J, a)]
    steps = Exchange(vars=values, model=model, initial_point=model.initial_point())
    assert isinstance(steps, CompoundStep)
    assert [type(step) for step in steps.methods] == [Exchange, Slice]
    only = Exchange(vars=values[1:], model=model, initial_point=model.initial_point())
    assert isinstance(only, Slice)
    assert Exchange in STEP_METHODS


def test_data_containers_and_shapes():
    with pm.Model() as model:
        covariate = pm.Data("covariate", COVARIATE)
        x = pm.Data("data", 2 * X.reshape(5, 6, 3) - 1)
        b = pm.Normal("b")
        pmrf.Ising("x", b * covariate, graph=GRAPH, observed=x, likelihood="particles")
    step = Exchange(model.free_RVs, model=model)
    np.testing.assert_array_equal(fields_of(step)[0].x, X)
    assert np.all(np.isfinite(run(step, model.initial_point(), 20, tune=5)))


def foreign_parent():
    with pm.Model() as model:
        J, h = pm.Normal("J"), pm.Normal("h")
        pmrf.Ising("x", J, h, graph=GRAPH, observed=2 * X - 1, likelihood="particles")
    return model, ["J"]


def process_parent():
    with pm.Model() as model:
        J = pmrf.DirichletProcess("J", 1.0, pm.Normal.dist(0, 1), shape=3)
        h = pm.Normal("h")
        pmrf.Ising("x", J, h, graph=GRAPH, observed=2 * X - 1, likelihood="particles")
    return model, ["h"]


def discrete_parent():
    with pm.Model() as model:
        J, on = pm.Normal("J", shape=3), pm.Bernoulli("on", 0.5, shape=3)
        pmrf.Ising("x", J * on, graph=GRAPH, observed=2 * X - 1, likelihood="particles")
    return model, ["J"]


def no_field():
    with pm.Model() as model:
        tau = pm.HalfNormal("tau")
        J = pm.Normal("J", 0, tau)
        pmrf.Ising("x", J, graph=GRAPH, observed=2 * X - 1, likelihood="particles")
    return model, ["J", "tau"]


@pytest.mark.parametrize(
    ("make", "message", "in_sample"),
    [
        (foreign_parent, "but h is left to another step: pass h to the same Exchange", False),
        (process_parent, "does not sample J, a DirichletProcess", False),
        (discrete_parent, "depends on the discrete on", True),
        (no_field, 'likelihood="particles", but tau reaches none: leave it to another step', False),
    ],
)
def test_refused_before_sampling(make, message, in_sample):
    model, names = make()
    with pytest.raises(ValueError, match=message):
        Exchange([model[name] for name in names], model=model)
    if in_sample:
        with pytest.raises(ValueError, match=message):
            pm.sample(10, tune=10, model=model, **SAMPLE)


def test_a_discrete_parent_is_refused_by_name():
    with pm.Model():
        on = pm.Bernoulli("on", 0.5, shape=3)
        pmrf.Ising("x", 0.5 * on, graph=GRAPH, observed=2 * X - 1, likelihood="particles")
        with pytest.raises(ValueError, match="on is discrete and parametrises a field"):
            pm.sample(10, tune=10, **SAMPLE)
