"""`Exchange` for the parameters of factor graphs, observed and latent, against enumeration."""

import itertools
import logging

import arviz as az
import cloudpickle
import numpy as np
import pymc as pm
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

from pymc_mrf.distributions.factor_graph_mrf import FactorGraphMRF
from pymc_mrf.steps.auxiliary.exchange import Exchange
from pymc_mrf.steps.auxiliary.intractable_fields import IntractableField
from tests.insides import blocks_of, fields_of
from tests.marks import slow
from tests.reference import factor_graph as reference
from tests.reference.exchange import quadrature
from tests.statistics import Z
from tests.steps.auxiliary.models import SAMPLE, moments_gaps, run

# a 3-clique and a 4-clique that share two variables, a pair and a single variable, 6 variables in all
SCOPES = [(0, 1, 2), (1, 2, 3, 4), (4, 5), (5,)]
GRID = np.linspace(-2.0, 2.5, 301)


def agreements(n_states):
    """Tables of the number of pairs that agree; states of a single variable count upwards."""
    found = []
    for scope in SCOPES:
        z = np.indices((n_states,) * len(scope))
        pairs = itertools.combinations(range(len(scope)), 2)
        found.append(
            sum((z[a] == z[b]).astype(float) for a, b in pairs) if len(scope) > 1 else 1.0 * z[0]
        )
    return found


def features(n_states, tables):
    """All configurations, and the sum of their tables."""
    weights = reference.weights(SCOPES, [n_states] * 6, tables)
    return np.array(list(weights)), np.array(list(weights.values()))


def draw_data(v, n, n_states, seed):
    states, f = features(n_states, agreements(n_states))
    p = np.exp(v * f - logsumexp(v * f))
    return states[np.random.default_rng(seed).choice(len(p), size=n, p=p)]


def strength_model(x, n_states, likelihood="particles"):
    with pm.Model() as model:
        v = pm.Normal("v", np.float64(0.0), np.float64(1.0))
        FactorGraphMRF(
            "x",
            [v * table for table in agreements(n_states)],
            scopes=SCOPES,
            cardinalities=[n_states] * 6,
            likelihood=likelihood,
            observed=x,
        )
    return model


def exact_moments(x, n_states):
    states, f = features(n_states, agreements(n_states))
    value = dict(zip(map(tuple, states), f, strict=True))
    total = sum(value[tuple(z)] for z in x)
    return quadrature(lambda v: v * total - len(x) * logsumexp(v * f) - 0.5 * v**2, GRID)


@pytest.mark.parametrize(("n_states", "auxiliary"), [(2, "exact"), slow(3, "gibbs")])
def test_posterior_is_exact(n_states, auxiliary):
    x = draw_data(0.3, 8, n_states, seed=1)
    model = strength_model(x, n_states)
    step = Exchange(model.free_RVs, model=model, draws=auxiliary, n_sweeps=10)
    draws = run(step, model.initial_point(), 800, tune=50)[:, 0]
    assert max(np.abs(moments_gaps(draws, *exact_moments(x, n_states)))) < Z


@pytest.mark.slow
def test_ratios_without_auxiliary_data_are_detected(monkeypatch):
    """Negative control: the comparison above tells when the partition function is left out."""
    x = draw_data(0.3, 12, 2, seed=1)
    model = strength_model(x, 2)
    step = Exchange(model.free_RVs, model=model)

    def wrong(self, old, new, rng):
        return float((new[0] - old[0]) @ (self.statistics(self.x) - self.statistics(self.x[::-1] * 0)))

    monkeypatch.setattr(IntractableField, "log_auxiliary_ratio", wrong)
    draws = run(step, model.initial_point(), 1000, tune=0)[:, 0]
    mean, sd = exact_moments(x, 2)
    assert abs(draws.mean() - mean) > 0.5 * sd


def noisy_or(x, likelihood="particles"):
    """Two causes, a finding, and a second finding that the first one excludes: -inf, 0 and moving."""
    q = np.array([[1.0, 0.3], [0.4, 0.12]])
    exclusive = np.array([[0.0, 0.0], [0.0, -np.inf]])
    with pm.Model() as model:
        leak = pm.Beta("leak", np.float64(1.0), np.float64(4.0))
        p = 1 - (1 - leak) * q
        FactorGraphMRF(
            "x",
            [np.log([0.6, 0.4]), pm.math.log(pm.math.stack([1 - p, p], axis=-1)), exclusive],
            scopes=[(0,), (0, 1, 2), (2, 3)],
            cardinalities=[2] * 4,
            likelihood=likelihood,
            observed=x,
        )
    return model


@pytest.mark.parametrize("auxiliary", ["exact", "gibbs"])
@pytest.mark.slow
def test_impossible_combinations(auxiliary):
    x = np.array([[0, 0, 0, 1], [1, 0, 1, 0], [1, 1, 1, 0], [0, 0, 0, 0], [0, 0, 1, 0]] * 2)
    model = noisy_or(x)
    step = Exchange(model.free_RVs, model=model, draws=auxiliary, n_sweeps=10)
    draws = run(step, model.initial_point(), 800, tune=50)[:, 0]
    logp = noisy_or(x, "exact").compile_logp()
    exact = quadrature(
        lambda v: float(logp({"leak_logodds__": np.asarray(v)})), np.linspace(-12, 5, 601)
    )
    assert max(np.abs(moments_gaps(draws, *exact))) < Z


def test_tables_that_make_the_data_impossible_are_refused():
    """The support of the field depends on a parameter: v < 0 excludes what was observed."""
    with pm.Model() as model:
        v = pm.Normal("v", np.float64(0.0), np.float64(1.0))
        table = pm.math.stack([0.0, pm.math.switch(v > 0, 0.5 * v, -np.inf)])
        FactorGraphMRF(
            "x", [table, np.zeros((2, 2))], scopes=[(0,), (0, 1)], cardinalities=[2, 2],
            likelihood="particles", observed=[[1, 0], [1, 1], [0, 1]],
        )  # fmt: skip
    step = Exchange(model.free_RVs, model=model)
    draws = run(step, {"v": np.array(0.3)}, 800, tune=50)[:, 0]
    grid = np.linspace(1e-6, 5, 2001)
    exact = quadrature(lambda v: v - 3 * np.log1p(np.exp(0.5 * v)) - 0.5 * v**2, grid)
    assert draws.min() > 0
    assert max(np.abs(moments_gaps(draws, *exact))) < Z


def test_contract():
    """State, pickling and seeds; rows with tables of their own."""
    x = draw_data(0.3, 6, 2, seed=2)
    label = np.repeat([0, 1], 3)
    with pm.Model() as model:
        v = pm.Normal("v", 0.0, 1.0, shape=2)
        rows = [v[label].reshape((6, *[1] * t.ndim)) * t for t in agreements(2)]
        FactorGraphMRF(
            "x", rows, scopes=SCOPES, cardinalities=[2] * 6, likelihood="particles", observed=x
        )
    step = Exchange(model.free_RVs, model=model, draws="gibbs", n_sweeps=3)
    assert [len(unit) for unit in fields_of(step)[0].units] == [3, 3]
    assert [list(block) for block in blocks_of(step)] == [[0], [1]]
    step.setup_chain(np.random.default_rng(1), 20, 5)
    point = model.initial_point()
    for _ in range(10):
        point, _ = step.step(point)
    again = cloudpickle.loads(cloudpickle.dumps(step))
    state = cloudpickle.loads(cloudpickle.dumps(step.sampling_state))
    first, stats = step.step(point)
    again.sampling_state = state
    second, _ = again.step(point)
    np.testing.assert_array_equal(first["v"], second["v"])
    assert (stats[0]["exchange_draws"], stats[0]["exchange_n_sweeps"]) == ("gibbs", 3)
    runs = [run(step, model.initial_point(), 10, seed=s, tune=5) for s in (3, 3, 4)]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])


@pytest.mark.slow
def test_latent_field_with_random_tables():
    """`TreeGibbs` draws the field and `Exchange` its parameter; predictive draws of the field."""
    states, f = features(2, agreements(2))
    rng = np.random.default_rng(5)
    truth = draw_data(0.6, 12, 2, seed=5)
    y = truth + rng.normal(0, 0.5, size=truth.shape)
    with pm.Model():
        v = pm.Normal("v", np.float64(0.0), np.float64(1.0))
        x = FactorGraphMRF(
            "x", [v * table for table in agreements(2)], scopes=SCOPES, cardinalities=[2] * 6,
            likelihood="particles", shape=(12, 6),
        )  # fmt: skip
        pm.Normal("y", x, np.float64(0.5), observed=y)
        options = {"tune": 200, "chains": 2, "cores": 1, "random_seed": 1, **SAMPLE}
        idata = pm.sample(500, **options)
        few = idata.isel(draw=slice(4))
        predictive = pm.sample_posterior_predictive(
            few, var_names=["x", "y"], sample_vars=["x", "y"], random_seed=1, progressbar=False
        )
    assert {"exchange_accept", "tree_gibbs_changed"} <= set(idata.sample_stats)
    noise = norm(states[None], 0.5).logpdf(y[:, None]).sum(axis=2)  # (rows, states)

    def log_posterior(v):
        return (logsumexp(noise + v * f, axis=1) - logsumexp(v * f)).sum() - 0.5 * v**2

    mean, _ = quadrature(log_posterior, GRID)
    draws = idata.posterior["v"].values
    error = float(az.mcse(draws))
    assert error < 0.05 and abs(draws.mean() - mean) < Z * error
    assert abs(draws.mean()) > Z * error  # the prior's mean is told apart
    assert predictive.posterior_predictive.x.shape == (2, 4, 12, 6)
    assert set(np.unique(predictive.posterior_predictive.x)) == {0, 1}


def coloring(n_states, shape=None, **kwargs):
    """Neighbours on a ring of 12 must differ, with a random preference of state 0."""
    differ = np.where(np.eye(n_states), -np.inf, 0.0)
    scopes = [(i, (i + 1) % 12) for i in range(12)] + [(i,) for i in range(12)]
    with pm.Model() as model:
        v = pm.Normal("v")
        tables = [differ] * 12 + [pm.math.stack([v] + [0.0] * (n_states - 1))] * 12
        FactorGraphMRF("x", tables, scopes=scopes, cardinalities=[n_states] * 12, shape=shape, **kwargs)
    return model


def test_latent_fields_start_where_they_can():
    """The default start, all variables in their first state, is impossible here."""
    model = coloring(3, shape=(2, 12), likelihood="particles")
    x = model.initial_point()["x"]
    assert x.shape == (2, 12) and np.all(x != np.roll(x, 1, axis=1))
    with model:
        pm.sample(20, tune=20, chains=1, cores=1, random_seed=1, **SAMPLE)
    impossible = coloring(2, likelihood="particles")  # two colours on a triangle
    assert np.all(impossible.initial_point()["x"] != np.roll(impossible.initial_point()["x"], 1))


def test_latent_fields_say_when_they_cannot_start():
    differ = np.where(np.eye(2), -np.inf, 0.0)
    with pm.Model() as model:
        FactorGraphMRF(
            "x", [differ] * 3, scopes=[(0, 1), (1, 2), (2, 0)], cardinalities=[2] * 3,
            likelihood="particles",
        )  # fmt: skip
    np.testing.assert_array_equal(model.initial_point()["x"], 0)
    with model, pytest.raises(ValueError, match="no configuration of x is possible"):
        pm.sample(5, tune=5, chains=1, cores=1, **SAMPLE)


def test_start_values_that_are_no_states_are_refused():
    model = strength_latent()
    step = Exchange([model["v"]], model=model)
    with pytest.raises(
        ValueError, match=r"start value of node 0 of x in row 0 is 2, but its states are"
    ):
        step.step({**model.initial_point(), "x": np.full((3, 6), 2)})


def strength_latent():
    with pm.Model() as model:
        v = pm.Normal("v")
        FactorGraphMRF(
            "x", [v * t for t in agreements(2)], scopes=SCOPES, cardinalities=[2] * 6,
            likelihood="particles", shape=(3, 6),
        )  # fmt: skip
    return model


def test_auto_says_when_it_is_not_exact(caplog):
    pairs = list(itertools.combinations(range(25), 2))
    with caplog.at_level(logging.INFO, logger="pymc_mrf"), pm.Model() as model:
        v = pm.Normal("v")
        table = v * np.eye(2)
        FactorGraphMRF(
            "x", [table] * len(pairs), scopes=pairs, cardinalities=[2] * 25, observed=[[0, 1] * 12 + [0]]
        )
    assert model["x"].owner.op.likelihood.name == "particles"
    assert 'likelihood="auto" is "particles" here: the junction tree has width 24' in caplog.text
    assert Exchange.competence(model["v"], False) > 0
