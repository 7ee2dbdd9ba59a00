"""Steps and densities notice data that `pm.set_data` changed, in shape or in value."""

import cloudpickle
import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf

X = np.random.default_rng(1).integers(2, size=(40, 3))
GRAPH = pmrf.graphs.complete(3)


def edge_model(likelihood="pseudo"):
    with pm.Model() as model:
        p = pm.Data("p", 0.5)
        w = pmrf.SpikeAndSlab("w", p, pm.Normal.dist(0, 1), shape=3)
        data = pm.Data("X", X)
        pmrf.BoltzmannMachine("x", w, 0.1, graph=GRAPH, observed=data, likelihood=likelihood)
    return model


def grouped_model():
    with pm.Model() as model:
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Uniform.dist(0, 1), shape=3)
        pmrf.AgreementMRF("x", theta, graph=GRAPH, observed=pm.Data("X", X))
    return model


def regression():
    with pm.Model() as model:
        slope = pm.Normal("slope", 0, 1)
        covariate = pm.Data("covariate", np.array([1.0, 2.0, 3.0]))
        data = pm.Data("X", X)
        coupling = slope * covariate
        pmrf.BoltzmannMachine("x", coupling, 0.0, graph=GRAPH, observed=data, likelihood="particles")
    return model


def picture():
    with pm.Model() as model:
        x = pmrf.Ising("x", pm.Data("coupling", 0.5), graph=GRAPH)
        seen = pm.Data("seen", np.arange(3))
        pm.Normal("y", pm.Data("scale", 1.0) * x[seen], 1, observed=pm.Data("image", np.full(3, 0.5)))
    return model


def factor_model():
    with pm.Model() as model:
        table = pm.Normal("a", 0, 1) * np.eye(2)
        options = {"scopes": [(0, 1), (1, 2)], "cardinalities": [2, 2, 2], "likelihood": "particles"}
        pmrf.FactorGraphMRF("x", [table, table], observed=pm.Data("X", X), **options)
    return model


MAKERS = [
    (edge_model, pmrf.steps.EdgeGibbs),
    (lambda: edge_model("exact"), pmrf.papers.ReversibleJump),
    (grouped_model, pmrf.steps.GroupGibbs),
    (regression, pmrf.steps.Exchange),
    (factor_model, pmrf.steps.Exchange),
]


@pytest.mark.parametrize(("build", "kind"), MAKERS)
def test_new_data_ask_for_a_new_step(build, kind):
    model = build()
    step = kind(model.free_RVs[:1], model=model)
    name = kind.__name__
    copy = cloudpickle.loads(cloudpickle.dumps(step))
    for same in (step, copy):  # a worker process has copies of the data
        same.setup_chain(np.random.default_rng(1), 1, 1)
    pm.set_data({"X": X.copy()}, model=model)
    step.setup_chain(np.random.default_rng(1), 1, 1)
    pm.set_data({"X": 1 - X}, model=model)
    words = f"X, the data of x, changed after {name} was made: make the step after pm.set_data"
    with pytest.raises(ValueError, match=words):
        step.setup_chain(np.random.default_rng(1), 1, 1)
    copy.setup_chain(np.random.default_rng(1), 1, 1)
    for columns in (np.c_[X, X], X[:, :1], X[0, 0]):
        model["X"].set_value(np.atleast_2d(columns).astype(model["X"].dtype))
        words = r"the data of x have the shape .*, but their last dimension must be the 3 variables"
        with pytest.raises(ValueError, match=words):
            kind(model.free_RVs[:1], model=model)


@pytest.mark.parametrize(
    ("build", "kind", "name", "value"),
    [
        (edge_model, pmrf.steps.EdgeGibbs, "p", 0.1),
        (regression, pmrf.steps.Exchange, "covariate", np.array([3.0, 2.0, 1.0])),
        (picture, pmrf.steps.TreeGibbs, "coupling", 0.1),
        (picture, pmrf.steps.TreeGibbs, "seen", np.array([2, 1, 0])),
        (picture, pmrf.steps.TreeGibbs, "scale", 2.0),
        (picture, pmrf.steps.TreeGibbs, "image", np.ones(3)),
    ],
)
def test_other_data_that_the_step_has_read(build, kind, name, value):
    model = build()
    step = kind(model.free_RVs[:1], model=model)
    pm.set_data({name: value}, model=model)
    with pytest.raises(
        ValueError, match=f"{name}, the data of x, changed after {kind.__name__} was made"
    ):
        step.setup_chain(np.random.default_rng(1), 1, 1)


def test_states_that_a_factor_graph_does_not_have():
    model = factor_model()
    pm.set_data({"X": X + 300}, model=model)
    with pytest.raises(
        ValueError, match=r"value of node 0 of x in row 0 is 30\d, but its states are 0, 1"
    ):
        pmrf.steps.Exchange([model["a"]], model=model)


@pytest.mark.parametrize("likelihood", ["exact", "pseudo", "particles"])
def test_densities_refuse_other_columns(likelihood):
    model = edge_model(likelihood)
    logp, point = model.compile_logp(), model.initial_point()
    one = logp(point)
    pm.set_data({"X": np.r_[X, X]}, model=model)
    prior = model.compile_logp(vars=[model["w"]])(point)
    assert logp(point) - prior == pytest.approx(2.0 * (one - prior))
    for columns in (np.c_[X, X], X[:, :2]):
        pm.set_data({"X": columns}, model=model)
        with pytest.raises(AssertionError, match=r"a field of 3 variables .* another number of columns"):
            logp(point)
