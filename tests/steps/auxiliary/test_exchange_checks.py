"""What `Exchange` warns of, and what becomes of discrete variables of frozen models."""

import re

import numpy as np
import pymc as pm
import pytest
from pymc.model.transform.optimization import freeze_dims_and_data, freeze_model
from pymc.step_methods import BinaryGibbsMetropolis

import pymc_mrf as pmrf
from pymc_mrf.distributions.factor_graph_mrf import FactorGraphMRF
from pymc_mrf.graph import builders
from pymc_mrf.likelihood.particles.auxiliary import AuxiliarySampler
from pymc_mrf.steps.auxiliary.exchange import Exchange
from pymc_mrf.steps.auxiliary.exchange_checks import LONGER, N_SETS, SHARE, standstill
from pymc_mrf.steps.auxiliary.intractable_fields import IntractableField
from tests.steps.auxiliary.models import GRAPH, SAMPLE, X, draw_data, run, shared_coupling

TOO_SHORT = "n_sweeps=1 is too small: 3 times as many Gibbs sweeps .* of x change .*n_sweeps=10"


def said(step, point, n, seed=1, tune=50):
    """Text of the warning at the end of a chain, empty if there is none."""
    step.setup_chain(np.random.default_rng(seed), tune, n)
    for t in range(tune + n):
        if t == tune:
            step.stop_tuning()
        point, [stats] = step.step(point)
        assert t == tune + n - 1 or stats["warning"] is None
    return "" if stats["warning"] is None else stats["warning"].message


def strong_and_weak():
    """A coupling at which chains hardly move between their two modes, with a field; a weak coupling."""
    with pm.Model() as strong:
        J, h = pm.Normal("J", 0, 1), pm.Normal("h", 0, 1)
        x = 2 * draw_data(0.9, 40, seed=0) - 1
        pmrf.Ising("x", J, h, graph=GRAPH, observed=x, likelihood="particles")
    return strong, shared_coupling(draw_data(0.05, 40, seed=0))


@pytest.mark.slow
def test_short_auxiliary_chains_are_reported_under_strong_coupling_alone():
    strong, weak = strong_and_weak()
    options = {"draws": "gibbs", "n_sweeps": 1}
    step = Exchange(strong.free_RVs, model=strong, **options)
    start = strong.initial_point()
    assert re.search(TOO_SHORT, said(step, start, 300))
    assert not said(step, start, 50)  # fewer than 20 comparisons
    assert not said(Exchange(strong.free_RVs, model=strong), start, 100)  # exact draws
    step = Exchange(weak.free_RVs, model=weak, draws="gibbs", n_sweeps=4)
    for seed in range(3):
        assert not said(step, weak.initial_point(), 100, seed=seed)


def test_the_cost_of_the_check_is_bounded(monkeypatch):
    """By a share of the auxiliary draws in short chains, by a number of them in long ones."""
    counts = {"all": 0, "checks": 0}
    draw, prolong = AuxiliarySampler.draw, IntractableField.prolonged_statistics

    def counted(self, *args, **kwargs):
        counts["all"] += 1
        return draw(self, *args, **kwargs)

    def prolonged(self, *args):
        before = counts["all"]
        result = prolong(self, *args)
        counts["checks"] += counts["all"] - before
        return result

    monkeypatch.setattr(AuxiliarySampler, "draw", counted)
    monkeypatch.setattr(IntractableField, "prolonged_statistics", prolonged)
    model = shared_coupling()
    for n_updates, n, least in ((5, 60, 20), (1, 60, 4), (5, 500, N_SETS)):
        step = Exchange(model.free_RVs, model=model, draws="gibbs", n_sweeps=1, n_updates=n_updates)
        counts.update(all=0, checks=0)
        said(step, model.initial_point(), n, tune=0)
        assert least <= counts["checks"] / LONGER <= N_SETS
        assert counts["checks"] <= SHARE * (counts["all"] - counts["checks"]) + LONGER


def test_a_far_start_is_forgotten():
    """The spread that tuning learns is that of the posterior, not of the way there."""
    model = shared_coupling()
    step = Exchange(model.free_RVs, model=model)
    draws = run(step, {"J": np.array(8.0)}, 500, tune=200)
    assert draws.std() / 1.5 < np.sqrt(step.covariances[0][0, 0]) < 1.5 * draws.std()


@pytest.mark.slow
def test_short_chains_of_a_factor_graph_are_reported():
    """Coupled triples, one observation per row; the same chain with enough sweeps is not reported."""
    x = draw_data(0.5, 20, seed=1)
    table = np.zeros((2, 2, 2))
    table[0, 0, 0] = table[1, 1, 1] = 1.0
    with pm.Model() as model:
        v, h = pm.Normal("v", 0, 2), pm.Normal("h", 0, 1)
        tables = [v * table] + [pm.math.stack([0.0, h])] * 6
        scopes = [(0, 1, 2), *[(i,) for i in (0, 1, 2)] * 2]
        pairs = [(0, 1), (1, 2), (2, 0)]
        FactorGraphMRF(
            "x", [*tables, *[v * np.eye(2)] * 3], scopes=[*scopes, *pairs], cardinalities=[2] * 3,
            observed=x, likelihood="particles",
        )  # fmt: skip
    for n_sweeps, short in ((1, True), (30, False)):
        step = Exchange(model.free_RVs, model=model, draws="gibbs", n_sweeps=n_sweeps)
        assert ("is too small" in said(step, model.initial_point(), 300)) == short


def test_standstill_is_reported():
    model = shared_coupling()
    step = Exchange(model.free_RVs, model=model, n_updates=1)
    step.setup_chain(np.random.default_rng(1), 0, 60)
    step.log_scale[:] = 12.0
    point = {"J": np.array(0.1)}
    for _ in range(60):
        point, [stats] = step.step(point)
    message = stats["warning"].message
    assert re.search(r"accepted no proposal for J, .* of 60 draws.*tune=.*initvals", message)
    assert not said(step, model.initial_point(), 60, tune=20)
    assert not standstill(
        ["a", "b"], np.array([True, False]), np.array([0, 1, 2]), 5
    )  # too early to tell
    [message] = standstill(["a", "b"], np.array([True, True, False]), np.array([0, 1, 3]), 500)
    assert "for b, or for entries of it" in message


def test_frozen_auxiliary_chains_are_reported():
    """Nodes that must agree: single trees of a triangle never change, however long the chains."""
    agree = np.where(np.eye(2) > 0, 0.0, -np.inf)
    rng = np.random.default_rng(1)
    x = np.repeat(rng.integers(2, size=(30, 1)), 3, axis=1)
    with pm.Model() as model:
        h = pm.Normal("h", 0, 3)
        tables = [agree] * 3 + [pm.math.stack([0.0 * h, h])]
        scopes = [(0, 1), (1, 2), (0, 2), (0,)]
        FactorGraphMRF(
            "x", tables, scopes=scopes, cardinalities=[2] * 3, observed=x, likelihood="particles"
        )
    step = Exchange(model.free_RVs, model=model, draws="gibbs")
    assert "never changed 3 nodes of x" in said(step, model.initial_point(), 70)
    assert not said(Exchange(model.free_RVs, model=model, draws="exact"), model.initial_point(), 150)


def test_impossible_starts_are_left_and_rejections_are_no_moves():
    """A cell that occurs is impossible where th > 0.5, which half of the prior is."""
    x = np.array([[0, 0], [0, 1], [1, 1], [1, 1], [1, 0]] * 8)
    with pm.Model() as model:
        th = pm.Uniform("th", 0, 1)
        z = 0.0 * th
        cell = pm.math.switch(th > 0.5, -np.inf, 3.0 * th)
        table = pm.math.stack([pm.math.stack([z, z]), pm.math.stack([z, cell])])
        FactorGraphMRF(
            "x", [table], scopes=[(0, 1)], cardinalities=[2, 2], observed=x, likelihood="particles"
        )
    step = Exchange(model.free_RVs, model=model)
    start = {"th_interval__": np.array(2.0)}  # impossible
    draws = run(step, start, 200, tune=100)
    assert (draws < 0.0).all() and len(np.unique(draws)) > 20
    model.set_initval(th, 0.9)
    step = Exchange(model.free_RVs, model=model)
    step.setup_chain(np.random.default_rng(1), 0, 60)
    step.log_scale[:] = -80.0  # nothing changes
    point = {"th_interval__": np.array(-1.0)}
    for _ in range(60):
        point, [stats] = step.step(point)
    assert "accepted no proposal for th" in stats["warning"].message


@pytest.mark.parametrize("freeze", [freeze_model, freeze_dims_and_data])
def test_discrete_parents_of_frozen_models_are_refused(freeze):
    with pm.Model() as model:
        on = pm.Bernoulli("on", 0.5, shape=3)
        pmrf.Ising("x", 0.5 * on, graph=GRAPH, observed=2 * X - 1, likelihood="particles")
    frozen = freeze(model)
    with frozen, pytest.raises(ValueError, match="on is discrete and parametrises a field"):
        pm.sample(10, tune=10, **SAMPLE)

    # a variable of the same name in another model gets PyMC's step
    with pm.Model() as other:
        on = pm.Bernoulli("on", 0.5, shape=3)
        pm.Normal("y", on.sum(), 1.0, observed=0.3)
        pmrf.Ising("x", 0.3, graph=builders.chain(3), observed=2 * X - 1, likelihood="particles")
        steps = pm.sampling.mcmc.assign_step_methods(other)[1]
        [(claimed, values)] = steps.items()
        point = other.initial_point()
        step = claimed(vars=values, model=other, initial_point=point, compile_kwargs=None)
    assert claimed.__name__ == "Unsampleable"
    assert isinstance(step, BinaryGibbsMetropolis)
