"""Paths that no longer cover what a model asks of them are refused whenever its density is derived."""

import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf
from pymc_mrf.distributions.foreign_routes import MeaninglessDensityError
from pymc_mrf.graph import builders
from pymc_mrf.likelihood.path import likelihood
from pymc_mrf.likelihood.path import path_form as path

GRAPH = builders.grid(3, 3)
X = 2 * np.random.default_rng(4).integers(0, 2, (2, 9)) - 1


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    """Paths of one module's tests are simulated once."""
    made = tmp_path_factory.mktemp("paths")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(path, "folder", lambda: made)
        yield made


def model(observed=X, field=0.0, mean=0.3):
    with pm.Model() as built:
        J = pm.Normal("J", pm.Data("mean", mean), 0.05)
        data = None if observed is None else pm.Data("data", observed)
        x = pmrf.Ising("x", J, field, graph=GRAPH, observed=data, likelihood="path")
        if observed is None:
            pm.Normal("y", x, 1.0, observed=np.zeros(9))
    return built


ROUTES = {
    "sample": lambda: pm.sample(progressbar=False),
    "NUTS": lambda: pm.NUTS(),
    "find_MAP": lambda: pm.find_MAP(progressbar=False, return_inferencedata=True, jitter=False),
    "fit": lambda: pm.fit(1, progressbar=False),
    "logp": lambda: pm.modelcontext(None).logp(),
}


@pytest.mark.parametrize("route", ROUTES)
def test_a_prior_that_was_moved_below_zero_is_refused(route):
    with model():
        pm.set_data({"mean": -0.3})
        with pytest.raises(MeaninglessDensityError, match=r"its path .* declare the model anew"):
            ROUTES[route]()


@pytest.mark.parametrize("options", [{"observed": None}, {"field": 0.1}, {"observed": X[0]}])
@pytest.mark.ordinary("options0", "options1")
def test_all_fields_with_a_path_are_looked_at(options):
    built = model(**options)
    built.logp()
    for moved in (0.5, 0.25):
        pm.set_data({"mean": moved}, model=built)
        built.logp()
    pm.set_data({"mean": 0.0}, model=built)
    with pytest.raises(MeaninglessDensityError, match="no draw of its coupling made neighbours differ"):
        built.logp()


def test_models_that_interventions_make():
    built = model()
    for value in (0.4, -0.4):
        for name in ("mean", "J"):
            done = pm.do(built, {name: value})
            if value > 0.0:
                done.logp()
            else:
                with pytest.raises(MeaninglessDensityError, match="declare the model anew"):
                    done.logp()


def test_paths_of_both_signs_are_not_limited():
    built = model(mean=-0.3)
    pm.set_data({"mean": -2.0}, model=built)
    assert np.isfinite(built.compile_logp()(built.initial_point()))


def test_rows_that_are_too_many_for_a_path(monkeypatch):
    built = model()
    built.logp()
    pm.set_data({"data": np.tile(X, (10**5, 1))}, model=built)
    with pytest.warns(UserWarning, match=r"may be off by .* declare the field with its 200000 rows"):
        built.logp()


def test_without_the_check_the_prior_is_cut_off(monkeypatch):
    """Negative control: it is the check that refuses."""
    monkeypatch.setattr(likelihood.CheckPaths, "apply", lambda self, fgraph: None)
    built = model()
    pm.set_data({"mean": -0.3}, model=built)
    assert built.compile_logp()(built.initial_point()) == -np.inf
