"""Starts of hidden fields: classes that PyMC starts alike are told apart, before the first draw."""

from itertools import permutations

import numpy as np
import pymc as pm
import pytest
from scipy.optimize import check_grad

import pymc_mrf as pmrf
from pymc_mrf.graph import builders
from pymc_mrf.likelihood.auxiliary import AuxiliarySampler
from pymc_mrf.steps import latent_start
from pymc_mrf.steps.latent_start import _Mixture

GRID = builders.grid(24, 24)
N_STATES = 3


def picture():
    """Classes of pixels, most of them 0, with J = 1.15 beyond the critical 1.005; noisy levels 0, 1, 2."""
    rng = np.random.default_rng(1)
    tables = 1.15 * np.eye(N_STATES)[None].repeat(GRID.n_edges, axis=0)
    sampler = AuxiliarySampler(GRID, N_STATES, 1, draws="gibbs", n_sweeps=300, name="x")
    start = np.zeros((1, GRID.n_nodes), dtype=np.int8)
    x = sampler.draw(tables, np.zeros((GRID.n_nodes, N_STATES)), rng, start=start)[0]
    assert 0.8 < np.mean(x == 0) < 0.97, "most pixels in one class"
    return x, x + rng.normal(0.0, 0.5, size=len(x))


X, Y = picture()


def hidden_picture(y=Y, **options):
    with pm.Model() as model:
        level = pm.Normal("level", 0.0, 2.0, shape=N_STATES, **options)
        noise = pm.HalfNormal("noise", 1.0)
        x = pmrf.Potts("x", 1.0, graph=GRID, n_states=N_STATES)
        pm.Normal("y", level[x], noise, observed=y)
    return model


def first_step(step, model):
    step.setup_chain(np.random.default_rng(3), 10, 10)
    return step.step(model.initial_point())[0]


def misclassified(x):
    """Share of pixels in a wrong class, whatever the names of the classes."""
    return min(np.mean(np.array(names)[x] != X) for names in permutations(range(N_STATES)))


def test_classes_that_start_alike_are_told_apart():
    model = hidden_picture()
    step = pmrf.TreeGibbs([model["x"]], model=model)
    point = first_step(step, model)
    with_truth = {"level": np.arange(3.0), "noise_log__": np.log(0.5)}
    step._classes = with_truth
    best = misclassified(first_step(step, model)["x"])
    assert np.abs(np.sort(point["level"]) - np.arange(3.0)).max() < 0.3
    assert abs(np.exp(point["noise_log__"]) - 0.5) < 0.05
    assert misclassified(point["x"]) < best + 0.03
    step._classes = {}
    assert misclassified(first_step(step, model)["x"]) > 0.5  # PyMC's default says nothing
    again = pmrf.TreeGibbs([model["x"]], model=model)  # all chains have the same names for the classes
    np.testing.assert_array_equal(again._classes["level"], point["level"])


def test_some_cells_speak_for_all(monkeypatch):
    stripes = np.arange(len(Y)) * 3 // len(Y)
    model = hidden_picture(stripes + np.random.default_rng(2).normal(0.0, 0.5, size=len(Y)))
    step = pmrf.TreeGibbs([model["x"]], model=model)
    arguments = step._field, step._evidence, model, model.initial_point(), ["level", "noise_log__"], None
    whole = _Mixture(*arguments)
    monkeypatch.setattr(latent_start, "MAX_READ", 200)
    some = _Mixture(*arguments)
    u = np.array([0.3, -0.2, 1.4, -0.5, 0.2, -0.1, 0.4, 0.0])
    shares = whole._expand(u[:4], whole._log_weights(u[4:], whole._every), whole._every)[1]
    whole._around = some._around = whole._sum_around(shares)
    u[7] = 0.7
    error = check_grad(lambda v: some._objective(v)[0], lambda v: some._objective(v)[1], u)
    assert error < 1e-3 * np.linalg.norm(some._objective(u)[1])

    def density(cells):
        return whole._expand(u[:4], whole._log_weights(u[4:], cells), cells)[0]

    each = [density(np.array([n])) for n in range(len(Y))]
    assert np.mean(each) == pytest.approx(density(whole._every))
    assert np.mean([each[n] for n in some._some]) == pytest.approx(density(some._some))
    fitted = some.values(some.fit())
    assert np.abs(np.sort(fitted["level"]) - np.arange(3.0)).max() < 0.3
    assert abs(np.exp(fitted["noise_log__"]) - 0.5) < 0.1


def test_starts_of_the_user_are_kept():
    model = hidden_picture(initval=[2.0, 1.0, 0.0])
    step = pmrf.TreeGibbs([model["x"]], model=model)
    assert set(step._classes) == {"noise_log__"}
    np.testing.assert_array_equal(first_step(step, model)["level"], [2.0, 1.0, 0.0])

    model = hidden_picture()  # as by pm.sample(initvals=...)
    start = {**model.initial_point(), "level": np.array([0.0, 0.5, 1.0]), "noise_log__": np.array(-1.0)}
    assert pmrf.TreeGibbs([model["x"]], model=model, initial_point=start)._classes == {}

    step = pmrf.TreeGibbs([model["x"]], model=model)  # of which another chain starts elsewhere
    step.setup_chain(np.random.default_rng(3), 10, 10)
    np.testing.assert_array_equal(step.step(start)[0]["level"], start["level"])

    states = np.arange(GRID.n_nodes) % N_STATES  # where the states are given, nothing else is moved
    step.setup_chain(np.random.default_rng(3), 10, 10)
    assert step.step({**model.initial_point(), "x": states})[0]["level"].any() == np.False_


@pytest.mark.parametrize("case", ["many", "of the field", "none"])
def test_what_is_not_fitted(case):
    with pm.Model() as model:
        if case == "many":  # an effect for every pixel
            effect = pm.Normal("effect", 0.0, 1.0, shape=GRID.n_nodes)
        elif case == "of the field":
            effect = pm.Normal("effect", 0.0, 1.0)
        else:
            effect = 0.0
        h = effect if case == "of the field" else 0.0
        x = pmrf.Ising("x", 0.3, h, graph=GRID, likelihood="pseudo")
        pm.Normal("y", x + effect, 0.5, observed=Y)
    assert pmrf.TreeGibbs([model["x"]], model=model)._classes == {}


def test_gradient_and_the_sum_over_classes():
    """Of a picture with a missing pixel: the objective is a mixture of what neighbours say."""
    model = hidden_picture(np.where(np.arange(len(Y)) == 5, 0.0, Y))
    step = pmrf.TreeGibbs([model["x"]], model=model)
    mixture = _Mixture(
        step._field, step._evidence, model, model.initial_point(), ["level", "noise_log__"], None
    )
    around = np.random.default_rng(0).uniform(0.0, 4.0, size=(len(Y), N_STATES))
    mixture._around = around
    u = np.array([0.3, -0.2, 1.4, -0.5, 0.2, -0.1, 0.4, 0.7])
    error = check_grad(lambda v: mixture._objective(v)[0], lambda v: mixture._objective(v)[1], u)
    assert error < 1e-3 * np.linalg.norm(mixture._objective(u)[1])

    weights = np.exp(u[4:7] + u[7] * around)
    weights /= weights.sum(axis=1, keepdims=True)
    y, sd = np.where(np.arange(len(Y)) == 5, 0.0, Y)[:, None], np.exp(u[3])
    density = np.exp(-0.5 * ((y - u[:3]) / sd) ** 2) / (sd * np.sqrt(2 * np.pi))
    mixed = np.log((weights * density).sum(axis=1)).sum() - 0.5 * (u[4:] ** 2).sum() / 4.0
    prior = model.compile_logp(vars=[model["level"], model["noise"]])
    expected = mixed + prior({**model.initial_point(), "level": u[:3], "noise_log__": u[3]})
    assert -mixture._objective(u)[0] == pytest.approx(expected)


def test_neighbours_of_a_factor_graph():
    with pm.Model() as model:
        table = np.zeros((2, 2, 2))
        x = pmrf.FactorGraphMRF("x", [table], scopes=[(0, 1, 3)], cardinalities=[2] * 4)
        pm.Normal("y", x, 1.0, observed=np.zeros(4))
    found = pmrf.TreeGibbs([model["x"]], model=model)._field.neighbours().toarray()
    expected = np.zeros((4, 4))
    for i, j in ((0, 1), (0, 3), (1, 3)):
        expected[i, j] = expected[j, i] = 1.0
    np.testing.assert_array_equal(found, expected)
