"""Routes of PyMC that would return wrong numbers without a word are refused, and no others."""

from inspect import signature

import numpy as np
import pymc as pm
import pytest
from pytensor.compile.mode import JAX
from pytensor.gradient import NullTypeGradError
from pytensor.graph.fg import FunctionGraph

import pymc_mrf as pmrf
from pymc_mrf.distributions.foreign_routes import (
    MeaninglessDensityError,
    NoConversionError,
    RefuseForeignRoutes,
)
from tests.distributions.routes import FIND_MAP

X = np.random.default_rng(0).integers(2, size=(20, 3))
GRAPH = pmrf.graphs.complete(3)
QUIET = {"progressbar": False, "chains": 1, "compute_convergence_checks": False, "random_seed": 1}


def intractable():
    with pm.Model() as model:
        tau = pm.HalfNormal("tau", 1)
        w = pm.Normal("w", 0, tau, shape=3)
        pmrf.BoltzmannMachine("x", w, graph=GRAPH, observed=X, likelihood="particles")
    return model


def sparse():
    with pm.Model() as model:
        p = pm.Beta("p", 1, 1)
        w = pmrf.SpikeAndSlab("w", p, pm.Normal.dist(0, 1), shape=3)
        pmrf.BoltzmannMachine("x", w, graph=GRAPH, observed=X, likelihood="pseudo")
    return model


def grouped():
    with pm.Model() as model:
        alpha = pm.Gamma("alpha", 2, 2)
        w = pmrf.DirichletProcess("w", alpha, pm.Normal.dist(0, 1), shape=3)
        pmrf.BoltzmannMachine("x", w, graph=GRAPH, observed=X, likelihood="pseudo")
    return model


def hidden():
    with pm.Model() as model:
        tau = pm.HalfNormal("tau", 1)
        w = pmrf.BoltzmannMachine("w", tau, graph=GRAPH)
        pm.Normal("y", w, 1, observed=X[0])
    return model


def missing():
    with pm.Model() as model:
        tau = pm.HalfNormal("tau", 1)
        data = np.ma.masked_array(X, np.arange(X.size).reshape(X.shape) % 7 == 0)
        with pytest.warns(pm.exceptions.ImputationWarning):
            pmrf.BoltzmannMachine("w", tau, graph=GRAPH, observed=data)
    return model


HIDDEN = {hidden: "w", missing: "w_unobserved"}
MESSAGES = {
    intractable: 'under likelihood="particles" the log probability of a field is known up to a normal',
    sparse: "the density of a SpikeAndSlab is one of point masses at zero beside the slab",
    grouped: "the density of a DirichletProcess, or of EdgeCommunities, is one of partitions",
}
if "jitter" not in signature(pm.find_MAP).parameters:
    FIND_MAP = {}  # PyMC 6.3
ROUTES = {
    "Metropolis": lambda model, w="w": pm.Metropolis([model[w]]),
    "DEMetropolisZ": lambda model, w="w": pm.DEMetropolisZ([model[w]]),
    "Slice": lambda model, w="w": pm.Slice([model[w]]),
    "sample_smc": lambda model, w="w": pm.sample_smc(10, cores=1, **QUIET),
    "find_MAP": lambda model, w="w": pm.find_MAP(vars=[model[w]], progressbar=False, **FIND_MAP),
}


@pytest.mark.filterwarnings("ignore:Gradient not available")
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("build", MESSAGES)
def test_routes_that_are_refused(build, route):
    model = build()
    with model, pytest.raises(MeaninglessDensityError, match=MESSAGES[build]):
        ROUTES[route](model)


@pytest.mark.filterwarnings("ignore:Discrete variables are being optimized")
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("build", HIDDEN)
def test_states_of_hidden_cells_are_not_moved(build, route):
    model = build()
    with model, pytest.raises(MeaninglessDensityError, match=r"pass pymc_mrf\.steps\.TreeGibbs"):
        ROUTES[route](model, HIDDEN[build])


@pytest.mark.parametrize("build", HIDDEN)
def test_find_map_is_told_the_states_that_it_holds(build):
    """At PyMC's start all are in the first state, and the mode of `tau` would be that given these."""
    model = build()
    with model:
        start = "initvals" if "initvals" in signature(pm.find_MAP).parameters else "start"
        for options in ({}, {"vars": [model["tau"]]}, {start: {"tau": 1.0}}):
            with pytest.raises(
                MeaninglessDensityError, match=r"pm.find_MAP holds the states of a hidden"
            ):
                pm.find_MAP(progressbar=False, **options, **FIND_MAP)
        states = {HIDDEN[build]: model.initial_point()[HIDDEN[build]]}
        pm.find_MAP(progressbar=False, **{start: states}, **FIND_MAP)


@pytest.mark.parametrize("build", HIDDEN)
def test_parameters_of_hidden_fields_are_moved(build):
    """The states being given."""
    model = build()
    point = model.initial_point()
    with model:
        for step in (pm.Metropolis([model["tau"]]), pm.NUTS([model["tau"]])):
            step.step(point)


@pytest.mark.parametrize("build", MESSAGES)
def test_gradients_do_not_exist(build):
    with build() as model:
        for route in (lambda: pm.fit(1, progressbar=False), lambda: pm.NUTS([model["w"]])):
            with pytest.raises(NullTypeGradError):
                route()


@pytest.mark.parametrize("build", MESSAGES)
@pytest.mark.ordinary("grouped")
def test_what_does_not_move_the_guarded_variable_is_let_through(build):
    model = build()
    with model:
        steps = [pm.Metropolis([model.free_RVs[0]]), pm.Slice([model.free_RVs[0]])]
        if build is not grouped:
            steps.append(pm.NUTS([model.free_RVs[0]]))
            pm.find_MAP(vars=[model.free_RVs[0]], progressbar=False, **FIND_MAP)
    point = model.initial_point()
    assert np.isfinite(model.compile_logp()(point))
    for step in steps:
        step.step(point)


def test_without_the_guard_they_run(monkeypatch):
    """Negative control: it is the guard that refuses."""
    monkeypatch.setattr(RefuseForeignRoutes, "apply", lambda self, fgraph: None)
    for build in MESSAGES:
        model = build()
        with model:
            step = pm.Metropolis([model["w"]])
        step.step(model.initial_point())


@pytest.mark.parametrize("likelihood", ["exact", "pseudo"])
def test_samplers_by_jax_are_refused(likelihood):
    """As PyMC converts the density; a model without fields goes through."""
    with pm.Model() as model:
        w = pm.Normal("w", 0, 1, shape=3)
        pmrf.BoltzmannMachine("x", w, graph=GRAPH, observed=X, likelihood=likelihood)
    for variables in ([model["w"]], None):
        fgraph = FunctionGraph(model.value_vars, [model.logp(vars=variables)], clone=True)
        if variables:
            JAX.optimizer.rewrite(fgraph)
        else:
            with pytest.raises(
                NoConversionError, match=r'no conversion to JAX, .*nuts_sampler="nutpie"'
            ):
                JAX.optimizer.rewrite(fgraph)
